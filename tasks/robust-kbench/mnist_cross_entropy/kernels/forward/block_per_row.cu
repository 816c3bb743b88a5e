#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <cmath>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

// One block per sample: loss_i = log(sum_j exp(p_ij - max_i)) + max_i - p_i[target_i]
__global__ void row_loss_kernel(const float* __restrict__ predictions,
                                const int64_t* __restrict__ targets,
                                float* __restrict__ losses,
                                int num_classes) {
    extern __shared__ float sdata[];
    const int row = blockIdx.x;
    const int tid = threadIdx.x;
    const float* p = predictions + static_cast<size_t>(row) * num_classes;

    // 1. row maximum (numerical stability)
    float local_max = -FLT_MAX;
    for (int j = tid; j < num_classes; j += blockDim.x) {
        local_max = fmaxf(local_max, p[j]);
    }
    sdata[tid] = local_max;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
        __syncthreads();
    }
    const float row_max = sdata[0];
    __syncthreads();  // everybody has read sdata[0] before it is reused

    // 2. sum of exponentials
    float local_sum = 0.0f;
    for (int j = tid; j < num_classes; j += blockDim.x) {
        local_sum += expf(p[j] - row_max);
    }
    sdata[tid] = local_sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }

    // 3. loss of this sample
    if (tid == 0) {
        losses[row] = logf(sdata[0]) + (row_max - p[targets[row]]);
    }
}

// Deterministic mean over the batch with a single block.
__global__ void mean_kernel(const float* __restrict__ losses, float* __restrict__ out, int n) {
    extern __shared__ float sdata[];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += losses[i];
    sdata[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) sdata[threadIdx.x] += sdata[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = sdata[0] / static_cast<float>(n);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    CHECK_INPUT(predictions);
    CHECK_INPUT(targets);
    TORCH_CHECK(targets.scalar_type() == torch::kInt64, "targets must be int64");

    const int batch_size = predictions.size(0);
    const int num_classes = predictions.size(1);

    auto losses = torch::empty({batch_size}, predictions.options());
    auto output = torch::empty({}, predictions.options());

    const int threads = num_classes <= 64 ? 64 : 256;
    row_loss_kernel<<<batch_size, threads, threads * sizeof(float)>>>(
        predictions.data_ptr<float>(), targets.data_ptr<int64_t>(), losses.data_ptr<float>(), num_classes);
    mean_kernel<<<1, 256, 256 * sizeof(float)>>>(losses.data_ptr<float>(), output.data_ptr<float>(), batch_size);

    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cross entropy forward (CUDA)");
}
