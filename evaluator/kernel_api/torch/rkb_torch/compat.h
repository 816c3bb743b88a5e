/**
 * @file compat.h
 * c10::cuda::compat: math functions that take float or double and stay in that type.
 */
#pragma once

#include "rkb_torch/macros.h"

#include <cuda_runtime.h>

#include <cmath>

namespace c10 {
namespace cuda {
namespace compat {

#define RKB_COMPAT1(name)                                                                          \
    RKB_HD inline float name(float x)                                                              \
    {                                                                                              \
        return ::name##f(x);                                                                       \
    }                                                                                              \
    RKB_HD inline double name(double x)                                                            \
    {                                                                                              \
        return ::name(x);                                                                          \
    }
RKB_COMPAT1(ceil)
RKB_COMPAT1(floor)
RKB_COMPAT1(exp)
RKB_COMPAT1(log)
RKB_COMPAT1(log1p)
RKB_COMPAT1(sqrt)
RKB_COMPAT1(tan)
RKB_COMPAT1(tanh)
RKB_COMPAT1(sin)
RKB_COMPAT1(cos)
RKB_COMPAT1(erf)
#undef RKB_COMPAT1
RKB_HD inline float abs(float x)
{
    return ::fabsf(x);
}
RKB_HD inline double abs(double x)
{
    return ::fabs(x);
}
RKB_HD inline float rsqrt(float x)
{
    return 1.0f / ::sqrtf(x);
}
RKB_HD inline double rsqrt(double x)
{
    return 1.0 / ::sqrt(x);
}
#define RKB_COMPAT2(name, single, full)                                                            \
    RKB_HD inline float name(float x, float y)                                                     \
    {                                                                                              \
        return ::single(x, y);                                                                     \
    }                                                                                              \
    RKB_HD inline double name(double x, double y)                                                  \
    {                                                                                              \
        return ::full(x, y);                                                                       \
    }
RKB_COMPAT2(max, fmaxf, fmax)
RKB_COMPAT2(min, fminf, fmin)
RKB_COMPAT2(pow, powf, pow)
RKB_COMPAT2(copysign, copysignf, copysign)
#undef RKB_COMPAT2

} // namespace compat
} // namespace cuda
} // namespace c10
