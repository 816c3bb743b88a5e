#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda.h>
#include <cuda_runtime.h>

using namespace torch;

// Everything the kernel needs, passed by value
struct GemmParams {
    const float* A;   // [M, K]
    const float* B;   // [N, K]
    const float* bias;
    float* C;         // [M, N]
    int M, N, K;
};

enum { BM = 32, BN = 32, BK = 8, TM = 4, TN = 4 };
static constexpr int THREADS = (BM / TM) * (BN / TN);

__device__ __forceinline__ int div_up(int a, int b) { return (a + b - 1) / b; }

__global__ void __launch_bounds__(THREADS) gemm_bias_kernel(const GemmParams p) {
    __shared__ __align__(16) float As[BK][BM + 4];
    __shared__ __align__(16) float Bs[BK][BN + 4];
    const int tid = threadIdx.x;
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;

    float acc[TM][TN];
    #pragma unroll
    for (int i = 0; i < TM; ++i)
        #pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = 0.f;

    for (int t = 0; t < div_up(p.K, BK); ++t) {
        for (int e = tid; e < BM * BK; e += THREADS) {
            const int r = e / BK, c = e % BK, k = t * BK + c;
            As[c][r] = (m0 + r < p.M && k < p.K) ? p.A[(size_t)(m0 + r) * p.K + k] : 0.f;
        }
        for (int e = tid; e < BN * BK; e += THREADS) {
            const int r = e / BK, c = e % BK, k = t * BK + c;
            Bs[c][r] = (n0 + r < p.N && k < p.K) ? p.B[(size_t)(n0 + r) * p.K + k] : 0.f;
        }
        __syncthreads();
        float part[TM][TN] = {};
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4*>(&As[k][ty * TM]);
            const float4 b = *reinterpret_cast<const float4*>(&Bs[k][tx * TN]);
            const float av[TM] = {a.x, a.y, a.z, a.w};
            const float bv[TN] = {b.x, b.y, b.z, b.w};
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; ++j) part[i][j] += av[i] * bv[j];
        }
        for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) acc[i][j] += part[i][j];
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        const int m = m0 + ty * TM + i;
        if (m >= p.M) break;
        for (int j = 0; j < TN; ++j) {
            const int n = n0 + tx * TN + j;
            if (n < p.N) p.C[(size_t)m * p.N + n] = acc[i][j] + p.bias[n];
        }
    }
}

Tensor linear_forward_cuda(Tensor x, Tensor weights, Tensor biases) {
    TORCH_CHECK(x.ndimension() == 2, "expected a matrix");
    x = x.contiguous();
    auto out = torch::empty({x.size(0), weights.size(0)}, x.options());
    GemmParams p{x.data_ptr<float>(), weights.data_ptr<float>(), biases.data_ptr<float>(), out.data_ptr<float>(),
                 (int)x.size(0), (int)weights.size(0), (int)x.size(1)};
    const dim3 grid((p.N + BN - 1) / BN, (p.M + BM - 1) / BM, 1);
    gemm_bias_kernel<<<grid, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(p);
    AT_CUDA_CHECK(cudaGetLastError());
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &linear_forward_cuda, "x W^T + b"); }
