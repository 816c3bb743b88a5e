/**
 * @file cuda_fp16.h
 * __half and __half2.
 */
#ifndef RKB_CUDA_FP16_H
#define RKB_CUDA_FP16_H

#include "cuda_runtime.h"
#include "rkb_half.h"

struct __half_raw {
    unsigned short x;
};
struct __half2_raw {
    unsigned short x, y;
};

struct __align__(2) __half
{
    unsigned short __x;

    __half() = default;
    constexpr __half(__half_raw raw) : __x(raw.x)
    {
    }
    /* A template, so that no conversion to a number competes with one to __half. */
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
    __half(T value) : __x(from_number(value))
    {
    }
    static constexpr __half from_bits(unsigned short bits)
    {
        return __half(__half_raw{bits});
    }
    float to_float() const
    {
#if defined(__F16C__) && !defined(__clang__)
        return static_cast<float>(rkb::bit_cast<_Float16>(__x));
#else
        return rkb_half_to_float(__x);
#endif
    }
    operator float() const
    {
        return to_float();
    }
    operator __half_raw() const
    {
        return __half_raw{__x};
    }

  private:
    static unsigned short from_number(float value)
    {
#if defined(__F16C__) && !defined(__clang__)
        return rkb::bit_cast<unsigned short>(static_cast<_Float16>(value));
#else
        return rkb_half_from_float(value);
#endif
    }
    static unsigned short from_number(double value)
    {
        return from_number(rkb_double_to_float_odd(value));
    }
    template <class T>
    static unsigned short from_number(T value)
    {
        return from_number(static_cast<double>(value));
    }
};

struct __align__(4) __half2
{
    __half x, y;

    __half2() = default;
    __half2(const __half &a, const __half &b) : x(a), y(b)
    {
    }
    constexpr __half2(__half2_raw raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y})
    {
    }
};

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define RKB_N half
#define RKB_S __half
#define RKB_V __half2
#include "rkb_half_functions.h"
#undef RKB_N
#undef RKB_S
#undef RKB_V

inline __half2 make_half2(__half x, __half y)
{
    return __half2(x, y);
}

#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7c00))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7fff))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7bff))
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x8000))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000))
#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3c00))

#endif
