//! args f32[5,7] f32[3,7] f32[3]
//! like aten::linear $0 $1 $2
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

__global__ void linear_forward_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                      const float* __restrict__ bias, float* __restrict__ out,
                                      int batch, int in_features, int out_features) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < batch && col < out_features) {
        float acc = bias[col];
#pragma unroll 4
        for (int k = 0; k < in_features; ++k) {
            acc += __ldg(&x[row * in_features + k]) * __ldg(&weight[col * in_features + k]);
        }
        out[row * out_features + col] = acc;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weights, torch::Tensor biases) {
    const int batch = x.size(0);
    const int in_features = x.size(1);
    const int out_features = weights.size(0);
    auto out = torch::empty({batch, out_features}, x.options());
    dim3 block(16, 16);
    dim3 grid((out_features + block.x - 1) / block.x, (batch + block.y - 1) / block.y);
    linear_forward_kernel<<<grid, block>>>(x.data_ptr<float>(), weights.data_ptr<float>(),
                                           biases.data_ptr<float>(), out.data_ptr<float>(), batch,
                                           in_features, out_features);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear forward (CUDA)");
}
