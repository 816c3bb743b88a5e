/**
 * @file torch_api.h
 * The libtorch boundary: a plugin (lib/rkb/librkb_torch.so, the only code that includes ATen),
 * reached by dlopen from the evaluator (references) and from a cell (delegated operators).
 * Tensors are plain descriptors (rkb_tensor_t) on both sides; no exception and no C++ type crosses.
 * Deterministic: one intra-op thread, deterministic algorithms, no TF32.
 */
#ifndef RKB_REFERENCE_TORCH_API_H
#define RKB_REFERENCE_TORCH_API_H

#include "common/error.h"
#include "evaluator/kernel_api/rkb_abi.h"

#include <stdbool.h>

#define RKB_TORCH_API_VERSION 1

/** An at::Tensor; owned, released by handle_release. */
typedef struct rkb_torch_tensor rkb_torch_tensor_t;

/**
 * An operator argument or result. Tensors inside are rkb_torch_tensor_t handles, borrowed as
 * arguments, owned as results. Arrays and strings of results belong to the plugin and live until
 * the thread's next call().
 */
typedef struct rkb_torch_value {
    rkb_value_kind_t kind; /* LIST is not used; TENSOR and TENSOR_LIST use the handle fields */
    bool use_default;      /* as an argument: take the schema's default, whatever the rest says */
    size_t count;
    union {
        rkb_torch_tensor_t *tensor;
        int64_t i;
        double d;
        const char *s;
        const int64_t *ints;
        const double *doubles;
        rkb_torch_tensor_t **tensors;
    };
} rkb_torch_value_t;

typedef struct {
    unsigned version;          /* RKB_TORCH_API_VERSION, checked first */
    const char *torch_version; /* "1.13.1" */

    /**
     * Wraps memory without copying; it must outlive the handle and everything computed as a view of
     * it. Sizes and strides in elements (strides NULL: contiguous).
     */
    rkb_status_t (*wrap)(void *data, rkb_dtype_t dtype, const int64_t *sizes,
                         const int64_t *strides, int ndim, rkb_torch_tensor_t **out,
                         rkb_error_t *err);
    /** Own copy converted to dtype, contiguous, a leaf; requires_grad as asked. */
    rkb_status_t (*copy)(const rkb_torch_tensor_t *src, rkb_dtype_t dtype, bool requires_grad,
                         rkb_torch_tensor_t **out, rkb_error_t *err);
    void (*release)(rkb_torch_tensor_t *tensor);                     /* NULL allowed */
    rkb_torch_tensor_t *(*retain)(const rkb_torch_tensor_t *tensor); /* another handle */
    /** Fills dtype, ndim, sizes, strides, numel, data, requires_grad; storage and refs are 0. */
    void (*describe)(const rkb_torch_tensor_t *tensor, rkb_tensor_t *out);
    /** Copies the values, contiguous, in the tensor's dtype, to dst of `bytes` (numel × size). */
    rkb_status_t (*read)(const rkb_torch_tensor_t *tensor, void *dst, size_t bytes,
                         rkb_error_t *err);

    /**
     * Boxed dispatcher call of "aten::name" or "aten::name.overload". Missing trailing arguments
     * take the schema's defaults; ints convert to floats and Scalars, numbers to tensors, lists to
     * the schema's list type, one number to a list of known length. *nresults: capacity in, count
     * out. grad: record for autograd. The message of a
     * failing operator is its first line.
     */
    rkb_status_t (*call)(const char *name, const rkb_torch_value_t *args, size_t nargs, bool grad,
                         rkb_torch_value_t *results, size_t *nresults, rkb_error_t *err);
    /** Schema text of an operator ("aten::relu(Tensor self) -> Tensor"), static storage per name.
     */
    rkb_status_t (*schema)(const char *name, char *buf, size_t size, rkb_error_t *err);

    /**
     * Gradients of sum(outputs · grad_outputs) with respect to `inputs`. An input that no output
     * depends on yields a zero tensor. results[i] are owned handles.
     */
    rkb_status_t (*grad)(rkb_torch_tensor_t *const *outputs,
                         rkb_torch_tensor_t *const *grad_outputs, size_t noutputs,
                         rkb_torch_tensor_t *const *inputs, size_t ninputs,
                         rkb_torch_tensor_t **results, rkb_error_t *err);

    /** Position of an argument by its name in the schema; the message lists the names there are. */
    rkb_status_t (*argument)(const char *name, const char *argument, size_t *index,
                             rkb_error_t *err);
} rkb_torch_api_t;

/** The plugin's one exported symbol. */
typedef const rkb_torch_api_t *(*rkb_torch_query_fn_t)(unsigned version);
#define RKB_TORCH_QUERY_SYMBOL "rkb_torch_query"

/**
 * Loads the plugin once per process (not thread-safe). Looked for at RKB_TORCH_PLUGIN, then in the
 * installation. The message names each place and the loader's reason.
 */
rkb_status_t rkb_torch_load(const rkb_torch_api_t **out, rkb_error_t *err);

#endif
