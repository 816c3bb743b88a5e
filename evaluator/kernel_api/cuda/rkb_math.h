/**
 * @file rkb_math.h
 * CUDA's mathematical functions beyond the C library's: the global min/max overload set, functions
 * that C lacks, and the fast forms, which here are as precise as the plain ones.
 */
#ifndef RKB_CUDA_MATH_H
#define RKB_CUDA_MATH_H

#include "host_defines.h"

#include <math.h>
#include <stdlib.h>

namespace rkb
{
/* NaN loses, as in fmin and fmax. */
template <class T>
constexpr T larger(T a, T b)
{
    return a > b ? a : (b != b ? a : b);
}
template <class T>
constexpr T smaller(T a, T b)
{
    return a < b ? a : (b != b ? a : b);
}
} // namespace rkb

#define RKB_MINMAX(_a, _b, _result)                                                                \
    constexpr _result min(const _a a, const _b b)                                                  \
    {                                                                                              \
        return rkb::smaller<_result>(a, b);                                                        \
    }                                                                                              \
    constexpr _result max(const _a a, const _b b)                                                  \
    {                                                                                              \
        return rkb::larger<_result>(a, b);                                                         \
    }
RKB_MINMAX(int, int, int)
RKB_MINMAX(unsigned, unsigned, unsigned)
RKB_MINMAX(int, unsigned, unsigned)
RKB_MINMAX(unsigned, int, unsigned)
RKB_MINMAX(long, long, long)
RKB_MINMAX(unsigned long, unsigned long, unsigned long)
RKB_MINMAX(long, unsigned long, unsigned long)
RKB_MINMAX(unsigned long, long, unsigned long)
RKB_MINMAX(long long, long long, long long)
RKB_MINMAX(unsigned long long, unsigned long long, unsigned long long)
RKB_MINMAX(long long, unsigned long long, unsigned long long)
RKB_MINMAX(unsigned long long, long long, unsigned long long)
RKB_MINMAX(float, float, float)
RKB_MINMAX(double, double, double)
RKB_MINMAX(float, double, double)
RKB_MINMAX(double, float, double)
#undef RKB_MINMAX

inline unsigned umin(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
inline unsigned umax(unsigned a, unsigned b)
{
    return a > b ? a : b;
}
inline long long llmin(long long a, long long b)
{
    return a < b ? a : b;
}
inline long long llmax(long long a, long long b)
{
    return a > b ? a : b;
}

/* ---- functions that the C library lacks, as name (double), namef, name (float) ----------------
 */

#define RKB_MATH1(_name, _expression)                                                              \
    inline double _name(double x)                                                                  \
    {                                                                                              \
        return _expression;                                                                        \
    }                                                                                              \
    inline float _name##f(float xf)                                                                \
    {                                                                                              \
        double x = xf;                                                                             \
        return static_cast<float>(_expression);                                                    \
    }                                                                                              \
    inline float _name(float x)                                                                    \
    {                                                                                              \
        return _name##f(x);                                                                        \
    }

namespace rkb
{
inline double sin_pi(double x)
{
    double r = fmod(x, 2.0);
    return r == 0 || fabs(r) == 1 ? copysign(0.0, x) : sin(M_PI * r);
}
inline double cos_pi(double x)
{
    double r = fabs(fmod(x, 2.0));
    return r == 0.5 || r == 1.5 ? 0.0 : cos(M_PI * r);
}
/* Scaled complementary error function; asymptotic where exp overflows. */
inline double erfc_scaled(double x)
{
    if (x < 25)
        return exp(x * x) * erfc(x);
    double s = 1 / (x * x);
    return (1 - s / 2 + 0.75 * s * s) / (x * sqrt(M_PI));
}
/* Inverse of erf: Giles' start, polished by Newton's method. */
inline double erf_inverse(double y)
{
    if (!(fabs(y) < 1))
        return fabs(y) == 1 ? copysign(HUGE_VAL, y) : nan("");
    double w = log1p(-y * y);
    double t = 2 / (M_PI * 0.147) + w / 2;
    double x = copysign(sqrt(sqrt(t * t - w / 0.147) - t), y);
    for (int i = 0; i < 4; i++) {
        double slope = 2 / sqrt(M_PI) * exp(-x * x);
        if (slope == 0)
            break;
        double error = fabs(y) < 0.5 ? erf(x) - y : copysign(1 - fabs(y) - erfc(fabs(x)), y);
        x -= error / slope / (1 + x * error / slope);
    }
    return x;
}
} // namespace rkb

inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
inline float rsqrt(float x)
{
    return rsqrtf(x);
}
RKB_MATH1(rcbrt, 1 / cbrt(x))
RKB_MATH1(sinpi, rkb::sin_pi(x))
RKB_MATH1(cospi, rkb::cos_pi(x))
RKB_MATH1(normcdf, erfc(-x / M_SQRT2) / 2)
RKB_MATH1(erfcx, rkb::erfc_scaled(x))
RKB_MATH1(erfinv, rkb::erf_inverse(x))
RKB_MATH1(erfcinv, rkb::erf_inverse(1 - x))
RKB_MATH1(normcdfinv, M_SQRT2 *rkb::erf_inverse(2 * x - 1))
#undef RKB_MATH1

inline float exp10(float x)
{
    return exp10f(x);
}
inline void sincos(float x, float *s, float *c)
{
    sincosf(x, s, c);
}
inline void sincospif(float x, float *s, float *c)
{
    *s = sinpif(x);
    *c = cospif(x);
}
inline void sincospi(double x, double *s, double *c)
{
    *s = sinpi(x);
    *c = cospi(x);
}
inline float rhypotf(float x, float y)
{
    return static_cast<float>(1 / hypot(static_cast<double>(x), static_cast<double>(y)));
}
inline float norm3df(float a, float b, float c)
{
    return static_cast<float>(sqrt(double(a) * a + double(b) * b + double(c) * c));
}
inline float norm4df(float a, float b, float c, float d)
{
    return static_cast<float>(sqrt(double(a) * a + double(b) * b + double(c) * c + double(d) * d));
}
inline float rnorm3df(float a, float b, float c)
{
    return 1 / norm3df(a, b, c);
}
inline float rnorm4df(float a, float b, float c, float d)
{
    return 1 / norm4df(a, b, c, d);
}
inline float normf(int dim, const float *p)
{
    double sum = 0;
    for (int i = 0; i < dim; i++)
        sum += double(p[i]) * p[i];
    return static_cast<float>(sqrt(sum));
}
inline double norm(int dim, const double *p)
{
    double sum = 0;
    for (int i = 0; i < dim; i++)
        sum += p[i] * p[i];
    return sqrt(sum);
}
inline float fdividef(float a, float b)
{
    return a / b;
}

/* ---- fast forms ------------------------------------------------------------------------------ */

/* The C library declares some of these names for itself; a definition of the same form is ours. */
extern "C" {
inline float __expf(float x) noexcept
{
    return expf(x);
}
inline float __exp10f(float x) noexcept
{
    return exp10f(x);
}
inline float __logf(float x) noexcept
{
    return logf(x);
}
inline float __log2f(float x) noexcept
{
    return log2f(x);
}
inline float __log10f(float x) noexcept
{
    return log10f(x);
}
inline float __sinf(float x) noexcept
{
    return sinf(x);
}
inline float __cosf(float x) noexcept
{
    return cosf(x);
}
inline float __tanf(float x) noexcept
{
    return tanf(x);
}
inline float __powf(float x, float y) noexcept
{
    return powf(x, y);
}
inline void __sincosf(float x, float *s, float *c) noexcept
{
    sincosf(x, s, c);
}
}
inline float __tanhf(float x)
{
    return tanhf(x);
}
inline float __fdividef(float a, float b)
{
    return a / b;
}
inline float __saturatef(float x)
{
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; /* NaN gives 0 */
}

#endif
