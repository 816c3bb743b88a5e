#include "evaluator/verify/verify_internal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

size_t rkb_element_size(int dtype)
{
    switch (dtype) {
#define RKB_SIZE_CASE(_e, _name, _size, _torch)                                                    \
    case RKB_##_e:                                                                                 \
        return _size;
        RKB_DTYPE_MAP(RKB_SIZE_CASE)
#undef RKB_SIZE_CASE
    }
    return 0;
}

const char *rkb_element_name(int dtype)
{
    switch (dtype) {
#define RKB_NAME_CASE(_e, _name, _size, _torch)                                                    \
    case RKB_##_e:                                                                                 \
        return _name;
        RKB_DTYPE_MAP(RKB_NAME_CASE)
#undef RKB_NAME_CASE
    }
    return "an unknown dtype";
}

bool rkb_element_is_float(int dtype)
{
    return dtype == RKB_F16 || dtype == RKB_BF16 || dtype == RKB_F32 || dtype == RKB_F64;
}

static double double_of_half(uint16_t bits)
{
    uint32_t exponent = bits >> 10 & 31;
    uint32_t mantissa = bits & 1023;
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 0)
        return sign * mantissa * 0x1p-24;
    uint32_t word = (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13;
    float value;
    memcpy(&value, &word, sizeof value);
    return sign * (double)value;
}

static double double_of_bfloat16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Candidates may return views at any byte address, hence memcpy instead of a dereference. */
#define LOAD_LOOP(_type, _convert)                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                              \
        _type value;                                                                               \
        memcpy(&value, bytes + i * step, sizeof value);                                            \
        out[i] = (double)_convert(value);                                                          \
    }                                                                                              \
    break

void rkb_load_doubles(const void *base, rkb_dtype_t dtype, int64_t stride, int64_t n, double *out)
{
    const unsigned char *bytes = base;
    int64_t step = stride * (int64_t)rkb_element_size(dtype);
    switch (dtype) {
    case RKB_F32:
        LOAD_LOOP(float, );
    case RKB_F64:
        LOAD_LOOP(double, );
    case RKB_F16:
        LOAD_LOOP(uint16_t, double_of_half);
    case RKB_BF16:
        LOAD_LOOP(uint16_t, double_of_bfloat16);
    case RKB_U8:
    case RKB_BOOL:
        LOAD_LOOP(uint8_t, );
    case RKB_I8:
        LOAD_LOOP(int8_t, );
    case RKB_I16:
        LOAD_LOOP(int16_t, );
    case RKB_I32:
        LOAD_LOOP(int32_t, );
    case RKB_I64:
        LOAD_LOOP(int64_t, );
    case RKB_DTYPE_NONE:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)NAN;
        break;
    }
}

double rkb_load_double(const void *element, rkb_dtype_t dtype)
{
    double value = (double)NAN;
    rkb_load_doubles(element, dtype, 0, 1, &value);
    return value;
}

typedef struct {
    int digits;       /* binary digits of the significand, the implied one included */
    int min_exponent; /* smallest e with normal numbers 2^e */
    int lower_digits; /* of the next lower precision: float32, TF32 = fp16, fp8 (e4m3) */
    double largest;
} rkb_format_t;

static rkb_format_t format_of(rkb_dtype_t dtype)
{
    switch (dtype) {
    case RKB_F64:
        return (rkb_format_t){53, -1022, 24, DBL_MAX};
    case RKB_F32:
        return (rkb_format_t){24, -126, 11, (double)FLT_MAX};
    case RKB_F16:
        return (rkb_format_t){11, -14, 4, 65504.0};
    case RKB_BF16:
        return (rkb_format_t){8, -126, 4, 0x1.fep127};
    default:
        return (rkb_format_t){0};
    }
}

double rkb_half_ulp(double magnitude, rkb_dtype_t dtype)
{
    rkb_format_t format = format_of(dtype);
    if (format.digits == 0 || !isfinite(magnitude))
        return 0;
    int exponent = format.min_exponent;
    if (magnitude != 0) {
        int e;
        frexp(fabs(magnitude), &e); /* |magnitude| in [2^(e-1), 2^e) */
        if (e - 1 > exponent)
            exponent = e - 1;
    }
    return ldexp(1.0, exponent - format.digits);
}

double rkb_lower_roundoff(rkb_dtype_t dtype)
{
    rkb_format_t format = format_of(dtype);
    return format.digits ? ldexp(1.0, -format.lower_digits) : 0;
}

double rkb_largest_finite(rkb_dtype_t dtype)
{
    return format_of(dtype).largest;
}

/* Rounds the low `drop` bits of a significand to nearest, ties to even; a carry moves the exponent,
 * which is what rounding up to the next power of two means. Non-finite values stay. */
#define ROUND_LOOP(_type, _exponent_mask)                                                          \
    for (size_t i = 0; i < n; i++) {                                                               \
        _type bits;                                                                                \
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);                                       \
        if ((bits & (_exponent_mask)) == (_exponent_mask))                                         \
            continue;                                                                              \
        _type odd = (_type)(bits >> drop & 1);                                                     \
        _type rounded = (_type)(bits + (((_type)1 << (drop - 1)) - 1 + odd));                      \
        rounded = (_type)(rounded >> drop << drop);                                                \
        if ((rounded & (_exponent_mask)) == (_exponent_mask))                                      \
            rounded = (_type)(bits >> drop << drop);                                               \
        memcpy(bytes + i * sizeof bits, &rounded, sizeof rounded);                                 \
    }                                                                                              \
    break

void rkb_round_to_lower(void *data, rkb_dtype_t dtype, size_t n)
{
    unsigned char *bytes = data;
    rkb_format_t format = format_of(dtype);
    int drop = format.digits - format.lower_digits;
    switch (dtype) {
    case RKB_F64:
        ROUND_LOOP(uint64_t, UINT64_C(0x7ff0000000000000));
    case RKB_F32:
        ROUND_LOOP(uint32_t, UINT32_C(0x7f800000));
    case RKB_F16:
        ROUND_LOOP(uint16_t, 0x7c00);
    case RKB_BF16:
        ROUND_LOOP(uint16_t, 0x7f80);
    default:
        break;
    }
}

uint32_t rkb_poison_pattern(uint64_t seed)
{
    /* splitmix64 finaliser: neighbouring seeds give unrelated patterns */
    seed += UINT64_C(0x9e3779b97f4a7c15);
    seed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    seed = (seed ^ seed >> 27) * UINT64_C(0x94d049bb133111eb);
    seed ^= seed >> 31;
    /* 0x7ff8 to 0x7ffe, either sign: a quiet NaN as float16, bfloat16, float32 and float64, and not
     * one that arithmetic makes (those end in zeros, or are all ones). */
    uint32_t half = 0x7ff9u + (uint32_t)(seed % 6);
    half |= (uint32_t)(seed >> 32 & 1) << 15;
    return half << 16 | half;
}

const char *rkb_format_element(const void *element, rkb_dtype_t dtype, char *buf, size_t size)
{
    if (dtype == RKB_I64) {
        int64_t value;
        memcpy(&value, element, sizeof value);
        snprintf(buf, size, "%" PRId64, value);
        return buf;
    }
    double value = rkb_load_double(element, dtype);
    snprintf(buf, size, dtype == RKB_F64 ? "%.12g" : "%.7g", value);
    return buf;
}
