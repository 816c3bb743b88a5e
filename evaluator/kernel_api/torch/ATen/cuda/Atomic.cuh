#pragma once
#include "rkb_torch/atomic.h"
