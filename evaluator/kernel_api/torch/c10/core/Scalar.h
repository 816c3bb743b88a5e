#pragma once
#include "rkb_torch/scalar.h"
