#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <functional>

// W lanes share a row; 32 / W rows per warp
template <int W>
__global__ void ce_bwd(const float* __restrict__ go, const float* __restrict__ x, const int64_t* __restrict__ y,
                       float* __restrict__ gx, int B, int C) {
    static_assert(W > 0 && W <= 32 && (W & (W - 1)) == 0, "W must be a power of two");
    const int lane = threadIdx.x % W;
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / W;
    const bool live = row < B;
    const float* xr = x + (size_t)(live ? row : 0) * C;

    float m = -3.402823466e+38f;
    for (int c = lane; c < C; c += W) m = fmaxf(m, xr[c]);
#pragma unroll
    for (int o = W / 2; o > 0; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o, W));
    float s = 0.f;
    for (int c = lane; c < C; c += W) s += expf(xr[c] - m);
#pragma unroll
    for (int o = W / 2; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffff, s, o, W);

    if (!live) return;
    const float k = *go / (float)B;
    const int t = (int)y[row];
    for (int c = lane; c < C; c += W) gx[(size_t)row * C + c] = k * (expf(xr[c] - m) / s - (c == t));
}

torch::Tensor backward(torch::Tensor grad_output, torch::Tensor predictions, torch::Tensor targets) {
    auto gx = torch::empty_like(predictions, torch::MemoryFormat::Contiguous);
    const int B = predictions.size(0), C = predictions.size(1);
    const float* go = grad_output.data_ptr<float>();
    std::function<void()> launch;
    auto stream = at::cuda::getCurrentCUDAStream();
#define CASE(W)                                                                                         \
    launch = [=]() {                                                                                    \
        const int per = 128 / W;                                                                        \
        ce_bwd<W><<<(B + per - 1) / per, 128, 0, stream>>>(go, predictions.data_ptr<float>(),           \
                                                           targets.data_ptr<int64_t>(),                 \
                                                           gx.data_ptr<float>(), B, C);                 \
    }
    if (C <= 4) CASE(4);
    else if (C <= 16) CASE(16);
    else CASE(32);
#undef CASE
    launch();
    return gx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward, "ce backward"); }
