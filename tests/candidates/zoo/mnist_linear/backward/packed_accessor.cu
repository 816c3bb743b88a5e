#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <vector>

template <typename T>
using Mat = torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits>;
template <typename T>
using Vec = torch::PackedTensorAccessor32<T, 1, torch::RestrictPtrTraits>;

template <typename T>
__global__ void grad_x_kernel(const Mat<T> go, const Mat<T> w, Mat<T> gx) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int b = blockIdx.y;
    if (i < gx.size(1)) {
        T s[2] = {0, 0};
        for (int o = 0; o < w.size(0); ++o) s[o & 1] += go[b][o] * w[o][i];
        gx[b][i] = s[0] + s[1];
    }
}

template <typename T>
__global__ void grad_wb_kernel(const Mat<T> go, const Mat<T> x, Mat<T> gw, Vec<T> gb) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int o = blockIdx.y;
    if (i < gw.size(1)) {
        T acc = 0;
        for (int b = 0; b < x.size(0); ++b) acc += go[b][o] * x[b][i];
        gw[o][i] = acc;
    }
    if (i == 0) {
        T acc = 0;
        for (int b = 0; b < go.size(0); ++b) acc += go[b][o];
        gb[o] = acc;
    }
}

std::vector<torch::Tensor> linear_backward(torch::Tensor grad_output, torch::Tensor x, torch::Tensor weights) {
    const auto options = torch::TensorOptions()
                             .dtype(x.scalar_type())
                             .layout(torch::kStrided)
                             .device(x.device())
                             .requires_grad(false);
    auto gx = torch::zeros(x.sizes(), options);
    auto gw = torch::zeros(weights.sizes().vec(), options);
    auto gb = torch::zeros({weights.size(0)}, options);
    const unsigned threads = 64;
    const unsigned cols = (x.size(1) + threads - 1) / threads;
    const dim3 grid_x(cols, x.size(0)), grid_w(cols, weights.size(0));
    AT_DISPATCH_FLOATING_TYPES(x.type(), "linear_backward", ([&] {
        grad_x_kernel<scalar_t><<<grid_x, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            grad_output.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            weights.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            gx.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
        grad_wb_kernel<scalar_t><<<grid_w, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            grad_output.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            gw.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            gb.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>());
    }));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return {gx, gw, gb};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &linear_backward, "Linear backward (CUDA)");
}
