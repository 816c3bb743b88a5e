#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <utility>

namespace {

struct Shape {
    int64_t rows;
    int features;
    static Shape of(const at::Tensor& x) { return {x.numel() / x.size(-1), static_cast<int>(x.size(-1))}; }
};

class Workspace {
public:
    Workspace(const at::Tensor& like, int64_t floats) : t_(at::empty({floats}, like.options())) {}
    float* take(int64_t n) {
        TORCH_INTERNAL_ASSERT(used_ + n <= t_.numel());
        float* p = t_.data_ptr<float>() + used_;
        used_ += n;
        return p;
    }

private:
    at::Tensor t_;
    int64_t used_ = 0;
};

template <class Op>
__device__ float warp_all(float v, Op op) {
    for (int d = 1; d < 32; d *= 2) v = op(v, __shfl_xor_sync(0xFFFFFFFF, v, d));
    return v;
}

// warp per row, 4 rows per block
__global__ void per_row(const float* dy, const float* x, const float* w, float* dx, float* inv, Shape s, float eps) {
    const int64_t r = blockIdx.x * 4ll + threadIdx.x / 32;
    if (r >= s.rows) return;
    const int lane = threadIdx.x % 32;
    const auto plus = [](float a, float b) { return a + b; };
    float ss = 0, dot = 0;
    for (int i = lane; i < s.features; i += 32) {
        const float xi = x[r * s.features + i];
        ss += xi * xi;
        dot += dy[r * s.features + i] * w[i] * xi;
    }
    ss = warp_all(ss, plus);
    dot = warp_all(dot, plus);
    const float k = 1.f / sqrtf(ss / s.features + eps);
    for (int i = lane; i < s.features; i += 32) {
        const int64_t j = r * s.features + i;
        dx[j] = k * (dy[j] * w[i] - x[j] * (dot * k * k / s.features));
    }
    if (lane == 0) inv[r] = k;
}

// tree over the rows: level 0 multiplies, later levels only add
template <bool kFirst>
__global__ void fold_rows(const float* a, const float* b, const float* inv, float* out, int64_t rows, int features) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= features) return;
    const int64_t r0 = blockIdx.y * 32ll, r1 = min(r0 + 32ll, (long long)rows);
    float s = 0;
    for (int64_t r = r0; r < r1; ++r) s += kFirst ? a[r * features + c] * (b[r * features + c] * inv[r]) : a[r * features + c];
    out[blockIdx.y * (int64_t)features + c] = s;
}

}  // namespace

std::pair<at::Tensor, at::Tensor> rms_backward(at::Tensor grad_output, at::Tensor x, at::Tensor w, double eps) {
    const Shape s = Shape::of(x);
    const auto stream = c10::cuda::getCurrentCUDAStream();
    at::Tensor dx = at::empty(x.sizes(), x.options()), dw = at::empty(w.sizes(), w.options());
    const auto fold = [](int64_t n) { return (n + 31) / 32; };
    Workspace ws(x, s.rows + (fold(s.rows) + fold(fold(s.rows)) + 1) * 2 * s.features);
    float* inv = ws.take(s.rows);
    per_row<<<(s.rows + 3) / 4, 128, 0, stream>>>(grad_output.data_ptr<float>(), x.data_ptr<float>(), w.data_ptr<float>(),
                                                  dx.data_ptr<float>(), inv, s, (float)eps);
    const unsigned cols = (s.features + 63) / 64;
    int64_t n = fold(s.rows);
    float* cur = n == 1 ? dw.data_ptr<float>() : ws.take(n * s.features);
    fold_rows<true><<<dim3(cols, n), 64, 0, stream>>>(grad_output.data_ptr<float>(), x.data_ptr<float>(), inv, cur, s.rows, s.features);
    while (n > 1) {
        const int64_t next = fold(n);
        float* out = next == 1 ? dw.data_ptr<float>() : ws.take(next * s.features);
        fold_rows<false><<<dim3(cols, next), 64, 0, stream>>>(cur, nullptr, nullptr, out, n, s.features);
        cur = out;
        n = next;
    }
    return {dx, dw};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &rms_backward, "rmsnorm backward -> (dx, dw)"); }
