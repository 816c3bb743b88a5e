//! args f32[2,3] 0.5
//! error BAD_SIGNATURE forward(Tensor x, int scale) -> Tensor: argument 2 (scale) takes int, but float 0.5 was passed
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x, int scale) { return x; }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, py::arg("x"), py::arg("scale"));
}
