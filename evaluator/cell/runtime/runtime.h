/**
 * @file runtime.h
 * What the cell's main program needs of the runtime beside the candidate's side (rkb_abi.h).
 * One runtime per process; not thread-safe.
 */
#ifndef RKB_CELL_RUNTIME_RUNTIME_H
#define RKB_CELL_RUNTIME_RUNTIME_H

#include "evaluator/cell/runtime/heap.h"
#include "evaluator/kernel_api/rkb_abi.h"

/** Starts a call: resets the heap (see rkb_heap_reset) and the list of delegated operators. */
void rkb_runtime_begin(void *arena, uint64_t heap_offset, uint64_t heap_bytes, uint32_t poison);

/**
 * A tensor over memory that the evaluator lent (an input in the arena): device CUDA:0, not owned.
 * One reference, released by the caller. NULL: invalid shape, see rkb_rt_last_error().
 */
rkb_tensor_t *rkb_runtime_lend(void *data, int32_t dtype, int32_t ndim, const int64_t *sizes,
                               const int64_t *strides);

/** Names of the operators that this call delegated to libtorch ("aten::sum"), each once. */
size_t rkb_runtime_delegated(const char *const **names);

/** Records the message of rkb_rt_last_error(); returns -1. */
int rkb_rt_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
