#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime.h>
#include <tuple>
#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;

// Sum over the block; every thread gets the result.
__device__ float block_reduce(float v, float* smem) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffff, v, offset);
    if ((threadIdx.x & 31) == 0) smem[threadIdx.x >> 5] = v;
    __syncthreads();
    v = (threadIdx.x & 31) < kWarps ? smem[threadIdx.x & 31] : 0.f;
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffff, v, offset);
    __syncthreads();
    return v;
}

// Let g = grad_y * weight and xhat = (x - mean) * rstd. Then
//   grad_x = rstd * (g - mean(g) - xhat * mean(g * xhat))
__global__ void grad_input_kernel(const float* __restrict__ grad_y, const float* __restrict__ x,
                                  const float* __restrict__ weight, float* __restrict__ grad_x,
                                  float* __restrict__ mean_out, float* __restrict__ rstd_out,
                                  int64_t n, float eps) {
    __shared__ float smem[kWarps];
    const int64_t base = static_cast<int64_t>(blockIdx.x) * n;
    const float inv_n = 1.0f / static_cast<float>(n);

    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += x[base + i];
    const float mean = block_reduce(sum, smem) * inv_n;

    float sq = 0.f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
        const float d = x[base + i] - mean;
        sq += d * d;
    }
    const float rstd = rsqrtf(block_reduce(sq, smem) * inv_n + eps);

    float sum_g = 0.f, sum_gx = 0.f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
        const float g = grad_y[base + i] * weight[i];
        sum_g += g;
        sum_gx += g * ((x[base + i] - mean) * rstd);
    }
    const float mean_g = block_reduce(sum_g, smem) * inv_n;
    const float mean_gx = block_reduce(sum_gx, smem) * inv_n;

    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
        const float g = grad_y[base + i] * weight[i];
        const float xhat = (x[base + i] - mean) * rstd;
        grad_x[base + i] = rstd * (g - mean_g - xhat * mean_gx);
    }
    if (threadIdx.x == 0) {
        mean_out[blockIdx.x] = mean;
        rstd_out[blockIdx.x] = rstd;
    }
}

// One thread per parameter, summing over the batch. Accesses of a warp are coalesced.
__global__ void grad_param_kernel(const float* __restrict__ grad_y, const float* __restrict__ x,
                                  const float* __restrict__ mean, const float* __restrict__ rstd,
                                  float* __restrict__ grad_w, float* __restrict__ grad_b,
                                  int64_t n, int batch) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        float gw = 0.f, gb = 0.f;
        for (int b = 0; b < batch; ++b) {
            const float dy = grad_y[b * n + i];
            gw += dy * ((x[b * n + i] - mean[b]) * rstd[b]);
            gb += dy;
        }
        grad_w[i] = gw;
        grad_b[i] = gb;
    }
}

}  // namespace

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> layernorm_backward(
    torch::Tensor grad_output, torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps,
    std::vector<int64_t> normalized_shape) {
    grad_output = grad_output.contiguous();
    CHECK_INPUT(grad_output);
    CHECK_INPUT(x);
    CHECK_INPUT(weight);

    int64_t n = 1;
    for (int64_t d : normalized_shape) n *= d;
    TORCH_CHECK(n == weight.numel(), "weight does not match normalized_shape");
    const int batch = static_cast<int>(x.numel() / n);

    auto grad_x = torch::empty_like(x);
    auto grad_w = torch::empty_like(weight);
    auto grad_b = torch::empty_like(bias);
    auto mean = torch::empty({batch}, x.options());
    auto rstd = torch::empty({batch}, x.options());

    grad_input_kernel<<<batch, kThreads>>>(grad_output.data_ptr<float>(), x.data_ptr<float>(),
                                           weight.data_ptr<float>(), grad_x.data_ptr<float>(),
                                           mean.data_ptr<float>(), rstd.data_ptr<float>(), n,
                                           static_cast<float>(eps));
    C10_CUDA_KERNEL_LAUNCH_CHECK();

    const int threads = 256;
    const int64_t blocks = (n + threads - 1) / threads;
    grad_param_kernel<<<static_cast<int>(blocks < 4096 ? blocks : 4096), threads>>>(
        grad_output.data_ptr<float>(), x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(),
        grad_w.data_ptr<float>(), grad_b.data_ptr<float>(), n, batch);
    C10_CUDA_KERNEL_LAUNCH_CHECK();

    return {grad_x, grad_w, grad_b};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &layernorm_backward, "LayerNorm backward (CUDA)");
}
