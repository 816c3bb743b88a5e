// expect: ok
// Shared memory of every form is fresh in each block, never zeros.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

struct pair {
    float x;
    int y;
};

template <typename T, int N>
__device__ unsigned look(int i)
{
    __shared__ T own[N], other[2];
    unsigned bits = ((unsigned *)own)[i];
    own[i] = T(5);
    other[0] = other[1] = T(6);
    return bits;
}

__global__ void fresh(unsigned *out)
{
    extern __shared__ __align__(16) unsigned char raw[];
    static __shared__ pair pairs[3];
    volatile __shared__ int lone;
    unsigned *o = out + blockIdx.x * 8;
    o[0] = ((unsigned *)raw)[0];
    o[1] = __float_as_uint(pairs[2].x);
    o[2] = lone;
    o[3] = look<float, 4>(1);
    o[4] = look<int, 8>(7);
    raw[0] = 1;
    pairs[2].x = 3.f;
    lone = 9;
    o[5] = raw[0] + (unsigned)pairs[2].x + lone;
}

/* One name with different types in different kernels, and rows. */
__global__ void rows(int *out)
{
    extern __shared__ int raw[][4];
    raw[threadIdx.x][threadIdx.x % 4] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < blockDim.x; i++)
            sum += raw[i][i % 4];
        *out = sum;
    }
}

EXPORT int test_main()
{
    unsigned out[16];
    fresh<<<2, 1, 64>>>(out);
    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < 5; i++)
            CHECK(out[b * 8 + i] == 0x7fc0dead);
        CHECK(out[b * 8 + 5] == 13);
    }
    int sum;
    rows<<<1, 8, 8 * 4 * sizeof(int)>>>(&sum);
    CHECK(sum == 28);
    return 0;
}
