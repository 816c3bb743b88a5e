/**
 * @file device_launch_parameters.h
 * threadIdx, blockIdx, blockDim, gridDim and warpSize: of the CUDA thread that runs now.
 */
#ifndef RKB_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define RKB_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#include "vector_types.h"

/* References, not macros: a candidate may name a parameter or member so. */
static constexpr const uint3 &threadIdx = rkb_rt_thread.thread;
static constexpr const uint3 &blockIdx = rkb_rt_thread.block;
static constexpr const uint3 &blockDim = rkb_rt_thread.block_dim;
static constexpr const uint3 &gridDim = rkb_rt_thread.grid_dim;
static constexpr int warpSize = 32;

#endif
