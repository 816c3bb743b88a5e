#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <vector>

// With r = rsqrt(mean(x^2) + eps):
//   grad_x = r * (dy * w) - x * r^3 / F * sum(dy * w * x)
//   grad_w = sum over rows of dy * x * r
constexpr int kBlock = 256;

__device__ __forceinline__ float2 block_sum2(float a, float b) {
    __shared__ float2 warp_part[kBlock / 32];
    __shared__ float2 total;
    for (int o = 16; o > 0; o >>= 1) {
        a += __shfl_down_sync(0xffffffff, a, o);
        b += __shfl_down_sync(0xffffffff, b, o);
    }
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) warp_part[warp] = make_float2(a, b);
    __syncthreads();
    if (threadIdx.x == 0) {
        float2 t = warp_part[0];
        for (int i = 1; i < kBlock / 32; ++i) {
            t.x += warp_part[i].x;
            t.y += warp_part[i].y;
        }
        total = t;
    }
    __syncthreads();
    return total;
}

__global__ void rmsnorm_grad_x_kernel(const float* __restrict__ dy, const float* __restrict__ x,
                                      const float* __restrict__ w, float* __restrict__ dx,
                                      float* __restrict__ inv_rms, int F, float eps) {
    const size_t base = static_cast<size_t>(blockIdx.x) * F;
    float ss = 0.f, dot = 0.f;
    for (int i = threadIdx.x; i < F; i += kBlock) {
        const float xi = x[base + i];
        ss += xi * xi;
        dot += dy[base + i] * w[i] * xi;
    }
    const float2 sums = block_sum2(ss, dot);
    const float r = rsqrtf(sums.x / F + eps);
    const float c = sums.y * r * r / F;
    for (int i = threadIdx.x; i < F; i += kBlock) {
        dx[base + i] = r * (dy[base + i] * w[i] - x[base + i] * c);
    }
    if (threadIdx.x == 0) inv_rms[blockIdx.x] = r;
}

// Chunk c of the rows -> partial[c][col]
__global__ void rmsnorm_grad_w_partial_kernel(const float* __restrict__ dy, const float* __restrict__ x,
                                              const float* __restrict__ inv_rms, float* __restrict__ partial,
                                              int64_t rows, int F, int rows_per_chunk) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= F) return;
    const int64_t first = static_cast<int64_t>(blockIdx.y) * rows_per_chunk;
    const int64_t last = min(first + rows_per_chunk, rows);
    float sum = 0.f;
    for (int64_t r = first; r < last; ++r) sum += dy[r * F + col] * (x[r * F + col] * inv_rms[r]);
    partial[static_cast<size_t>(blockIdx.y) * F + col] = sum;
}

__global__ void rmsnorm_grad_w_final_kernel(const float* __restrict__ partial, float* __restrict__ dw,
                                            int chunks, int F) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= F) return;
    float sum = 0.f;
    for (int c = 0; c < chunks; ++c) sum += partial[static_cast<size_t>(c) * F + col];
    dw[col] = sum;
}

std::vector<torch::Tensor> rmsnorm_backward(torch::Tensor grad_output, torch::Tensor x, torch::Tensor w, double eps) {
    auto dy = grad_output.contiguous();
    auto xc = x.contiguous();
    auto wc = w.contiguous();
    const int F = static_cast<int>(wc.numel());
    const int64_t rows = xc.numel() / F;

    auto dx = torch::empty_like(xc);
    auto dw = torch::empty_like(wc);
    auto inv_rms = torch::empty({rows}, xc.options());

    const int rows_per_chunk = 128;
    const int chunks = static_cast<int>((rows + rows_per_chunk - 1) / rows_per_chunk);
    auto partial = torch::empty({chunks, F}, xc.options());

    auto stream = at::cuda::getCurrentCUDAStream();
    rmsnorm_grad_x_kernel<<<rows, kBlock, 0, stream>>>(
        dy.data_ptr<float>(), xc.data_ptr<float>(), wc.data_ptr<float>(), dx.data_ptr<float>(),
        inv_rms.data_ptr<float>(), F, static_cast<float>(eps));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    const dim3 grid((F + kBlock - 1) / kBlock, chunks);
    rmsnorm_grad_w_partial_kernel<<<grid, kBlock, 0, stream>>>(
        dy.data_ptr<float>(), xc.data_ptr<float>(), inv_rms.data_ptr<float>(), partial.data_ptr<float>(),
        rows, F, rows_per_chunk);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    rmsnorm_grad_w_final_kernel<<<(F + kBlock - 1) / kBlock, kBlock, 0, stream>>>(
        partial.data_ptr<float>(), dw.data_ptr<float>(), chunks, F);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return {dx, dw};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &rmsnorm_backward, "RMSNorm backward (CUDA)");
}
