#pragma once
#include "rkb_torch/torch.h"
#include "rkb_torch/functional.h"
#include "rkb_torch/library.h"
