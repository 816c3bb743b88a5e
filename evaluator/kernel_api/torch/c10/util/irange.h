#pragma once
#include "rkb_torch/irange.h"
