#ifndef RKB_CUDA_MATH_FUNCTIONS_H
#define RKB_CUDA_MATH_FUNCTIONS_H
#include "cuda_runtime.h"
#endif
