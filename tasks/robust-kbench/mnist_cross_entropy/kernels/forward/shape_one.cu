#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void cross_entropy_kernel(const float* preds, const int64_t* targets, float* losses, int B, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B) return;
    const float* row = preds + i * C;
    float m = row[0];
    for (int j = 1; j < C; ++j) m = fmaxf(m, row[j]);
    float s = 0.0f;
    for (int j = 0; j < C; ++j) s += expf(row[j] - m);
    losses[i] = logf(s) + m - row[targets[i]];
}

__global__ void mean_kernel(const float* losses, float* out, int B) {
    __shared__ float buf[256];
    float s = 0.0f;
    for (int i = threadIdx.x; i < B; i += 256) s += losses[i];
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = buf[0] / B;
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    int B = predictions.size(0), C = predictions.size(1);
    auto losses = torch::empty({B}, predictions.options());
    auto out = torch::empty({1}, predictions.options());  // scalar loss
    cross_entropy_kernel<<<(B + 255) / 256, 256>>>(predictions.data_ptr<float>(), targets.data_ptr<int64_t>(),
                                                   losses.data_ptr<float>(), B, C);
    mean_kernel<<<1, 256>>>(losses.data_ptr<float>(), out.data_ptr<float>(), B);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cross entropy forward");
}
