#pragma once
#include "rkb_torch/cuda.h"
