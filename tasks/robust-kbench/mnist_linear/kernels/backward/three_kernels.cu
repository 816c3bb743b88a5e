#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

#define TILE 16

// grad_x = grad_output @ W        (B, O) x (O, I) -> (B, I)
__global__ void grad_x_kernel(const float* __restrict__ go, const float* __restrict__ w,
                              float* __restrict__ gx, int B, int O, int I) {
    __shared__ float s_go[TILE][TILE];
    __shared__ float s_w[TILE][TILE];
    const int b = blockIdx.y * TILE + threadIdx.y;
    const int i = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    for (int t = 0; t < O; t += TILE) {
        const int oc = t + threadIdx.x;
        const int orow = t + threadIdx.y;
        s_go[threadIdx.y][threadIdx.x] = (b < B && oc < O) ? go[(size_t)b * O + oc] : 0.0f;
        s_w[threadIdx.y][threadIdx.x] = (orow < O && i < I) ? w[(size_t)orow * I + i] : 0.0f;
        __syncthreads();
        float part = 0.0f;
        #pragma unroll
        for (int k = 0; k < TILE; ++k) part += s_go[threadIdx.y][k] * s_w[k][threadIdx.x];
        acc += part;
        __syncthreads();
    }
    if (b < B && i < I) gx[(size_t)b * I + i] = acc;
}

// grad_W = grad_output^T @ x      (O, B) x (B, I) -> (O, I)
__global__ void grad_w_kernel(const float* __restrict__ go, const float* __restrict__ x,
                              float* __restrict__ gw, int B, int O, int I) {
    __shared__ float s_go[TILE][TILE];
    __shared__ float s_x[TILE][TILE];
    const int o = blockIdx.y * TILE + threadIdx.y;
    const int i = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    for (int t = 0; t < B; t += TILE) {
        const int brow = t + threadIdx.y;
        const int ocol = blockIdx.y * TILE + threadIdx.x;
        // s_go[k][o] so that both tiles are read along the batch
        s_go[threadIdx.y][threadIdx.x] = (brow < B && ocol < O) ? go[(size_t)brow * O + ocol] : 0.0f;
        s_x[threadIdx.y][threadIdx.x] = (brow < B && i < I) ? x[(size_t)brow * I + i] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) acc += s_go[k][threadIdx.y] * s_x[k][threadIdx.x];
        __syncthreads();
    }
    if (o < O && i < I) gw[(size_t)o * I + i] = acc;
}

// grad_b = sum over the batch of grad_output
__global__ void grad_b_kernel(const float* __restrict__ go, float* __restrict__ gb, int B, int O) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= O) return;
    float sum = 0.0f;
    for (int b = 0; b < B; ++b) sum += go[(size_t)b * O + o];
    gb[o] = sum;
}

std::vector<torch::Tensor> backward(torch::Tensor grad_output, torch::Tensor x, torch::Tensor weights) {
    grad_output = grad_output.contiguous();
    CHECK_INPUT(grad_output);
    CHECK_INPUT(x);
    CHECK_INPUT(weights);

    const int B = x.size(0), I = x.size(1), O = weights.size(0);
    auto grad_x = torch::empty_like(x);
    auto grad_w = torch::empty_like(weights);
    auto grad_b = torch::empty({O}, x.options());

    const dim3 block(TILE, TILE);
    grad_x_kernel<<<dim3((I + TILE - 1) / TILE, (B + TILE - 1) / TILE), block>>>(
        grad_output.data_ptr<float>(), weights.data_ptr<float>(), grad_x.data_ptr<float>(), B, O, I);
    grad_w_kernel<<<dim3((I + TILE - 1) / TILE, (O + TILE - 1) / TILE), block>>>(
        grad_output.data_ptr<float>(), x.data_ptr<float>(), grad_w.data_ptr<float>(), B, O, I);
    grad_b_kernel<<<(O + 255) / 256, 256>>>(grad_output.data_ptr<float>(), grad_b.data_ptr<float>(), B, O);

    return {grad_x, grad_w, grad_b};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &backward, "Linear backward (CUDA)");
}
