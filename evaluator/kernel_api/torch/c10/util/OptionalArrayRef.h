#pragma once
#include "rkb_torch/array_ref.h"
