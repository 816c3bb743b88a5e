#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define TILE_DIM 16

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

// Computes y = x * W^T + b with a classic shared memory tiling.
// x: (M, K), W: (N, K), b: (N), y: (M, N)
__global__ void linear_tiled_kernel(const float* __restrict__ x,
                                    const float* __restrict__ w,
                                    const float* __restrict__ b,
                                    float* __restrict__ y,
                                    int M, int N, int K) {
    __shared__ float xs[TILE_DIM][TILE_DIM];
    __shared__ float ws[TILE_DIM][TILE_DIM + 1];  // +1 avoids bank conflicts

    const int row = blockIdx.y * TILE_DIM + threadIdx.y;
    const int col = blockIdx.x * TILE_DIM + threadIdx.x;
    const int wrow = blockIdx.x * TILE_DIM + threadIdx.y;

    float acc = 0.0f;
    const int num_tiles = (K + TILE_DIM - 1) / TILE_DIM;
    for (int t = 0; t < num_tiles; ++t) {
        const int k = t * TILE_DIM + threadIdx.x;

        // Load tiles, zero padding the borders
        xs[threadIdx.y][threadIdx.x] = (row < M && k < K) ? x[(size_t)row * K + k] : 0.0f;
        ws[threadIdx.y][threadIdx.x] = (wrow < N && k < K) ? w[(size_t)wrow * K + k] : 0.0f;
        __syncthreads();

        // Sum each tile on its own first: keeps rounding error low for large K
        float partial = 0.0f;
        #pragma unroll
        for (int i = 0; i < TILE_DIM; ++i) {
            partial += xs[threadIdx.y][i] * ws[threadIdx.x][i];
        }
        acc += partial;
        __syncthreads();
    }

    if (row < M && col < N) {
        y[(size_t)row * N + col] = acc + b[col];
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weights, torch::Tensor biases) {
    CHECK_INPUT(x);
    CHECK_INPUT(weights);
    CHECK_INPUT(biases);

    const int M = x.size(0);
    const int K = x.size(1);
    const int N = weights.size(0);

    auto y = torch::empty({M, N}, x.options());

    dim3 block(TILE_DIM, TILE_DIM);
    dim3 grid((N + TILE_DIM - 1) / TILE_DIM, (M + TILE_DIM - 1) / TILE_DIM);

    linear_tiled_kernel<<<grid, block>>>(
        x.data_ptr<float>(),
        weights.data_ptr<float>(),
        biases.data_ptr<float>(),
        y.data_ptr<float>(),
        M, N, K);

    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear forward (CUDA)");
}
