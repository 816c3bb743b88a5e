#ifndef RKB_CUDA_COOPERATIVE_GROUPS_REDUCE_H
#define RKB_CUDA_COOPERATIVE_GROUPS_REDUCE_H
#include "../cooperative_groups.h"
#endif
