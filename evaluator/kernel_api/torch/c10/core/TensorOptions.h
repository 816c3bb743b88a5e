#pragma once
#include "rkb_torch/options.h"
