#include "evaluator/cell/cell_internal.h"

#include "evaluator/cell/runtime/runtime.h"
#include "evaluator/device/cpu/model.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- arguments ---- */

static bool make_tensor(const rkb_cell_tensor_t *from, const rkb_lent_arena_t *arena,
                        rkb_value_t *to, const char **why)
{
    if (from->offset > arena->bytes || from->ndim < 0 || from->ndim > RKB_MAX_DIMS) {
        *why = "a tensor argument lies outside the arena";
        return false;
    }
    rkb_tensor_t *tensor = rkb_runtime_lend(arena->base + from->offset, from->dtype, from->ndim,
                                            from->sizes, from->strides);
    if (!tensor) {
        *why = rkb_rt_last_error();
        return false;
    }
    *to = (rkb_value_t){.kind = RKB_VALUE_TENSOR, .tensor = tensor};
    return true;
}

static bool make_value(const rkb_cell_argument_t *from, const rkb_lent_arena_t *arena,
                       rkb_value_t *to, const char **why)
{
    switch (from->kind) {
    case RKB_VALUE_NONE:
        *to = (rkb_value_t){.kind = RKB_VALUE_NONE};
        return true;
    case RKB_VALUE_TENSOR:
        return make_tensor(&from->tensor, arena, to, why);
    case RKB_VALUE_INT:
    case RKB_VALUE_BOOL:
        *to = (rkb_value_t){.kind = (rkb_value_kind_t)from->kind, .i = from->i};
        return true;
    case RKB_VALUE_DOUBLE:
        *to = (rkb_value_t){.kind = RKB_VALUE_DOUBLE, .d = from->d};
        return true;
    case RKB_VALUE_INT_LIST:
        if (from->count > RKB_CELL_MAX_LIST)
            break;
        /* Arguments are borrowed by the candidate, so the message itself can lend them. */
        *to = (rkb_value_t){.kind = RKB_VALUE_INT_LIST,
                            .count = from->count,
                            .ints = (int64_t *)(uintptr_t)from->ints};
        return true;
    default:
        break;
    }
    *why = "an argument of an unknown kind";
    return false;
}

bool rkb_cell_arguments_make(const rkb_cell_call_t *call, const rkb_lent_arena_t *arena,
                             rkb_value_t *values, const char **why)
{
    for (uint32_t i = 0; i < call->nargs; i++) {
        if (!make_value(&call->args[i], arena, &values[i], why)) {
            rkb_cell_arguments_release(values, i);
            return false;
        }
    }
    return true;
}

void rkb_cell_arguments_release(rkb_value_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind == RKB_VALUE_TENSOR)
            rkb_rt_tensor_release(values[i].tensor);
    }
}

/* ---- results ---- */

/* Bytes from the first to behind the last element; false when that is no number. */
static bool extent_of(const rkb_tensor_t *tensor, uint64_t *bytes)
{
    uint64_t last = 0;
    for (int d = 0; d < tensor->ndim; d++) {
        int64_t span;
        if (tensor->sizes[d] == 0) {
            *bytes = 0;
            return true;
        }
        if (tensor->strides[d] < 0 ||
            __builtin_mul_overflow(tensor->sizes[d] - 1, tensor->strides[d], &span) ||
            __builtin_add_overflow(last, (uint64_t)span, &last))
            return false;
    }
    return !__builtin_add_overflow(last, 1, &last) &&
           !__builtin_mul_overflow(last, rkb_rt_dtype_size(tensor->dtype), bytes);
}

static bool lies_in_arena(const rkb_tensor_t *tensor, const rkb_lent_arena_t *arena,
                          uint64_t *offset)
{
    uint64_t bytes = 0;
    uintptr_t data = (uintptr_t)tensor->data, base = (uintptr_t)arena->base;
    if (tensor->device != RKB_DEVICE_CUDA || !extent_of(tensor, &bytes))
        return false;
    *offset = 0;
    if (bytes == 0)
        return true;
    *offset = data - base;
    return data >= base && *offset <= arena->bytes && bytes <= arena->bytes - *offset;
}

static void describe_tensor(const rkb_tensor_t *tensor, const rkb_lent_arena_t *arena,
                            rkb_cell_returned_t *returned)
{
    uint32_t at = returned->noutputs++;
    if (at >= RKB_CELL_MAX_OUTPUTS) {
        returned->noutputs = RKB_CELL_MAX_OUTPUTS + 1;
        return;
    }
    if (!tensor || tensor->ndim < 0 || tensor->ndim > RKB_MAX_DIMS)
        return;
    rkb_cell_tensor_t *out = &returned->outputs[at];
    returned->output_is_tensor[at] = 1;
    out->dtype = tensor->dtype;
    out->ndim = tensor->ndim;
    memcpy(out->sizes, tensor->sizes, (size_t)tensor->ndim * sizeof *out->sizes);
    memcpy(out->strides, tensor->strides, (size_t)tensor->ndim * sizeof *out->strides);
    if (lies_in_arena(tensor, arena, &out->offset))
        returned->output_in_arena[at] = 1;
    else
        out->offset = 0;
}

void rkb_cell_describe_result(const rkb_value_t *result, const rkb_lent_arena_t *arena,
                              rkb_cell_returned_t *returned)
{
    switch (result->kind) {
    case RKB_VALUE_NONE:
        break;
    case RKB_VALUE_TENSOR:
        describe_tensor(result->tensor, arena, returned);
        break;
    case RKB_VALUE_TENSOR_LIST:
        for (size_t i = 0; i < result->count && returned->noutputs <= RKB_CELL_MAX_OUTPUTS; i++)
            describe_tensor(result->tensors[i], arena, returned);
        break;
    case RKB_VALUE_LIST:
        for (size_t i = 0; i < result->count && returned->noutputs <= RKB_CELL_MAX_OUTPUTS; i++) {
            const rkb_value_t *item = &result->list[i];
            describe_tensor(item->kind == RKB_VALUE_TENSOR ? item->tensor : NULL, arena, returned);
        }
        break;
    default:
        describe_tensor(NULL, arena, returned);
        break;
    }
}

/* A candidate that opens libtorch by itself delegates too, past the runtime's list. */
static bool loaded_torch_itself(void)
{
    static bool runtime_delegated;
    const char *const *names;
    runtime_delegated = runtime_delegated || rkb_runtime_delegated(&names) > 0;
    if (runtime_delegated)
        return false;
    void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library != NULL;
}

void rkb_cell_describe_work(rkb_cell_returned_t *returned)
{
    const rkb_heap_alloc_t *records;
    size_t count = rkb_heap_records(&records);
    for (size_t i = 0; i < count && i < RKB_CELL_MAX_ALLOCS; i++)
        returned->allocs[i] =
            (rkb_cell_alloc_t){.offset = records[i].offset, .bytes = records[i].bytes};
    returned->nallocs = count > RKB_CELL_MAX_ALLOCS ? RKB_CELL_MAX_ALLOCS + 1 : (uint32_t)count;
    returned->heap_used = rkb_heap_used();

    rkb_cpu_model_report_t report = rkb_cpu_model_report();
    returned->cuda_error = report.error;
    returned->launches = report.launches;
    snprintf(returned->kernel, sizeof returned->kernel, "%s", report.kernel);

    const char *const *names;
    size_t delegated = rkb_runtime_delegated(&names);
    if (loaded_torch_itself()) {
        returned->ndelegated = 1;
        snprintf(returned->delegated[0], sizeof returned->delegated[0],
                 "libtorch, opened by the candidate");
        return;
    }
    returned->ndelegated = (uint32_t)delegated;
    for (size_t i = 0; i < delegated && i < 8; i++)
        snprintf(returned->delegated[i], sizeof returned->delegated[i], "%s", names[i]);
}
