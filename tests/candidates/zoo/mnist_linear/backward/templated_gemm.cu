#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>
#include <iostream>

#define DIVUP(a, b) (((a) + (b) - 1) / (b))
#define LAUNCH_GEMM(TA, TB, M, N, K, A, B, C)                                              \
    do {                                                                                   \
        dim3 block(BX, BY);                                                                \
        dim3 grid(DIVUP((N), BX), DIVUP((M), BY));                                         \
        gemm<TA, TB, BX, BY, BK><<<grid, block>>>((A), (B), (C), (M), (N), (K));           \
        cudaError_t e = cudaGetLastError();                                                \
        if (e != cudaSuccess) {                                                            \
            std::cerr << "gemm launch failed: " << cudaGetErrorString(e) << std::endl;     \
            throw std::runtime_error("gemm launch failed");                                \
        }                                                                                  \
    } while (0)

namespace {
constexpr int BX = 16, BY = 8, BK = 32;

template <bool TRANS>
__device__ inline float at2(const float* p, int r, int c, int rows, int cols) {
    if (r >= rows || c >= cols) return 0.f;
    return TRANS ? p[(size_t)c * rows + r] : p[(size_t)r * cols + c];
}

// C[M,N] = op(A)[M,K] * op(B)[K,N]
template <bool TA, bool TB, int NX, int NY, int NK>
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float sA[NY][NK + 1];
    __shared__ float sB[NK][NX + 1];
    const int m = blockIdx.y * NY + threadIdx.y;
    const int n = blockIdx.x * NX + threadIdx.x;
    float c = 0.f;
    for (int k0 = 0; k0 < K; k0 += NK) {
        #pragma unroll
        for (int k = threadIdx.x; k < NK; k += NX) sA[threadIdx.y][k] = at2<TA>(A, m, k0 + k, M, K);
        #pragma unroll
        for (int k = threadIdx.y; k < NK; k += NY) sB[k][threadIdx.x] = at2<TB>(B, k0 + k, n, K, N);
        __syncthreads();
        float t = 0.f;
        #pragma unroll
        for (int k = 0; k < NK; ++k) t += sA[threadIdx.y][k] * sB[k][threadIdx.x];
        c += t;
        __syncthreads();
    }
    if (m < M && n < N) C[(size_t)m * N + n] = c;
}
}  // namespace

extern "C" void h7_launch_linear_backward(const float* dy, const float* x, const float* w, const float* ones,
                                          float* dx, float* dw, float* db, int B, int I, int O) {
    LAUNCH_GEMM(false, false, B, I, O, dy, w, dx);
    LAUNCH_GEMM(true, false, O, I, B, dy, x, dw);
    LAUNCH_GEMM(false, false, 1, O, B, ones, dy, db);  // bias gradient: ones^T dY
}

std::vector<at::Tensor> linear_backward(at::Tensor grad_output, at::Tensor x, at::Tensor weights) {
    auto go = grad_output.contiguous();
    const int B = x.size(0), I = x.size(1), O = weights.size(0);
    std::vector<at::Tensor> grads;
    grads.push_back(torch::empty_like(x));
    grads.push_back(torch::empty_like(weights));
    grads.emplace_back(torch::empty({O}, weights.options()));
    auto ones = torch::ones({1, B}, x.options());
    h7_launch_linear_backward(go.data_ptr<float>(), x.data_ptr<float>(), weights.data_ptr<float>(),
                              ones.data_ptr<float>(), grads[0].data_ptr<float>(), grads[1].data_ptr<float>(),
                              grads[2].data_ptr<float>(), B, I, O);
    return grads;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &linear_backward, "linear backward");
}
