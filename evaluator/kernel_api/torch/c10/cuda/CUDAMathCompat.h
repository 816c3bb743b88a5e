#pragma once
#include "rkb_torch/compat.h"
#include "rkb_torch/cuda.h"
