//! args f32[4,3,2,5] f32[3,2,5] f32[3,2,5] 1e-5
//! like aten::layer_norm $0 (3,2,5) $1 $2 1e-5
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cmath>

template <typename T>
__device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

template <typename scalar_t>
__global__ void layernorm_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w,
                                 const scalar_t* __restrict__ b, scalar_t* __restrict__ y,
                                 const float eps, const int n) {
    extern __shared__ float smem[];
    const int tid = threadIdx.x;
    const scalar_t* row = x + static_cast<int64_t>(blockIdx.x) * n;
    float s = 0.f, ss = 0.f;
    for (int i = tid; i < n; i += blockDim.x) {
        float v = static_cast<float>(row[i]);
        s += v;
        ss += v * v;
    }
    s = warp_sum(s);
    ss = warp_sum(ss);
    const int warps = blockDim.x / 32;
    if (tid % 32 == 0) {
        smem[tid / 32] = s;
        smem[warps + tid / 32] = ss;
    }
    __syncthreads();
    if (tid == 0) {
        float total = 0.f, squares = 0.f;
        for (int i = 0; i < warps; i++) {
            total += smem[i];
            squares += smem[warps + i];
        }
        smem[0] = total / n;
        smem[1] = rsqrtf(squares / n - (total / n) * (total / n) + eps);
    }
    __syncthreads();
    const float mean = smem[0], inv = smem[1];
    for (int i = tid; i < n; i += blockDim.x)
        y[static_cast<int64_t>(blockIdx.x) * n + i] =
            static_cast<scalar_t>((static_cast<float>(row[i]) - mean) * inv * w[i] + b[i]);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps = 1e-5) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda(), "inputs must be CUDA tensors");
    int n = weight.numel();
    int outer = x.numel() / n;
    auto out = torch::empty_like(x);
    const int threads = n < 1024 ? ((n + 31) / 32) * 32 : 1024;
    const size_t shared = 2 * (threads / 32) * sizeof(float) + 8;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "layernorm_forward", [&] {
        layernorm_kernel<scalar_t><<<outer, threads, shared>>>(
            x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(),
            out.data_ptr<scalar_t>(), static_cast<float>(eps), n);
    });
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LayerNorm forward", py::arg("x"), py::arg("weight"),
          py::arg("bias"), py::arg("eps") = 1e-5);
}
