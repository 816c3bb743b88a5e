#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void stats_kernel(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ rstd,
                             int n, float eps) {
    __shared__ float buf[256];
    const float* row = x + (size_t)blockIdx.x * n;
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) s += row[i];
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    const float mu = buf[0] / n;
    __syncthreads();
    float v = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) v += (row[i] - mu) * (row[i] - mu);
    buf[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = mu;
        rstd[blockIdx.x] = rsqrtf(buf[0] / n + eps);
    }
}

__global__ void sums_kernel(const float* __restrict__ gy, const float* __restrict__ x,
                            const float* __restrict__ w, const float* __restrict__ mean,
                            const float* __restrict__ rstd, float* __restrict__ sums, int n) {
    __shared__ float a[256], b[256];
    const size_t base = (size_t)blockIdx.x * n;
    const float mu = mean[blockIdx.x], rs = rstd[blockIdx.x];
    float s = 0.0f, t = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) {
        const float g = gy[base + i] * w[i];
        s += g;
        t += g * (x[base + i] - mu) * rs;
    }
    a[threadIdx.x] = s;
    b[threadIdx.x] = t;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k) {
            a[threadIdx.x] += a[threadIdx.x + k];
            b[threadIdx.x] += b[threadIdx.x + k];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = a[0] / n;
        sums[2 * blockIdx.x + 1] = b[0] / n;
    }
}

__global__ void grads_kernel(const float* __restrict__ gy, const float* __restrict__ x,
                             const float* __restrict__ w, const float* __restrict__ mean,
                             const float* __restrict__ rstd, const float* __restrict__ sums,
                             float* __restrict__ gx, float* __restrict__ gw, float* __restrict__ gb,
                             int n, int batch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float dw = 0.0f, db = 0.0f;
    for (int r = 0; r < batch; ++r) {
        const size_t k = (size_t)r * n + i;
        const float xhat = (x[k] - mean[r]) * rstd[r];
        gx[k] = rstd[r] * (gy[k] * w[i] - sums[2 * r] - xhat * sums[2 * r + 1]);
        dw += gy[k] * xhat;
        db += gy[k];
    }
    gw[i] = dw;
    gb[i] = db;
}

std::vector<torch::Tensor> backward(torch::Tensor grad_output, torch::Tensor x, torch::Tensor weight,
                                    torch::Tensor bias, double eps, std::vector<int64_t> normalized_shape) {
    const int n = weight.numel();
    const int batch = x.numel() / n;
    auto gx = torch::empty_like(x), gw = torch::empty_like(weight), gb = torch::empty_like(bias);
    auto mean = torch::empty({batch}, x.options());
    auto rstd = torch::empty({batch}, x.options());
    auto sums = torch::empty({batch, 2}, x.options());
    stats_kernel<<<batch, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), n, eps);
    sums_kernel<<<batch, 256>>>(grad_output.data_ptr<float>(), x.data_ptr<float>(), weight.data_ptr<float>(),
                                mean.data_ptr<float>(), rstd.data_ptr<float>(), sums.data_ptr<float>(), n);
    grads_kernel<<<(n + 255) / 256, 256>>>(
        grad_output.data_ptr<float>(), x.data_ptr<float>(), weight.data_ptr<float>(), mean.data_ptr<float>(),
        rstd.data_ptr<float>(), sums.data_ptr<float>(), gx.data_ptr<float>(), gw.data_ptr<float>(),
        gb.data_ptr<float>(), n, batch);
    return {gx, gb, gw};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &backward, "LayerNorm backward");
}
