/* Dispatch, checks, streams and guards, names in their namespaces. */
#include "torch_test.h"

#include <ATen/AccumulateType.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/irange.h>

template <typename F>
static size_t float_size(const torch::Tensor &x, F type)
{
    size_t bytes = 0;
    AT_DISPATCH_FLOATING_TYPES(type(x), "float_size", [&] { bytes = sizeof(scalar_t); });
    return bytes;
}

static void test_dispatch_takes_every_kind_of_type(void **)
{
    torch::Tensor x = iota({1}, torch::kDouble);
    assert_int_equal(float_size(x, [](const torch::Tensor &t) { return t.scalar_type(); }), 8);
    assert_int_equal(float_size(x, [](const torch::Tensor &t) { return t.type(); }), 8);
    assert_int_equal(float_size(x, [](const torch::Tensor &t) { return t.dtype(); }), 8);
    torch::Tensor n = iota({1}, torch::kInt);
    assert_throws(float_size(n, [](const torch::Tensor &t) { return t.scalar_type(); }),
                  "\"float_size\" not implemented for 'Int'");
}

#define SIZE_BY(macro, ...)                                                                        \
    [](at::ScalarType type) -> size_t {                                                            \
        return macro(__VA_ARGS__ type, "size", ([&]() -> size_t { return sizeof(scalar_t); }));    \
    }

static void test_dispatch_covers_its_types(void **)
{
#define COMMA_(...) __VA_ARGS__,
    auto with_half = SIZE_BY(AT_DISPATCH_FLOATING_TYPES_AND_HALF, );
    auto one = SIZE_BY(AT_DISPATCH_FLOATING_TYPES_AND, COMMA_(at::ScalarType::BFloat16));
    auto two = SIZE_BY(AT_DISPATCH_FLOATING_TYPES_AND2, COMMA_(at::kHalf, at::kBFloat16));
    auto all = SIZE_BY(AT_DISPATCH_ALL_TYPES, );
    auto all_and = SIZE_BY(AT_DISPATCH_ALL_TYPES_AND, COMMA_(torch::kBool));
    auto all_three =
        SIZE_BY(AT_DISPATCH_ALL_TYPES_AND3, COMMA_(at::kHalf, at::kBFloat16, at::kBool));
    auto integral = SIZE_BY(AT_DISPATCH_INTEGRAL_TYPES, );
    auto reduced = SIZE_BY(AT_DISPATCH_REDUCED_FLOATING_TYPES, );
    auto complex = SIZE_BY(AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2, COMMA_(at::kHalf, at::kBool));
    assert_int_equal(with_half(at::kHalf), 2);
    assert_int_equal(with_half(at::kFloat), 4);
    assert_throws(with_half(at::kBFloat16), "not implemented");
    assert_int_equal(one(at::kBFloat16), 2);
    assert_throws(one(at::kHalf), "not implemented");
    assert_int_equal(two(at::kHalf) + two(at::kBFloat16) + two(at::kDouble), 12);
    assert_int_equal(all(at::kLong) + all(at::kByte) + all(at::kShort) + all(at::kFloat), 15);
    assert_throws(all(at::kBool), "not implemented");
    assert_int_equal(all_and(at::kBool), 1);
    assert_int_equal(all_three(at::kHalf) + all_three(at::kBool) + all_three(at::kChar), 4);
    assert_throws(integral(at::kFloat), "not implemented");
    assert_int_equal(integral(at::kLong), 8);
    assert_int_equal(reduced(at::kBFloat16), 2);
    assert_int_equal(complex(at::kHalf), 2);
    int64_t bytes = AT_DISPATCH_SWITCH(
        at::kInt, "switch", AT_DISPATCH_CASE(at::kFloat, [&] {
            return int64_t(sizeof(scalar_t));
        }) AT_DISPATCH_CASE_INTEGRAL_TYPES([&] { return int64_t(sizeof(scalar_t)); }));
    assert_int_equal(bytes, 4);
    size_t index = AT_DISPATCH_INDEX_TYPES(at::kLong, "index", [&] { return sizeof(index_t); });
    assert_int_equal(index, 8);
}

static void test_accumulate_types(void **)
{
    static_assert(std::is_same<at::acc_type<at::Half, true>, float>::value, "");
    static_assert(std::is_same<at::acc_type<float, true>, float>::value, "");
    static_assert(std::is_same<at::acc_type<float, false>, double>::value, "");
    static_assert(std::is_same<at::acc_type<double, true>, double>::value, "");
    static_assert(std::is_same<at::acc_type<int, true>, int64_t>::value, "");
    static_assert(std::is_same<at::opmath_type<at::BFloat16>, float>::value, "");
}

static void test_checks_say_what_failed(void **)
{
    torch::Tensor x = iota({2, 3});
    TORCH_CHECK(x.dim() == 2, "never");
    assert_throws(TORCH_CHECK(x.dim() == 3), "check failed: x.dim() == 3");
    assert_throws(TORCH_CHECK(false, "x has shape ", x.sizes(), " and type ", x.dtype()),
                  "x has shape [2, 3] and type Float");
    assert_throws(TORCH_CHECK(false, std::string("built ") + "text"), "built text");
    assert_throws(AT_ASSERTM(x.is_cpu(), "must be on the CPU"), "must be on the CPU");
    assert_throws(TORCH_INTERNAL_ASSERT(x.is_cpu()), "x.is_cpu()");
    assert_throws(AT_ERROR("bad ", 3), "bad 3");
    assert_throws(TORCH_CHECK_EQ(x.size(0), 3), "x.size(0) == 3");
    assert_throws(TORCH_CHECK_LT(x.size(1), 3) << "columns " << x.size(1), "columns 3");
    TORCH_CHECK_GE(x.size(1), 3) << "never";
    TORCH_CHECK_NE(x.size(1), 4);
    assert_throws(TORCH_CHECK_VALUE(false, "value"), "value");
    assert_throws(TORCH_CHECK_INDEX(x.dim() > 4, "index ", 7), "index 7");
    if (x.dim() == 2)
        TORCH_CHECK(true);
    else
        TORCH_CHECK_EQ(1, 2);
    try {
        TORCH_CHECK(false, "typed");
    } catch (const c10::Error &e) {
        assert_string_equal(e.msg().c_str(), "typed");
    }
}

static void test_cuda_errors_throw(void **)
{
    C10_CUDA_CHECK(cudaSuccess);
    assert_throws(C10_CUDA_CHECK(cudaErrorInvalidConfiguration), "CUDA error: ");
    assert_throws(AT_CUDA_CHECK(cudaErrorMemoryAllocation), "CUDA error: ");
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

static void test_streams_and_guards(void **)
{
    torch::Tensor x = iota({2});
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    at::cuda::CUDAGuard by_device(x.device());
    c10::cuda::CUDAGuard by_index(x.get_device());
    torch::DeviceGuard general(x.device());
    c10::cuda::OptionalCUDAGuard none;
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    assert_null(stream);
    assert_null(c10::cuda::getCurrentCUDAStream().stream());
    assert_throws(at::cuda::CUDAGuard refused(x.cpu().device()), "cpu");
    {
        at::cuda::CUDAStream pooled = at::cuda::getStreamFromPool(false, x.get_device());
        at::cuda::CUDAStreamGuard use(pooled);
        assert_true(at::cuda::getCurrentCUDAStream() == pooled);
        pooled.synchronize();
    }
    assert_null(at::cuda::getCurrentCUDAStream(x.device().index()).stream());
    at::cuda::CUDAEvent event;
    event.record();
    event.synchronize();
    assert_true(at::cuda::getCurrentDeviceProperties()->multiProcessorCount > 0);
    assert_true(torch::cuda::is_available());
    torch::cuda::synchronize();
    at::globalContext().setAllowTF32CuBLAS(true);
    torch::NoGradGuard no_grad;
}

static void test_small_helpers(void **)
{
    int64_t sum = 0;
    for (auto i : c10::irange(4))
        sum += i;
    for (auto i : c10::irange(2, 5))
        sum += i;
    assert_int_equal(sum, 6 + 9);
    assert_true(c10::cuda::compat::max(1.0f, 2.0f) == 2.0f);
    assert_true(at::maybe_wrap_dim(-1, 3) == 2);
    std::vector<int64_t> list = {4, 5, 6};
    torch::IntArrayRef ref = list;
    assert_true(ref.back() == 6 && ref.slice(1).vec() == (std::vector<int64_t>{5, 6}));
}

/* ---- a candidate's own names beside the header's ---- */

namespace own
{

using namespace torch;
using namespace at;

static Tensor relu_(Tensor x, int times)
{
    return x.fill_(times);
}
static Tensor linear(Tensor x, Tensor w, Tensor b)
{
    return x.fill_(w.numel() + b.numel());
}
static float sum(const float *x, int n)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += x[i];
    return total;
}
static Tensor empty(int64_t n)
{
    return zeros({n}, kFloat);
}
template <typename scalar_t>
static scalar_t sigmoid(scalar_t x)
{
    return scalar_t(1) / (scalar_t(1) + exp(-x));
}

static void test_own_names_win_where_they_fit_better(void **)
{
    Tensor x = iota({2});
    assert_floats(relu_(x, 3), {3, 3});
    assert_floats(linear(x, x, x), {4, 4});
    assert_true(sum(x.data_ptr<float>(), 2) == 8.0f);
    assert_int_equal(empty(3).numel(), 3);
    assert_true(sigmoid(0.0f) == 0.5f && sigmoid(0.0) == 0.5);
    assert_true(max(1.0f, 2.0f) == 2.0f || true);
    Tensor y = at::empty({2}, x.options());
    optional<Tensor> none = nullopt;
    assert_false(none.has_value());
    assert_true(y.is_cuda() && y.scalar_type() == kFloat);
}

} // namespace own

TORCH_TEST_MAIN("torch_macros", TORCH_TEST(test_dispatch_takes_every_kind_of_type),
                TORCH_TEST(test_dispatch_covers_its_types), TORCH_TEST(test_accumulate_types),
                TORCH_TEST(test_checks_say_what_failed), TORCH_TEST(test_cuda_errors_throw),
                TORCH_TEST(test_streams_and_guards), TORCH_TEST(test_small_helpers),
                TORCH_TEST(own::test_own_names_win_where_they_fit_better))
