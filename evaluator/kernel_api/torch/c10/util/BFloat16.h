#pragma once
#include "rkb_torch/half.h"
