/**
 * @file cuda_bf16.h
 * __nv_bfloat16 and __nv_bfloat162.
 */
#ifndef RKB_CUDA_BF16_H
#define RKB_CUDA_BF16_H

#include "cuda_runtime.h"
#include "rkb_half.h"

struct __nv_bfloat16_raw {
    unsigned short x;
};
struct __nv_bfloat162_raw {
    unsigned short x, y;
};

struct __align__(2) __nv_bfloat16
{
    unsigned short __x;

    __nv_bfloat16() = default;
    constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x)
    {
    }
    /* A template, so that no conversion to a number competes with one to __nv_bfloat16. */
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
    __nv_bfloat16(T value) : __x(from_number(value))
    {
    }
    static constexpr __nv_bfloat16 from_bits(unsigned short bits)
    {
        return __nv_bfloat16(__nv_bfloat16_raw{bits});
    }
    float to_float() const
    {
        return rkb_bfloat16_to_float(__x);
    }
    operator float() const
    {
        return to_float();
    }
    operator __nv_bfloat16_raw() const
    {
        return __nv_bfloat16_raw{__x};
    }

  private:
    static unsigned short from_number(float value)
    {
        return rkb_bfloat16_from_float(value);
    }
    static unsigned short from_number(double value)
    {
        return rkb_bfloat16_from_float(rkb_double_to_float_odd(value));
    }
    template <class T>
    static unsigned short from_number(T value)
    {
        return from_number(static_cast<double>(value));
    }
};

struct __align__(4) __nv_bfloat162
{
    __nv_bfloat16 x, y;

    __nv_bfloat162() = default;
    __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b) : x(a), y(b)
    {
    }
    constexpr __nv_bfloat162(__nv_bfloat162_raw raw)
        : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y})
    {
    }
};

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define RKB_N bfloat16
#define RKB_S __nv_bfloat16
#define RKB_V __nv_bfloat162
#include "rkb_half_functions.h"
#undef RKB_N
#undef RKB_S
#undef RKB_V

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y)
{
    return __nv_bfloat162(x, y);
}

#define CUDART_INF_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7f80))
#define CUDART_NAN_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7fff))
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7f7f))
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0000))
#define CUDART_ONE_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x3f80))

#endif
