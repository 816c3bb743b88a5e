#pragma once
#include "rkb_torch/error.h"
