#pragma once
#include "rkb_torch/scalar_type.h"
