#ifndef RKB_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define RKB_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#include "../cooperative_groups.h"
#endif
