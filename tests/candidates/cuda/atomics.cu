// expect: ok
// Atomic operations return the old value and wrap as CUDA's.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void all(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
    atomicAdd(i, 1);
    atomicAdd(u, 2u);
    atomicAdd(l, 3ull);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    atomicMax(i + 1, (int)threadIdx.x);
    atomicMin(i + 2, -(int)threadIdx.x);
    atomicInc(u + 1, 10);
    atomicDec(u + 2, 10);
    atomicOr(u + 3, 1u << (threadIdx.x % 32));
    atomicXor(i + 3, 1);
    int old, assumed = i[4];
    do {
        assumed = old = i[4];
        old = atomicCAS(i + 4, assumed, assumed + 1);
    } while (old != assumed);
    if (threadIdx.x == 5)
        i[5] = atomicExch(i + 6, 77);
}

EXPORT int test_main()
{
    int i[7] = {0, 0, 0, 0, 0, 0, 55};
    unsigned u[4] = {};
    unsigned long long l = 0;
    float f = 0;
    double d = 0;
    all<<<1, 100>>>(i, u, &l, &f, &d);
    CHECK(i[0] == 100 && u[0] == 200 && l == 300 && f == 50 && d == 25);
    CHECK(i[1] == 99 && i[2] == -99 && i[3] == 0 && i[4] == 100 && i[5] == 55 && i[6] == 77);
    CHECK(u[1] == 100 % 11 && u[2] == 10 && u[3] == 0xffffffff);
    return 0;
}
