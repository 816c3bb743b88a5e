#pragma once
#include "rkb_torch/module.h"
