/**
 * @file half.h
 * c10::Half and c10::BFloat16: storage of 16 bits, arithmetic in float, results rounded to nearest
 * even. Both convert implicitly from and to float, and from and to the CUDA types of that layout.
 */
#pragma once

#include "rkb_half.h"
#include "rkb_torch/macros.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace c10 {

struct alignas(2) Half {
    unsigned short x;

    struct from_bits_t {
    };
    RKB_HD static constexpr from_bits_t from_bits() { return from_bits_t(); }

    Half() = default;
    RKB_HD constexpr Half(unsigned short bits, from_bits_t) : x(bits) {}
    RKB_HD Half(float value) : x(rkb_half_from_float(value)) {}
    RKB_HD operator float() const { return rkb_half_to_float(x); }
    RKB_HD Half(const __half &value) { memcpy(&x, &value, sizeof(x)); }
    RKB_HD operator __half() const
    {
        __half value;
        memcpy(&value, &x, sizeof(x));
        return value;
    }
};

struct alignas(2) BFloat16 {
    unsigned short x;

    struct from_bits_t {
    };
    RKB_HD static constexpr from_bits_t from_bits() { return from_bits_t(); }

    BFloat16() = default;
    RKB_HD constexpr BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
    RKB_HD BFloat16(float value) : x(rkb_bfloat16_from_float(value)) {}
    RKB_HD operator float() const { return rkb_bfloat16_to_float(x); }
    RKB_HD BFloat16(const __nv_bfloat16 &value) { memcpy(&x, &value, sizeof(x)); }
    RKB_HD operator __nv_bfloat16() const
    {
        __nv_bfloat16 value;
        memcpy(&value, &x, sizeof(x));
        return value;
    }
};

static_assert(sizeof(__half) == 2 && sizeof(__nv_bfloat16) == 2, "16-bit storage");

#define RKB_IF_INTEGER(I) typename = typename std::enable_if<std::is_integral<I>::value>::type
#define RKB_IF_NUMBER(A) typename = typename std::enable_if<std::is_arithmetic<A>::value>::type

/* T op T and T op integer stay T; with float and double the wider type wins. */
#define RKB_HALF_BINARY(T, op)                                                                     \
    RKB_HD inline T operator op(const T &a, const T &b)                                            \
    {                                                                                              \
        return T(static_cast<float>(a) op static_cast<float>(b));                                  \
    }                                                                                              \
    RKB_HD inline float operator op(T a, float b)                                                  \
    {                                                                                              \
        return static_cast<float>(a) op b;                                                         \
    }                                                                                              \
    RKB_HD inline float operator op(float a, T b)                                                  \
    {                                                                                              \
        return a op static_cast<float>(b);                                                         \
    }                                                                                              \
    RKB_HD inline double operator op(T a, double b)                                                \
    {                                                                                              \
        return static_cast<double>(a) op b;                                                        \
    }                                                                                              \
    RKB_HD inline double operator op(double a, T b)                                                \
    {                                                                                              \
        return a op static_cast<double>(b);                                                        \
    }                                                                                              \
    template <typename I, RKB_IF_INTEGER(I)>                                                       \
    RKB_HD inline T operator op(T a, I b)                                                          \
    {                                                                                              \
        return a op T(static_cast<float>(b));                                                      \
    }                                                                                              \
    template <typename I, RKB_IF_INTEGER(I)>                                                       \
    RKB_HD inline T operator op(I a, T b)                                                          \
    {                                                                                              \
        return T(static_cast<float>(a)) op b;                                                      \
    }                                                                                              \
    RKB_HD inline T &operator op##=(T &a, const T &b)                                              \
    {                                                                                              \
        return a = a op b;                                                                         \
    }                                                                                              \
    RKB_HD inline T &operator op##=(T &a, float b)                                                 \
    {                                                                                              \
        return a = T(static_cast<float>(a) op b);                                                  \
    }                                                                                              \
    RKB_HD inline float &operator op##=(float &a, const T &b)                                      \
    {                                                                                              \
        return a = a op static_cast<float>(b);                                                     \
    }                                                                                              \
    RKB_HD inline double &operator op##=(double &a, const T &b)                                    \
    {                                                                                              \
        return a = a op static_cast<double>(b);                                                    \
    }

#define RKB_HALF_COMPARE(T, op)                                                                    \
    RKB_HD inline bool operator op(const T &a, const T &b)                                         \
    {                                                                                              \
        return static_cast<float>(a) op static_cast<float>(b);                                     \
    }                                                                                              \
    template <typename A, RKB_IF_NUMBER(A)>                                                        \
    RKB_HD inline bool operator op(const T &a, A b)                                                \
    {                                                                                              \
        return static_cast<float>(a) op b;                                                         \
    }                                                                                              \
    template <typename A, RKB_IF_NUMBER(A)>                                                        \
    RKB_HD inline bool operator op(A a, const T &b)                                                \
    {                                                                                              \
        return a op static_cast<float>(b);                                                         \
    }

#define RKB_HALF_OPERATORS(T)                                                                      \
    RKB_HALF_BINARY(T, +)                                                                          \
    RKB_HALF_BINARY(T, -)                                                                          \
    RKB_HALF_BINARY(T, *)                                                                          \
    RKB_HALF_BINARY(T, /)                                                                          \
    RKB_HALF_COMPARE(T, ==)                                                                        \
    RKB_HALF_COMPARE(T, !=)                                                                        \
    RKB_HALF_COMPARE(T, <)                                                                         \
    RKB_HALF_COMPARE(T, <=)                                                                        \
    RKB_HALF_COMPARE(T, >)                                                                         \
    RKB_HALF_COMPARE(T, >=)                                                                        \
    RKB_HD inline T operator-(const T &a)                                                          \
    {                                                                                              \
        return T(static_cast<unsigned short>(a.x ^ 0x8000u), T::from_bits());                      \
    }                                                                                              \
    RKB_HD inline T operator+(const T &a)                                                          \
    {                                                                                              \
        return a;                                                                                  \
    }                                                                                              \
    C10_DEVICE inline T __ldg(const T *pointer)                                                    \
    {                                                                                              \
        return *pointer;                                                                           \
    }

RKB_HALF_OPERATORS(Half)
RKB_HALF_OPERATORS(BFloat16)

#undef RKB_HALF_BINARY
#undef RKB_HALF_COMPARE
#undef RKB_HALF_OPERATORS
#undef RKB_IF_INTEGER
#undef RKB_IF_NUMBER

} // namespace c10

namespace std {

/* Shared shape of the two limits: significand bits, exponent range and the named bit patterns. */
#define RKB_HALF_LIMITS(T, digits_, digits10_, max10_, min_exp, min_exp10, max_exp, max_exp10,     \
                        min_bits, lowest_bits, max_bits, eps_bits, round_bits, inf_bits, nan_bits, \
                        denorm_bits)                                                               \
    template <>                                                                                    \
    class numeric_limits<T>                                                                        \
    {                                                                                              \
        RKB_HD static constexpr T bits(unsigned short value) { return T(value, T::from_bits()); }  \
                                                                                                   \
      public:                                                                                      \
        static constexpr bool is_specialized = true;                                               \
        static constexpr bool is_signed = true;                                                    \
        static constexpr bool is_integer = false;                                                  \
        static constexpr bool is_exact = false;                                                    \
        static constexpr bool has_infinity = true;                                                 \
        static constexpr bool has_quiet_NaN = true;                                                \
        static constexpr bool has_signaling_NaN = true;                                            \
        static constexpr float_denorm_style has_denorm = denorm_present;                           \
        static constexpr bool has_denorm_loss = false;                                             \
        static constexpr float_round_style round_style = round_to_nearest;                         \
        static constexpr bool is_iec559 = true;                                                    \
        static constexpr bool is_bounded = true;                                                   \
        static constexpr bool is_modulo = false;                                                   \
        static constexpr bool traps = false;                                                       \
        static constexpr bool tinyness_before = false;                                             \
        static constexpr int radix = 2;                                                            \
        static constexpr int digits = digits_;                                                     \
        static constexpr int digits10 = digits10_;                                                 \
        static constexpr int max_digits10 = max10_;                                                \
        static constexpr int min_exponent = min_exp;                                               \
        static constexpr int min_exponent10 = min_exp10;                                           \
        static constexpr int max_exponent = max_exp;                                               \
        static constexpr int max_exponent10 = max_exp10;                                           \
        RKB_HD static constexpr T min() { return bits(min_bits); }                                 \
        RKB_HD static constexpr T lowest() { return bits(lowest_bits); }                           \
        RKB_HD static constexpr T max() { return bits(max_bits); }                                 \
        RKB_HD static constexpr T epsilon() { return bits(eps_bits); }                             \
        RKB_HD static constexpr T round_error() { return bits(round_bits); }                       \
        RKB_HD static constexpr T infinity() { return bits(inf_bits); }                            \
        RKB_HD static constexpr T quiet_NaN() { return bits(nan_bits); }                           \
        RKB_HD static constexpr T signaling_NaN() { return bits(inf_bits | 1); }                   \
        RKB_HD static constexpr T denorm_min() { return bits(denorm_bits); }                       \
    };

RKB_HALF_LIMITS(c10::Half, 11, 3, 5, -13, -4, 16, 4, 0x0400, 0xfbff, 0x7bff, 0x1400, 0x3800, 0x7c00,
                0x7e00, 0x0001)
RKB_HALF_LIMITS(c10::BFloat16, 8, 2, 4, -125, -37, 128, 38, 0x0080, 0xff7f, 0x7f7f, 0x3c00, 0x3f00,
                0x7f80, 0x7fc0, 0x0001)
#undef RKB_HALF_LIMITS

} // namespace std
