#ifndef RKB_CUDA_PROFILER_API_H
#define RKB_CUDA_PROFILER_API_H
#include "cuda_runtime_api.h"
#endif
