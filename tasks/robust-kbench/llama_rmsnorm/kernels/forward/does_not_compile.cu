#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void rmsnorm_kernel(const float* x, const float* w, float* y, int F, float eps) {
    const float* in = x + (size_t)blockIdx.x * F;
    float ss = 0.0f;
    for (int i = 0; i < F; ++i) ss += in[i] * in[i];
    const float inv_rms = rsqrtf(ss / F + eps);
    for (int i = threadIdx.x; i < F; i += blockDim.x) {
        y[(size_t)blockIdx.x * F + i] = in[i] * inv_rms * w[i];
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w, double eps) {
    auto y = torch::empty_like(x);
    const int F = x.size(-1);
    // the number of rows was renamed during a refactoring
    rmsnorm_kernel<<<num_rows, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), F, eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "RMSNorm forward");
}
