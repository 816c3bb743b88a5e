#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <limits>

namespace {

constexpr int kWarpsPerBlock = 4;

template <typename T>
__device__ __forceinline__ T warp_max(T v) {
    for (int o = 16; o > 0; o /= 2) v = max(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}

template <typename T>
__device__ __forceinline__ T warp_sum(T v) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

// Every warp walks over rows with a grid stride and keeps a running sum of its losses; a block adds
// its part of the mean to the (zero-initialised) result with one atomic.
template <typename scalar_t>
__global__ void __launch_bounds__(kWarpsPerBlock * 32)
cross_entropy_kernel(const scalar_t* __restrict__ logits, const int64_t* __restrict__ target,
                     scalar_t* __restrict__ loss, int64_t batch, int64_t classes) {
    __shared__ scalar_t partial[kWarpsPerBlock];
    const int lane = threadIdx.x & 31;
    const int wid = threadIdx.x >> 5;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * kWarpsPerBlock;

    scalar_t total = 0;
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWarpsPerBlock + wid; row < batch; row += stride) {
        const scalar_t* x = logits + row * classes;
        scalar_t m = -std::numeric_limits<scalar_t>::infinity();
        for (int64_t c = lane; c < classes; c += 32) m = max(m, x[c]);
        m = warp_max(m);
        scalar_t s = 0;
        for (int64_t c = lane; c < classes; c += 32) s += exp(x[c] - m);
        s = warp_sum(s);
        total += log(s) - (x[target[row]] - m);
    }

    if (lane == 0) partial[wid] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        scalar_t sum = 0;
        for (int w = 0; w < kWarpsPerBlock; ++w) sum += partial[w];
        atomicAdd(loss, sum / static_cast<scalar_t>(batch));
    }
}

}  // namespace

torch::Tensor cross_entropy_forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.dim() == 2, "predictions must be (B, C)");
    TORCH_CHECK(targets.dim() == 1 && targets.size(0) == predictions.size(0), "targets must be (B,)");
    auto x = predictions.contiguous();
    auto t = targets.contiguous();
    auto loss = torch::zeros({}, x.options());

    const int64_t batch = x.size(0);
    // few blocks: few atomics
    const int blocks = static_cast<int>(std::min<int64_t>((batch + kWarpsPerBlock - 1) / kWarpsPerBlock, 32));
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cross_entropy_forward", [&] {
        cross_entropy_kernel<scalar_t><<<blocks, kWarpsPerBlock * 32, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), t.data_ptr<int64_t>(), loss.data_ptr<scalar_t>(), batch, x.size(1));
    });
    C10_CUDA_CHECK(cudaGetLastError());
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &cross_entropy_forward, "Mean cross entropy", py::arg("predictions"), py::arg("targets"));
}
