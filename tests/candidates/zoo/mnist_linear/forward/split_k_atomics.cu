#include <torch/extension.h>
#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/CUDAException.h>

template <typename scalar_t, int kThreads, int kSlice>
__global__ void split_k_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w,
                               const scalar_t* __restrict__ b, scalar_t* __restrict__ y,
                               const int rows, const int cols, const int depth) {
  const int idx = blockIdx.x * kThreads + threadIdx.x;
  if (idx >= rows * cols) return;
  const int r = idx / cols;
  const int c = idx - r * cols;
  const int k0 = blockIdx.y * kSlice;
  const int k1 = k0 + kSlice < depth ? k0 + kSlice : depth;
  scalar_t s = scalar_t(0);
  #pragma unroll 4
  for (int k = k0; k < k1; ++k) s += x[(int64_t)r * depth + k] * w[(int64_t)c * depth + k];
  if (blockIdx.y == 0) s += b[c];
  atomicAdd(y + idx, s);
}

at::Tensor linear_forward(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& biases) {
  const c10::cuda::OptionalCUDAGuard guard(at::device_of(x));
  TORCH_CHECK(x.scalar_type() == weights.scalar_type(), "dtype mismatch: ", x.scalar_type());
  const int rows = x.size(0), depth = x.size(1), cols = weights.size(0);
  at::Tensor y = at::empty({rows, cols}, x.options());
  const auto stream = c10::cuda::getCurrentCUDAStream();
  C10_CUDA_CHECK(cudaMemsetAsync(y.data_ptr(), 0, y.numel() * y.element_size(), stream));
  constexpr int threads = 128, slice = 256;
  const dim3 grid((rows * cols + threads - 1) / threads, (depth + slice - 1) / slice);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear_forward", [&]() {
    split_k_kernel<scalar_t, threads, slice><<<grid, threads, 0, stream>>>(
        x.data_ptr<scalar_t>(), weights.data_ptr<scalar_t>(), biases.data_ptr<scalar_t>(),
        y.data_ptr<scalar_t>(), rows, cols, depth);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "split-K linear layer";
  m.def("forward", &linear_forward);
}
