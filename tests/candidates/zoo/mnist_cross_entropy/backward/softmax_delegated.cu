#include <torch/extension.h>
#include <ATen/ATen.h>

using namespace at;

template <typename index_t>
__global__ void subtract_one_hot(float* p, const index_t* target, const float* go, index_t rows, index_t cols) {
    const float scale = go[0] / static_cast<float>(rows);
    for (index_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += (index_t)blockDim.x * gridDim.x) {
        const index_t r = i / cols;
        p[i] = (p[i] - (target[r] == i % cols ? 1.f : 0.f)) * scale;
    }
}

Tensor cross_entropy_backward(Tensor grad_output, Tensor predictions, Tensor targets) {
    Tensor p = at::softmax(predictions, 1);
    subtract_one_hot<int64_t><<<8, 128>>>(p.data_ptr<float>(), targets.data_ptr<int64_t>(),
                                          grad_output.data_ptr<float>(), predictions.size(0), predictions.size(1));
    return p;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &cross_entropy_backward); }
