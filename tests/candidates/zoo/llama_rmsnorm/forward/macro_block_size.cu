#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

#define DISPATCH_BLOCK(BLOCK, ...)                                  \
  switch (BLOCK) {                                                  \
    case 64:  { constexpr int kBlock = 64;  __VA_ARGS__; break; }   \
    case 128: { constexpr int kBlock = 128; __VA_ARGS__; break; }   \
    case 256: { constexpr int kBlock = 256; __VA_ARGS__; break; }   \
    default:  TORCH_CHECK(false, "unsupported block size ", BLOCK); \
  }

template <int kBlock>
__global__ void __launch_bounds__(kBlock) rms_kernel(const float* __restrict__ x, const float* __restrict__ w,
                                                     float* __restrict__ y, const int F, const float eps,
                                                     const float inv_f) {
  __shared__ float buf[kBlock];
  const int64_t off = (int64_t)blockIdx.x * F;
  float a = 0.f, b = 0.f;
  int i = threadIdx.x;
  for (; i + kBlock < F; i += 2 * kBlock) {
    a = fmaf(x[off + i], x[off + i], a);
    b = fmaf(x[off + i + kBlock], x[off + i + kBlock], b);
  }
  if (i < F) a = fmaf(x[off + i], x[off + i], a);
  buf[threadIdx.x] = a + b;
  __syncthreads();
  if constexpr (kBlock >= 256) { if (threadIdx.x < 128) buf[threadIdx.x] += buf[threadIdx.x + 128]; __syncthreads(); }
  if constexpr (kBlock >= 128) { if (threadIdx.x < 64) buf[threadIdx.x] += buf[threadIdx.x + 64]; __syncthreads(); }
  if (threadIdx.x < 32) {
    volatile float* v = buf;
    float t = v[threadIdx.x] + v[threadIdx.x + 32];
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) t += __shfl_down_sync(0xffffffffu, t, o);
    if (threadIdx.x == 0) buf[0] = rsqrtf(t * inv_f + eps);
  }
  __syncthreads();
  const float s = buf[0];
#pragma unroll 2
  for (int j = threadIdx.x; j < F; j += kBlock) y[off + j] = x[off + j] * s * __ldg(w + j);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w, float eps) {
  const int F = x.size(-1);
  const int rows = x.numel() / F;
  auto y = torch::empty_like(x);
  const int block = F <= 64 ? 64 : F <= 512 ? 128 : 256;
  DISPATCH_BLOCK(block, rms_kernel<kBlock><<<rows, kBlock, 0, at::cuda::getCurrentCUDAStream()>>>(
                            x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), F, eps, 1.0f / F));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "rmsnorm"); }
