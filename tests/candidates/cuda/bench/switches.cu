// expect: ok
// Prints how fast the execution model switches between threads and starts them.
#include <cstdio>
#include <ctime>

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

__global__ void barriers(int n)
{
    for (int i = 0; i < n; i++)
        __syncthreads();
}

__global__ void shuffles(int n, int *out)
{
    int v = threadIdx.x;
    for (int i = 0; i < n; i++)
        v = __shfl_xor_sync(0xffffffff, v, 1 + i % 16);
    out[threadIdx.x] = v;
}

__global__ void plain(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * 2.f + 1.f;
}

extern "C" __attribute__((visibility("default"))) int test_main()
{
    static int out[1024];
    static float x[1 << 22];
    const int sizes[] = {32, 256, 1024};
    for (int size : sizes) {
        int n = 4000000 / size;
        double start = now();
        barriers<<<1, size>>>(n);
        double mid = now();
        shuffles<<<1, size>>>(n / 4, out);
        double end = now();
        printf("block of %4d: %6.1f M barrier switches/s, %6.1f M shuffles/s\n", size,
               double(n) * size / (mid - start) / 1e6, double(n / 4) * size / (end - mid) / 1e6);
    }
    for (int i = 0; i < 2; i++) {
        double start = now();
        plain<<<(1 << 22) / 256, 256>>>(x, 1 << 22);
        printf("without barriers: %6.1f M threads/s\n", (1 << 22) / (now() - start) / 1e6);
    }
    return 0;
}
