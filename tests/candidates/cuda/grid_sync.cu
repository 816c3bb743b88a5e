// expect: trap a barrier over the whole grid
// A barrier over several blocks cannot be had.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <cooperative_groups.h>
__global__ void all_blocks()
{
    cooperative_groups::this_grid().sync();
}
EXPORT int test_main()
{
    all_blocks<<<2, 2>>>();
    return 0;
}
