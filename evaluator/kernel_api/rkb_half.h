/**
 * @file rkb_half.h
 * Conversions between float and the bit patterns of IEEE half and bfloat16: round to nearest, ties
 * to even, in integer arithmetic, so that flags such as -ffast-math cannot change them. Plain C11
 * and C++17, usable in device code; shared by the runtime and the headers that candidates include.
 */
#ifndef RKB_HALF_H
#define RKB_HALF_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__) && !defined(RKB_CPU)
#define RKB_HALF_FN static __host__ __device__ __forceinline__
#else
#define RKB_HALF_FN static inline
#endif

RKB_HALF_FN uint32_t rkb_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

RKB_HALF_FN float rkb_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/** A NaN becomes the quiet NaN 0x7e00 with its sign. */
RKB_HALF_FN uint16_t rkb_half_from_float(float value)
{
    uint32_t bits = rkb_float_bits(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t mag = bits & 0x7fffffffu;

    if (mag > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (mag >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (mag >= 0x38800000u) { /* normal: at least 2^-14 */
        mag += 0xfffu + ((mag >> 13) & 1u);
        return (uint16_t)(sign | ((mag - 0x38000000u) >> 13));
    }
    /* Subnormal: count units of 2^-24. Below 2^-25 nothing is left. */
    uint32_t exponent = mag >> 23;
    if (exponent < 102u)
        return (uint16_t)sign;
    uint32_t mantissa = (mag & 0x7fffffu) | 0x800000u;
    uint32_t shift = 126u - exponent;
    uint32_t units = mantissa >> shift;
    uint32_t rest = mantissa & ((1u << shift) - 1u);
    uint32_t tie = 1u << (shift - 1u);
    if (rest > tie || (rest == tie && (units & 1u)))
        units++;
    return (uint16_t)(sign | units);
}

RKB_HALF_FN float rkb_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t mag = half & 0x7fffu;

    if (mag >= 0x7c00u)
        return rkb_bits_float(sign | 0x7f800000u | ((mag & 0x3ffu) << 13));
    if (mag >= 0x400u)
        return rkb_bits_float(sign | ((mag << 13) + 0x38000000u));
    /* Subnormal: mag × 2^-24, exact in float. */
    float value = (float)(int32_t)mag * 5.9604644775390625e-8f;
    return rkb_bits_float(sign | rkb_float_bits(value));
}

/** A NaN becomes the quiet NaN 0x7fc0 with its sign. */
RKB_HALF_FN uint16_t rkb_bfloat16_from_float(float value)
{
    uint32_t bits = rkb_float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(((bits >> 16) & 0x8000u) | 0x7fc0u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

RKB_HALF_FN float rkb_bfloat16_to_float(uint16_t value)
{
    return rkb_bits_float((uint32_t)value << 16);
}

/**
 * Narrows to float so that a second rounding to a shorter type is as good as one: truncated, with
 * the last bit set when anything was lost (round to odd).
 */
RKB_HALF_FN float rkb_double_to_float_odd(double value)
{
    float narrow = (float)value;
    if (value != value || (double)narrow == value)
        return narrow;
    uint32_t bits = rkb_float_bits(narrow);
    double back = (double)narrow;
    if ((value > 0) ? back > value : back < value)
        bits--; /* was rounded away from zero; an infinity becomes the largest float */
    return rkb_bits_float(bits | 1u);
}

#endif
