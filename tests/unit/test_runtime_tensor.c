#include "evaluator/cell/runtime/runtime.h"
#include "evaluator/kernel_api/rkb_half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BYTES = 1 << 20 };
static unsigned char *arena;

static int make_arena(void **state)
{
    (void)state;
    arena = aligned_alloc(4096, BYTES);
    rkb_runtime_begin(arena, 0, BYTES, 0x7fc0dead);
    return arena == NULL;
}

static int drop_arena(void **state)
{
    (void)state;
    rkb_heap_reset(NULL, 0, 0, 0);
    free(arena);
    return 0;
}

static size_t live_blocks(void)
{
    const rkb_heap_alloc_t *records;
    size_t n = rkb_heap_records(&records), live = 0;
    for (size_t i = 0; i < n; i++)
        live += records[i].live;
    return live;
}

static void test_empty_is_contiguous_on_the_device(void **state)
{
    (void)state;
    int64_t sizes[] = {2, 3, 4};
    rkb_tensor_t *t = rkb_rt_tensor_empty(sizes, 3, RKB_F32, RKB_DEVICE_CUDA);
    assert_non_null(t);
    assert_int_equal(t->numel, 24);
    assert_int_equal(t->strides[0], 12);
    assert_int_equal(t->strides[2], 1);
    assert_int_equal(t->device, RKB_DEVICE_CUDA);
    assert_int_equal(t->device_index, 0);
    assert_true(rkb_heap_contains(t->data));
    assert_true(isnan(((float *)t->data)[23]));
    rkb_rt_tensor_release(t);
    assert_int_equal(live_blocks(), 0);
}

static void test_host_tensors_stay_out_of_the_arena(void **state)
{
    (void)state;
    rkb_tensor_t *t = rkb_rt_tensor_empty((int64_t[]){5}, 1, RKB_I64, RKB_DEVICE_CPU);
    assert_non_null(t);
    assert_false(rkb_heap_contains(t->data));
    assert_int_equal(t->device_index, -1);
    rkb_rt_tensor_release(t);
}

static void test_invalid_shapes_are_refused(void **state)
{
    (void)state;
    assert_null(rkb_rt_tensor_empty((int64_t[]){-1}, 1, RKB_F32, RKB_DEVICE_CUDA));
    assert_non_null(strstr(rkb_rt_last_error(), "negative"));
    int64_t huge[] = {1LL << 40, 1LL << 40};
    assert_null(rkb_rt_tensor_empty(huge, 2, RKB_F32, RKB_DEVICE_CUDA));
    assert_non_null(strstr(rkb_rt_last_error(), "overflow"));
    assert_null(rkb_rt_tensor_empty(huge, 1, 99, RKB_DEVICE_CUDA));
    assert_null(rkb_rt_tensor_empty(huge, RKB_MAX_DIMS + 1, RKB_F32, RKB_DEVICE_CUDA));
    assert_null(rkb_rt_tensor_empty(huge, 1, RKB_F32, RKB_DEVICE_CUDA));
    assert_non_null(strstr(rkb_rt_last_error(), "out of CUDA memory"));
}

static void test_a_view_keeps_the_storage(void **state)
{
    (void)state;
    int64_t sizes[] = {4, 3}, swapped[] = {3, 4}, strides[] = {1, 3};
    rkb_tensor_t *t = rkb_rt_tensor_empty(sizes, 2, RKB_F32, RKB_DEVICE_CUDA);
    rkb_tensor_t *v = rkb_rt_tensor_as_strided(t, swapped, strides, 2, t->data);
    assert_non_null(v);
    rkb_rt_tensor_release(t);
    assert_int_equal(live_blocks(), 1);
    rkb_rt_tensor_release(v);
    assert_int_equal(live_blocks(), 0);
}

static void test_a_view_cannot_leave_its_storage(void **state)
{
    (void)state;
    int64_t n = 12, more = 13, stride = 1, two = 2;
    rkb_tensor_t *t = rkb_rt_tensor_empty(&n, 1, RKB_F32, RKB_DEVICE_CUDA);
    float *data = t->data;
    assert_null(rkb_rt_tensor_as_strided(t, &more, &stride, 1, data));
    assert_null(rkb_rt_tensor_as_strided(t, &n, &stride, 1, data + 1));
    assert_null(rkb_rt_tensor_as_strided(t, &n, &stride, 1, data - 1));
    assert_null(rkb_rt_tensor_as_strided(t, &n, &two, 1, data));
    int64_t huge = INT64_MAX;
    assert_null(rkb_rt_tensor_as_strided(t, &two, &huge, 1, data));
    int64_t back = -1;
    rkb_tensor_t *v = rkb_rt_tensor_as_strided(t, &n, &back, 1, data + 11);
    assert_non_null(v);
    rkb_rt_tensor_release(v);
    rkb_rt_tensor_release(t);
}

static void count_call(void *context)
{
    ++*(int *)context;
}

static void test_a_blob_is_released_with_its_last_reference(void **state)
{
    (void)state;
    float data[6] = {0};
    int calls = 0;
    rkb_tensor_t *t = rkb_rt_tensor_from_blob(data, (int64_t[]){6}, NULL, 1, RKB_F32,
                                              RKB_DEVICE_CPU, count_call, &calls);
    rkb_rt_tensor_retain(t);
    rkb_rt_tensor_release(t);
    assert_int_equal(calls, 0);
    rkb_rt_tensor_release(t);
    assert_int_equal(calls, 1);
    assert_null(rkb_rt_tensor_from_blob(data, (int64_t[]){-6}, NULL, 1, RKB_F32, RKB_DEVICE_CPU,
                                        count_call, &calls));
    assert_int_equal(calls, 1);
}

static void test_a_tensor_may_outlive_its_range(void **state)
{
    (void)state;
    rkb_tensor_t *old = rkb_rt_tensor_empty((int64_t[]){8}, 1, RKB_F32, RKB_DEVICE_CUDA);
    rkb_runtime_begin(arena, BYTES / 2, BYTES / 2, 0x7fc0dead);
    rkb_tensor_t *fresh = rkb_rt_tensor_empty((int64_t[]){8}, 1, RKB_F32, RKB_DEVICE_CUDA);
    rkb_rt_tensor_release(old);
    assert_int_equal(live_blocks(), 1);
    rkb_rt_tensor_release(fresh);
}

/* ---- copies ---- */

static rkb_tensor_t *host(void *data, int32_t dtype, int64_t n)
{
    return rkb_rt_tensor_from_blob(data, &n, NULL, 1, dtype, RKB_DEVICE_CPU, NULL, NULL);
}

static void convert(const void *from, int32_t from_type, void *to, int32_t to_type, int64_t n)
{
    rkb_tensor_t *src = host((void *)from, from_type, n), *dst = host(to, to_type, n);
    assert_int_equal(rkb_rt_tensor_copy(dst, src), 0);
    rkb_rt_tensor_release(src);
    rkb_rt_tensor_release(dst);
}

static void test_floats_become_integers_by_truncation(void **state)
{
    (void)state;
    float from[] = {1.9f, -1.9f, 0.0f, 3e9f, -3e9f, NAN};
    int32_t to[6];
    convert(from, RKB_F32, to, RKB_I32, 6);
    static const int32_t want[] = {1, -1, 0, INT32_MAX, INT32_MIN, 0};
    assert_memory_equal(to, want, sizeof(want));
    double wide[] = {1e30, -1e30, 255.5};
    int64_t longs[3];
    convert(wide, RKB_F64, longs, RKB_I64, 3);
    assert_int_equal(longs[0], INT64_MAX);
    assert_int_equal(longs[1], INT64_MIN);
    assert_int_equal(longs[2], 255);
}

static void test_integers_wrap_into_narrower_ones(void **state)
{
    (void)state;
    int64_t from[] = {300, -1, 128, -129};
    uint8_t bytes[4];
    int8_t chars[4];
    convert(from, RKB_I64, bytes, RKB_U8, 4);
    convert(from, RKB_I64, chars, RKB_I8, 4);
    static const uint8_t want_bytes[] = {44, 255, 128, 127};
    static const int8_t want_chars[] = {44, -1, -128, 127};
    assert_memory_equal(bytes, want_bytes, 4);
    assert_memory_equal(chars, want_chars, 4);
}

static void test_anything_but_zero_is_true(void **state)
{
    (void)state;
    float from[] = {0.0f, -0.0f, 0.5f, NAN};
    uint8_t to[4];
    convert(from, RKB_F32, to, RKB_BOOL, 4);
    static const uint8_t want[] = {0, 0, 1, 1};
    assert_memory_equal(to, want, 4);
    uint8_t odd[] = {0, 2, 255};
    float back[3];
    convert(odd, RKB_BOOL, back, RKB_F32, 3);
    assert_true(back[0] == 0 && back[1] == 1 && back[2] == 1);
}

static void test_large_integers_round_once(void **state)
{
    (void)state;
    int64_t from[] = {(1LL << 62) + 1, -(1LL << 62) - 1, 16777217, 65519, 65520, 2049, 5};
    float floats[7];
    uint16_t halves[7], bfloats[7];
    convert(from, RKB_I64, floats, RKB_F32, 7);
    convert(from, RKB_I64, halves, RKB_F16, 7);
    convert(from, RKB_I64, bfloats, RKB_BF16, 7);
    assert_true(floats[2] == 16777216.0f);
    assert_int_equal(halves[3], 0x7bff);
    assert_int_equal(halves[4], 0x7c00);
    assert_int_equal(halves[5], 0x6800); /* 2049 lies between 2048 and 2050 */
    assert_int_equal(halves[6], 0x4500);
    int64_t above_tie[] = {(0x101LL << 54) + 1, -((0x101LL << 54) + 1)};
    convert(above_tie, RKB_I64, bfloats, RKB_BF16, 2);
    assert_int_equal(bfloats[0], 0x5e81);
    assert_int_equal(bfloats[1], 0xde81);
}

static void test_every_half_converts_to_every_float_and_back(void **state)
{
    (void)state;
    enum { N = 65536 };
    static uint16_t bits[N], back[N];
    static float floats[N];
    static double doubles[N];
    for (int i = 0; i < N; i++)
        bits[i] = (uint16_t)i;
    static const int32_t types[] = {RKB_F16, RKB_BF16};
    for (int k = 0; k < 2; k++) {
        convert(bits, types[k], floats, RKB_F32, N);
        convert(bits, types[k], doubles, RKB_F64, N);
        for (int i = 0; i < N; i++)
            assert_true(isnan(floats[i]) ? isnan(doubles[i]) : (double)floats[i] == doubles[i]);
        convert(doubles, RKB_F64, back, types[k], N);
        for (int i = 0; i < N; i++)
            assert_true(isnan(floats[i]) || back[i] == bits[i]);
    }
}

static void test_same_dtype_keeps_the_bits_of_nans(void **state)
{
    (void)state;
    uint32_t from[] = {0x7f800001, 0xffc12345}, to[2];
    convert(from, RKB_F32, to, RKB_F32, 2);
    assert_memory_equal(from, to, sizeof(to));
}

static void test_copies_broadcast_and_follow_strides(void **state)
{
    (void)state;
    float row[] = {1, 2, 3};
    int64_t sizes[] = {2, 3};
    rkb_tensor_t *src = host(row, RKB_F32, 3);
    rkb_tensor_t *dst = rkb_rt_tensor_empty(sizes, 2, RKB_F64, RKB_DEVICE_CUDA);
    assert_int_equal(rkb_rt_tensor_copy(dst, src), 0);
    static const double want[] = {1, 2, 3, 1, 2, 3};
    assert_memory_equal(dst->data, want, sizeof(want));

    double swapped[6];
    int64_t turned[] = {3, 2}, strides[] = {1, 3};
    rkb_tensor_t *view = rkb_rt_tensor_as_strided(dst, turned, strides, 2, dst->data);
    rkb_tensor_t *out =
        rkb_rt_tensor_from_blob(swapped, turned, NULL, 2, RKB_F64, RKB_DEVICE_CPU, NULL, NULL);
    assert_int_equal(rkb_rt_tensor_copy(out, view), 0);
    static const double want_turned[] = {1, 1, 2, 2, 3, 3};
    assert_memory_equal(swapped, want_turned, sizeof(want_turned));
    assert_int_equal(rkb_rt_tensor_copy(src, dst), -1);
    assert_non_null(strstr(rkb_rt_last_error(), "[2, 3] does not broadcast to [3]"));
    rkb_rt_tensor_release(out);
    rkb_rt_tensor_release(view);
    rkb_rt_tensor_release(dst);
    rkb_rt_tensor_release(src);
}

/** Random shapes and strides against a copy by index arithmetic. */
static void test_strided_copies_equal_index_arithmetic(void **state)
{
    (void)state;
    static float pool[4096];
    uint32_t random = 7;
    for (int i = 0; i < 4096; i++)
        pool[i] = (float)i;
    for (int round = 0; round < 300; round++) {
        int64_t sizes[4], from[4], step = 1;
        int order[4] = {0, 1, 2, 3};
        for (int i = 0; i < 4; i++) {
            random = random * 1664525u + 1013904223u;
            sizes[i] = 1 + (random >> 28) % 5;
            int other = (random >> 20) % 4, swap = order[i];
            order[i] = order[other];
            order[other] = swap;
        }
        for (int i = 0; i < 4; i++) {
            from[order[i]] = step;
            step *= sizes[order[i]];
        }
        if (round % 3 == 0)
            from[round % 4] = 0;
        rkb_tensor_t *src =
            rkb_rt_tensor_from_blob(pool, sizes, from, 4, RKB_F32, RKB_DEVICE_CPU, NULL, NULL);
        rkb_tensor_t *dst = rkb_rt_tensor_empty(sizes, 4, RKB_F64, RKB_DEVICE_CUDA);
        assert_int_equal(rkb_rt_tensor_copy(dst, src), 0);
        const double *got = dst->data;
        for (int64_t a = 0; a < sizes[0]; a++)
            for (int64_t b = 0; b < sizes[1]; b++)
                for (int64_t c = 0; c < sizes[2]; c++)
                    for (int64_t d = 0; d < sizes[3]; d++)
                        assert_true(*got++ ==
                                    pool[a * from[0] + b * from[1] + c * from[2] + d * from[3]]);
        rkb_rt_tensor_release(src);
        rkb_rt_tensor_release(dst);
    }
}

static void test_fill_converts_to_the_dtype(void **state)
{
    (void)state;
#define CHECK_FILL(_dtype, _type, _want)                                                           \
    do {                                                                                           \
        rkb_tensor_t *t = rkb_rt_tensor_empty((int64_t[]){3}, 1, _dtype, RKB_DEVICE_CUDA);         \
        assert_int_equal(rkb_rt_tensor_fill(t, 2.5, 2), 0);                                        \
        for (int i = 0; i < 3; i++)                                                                \
            assert_true(((_type *)t->data)[i] == (_want));                                         \
        rkb_rt_tensor_release(t);                                                                  \
    } while (0)
    CHECK_FILL(RKB_F32, float, 2.5f);
    CHECK_FILL(RKB_F64, double, 2.5);
    CHECK_FILL(RKB_F16, uint16_t, 0x4100);
    CHECK_FILL(RKB_BF16, uint16_t, 0x4020);
    CHECK_FILL(RKB_I64, int64_t, 2);
    CHECK_FILL(RKB_U8, uint8_t, 2);
    CHECK_FILL(RKB_BOOL, uint8_t, 1);
#undef CHECK_FILL
}

static void test_empty_tensors_copy_nothing(void **state)
{
    (void)state;
    int64_t sizes[] = {0, 4};
    rkb_tensor_t *a = rkb_rt_tensor_empty(sizes, 2, RKB_F32, RKB_DEVICE_CUDA);
    rkb_tensor_t *b = rkb_rt_tensor_empty(sizes, 2, RKB_F16, RKB_DEVICE_CUDA);
    assert_int_equal(rkb_rt_tensor_copy(a, b), 0);
    assert_int_equal(rkb_rt_tensor_fill(a, 1, 1), 0);
    rkb_rt_tensor_release(a);
    rkb_rt_tensor_release(b);
}

static void test_values_own_what_they_hold(void **state)
{
    (void)state;
    rkb_tensor_t *t = rkb_rt_tensor_empty((int64_t[]){3}, 1, RKB_F32, RKB_DEVICE_CUDA);
    int64_t ints[] = {4, 5};
    rkb_value_t parts[] = {{.kind = RKB_VALUE_TENSOR, .tensor = t},
                           {.kind = RKB_VALUE_INT_LIST, .count = 2, .ints = ints},
                           {.kind = RKB_VALUE_STRING, .s = (char *)"mean"}};
    rkb_value_t list = {.kind = RKB_VALUE_LIST, .count = 3, .list = parts}, copy;
    assert_int_equal(rkb_rt_value_copy(&copy, &list), 0);
    assert_int_equal(t->refs, 2);
    assert_int_equal(copy.list[1].kind, RKB_VALUE_LIST);
    assert_int_equal(copy.list[1].list[1].i, 5);
    assert_string_equal(copy.list[2].s, "mean");
    rkb_rt_value_release(&copy);
    assert_int_equal(copy.kind, RKB_VALUE_NONE);
    assert_int_equal(t->refs, 1);
    rkb_rt_tensor_release(t);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_empty_is_contiguous_on_the_device),
        T(test_host_tensors_stay_out_of_the_arena),
        T(test_invalid_shapes_are_refused),
        T(test_a_view_keeps_the_storage),
        T(test_a_view_cannot_leave_its_storage),
        T(test_a_blob_is_released_with_its_last_reference),
        T(test_a_tensor_may_outlive_its_range),
        T(test_floats_become_integers_by_truncation),
        T(test_integers_wrap_into_narrower_ones),
        T(test_anything_but_zero_is_true),
        T(test_large_integers_round_once),
        T(test_every_half_converts_to_every_float_and_back),
        T(test_same_dtype_keeps_the_bits_of_nans),
        T(test_copies_broadcast_and_follow_strides),
        T(test_strided_copies_equal_index_arithmetic),
        T(test_fill_converts_to_the_dtype),
        T(test_empty_tensors_copy_nothing),
        T(test_values_own_what_they_hold),
    };
    return cmocka_run_group_tests_name("runtime_tensor", tests, NULL, NULL);
}
