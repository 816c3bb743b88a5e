/** Metadata and values of small outputs: each verdict by one made for it. */
#include "evaluator/verify/verify.h"
#include "evaluator/verify/verify_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POISON 0x7ffb7ffbu

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(test_stats_pool_over_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
