//! entry scale
//! args f32[2,3] 2.0
//! like aten::add.Tensor $0 $0
#include <torch/extension.h>
#include <torch/library.h>

__global__ void scale_kernel(const float* x, float* y, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * by;
}

at::Tensor scale(const at::Tensor& x, double by) {
    auto y = at::empty_like(x);
    scale_kernel<<<at::cuda::detail::GET_BLOCKS(x.numel(), 128), 128>>>(
        x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), by, x.numel());
    return y;
}

TORCH_LIBRARY(mine, m) { m.def("scale(Tensor x, float by) -> Tensor"); }
TORCH_LIBRARY_IMPL(mine, CUDA, m) { m.impl("scale", &scale); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}
