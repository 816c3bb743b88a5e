/**
 * @file blas.h
 * at::cuda's cuBLAS handle and check, where the toolkit has cuBLAS.
 */
#pragma once

#include "rkb_torch/cuda.h"

#if !defined(RKB_CPU) && __has_include(<cublas_v2.h>)
#include <cublas_v2.h>

#define TORCH_CUDABLAS_CHECK(EXPR)                                                                 \
    do {                                                                                           \
        cublasStatus_t rkb_status_ = EXPR;                                                         \
        TORCH_CHECK(rkb_status_ == CUBLAS_STATUS_SUCCESS, "cuBLAS error ",                         \
                    static_cast<int>(rkb_status_), " in ", #EXPR);                                 \
    } while (0)

namespace at {
namespace cuda {

/** One handle for the process, bound to the current stream at each call. */
inline cublasHandle_t getCurrentCUDABlasHandle()
{
    static cublasHandle_t handle = nullptr;
    if (handle == nullptr)
        TORCH_CUDABLAS_CHECK(cublasCreate(&handle));
    TORCH_CUDABLAS_CHECK(cublasSetStream(handle, c10::cuda::getCurrentCUDAStream().stream()));
    return handle;
}

} // namespace cuda
} // namespace at
#endif
