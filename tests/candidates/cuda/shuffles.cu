// expect: ok
// Shuffles, votes, matches and reductions of warps, whole and partial.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void forms(int *out)
{
    int t = threadIdx.x;
    int *o = out + t * 16;
    o[0] = __shfl_sync(0xffffffff, t, 3);
    o[1] = __shfl_up_sync(0xffffffff, t, 2);
    o[2] = __shfl_down_sync(0xffffffff, t, 2);
    o[3] = __shfl_xor_sync(0xffffffff, t, 1);
    o[4] = __shfl_sync(0xffffffff, t, 9, 8);
    o[5] = __shfl_up_sync(0xffffffff, t, 1, 8);
    o[6] = __shfl_down_sync(0xffffffff, t, 1, 8);
    o[7] = __shfl_xor_sync(0xffffffff, t, 16, 16);
    o[8] = __ballot_sync(0xffffffff, t % 2);
    o[9] = __all_sync(0xffffffff, t >= 0) + 2 * __any_sync(0xffffffff, t % 32 == 5);
    o[10] = __match_any_sync(0xffffffff, t % 4);
    o[11] = __reduce_add_sync(0xffffffff, t % 32);
    o[12] = __reduce_max_sync(0xffffffff, t % 32);
    int all;
    o[13] = __match_all_sync(0xffffffff, 7, &all) + all;
    o[14] = (int)__shfl_down_sync(0xffffffff, (double)t, 1);
    o[15] = (int)__activemask();
}

static int check_forms()
{
    static int out[64 * 16];
    forms<<<1, 64>>>(out);
    CHECK(cudaGetLastError() == cudaSuccess);
    for (int t = 0; t < 64; t++) {
        int lane = t % 32, base = t - lane;
        const int *o = out + t * 16;
        CHECK(o[0] == base + 3);
        CHECK(o[1] == (lane < 2 ? t : t - 2));
        CHECK(o[2] == (lane > 29 ? t : t + 2));
        CHECK(o[3] == (t ^ 1));
        CHECK(o[4] == t / 8 * 8 + 1);
        CHECK(o[5] == (t % 8 == 0 ? t : t - 1));
        CHECK(o[6] == (t % 8 == 7 ? t : t + 1));
        CHECK(o[7] == (lane < 16 ? t : t - 16));
        CHECK(o[8] == (int)0xaaaaaaaa);
        CHECK(o[9] == 3);
        CHECK(o[10] == (int)(0x11111111u << (t % 4)));
        CHECK(o[11] == 31 * 16);
        CHECK(o[12] == 31);
        CHECK(o[13] == 0);
        CHECK(o[14] == (lane == 31 ? t : t + 1));
        CHECK(o[15] == -1);
    }
    return 0;
}

/* Lanes beyond n have returned: their values read as zeros. */
__global__ void tail(float *out, int n)
{
    int t = threadIdx.x;
    if (t >= n)
        return;
    float v = t;
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_down_sync(0xffffffff, v, offset);
    __syncthreads();
    out[t] = v;
}

/* Lanes of a branch, by ballot and by __activemask, while the others wait at a barrier. */
__global__ void branch(float *out, int n)
{
    int t = threadIdx.x;
    float v = t;
    unsigned lanes = __ballot_sync(0xffffffff, t < n);
    if (t < n) {
        for (int i = 0; i < 3; i++)
            v += __shfl_sync(lanes, v, 0);
        unsigned together = __activemask();
        v += __shfl_xor_sync(together, v, 1) + 1000 * __popc(together);
    }
    __syncthreads();
    out[t] = v;
}

/* A lane outside the mask reads as zero. */
__global__ void outside(int *out)
{
    int v = threadIdx.x + 100;
    if (threadIdx.x < 8)
        v = __shfl_sync(0xff, v, 20);
    out[threadIdx.x] = v;
}

/* Halves of a warp at the same time, with different masks. */
__global__ void halves(int *out)
{
    int t = threadIdx.x;
    unsigned mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
    int v = t;
    for (int i = 0; i < (t < 16 ? 1 : 5); i++)
        v = __shfl_xor_sync(mask, v, 1);
    __syncwarp();
    out[t] = v;
}

EXPORT int test_main()
{
    if (int line = check_forms())
        return line;
    float out[32];
    tail<<<1, 32>>>(out, 10);
    float want[10] = {45, 45, 44, 42, 39, 35, 30, 24, 17, 9};
    for (int t = 0; t < 10; t++)
        CHECK(out[t] == want[t]);
    tail<<<1, 10>>>(out, 10);
    for (int t = 0; t < 10; t++)
        CHECK(out[t] == want[t]);
    branch<<<1, 32>>>(out, 10);
    CHECK(out[0] == 0 + 1 + 10000);
    CHECK(out[5] == 5 + 4 + 10000);
    CHECK(out[20] == 20);
    int both[32];
    outside<<<1, 32>>>(both);
    CHECK(both[7] == 0 && both[8] == 108);
    halves<<<1, 32>>>(both);
    for (int t = 0; t < 32; t++)
        CHECK(both[t] == (t ^ 1));
    return 0;
}
