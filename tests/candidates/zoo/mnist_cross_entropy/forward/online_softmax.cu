#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math_constants.h>
#include <cstdint>

enum class Reduction : int { None = 0, Mean = 1, Sum = 2 };

// (max, normaliser) pair of the online softmax
struct __align__(8) MD {
    float m, d;
    __device__ __forceinline__ MD operator+(const MD& o) const {
        const bool mine = m >= o.m;
        const MD& hi = mine ? *this : o;
        const MD& lo = mine ? o : *this;
        MD r;
        r.m = hi.m;
        r.d = hi.d + (lo.d == 0.f ? 0.f : lo.d * expf(lo.m - hi.m));
        return r;
    }
};

template <unsigned kWidth>
__device__ MD reduce_md(MD v) {
#pragma unroll
    for (unsigned o = kWidth >> 1; o; o >>= 1) {
        MD other{__shfl_xor_sync(0xffffffffu, v.m, o, kWidth), __shfl_xor_sync(0xffffffffu, v.d, o, kWidth)};
        v = v + other;
    }
    return v;
}

__global__ void ce_rows(const float* __restrict__ logits, const long* __restrict__ labels, float* __restrict__ loss,
                        const int B, const int C) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const int safe = row < B ? row : B - 1;
    const float* p = logits + (int64_t)safe * C;
    MD md{-CUDART_INF_F, 0.f};
    for (int j = threadIdx.x; j < C; j += 32) md = md + MD{p[j], 1.f};
    md = reduce_md<32>(md);
    if (threadIdx.x == 0 && row < B) loss[row] = (md.m - p[labels[row]]) + logf(md.d);
}

template <Reduction R>
__global__ void reduce_rows(const float* loss, float* out, int B) {
    __shared__ float s[32];
    float v = 0.f;
    for (int i = threadIdx.x; i < B; i += blockDim.x) v += loss[i];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.f;
        for (unsigned i = 0; i < blockDim.x / 32; ++i) t += s[i];
        if constexpr (R == Reduction::Mean) t /= B;
        *out = t;
    }
}

torch::Tensor ce_forward(torch::Tensor predictions, torch::Tensor targets) {
    const int B = predictions.size(0), C = predictions.size(1);
    torch::Tensor rows = torch::empty({B}, predictions.options());
    torch::Tensor out = torch::empty({}, predictions.options());
    ce_rows<<<(B + 3) / 4, dim3(32, 4)>>>(predictions.data_ptr<float>(), (const long*)targets.data_ptr<int64_t>(),
                                          rows.data_ptr<float>(), B, C);
    reduce_rows<Reduction::Mean><<<1, 512>>>(rows.data_ptr<float>(), out.data_ptr<float>(), B);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &ce_forward, "cross entropy, online softmax"); }
