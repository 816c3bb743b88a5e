// expect: trap a __global__ function called like any other
// A kernel is not callable without a launch.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
__global__ void kernel()
{
}
EXPORT int test_main()
{
    kernel();
    return 0;
}
