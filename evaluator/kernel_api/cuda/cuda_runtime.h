/**
 * @file cuda_runtime.h
 * CUDA C++ on the CPU device; the compiler includes it before the candidate, as nvcc does.
 */
#ifndef RKB_CUDA_RUNTIME_H
#define RKB_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"
#include "device_launch_parameters.h"
#include "rkb_atomic.h"
#include "rkb_intrinsics.h"
#include "rkb_math.h"
#include "rkb_warp.h"
#include "vector_functions.h"

/* What sources use without asking for it, because nvcc or torch's headers bring it. */
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdio.h>

/* What <assert.h> calls: in a kernel it fails the launch. */
extern "C" inline void __assert_fail(const char *condition, const char *file, unsigned line,
                                     const char *function) noexcept
{
    (void)file;
    (void)function;
    char text[256];
    snprintf(text, sizeof text, "line %u: assertion `%s' failed", line, condition);
    rkb_rt_trap(text);
}

#endif
