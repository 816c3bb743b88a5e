/** Tables, texts, element formats, the ratio rule and the searches. */
#include "evaluator/verify/verify.h"
#include "evaluator/verify/verify_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POISON 0x7ffb7ffbu

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = random_state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static int64_t random_below(int64_t n)
{
    return (int64_t)(random_next() % (uint64_t)n);
}

static void test_verdict_names_are_parsed_back(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    for (int i = 0; i < RKB_VERDICTS; i++) {
        rkb_verdict_t verdict;
        assert_int_equal(rkb_verdict_parse(rkb_verdict_name((rkb_verdict_t)i), &verdict, &err),
                         RKB_OK);
        assert_int_equal(verdict, i);
    }
    rkb_verdict_t untouched = RKB_VERDICT_CRASH;
    assert_int_equal(rkb_verdict_parse("fine", &untouched, &err), RKB_ERR_INVALID);
    assert_int_equal(untouched, RKB_VERDICT_CRASH);
    assert_non_null(strstr(err.text, "fine"));
    assert_string_equal(rkb_verdict_name(RKB_VERDICTS), "unknown");
    assert_true(rkb_verdict_is_ours(RKB_VERDICT_INFRA_ERROR));
    assert_true(rkb_verdict_is_ours(RKB_VERDICT_REFERENCE_ERROR));
    assert_false(rkb_verdict_is_ours(RKB_VERDICT_OK));
    assert_false(rkb_verdict_is_ours(RKB_VERDICT_TIMEOUT));
    assert_string_equal(rkb_flag_name(RKB_FLAG_BIT_REDUCED_PRECISION), "reduced_precision");
    assert_int_equal(RKB_FLAG(REDUCED_PRECISION), 2);
}

static void test_finding_cuts_a_long_detail_visibly(void **state)
{
    (void)state;
    rkb_finding_t finding;
    char text[2 * RKB_DETAIL_SIZE];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(rkb_finding_set(&finding, RKB_VERDICT_CRASH, "%s", text), RKB_VERDICT_CRASH);
    assert_int_equal(strlen(finding.detail), RKB_DETAIL_SIZE - 1);
    assert_int_equal(finding.detail[RKB_DETAIL_SIZE - 2], '+');
}

static void test_index_and_shape_are_formatted_and_cut(void **state)
{
    (void)state;
    int64_t sizes[] = {4, 3, 20};
    char buf[64], tiny[4];
    assert_string_equal(rkb_format_index(sizes, 3, 2 * 60 + 1 * 20 + 17, buf, sizeof buf),
                        "[2,1,17]");
    assert_string_equal(rkb_format_index(sizes, 0, 0, buf, sizeof buf), "[]");
    assert_string_equal(rkb_format_shape(sizes, 3, buf, sizeof buf), "[4,3,20]");
    assert_string_equal(rkb_format_shape(sizes, 0, buf, sizeof buf), "[]");
    assert_string_equal(rkb_format_shape(sizes, 3, tiny, sizeof tiny), "[4,");
}

static void test_every_dtype_loads_as_double(void **state)
{
    (void)state;
    float f = -1.5f;
    double d = 1e300;
    int8_t i8 = -128;
    uint8_t u8 = 255;
    int16_t i16 = -32768;
    int32_t i32 = INT32_MIN;
    int64_t i64 = INT64_C(1) << 40;
    assert_true(rkb_load_double(&f, RKB_F32) == -1.5);
    assert_true(rkb_load_double(&d, RKB_F64) == 1e300);
    assert_true(rkb_load_double(&i8, RKB_I8) == -128);
    assert_true(rkb_load_double(&u8, RKB_U8) == 255);
    assert_true(rkb_load_double(&u8, RKB_BOOL) == 255);
    assert_true(rkb_load_double(&i16, RKB_I16) == -32768);
    assert_true(rkb_load_double(&i32, RKB_I32) == INT32_MIN);
    assert_true(rkb_load_double(&i64, RKB_I64) == 0x1p40);
    const struct {
        uint16_t bits;
        double value;
    } half[] = {{0x3c00, 1},
                {0xc000, -2},
                {0x7bff, 65504},
                {0x0001, 0x1p-24},
                {0x03ff, 1023 * 0x1p-24},
                {0x0400, 0x1p-14},
                {0x8000, -0.0},
                {0x7c00, INFINITY}},
      bf16[] = {{0x3f80, 1}, {0xc000, -2}, {0x7f7f, 0x1.fep127}, {0xff80, -INFINITY}};
    for (size_t i = 0; i < sizeof half / sizeof *half; i++)
        assert_true(rkb_load_double(&half[i].bits, RKB_F16) == half[i].value);
    for (size_t i = 0; i < sizeof bf16 / sizeof *bf16; i++)
        assert_true(rkb_load_double(&bf16[i].bits, RKB_BF16) == bf16[i].value);
    uint16_t nan16 = 0x7e01;
    assert_true(isnan(rkb_load_double(&nan16, RKB_F16)));
}

static void test_half_ulp_follows_the_format(void **state)
{
    (void)state;
    assert_true(rkb_half_ulp(1, RKB_F32) == 0x1p-24);
    assert_true(rkb_half_ulp(1.99, RKB_F32) == 0x1p-24);
    assert_true(rkb_half_ulp(-2, RKB_F32) == 0x1p-23);
    assert_true(rkb_half_ulp(1, RKB_F16) == 0x1p-11);
    assert_true(rkb_half_ulp(1, RKB_BF16) == 0x1p-8);
    assert_true(rkb_half_ulp(1, RKB_F64) == 0x1p-53);
    assert_true(rkb_half_ulp(0, RKB_F32) == 0x1p-150);
    assert_true(rkb_half_ulp(1, RKB_I32) == 0);
}

static void test_rounding_to_lower_keeps_the_leading_digits(void **state)
{
    (void)state;
    float values[] = {
        1, 1 + 0x1p-10f, 1 + 0x1p-11f, 1 + 3 * 0x1p-11f, -(1 + 0x1.8p-11f), 2 - 0x1p-23f,
        0, INFINITY,     3.4e38f};
    float due[] = {1, 1 + 0x1p-10f, 1, 1 + 2 * 0x1p-10f, -(1 + 0x1p-10f), 2, 0, INFINITY, 0};
    rkb_round_to_lower(values, RKB_F32, sizeof values / sizeof *values);
    for (int i = 0; i < 8; i++)
        assert_true(values[i] == due[i]);
    assert_true(isfinite(values[8])); /* rounding makes no infinities */
    double d = 1 + 0x1p-40;
    rkb_round_to_lower(&d, RKB_F64, 1);
    assert_true(d == 1);
    int32_t i = 123456789;
    rkb_round_to_lower(&i, RKB_I32, 1);
    assert_int_equal(i, 123456789);
    float random[200];
    random_state = 3;
    for (int k = 0; k < 200; k++) {
        float x = (float)((double)random_next() / 0x1p63 - 1);
        random[k] = x;
        rkb_round_to_lower(&random[k], RKB_F32, 1);
        assert_true(fabs((double)random[k] - (double)x) <= rkb_half_ulp((double)x, RKB_F16) ||
                    fabs((double)x) < 0x1p-14);
    }
}

static void test_poison_is_nan_in_every_float_and_varies(void **state)
{
    (void)state;
    int different = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint32_t words[2] = {rkb_poison_pattern(seed), rkb_poison_pattern(seed)};
        assert_true(isnan(rkb_load_double(words, RKB_F16)));
        assert_true(isnan(rkb_load_double(words, RKB_BF16)));
        assert_true(isnan(rkb_load_double(words, RKB_F32)));
        assert_true(isnan(rkb_load_double(words, RKB_F64)));
        assert_true((words[0] & 0xff) > 1);
        assert_int_not_equal(words[0] & 0x7fffffff, 0x7fffffff);
        different += words[0] != rkb_poison_pattern(seed + 1);
    }
    assert_true(different > 25);
}

static void test_ratio_has_a_floor_for_lucky_references(void **state)
{
    (void)state;
    rkb_error_stats_t stats = {.max_abs_error = 3 * 0x1p-23, .max_abs_oracle = 2.5, .elements = 1};
    assert_true(rkb_error_ratio(&stats, RKB_F32) == 3);
    stats.reference_error = 0x1p-22;
    assert_true(rkb_error_ratio(&stats, RKB_F32) == 1.5);
    stats.max_abs_error = 0;
    assert_true(rkb_error_ratio(&stats, RKB_F32) == 0);
    stats = (rkb_error_stats_t){0};
    assert_true(rkb_error_ratio(&stats, RKB_F32) == 0);
}

static void test_ratio_rule_accepts_up_to_the_factor(void **state)
{
    (void)state;
    rkb_error_stats_t stats = {
        .max_abs_error = 32 * 1e-6, .reference_error = 1e-6, .max_abs_oracle = 1, .elements = 100};
    unsigned flags = 0;
    rkb_finding_t finding;
    assert_int_equal(rkb_check_ratio("y", &stats, RKB_F32, &flags, &finding), RKB_VERDICT_OK);
    stats.max_abs_error = 33 * 1e-6;
    assert_int_equal(rkb_check_ratio("y", &stats, RKB_F32, &flags, &finding), RKB_VERDICT_MISMATCH);
    assert_non_null(strstr(finding.detail, "33 times that of libtorch in float32"));
    stats.max_abs_error = 4e-4;
    flags = 0;
    assert_int_equal(rkb_check_ratio("y", &stats, RKB_F32, &flags, &finding), RKB_VERDICT_MISMATCH);
    assert_int_equal(flags, RKB_FLAG(REDUCED_PRECISION));
    assert_non_null(strstr(finding.detail, "TF32"));
}

static void test_ratio_rule_uses_what_lower_precision_costs(void **state)
{
    (void)state;
    rkb_error_stats_t stats = {
        .reference_error = 1e-6, .max_abs_oracle = 1, .lowered_error = 16 * 50e-6, .elements = 100};
    assert_true(fabs(rkb_allowed_ratio(&stats, RKB_F32) - 50) < 1e-9);
    stats.lowered_error = 1; /* far away: the long factor */
    assert_true(rkb_allowed_ratio(&stats, RKB_F32) == RKB_ERROR_FACTOR_LONG);
    stats.lowered_error = 100e-6; /* near: no extension, but for a scalar */
    assert_true(rkb_allowed_ratio(&stats, RKB_F32) == RKB_ERROR_FACTOR);
    stats.elements = 5;
    assert_true(fabs(rkb_allowed_ratio(&stats, RKB_F32) - 50) < 1e-9);
    stats.lowered_error = 20e-6; /* hidden: 2·32²/20 */
    assert_true(fabs(rkb_allowed_ratio(&stats, RKB_F32) - 102.4) < 1e-9);
    stats.lowered_error = 1e-9; /* unnoticeable: a quarter of TF32's rounding of the output */
    assert_true(fabs(rkb_allowed_ratio(&stats, RKB_F32) - 0x1p-13 / 1e-6) < 1e-9);
    /* An error equal to the lowered one never passes where it is visible. */
    for (double lowered = 33e-6; lowered < 1; lowered *= 1.3) {
        unsigned flags = 0;
        stats.lowered_error = stats.max_abs_error = lowered;
        assert_int_equal(rkb_check_ratio("y", &stats, RKB_F32, &flags, NULL), RKB_VERDICT_MISMATCH);
        assert_int_equal(flags, RKB_FLAG(REDUCED_PRECISION));
    }
}

static void test_rounding_noise_is_left_to_the_tolerance(void **state)
{
    (void)state;
    rkb_error_stats_t stats = {
        .max_abs_error = 1e-6, .reference_error = 1e-9, .max_abs_oracle = 1e-17, .elements = 100};
    assert_int_equal(rkb_check_ratio("y", &stats, RKB_F32, NULL, NULL), RKB_VERDICT_OK);
    stats.reference_error = stats.max_abs_oracle = 0;
    assert_int_equal(rkb_check_ratio("y", &stats, RKB_F32, NULL, NULL), RKB_VERDICT_OK);
    stats.max_abs_oracle = 1e-3; /* small, but a value */
    assert_int_equal(rkb_check_ratio("y", &stats, RKB_F32, NULL, NULL), RKB_VERDICT_MISMATCH);
}

static void test_find_difference_gives_the_first_range(void **state)
{
    (void)state;
    enum { SIZE = 10000 };
    static unsigned char a[SIZE], b[SIZE];
    size_t first = 0, count = 0;
    random_state = 5;
    for (size_t i = 0; i < SIZE; i++)
        a[i] = b[i] = (unsigned char)random_next();
    assert_false(rkb_find_difference(a, b, SIZE, &first, &count));
    assert_false(rkb_find_difference(a, b, 0, &first, &count));
    for (int round = 0; round < 100; round++) {
        size_t at = (size_t)random_below(SIZE), n = 1 + (size_t)random_below(50);
        if (at + n > SIZE)
            n = SIZE - at;
        for (size_t i = 0; i < n; i++)
            b[at + i] ^= 1;
        assert_true(rkb_find_difference(a, b, SIZE, &first, &count));
        assert_int_equal(first, at);
        assert_int_equal(count, n);
        memcpy(b, a, SIZE);
    }
}

static void test_find_unpoisoned_gives_the_first_word(void **state)
{
    (void)state;
    uint32_t words[64];
    for (int i = 0; i < 64; i++)
        words[i] = POISON;
    size_t first = 99;
    assert_false(rkb_find_unpoisoned(words, sizeof words, POISON, &first));
    assert_int_equal(first, 99);
    words[40] ^= 0x10000;
    words[50] = 0;
    assert_true(rkb_find_unpoisoned(words, sizeof words, POISON, &first));
    assert_int_equal(first, 160);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict_names_are_parsed_back),
        cmocka_unit_test(test_finding_cuts_a_long_detail_visibly),
        cmocka_unit_test(test_index_and_shape_are_formatted_and_cut),
        cmocka_unit_test(test_every_dtype_loads_as_double),
        cmocka_unit_test(test_half_ulp_follows_the_format),
        cmocka_unit_test(test_rounding_to_lower_keeps_the_leading_digits),
        cmocka_unit_test(test_poison_is_nan_in_every_float_and_varies),
        cmocka_unit_test(test_ratio_has_a_floor_for_lucky_references),
        cmocka_unit_test(test_ratio_rule_accepts_up_to_the_factor),
        cmocka_unit_test(test_ratio_rule_uses_what_lower_precision_costs),
        cmocka_unit_test(test_rounding_noise_is_left_to_the_tolerance),
        cmocka_unit_test(test_find_difference_gives_the_first_range),
        cmocka_unit_test(test_find_unpoisoned_gives_the_first_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
