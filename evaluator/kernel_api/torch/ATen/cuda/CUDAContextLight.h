#pragma once
#include "rkb_torch/torch.h"
#include "rkb_torch/blas.h"
