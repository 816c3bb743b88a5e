#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <cmath>

// The number of classes is small, so a single thread handles a whole row. Maximum and normaliser
// are found in one pass ("online softmax").
__global__ void ce_backward_kernel(const float* __restrict__ grad_output, const float* __restrict__ logits,
                                   const int64_t* __restrict__ targets, float* __restrict__ grad_logits,
                                   const int64_t batch_size, const int64_t num_classes) {
    const float scale = __ldg(grad_output) / static_cast<float>(batch_size);
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < batch_size; i += blockDim.x * gridDim.x) {
        const float* row = logits + i * num_classes;
        float running_max = row[0];
        float running_sum = 1.0f;
        for (int64_t j = 1; j < num_classes; ++j) {
            const float v = row[j];
            if (v > running_max) {
                running_sum = running_sum * expf(running_max - v) + 1.0f;
                running_max = v;
            } else {
                running_sum += expf(v - running_max);
            }
        }
        const int64_t t = targets[i];
        for (int64_t j = 0; j < num_classes; ++j) {
            float g = expf(row[j] - running_max) / running_sum;
            if (j == t) g -= 1.0f;
            grad_logits[i * num_classes + j] = g * scale;
        }
    }
}

torch::Tensor cross_entropy_backward(const torch::Tensor& grad_output, const torch::Tensor& predictions,
                                     const torch::Tensor& targets) {
    TORCH_CHECK(predictions.is_contiguous() && targets.is_contiguous(), "inputs must be contiguous");
    TORCH_CHECK(predictions.dtype() == torch::kFloat32, "predictions must be float32");
    torch::Tensor grad_logits = torch::empty(predictions.sizes(), predictions.options());
    const int64_t n = predictions.size(0);
    const int threads = 64;
    const int blocks = static_cast<int>((n + threads - 1) / threads);
    ce_backward_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        grad_output.data_ptr<float>(), predictions.data_ptr<float>(), targets.data_ptr<int64_t>(),
        grad_logits.data_ptr<float>(), n, predictions.size(1));
    return grad_logits;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &cross_entropy_backward, "Gradient of the mean cross entropy");
}
