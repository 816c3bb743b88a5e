//! entry backward
//! args f32[6,3] f32[6,5] f32[3,5]
//! like aten::mm $0 $2
//! like aten::mm $0.t $1
//! like aten::sum.dim_IntList $0 (0)
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <tuple>

using torch::Tensor;

template <bool ATomic>
__global__ void grad_bias_kernel(const float* g, float* gb, const int batch, const int out) {
    const int j = blockIdx.x;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < batch; i += blockDim.x) sum += g[i * out + j];
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0) {
        if constexpr (ATomic) atomicAdd(&gb[j], sum);
        else gb[j] = sum;
    }
}

__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k,
                              int a_row, int a_col, int b_row, int b_col) {
    CUDA_KERNEL_LOOP(index, m * n) {
        const int i = index / n, j = index % n;
        float acc = 0.f;
        for (int t = 0; t < k; t++) acc = fmaf(a[i * a_row + t * a_col], b[t * b_row + j * b_col], acc);
        c[index] = acc;
    }
}

std::tuple<Tensor, Tensor, Tensor> backward(Tensor grad_output, Tensor x, Tensor weights) {
    auto g = grad_output.contiguous();
    int B = g.size(0), O = g.size(1), I = x.size(1);
    Tensor gx = torch::empty_like(x);
    Tensor gw = torch::zeros_like(weights);
    Tensor gb = torch::zeros({O}, g.options());
    matmul_kernel<<<(B * I + 255) / 256, 256>>>(g.data_ptr<float>(), weights.data_ptr<float>(),
                                               gx.data_ptr<float>(), B, I, O, O, 1, I, 1);
    matmul_kernel<<<(O * I + 255) / 256, 256>>>(g.data_ptr<float>(), x.data_ptr<float>(),
                                               gw.data_ptr<float>(), O, I, B, 1, O, I, 1);
    grad_bias_kernel<true><<<O, 32>>>(g.data_ptr<float>(), gb.data_ptr<float>(), B, O);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err));
    return std::make_tuple(gx, gw, gb);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
