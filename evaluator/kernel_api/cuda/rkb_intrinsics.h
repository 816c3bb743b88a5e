/**
 * @file rkb_intrinsics.h
 * Device intrinsics on single values: arithmetic with a rounding mode, conversions, bit casts,
 * integer and bit operations, cached loads and stores, clocks, traps.
 */
#ifndef RKB_CUDA_INTRINSICS_H
#define RKB_CUDA_INTRINSICS_H

#include "rkb_math.h"
#include "vector_types.h"

#include <fenv.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <type_traits>

namespace rkb
{
/* volatile keeps the operation between the two changes of mode. */
template <class T, class F>
inline T rounded(int mode, T a, T b, T c, F operation)
{
    volatile T x = a, y = b, z = c;
    int old = fegetround();
    fesetround(mode);
    volatile T result = operation(x, y, z);
    fesetround(old);
    return result;
}

/* Saturating, NaN gives 0: as the hardware converts. x has been rounded to an integer. */
template <class To, class From>
inline To to_integer(From x)
{
    constexpr To lowest = std::is_signed<To>::value ? To(To(1) << (sizeof(To) * 8 - 1)) : To(0);
    constexpr To highest = To(~lowest);
    if (!(x == x))
        return 0;
    if (x >= static_cast<From>(highest))
        return highest;
    return x <= static_cast<From>(lowest) ? lowest : static_cast<To>(x);
}

template <class To, class From>
inline To bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <class To, class From>
inline To convert_rounded(int mode, From from)
{
    volatile From x = from;
    int old = fegetround();
    fesetround(mode);
    volatile To result = static_cast<To>(x);
    fesetround(old);
    return result;
}
} // namespace rkb

/* ---- arithmetic with a rounding mode ----------------------------------------------------------
 */

#define RKB_ROUNDED(_type, _prefix, _suffix, _mode, _sqrt, _fma)                                   \
    inline _type __##_prefix##add_##_suffix(_type a, _type b)                                      \
    {                                                                                              \
        return rkb::rounded<_type>(_mode, a, b, 0, [](_type x, _type y, _type) { return x + y; }); \
    }                                                                                              \
    inline _type __##_prefix##sub_##_suffix(_type a, _type b)                                      \
    {                                                                                              \
        return rkb::rounded<_type>(_mode, a, b, 0, [](_type x, _type y, _type) { return x - y; }); \
    }                                                                                              \
    inline _type __##_prefix##mul_##_suffix(_type a, _type b)                                      \
    {                                                                                              \
        return rkb::rounded<_type>(_mode, a, b, 0, [](_type x, _type y, _type) { return x * y; }); \
    }                                                                                              \
    inline _type __##_prefix##div_##_suffix(_type a, _type b)                                      \
    {                                                                                              \
        return rkb::rounded<_type>(_mode, a, b, 0, [](_type x, _type y, _type) { return x / y; }); \
    }                                                                                              \
    inline _type __##_prefix##rcp_##_suffix(_type a)                                               \
    {                                                                                              \
        return rkb::rounded<_type>(_mode, 1, a, 0, [](_type x, _type y, _type) { return x / y; }); \
    }                                                                                              \
    inline _type __##_prefix##sqrt_##_suffix(_type a)                                              \
    {                                                                                              \
        return rkb::rounded<_type>(_mode, a, 0, 0,                                                 \
                                   [](_type x, _type, _type) { return _sqrt(x); });                \
    }

#define RKB_NEAREST(_type, _prefix, _sqrt)                                                         \
    inline _type __##_prefix##add_rn(_type a, _type b)                                             \
    {                                                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    inline _type __##_prefix##sub_rn(_type a, _type b)                                             \
    {                                                                                              \
        return a - b;                                                                              \
    }                                                                                              \
    inline _type __##_prefix##mul_rn(_type a, _type b)                                             \
    {                                                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    inline _type __##_prefix##div_rn(_type a, _type b)                                             \
    {                                                                                              \
        return a / b;                                                                              \
    }                                                                                              \
    inline _type __##_prefix##rcp_rn(_type a)                                                      \
    {                                                                                              \
        return 1 / a;                                                                              \
    }                                                                                              \
    inline _type __##_prefix##sqrt_rn(_type a)                                                     \
    {                                                                                              \
        return _sqrt(a);                                                                           \
    }

RKB_NEAREST(float, f, sqrtf)
RKB_NEAREST(double, d, sqrt)
RKB_ROUNDED(float, f, rz, FE_TOWARDZERO, sqrtf, fmaf)
RKB_ROUNDED(float, f, ru, FE_UPWARD, sqrtf, fmaf)
RKB_ROUNDED(float, f, rd, FE_DOWNWARD, sqrtf, fmaf)
RKB_ROUNDED(double, d, rz, FE_TOWARDZERO, sqrt, fma)
RKB_ROUNDED(double, d, ru, FE_UPWARD, sqrt, fma)
RKB_ROUNDED(double, d, rd, FE_DOWNWARD, sqrt, fma)
#undef RKB_NEAREST
#undef RKB_ROUNDED

inline float __frsqrt_rn(float a)
{
    return static_cast<float>(1 / sqrt(static_cast<double>(a)));
}
inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}
#define RKB_FMA_ROUNDED(_suffix, _mode)                                                            \
    inline float __fmaf_##_suffix(float a, float b, float c)                                       \
    {                                                                                              \
        return rkb::rounded<float>(_mode, a, b, c,                                                 \
                                   [](float x, float y, float z) { return fmaf(x, y, z); });       \
    }                                                                                              \
    inline double __fma_##_suffix(double a, double b, double c)                                    \
    {                                                                                              \
        return rkb::rounded<double>(_mode, a, b, c,                                                \
                                    [](double x, double y, double z) { return fma(x, y, z); });    \
    }
RKB_FMA_ROUNDED(rz, FE_TOWARDZERO)
RKB_FMA_ROUNDED(ru, FE_UPWARD)
RKB_FMA_ROUNDED(rd, FE_DOWNWARD)
#undef RKB_FMA_ROUNDED

/* ---- conversions ------------------------------------------------------------------------------
 */

#define RKB_TO_INTEGER(_from, _fname, _to, _tname)                                                 \
    inline _to __##_fname##2##_tname##_rn(_from x)                                                 \
    {                                                                                              \
        return rkb::to_integer<_to>(std::nearbyint(x));                                            \
    }                                                                                              \
    inline _to __##_fname##2##_tname##_rz(_from x)                                                 \
    {                                                                                              \
        return rkb::to_integer<_to>(std::trunc(x));                                                \
    }                                                                                              \
    inline _to __##_fname##2##_tname##_ru(_from x)                                                 \
    {                                                                                              \
        return rkb::to_integer<_to>(std::ceil(x));                                                 \
    }                                                                                              \
    inline _to __##_fname##2##_tname##_rd(_from x)                                                 \
    {                                                                                              \
        return rkb::to_integer<_to>(std::floor(x));                                                \
    }
RKB_TO_INTEGER(float, float, int, int)
RKB_TO_INTEGER(float, float, unsigned, uint)
RKB_TO_INTEGER(float, float, long long, ll)
RKB_TO_INTEGER(float, float, unsigned long long, ull)
RKB_TO_INTEGER(double, double, int, int)
RKB_TO_INTEGER(double, double, unsigned, uint)
RKB_TO_INTEGER(double, double, long long, ll)
RKB_TO_INTEGER(double, double, unsigned long long, ull)
#undef RKB_TO_INTEGER

#define RKB_TO_FLOATING(_from, _fname, _to, _tname)                                                \
    inline _to __##_fname##2##_tname##_rn(_from x)                                                 \
    {                                                                                              \
        return static_cast<_to>(x);                                                                \
    }                                                                                              \
    inline _to __##_fname##2##_tname##_rz(_from x)                                                 \
    {                                                                                              \
        return rkb::convert_rounded<_to>(FE_TOWARDZERO, x);                                        \
    }                                                                                              \
    inline _to __##_fname##2##_tname##_ru(_from x)                                                 \
    {                                                                                              \
        return rkb::convert_rounded<_to>(FE_UPWARD, x);                                            \
    }                                                                                              \
    inline _to __##_fname##2##_tname##_rd(_from x)                                                 \
    {                                                                                              \
        return rkb::convert_rounded<_to>(FE_DOWNWARD, x);                                          \
    }
RKB_TO_FLOATING(int, int, float, float)
RKB_TO_FLOATING(unsigned, uint, float, float)
RKB_TO_FLOATING(long long, ll, float, float)
RKB_TO_FLOATING(unsigned long long, ull, float, float)
RKB_TO_FLOATING(int, int, double, double)
RKB_TO_FLOATING(unsigned, uint, double, double)
RKB_TO_FLOATING(long long, ll, double, double)
RKB_TO_FLOATING(unsigned long long, ull, double, double)
RKB_TO_FLOATING(double, double, float, float)
#undef RKB_TO_FLOATING

inline int __float_as_int(float x)
{
    return rkb::bit_cast<int>(x);
}
inline unsigned __float_as_uint(float x)
{
    return rkb::bit_cast<unsigned>(x);
}
inline float __int_as_float(int x)
{
    return rkb::bit_cast<float>(x);
}
inline float __uint_as_float(unsigned x)
{
    return rkb::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x)
{
    return rkb::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x)
{
    return rkb::bit_cast<double>(x);
}
inline int __double2hiint(double x)
{
    return static_cast<int>(rkb::bit_cast<uint64_t>(x) >> 32);
}
inline int __double2loint(double x)
{
    return static_cast<int>(rkb::bit_cast<uint64_t>(x));
}
inline double __hiloint2double(int hi, int lo)
{
    return rkb::bit_cast<double>(static_cast<uint64_t>(static_cast<unsigned>(hi)) << 32 |
                                 static_cast<unsigned>(lo));
}

/* ---- integers ---------------------------------------------------------------------------------
 */

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x)
{
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
inline int __mul24(int a, int b)
{
    return (a << 8 >> 8) * (b << 8 >> 8);
}
inline unsigned __umul24(unsigned a, unsigned b)
{
    return (a & 0xffffffu) * (b & 0xffffffu);
}
inline int __mulhi(int a, int b)
{
    return static_cast<int>(static_cast<int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b)
{
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c)
{
    return c +
           static_cast<unsigned>(a > b ? static_cast<int64_t>(a) - b : static_cast<int64_t>(b) - a);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c)
{
    return c + (a > b ? a - b : b - a);
}
inline int __hadd(int a, int b)
{
    return static_cast<int>((static_cast<int64_t>(a) + b) >> 1);
}
inline int __rhadd(int a, int b)
{
    return static_cast<int>((static_cast<int64_t>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b)
{
    return static_cast<unsigned>((static_cast<uint64_t>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b)
{
    return static_cast<unsigned>((static_cast<uint64_t>(a) + b + 1) >> 1);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned s = selector >> (4 * i);
        unsigned byte = static_cast<unsigned>(bytes >> (8 * (s & 7))) & 0xffu;
        if (s & 8)
            byte = byte & 0x80u ? 0xffu : 0;
        result |= byte << (8 * i);
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift)
{
    return static_cast<unsigned>(((static_cast<uint64_t>(hi) << 32 | lo) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift)
{
    return static_cast<unsigned>((static_cast<uint64_t>(hi) << 32 | lo) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}
inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; i++)
        c += static_cast<int8_t>(a >> (8 * i)) * static_cast<int8_t>(b >> (8 * i));
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 4; i++)
        c += (a >> (8 * i) & 0xffu) * (b >> (8 * i) & 0xffu);
    return c;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

#define RKB_LOAD(_name)                                                                            \
    template <class T>                                                                             \
    inline T _name(const T *p)                                                                     \
    {                                                                                              \
        return *p;                                                                                 \
    }
RKB_LOAD(__ldg)
RKB_LOAD(__ldca)
RKB_LOAD(__ldcg)
RKB_LOAD(__ldcs)
RKB_LOAD(__ldlu)
RKB_LOAD(__ldcv)
#undef RKB_LOAD

#define RKB_STORE(_name)                                                                           \
    template <class T>                                                                             \
    inline void _name(T *p, const std::common_type_t<T> &value)                                    \
    {                                                                                              \
        *p = value;                                                                                \
    }
RKB_STORE(__stwb)
RKB_STORE(__stcg)
RKB_STORE(__stcs)
RKB_STORE(__stwt)
#undef RKB_STORE

inline size_t __cvta_generic_to_shared(const void *p)
{
    return reinterpret_cast<size_t>(p);
}
inline size_t __cvta_generic_to_global(const void *p)
{
    return reinterpret_cast<size_t>(p);
}
inline unsigned __isGlobal(const void *)
{
    return 1;
}
inline void __threadfence()
{
}
inline void __threadfence_block()
{
}
inline void __threadfence_system()
{
}

/* ---- time and traps ---------------------------------------------------------------------------
 */

inline long long clock64()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}
inline unsigned long long __globaltimer()
{
    return static_cast<unsigned long long>(clock64());
}
inline void __nanosleep(unsigned)
{
    rkb_rt_yield();
}
[[noreturn]] inline void __trap()
{
    rkb_rt_trap("__trap()");
}
inline void __brkpt()
{
}

#endif
