/**
 * @file macros.h
 * Names of the host/device qualifiers and helpers that candidates borrow from c10/macros.
 */
#pragma once

#if defined(__CUDACC__) && !defined(RKB_CPU)
#define RKB_HD __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#else
#define RKB_HD
#define C10_DEVICE
#define C10_HOST
#endif
#define C10_HOST_DEVICE RKB_HD

#define C10_API
#define C10_EXPORT
#define C10_HIDDEN
#define C10_CUDA_API
#define TORCH_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define C10_UNUSED __attribute__((unused))
#define C10_NODISCARD [[nodiscard]]
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_LIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 1))
#define C10_UNLIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 0))
#define C10_RESTRICT __restrict__
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_WARP_SIZE 32
#define C10_MAX_THREADS_PER_BLOCK(val) (val)
#define C10_MIN_BLOCKS_PER_SM(threads_per_block, blocks_per_sm) (blocks_per_sm)
#if defined(__CUDACC__) && !defined(RKB_CPU)
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(max_threads) __launch_bounds__(max_threads)
#define C10_LAUNCH_BOUNDS_2(max_threads, min_blocks) __launch_bounds__(max_threads, min_blocks)
#else
#define C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_1(max_threads)
#define C10_LAUNCH_BOUNDS_2(max_threads, min_blocks)
#endif

/* Failure paths stay out of line and out of the way of the optimiser. */
#define RKB_COLD __attribute__((noinline, cold))

/* The grid-stride loop of one-dimensional launches. */
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                    \
    for (int64_t _i_n_d_e_x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,                      \
                 _s_t_e_p_ = (int64_t)blockDim.x * gridDim.x, _once_ = 1;                          \
         _once_; _once_ = 0)                                                                       \
        for (index_type i = (index_type)_i_n_d_e_x; _i_n_d_e_x < (int64_t)(n);                     \
             _i_n_d_e_x += _s_t_e_p_, i = (index_type)_i_n_d_e_x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#define CUDA_1D_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
