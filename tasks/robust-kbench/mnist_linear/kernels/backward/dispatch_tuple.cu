#include <torch/extension.h>
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <tuple>

namespace {

// Strided "dot product" GEMM: out[m, n] = sum_k a[m * a_m + k * a_k] * b[k * b_k + n * b_n].
// The same kernel serves grad_x (A = dY, B = W) and grad_w (A = dY^T, B = x).
template <typename scalar_t>
__global__ void gemm_strided_kernel(const scalar_t* __restrict__ a, int64_t a_m, int64_t a_k,
                                    const scalar_t* __restrict__ b, int64_t b_k, int64_t b_n,
                                    scalar_t* __restrict__ out, int64_t M, int64_t N, int64_t K) {
    const int64_t total = M * N;
    const int64_t step = static_cast<int64_t>(blockDim.x) * gridDim.x;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < total; i += step) {
        const int64_t m = i / N;
        const int64_t n = i - m * N;
        // four independent accumulators: shorter dependency chains, smaller rounding error
        scalar_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        int64_t k = 0;
        for (; k + 3 < K; k += 4) {
            s0 += a[m * a_m + k * a_k] * b[k * b_k + n * b_n];
            s1 += a[m * a_m + (k + 1) * a_k] * b[(k + 1) * b_k + n * b_n];
            s2 += a[m * a_m + (k + 2) * a_k] * b[(k + 2) * b_k + n * b_n];
            s3 += a[m * a_m + (k + 3) * a_k] * b[(k + 3) * b_k + n * b_n];
        }
        for (; k < K; ++k) s0 += a[m * a_m + k * a_k] * b[k * b_k + n * b_n];
        out[i] = (s0 + s1) + (s2 + s3);
    }
}

// One block per output feature.
template <typename scalar_t, int THREADS>
__global__ void bias_grad_kernel(const scalar_t* __restrict__ grad_out, scalar_t* __restrict__ grad_b,
                                 int64_t B, int64_t O) {
    __shared__ scalar_t smem[THREADS];
    const int64_t o = blockIdx.x;
    scalar_t sum = 0;
    for (int64_t b = threadIdx.x; b < B; b += THREADS) sum += grad_out[b * O + o];
    smem[threadIdx.x] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) smem[threadIdx.x] += smem[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) grad_b[o] = smem[0];
}

int blocks_for(int64_t n, int threads) {
    return static_cast<int>(std::min<int64_t>((n + threads - 1) / threads, 65535));
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(at::Tensor grad_output, at::Tensor x,
                                                               at::Tensor weights) {
    const at::cuda::CUDAGuard device_guard(x.device());
    auto dy = grad_output.contiguous();
    auto xc = x.contiguous();
    auto wc = weights.contiguous();

    const int64_t B = xc.size(0), I = xc.size(1), O = wc.size(0);
    at::Tensor grad_x = at::empty({B, I}, xc.options());
    at::Tensor grad_w = at::empty({O, I}, wc.options());
    at::Tensor grad_b = at::empty({O}, wc.options());

    constexpr int threads = 256;
    auto stream = at::cuda::getCurrentCUDAStream();

    AT_DISPATCH_FLOATING_TYPES(xc.scalar_type(), "linear_backward", ([&] {
        gemm_strided_kernel<scalar_t><<<blocks_for(B * I, threads), threads, 0, stream>>>(
            dy.data_ptr<scalar_t>(), O, 1, wc.data_ptr<scalar_t>(), I, 1,
            grad_x.data_ptr<scalar_t>(), B, I, O);
        gemm_strided_kernel<scalar_t><<<blocks_for(O * I, threads), threads, 0, stream>>>(
            dy.data_ptr<scalar_t>(), 1, O, xc.data_ptr<scalar_t>(), I, 1,
            grad_w.data_ptr<scalar_t>(), O, I, B);
        bias_grad_kernel<scalar_t, 128><<<O, 128, 0, stream>>>(
            dy.data_ptr<scalar_t>(), grad_b.data_ptr<scalar_t>(), B, O);
    }));

    cudaError_t err = cudaGetLastError();
    TORCH_CHECK(err == cudaSuccess, "linear_backward launch failed: ", cudaGetErrorString(err));
    return std::make_tuple(grad_x, grad_w, grad_b);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &linear_backward, "Linear backward (CUDA)",
          py::arg("grad_output"), py::arg("x"), py::arg("weights"));
}
