// expect: ok
// Block reduction in dynamic shared memory, one type a kernel, with barriers.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)

template <typename T>
__global__ void reduce(const T *x, T *out, int n)
{
    extern __shared__ T part[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : T(0);
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride)
            part[t] += part[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

template <typename T>
static int check()
{
    const int n = 1000;
    T x[n], out[4];
    T sum = 0;
    for (int i = 0; i < n; i++) {
        x[i] = T(i);
        sum += x[i];
    }
    reduce<T><<<4, 256, 256 * sizeof(T)>>>(x, out, n);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(out[0] + out[1] + out[2] + out[3] == sum);
    return 0;
}

extern "C" __attribute__((visibility("default"))) int test_main()
{
    int line = check<float>();
    line = line ? line : check<double>();
    return line ? line : check<int>();
}
