/**
 * @file host_defines.h
 * CUDA's keywords on a host compiler. `__shared__`, `__noinline__`, kernels and launches are also
 * rewritten before (evaluator/candidate/rewrite.h); what is left of them means this.
 */
#ifndef RKB_CUDA_HOST_DEFINES_H
#define RKB_CUDA_HOST_DEFINES_H

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __nv_pure__
#define __device_builtin__
#define __cudart_builtin__
#define __align__(_n) __attribute__((aligned(_n)))
#define __builtin_align__(_n) __attribute__((aligned(_n)))
/* Without `inline`: sources write `__forceinline__ inline` as well, and a second one is an error.
 */
#define __forceinline__ __attribute__((always_inline))
#define __inline_hint__
#define CUDARTAPI
#define CUDA_CB
#define CUDAAPI

#ifndef __clang__
#define __builtin_assume(_condition) ((void)0)
#endif
#define __assume(_condition) ((void)0)
#define __builtin_unpredictable(_x) (_x)

#endif
