#ifndef RKB_CUDA_DEVICE_TYPES_H
#define RKB_CUDA_DEVICE_TYPES_H
#include "driver_types.h"
#endif
