#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <algorithm>

/*
 * A block walks over several rows and keeps its share of grad_w in dynamic shared memory; at the end
 * it is added to the zeroed result with atomics. Column j of the accumulator is only ever touched by
 * thread j % blockDim.x, so no barrier is needed between rows for it.
 */
__global__ void rmsnorm_backward_kernel(const float* __restrict__ grad, const float* __restrict__ x,
                                        const float* __restrict__ w, float* __restrict__ gx, float* __restrict__ gw,
                                        long long rows, int F, float eps)
{
    extern __shared__ float acc[];
    __shared__ float red_a[8], red_b[8];
    for (int j = threadIdx.x; j < F; j += blockDim.x) acc[j] = 0.0f;

    for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
        const float* xr = x + r * F;
        const float* gr = grad + r * F;
        float a = 0.0f, b = 0.0f;
        for (int j = threadIdx.x; j < F; j += blockDim.x) {
            a += xr[j] * xr[j];
            b += gr[j] * w[j] * xr[j];
        }
        for (int o = 16; o > 0; o >>= 1) {
            a += __shfl_down_sync(0xffffffff, a, o);
            b += __shfl_down_sync(0xffffffff, b, o);
        }
        __syncthreads();   // previous row's red_* have been read
        if (threadIdx.x % 32 == 0) {
            red_a[threadIdx.x / 32] = a;
            red_b[threadIdx.x / 32] = b;
        }
        __syncthreads();
        a = b = 0.0f;
        for (int i = 0; i < (int)blockDim.x / 32; ++i) {
            a += red_a[i];
            b += red_b[i];
        }
        const float rms = rsqrtf(a / F + eps);
        const float k = b / F * rms * rms * rms;
        for (int j = threadIdx.x; j < F; j += blockDim.x) {
            gx[r * F + j] = rms * gr[j] * w[j] - k * xr[j];
            acc[j] += gr[j] * xr[j] * rms;
        }
    }
    for (int j = threadIdx.x; j < F; j += blockDim.x) atomicAdd(gw + j, acc[j]);
}

std::vector<torch::Tensor> backward(torch::Tensor grad_output, torch::Tensor x, torch::Tensor w, double eps)
{
    const int F = static_cast<int>(w.size(0));
    const long long rows = x.numel() / F;
    TORCH_CHECK(F * sizeof(float) <= 40 * 1024, "feature dimension too large: ", F);
    auto gx = torch::empty_like(x);
    auto gw = torch::zeros_like(w);
    const int blocks = (int)std::min<long long>(rows, 64);
    rmsnorm_backward_kernel<<<blocks, 256, F * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
        grad_output.data_ptr<float>(), x.data_ptr<float>(), w.data_ptr<float>(), gx.data_ptr<float>(), gw.data_ptr<float>(),
        rows, F, static_cast<float>(eps));
    cudaError_t status = cudaPeekAtLastError();
    if (status != cudaSuccess) {
        throw std::runtime_error(std::string("rmsnorm backward: ") + cudaGetErrorString(status));
    }
    return {gx, gw};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("backward", &backward, "RMSNorm backward (CUDA)");
}
