// expect: ok
// cooperative_groups: block, tiles, coalesced lanes, reduce and scan.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void groups(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    int t = block.thread_rank();
    int *o = out + t * 8;
    o[0] = cg::reduce(warp, t, cg::plus<int>());
    o[1] = cg::reduce(eight, t, cg::greater<int>());
    o[2] = eight.thread_rank() + 10 * eight.meta_group_rank() + 1000 * eight.size();
    o[3] = warp.shfl_down(t, 1);
    o[4] = cg::inclusive_scan(eight, 1);
    o[5] = -1;
    if (t % 2) {
        cg::coalesced_group odd = cg::coalesced_threads();
        o[5] = odd.size() * 100 + odd.thread_rank() * 10 + (odd.shfl(t, 0) & 31);
    }
    block.sync();
    o[6] = eight.ballot(t % 3 == 0);
    cg::grid_group grid = cg::this_grid();
    grid.sync();
    o[7] = (int)grid.size();
}

EXPORT int test_main()
{
    static int out[64 * 8];
    groups<<<1, dim3(16, 4)>>>(out);
    for (int t = 0; t < 64; t++) {
        const int *o = out + t * 8;
        CHECK(o[0] == (t < 32 ? 31 * 16 : 31 * 16 + 32 * 32));
        CHECK(o[1] == t / 8 * 8 + 7);
        CHECK(o[2] == t % 8 + 10 * (t / 8) + 8000);
        CHECK(o[3] == (t % 32 == 31 ? t : t + 1));
        CHECK(o[4] == t % 8 + 1);
        CHECK(o[5] == (t % 2 ? 1600 + t % 32 / 2 * 10 + 1 : -1));
        unsigned want = 0;
        for (int i = 0; i < 8; i++)
            want |= (unsigned)((t / 8 * 8 + i) % 3 == 0) << i;
        CHECK(o[6] == (int)want);
        CHECK(o[7] == 64);
    }
    return 0;
}
