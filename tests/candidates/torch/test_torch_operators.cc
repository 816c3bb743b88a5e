/* Delegated operators through the real plugin. RKB_TORCH_PLUGIN names it. */
#include "torch_test.h"

#include <torch/nn/functional.h>

namespace F = torch::nn::functional;

static bool close(const torch::Tensor &t, std::vector<float> want)
{
    std::vector<float> got = floats(t);
    bool ok = got.size() == want.size();
    for (size_t i = 0; ok && i < got.size(); i++)
        ok = std::fabs(got[i] - want[i]) < 1e-5f * (1 + std::fabs(want[i]));
    return ok;
}

static void test_arithmetic(void **)
{
    torch::Tensor x = iota({3}), y = torch::full_like(x, 2);
    assert_floats(x + y, {2, 3, 4});
    assert_floats(x * 2 - 1, {-1, 1, 3});
    assert_floats(1.0 - x, {1, 0, -1});
    assert_floats(4 / y, {2, 2, 2});
    assert_floats(-x, {0, -1, -2});
    assert_floats(x > 0.5, {0, 1, 1});
    assert_floats((x == y) | (x < 1), {1, 0, 1});
    x += y;
    x *= 3;
    assert_floats(x, {6, 9, 12});
    assert_floats(x.add_(1).sub(y).div(2), {2.5f, 4, 5.5f});
    assert_floats(x.clamp(8, 11), {8, 10, 11});
    assert_floats(x.pow(2), {49, 100, 169});
    assert_true((x + y).is_cuda());
    rkb_tensor_t *raw = x.raw();
    torch::Tensor same = x.mul_(2);
    assert_ptr_equal(same.raw(), raw);
}

static void test_functions(void **)
{
    torch::Tensor x = torch::tensor({-1.0, 0.0, 2.0}).cuda();
    assert_floats(torch::relu(x), {0, 0, 2});
    assert_true(close(torch::sigmoid(x), {0.26894142f, 0.5f, 0.88079708f}));
    assert_true(close(torch::tanh(x), {-0.76159416f, 0, 0.96402758f}));
    assert_true(close(at::gelu(x), {-0.15865525f, 0, 1.9544997f}));
    assert_true(close(at::gelu(x, "tanh"), {-0.15880801f, 0, 1.9545977f}));
    assert_true(close(at::silu(x), {-0.26894142f, 0, 1.7615942f}));
    assert_true(close(torch::softmax(x, 0), {0.042010065f, 0.11419519f, 0.84379474f}));
    assert_true(close(x.softmax(-1), {0.042010065f, 0.11419519f, 0.84379474f}));
    assert_true(close(torch::exp(x).log(), {-1, 0, 2}));
    assert_true(close(torch::rsqrt(x + 2), {1, 0.70710678f, 0.5f}));
    assert_floats(torch::where(x > 0, x, torch::zeros_like(x)), {0, 0, 2});
    assert_floats(x.abs().neg(), {-1, 0, -2});
    torch::relu_(x);
    assert_floats(x, {0, 0, 2});
}

static void test_reductions(void **)
{
    torch::Tensor x = iota({2, 3});
    assert_true(x.sum().item<float>() == 15.0f);
    assert_floats(x.sum(0), {3, 5, 7});
    assert_floats(x.sum(-1), {3, 12});
    assert_floats(x.sum({0, 1}), {15});
    assert_ints(x.sum({1}, true).sizes(), {2, 1});
    assert_ints(torch::sum(x, 1, /*keepdim=*/true).sizes(), {2, 1});
    assert_floats(torch::mean(x, {1}), {1, 4});
    assert_true(x.mean().item<double>() == 2.5);
    assert_true(close(x.var({1}, false), {0.6666667f, 0.6666667f}));
    assert_true(close(x.var(1, /*unbiased=*/true, /*keepdim=*/true), {1, 1}));
    assert_true(x.max().item<float>() == 5.0f && x.min().item<float>() == 0.0f);
    auto pair = x.max(1);
    assert_floats(std::get<0>(pair), {2, 5});
    assert_floats(std::get<1>(pair), {2, 2});
    assert_floats(x.argmax(1), {2, 2});
    assert_floats(torch::cumsum(x, 1), {0, 1, 3, 3, 7, 12});
    assert_true(x.to(torch::kHalf).sum(torch::kFloat).scalar_type() == torch::kFloat);
}

static void test_linear_algebra(void **)
{
    torch::Tensor a = iota({2, 3}), b = iota({3, 2}), bias = iota({2});
    assert_floats(torch::matmul(a, b), {10, 13, 28, 40});
    assert_floats(torch::mm(a, b), {10, 13, 28, 40});
    assert_floats(a.mm(b), {10, 13, 28, 40});
    assert_floats(torch::addmm(bias, a, b), {10, 14, 28, 41});
    assert_floats(torch::bmm(a.unsqueeze(0), b.unsqueeze(0)), {10, 13, 28, 40});
    assert_floats(torch::linear(a, b.t(), bias), {10, 14, 28, 41});
    assert_floats(torch::linear(a, b.t()), {10, 13, 28, 40});
    assert_floats(at::linear(a, b.t(), c10::nullopt), {10, 13, 28, 40});
    assert_floats(a.t().matmul(a), {9, 12, 15, 12, 17, 22, 15, 22, 29});
    torch::Tensor out = torch::empty({2, 2}, a.options());
    torch::mm_out(out, a, b);
    assert_floats(out, {10, 13, 28, 40});
    assert_throws(torch::mm(a, a), "aten::mm: ");
    assert_throws(a + iota({7}), "aten::add");
}

static void test_normalisation_and_loss(void **)
{
    torch::Tensor x = iota({2, 3}), w = torch::ones({3}, x.options());
    assert_true(close(torch::layer_norm(x, {3}, w, w),
                      {-0.2247356f, 1, 2.2247356f, -0.2247356f, 1, 2.2247356f}));
    torch::Tensor target = torch::tensor({2, 0}).cuda();
    torch::Tensor loss = at::cross_entropy_loss(x, target);
    assert_true(close(loss, {1.4076059f}));
    assert_int_equal(loss.dim(), 0);
    assert_true(close(torch::nll_loss_nd(torch::log_softmax(x, 1), target), {1.4076059f}));
    assert_true(close(F::cross_entropy(x, target), {1.4076059f}));
    assert_true(
        close(F::cross_entropy(x, target, F::CrossEntropyFuncOptions().reduction(torch::kSum)),
              {2.8152118f}));
    assert_true(close(F::softmax(x, F::SoftmaxFuncOptions(1)).sum(1), {1, 1}));
    assert_true(close(F::layer_norm(x, F::LayerNormFuncOptions({3}).eps(1e-5)).sum(), {0}));
}

static void test_joining_and_gathering(void **)
{
    torch::Tensor x = iota({2, 2}), i = torch::tensor({{1}, {0}}).cuda();
    assert_floats(torch::cat({x, x}, 1), {0, 1, 0, 1, 2, 3, 2, 3});
    assert_ints(torch::stack({x, x}).sizes(), {2, 2, 2});
    assert_floats(x.gather(1, i), {1, 2});
    assert_floats(torch::one_hot(i.squeeze(1), 2), {0, 1, 1, 0});
    assert_floats(x.index({torch::tensor({1}).cuda()}), {2, 3});
    assert_floats(x[torch::tensor({1, 0}).cuda()], {2, 3, 0, 1});
    x.index_put_({torch::tensor({0}).cuda()}, torch::full({2}, 9, x.options()));
    assert_floats(x, {9, 9, 2, 3});
    assert_floats(x.flip({0}), {2, 3, 9, 9});
    assert_floats(torch::arange(3, torch::device(torch::kCUDA)), {0, 1, 2});
    assert_true(torch::arange(3, torch::device(torch::kCUDA)).is_cuda());
    torch::Tensor as_int = iota({1}).fill_(1).view(torch::kInt);
    assert_int_equal(as_int.item<int>(), 0x3f800000);
}

static void test_devices_do_not_mix(void **)
{
    torch::Tensor x = iota({2});
    assert_throws(x + x.cpu(), "same device");
    assert_true((x.cpu() + 1).is_cpu());
    assert_floats(x + torch::tensor(1.0), {1, 2});
}

TORCH_TEST_MAIN("torch_operators", TORCH_TEST(test_arithmetic), TORCH_TEST(test_functions),
                TORCH_TEST(test_reductions), TORCH_TEST(test_linear_algebra),
                TORCH_TEST(test_normalisation_and_loss), TORCH_TEST(test_joining_and_gathering),
                TORCH_TEST(test_devices_do_not_mix))
