/* Every bit pattern of the 16-bit types, against the definition of the formats. */
#include "evaluator/kernel_api/rkb_half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static double half_value(uint16_t bits)
{
    int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
    double value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static double bfloat16_value(uint16_t bits)
{
    int exponent = (bits >> 7) & 255, mantissa = bits & 127;
    double value = exponent == 0 ? ldexp(mantissa, -133) : ldexp(128 + mantissa, exponent - 134);
    return bits & 0x8000 ? -value : value;
}

static void test_every_half_widens_exactly(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = rkb_half_to_float((uint16_t)bits);
        if ((bits & 0x7fff) > 0x7c00)
            assert_true(isnan(value));
        else if ((bits & 0x7fff) == 0x7c00)
            assert_true(isinf(value));
        else
            assert_true((double)value == half_value((uint16_t)bits));
        assert_int_equal(signbit(value) != 0, bits >> 15);
    }
}

static void test_every_bfloat16_widens_exactly(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = rkb_bfloat16_to_float((uint16_t)bits);
        if ((bits & 0x7fff) > 0x7f80)
            assert_true(isnan(value));
        else if ((bits & 0x7fff) == 0x7f80)
            assert_true(isinf(value));
        else
            assert_true((double)value == bfloat16_value((uint16_t)bits));
    }
}

/** Narrowing of what was widened gives the bits back; a NaN stays one. */
static void test_round_trip_of_every_pattern(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t half = rkb_half_from_float(rkb_half_to_float((uint16_t)bits));
        uint16_t bfloat16 = rkb_bfloat16_from_float(rkb_bfloat16_to_float((uint16_t)bits));
        if ((bits & 0x7fff) > 0x7c00)
            assert_int_equal(half, (bits & 0x8000) | 0x7e00);
        else
            assert_int_equal(half, bits);
        if ((bits & 0x7fff) > 0x7f80)
            assert_int_equal(bfloat16, (bits & 0x8000) | 0x7fc0);
        else
            assert_int_equal(bfloat16, bits);
    }
}

/** Between each two neighbours: the middle goes to the even one, beside it to the nearer one. */
static void test_halfway_points_round_to_even(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        double low = half_value((uint16_t)bits);
        double high = bits == 0x7bff ? 65536.0 : half_value((uint16_t)(bits + 1));
        float middle = (float)((low + high) / 2); /* exact: one bit more */
        uint32_t even = bits & 1 ? bits + 1 : bits;
        assert_int_equal(rkb_half_from_float(middle), even);
        assert_int_equal(rkb_half_from_float(-middle), even | 0x8000);
        assert_int_equal(rkb_half_from_float(nextafterf(middle, 0)), bits);
        assert_int_equal(rkb_half_from_float(nextafterf(middle, INFINITY)), bits + 1);
    }
    for (uint32_t bits = 0; bits < 0x7f80; bits++) {
        float low = rkb_bfloat16_to_float((uint16_t)bits);
        float middle = rkb_bits_float((bits << 16) | 0x8000);
        assert_int_equal(rkb_bfloat16_from_float(middle), bits & 1 ? bits + 1 : bits);
        assert_int_equal(rkb_bfloat16_from_float(nextafterf(middle, 0)), bits);
        assert_int_equal(rkb_bfloat16_from_float(nextafterf(middle, INFINITY)), bits + 1);
        assert_int_equal(rkb_bfloat16_from_float(low), bits);
    }
}

static void test_a_double_is_rounded_once(void **state)
{
    (void)state;
    /* 1 + 2^-11 + 2^-40: float loses the last term, and the tie would then go down. */
    double above_tie = 1.0 + ldexp(1, -11) + ldexp(1, -40);
    assert_int_equal(rkb_half_from_float((float)above_tie), 0x3c00);
    assert_int_equal(rkb_half_from_float(rkb_double_to_float_odd(above_tie)), 0x3c01);
    assert_int_equal(rkb_half_from_float(rkb_double_to_float_odd(-above_tie)), 0xbc01);
    assert_int_equal(rkb_half_from_float(rkb_double_to_float_odd(1.0 + ldexp(1, -11))), 0x3c00);
    assert_int_equal(rkb_bfloat16_from_float(rkb_double_to_float_odd(1e300)), 0x7f80);
    assert_int_equal(rkb_half_from_float(rkb_double_to_float_odd(-1e300)), 0xfc00);
    assert_int_equal(rkb_half_from_float(rkb_double_to_float_odd(1e-300)), 0);
    assert_true(isnan(rkb_double_to_float_odd(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half_widens_exactly),
        cmocka_unit_test(test_every_bfloat16_widens_exactly),
        cmocka_unit_test(test_round_trip_of_every_pattern),
        cmocka_unit_test(test_halfway_points_round_to_even),
        cmocka_unit_test(test_a_double_is_rounded_once),
    };
    return cmocka_run_group_tests_name("runtime_half", tests, NULL, NULL);
}
