/**
 * @file cooperative_groups.h
 * Groups of threads by name: the block, tiles of a warp, the lanes that stand together, the grid
 * (of one block: blocks run one after another here, so a barrier over several cannot be had).
 */
#ifndef RKB_CUDA_COOPERATIVE_GROUPS_H
#define RKB_CUDA_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups
{

namespace details
{
inline unsigned thread_in_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned threads_of_block()
{
    return blockDim.x * blockDim.y * blockDim.z;
}
inline unsigned long long block_in_grid()
{
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) *
                            (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
}
inline unsigned long long blocks_of_grid()
{
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
}
} // namespace details

class thread_block
{
  public:
    static void sync()
    {
        __syncthreads();
    }
    static unsigned thread_rank()
    {
        return details::thread_in_block();
    }
    static unsigned size()
    {
        return details::threads_of_block();
    }
    static unsigned num_threads()
    {
        return size();
    }
    static dim3 group_index()
    {
        return blockIdx;
    }
    static dim3 thread_index()
    {
        return threadIdx;
    }
    static dim3 group_dim()
    {
        return blockDim;
    }
    static dim3 dim_threads()
    {
        return blockDim;
    }
};
inline thread_block this_thread_block()
{
    return thread_block();
}

class grid_group
{
  public:
    static bool is_valid()
    {
        return true;
    }
    static void sync()
    {
        if (details::blocks_of_grid() > 1)
            rkb_rt_unsupported("a barrier over the whole grid");
        __syncthreads();
    }
    static unsigned long long thread_rank()
    {
        return details::block_in_grid() * details::threads_of_block() + details::thread_in_block();
    }
    static unsigned long long size()
    {
        return details::blocks_of_grid() * details::threads_of_block();
    }
    static unsigned long long num_threads()
    {
        return size();
    }
    static unsigned long long block_rank()
    {
        return details::block_in_grid();
    }
    static unsigned long long num_blocks()
    {
        return details::blocks_of_grid();
    }
    static dim3 group_dim()
    {
        return gridDim;
    }
    static dim3 dim_blocks()
    {
        return gridDim;
    }
    static dim3 block_index()
    {
        return blockIdx;
    }
};
inline grid_group this_grid()
{
    return grid_group();
}

class cluster_group
{
  public:
    cluster_group()
    {
        rkb_rt_unsupported("thread block clusters");
    }
    void sync() const
    {
    }
    unsigned block_rank() const
    {
        return 0;
    }
    unsigned num_blocks() const
    {
        return 1;
    }
    template <class T>
    T *map_shared_rank(T *address, int) const
    {
        return address;
    }
};
inline cluster_group this_cluster()
{
    return cluster_group();
}

/** Lanes of one warp, named by a mask; ranks count the lanes of the mask from below. */
class warp_lanes
{
  public:
    void sync() const
    {
        __syncwarp(mask);
    }
    unsigned thread_rank() const
    {
        return static_cast<unsigned>(__popc(mask & ((1u << rkb_rt_lane()) - 1)));
    }
    unsigned size() const
    {
        return static_cast<unsigned>(__popc(mask));
    }
    unsigned num_threads() const
    {
        return size();
    }
    template <class T>
    T shfl(T value, int rank) const
    {
        return rkb::exchange(mask, value, lane_of(static_cast<unsigned>(rank) % size()));
    }
    template <class T>
    T shfl_up(T value, unsigned delta) const
    {
        unsigned rank = thread_rank();
        return rkb::exchange(mask, value, lane_of(rank < delta ? rank : rank - delta));
    }
    template <class T>
    T shfl_down(T value, unsigned delta) const
    {
        unsigned rank = thread_rank();
        return rkb::exchange(mask, value, lane_of(rank + delta < size() ? rank + delta : rank));
    }
    template <class T>
    T shfl_xor(T value, unsigned bits) const
    {
        unsigned rank = thread_rank();
        unsigned other = rank ^ bits;
        return rkb::exchange(mask, value, lane_of(other < size() ? other : rank));
    }
    int any(int predicate) const
    {
        return __any_sync(mask, predicate);
    }
    int all(int predicate) const
    {
        return __all_sync(mask, predicate);
    }
    unsigned ballot(int predicate) const
    {
        return compact(__ballot_sync(mask, predicate));
    }
    template <class T>
    unsigned match_any(T value) const
    {
        return compact(__match_any_sync(mask, value));
    }
    template <class T>
    unsigned match_all(T value, int &predicate) const
    {
        return compact(__match_all_sync(mask, value, &predicate));
    }

  protected:
    explicit warp_lanes(unsigned mask_) : mask(mask_)
    {
    }
    unsigned mask;

  private:
    int lane_of(unsigned rank) const
    {
        unsigned left = mask;
        for (; rank; rank--)
            left &= left - 1;
        return __builtin_ctz(left);
    }
    /* Bits of lanes to bits of ranks. */
    unsigned compact(unsigned lanes) const
    {
        unsigned ranks = 0;
        unsigned bit = 1;
        for (unsigned left = mask; left; left &= left - 1, bit <<= 1)
            ranks |= lanes & (left & -left) ? bit : 0;
        return ranks;
    }
};

class coalesced_group : public warp_lanes
{
  public:
    explicit coalesced_group(unsigned lanes) : warp_lanes(lanes)
    {
    }
    unsigned meta_group_rank() const
    {
        return 0;
    }
    unsigned meta_group_size() const
    {
        return 1;
    }
};
inline __attribute__((always_inline)) coalesced_group coalesced_threads()
{
    return coalesced_group(__activemask());
}

template <unsigned Size, class Parent = thread_block>
class thread_block_tile : public warp_lanes
{
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                  "rkb-unsupported: tiles of more than one warp");

  public:
    thread_block_tile()
        : warp_lanes((Size == 32 ? 0xffffffffu : (1u << (Size % 32)) - 1)
                     << (static_cast<unsigned>(rkb_rt_lane()) / Size * Size))
    {
    }
    static unsigned thread_rank()
    {
        return static_cast<unsigned>(rkb_rt_lane()) % Size;
    }
    static constexpr unsigned size()
    {
        return Size;
    }
    static constexpr unsigned num_threads()
    {
        return Size;
    }
    static unsigned meta_group_rank()
    {
        return details::thread_in_block() / Size;
    }
    static unsigned meta_group_size()
    {
        return (details::threads_of_block() + Size - 1) / Size;
    }
    template <class T>
    T shfl(T value, int rank) const
    {
        return __shfl_sync(mask, value, rank, static_cast<int>(Size));
    }
    template <class T>
    T shfl_up(T value, unsigned delta) const
    {
        return __shfl_up_sync(mask, value, delta, static_cast<int>(Size));
    }
    template <class T>
    T shfl_down(T value, unsigned delta) const
    {
        return __shfl_down_sync(mask, value, delta, static_cast<int>(Size));
    }
    template <class T>
    T shfl_xor(T value, unsigned bits) const
    {
        return __shfl_xor_sync(mask, value, static_cast<int>(bits), static_cast<int>(Size));
    }
};
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<Size, Parent>();
}
inline coalesced_group tiled_partition(const thread_block &, unsigned size)
{
    unsigned first = static_cast<unsigned>(rkb_rt_lane()) / size * size;
    return coalesced_group((size >= 32 ? 0xffffffffu : (1u << size) - 1) << first);
}
inline coalesced_group binary_partition(const coalesced_group &group, bool predicate)
{
    unsigned lanes = __activemask();
    unsigned yes = __ballot_sync(lanes, predicate);
    (void)group;
    return coalesced_group(predicate ? yes : lanes & ~yes);
}

class thread_group_of_one
{
  public:
    static void sync()
    {
    }
    static unsigned thread_rank()
    {
        return 0;
    }
    static unsigned size()
    {
        return 1;
    }
};
inline thread_group_of_one this_thread()
{
    return thread_group_of_one();
}

template <class Group>
void sync(const Group &group)
{
    group.sync();
}

/* ---- copies: done when the call returns --------------------------------------------------------
 */

template <class Group>
void memcpy_async(const Group &group, void *dst, const void *src, size_t bytes)
{
    if (group.thread_rank() == 0)
        memcpy(dst, src, bytes);
}
template <class Group, class T>
void memcpy_async(const Group &group, T *dst, const T *src, size_t bytes)
{
    memcpy_async(group, static_cast<void *>(dst), static_cast<const void *>(src), bytes);
}
template <class Group>
void wait(const Group &group)
{
    group.sync();
}
template <unsigned Stages, class Group>
void wait_prior(const Group &group)
{
    group.sync();
}

/* ---- reductions and scans ----------------------------------------------------------------------
 */

#define RKB_CG_OPERATION(_name, _expression)                                                       \
    template <class T>                                                                             \
    struct _name {                                                                                 \
        T operator()(T a, T b) const                                                               \
        {                                                                                          \
            return static_cast<T>(_expression);                                                    \
        }                                                                                          \
    };
RKB_CG_OPERATION(plus, a + b)
RKB_CG_OPERATION(less, b < a ? b : a)
RKB_CG_OPERATION(greater, a < b ? b : a)
RKB_CG_OPERATION(bit_and, a &b)
RKB_CG_OPERATION(bit_or, a | b)
RKB_CG_OPERATION(bit_xor, a ^ b)
#undef RKB_CG_OPERATION

template <class Group, class T, class F>
T reduce(const Group &group, T value, F combine)
{
    T result = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); rank++)
        result = combine(result, group.shfl(value, static_cast<int>(rank)));
    return result;
}
template <class Group, class T, class F>
T inclusive_scan(const Group &group, T value, F combine)
{
    T result = value;
    T running = value;
    for (unsigned rank = 0; rank < group.size(); rank++) {
        T other = group.shfl(value, static_cast<int>(rank));
        running = rank ? combine(running, other) : other;
        if (rank == group.thread_rank())
            result = running;
    }
    return result;
}
template <class Group, class T>
T inclusive_scan(const Group &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class F>
T exclusive_scan(const Group &group, T value, F combine)
{
    T inclusive = inclusive_scan(group, value, combine);
    T before = group.shfl_up(inclusive, 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T>
T exclusive_scan(const Group &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups

#endif
