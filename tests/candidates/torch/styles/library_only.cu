//! args f32[4,6] f32[5,6] f32[5] (5) 1e-5
//! like aten::softmax.int $0 1
#include <torch/extension.h>
#include <torch/nn/functional.h>
#include <ATen/Functions.h>

namespace F = torch::nn::functional;

torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, std::vector<int64_t> shape,
                      double eps) {
    auto y = F::linear(x, w, b);
    y = at::layer_norm(y, shape, c10::nullopt, c10::nullopt, eps, false);
    y = F::gelu(y, F::GELUFuncOptions().approximate("tanh"));
    auto z = torch::cat({y, y * 0.5}, /*dim=*/1).sum({1}, /*keepdim=*/true).clamp(-1, 1);
    auto p = torch::softmax(x, 1) + 0 * z;
    p.add_(torch::zeros_like(p)).mul_(1.0f);
    return p.view({x.size(0), -1}).contiguous();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
