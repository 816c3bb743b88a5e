#pragma once
#include "rkb_torch/torch.h"
