#pragma once
#include "rkb_torch/macros.h"
