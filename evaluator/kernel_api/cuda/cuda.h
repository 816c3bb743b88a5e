/**
 * @file cuda.h
 * As much of the driver API as sources include it for: version and handle types.
 */
#ifndef RKB_CUDA_CUDA_H
#define RKB_CUDA_CUDA_H

#include "driver_types.h"

typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 } CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;

#endif
