#pragma once
#include "rkb_torch/device.h"
