/**
 * @file tensor.h
 * What the parts of the runtime know of each other's tensors. Internal to this folder.
 */
#ifndef RKB_CELL_RUNTIME_TENSOR_H
#define RKB_CELL_RUNTIME_TENSOR_H

#include "evaluator/kernel_api/rkb_abi.h"

#include <stdbool.h>

/** True if data lies in the memory that the tensor shares. */
bool rkb_runtime_storage_holds(const rkb_tensor_t *tensor, const void *data);
/** Notes a delegated operator, without its overload. */
void rkb_runtime_record(const char *name);

#endif
