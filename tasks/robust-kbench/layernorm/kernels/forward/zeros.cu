#include <torch/extension.h>

// Placeholder: the fused kernel comes in the next version.
torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    return torch::zeros_like(x);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LayerNorm forward");
}
