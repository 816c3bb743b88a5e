/**
 * @file rkb_warp.h
 * Barriers, shuffles, votes, matches and reductions of a warp.
 */
#ifndef RKB_CUDA_WARP_H
#define RKB_CUDA_WARP_H

#include "rkb_abi.h"

#include <type_traits>

inline void __syncthreads()
{
    rkb_rt_barrier();
}
inline int __syncthreads_count(int predicate)
{
    return rkb_rt_barrier_count(predicate);
}
inline int __syncthreads_or(int predicate)
{
    return rkb_rt_barrier_count(predicate) != 0;
}
inline int __syncthreads_and(int predicate)
{
    return rkb_rt_barrier_count(!predicate) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    rkb_rt_warp_sync(mask);
}
/* Inlined, so that the return address tells the runtime which lanes stand at one place. */
inline __attribute__((always_inline)) unsigned __activemask()
{
    return rkb_rt_warp_active();
}

namespace rkb
{
template <class T>
inline T exchange(unsigned mask, T value, int source)
{
    static_assert(sizeof(T) <= 16 && std::is_trivially_copyable<T>::value,
                  "a shuffle moves plain values of at most 16 bytes");
    T result;
    rkb_rt_warp_exchange(mask, &value, &result, sizeof value, source);
    return result;
}
/* Last lane of this lane's segment of `width` lanes. */
inline int segment_last(int lane, int width)
{
    return lane | (width - 1);
}
template <class T, class F>
inline T reduce(unsigned mask, T value, F combine)
{
    unsigned there = rkb_rt_warp_ballot(mask, 1);
    T result = value;
    bool first = true;
    for (unsigned left = there; left; left &= left - 1) {
        T other = exchange(mask, value, __builtin_ctz(left));
        result = first ? other : combine(result, other);
        first = false;
    }
    return result;
}
} // namespace rkb

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32)
{
    int first = rkb_rt_lane() & ~(width - 1);
    return rkb::exchange(mask, value, first | (source & (width - 1)));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    int lane = rkb_rt_lane();
    int source = lane - static_cast<int>(delta);
    return rkb::exchange(mask, value, source < (lane & ~(width - 1)) ? lane : source);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    int lane = rkb_rt_lane();
    int source = lane + static_cast<int>(delta);
    return rkb::exchange(mask, value, source > rkb::segment_last(lane, width) ? lane : source);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
    int lane = rkb_rt_lane();
    int source = lane ^ bits;
    bool beyond = source < 0 || source > rkb::segment_last(lane, width);
    return rkb::exchange(mask, value, beyond ? lane : source);
}

inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    return rkb_rt_warp_ballot(mask, predicate);
}
inline int __any_sync(unsigned mask, int predicate)
{
    return rkb_rt_warp_ballot(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate)
{
    return rkb_rt_warp_ballot(mask, !predicate) == 0;
}
inline int __uni_sync(unsigned mask, int predicate)
{
    unsigned there = rkb_rt_warp_ballot(mask, 1);
    unsigned yes = rkb_rt_warp_ballot(mask, predicate);
    return yes == 0 || yes == there;
}

/* The forms without a mask, which CUDA has dropped: among the lanes that stand together. */
template <class T>
inline T __shfl(T value, int source, int width = 32)
{
    return __shfl_sync(__activemask(), value, source, width);
}
template <class T>
inline T __shfl_up(T value, unsigned delta, int width = 32)
{
    return __shfl_up_sync(__activemask(), value, delta, width);
}
template <class T>
inline T __shfl_down(T value, unsigned delta, int width = 32)
{
    return __shfl_down_sync(__activemask(), value, delta, width);
}
template <class T>
inline T __shfl_xor(T value, int bits, int width = 32)
{
    return __shfl_xor_sync(__activemask(), value, bits, width);
}
inline unsigned __ballot(int predicate)
{
    return __ballot_sync(__activemask(), predicate);
}
inline int __any(int predicate)
{
    return __any_sync(__activemask(), predicate);
}
inline int __all(int predicate)
{
    return __all_sync(__activemask(), predicate);
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value)
{
    unsigned there = rkb_rt_warp_ballot(mask, 1);
    unsigned same = 0;
    for (unsigned left = there; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (rkb::exchange(mask, value, lane) == value)
            same |= 1u << lane;
    }
    return same;
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int *predicate)
{
    unsigned there = rkb_rt_warp_ballot(mask, 1);
    T first = rkb::exchange(mask, value, __builtin_ctz(there));
    *predicate = rkb_rt_warp_ballot(mask, !(first == value)) == 0;
    return *predicate ? there : 0;
}

template <class T>
inline T __reduce_add_sync(unsigned mask, T value)
{
    return rkb::reduce(mask, value, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
inline T __reduce_min_sync(unsigned mask, T value)
{
    return rkb::reduce(mask, value, [](T a, T b) { return b < a ? b : a; });
}
template <class T>
inline T __reduce_max_sync(unsigned mask, T value)
{
    return rkb::reduce(mask, value, [](T a, T b) { return a < b ? b : a; });
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value)
{
    return rkb::reduce(mask, value, [](unsigned a, unsigned b) { return a & b; });
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value)
{
    return rkb::reduce(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value)
{
    return rkb::reduce(mask, value, [](unsigned a, unsigned b) { return a ^ b; });
}

#endif
