/* The libtorch plugin: every kind of argument and result, defaults, gradients, and its complaints.
 */
#include "evaluator/reference/torch_api.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const rkb_torch_api_t *torch;

static int setup(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    (void)state;
    if (rkb_torch_load(&torch, &err) == RKB_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static rkb_torch_tensor_t *wrap(float *data, int ndim, int64_t a, int64_t b)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_torch_tensor_t *tensor;
    int64_t sizes[] = {a, b};
    assert_int_equal(torch->wrap(data, RKB_F32, sizes, NULL, ndim, &tensor, &err), RKB_OK);
    return tensor;
}

static rkb_torch_value_t tensor_value(rkb_torch_tensor_t *tensor)
{
    return (rkb_torch_value_t){.kind = RKB_VALUE_TENSOR, .tensor = tensor};
}

static rkb_torch_value_t int_value(int64_t i)
{
    return (rkb_torch_value_t){.kind = RKB_VALUE_INT, .i = i};
}

static rkb_torch_value_t double_value(double d)
{
    return (rkb_torch_value_t){.kind = RKB_VALUE_DOUBLE, .d = d};
}

static rkb_torch_value_t ints_value(const int64_t *ints, size_t count)
{
    return (rkb_torch_value_t){.kind = RKB_VALUE_INT_LIST, .ints = ints, .count = count};
}

#define ARGS(...) ((rkb_torch_value_t[]){__VA_ARGS__})
#define COUNT(...) (sizeof ARGS(__VA_ARGS__) / sizeof(rkb_torch_value_t))

/* Calls and expects exactly one result. */
static rkb_torch_value_t call_one(const char *name, const rkb_torch_value_t *args, size_t count)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_torch_value_t results[4];
    size_t n = 4;
    if (torch->call(name, args, count, false, results, &n, &err) != RKB_OK)
        fail_msg("%s", err.text);
    assert_int_equal(n, 1);
    return results[0];
}
#define CALL(name_, ...) call_one(name_, ARGS(__VA_ARGS__), COUNT(__VA_ARGS__))

/* Releases the tensor and checks its values. */
static void expect_floats(rkb_torch_value_t value, const float *expected, size_t count)
{
    rkb_error_t err = RKB_ERROR_INIT;
    float data[64];
    assert_int_equal(value.kind, RKB_VALUE_TENSOR);
    assert_int_equal(torch->read(value.tensor, data, count * sizeof *data, &err), RKB_OK);
    for (size_t i = 0; i < count; i++)
        if (data[i] != expected[i])
            fail_msg("element %zu is %g, expected %g", i, data[i], expected[i]);
    torch->release(value.tensor);
}
#define EXPECT(value_, ...)                                                                        \
    expect_floats(value_, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

/* Expects a refusal whose text has all parts. */
static void expect_refusal(const char *name, const rkb_torch_value_t *args, size_t count,
                           const char *part, const char *other)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_torch_value_t results[4];
    size_t n = 4;
    assert_int_equal(torch->call(name, args, count, false, results, &n, &err), RKB_ERR_INVALID);
    if (!strstr(err.text, name) || !strstr(err.text, part) || !strstr(err.text, other) ||
        strchr(err.text, '\n'))
        fail_msg("%s", err.text);
    assert_int_equal(n, 4);
}

static void test_tensors_are_wrapped_described_and_read(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    float data[6] = {0, 1, 2, 3, 4, 5}, out[6];
    int64_t sizes[] = {3, 2}, strides[] = {1, 3};
    rkb_torch_tensor_t *tensor, *copy;
    rkb_tensor_t shape;
    (void)state;
    assert_int_equal(torch->wrap(data, RKB_F32, sizes, strides, 2, &tensor, &err), RKB_OK);
    torch->describe(tensor, &shape);
    assert_int_equal(shape.dtype, RKB_F32);
    assert_int_equal(shape.ndim, 2);
    assert_int_equal(shape.numel, 6);
    assert_int_equal(shape.sizes[0], 3);
    assert_int_equal(shape.strides[1], 3);
    assert_int_equal(shape.device, RKB_DEVICE_CPU);
    assert_ptr_equal(shape.data, data);
    assert_false(shape.requires_grad);
    assert_int_equal(torch->read(tensor, out, sizeof out, &err), RKB_OK);
    float transposed[] = {0, 3, 1, 4, 2, 5};
    assert_memory_equal(out, transposed, sizeof out);
    assert_int_equal(torch->read(tensor, out, 8, &err), RKB_ERR_INVALID);
    assert_non_null(strstr(err.text, "24 bytes"));

    assert_int_equal(torch->copy(tensor, RKB_F64, true, &copy, &err), RKB_OK);
    torch->describe(copy, &shape);
    assert_int_equal(shape.dtype, RKB_F64);
    assert_true(shape.requires_grad);
    assert_int_equal(shape.strides[0], 2);
    assert_ptr_not_equal(shape.data, data);
    rkb_torch_tensor_t *second = torch->retain(copy);
    torch->release(copy);
    torch->describe(second, &shape);
    assert_int_equal(shape.numel, 6);
    torch->release(second);
    torch->release(tensor);
    torch->release(NULL);
}

static void test_every_dtype_keeps_its_bits(void **state)
{
    static const struct {
        rkb_dtype_t dtype;
        size_t bytes;
    } rows[] = {
#define ROW(_e, _name, _size, _torch) {RKB_##_e, _size},
        RKB_DTYPE_MAP(ROW)
#undef ROW
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        unsigned char data[24] = {1, 0, 1, 1, 0, 1, 0, 0, 1}, out[24];
        int64_t size = 3;
        rkb_torch_tensor_t *tensor;
        rkb_tensor_t shape;
        assert_int_equal(torch->wrap(data, rows[i].dtype, &size, NULL, 1, &tensor, &err), RKB_OK);
        torch->describe(tensor, &shape);
        assert_int_equal(shape.dtype, rows[i].dtype);
        assert_int_equal(torch->read(tensor, out, 3 * rows[i].bytes, &err), RKB_OK);
        assert_memory_equal(out, data, 3 * rows[i].bytes);
        torch->release(tensor);
    }
}

static void test_arguments_convert_to_the_schemas_types(void **state)
{
    float a[] = {1, 2, 3, 4}, b[] = {10, 20};
    rkb_torch_tensor_t *x = wrap(a, 2, 2, 2), *y = wrap(b, 1, 2, 0);
    int64_t dims[] = {1};
    rkb_torch_value_t vx = tensor_value(x), vy = tensor_value(y);
    rkb_torch_value_t none = {.kind = RKB_VALUE_NONE};
    rkb_torch_value_t yes = {.kind = RKB_VALUE_BOOL, .i = 1};
    (void)state;
    /* lists, bools, defaults that are left out */
    EXPECT(CALL("aten::sum.dim_IntList", vx, ints_value(dims, 1)), 3, 7);
    EXPECT(CALL("aten::sum.dim_IntList", vx, ints_value(dims, 1), yes), 3, 7);
    EXPECT(CALL("aten::sum.dim_IntList", vx, ints_value(dims, 1), int_value(1)), 3, 7);
    EXPECT(CALL("aten::sum.dim_IntList", vx, int_value(0)), 4, 6); /* int[1] takes an int */
    EXPECT(CALL("aten::sum.dim_IntList", vx, none), 10);
    /* numbers: an int for a Scalar or float, a number for a tensor */
    EXPECT(CALL("aten::add.Scalar", vy, int_value(1)), 11, 21);
    EXPECT(CALL("aten::add.Tensor", vy, vy, double_value(0.5)), 15, 30);
    EXPECT(CALL("aten::mul.Tensor", vy, double_value(0.5)), 5, 10);
    EXPECT(CALL("aten::clamp", vx, none, int_value(3)), 1, 2, 3, 3);
    EXPECT(CALL("aten::leaky_relu", vy), 10, 20);
    /* "int[2] kernel_size" takes one int for both */
    float square[] = {1, 2, 3, 9};
    int64_t image[] = {1, 2, 2};
    rkb_torch_tensor_t *z;
    rkb_error_t err = RKB_ERROR_INIT;
    assert_int_equal(torch->wrap(square, RKB_F32, image, NULL, 3, &z, &err), RKB_OK);
    EXPECT(CALL("aten::max_pool2d", tensor_value(z), int_value(2)), 9);
    torch->release(z);
    torch->release(x);
    torch->release(y);
}

static void test_lists_strings_and_dtypes(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    rkb_torch_tensor_t *x = wrap(a, 2, 2, 2), *y = wrap(b, 2, 2, 2);
    rkb_torch_tensor_t *both[] = {x, y};
    int64_t rows[] = {1};
    rkb_torch_value_t tensors = {.kind = RKB_VALUE_TENSOR_LIST, .tensors = both, .count = 2};
    rkb_torch_value_t equation = {.kind = RKB_VALUE_STRING, .s = "ij,jk->ik"};
    rkb_torch_value_t f64 = {.kind = RKB_VALUE_DTYPE, .i = RKB_F64};
    (void)state;
    EXPECT(CALL("aten::cat", tensors, int_value(1)), 1, 2, 5, 6, 3, 4, 7, 8);
    EXPECT(CALL("aten::einsum", equation, tensors), 19, 22, 43, 50);

    rkb_torch_value_t wide = CALL("aten::sum", tensor_value(x), f64);
    double sum;
    assert_int_equal(torch->read(wide.tensor, &sum, sizeof sum, &err), RKB_OK);
    assert_true(sum == 10);
    torch->release(wide.tensor);

    /* Tensor?[]: x[:, [1]] */
    rkb_torch_tensor_t *index;
    int64_t one = 1;
    assert_int_equal(torch->wrap(rows, RKB_I64, &one, NULL, 1, &index, &err), RKB_OK);
    rkb_torch_tensor_t *picks[] = {NULL, index};
    rkb_torch_value_t indices = {.kind = RKB_VALUE_TENSOR_LIST, .tensors = picks, .count = 2};
    EXPECT(CALL("aten::index.Tensor", tensor_value(x), indices), 2, 4);
    torch->release(index);

    /* float[] */
    double factors[] = {2.0};
    rkb_torch_value_t none = {.kind = RKB_VALUE_NONE};
    rkb_torch_value_t scale = {.kind = RKB_VALUE_DOUBLE_LIST, .doubles = factors, .count = 1};
    float c[] = {1, 2};
    int64_t cube[] = {1, 1, 2};
    rkb_torch_tensor_t *z;
    assert_int_equal(torch->wrap(c, RKB_F32, cube, NULL, 3, &z, &err), RKB_OK);
    EXPECT(CALL("aten::upsample_nearest1d.vec", tensor_value(z), none, scale), 1, 1, 2, 2);
    torch->release(z);
    torch->release(x);
    torch->release(y);
}

static void test_results_of_every_kind_come_back(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    float a[] = {1, 5, 4, 2};
    rkb_torch_tensor_t *x = wrap(a, 2, 2, 2);
    rkb_torch_value_t results[3];
    size_t n = 3;
    (void)state;
    assert_int_equal(torch->call("aten::max.dim", ARGS(tensor_value(x), int_value(1)), 2, false,
                                 results, &n, &err),
                     RKB_OK);
    assert_int_equal(n, 2);
    EXPECT(results[0], 5, 4);
    rkb_tensor_t shape;
    torch->describe(results[1].tensor, &shape);
    assert_int_equal(shape.dtype, RKB_I64);
    torch->release(results[1].tensor);

    rkb_torch_value_t parts = CALL("aten::chunk", tensor_value(x), int_value(2));
    assert_int_equal(parts.kind, RKB_VALUE_TENSOR_LIST);
    assert_int_equal(parts.count, 2);
    rkb_torch_tensor_t *first = parts.tensors[0], *second = parts.tensors[1];
    EXPECT(tensor_value(first), 1, 5);
    EXPECT(tensor_value(second), 4, 2);

    rkb_torch_value_t size = CALL("aten::size.int", tensor_value(x), int_value(0));
    assert_int_equal(size.kind, RKB_VALUE_INT);
    assert_int_equal(size.i, 2);
    rkb_torch_value_t same = CALL("aten::equal", tensor_value(x), tensor_value(x));
    assert_int_equal(same.kind, RKB_VALUE_BOOL);
    assert_int_equal(same.i, 1);
    rkb_torch_value_t total = CALL("aten::sum", tensor_value(x));
    rkb_torch_value_t item = CALL("aten::item", total);
    assert_int_equal(item.kind, RKB_VALUE_DOUBLE);
    assert_true(item.d == 12);
    torch->release(total.tensor);

    n = 1;
    assert_int_equal(torch->call("aten::max.dim", ARGS(tensor_value(x), int_value(1)), 2, false,
                                 results, &n, &err),
                     RKB_ERR_INVALID);
    assert_non_null(strstr(err.text, "room for 1"));
    torch->release(x);
}

static void test_complaints_name_operator_and_argument(void **state)
{
    float a[] = {1, 2, 3, 4};
    rkb_torch_tensor_t *x = wrap(a, 2, 2, 2), *y = wrap(a, 1, 3, 0);
    rkb_torch_value_t vx = tensor_value(x), vy = tensor_value(y);
    rkb_torch_value_t text = {.kind = RKB_VALUE_STRING, .s = "x"};
    double half[] = {0.5};
    rkb_torch_value_t halves = {.kind = RKB_VALUE_DOUBLE_LIST, .doubles = half, .count = 1};
    rkb_torch_value_t none = {.kind = RKB_VALUE_NONE};
    (void)state;
#define REFUSED(name_, part_, other_, ...)                                                         \
    expect_refusal(name_, ARGS(__VA_ARGS__), COUNT(__VA_ARGS__), part_, other_)
    REFUSED("aten::mm", "mat", "", vx, vy); /* libtorch's own message */
    REFUSED("aten::no_such_operator", "no such operator", "", vx);
    REFUSED("aten::sum.no_such_overload", "it has", "aten::sum.dim_IntList", vx);
    REFUSED("aten::mm", "argument \"mat2\" is missing", "", vx);
    REFUSED("aten::relu", "2 arguments are given", "at most 1", vx, vx);
    REFUSED("aten::relu", "argument \"self\" takes Tensor", "not a string", text);
    REFUSED("aten::relu", "argument \"self\"", "not None", none);
    REFUSED("aten::sum.dim_IntList", "argument \"dim\"", "not a list of floats", vx, halves);
    REFUSED("aten::softmax.int", "argument \"dim\"", "not a float", vx, double_value(0.5));
    REFUSED("aten::cat", "argument \"tensors\"", "not a tensor", vx);
    REFUSED("aten::einsum", "argument \"equation\"", "not an int", int_value(1), vx);
#undef REFUSED
    torch->release(x);
    torch->release(y);
}

static void test_a_default_can_be_asked_for_in_the_middle(void **state)
{
    float a[] = {1, 2, 3, 4};
    rkb_torch_tensor_t *x = wrap(a, 2, 2, 2);
    rkb_torch_value_t filler = {.kind = RKB_VALUE_STRING, .s = "ignored", .use_default = true};
    (void)state;
    rkb_torch_value_t v = tensor_value(x); /* addmm(self, mat1, mat2, *, beta=1, alpha=1) */
    EXPECT(CALL("aten::addmm", v, v, v, filler, double_value(0)), 1, 2, 3, 4);
    EXPECT(CALL("aten::cumsum", v, int_value(1), filler), 1, 3, 3, 7);
    expect_refusal("aten::mm", ARGS(v, filler), 2, "argument \"mat2\" is missing", "");
    torch->release(x);
}

static void test_schema_and_argument_positions(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char text[512];
    size_t index;
    (void)state;
    assert_int_equal(torch->schema("aten::relu", text, sizeof text, &err), RKB_OK);
    assert_string_equal(text, "aten::relu(Tensor self) -> Tensor");
    assert_int_equal(torch->schema("aten::relu", text, 8, &err), RKB_ERR_INVALID);
    assert_int_equal(torch->argument("aten::layer_norm", "eps", &index, &err), RKB_OK);
    assert_int_equal(index, 4);
    assert_int_equal(torch->argument("aten::layer_norm", "epsilon", &index, &err), RKB_ERR_INVALID);
    assert_non_null(strstr(err.text, "has no argument \"epsilon\"; it takes input, "));
}

static void test_gradients_follow_the_upstream(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    float a[] = {1, -2, 3}, b[] = {4, 5, 6}, g[] = {1, 10, 100};
    rkb_torch_tensor_t *plain[] = {wrap(a, 1, 3, 0), wrap(b, 1, 3, 0), wrap(b, 1, 3, 0)};
    rkb_torch_tensor_t *leaves[3], *grads[3], *upstream = wrap(g, 1, 3, 0);
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(torch->copy(plain[i], RKB_F32, true, &leaves[i], &err), RKB_OK);
    rkb_torch_value_t product;
    size_t n = 1;
    assert_int_equal(torch->call("aten::mul.Tensor",
                                 ARGS(tensor_value(leaves[0]), tensor_value(leaves[1])), 2, true,
                                 &product, &n, &err),
                     RKB_OK);
    assert_int_equal(torch->grad(&product.tensor, &upstream, 1, leaves, 3, grads, &err), RKB_OK);
    EXPECT(tensor_value(grads[0]), 4, 50, 600);
    EXPECT(tensor_value(grads[1]), 1, -20, 300);
    EXPECT(tensor_value(grads[2]), 0, 0, 0); /* no output depends on it */
    torch->release(product.tensor);

    /* without recording there is nothing to differentiate: zeros, not an error */
    n = 1;
    assert_int_equal(
        torch->call("aten::relu", ARGS(tensor_value(leaves[0])), 1, false, &product, &n, &err),
        RKB_OK);
    assert_int_equal(torch->grad(&product.tensor, &upstream, 1, leaves, 1, grads, &err), RKB_OK);
    EXPECT(tensor_value(grads[0]), 0, 0, 0);
    torch->release(product.tensor);

    /* a wrong shape is libtorch's to refuse */
    rkb_torch_tensor_t *two = wrap(g, 1, 2, 0);
    n = 1;
    assert_int_equal(
        torch->call("aten::relu", ARGS(tensor_value(leaves[0])), 1, true, &product, &n, &err),
        RKB_OK);
    assert_int_equal(torch->grad(&product.tensor, &two, 1, leaves, 1, grads, &err),
                     RKB_ERR_INVALID);
    assert_non_null(strstr(err.text, "autograd: "));
    torch->release(product.tensor);
    torch->release(two);
    for (int i = 0; i < 3; i++) {
        torch->release(plain[i]);
        torch->release(leaves[i]);
    }
    torch->release(upstream);
}

static void test_running_out_of_memory_is_told_apart(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    int64_t huge[] = {INT64_C(1) << 50};
    rkb_torch_value_t result;
    size_t n = 1;
    (void)state;
    assert_int_equal(
        torch->call("aten::ones", ARGS(ints_value(huge, 1)), 1, false, &result, &n, &err),
        RKB_ERR_NO_MEMORY);
    assert_non_null(strstr(err.text, "aten::ones"));
}

static void test_the_same_call_gives_the_same_bits(void **state)
{
    enum { N = 1 << 16 };
    rkb_error_t err = RKB_ERROR_INIT;
    float *data = malloc(N * sizeof *data), sums[2];
    (void)state;
    assert_non_null(data);
    for (int i = 0; i < N; i++)
        data[i] = 1.0f / (float)(i + 3);
    rkb_torch_tensor_t *x = wrap(data, 1, N, 0);
    for (int i = 0; i < 2; i++) {
        rkb_torch_value_t sum = CALL("aten::sum", tensor_value(x));
        assert_int_equal(torch->read(sum.tensor, &sums[i], sizeof sums[i], &err), RKB_OK);
        torch->release(sum.tensor);
    }
    assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    torch->release(x);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_are_wrapped_described_and_read),
        cmocka_unit_test(test_every_dtype_keeps_its_bits),
        cmocka_unit_test(test_arguments_convert_to_the_schemas_types),
        cmocka_unit_test(test_lists_strings_and_dtypes),
        cmocka_unit_test(test_results_of_every_kind_come_back),
        cmocka_unit_test(test_complaints_name_operator_and_argument),
        cmocka_unit_test(test_a_default_can_be_asked_for_in_the_middle),
        cmocka_unit_test(test_schema_and_argument_positions),
        cmocka_unit_test(test_gradients_follow_the_upstream),
        cmocka_unit_test(test_running_out_of_memory_is_told_apart),
        cmocka_unit_test(test_the_same_call_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
