// expect: trap deadlock in kernel stuck, block (1,0,0): of its threads 24 wait at __syncthreads (first: thread (8,0,0)), 8 wait at a shuffle with mask 0xffffffff (first: thread (0,0,0))
// A shuffle that names lanes which wait at a barrier: an H200 hangs.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void stuck(float *out)
{
    float v = threadIdx.x;
    if (blockIdx.x == 1 && threadIdx.x < 8)
        v += __shfl_down_sync(0xffffffff, v, 4);
    __syncthreads();
    out[threadIdx.x] = v;
}

EXPORT int test_main()
{
    float out[32];
    stuck<<<2, 32>>>(out);
    return 0;
}
