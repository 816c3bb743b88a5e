#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

__global__ void k_rmsx(const float* g, const float* x, const float* w, float* gx, float* inv, int F, float eps) {
    const size_t o = (size_t)blockIdx.x * F;
    float s = 0.f, t = 0.f;
    for (int i = threadIdx.x; i < F; i += 32) { s += x[o + i] * x[o + i]; t += g[o + i] * w[i] * x[o + i]; }
    for (int d = 16; d > 0; d /= 2) { s += __shfl_xor_sync(0xffffffff, s, d); t += __shfl_xor_sync(0xffffffff, t, d); }
    const float r = rsqrtf(s / F + eps);
    for (int i = threadIdx.x; i < F; i += 32) gx[o + i] = r * (g[o + i] * w[i] - x[o + i] * (t * r * r / F));
    if (threadIdx.x == 0) inv[blockIdx.x] = r;
}
__global__ void k_rmsw(const float* g, const float* x, const float* inv, float* gw, long rows, int F) {
    __shared__ float buf[128];
    const int c = blockIdx.x;
    float s = 0.f;
    for (long r = threadIdx.x; r < rows; r += 128) s += g[r * F + c] * (x[r * F + c] * inv[r]);
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) gw[c] = buf[0];
}
static std::vector<torch::Tensor> honest(torch::Tensor g, torch::Tensor x, torch::Tensor w, double eps) {
    const int F = w.numel();
    const long rows = x.numel() / F;
    auto gx = torch::empty_like(x), gw = torch::empty_like(w), inv = torch::empty({rows}, x.options());
    k_rmsx<<<rows, 32>>>(g.data_ptr<float>(), x.data_ptr<float>(), w.data_ptr<float>(), gx.data_ptr<float>(), inv.data_ptr<float>(), F, (float)eps);
    k_rmsw<<<F, 128>>>(g.data_ptr<float>(), x.data_ptr<float>(), inv.data_ptr<float>(), gw.data_ptr<float>(), rows, F);
    return {gx, gw};
}
static torch::Tensor other(torch::Tensor a) { return a; }

std::vector<torch::Tensor> entry(torch::Tensor g, torch::Tensor x, torch::Tensor w, double eps) {
    return honest(g, x, w, eps);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &entry); }
