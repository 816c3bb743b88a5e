#include "evaluator/task/random.h"

#include "evaluator/task/philox.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

void rkb_stream_fill(const rkb_stream_t *stream, uint64_t first, size_t count, uint64_t *out)
{
    for (size_t i = 0; i < count; i += 2) {
        uint64_t number = (first + i) / 2; /* a block is 128 bits: two elements */
        rkb_philox_block_t block = {{(uint32_t)number, (uint32_t)(number >> 32),
                                     (uint32_t)stream->high, (uint32_t)(stream->high >> 32)}};
        block = rkb_philox4x32_10(block, (uint32_t)stream->key, (uint32_t)(stream->key >> 32));
        out[i] = block.word[0] | (uint64_t)block.word[1] << 32;
        if (i + 1 < count)
            out[i + 1] = block.word[2] | (uint64_t)block.word[3] << 32;
    }
}

double rkb_bits_to_unit(uint64_t bits)
{
    /* 52 bits and the half are exact in a double; of 2^53 parts the last would round to 1. */
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

double rkb_portable_log(double x)
{
    /* x = m·2^e with m in [√½, √2); ln m = 2 artanh(s), s = (m−1)/(m+1), by its power series. */
    static const double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 25; k >= 3; k -= 2) /* |s| < 0.172: the next term is below 2^-70 of the first */
        sum = (sum + 1.0 / k) * s2;
    double e = exponent;
    return e * ln2_high + (2 * s + (2 * s * sum + e * ln2_low));
}

static double ratio(const double *numerator, const double *denominator, double x)
{
    double n = numerator[7], d = denominator[7];
    for (int i = 6; i >= 0; i--) {
        n = n * x + numerator[i];
        d = d * x + denominator[i];
    }
    return n / d;
}

double rkb_normal_quantile(double p)
{
    /*
     * Rational approximations PPND16 of M. J. Wichura, "Algorithm AS 241: The percentage points of
     * the normal distribution", Applied Statistics 37 (1988) 477-484: one for the centre in
     * 0.425² − (p−½)², two for the tails in √(−ln p).
     */
    static const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                               1.9715909503065514427e+3, 1.3731693765509461125e+4,
                               4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double b[] = {1.0,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                               5.76949722146069140550e0,  3.64784832476320460504e0,
                               1.27045825245236838258e0,  2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425)
        return q * ratio(a, b, 0.180625 - q * q);
    double r = sqrt(-rkb_portable_log(q < 0 ? p : 1 - p));
    double z = r <= 5 ? ratio(c, d, r - 1.6) : ratio(e, f, r - 5);
    return q < 0 ? -z : z;
}

uint64_t rkb_bits_below(uint64_t bits, uint64_t range)
{
    return (uint64_t)(((unsigned __int128)bits * range) >> 64);
}

/* Rounds a double to a format of fewer bits, to nearest even, in one step. */
static uint16_t narrow(double x, int fraction_bits, int exponent_bits)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint16_t sign = (uint16_t)((bits >> 63) << 15);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & UINT64_C(0x000fffffffffffff);
    int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    if (exponent == 0x7ff)
        return (uint16_t)(sign | top << fraction_bits | (fraction ? 1 << (fraction_bits - 1) : 0));
    if (exponent == 0)
        return sign; /* subnormal doubles are far below either format */
    int target = exponent - 1023 + bias;
    uint64_t significand = fraction | UINT64_C(1) << 52;
    int drop = 52 - fraction_bits;
    if (target < 1) { /* becomes subnormal */
        drop += 1 - target;
        target = 0;
        if (drop > 54)
            return sign;
    }
    uint64_t kept = significand >> drop, rest = significand & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    /* A normal result has its leading bit in kept; adding it carries into the exponent. */
    uint64_t result = target == 0 ? kept : ((uint64_t)(target - 1) << fraction_bits) + kept;
    if (result >> fraction_bits >= (uint64_t)top)
        result = (uint64_t)top << fraction_bits;
    return (uint16_t)(sign | result);
}

uint16_t rkb_double_to_f16(double x)
{
    return narrow(x, 10, 5);
}

uint16_t rkb_double_to_bf16(double x)
{
    return narrow(x, 7, 8);
}
