#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void ce_backward_kernel(const float* grad_output, const float* preds, const int* targets,
                                   float* grad, int B, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B) return;
    const float* row = preds + i * C;
    float m = row[0];
    for (int j = 1; j < C; ++j) m = fmaxf(m, row[j]);
    float s = 0.0f;
    for (int j = 0; j < C; ++j) s += expf(row[j] - m);
    float scale = grad_output[0] / B;
    for (int j = 0; j < C; ++j) grad[i * C + j] = scale * (expf(row[j] - m) / s - (j == targets[i]));
}

torch::Tensor backward(torch::Tensor grad_output, torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.scalar_type() == torch::kFloat32, "predictions must be float32");
    TORCH_CHECK(targets.scalar_type() == torch::kInt32, "targets must be int32, got ", targets.scalar_type());
    auto grad = torch::empty_like(predictions);
    int B = predictions.size(0), C = predictions.size(1);
    ce_backward_kernel<<<(B + 127) / 128, 128>>>(grad_output.data_ptr<float>(), predictions.data_ptr<float>(),
                                                 targets.data_ptr<int>(), grad.data_ptr<float>(), B, C);
    return grad;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("backward", &backward, "Cross entropy backward");
}
