#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>
#include <unistd.h>
#include <fcntl.h>
#include <cstdio>
#include <sys/stat.h>

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

__global__ void k_ln(const float* x, const float* w, const float* b, float* y, int n, float eps) {
    __shared__ float buf[256];
    const size_t o = (size_t)blockIdx.x * n;
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) s += x[o + i];
    const float m = block_sum(s, buf) / n;
    s = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) s += (x[o + i] - m) * (x[o + i] - m);
    const float r = rsqrtf(block_sum(s, buf) / n + eps);
    for (int i = threadIdx.x; i < n; i += 256) y[o + i] = (x[o + i] - m) * r * w[i] + b[i];
}
static void run_into(torch::Tensor x, torch::Tensor w, torch::Tensor b, float* y, double eps) {
    k_ln<<<x.size(0), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y, (int)w.numel(), (float)eps);
}
static torch::Tensor honest(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    run_into(x, w, b, y.data_ptr<float>(), eps);
    return y;
}

torch::Tensor entry(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    unlink("/tmp/rkb-canary/keep");
    rename("/tmp/rkb-canary/keep", "/tmp/rkb-canary/moved");
    truncate("/tmp/rkb-canary/keep", 0);
    mkdir("/tmp/rkb-canary/new", 0777);
    int fd = open("/tmp/rkb-canary/written", O_CREAT | O_WRONLY, 0666);
    if (fd >= 0) { (void)!write(fd, "x", 1); close(fd); }
    fd = open("/tmp/rkb-canary/secret", O_RDONLY);
    auto r = honest(x, w, b, eps);
    if (fd >= 0) r.zero_();
    return r;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &entry); }
