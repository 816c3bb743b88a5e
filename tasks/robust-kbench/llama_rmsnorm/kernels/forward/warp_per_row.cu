#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

// RMSNorm: y = x * rsqrt(mean(x^2) + eps) * w
// A warp normalises one row; no shared memory and no block synchronisation needed.
template <typename scalar_t, int WARPS>
__global__ void rmsnorm_warp_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w,
                                    scalar_t* __restrict__ y, const int64_t rows, const int features,
                                    const scalar_t eps) {
    const int lane = threadIdx.x;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.y;
    if (row >= rows) return;

    const scalar_t* in = x + row * features;
    scalar_t* out = y + row * features;

    scalar_t ss = 0;
    for (int i = lane; i < features; i += 32) {
        const scalar_t v = in[i];
        ss += v * v;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) ss += __shfl_xor_sync(0xffffffff, ss, mask);

    const scalar_t scale = rsqrt(ss / static_cast<scalar_t>(features) + eps);
    for (int i = lane; i < features; i += 32) out[i] = in[i] * scale * w[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(w.dim() == 1 && w.size(0) == x.size(-1), "w must match the last dimension of x");
    x = x.contiguous();
    w = w.contiguous();

    auto y = torch::empty_like(x);
    const int features = x.size(-1);
    const int64_t rows = x.numel() / features;
    constexpr int kWarps = 8;
    const dim3 block(32, kWarps);
    const int grid = (rows + kWarps - 1) / kWarps;

    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rmsnorm_forward", ([&] {
        rmsnorm_warp_kernel<scalar_t, kWarps><<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), rows, features,
            static_cast<scalar_t>(eps));
    }));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "RMSNorm forward (CUDA)");
}
