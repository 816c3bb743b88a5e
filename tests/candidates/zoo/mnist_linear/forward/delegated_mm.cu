#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void add_bias_kernel(float* out, const float* bias, int rows, int cols) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += gridDim.x * blockDim.x)
        out[i] += bias[i % cols];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weights, torch::Tensor biases) {
    // cuBLAS is hard to beat, only the bias is ours
    auto out = torch::mm(x, weights.t()).contiguous();
    add_bias_kernel<<<4, 128>>>(out.data_ptr<float>(), biases.data_ptr<float>(), out.size(0), out.size(1));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "linear via torch::mm");
}
