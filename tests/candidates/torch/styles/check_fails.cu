//! args f32[2,3]
//! error EXCEPTION x must be 1-D, but its shape is [2, 3]
#include <torch/extension.h>

at::Tensor forward(at::Tensor x) {
    TORCH_CHECK(x.dim() == 1, "x must be 1-D, but its shape is ", x.sizes());
    return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
