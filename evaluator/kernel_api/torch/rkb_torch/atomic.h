/**
 * @file atomic.h
 * gpuAtomicAdd and kin: atomicAdd, and the same for the 16-bit types.
 */
#pragma once

#include "rkb_torch/half.h"

#include <cuda_runtime.h>

template <typename T>
static inline C10_DEVICE T gpuAtomicAdd(T *address, T value)
{
    return atomicAdd(address, value);
}
static inline C10_DEVICE c10::Half gpuAtomicAdd(c10::Half *address, c10::Half value)
{
    return atomicAdd(reinterpret_cast<__half *>(address), static_cast<__half>(value));
}
static inline C10_DEVICE c10::BFloat16 gpuAtomicAdd(c10::BFloat16 *address, c10::BFloat16 value)
{
    return atomicAdd(reinterpret_cast<__nv_bfloat16 *>(address), static_cast<__nv_bfloat16>(value));
}
template <typename T>
static inline C10_DEVICE void gpuAtomicAddNoReturn(T *address, T value)
{
    (void)gpuAtomicAdd(address, value);
}
template <typename T>
static inline C10_DEVICE void fastAtomicAdd(T *tensor, size_t index, size_t, T value, bool)
{
    (void)gpuAtomicAdd(tensor + index, value);
}
