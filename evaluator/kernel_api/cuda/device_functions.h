#ifndef RKB_CUDA_DEVICE_FUNCTIONS_H
#define RKB_CUDA_DEVICE_FUNCTIONS_H
#include "cuda_runtime.h"
#endif
