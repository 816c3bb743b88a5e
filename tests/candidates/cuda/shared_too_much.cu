// expect: trap 65536 bytes of static
// More static shared memory than a block can have: nvcc refuses it.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void greedy(int *out)
{
    __shared__ int a[8 * 1024];
    __shared__ int b[8 * 1024];
    a[0] = b[0] = 1;
    *out = a[0] + b[0];
}

EXPORT int test_main()
{
    int out;
    greedy<<<1, 1>>>(&out);
    return 0;
}
