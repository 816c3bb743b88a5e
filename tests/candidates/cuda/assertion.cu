// expect: trap line 9: assertion `n == 3
// An assertion in a kernel fails the launch.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <cassert>
__global__ void no(int n)
{

    assert(n == 3 && "three");
}
EXPORT int test_main()
{
    no<<<1, 1>>>(3);
    no<<<1, 1>>>(4);
    return 0;
}
