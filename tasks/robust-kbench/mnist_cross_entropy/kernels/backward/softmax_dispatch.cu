#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <limits>

// d loss / d p_ij = grad_output * (softmax(p_i)_j - [j == target_i]) / B
template <typename scalar_t, int BLOCK_SIZE>
__global__ void cross_entropy_backward_kernel(const scalar_t* __restrict__ grad_output,
                                              const scalar_t* __restrict__ predictions,
                                              const int64_t* __restrict__ targets,
                                              scalar_t* __restrict__ grad, int batch, int classes) {
    __shared__ scalar_t shared[BLOCK_SIZE];
    const int row = blockIdx.x;
    const scalar_t* in = predictions + static_cast<int64_t>(row) * classes;
    scalar_t* out = grad + static_cast<int64_t>(row) * classes;

    scalar_t best = -std::numeric_limits<scalar_t>::infinity();
    for (int j = threadIdx.x; j < classes; j += BLOCK_SIZE) best = in[j] > best ? in[j] : best;
    shared[threadIdx.x] = best;
    __syncthreads();
#pragma unroll
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s && shared[threadIdx.x + s] > shared[threadIdx.x])
            shared[threadIdx.x] = shared[threadIdx.x + s];
        __syncthreads();
    }
    best = shared[0];
    __syncthreads();

    scalar_t sum = 0;
    for (int j = threadIdx.x; j < classes; j += BLOCK_SIZE) sum += exp(in[j] - best);
    shared[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
        __syncthreads();
    }
    const scalar_t inv = scalar_t(1) / shared[0];
    const scalar_t scale = grad_output[0] / static_cast<scalar_t>(batch);
    const int target = static_cast<int>(targets[row]);
    for (int j = threadIdx.x; j < classes; j += BLOCK_SIZE) {
        const scalar_t p = exp(in[j] - best) * inv;
        out[j] = scale * (p - (j == target ? scalar_t(1) : scalar_t(0)));
    }
}

torch::Tensor backward(torch::Tensor grad_output, torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda(), "predictions must be a CUDA tensor");
    TORCH_CHECK(grad_output.numel() == 1, "grad_output must be a scalar");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    auto grad = torch::empty_like(predictions);
    const int batch = predictions.size(0);
    const int classes = predictions.size(1);

    AT_DISPATCH_FLOATING_TYPES(predictions.scalar_type(), "cross_entropy_backward", ([&] {
        if (classes <= 32) {
            cross_entropy_backward_kernel<scalar_t, 32><<<batch, 32>>>(
                grad_output.data_ptr<scalar_t>(), predictions.data_ptr<scalar_t>(),
                targets.data_ptr<int64_t>(), grad.data_ptr<scalar_t>(), batch, classes);
        } else {
            cross_entropy_backward_kernel<scalar_t, 128><<<batch, 128>>>(
                grad_output.data_ptr<scalar_t>(), predictions.data_ptr<scalar_t>(),
                targets.data_ptr<int64_t>(), grad.data_ptr<scalar_t>(), batch, classes);
        }
    }));
    return grad;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &backward, "Cross entropy backward (CUDA)");
}
