/** Properties of the comparison under random shapes, strides and dtypes. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_layout_of_right_values_is_ok_and_one_wrong_element_is_found),
        cmocka_unit_test(test_walk_visits_each_element_once_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
