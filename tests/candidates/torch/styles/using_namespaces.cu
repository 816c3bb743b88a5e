//! args f32[4,6] f32[5,6] f32[5]
//! like aten::linear $0 $1 $2
#include <torch/extension.h>
#include <torch/types.h>
#include <vector>
using namespace torch;
using namespace at;

__device__ __forceinline__ float relu(float x) { return max(x, 0.0f); }

__global__ void finish(float* y, const float* bias, size_t n, int cols) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = y[i] + bias[i % cols] + relu(-1.0f) * min(1, 2);
}

std::vector<Tensor> forward(const Tensor& x, Tensor& w, optional<Tensor> b) {
    Tensor y = matmul(x, w.t());
    Tensor bias = b.value_or(zeros({w.size(0)}, x.options()));
    finish<<<2, 64>>>(y.data_ptr<float>(), bias.data_ptr<float>(), y.numel(), y.size(1));
    return {y};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "using namespace"); }
