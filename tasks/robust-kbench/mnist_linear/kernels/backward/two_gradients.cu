#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

__global__ void grad_x_kernel(const float* __restrict__ go, const float* __restrict__ w,
                              float* __restrict__ gx, int B, int O, int I) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= B * I) return;
    int b = idx / I, i = idx % I;
    float sum = 0.0f;
    for (int o = 0; o < O; ++o) sum += go[b * O + o] * w[o * I + i];
    gx[idx] = sum;
}

__global__ void grad_w_kernel(const float* __restrict__ go, const float* __restrict__ x,
                              float* __restrict__ gw, int B, int O, int I) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= O * I) return;
    int o = idx / I, i = idx % I;
    float sum = 0.0f;
    for (int b = 0; b < B; ++b) sum += go[b * O + o] * x[b * I + i];
    gw[idx] = sum;
}

// Returns the gradients of the input and of the weights.
std::vector<torch::Tensor> backward(torch::Tensor grad_output, torch::Tensor x, torch::Tensor weights) {
    const int B = x.size(0), I = x.size(1), O = weights.size(0);
    auto gx = torch::empty_like(x);
    auto gw = torch::empty_like(weights);
    const int threads = 256;
    grad_x_kernel<<<(B * I + threads - 1) / threads, threads>>>(
        grad_output.data_ptr<float>(), weights.data_ptr<float>(), gx.data_ptr<float>(), B, O, I);
    grad_w_kernel<<<(O * I + threads - 1) / threads, threads>>>(
        grad_output.data_ptr<float>(), x.data_ptr<float>(), gw.data_ptr<float>(), B, O, I);
    return {gx, gw};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &backward, "Linear backward");
}
