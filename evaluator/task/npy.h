/**
 * @file npy.h
 * Writes arrays in NumPy's .npy format, version 1.0.
 */
#ifndef RKB_TASK_NPY_H
#define RKB_TASK_NPY_H

#include "common/error.h"
#include "evaluator/kernel_api/rkb_abi.h"

/**
 * Little-endian, C order. bfloat16, which NumPy lacks, is written as its bits ('<u2').
 * The file must not exist.
 */
rkb_status_t rkb_npy_write(const char *path, rkb_dtype_t dtype, const int64_t *sizes, int ndim,
                           const void *data, size_t bytes, rkb_error_t *err);

#endif
