// expect: trap a launch from device code
// Dynamic parallelism is unsupported, not wrong.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
__global__ void child()
{
}
__global__ void parent()
{
    child<<<1, 1>>>();
}
EXPORT int test_main()
{
    parent<<<1, 1>>>();
    return 0;
}
