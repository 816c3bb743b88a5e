#ifndef RKB_CUDA_BUILTIN_TYPES_H
#define RKB_CUDA_BUILTIN_TYPES_H
#include "driver_types.h"
#endif
