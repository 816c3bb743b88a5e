#include "evaluator/cell/cell_host.h"

#include "common/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    char *why;
    size_t size;
} complaint_t;

static bool refuse(const complaint_t *complaint, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(const complaint_t *complaint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(complaint->why, complaint->size, fmt, ap);
    va_end(ap);
    return false;
}

static uint64_t dtype_size(int32_t dtype)
{
    switch (dtype) {
#define RKB_SIZE_CASE(_e, _name, _size, _torch)                                                    \
    case RKB_##_e:                                                                                 \
        return _size;
        RKB_DTYPE_MAP(RKB_SIZE_CASE)
#undef RKB_SIZE_CASE
    default:
        return 0;
    }
}

/* Every product is checked: sizes and strides are whatever the cell wrote. Unused dimensions are
 * cleared, so that nobody reads them by mistake. */
static bool check_tensor(rkb_cell_tensor_t *tensor, bool in_arena, uint64_t arena_bytes,
                         unsigned index, const complaint_t *complaint)
{
    uint64_t item = dtype_size(tensor->dtype);
    if (item == 0)
        return refuse(complaint, "output %u has the unknown dtype %" PRId32, index, tensor->dtype);
    if (tensor->ndim < 0 || tensor->ndim > RKB_MAX_DIMS)
        return refuse(complaint, "output %u has %" PRId32 " dimensions", index, tensor->ndim);
    uint64_t numel = 1, last = 0;
    bool empty = false;
    for (int d = 0; d < tensor->ndim; d++) {
        uint64_t size = (uint64_t)tensor->sizes[d], stride = (uint64_t)tensor->strides[d];
        if (tensor->sizes[d] < 0 || tensor->strides[d] < 0)
            return refuse(complaint,
                          "output %u has size %" PRId64 " and stride %" PRId64 " in dimension %d",
                          index, tensor->sizes[d], tensor->strides[d], d);
        empty = empty || size == 0;
        uint64_t span;
        if (__builtin_mul_overflow(numel, size ? size : 1, &numel) ||
            __builtin_mul_overflow(size ? size - 1 : 0, stride, &span) ||
            __builtin_add_overflow(last, span, &last) || numel > INT64_MAX / 16 ||
            last > INT64_MAX / 16)
            return refuse(complaint, "output %u has a size beyond all memory", index);
    }
    memset(tensor->sizes + tensor->ndim, 0,
           (size_t)(RKB_MAX_DIMS - tensor->ndim) * sizeof *tensor->sizes);
    memset(tensor->strides + tensor->ndim, 0,
           (size_t)(RKB_MAX_DIMS - tensor->ndim) * sizeof *tensor->strides);
    if (!in_arena || empty) {
        tensor->offset = 0;
        return true;
    }
    uint64_t bytes = (last + 1) * item; /* at most 2^63: last is bounded above */
    if (tensor->offset > arena_bytes || bytes > arena_bytes - tensor->offset)
        return refuse(complaint,
                      "output %u claims %" PRIu64 " bytes at %" PRIu64 " of an arena of %" PRIu64,
                      index, bytes, tensor->offset, arena_bytes);
    return true;
}

static bool check_outputs(rkb_cell_returned_t *returned, uint64_t arena_bytes,
                          const complaint_t *complaint)
{
    if (returned->noutputs > RKB_CELL_MAX_OUTPUTS + 1)
        return refuse(complaint, "%" PRIu32 " outputs", returned->noutputs);
    uint32_t count = returned->noutputs;
    if (count > RKB_CELL_MAX_OUTPUTS)
        count = RKB_CELL_MAX_OUTPUTS;
    for (uint32_t i = 0; i < count; i++) {
        if (returned->output_is_tensor[i] > 1 || returned->output_in_arena[i] > 1)
            return refuse(complaint, "output %" PRIu32 " has a mark that is neither 0 nor 1", i);
        if (!returned->output_is_tensor[i]) {
            memset(&returned->outputs[i], 0, sizeof returned->outputs[i]);
            returned->output_in_arena[i] = 0;
            continue;
        }
        if (!check_tensor(&returned->outputs[i], returned->output_in_arena[i], arena_bytes, i,
                          complaint))
            return false;
    }
    return true;
}

static bool check_heap(const rkb_cell_returned_t *returned, const rkb_cell_call_t *call,
                       const complaint_t *complaint)
{
    if (returned->heap_used > call->heap_bytes)
        return refuse(complaint, "it used %" PRIu64 " bytes of a heap of %" PRIu64,
                      returned->heap_used, call->heap_bytes);
    if (returned->nallocs > RKB_CELL_MAX_ALLOCS + 1)
        return refuse(complaint, "%" PRIu32 " allocations", returned->nallocs);
    uint32_t count = returned->nallocs;
    if (count > RKB_CELL_MAX_ALLOCS)
        count = RKB_CELL_MAX_ALLOCS;
    uint64_t at = call->heap_offset, end = call->heap_offset + returned->heap_used;
    for (uint32_t i = 0; i < count; i++) {
        const rkb_cell_alloc_t *alloc = &returned->allocs[i];
        if (alloc->offset < at || alloc->offset > end || alloc->bytes > end - alloc->offset)
            return refuse(complaint,
                          "allocation %" PRIu32 ", %" PRIu64 " bytes at %" PRIu64
                          ", overlaps another or lies outside the heap",
                          i, alloc->bytes, alloc->offset);
        at = alloc->offset + alloc->bytes;
    }
    return true;
}

static void clean(char *text, size_t size)
{
    text[size - 1] = '\0';
    rkb_text_sanitize(text);
}

bool rkb_cell_check_returned(rkb_cell_returned_t *returned, const rkb_cell_call_t *call,
                             uint64_t arena_bytes, char *why, size_t why_size)
{
    complaint_t complaint = {why, why_size};
    clean(returned->kernel, sizeof returned->kernel);
    clean(returned->text, sizeof returned->text);
    for (size_t i = 0; i < 8; i++)
        clean(returned->delegated[i], sizeof returned->delegated[i]);
    if (returned->status > RKB_CALL_UNSUPPORTED)
        return refuse(&complaint, "the unknown call status %" PRIu32, returned->status);
    if (returned->ndelegated > 1u << 20)
        return refuse(&complaint, "%" PRIu32 " delegated operators", returned->ndelegated);
    return check_outputs(returned, arena_bytes, &complaint) &&
           check_heap(returned, call, &complaint);
}
