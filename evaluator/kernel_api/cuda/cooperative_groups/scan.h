#ifndef RKB_CUDA_COOPERATIVE_GROUPS_SCAN_H
#define RKB_CUDA_COOPERATIVE_GROUPS_SCAN_H
#include "../cooperative_groups.h"
#endif
