#include <torch/extension.h>
#include <cuda_runtime.h>

// Each thread computes one element of the output.
__global__ void linear_kernel(const float* x, const float* w, float* out,
                              int batch, int in_features, int out_features) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < batch * out_features) {
        int b = idx / out_features;
        int o = idx % out_features;
        float sum = 0.0f;
        for (int i = 0; i < in_features; i++) {
            sum += x[b * in_features + i] * w[o * in_features + i];
        }
        out[idx] = sum;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weights, torch::Tensor biases) {
    int batch = x.size(0);
    int in_features = x.size(1);
    int out_features = weights.size(0);
    auto out = torch::empty({batch, out_features}, x.options());

    int threads = 256;
    int blocks = (batch * out_features + threads - 1) / threads;
    linear_kernel<<<blocks, threads>>>(x.data_ptr<float>(), weights.data_ptr<float>(),
                                       out.data_ptr<float>(), batch, in_features, out_features);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear forward (CUDA)");
}
