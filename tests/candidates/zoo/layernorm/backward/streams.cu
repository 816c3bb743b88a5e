#include <torch/extension.h>
#include <cuda_runtime.h>
#include <array>
#include <vector>

typedef float T;

static inline int ceil_div(long a, int b) { return (int)((a + b - 1) / b); }

__global__ void stats_k(const T* x, T* mean, T* rstd, long n, T eps)
{
    __shared__ T s[2][8];
    const int w = threadIdx.x / 32, l = threadIdx.x % 32;
    const T* r = x + blockIdx.x * n;
    T a = 0;
    for (long i = threadIdx.x; i < n; i += 256) a += r[i];
    for (int o = 16; o; o >>= 1) a += __shfl_xor_sync(-1, a, o);
    if (l == 0) s[0][w] = a;
    __syncthreads();
    a = 0;
    for (int i = 0; i < 8; i++) a += s[0][i];
    const T m = a / n;
    T q = 0;
    for (long i = threadIdx.x; i < n; i += 256) q += (r[i] - m) * (r[i] - m);
    for (int o = 16; o; o >>= 1) q += __shfl_xor_sync(-1, q, o);
    if (l == 0) s[1][w] = q;
    __syncthreads();
    if (threadIdx.x == 0) {
        q = 0;
        for (int i = 0; i < 8; i++) q += s[1][i];
        mean[blockIdx.x] = m;
        rstd[blockIdx.x] = 1 / sqrtf(q / n + eps);
    }
}

__global__ void dx_k(const T* g, const T* x, const T* w, const T* mean, const T* rstd, T* dx, long n)
{
    __shared__ T sa[256], sb[256];
    const long o = blockIdx.x * n;
    const T m = mean[blockIdx.x], v = rstd[blockIdx.x];
    T a = 0, b = 0;
    for (long i = threadIdx.x; i < n; i += 256) {
        a += g[o + i] * w[i];
        b += g[o + i] * w[i] * ((x[o + i] - m) * v);
    }
    sa[threadIdx.x] = a; sb[threadIdx.x] = b;
    for (int k = 128; k; k >>= 1) {
        __syncthreads();
        if (threadIdx.x < k) { sa[threadIdx.x] += sa[threadIdx.x + k]; sb[threadIdx.x] += sb[threadIdx.x + k]; }
    }
    __syncthreads();
    a = sa[0] / n; b = sb[0] / n;
    for (long i = threadIdx.x; i < n; i += 256)
        dx[o + i] = v * (g[o + i] * w[i] - a - (x[o + i] - m) * v * b);
}

// 32 columns x 8 rows per block
__global__ void dwb_k(const T* g, const T* x, const T* mean, const T* rstd, T* dw, T* db, long n, int B)
{
    __shared__ T tw[8][33], tb[8][33];
    const long c = blockIdx.x * 32L + threadIdx.x;
    T a = 0, b = 0;
    if (c < n)
        for (int r = threadIdx.y; r < B; r += 8) {
            a += g[r * n + c] * ((x[r * n + c] - mean[r]) * rstd[r]);
            b += g[r * n + c];
        }
    tw[threadIdx.y][threadIdx.x] = a;
    tb[threadIdx.y][threadIdx.x] = b;
    __syncthreads();
    if (threadIdx.y == 0 && c < n) {
        a = b = 0;
        for (int i = 0; i < 8; i++) { a += tw[i][threadIdx.x]; b += tb[i][threadIdx.x]; }
        dw[c] = a;
        db[c] = b;
    }
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps,
                                    std::array<int64_t, 3> shape)
{
    long n = shape[0] * shape[1] * shape[2];
    int B = x.size(0);
    auto dx = torch::empty_like(x), dw = torch::empty_like(w), db = torch::empty_like(b);
    auto mean = torch::empty(B, x.options()), rstd = torch::empty(B, x.options());
    stats_k<<<B, 256>>>(x.data_ptr<T>(), mean.data_ptr<T>(), rstd.data_ptr<T>(), n, (T)eps);
    cudaDeviceSynchronize();
    cudaStream_t s[2];
    for (auto& q : s) cudaStreamCreate(&q);
    dx_k<<<B, 256, 0, s[0]>>>(go.data_ptr<T>(), x.data_ptr<T>(), w.data_ptr<T>(), mean.data_ptr<T>(), rstd.data_ptr<T>(), dx.data_ptr<T>(), n);
    dwb_k<<<ceil_div(n, 32), dim3(32, 8), 0, s[1]>>>(go.data_ptr<T>(), x.data_ptr<T>(), mean.data_ptr<T>(), rstd.data_ptr<T>(), dw.data_ptr<T>(), db.data_ptr<T>(), n, B);
    for (auto& q : s) { cudaStreamSynchronize(q); cudaStreamDestroy(q); }
    return {dx, dw, db};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("backward", &backward, "");
}
