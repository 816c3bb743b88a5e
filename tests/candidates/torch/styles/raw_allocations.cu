//! args f32[3,4]
//! like aten::sum.dim_IntList $0 (1)
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <iostream>
#include <map>

#define CUDA_CHECK(call)                                                              \
    do {                                                                              \
        cudaError_t e = (call);                                                       \
        if (e != cudaSuccess) {                                                       \
            std::cerr << __FILE__ << ":" << __LINE__ << cudaGetErrorString(e) << "\n"; \
            throw std::runtime_error("cuda");                                         \
        }                                                                             \
    } while (0)

__global__ void rows(const float* x, float* part, int cols) {
    float s = 0;
    for (int j = 0; j < cols; j++) s += x[threadIdx.x * cols + j];
    part[threadIdx.x] = s;
}

torch::Tensor forward(torch::Tensor x) {
    static std::map<int64_t, torch::Tensor> workspaces;
    auto& ws = workspaces[x.numel()];
    if (!ws.defined()) ws = torch::empty({x.numel()}, x.options());
    float *part = nullptr, *copy = nullptr;
    int rows_n = x.size(0);
    CUDA_CHECK(cudaMalloc(&part, rows_n * sizeof(float)));
    CUDA_CHECK(cudaMalloc((void**)&copy, x.nbytes()));
    CUDA_CHECK(cudaMemcpy(copy, x.data_ptr(), x.nbytes(), cudaMemcpyDeviceToDevice));
    rows<<<1, rows_n>>>(copy, part, x.size(1));
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    auto out = torch::from_blob(part, {rows_n}, x.options()).clone();
    CUDA_CHECK(cudaFree(part));
    CUDA_CHECK(cudaFree(copy));
    workspaces.clear();
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
