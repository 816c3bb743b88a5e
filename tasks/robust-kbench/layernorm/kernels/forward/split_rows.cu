#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <algorithm>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
    CHECK_CUDA(x);     \
    CHECK_CONTIGUOUS(x)

// A sample holds millions of values while the batch may be 1, so one block per row would leave the
// GPU idle. Each row is split over gridDim.x blocks:
//   pass 1: partial sums -> partial[row][chunk]
//   pass 2: mean from the partials; partial sums of squared deviations
//   pass 3: variance from the partials; normalise
constexpr int THREADS = 256;

template <typename scalar_t>
__device__ scalar_t block_sum(scalar_t v) {
    __shared__ scalar_t buf[THREADS];
    __syncthreads();  // the buffer may still be read from a previous call
    buf[threadIdx.x] = v;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
    return buf[0];
}

template <typename scalar_t>
__global__ void partial_sum_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ partial, int64_t n) {
    const scalar_t* row = x + blockIdx.y * n;
    scalar_t sum = 0;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS)
        sum += row[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

template <typename scalar_t>
__device__ scalar_t total_of(const scalar_t* partial, int chunks) {
    scalar_t v = 0;
    for (int c = threadIdx.x; c < chunks; c += THREADS) v += partial[c];
    return block_sum(v);
}

template <typename scalar_t>
__global__ void partial_var_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ sums,
                                   scalar_t* __restrict__ partial, int64_t n) {
    const scalar_t mean = total_of(sums + blockIdx.y * gridDim.x, gridDim.x) / static_cast<scalar_t>(n);
    const scalar_t* row = x + blockIdx.y * n;
    scalar_t sum = 0;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
        const scalar_t d = row[i] - mean;
        sum += d * d;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

template <typename scalar_t>
__global__ void normalize_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                                 const scalar_t* __restrict__ bias, const scalar_t* __restrict__ sums,
                                 const scalar_t* __restrict__ squares, scalar_t* __restrict__ y, int64_t n,
                                 scalar_t eps) {
    const scalar_t mean = total_of(sums + blockIdx.y * gridDim.x, gridDim.x) / static_cast<scalar_t>(n);
    const scalar_t var = total_of(squares + blockIdx.y * gridDim.x, gridDim.x) / static_cast<scalar_t>(n);
    const scalar_t rstd = scalar_t(1) / sqrt(var + eps);
    const scalar_t* row = x + blockIdx.y * n;
    scalar_t* out = y + blockIdx.y * n;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS)
        out[i] = (row[i] - mean) * rstd * weight[i] + bias[i];
}

torch::Tensor layernorm_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, float eps) {
    CHECK_INPUT(x);
    CHECK_INPUT(weight);
    CHECK_INPUT(bias);
    TORCH_CHECK(weight.sizes() == bias.sizes(), "weight and bias must have the same shape");

    const int64_t n = weight.numel();
    const int64_t rows = x.numel() / n;
    TORCH_CHECK(rows <= 65535, "batch too large for this kernel");
    const int chunks = static_cast<int>(std::min<int64_t>((n + THREADS * 8 - 1) / (THREADS * 8), 512));
    auto y = torch::empty_like(x);
    auto sums = torch::empty({rows, chunks}, x.options());
    auto squares = torch::empty({rows, chunks}, x.options());
    const dim3 grid(chunks, rows);
    cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();

    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "layernorm_forward", ([&] {
        partial_sum_kernel<scalar_t><<<grid, THREADS, 0, stream>>>(
            x.data_ptr<scalar_t>(), sums.data_ptr<scalar_t>(), n);
        partial_var_kernel<scalar_t><<<grid, THREADS, 0, stream>>>(
            x.data_ptr<scalar_t>(), sums.data_ptr<scalar_t>(), squares.data_ptr<scalar_t>(), n);
        normalize_kernel<scalar_t><<<grid, THREADS, 0, stream>>>(
            x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(),
            sums.data_ptr<scalar_t>(), squares.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n,
            static_cast<scalar_t>(eps));
    }));
    C10_CUDA_CHECK(cudaGetLastError());
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &layernorm_forward, "LayerNorm forward, rows split over blocks");
}
