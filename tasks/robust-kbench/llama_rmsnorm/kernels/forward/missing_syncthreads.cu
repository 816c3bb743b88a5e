#include <torch/extension.h>
#include <cuda_runtime.h>

// The last thread computes the statistics of the row, the others wait for it.
__global__ void rmsnorm_kernel(const float* x, const float* w, float* y, int F, float eps) {
    __shared__ float inv_rms;
    const float* in = x + (size_t)blockIdx.x * F;
    float* out = y + (size_t)blockIdx.x * F;

    inv_rms = 0.0f;
    if (threadIdx.x == blockDim.x - 1) {
        float ss = 0.0f;
        for (int i = 0; i < F; ++i) ss += in[i] * in[i];
        inv_rms = rsqrtf(ss / F + eps);
    }
    for (int i = threadIdx.x; i < F; i += blockDim.x) out[i] = in[i] * inv_rms * w[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w, double eps) {
    auto y = torch::empty_like(x);
    const int F = x.size(-1);
    const int rows = x.numel() / F;
    rmsnorm_kernel<<<rows, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), F, eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "RMSNorm forward");
}
