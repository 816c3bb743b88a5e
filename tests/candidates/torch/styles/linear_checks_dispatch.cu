//! args bf16[6,8] bf16[4,8] bf16[4]
//! like aten::linear $0 $1 $2
//! tol 2e-2
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
    CHECK_CUDA(x);     \
    CHECK_CONTIGUOUS(x)

constexpr int TILE = 16;

template <typename scalar_t>
__global__ void tiled_linear(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b,
                             const scalar_t* __restrict__ bias, scalar_t* __restrict__ c, int64_t m,
                             int64_t n, int64_t k) {
    using acc_t = at::acc_type<scalar_t, true>;
    __shared__ acc_t as[TILE][TILE];
    __shared__ acc_t bs[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    acc_t acc = 0;
    for (int64_t t = 0; t < (k + TILE - 1) / TILE; ++t) {
        const int64_t ka = t * TILE + threadIdx.x;
        const int64_t kb = t * TILE + threadIdx.y;
        as[threadIdx.y][threadIdx.x] =
            (row < m && ka < k) ? static_cast<acc_t>(a[row * k + ka]) : acc_t(0);
        bs[threadIdx.y][threadIdx.x] =
            (col < n && kb < k) ? static_cast<acc_t>(b[col * k + kb]) : acc_t(0);
        __syncthreads();
        for (int i = 0; i < TILE; ++i) acc += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) {
        if (bias != nullptr) acc += bias[col];
        c[row * n + col] = static_cast<scalar_t>(acc);
    }
}

at::Tensor linear_cuda(const at::Tensor& input, const at::Tensor& weight,
                       const c10::optional<at::Tensor>& bias) {
    CHECK_INPUT(input);
    CHECK_INPUT(weight);
    TORCH_CHECK(input.dim() >= 2, "expected at least 2-D input, got ", input.dim(), "-D with sizes ",
                input.sizes());
    TORCH_CHECK(input.scalar_type() == weight.scalar_type(), "dtype mismatch: ",
                input.scalar_type(), " vs ", weight.scalar_type());
    const at::cuda::OptionalCUDAGuard device_guard(device_of(input));
    auto sizes = input.sizes().vec();
    const int64_t k = sizes.back();
    sizes.back() = weight.size(0);
    auto flat = input.reshape({-1, k});
    auto out = at::empty({flat.size(0), weight.size(0)}, input.options());
    const dim3 block(TILE, TILE);
    const dim3 grid((weight.size(0) + TILE - 1) / TILE, (flat.size(0) + TILE - 1) / TILE);
    auto stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::ScalarType::Half, at::ScalarType::BFloat16, input.scalar_type(), "linear_cuda", ([&] {
            const scalar_t* bias_ptr = bias.has_value() && bias->defined()
                                           ? bias->data_ptr<scalar_t>()
                                           : nullptr;
            tiled_linear<scalar_t><<<grid, block, 0, stream>>>(
                flat.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), bias_ptr,
                out.data_ptr<scalar_t>(), flat.size(0), weight.size(0), k);
        }));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out.view(sizes);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &linear_cuda, "linear", py::arg("input"), py::arg("weight"),
          py::arg("bias") = py::none());
}
