#pragma once
#include "rkb_torch/dispatch.h"
