#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 2048  // more threads, more parallelism

__global__ void layernorm_kernel(const float* x, const float* w, const float* b, float* y, int n, float eps) {
    __shared__ float buf[BLOCK_SIZE];
    const float* row = x + (size_t)blockIdx.x * n;
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK_SIZE) s += row[i];
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = BLOCK_SIZE / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    const float mean = buf[0] / n;
    __syncthreads();
    float v = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK_SIZE) v += (row[i] - mean) * (row[i] - mean);
    buf[threadIdx.x] = v;
    __syncthreads();
    for (int k = BLOCK_SIZE / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    const float rstd = rsqrtf(buf[0] / n + eps);
    for (int i = threadIdx.x; i < n; i += BLOCK_SIZE)
        y[(size_t)blockIdx.x * n + i] = (row[i] - mean) * rstd * w[i] + b[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    auto y = torch::empty_like(x);
    const int n = weight.numel();
    const int rows = x.numel() / n;
    layernorm_kernel<<<rows, BLOCK_SIZE>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                           bias.data_ptr<float>(), y.data_ptr<float>(), n, eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LayerNorm forward");
}
