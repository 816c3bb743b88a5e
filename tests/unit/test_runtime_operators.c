/* The bridge to libtorch, against a fake plugin that records what reaches it. */
#include "evaluator/cell/runtime/runtime.h"
#include "evaluator/reference/torch_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BYTES = 1 << 20, MAX_SEEN = 8 };
static unsigned char *arena;

/* ---- the fake ---- */

struct rkb_torch_tensor {
    rkb_tensor_t t;
    float own[8]; /* data of results that the operator computed */
};

static struct {
    int handles; /* not yet released */
    size_t nargs;
    rkb_value_kind_t kinds[MAX_SEEN];
    int64_t ints[MAX_SEEN]; /* first element or the number */
    double doubles[MAX_SEEN];
    size_t counts[MAX_SEEN];
    bool load_fails;
} fake;

static rkb_torch_tensor_t *handle_create(void)
{
    fake.handles++;
    return calloc(1, sizeof(rkb_torch_tensor_t));
}

static rkb_status_t fake_wrap(void *data, rkb_dtype_t dtype, const int64_t *sizes,
                              const int64_t *strides, int ndim, rkb_torch_tensor_t **out,
                              rkb_error_t *err)
{
    (void)err;
    *out = handle_create();
    rkb_tensor_t *t = &(*out)->t;
    t->data = data;
    t->dtype = (int32_t)dtype;
    t->ndim = ndim;
    t->numel = 1;
    for (int i = 0; i < ndim; i++) {
        t->sizes[i] = sizes[i];
        t->strides[i] = strides[i];
        t->numel *= sizes[i];
    }
    return RKB_OK;
}

static void fake_release(rkb_torch_tensor_t *tensor)
{
    if (tensor != NULL)
        fake.handles--;
    free(tensor);
}

static void fake_describe(const rkb_torch_tensor_t *tensor, rkb_tensor_t *out)
{
    *out = tensor->t;
}

static rkb_status_t fake_read(const rkb_torch_tensor_t *tensor, void *dst, size_t bytes,
                              rkb_error_t *err)
{
    (void)err;
    memcpy(dst, tensor->t.data, bytes);
    return RKB_OK;
}

static rkb_torch_tensor_t *fake_view(const rkb_torch_tensor_t *of)
{
    rkb_torch_tensor_t *copy = handle_create();
    copy->t = of->t;
    return copy;
}

static rkb_status_t fake_call(const char *name, const rkb_torch_value_t *args, size_t nargs,
                              bool grad, rkb_torch_value_t *results, size_t *nresults,
                              rkb_error_t *err)
{
    assert_false(grad);
    fake.nargs = nargs;
    for (size_t i = 0; i < nargs && i < MAX_SEEN; i++) {
        fake.kinds[i] = args[i].kind;
        fake.counts[i] = args[i].count;
        if (args[i].kind == RKB_VALUE_INT || args[i].kind == RKB_VALUE_BOOL)
            fake.ints[i] = args[i].i;
        if (args[i].kind == RKB_VALUE_INT_LIST && args[i].count > 0)
            fake.ints[i] = args[i].ints[0];
        if (args[i].kind == RKB_VALUE_DOUBLE)
            fake.doubles[i] = args[i].d;
        if (args[i].kind == RKB_VALUE_DOUBLE_LIST && args[i].count > 0)
            fake.doubles[i] = args[i].doubles[0];
    }
    if (strcmp(name, "aten::fails") == 0)
        return rkb_error_set(err, RKB_ERR_INVALID, "mat1 and mat2 shapes cannot be multiplied");
    if (strcmp(name, "aten::missing") == 0)
        return rkb_error_set(err, RKB_ERR_NOT_FOUND, "no such operator");
    *nresults = 1;
    results[0].kind = RKB_VALUE_TENSOR;
    if (strcmp(name, "aten::add_.Tensor") == 0) {
        results[0].tensor = fake_view(args[0].tensor);
    } else if (strcmp(name, "aten::narrow") == 0) {
        results[0].tensor = fake_view(args[0].tensor);
        results[0].tensor->t.data = (float *)args[0].tensor->t.data + 1;
        results[0].tensor->t.sizes[0] = 2;
        results[0].tensor->t.numel = 2;
    } else if (strcmp(name, "aten::view.dtype") == 0) {
        results[0].tensor = fake_view(args[0].tensor);
        results[0].tensor->t.dtype = RKB_I32;
    } else if (strcmp(name, "aten::equal") == 0) {
        results[0].kind = RKB_VALUE_BOOL;
        results[0].i = 1;
    } else if (strcmp(name, "aten::split") == 0) {
        static rkb_torch_tensor_t *parts[2];
        parts[0] = fake_view(args[0].tensor);
        parts[1] = fake_view(args[0].tensor);
        results[0].kind = RKB_VALUE_TENSOR_LIST;
        results[0].count = 2;
        results[0].tensors = parts;
    } else {
        rkb_torch_tensor_t *r = handle_create();
        r->own[0] = 1.0f;
        r->own[1] = 2.0f;
        r->t = (rkb_tensor_t){.data = r->own, .dtype = RKB_F32, .ndim = 1, .numel = 2};
        r->t.sizes[0] = 2;
        r->t.strides[0] = 1;
        results[0].tensor = r;
    }
    return RKB_OK;
}

rkb_status_t rkb_torch_load(const rkb_torch_api_t **out, rkb_error_t *err)
{
    static const rkb_torch_api_t api = {.version = RKB_TORCH_API_VERSION,
                                        .wrap = fake_wrap,
                                        .release = fake_release,
                                        .describe = fake_describe,
                                        .read = fake_read,
                                        .call = fake_call};
    if (fake.load_fails)
        return rkb_error_set(err, RKB_ERR_NOT_FOUND, "librkb_torch.so was not found");
    *out = &api;
    return RKB_OK;
}

/* ---- tests ---- */

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    arena = aligned_alloc(4096, BYTES);
    rkb_runtime_begin(arena, 0, BYTES, 0x7fc0dead);
    return arena == NULL;
}

static int teardown(void **state)
{
    (void)state;
    rkb_heap_reset(NULL, 0, 0, 0);
    free(arena);
    return 0;
}

static rkb_value_t tensor_value(rkb_tensor_t *tensor)
{
    return (rkb_value_t){.kind = RKB_VALUE_TENSOR, .tensor = tensor};
}

static rkb_tensor_t *make(int32_t device)
{
    int64_t n = 4;
    rkb_tensor_t *t = rkb_rt_tensor_empty(&n, 1, RKB_F32, device);
    rkb_rt_tensor_fill(t, 3, 3);
    return t;
}

/** Calls with `args`; the one result in *result. All handles must be gone afterwards. */
static int call(const char *name, const rkb_value_t *args, size_t nargs, rkb_value_t *result)
{
    size_t n = 1;
    int rc = rkb_rt_call_operator(name, args, nargs, result, &n);
    assert_int_equal(fake.handles, 0);
    if (rc == 0)
        assert_int_equal(n, 1);
    return rc;
}

static void test_a_result_becomes_a_fenced_tensor_on_the_device(void **state)
{
    (void)state;
    rkb_tensor_t *x = make(RKB_DEVICE_CUDA);
    rkb_value_t arg = tensor_value(x), result;
    assert_int_equal(call("aten::relu", &arg, 1, &result), 0);
    assert_int_equal(result.kind, RKB_VALUE_TENSOR);
    assert_int_equal(result.tensor->device, RKB_DEVICE_CUDA);
    assert_true(rkb_heap_contains(result.tensor->data));
    assert_true(((float *)result.tensor->data)[1] == 2.0f);
    rkb_rt_value_release(&result);
    rkb_rt_tensor_release(x);
}

static void test_an_operator_in_place_returns_the_same_tensor(void **state)
{
    (void)state;
    rkb_tensor_t *x = make(RKB_DEVICE_CUDA);
    rkb_value_t args[] = {tensor_value(x), tensor_value(x)}, result;
    assert_int_equal(call("aten::add_.Tensor", args, 2, &result), 0);
    assert_ptr_equal(result.tensor, x);
    assert_int_equal(x->refs, 2);
    rkb_rt_value_release(&result);
    rkb_rt_tensor_release(x);
}

static void test_a_view_shares_storage(void **state)
{
    (void)state;
    rkb_tensor_t *x = make(RKB_DEVICE_CUDA);
    rkb_value_t arg = tensor_value(x), result;
    assert_int_equal(call("aten::narrow", &arg, 1, &result), 0);
    assert_ptr_equal(result.tensor->storage, x->storage);
    assert_ptr_equal(result.tensor->data, (float *)x->data + 1);
    rkb_rt_value_release(&result);
    assert_int_equal(call("aten::view.dtype", &arg, 1, &result), 0);
    assert_ptr_equal(result.tensor->data, x->data);
    assert_int_equal(result.tensor->dtype, RKB_I32);
    assert_int_equal(x->refs, 2); /* kept alive by the view */
    rkb_rt_value_release(&result);
    assert_int_equal(x->refs, 1);
    rkb_rt_tensor_release(x);
}

static void test_lists_of_tensors_come_back(void **state)
{
    (void)state;
    rkb_tensor_t *x = make(RKB_DEVICE_CUDA);
    rkb_value_t arg = tensor_value(x), result;
    assert_int_equal(call("aten::split", &arg, 1, &result), 0);
    assert_int_equal(result.kind, RKB_VALUE_TENSOR_LIST);
    assert_int_equal(result.count, 2);
    assert_ptr_equal(result.tensors[1], x);
    rkb_rt_value_release(&result);
    assert_int_equal(call("aten::equal", &arg, 1, &result), 0);
    assert_int_equal(result.kind, RKB_VALUE_BOOL);
    assert_int_equal(result.i, 1);
    rkb_rt_tensor_release(x);
}

static void test_lists_of_numbers_take_one_kind(void **state)
{
    (void)state;
    rkb_tensor_t *x = make(RKB_DEVICE_CUDA);
    rkb_value_t ints[] = {{.kind = RKB_VALUE_INT, .i = 7}, {.kind = RKB_VALUE_INT, .i = 8}};
    rkb_value_t mixed[] = {{.kind = RKB_VALUE_INT, .i = 1}, {.kind = RKB_VALUE_DOUBLE, .d = 0.5}};
    rkb_value_t tensors[] = {tensor_value(x), {.kind = RKB_VALUE_NONE}};
    rkb_value_t args[] = {{.kind = RKB_VALUE_LIST, .count = 2, .list = ints},
                          {.kind = RKB_VALUE_LIST, .count = 2, .list = mixed},
                          {.kind = RKB_VALUE_LIST, .count = 2, .list = tensors},
                          {.kind = RKB_VALUE_LIST, .count = 0, .list = ints},
                          {.kind = RKB_VALUE_TENSOR, .tensor = NULL}};
    rkb_value_t result;
    assert_int_equal(call("aten::relu", args, 5, &result), 0);
    assert_int_equal(fake.kinds[0], RKB_VALUE_INT_LIST);
    assert_int_equal(fake.ints[0], 7);
    assert_int_equal(fake.kinds[1], RKB_VALUE_DOUBLE_LIST);
    assert_true(fake.doubles[1] == 1.0);
    assert_int_equal(fake.kinds[2], RKB_VALUE_TENSOR_LIST);
    assert_int_equal(fake.kinds[3], RKB_VALUE_INT_LIST);
    assert_int_equal(fake.counts[3], 0);
    assert_int_equal(fake.kinds[4], RKB_VALUE_NONE);
    rkb_rt_value_release(&result);

    rkb_value_t words[] = {{.kind = RKB_VALUE_STRING, .s = (char *)"a"}};
    rkb_value_t bad = {.kind = RKB_VALUE_LIST, .count = 1, .list = words};
    assert_int_equal(call("aten::relu", &bad, 1, &result), -1);
    rkb_rt_tensor_release(x);
}

static void test_two_devices_do_not_mix(void **state)
{
    (void)state;
    rkb_tensor_t *x = make(RKB_DEVICE_CUDA), *y = make(RKB_DEVICE_CPU);
    rkb_value_t args[] = {tensor_value(x), tensor_value(y)}, result;
    assert_int_equal(call("aten::add.Tensor", args, 2, &result), -1);
    assert_non_null(strstr(rkb_rt_last_error(), "same device"));
    assert_int_equal(call("aten::index.Tensor", args, 2, &result), 0);
    rkb_rt_value_release(&result);
    assert_int_equal(call("aten::relu", &args[1], 1, &result), 0);
    assert_int_equal(result.tensor->device, RKB_DEVICE_CPU);
    rkb_rt_value_release(&result);
    rkb_rt_tensor_release(x);
    rkb_rt_tensor_release(y);
}

static void test_a_failure_carries_the_operators_message(void **state)
{
    (void)state;
    rkb_value_t result;
    assert_int_equal(call("aten::fails", NULL, 0, &result), -1);
    assert_string_equal(rkb_rt_last_error(),
                        "aten::fails: mat1 and mat2 shapes cannot be multiplied");
    assert_int_equal(call("aten::missing", NULL, 0, &result), RKB_RT_UNSUPPORTED);
    fake.load_fails = true;
    assert_int_equal(call("aten::relu", NULL, 0, &result), RKB_RT_UNSUPPORTED);
    assert_non_null(strstr(rkb_rt_last_error(), "librkb_torch.so was not found"));
}

static void test_too_small_a_result_array_is_refused(void **state)
{
    (void)state;
    rkb_tensor_t *x = make(RKB_DEVICE_CUDA);
    rkb_value_t arg = tensor_value(x), result;
    size_t n = 0;
    assert_int_equal(rkb_rt_call_operator("aten::relu", &arg, 1, &result, &n), -1);
    assert_int_equal(fake.handles, 0);
    rkb_rt_tensor_release(x);
}

static void test_names_are_recorded_once_without_overload(void **state)
{
    (void)state;
    const char *const *names;
    rkb_value_t result;
    assert_int_equal(rkb_runtime_delegated(&names), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(call(i == 1 ? "aten::sum" : "aten::sum.dim_IntList", NULL, 0, &result), 0);
        rkb_rt_value_release(&result);
    }
    call("aten::fails", NULL, 0, &result);
    assert_int_equal(rkb_runtime_delegated(&names), 2);
    assert_string_equal(names[0], "aten::sum");
    assert_string_equal(names[1], "aten::fails");
    rkb_runtime_begin(arena, 0, BYTES, 0x7fc0dead);
    assert_int_equal(rkb_runtime_delegated(&names), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_a_result_becomes_a_fenced_tensor_on_the_device),
        T(test_an_operator_in_place_returns_the_same_tensor),
        T(test_a_view_shares_storage),
        T(test_lists_of_tensors_come_back),
        T(test_lists_of_numbers_take_one_kind),
        T(test_two_devices_do_not_mix),
        T(test_a_failure_carries_the_operators_message),
        T(test_too_small_a_result_array_is_refused),
        T(test_names_are_recorded_once_without_overload),
    };
    return cmocka_run_group_tests_name("runtime_operators", tests, NULL, NULL);
}
