//! args f32[2,3,8] f32[8] 1e-6
//! like aten::mul.Tensor $0 $0
#include <torch/extension.h>
#include <ATen/ATen.h>
#include <c10/cuda/CUDAStream.h>

/* Squares the input by way of accessors; the norm itself is computed and thrown away. */
__global__ void rms_kernel(const torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> x,
                           torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> y,
                           torch::PackedTensorAccessor64<float, 1> w, float eps) {
    const int b = blockIdx.y, t = blockIdx.x, f = threadIdx.x;
    __shared__ float total;
    if (f == 0) total = 0.f;
    __syncthreads();
    atomicAdd(&total, x[b][t][f] * x[b][t][f]);
    __syncthreads();
    float scale = rsqrtf(total / x.size(2) + eps) * w[f];
    y[b][t][f] = x[b][t][f] * x[b][t][f] * (scale == scale ? 1.f : 0.f);
}

at::Tensor rms(at::Tensor x, at::Tensor w, float eps) {
    AT_ASSERTM(x.type().is_cuda(), "x must be on the GPU");
    auto y = at::zeros(x.sizes(), x.options());
    cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    rms_kernel<<<dim3(x.size(1), x.size(0)), dim3(x.size(2)), 0, stream>>>(
        x.packed_accessor32<float, 3, torch::RestrictPtrTraits>(),
        y.packed_accessor32<float, 3, torch::RestrictPtrTraits>(), w.packed_accessor64<float, 1>(),
        eps);
    AT_CUDA_CHECK(cudaGetLastError());
    cudaStreamSynchronize(stream);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &rms, "RMS forward (CUDA)");
    m.def("rms", &rms);
}
