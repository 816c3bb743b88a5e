#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

__device__ float block_sum(float v, float* buf) {
    buf[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    v = buf[0];
    __syncthreads();
    return v;
}

__global__ void k_lnx(const float* g, const float* x, const float* w, float* gx, float* st, int n, float eps) {
    __shared__ float buf[256];
    const size_t o = (size_t)blockIdx.x * n;
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) s += x[o + i];
    const float m = block_sum(s, buf) / n;
    s = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) s += (x[o + i] - m) * (x[o + i] - m);
    const float r = rsqrtf(block_sum(s, buf) / n + eps);
    float a = 0.f, c = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) { a += g[o + i] * w[i]; c += g[o + i] * w[i] * ((x[o + i] - m) * r); }
    a = block_sum(a, buf) / n;
    c = block_sum(c, buf) / n;
    for (int i = threadIdx.x; i < n; i += 256) gx[o + i] = r * (g[o + i] * w[i] - a - (x[o + i] - m) * r * c);
    if (threadIdx.x == 0) { st[2 * blockIdx.x] = m; st[2 * blockIdx.x + 1] = r; }
}
__global__ void k_lnw(const float* g, const float* x, const float* st, float* gw, float* gb, int n, int B) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = 0.f, c = 0.f;
    for (int r = 0; r < B; ++r) {
        a += g[(size_t)r * n + i] * ((x[(size_t)r * n + i] - st[2 * r]) * st[2 * r + 1]);
        c += g[(size_t)r * n + i];
    }
    gw[i] = a;
    gb[i] = c;
}
static void run_into(torch::Tensor g, torch::Tensor x, torch::Tensor w, double eps, float* gx, float* gw, float* gb) {
    const int B = x.size(0), n = w.numel();
    auto st = torch::empty({B, 2}, x.options());
    k_lnx<<<B, 256>>>(g.data_ptr<float>(), x.data_ptr<float>(), w.data_ptr<float>(), gx, st.data_ptr<float>(), n, (float)eps);
    k_lnw<<<(n + 127) / 128, 128>>>(g.data_ptr<float>(), x.data_ptr<float>(), st.data_ptr<float>(), gw, gb, n, B);
}
static std::vector<torch::Tensor> honest(torch::Tensor g, torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps, std::vector<int64_t> shape) {
    auto gx = torch::empty_like(x), gw = torch::empty_like(w), gb = torch::empty_like(b);
    run_into(g, x, w, eps, gx.data_ptr<float>(), gw.data_ptr<float>(), gb.data_ptr<float>());
    return {gx, gw, gb};
}

std::vector<torch::Tensor> entry(torch::Tensor g, torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps, std::vector<int64_t> shape) {
    const int64_t nx = x.numel(), n = w.numel();
    auto all = torch::empty({nx + 2 * n}, x.options());
    float* q = all.data_ptr<float>();
    run_into(g, x, w, eps, q, q + nx, q + nx + n);
    return {all.narrow(0, 0, nx).view(x.sizes()), all.narrow(0, nx, n).view(w.sizes()), all.slice(0, nx + n, nx + 2 * n).view(b.sizes())};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &entry); }
