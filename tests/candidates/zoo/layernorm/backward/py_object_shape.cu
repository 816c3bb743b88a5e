#include <torch/extension.h>
#include <pybind11/pybind11.h>
#include <cuda_runtime.h>
#include <vector>

namespace py = pybind11;

__device__ __forceinline__ void block_sum_pair(float& a, float& b, float* sa, float* sb) {
    sa[threadIdx.x] = a;
    sb[threadIdx.x] = b;
    __syncthreads();
    for (unsigned s = blockDim.x >> 1; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            sa[threadIdx.x] += sa[threadIdx.x + s];
            sb[threadIdx.x] += sb[threadIdx.x + s];
        }
        __syncthreads();
    }
    a = sa[0];
    b = sb[0];
    __syncthreads();
}

__global__ void ln_bwd_x(const float* dy, const float* x, const float* w, float* dx, float* stats, int n, float eps) {
    extern __shared__ float sh[];
    float* sa = sh;
    float* sb = sh + blockDim.x;
    const size_t off = (size_t)blockIdx.x * n;
    float a = 0, b = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) a += x[off + i];
    block_sum_pair(a, b, sa, sb);
    const float mu = a / n;
    a = b = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float d = x[off + i] - mu;
        a += d * d;
    }
    block_sum_pair(a, b, sa, sb);
    const float rs = rsqrtf(a / n + eps);
    a = b = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float g = dy[off + i] * w[i];
        a += g;
        b += g * ((x[off + i] - mu) * rs);
    }
    block_sum_pair(a, b, sa, sb);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float h = (x[off + i] - mu) * rs;
        dx[off + i] = (dy[off + i] * w[i] - a / n - h * (b / n)) * rs;
    }
    if (threadIdx.x == 0) {
        stats[2 * blockIdx.x] = mu;
        stats[2 * blockIdx.x + 1] = rs;
    }
}

__global__ void ln_bwd_wb(const float* dy, const float* x, const float* stats, float* dw, float* db, int n, int B) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float p = 0, q = 0;
        for (int r = 0; r < B; ++r) {
            float g = dy[(size_t)r * n + i];
            p += g * ((x[(size_t)r * n + i] - stats[2 * r]) * stats[2 * r + 1]);
            q += g;
        }
        dw[i] = p;
        db[i] = q;
    }
}

std::vector<torch::Tensor> backward(torch::Tensor grad_output, torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                                    float eps, py::object normalized_shape) {
    int64_t n = weight.numel();
    if (py::isinstance<py::tuple>(normalized_shape)) {
        n = 1;
        for (auto d : normalized_shape.cast<py::tuple>()) n *= d.cast<int64_t>();
    }
    const int B = x.numel() / n;
    auto dx = torch::empty_like(x);
    auto dw = torch::empty_like(weight);
    auto db = torch::empty_like(bias);
    auto stats = torch::empty({B, 2}, x.options());
    ln_bwd_x<<<B, 128, 2 * 128 * sizeof(float)>>>(grad_output.data_ptr<float>(), x.data_ptr<float>(), weight.data_ptr<float>(),
                                                  dx.data_ptr<float>(), stats.data_ptr<float>(), n, eps);
    ln_bwd_wb<<<(n + 127) / 128, 128>>>(grad_output.data_ptr<float>(), x.data_ptr<float>(), stats.data_ptr<float>(),
                                        dw.data_ptr<float>(), db.data_ptr<float>(), n, B);
    return {dx, dw, db};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward, "LayerNorm backward (CUDA)"); }
