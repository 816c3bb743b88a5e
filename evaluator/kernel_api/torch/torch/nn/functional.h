#pragma once
#include "rkb_torch/functional.h"
