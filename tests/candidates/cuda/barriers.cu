// expect: ok
// Barriers after early returns, in divergent code, with counts.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void leavers(int *out, int n)
{
    __shared__ int sum;
    int t = threadIdx.x;
    if (t == 0)
        sum = 0;
    __syncthreads();
    if (t >= n)
        return;
    atomicAdd(&sum, t);
    __syncthreads();
    out[t] = sum;
}

__global__ void counts(int *out)
{
    int t = threadIdx.x;
    int c = __syncthreads_count(t % 3 == 0);
    int a = __syncthreads_and(t < 1000);
    int o = __syncthreads_or(t == 99);
    out[t] = c * 100 + a * 10 + o;
}

/* A large local array lives across a barrier. */
__global__ void stacks(float *out)
{
    float big[16 * 1024];
    int t = threadIdx.x;
    for (int i = 0; i < 16 * 1024; i++)
        big[i] = t + i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 16 * 1024; i += 1024)
        sum += big[i];
    out[t] = sum;
}

__device__ volatile int flag;
__global__ void sleeper(int *out)
{
    if (threadIdx.x == 0) {
        while (!flag)
            __nanosleep(100);
        *out = 7;
    } else if (threadIdx.x == 40) {
        flag = 1;
    }
}

/* Names lanes that wait at the block's barrier: undefined, and an H200 passes. */
__global__ void part_of_a_warp(int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t < 16) {
        s[t] += s[t + 16];
        __syncwarp();
        if (t < 8)
            s[t] += s[t + 8];
        __syncwarp();
    }
    __syncthreads();
    out[t] = s[0];
}

EXPORT int test_main()
{
    static int out[1024];
    leavers<<<1, 1024>>>(out, 500);
    for (int t = 0; t < 500; t++)
        CHECK(out[t] == 500 * 499 / 2);
    counts<<<1, 100>>>(out);
    for (int t = 0; t < 100; t++)
        CHECK(out[t] == 3411);
    static float sums[64];
    stacks<<<2, 64>>>(sums);
    CHECK(sums[1] == sums[0] + 16);
    sleeper<<<1, 64>>>(out);
    CHECK(out[0] == 7);
    part_of_a_warp<<<1, 64>>>(out);
    CHECK(out[63] == 0 + 16 + 8 + 24);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    return 0;
}
