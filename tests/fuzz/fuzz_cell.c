/*
 * Bytes as a hostile cell's answer and status page: whatever passes the check can be read, element
 * by element, inside an arena of the claimed size, and every sentence about it is clean text.
 */
#include "common/file.h"
#include "evaluator/cell/cell_host.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_MAX = 1 << 16, NUMEL_MAX = 1 << 16, OUTPUTS = 2, ALLOCS = 3 };

/* The parts of an answer that are worth varying. */
typedef struct {
    uint16_t arena_bytes, heap_offset;
    uint32_t status, noutputs, nallocs, is_tensor[OUTPUTS], in_arena[OUTPUTS];
    int32_t cuda_error;
    uint64_t heap_used;
    rkb_cell_tensor_t outputs[OUTPUTS];
    rkb_cell_alloc_t allocs[ALLOCS];
    uint32_t fate, code;
    rkb_cell_status_t page;
} input_t;

static void check(bool condition)
{
    if (!condition)
        abort();
}

static void check_text(const rkb_finding_t *finding)
{
    check(memchr(finding->detail, '\0', sizeof finding->detail) != NULL);
    check((unsigned)finding->verdict < RKB_VERDICTS);
}

static void read_output(const unsigned char *arena, const rkb_cell_tensor_t *tensor)
{
    rkb_output_view_t view = {
        .base = arena + tensor->offset, .dtype = (rkb_dtype_t)tensor->dtype, .ndim = tensor->ndim};
    rkb_output_spec_t spec = {.name = "y", .dtype = view.dtype, .ndim = view.ndim, .numel = 1};
    for (int d = 0; d < view.ndim; d++) {
        spec.sizes[d] = view.sizes[d] = tensor->sizes[d];
        view.strides[d] = tensor->strides[d];
        spec.numel *= tensor->sizes[d];
    }
    rkb_finding_t finding;
    check(rkb_check_metadata(&spec, &view, &finding) == RKB_VERDICT_OK);
    if (spec.numel > NUMEL_MAX)
        return;
    unsigned char *zeros = rkb_xcalloc((size_t)spec.numel + 1, sizeof(double));
    rkb_compare_spec_t expected = {.spec = &spec, .reference = zeros, .atol = 1e-3};
    if (view.dtype == RKB_F32 || view.dtype == RKB_F64 || view.dtype == RKB_F16 ||
        view.dtype == RKB_BF16)
        expected.oracle = (const double *)(const void *)zeros;
    rkb_error_stats_t stats = {0};
    rkb_check_values(&expected, &view, 0x7ffb7ffb, &stats, &finding);
    check_text(&finding);
    free(zeros);
}

static void use_answer(rkb_cell_returned_t *returned, const rkb_cell_call_t *call,
                       size_t arena_bytes)
{
    rkb_finding_t finding;
    unsigned char *arena = rkb_xcalloc(arena_bytes + 1, 1);
    arena = rkb_xrealloc(arena, arena_bytes ? arena_bytes : 1, 1); /* no byte to spare */
    for (uint32_t i = 0; i < returned->noutputs && i < RKB_CELL_MAX_OUTPUTS; i++) {
        if (returned->output_is_tensor[i] && returned->output_in_arena[i])
            read_output(arena, &returned->outputs[i]);
    }
    size_t count = returned->nallocs;
    if (count > RKB_CELL_MAX_ALLOCS)
        count = RKB_CELL_MAX_ALLOCS;
    rkb_cell_guard_verdict(arena + call->heap_offset, returned->heap_used, call->heap_offset,
                           returned->allocs, count, 0, &finding);
    check_text(&finding);
    rkb_cell_returned_verdict(returned, &finding);
    check_text(&finding);
    free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rkb_cell_returned_t returned;
    input_t input = {0};
    memcpy(&input, data, size < sizeof input ? size : sizeof input);
    memset(&returned, 0, sizeof returned);
    returned.status = input.status;
    returned.cuda_error = input.cuda_error;
    returned.noutputs = input.noutputs;
    returned.nallocs = input.nallocs;
    returned.heap_used = input.heap_used;
    memcpy(returned.output_is_tensor, input.is_tensor, sizeof input.is_tensor);
    memcpy(returned.output_in_arena, input.in_arena, sizeof input.in_arena);
    memcpy(returned.outputs, input.outputs, sizeof input.outputs);
    memcpy(returned.allocs, input.allocs, sizeof input.allocs);
    memcpy(returned.text, input.page.text, sizeof returned.text);
    memcpy(returned.kernel, input.page.kernel, sizeof returned.kernel);

    char why[256];
    rkb_cell_call_t call = {.heap_offset = input.heap_offset};
    if (call.heap_offset > input.arena_bytes)
        call.heap_offset = input.arena_bytes;
    call.heap_bytes = input.arena_bytes - call.heap_offset;
    if (rkb_cell_check_returned(&returned, &call, input.arena_bytes, why, sizeof why))
        use_answer(&returned, &call, input.arena_bytes);

    rkb_finding_t finding;
    rkb_cell_fate_t fate = {.kind = (rkb_fate_kind_t)(input.fate % (RKB_FATE_OURS + 1)),
                            .code = (int)(input.code % 200),
                            .status = input.page};
    fate.status.text[sizeof fate.status.text - 1] = '\0';
    fate.status.kernel[sizeof fate.status.kernel - 1] = '\0';
    rkb_verdict_t verdict = rkb_cell_fate_verdict(&fate, RKB_DURING_CALL, &finding);
    check((verdict == RKB_VERDICT_OK) == (fate.kind == RKB_FATE_OK));
    check_text(&finding);
    return 0;
}
