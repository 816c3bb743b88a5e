// expect: trap __trap() (kernel boom, block (2,0,0), thread (1,0,0))
// __trap names kernel, block and thread.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
__global__ void boom()
{
    if (blockIdx.x == 2 && threadIdx.x == 1)
        __trap();
}
EXPORT int test_main()
{
    boom<<<3, 2>>>();
    return 0;
}
