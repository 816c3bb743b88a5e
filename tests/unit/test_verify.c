/**
 * Verdicts of the comparison: each by a small output made for it, and as properties of random
 * shapes, strides and dtypes.
 */
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

/* A float32 output y [4,5] with expected values 1, 2, … 20. */
typedef struct {
    rkb_output_spec_t spec;
    double oracle[20];
    float reference[20], out[20];
    rkb_compare_spec_t expected;
    rkb_output_view_t view;
    rkb_error_stats_t stats;
    rkb_finding_t finding;
} fixture_t;

static void fixture_init(fixture_t *f)
{
    memset(f, 0, sizeof *f);
    f->spec = (rkb_output_spec_t){
        .name = "y", .dtype = RKB_F32, .ndim = 2, .sizes = {4, 5}, .numel = 20, .bytes = 80};
    for (int i = 0; i < 20; i++) {
        f->oracle[i] = i + 1;
        f->reference[i] = f->out[i] = (float)(i + 1);
    }
    f->expected = (rkb_compare_spec_t){.spec = &f->spec,
                                       .reference = f->reference,
                                       .oracle = f->oracle,
                                       .atol = 1e-5,
                                       .rtol = 1e-5};
    f->view = (rkb_output_view_t){
        .base = f->out, .dtype = RKB_F32, .ndim = 2, .sizes = {4, 5}, .strides = {5, 1}};
}

static rkb_verdict_t fixture_check(fixture_t *f)
{
    rkb_verdict_t verdict =
        rkb_check_values(&f->expected, &f->view, POISON, &f->stats, &f->finding);
    assert_int_equal(verdict, f->finding.verdict);
    return verdict;
}

#define assert_mentions(_f, _text)                                                                 \
    do {                                                                                           \
        if (!strstr((_f)->finding.detail, _text))                                                  \
            fail_msg("\"%s\" does not mention \"%s\"", (_f)->finding.detail, _text);               \
    } while (0)

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

static void test_equal_output_is_ok(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_OK);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    assert_string_equal(f.finding.detail, "");
    assert_true(f.stats.max_abs_error == 0 && f.stats.max_abs_oracle == 20);
    assert_int_equal(f.stats.elements, 20);
}

static void test_tolerance_is_atol_plus_rtol_times_oracle(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.expected.atol = 0.25;
    f.expected.rtol = 0.5;
    f.out[1] = 2 + 1.25f; /* exactly at 0.25 + 0.5·2 */
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    assert_true(f.stats.max_abs_error == 1.25);
    f.out[1] = 2 + 1.2501f;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    /* relative to the oracle, not to the output, which a candidate could inflate */
    f.out[1] = 2 - 1.2501f;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
}

static void test_mismatch_names_element_values_and_counts(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.out[7] = -0.5f;
    f.out[13] = 100;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f,
                    "output \"y\" [4,5]: element [1,2] is -0.5, expected 8 (error 8.5, allowed");
    assert_mentions(&f, "2 of 20 elements differ");
    assert_mentions(&f, "the worst is [2,3]: 100 instead of 14");
    assert_null(strstr(f.finding.detail, "they all lie")); /* scattered */
    assert_true(f.stats.max_abs_error == 86);
}

static void test_wrong_tail_is_hinted(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    for (int i = 15; i < 20; i++)
        f.out[i] = 0;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "they all lie at index 3 of 4 of dimension 0, its end");
    fixture_init(&f);
    for (int row = 0; row < 4; row++)
        f.out[row * 5 + 3] = f.out[row * 5 + 4] = 0;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "they all lie at indices 3..4 of 5 of dimension 1, its end");
}

static void test_whole_output_hints(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    memset(f.out, 0, sizeof f.out);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "the output is all zeros");

    fixture_init(&f);
    for (int i = 0; i < 20; i++)
        f.out[i] = 3;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "every element is 3");

    fixture_init(&f);
    for (int i = 0; i < 20; i++)
        f.out[i] *= 64;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "the output is the expected one times 64");

    fixture_init(&f);
    float input[20];
    for (int i = 0; i < 20; i++)
        input[i] = f.out[i] = (float)sin(i);
    rkb_named_array_t arrays[] = {{"mask", input, RKB_I32, 20}, {"x", input, RKB_F32, 20}};
    f.expected.inputs = arrays;
    f.expected.input_count = 2;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "the output equals \"x\"");
}

static void test_transposed_square_is_hinted(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.spec = (rkb_output_spec_t){
        .name = "y", .dtype = RKB_F32, .ndim = 2, .sizes = {4, 4}, .numel = 16, .bytes = 64};
    f.view.sizes[1] = 4;
    f.view.strides[0] = 1; /* the transposed view of the right values */
    f.view.strides[1] = 4;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "last two dimensions exchanged");
}

static void test_unwritten_elements_are_found_before_anything_else(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    uint32_t poison = POISON;
    f.out[0] = NAN;
    f.out[1] = 77;
    for (int i = 15; i < 20; i++)
        memcpy(&f.out[i], &poison, 4);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_UNWRITTEN);
    assert_mentions(&f, "5 of 20 elements hold the fill of fresh memory");
    assert_mentions(&f, "the first is [3,0]");
    assert_mentions(&f, "its end");
}

static void test_unwritten_is_not_excused_by_an_expected_nan(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    uint32_t poison = POISON;
    f.oracle[4] = NAN;
    f.reference[4] = NAN;
    memcpy(&f.out[4], &poison, 4);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_UNWRITTEN);
    f.out[4] = NAN;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
}

static void test_right_value_equal_to_poison_is_written(void **state)
{
    (void)state;
    uint8_t out[4] = {1, POISON & 0xff, 3, 4}, want[4] = {1, POISON & 0xff, 3, 4};
    rkb_output_spec_t spec = {
        .name = "y", .dtype = RKB_U8, .ndim = 1, .sizes = {4}, .numel = 4, .bytes = 4};
    rkb_compare_spec_t expected = {.spec = &spec, .reference = want};
    rkb_output_view_t view = {
        .base = out, .dtype = RKB_U8, .ndim = 1, .sizes = {4}, .strides = {1}};
    rkb_error_stats_t stats = {0};
    rkb_finding_t finding;
    assert_int_equal(rkb_check_values(&expected, &view, POISON, &stats, &finding), RKB_VERDICT_OK);
    want[1] = 9;
    assert_int_equal(rkb_check_values(&expected, &view, POISON, &stats, &finding),
                     RKB_VERDICT_UNWRITTEN);
}

static void test_nan_and_inf_where_finite_is_due(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.out[3] = NAN;
    f.out[9] = -INFINITY;
    f.out[0] = 50;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_NAN_OR_INF);
    assert_mentions(&f, "element [0,3] is nan, expected 4; 2 of 20");
    assert_true(isfinite(f.stats.max_abs_error));
}

static void test_nonfinite_oracle_requires_the_same_kind(void **state)
{
    (void)state;
    const double due[] = {NAN, INFINITY, -INFINITY};
    const float given[] = {NAN, INFINITY, -INFINITY, 1};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            fixture_t f;
            fixture_init(&f);
            f.oracle[2] = due[i];
            f.reference[2] = (float)due[i];
            f.out[2] = given[k];
            assert_int_equal(fixture_check(&f), i == k ? RKB_VERDICT_OK : RKB_VERDICT_MISMATCH);
        }
    }
}

static void test_overflow_that_libtorch_shares_is_right(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.oracle[2] = 1e39; /* not a float32 */
    f.reference[2] = INFINITY;
    f.out[2] = INFINITY;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    f.out[2] = -INFINITY;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_NAN_OR_INF);

    fixture_init(&f);
    f.reference[2] = NAN; /* inf - inf inside libtorch's float32 program */
    f.out[2] = NAN;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    f.out[2] = 3; /* better than libtorch */
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    assert_true(isfinite(f.stats.reference_error));
    f.out[2] = 5;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
}

static void test_correct_rounding_is_right_under_zero_tolerance(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.expected.atol = f.expected.rtol = 0;
    for (int i = 0; i < 20; i++) {
        f.oracle[i] = (i + 1) / 3.0;
        f.out[i] = (float)f.oracle[i];
    }
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    f.out[4] = nextafterf(f.out[4], 100);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
}

static void test_shape_is_compared_without_broadcasting(void **state)
{
    (void)state;
    const struct {
        int ndim;
        int64_t sizes[3];
        const char *mention;
    } wrong[] = {
        {2, {4, 1}, "has shape [4,1], expected [4,5]"},
        {1, {1}, "a single element is not broadcast"},
        {2, {0, 5}, "it has no elements"},
        {1, {20}, "as many elements in another shape"},
        {2, {5, 4}, "as many elements in another shape"},
        {3, {1, 4, 5}, "[1,4,5]"},
        {0, {0}, "has shape []"},
        {-1, {0}, "-1 dimensions"},
        {99, {0}, "99 dimensions"},
        {2, {INT64_MAX, INT64_MAX}, "expected [4,5]"},
        {2, {-4, -5}, "[-4,-5]"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fixture_t f;
        fixture_init(&f);
        f.view.ndim = wrong[i].ndim;
        memcpy(f.view.sizes, wrong[i].sizes, sizeof wrong[i].sizes);
        assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_WRONG_SHAPE);
        assert_mentions(&f, wrong[i].mention);
    }
    fixture_t f;
    fixture_init(&f);
    f.view.strides[1] = -1;
    assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_WRONG_SHAPE);
    assert_mentions(&f, "negative stride -1 along dimension 1");
}

static void test_dtype_is_compared_exactly(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.view.dtype = RKB_F16;
    assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_WRONG_DTYPE);
    assert_mentions(&f, "is float16, expected float32");
    f.view.dtype = (rkb_dtype_t)77;
    assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_WRONG_DTYPE);
    assert_mentions(&f, "unknown dtype");
}

static void test_expanded_output_is_compared_by_its_values(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    for (int i = 0; i < 20; i++) {
        f.oracle[i] = i % 5;
        f.reference[i] = (float)f.oracle[i];
    }
    float row[5] = {0, 1, 2, 3, 4};
    f.view.base = row;
    f.view.strides[0] = 0;
    assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_OK);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    row[3] = 9;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "4 of 20 elements differ");
}

static void test_integers_and_booleans_are_exact(void **state)
{
    (void)state;
    int64_t want[3] = {INT64_C(9007199254740993), -1, 7}, out[3];
    memcpy(out, want, sizeof out);
    rkb_output_spec_t spec = {
        .name = "index", .dtype = RKB_I64, .ndim = 1, .sizes = {3}, .numel = 3, .bytes = 24};
    rkb_compare_spec_t expected = {.spec = &spec, .reference = want, .atol = 10, .rtol = 10};
    rkb_output_view_t view = {
        .base = out, .dtype = RKB_I64, .ndim = 1, .sizes = {3}, .strides = {1}};
    rkb_error_stats_t stats = {0};
    rkb_finding_t finding;
    assert_int_equal(rkb_check_values(&expected, &view, POISON, &stats, &finding), RKB_VERDICT_OK);
    out[0]--; /* differs by less than a double shows */
    assert_int_equal(rkb_check_values(&expected, &view, POISON, &stats, &finding),
                     RKB_VERDICT_MISMATCH);
    assert_non_null(strstr(finding.detail, "is 9007199254740992, expected 9007199254740993"));
    assert_int_equal(rkb_check_ratio("index", &stats, RKB_I64, NULL, &finding), RKB_VERDICT_OK);

    uint8_t flags_want[2] = {1, 0}, flags_out[2] = {255, 0};
    spec = (rkb_output_spec_t){
        .name = "mask", .dtype = RKB_BOOL, .ndim = 1, .sizes = {2}, .numel = 2, .bytes = 2};
    expected.reference = flags_want;
    view = (rkb_output_view_t){
        .base = flags_out, .dtype = RKB_BOOL, .ndim = 1, .sizes = {2}, .strides = {1}};
    assert_int_equal(rkb_check_values(&expected, &view, POISON, &stats, &finding),
                     RKB_VERDICT_MISMATCH);
}

static void test_empty_and_scalar_outputs(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.spec = (rkb_output_spec_t){.name = "y", .dtype = RKB_F32, .ndim = 0, .numel = 1, .bytes = 4};
    f.view.ndim = 0;
    assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_OK);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    f.out[0] = 2;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_MISMATCH);
    assert_mentions(&f, "output \"y\" []: element [] is 2, expected 1");

    f.spec = (rkb_output_spec_t){.name = "y", .dtype = RKB_F32, .ndim = 2, .sizes = {0, 5}};
    f.view = (rkb_output_view_t){.dtype = RKB_F32, .ndim = 2, .sizes = {0, 5}, .strides = {5, 1}};
    assert_int_equal(rkb_check_metadata(&f.spec, &f.view, &f.finding), RKB_VERDICT_OK);
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
}

static void put_value(unsigned char *at, rkb_dtype_t dtype, int value)
{
    static const uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
    static const uint16_t bf16[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
    float f = (float)value;
    double d = value;
    int64_t i = value;
    switch (dtype) {
    case RKB_F32:
        memcpy(at, &f, 4);
        break;
    case RKB_F64:
        memcpy(at, &d, 8);
        break;
    case RKB_F16:
        memcpy(at, &half[value], 2);
        break;
    case RKB_BF16:
        memcpy(at, &bf16[value], 2);
        break;
    default:
        memcpy(at, &i, rkb_element_size(dtype)); /* little endian */
    }
}

/* A random shape laid out with permuted dimensions, gaps and offsets; values 0 to 7. */
typedef struct {
    rkb_output_spec_t spec;
    rkb_output_view_t view;
    unsigned char *memory, *reference;
    double *oracle;
    size_t bytes;
} layout_t;

static void layout_create(layout_t *l)
{
    static const rkb_dtype_t dtypes[] = {RKB_F32, RKB_F16, RKB_BF16, RKB_F64, RKB_I64,
                                         RKB_I32, RKB_I16, RKB_I8,   RKB_U8};
    memset(l, 0, sizeof *l);
    rkb_dtype_t dtype = dtypes[random_below(9)];
    size_t size = rkb_element_size(dtype);
    l->spec = (rkb_output_spec_t){.name = "y", .dtype = dtype, .ndim = (int)random_below(6)};
    l->view.dtype = dtype;
    l->view.ndim = l->spec.ndim;
    int order[6];
    l->spec.numel = 1;
    for (int d = 0; d < l->spec.ndim; d++) {
        l->spec.sizes[d] = l->view.sizes[d] = 1 + random_below(random_below(8) ? 5 : 700);
        if (l->spec.numel * l->spec.sizes[d] > 20000)
            l->spec.sizes[d] = l->view.sizes[d] = 1;
        l->spec.numel *= l->spec.sizes[d];
        int at = (int)random_below(d + 1);
        memmove(&order[at + 1], &order[at], (size_t)(d - at) * sizeof *order);
        order[at] = d;
    }
    int64_t span = 1;
    for (int k = 0; k < l->spec.ndim; k++) {
        int d = order[k];
        int64_t gap = random_below(3) ? 0 : random_below(3);
        l->view.strides[d] = span + gap;
        span = l->view.strides[d] * l->spec.sizes[d];
    }
    int64_t offset = random_below(3);
    l->bytes = (size_t)(span + offset) * size;
    l->spec.bytes = (size_t)l->spec.numel * size;
    l->memory = malloc(l->bytes);
    l->reference = malloc(l->spec.bytes);
    l->oracle = malloc((size_t)l->spec.numel * sizeof *l->oracle);
    for (size_t i = 0; i < l->bytes; i++)
        l->memory[i] = (unsigned char)(POISON >> 8 * (i % 4));
    l->view.base = l->memory + (size_t)offset * size;
    for (int64_t i = 0; i < l->spec.numel; i++) {
        int value = 1 + (int)random_below(7);
        l->oracle[i] = value;
        put_value(l->reference + (size_t)i * size, dtype, value);
        put_value((unsigned char *)(uintptr_t)rkb_view_element(&l->view, i), dtype, value);
    }
}

static void layout_destroy(layout_t *l)
{
    free(l->memory);
    free(l->reference);
    free(l->oracle);
}

static void test_any_layout_of_right_values_is_ok_and_one_wrong_element_is_found(void **state)
{
    (void)state;
    random_state = 20261201;
    for (int round = 0; round < 400; round++) {
        layout_t l;
        layout_create(&l);
        bool is_float = rkb_element_is_float(l.spec.dtype);
        rkb_compare_spec_t expected = {.spec = &l.spec,
                                       .reference = l.reference,
                                       .oracle = is_float ? l.oracle : NULL,
                                       .atol = 1e-6};
        rkb_error_stats_t stats = {0};
        rkb_finding_t finding;
        assert_int_equal(rkb_check_metadata(&l.spec, &l.view, &finding), RKB_VERDICT_OK);
        assert_int_equal(rkb_check_values(&expected, &l.view, POISON, &stats, &finding),
                         RKB_VERDICT_OK);
        assert_true(stats.max_abs_error == 0);

        int64_t at = random_below(l.spec.numel);
        unsigned char *element = (unsigned char *)(uintptr_t)rkb_view_element(&l.view, at);
        put_value(element, l.spec.dtype, 0);
        char index[128];
        rkb_format_index(l.spec.sizes, l.spec.ndim, at, index, sizeof index);
        assert_int_equal(rkb_check_values(&expected, &l.view, POISON, &stats, &finding),
                         RKB_VERDICT_MISMATCH);
        if (!strstr(finding.detail, index) ||
            (l.spec.numel > 1 && !strstr(finding.detail, " 1 of ")))
            fail_msg("\"%s\" should name %s", finding.detail, index);
        assert_true(stats.max_abs_error == l.oracle[at]);

        uint32_t words[2] = {POISON, POISON};
        memcpy(element, words, rkb_element_size(l.spec.dtype));
        assert_int_equal(rkb_check_values(&expected, &l.view, POISON, &stats, &finding),
                         RKB_VERDICT_UNWRITTEN);
        if (!strstr(finding.detail, index))
            fail_msg("\"%s\" should name %s", finding.detail, index);
        layout_destroy(&l);
    }
}

static void test_walk_visits_each_element_once_in_order(void **state)
{
    (void)state;
    random_state = 7;
    for (int round = 0; round < 200; round++) {
        layout_t l;
        layout_create(&l);
        rkb_walk_t walk;
        rkb_run_t run;
        int64_t linear = 0;
        rkb_walk_begin(&walk, &l.view);
        while (rkb_walk_next(&walk, &run)) {
            assert_int_equal(run.linear, linear);
            assert_in_range(run.count, 1, RKB_RUN);
            for (int64_t i = 0; i < run.count; i++) {
                const unsigned char *at =
                    run.base + i * run.stride * (int64_t)rkb_element_size(l.view.dtype);
                assert_ptr_equal(at, rkb_view_element(&l.view, linear + i));
            }
            linear += run.count;
        }
        assert_int_equal(linear, l.spec.numel);
        layout_destroy(&l);
    }
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

static void test_stats_pool_over_trials(void **state)
{
    (void)state;
    fixture_t f;
    fixture_init(&f);
    f.out[3] += 0x1p-18f;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    f.out[3] -= 0x1p-18f;
    f.reference[5] += 0x1p-19f;
    assert_int_equal(fixture_check(&f), RKB_VERDICT_OK);
    assert_true(f.stats.max_abs_error == 0x1p-18 && f.stats.reference_error == 0x1p-19);
    assert_int_equal(f.stats.elements, 40);
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
        cmocka_unit_test(test_equal_output_is_ok),
        cmocka_unit_test(test_tolerance_is_atol_plus_rtol_times_oracle),
        cmocka_unit_test(test_mismatch_names_element_values_and_counts),
        cmocka_unit_test(test_wrong_tail_is_hinted),
        cmocka_unit_test(test_whole_output_hints),
        cmocka_unit_test(test_transposed_square_is_hinted),
        cmocka_unit_test(test_unwritten_elements_are_found_before_anything_else),
        cmocka_unit_test(test_unwritten_is_not_excused_by_an_expected_nan),
        cmocka_unit_test(test_right_value_equal_to_poison_is_written),
        cmocka_unit_test(test_nan_and_inf_where_finite_is_due),
        cmocka_unit_test(test_nonfinite_oracle_requires_the_same_kind),
        cmocka_unit_test(test_overflow_that_libtorch_shares_is_right),
        cmocka_unit_test(test_correct_rounding_is_right_under_zero_tolerance),
        cmocka_unit_test(test_shape_is_compared_without_broadcasting),
        cmocka_unit_test(test_dtype_is_compared_exactly),
        cmocka_unit_test(test_expanded_output_is_compared_by_its_values),
        cmocka_unit_test(test_integers_and_booleans_are_exact),
        cmocka_unit_test(test_empty_and_scalar_outputs),
        cmocka_unit_test(test_any_layout_of_right_values_is_ok_and_one_wrong_element_is_found),
        cmocka_unit_test(test_walk_visits_each_element_once_in_order),
        cmocka_unit_test(test_ratio_has_a_floor_for_lucky_references),
        cmocka_unit_test(test_ratio_rule_accepts_up_to_the_factor),
        cmocka_unit_test(test_ratio_rule_uses_what_lower_precision_costs),
        cmocka_unit_test(test_rounding_noise_is_left_to_the_tolerance),
        cmocka_unit_test(test_stats_pool_over_trials),
        cmocka_unit_test(test_find_difference_gives_the_first_range),
        cmocka_unit_test(test_find_unpoisoned_gives_the_first_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
