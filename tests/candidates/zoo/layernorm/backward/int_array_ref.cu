#include <ATen/ATen.h>
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <tuple>

// Parameter gradients by atomics: each block handles a slab of the batch for a range of columns.
template <typename T>
struct RowStats {
    T mean, rstd, c1, c2;
};

template <typename T, int N>
__device__ __forceinline__ T reduce_block(T v) {
    static __shared__ T shm[N / 32];
    __syncthreads();
    #pragma unroll
    for (int d = 1; d < 32; d <<= 1) v += __shfl_xor_sync(0xffffffff, v, d);
    if (!(threadIdx.x & 31)) shm[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    #pragma unroll
    for (int i = 0; i < N / 32; ++i) v += shm[i];
    return v;
}

template <typename T, int N>
__global__ void row_stats(const T* dy, const T* x, const T* w, RowStats<T>* st, int64_t n, T eps) {
    const T* xr = x + blockIdx.x * n;
    const T* gr = dy + blockIdx.x * n;
    T a = 0;
    for (int64_t i = threadIdx.x; i < n; i += N) a += xr[i];
    const T mean = reduce_block<T, N>(a) / T(n);
    a = 0;
    for (int64_t i = threadIdx.x; i < n; i += N) a += (xr[i] - mean) * (xr[i] - mean);
    const T rstd = T(1) / sqrt(reduce_block<T, N>(a) / T(n) + eps);
    T p = 0, q = 0;
    for (int64_t i = threadIdx.x; i < n; i += N) {
        p += gr[i] * w[i];
        q += gr[i] * w[i] * (xr[i] - mean) * rstd;
    }
    p = reduce_block<T, N>(p);
    q = reduce_block<T, N>(q);
    if (threadIdx.x == 0) st[blockIdx.x] = {mean, rstd, p / T(n), q / T(n)};
}

template <typename T>
__global__ void grads(const T* dy, const T* x, const T* w, const RowStats<T>* st, T* dx, T* dw, T* db, int64_t n,
                      int64_t rows, int64_t slab) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int64_t r0 = blockIdx.y * slab, r1 = r0 + slab < rows ? r0 + slab : rows;
    T aw = 0, ab = 0;
    for (int64_t r = r0; r < r1; ++r) {
        const RowStats<T> s = st[r];
        const T g = dy[r * n + i], h = (x[r * n + i] - s.mean) * s.rstd;
        dx[r * n + i] = s.rstd * (g * w[i] - s.c1 - h * s.c2);
        aw += g * h;
        ab += g;
    }
    atomicAdd(dw + i, aw);
    atomicAdd(db + i, ab);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> ln_backward(const at::Tensor& grad_output, const at::Tensor& x,
                                                           const at::Tensor& weight, const at::Tensor& bias, double eps,
                                                           at::IntArrayRef normalized_shape) {
    int64_t n = 1;
    for (const auto d : normalized_shape) n *= d;
    const int64_t rows = x.numel() / n;
    auto dx = at::empty_like(x);
    auto dw = at::zeros_like(weight);
    auto db = at::zeros(bias.sizes(), bias.options());
    auto scratch = at::empty({rows, 4}, x.options());
    auto stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "ln_backward", [&] {
        auto* st = reinterpret_cast<RowStats<scalar_t>*>(scratch.data_ptr<scalar_t>());
        row_stats<scalar_t, 256><<<rows, 256, 0, stream>>>(grad_output.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(),
                                                           weight.data_ptr<scalar_t>(), st, n, scalar_t(eps));
        const int64_t slab = 8;
        const dim3 grid((n + 127) / 128, (rows + slab - 1) / slab);
        grads<scalar_t><<<grid, 128, 0, stream>>>(grad_output.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(),
                                                  weight.data_ptr<scalar_t>(), st, dx.data_ptr<scalar_t>(),
                                                  dw.data_ptr<scalar_t>(), db.data_ptr<scalar_t>(), n, rows, slab);
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return std::make_tuple(std::move(dx), std::move(dw), std::move(db));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &ln_backward); }
