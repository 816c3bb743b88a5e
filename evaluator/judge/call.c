#include "evaluator/judge/call.h"

#include "common/file.h"

#include <stdlib.h>
#include <string.h>

enum {
    INPUT_ALIGN = 256,
    INPUT_GUARD = 4096, /* poison before, between and behind the inputs */
    PAGE = 4096,
    SCRATCH_FLOOR = 256 << 20, /* of the heap, for what a candidate allocates beside its outputs */
    SCRATCH_FACTOR = 8
};

/* One tensor that the candidate is given. */
typedef struct {
    const rkb_tensor_spec_t *spec; /* NULL: an upstream gradient, see output */
    const rkb_output_spec_t *output;
    const void *(*data)(const rkb_trial_t *trial, size_t index);
    size_t index;
    size_t offset, bytes;
} lent_t;

struct rkb_bench {
    rkb_evaluator_t *evaluator;
    const rkb_instance_t *instance;
    rkb_direction_t direction;
    rkb_arena_t *arena;
    rkb_output_spec_t *outputs; /* of the forward program, for upstream gradients */
    size_t output_count;
    lent_t *lent;
    size_t lent_count, lent_tensors; /* the first lent_tensors are inputs, params and buffers */
    size_t input_bytes;              /* size of the input region: the heap starts there */
    size_t heap_bytes;
    uint64_t last_used; /* high-water mark of the call before */
    char *expected;     /* image of the input region for the trial and poison at hand */
    char *actual;
    rkb_cell_call_t *call;
};

static const void *tensor_data(const rkb_trial_t *trial, size_t index)
{
    return trial->data->tensors[index];
}

static const void *grad_data(const rkb_trial_t *trial, size_t index)
{
    return trial->data->grad_outputs[index];
}

static size_t align_up(size_t value, size_t to)
{
    return (value + to - 1) / to * to;
}

static void lend(rkb_bench_t *bench, const rkb_tensor_spec_t *spec, const rkb_output_spec_t *output,
                 size_t index, size_t bytes)
{
    lent_t *lent = &bench->lent[bench->lent_count++];
    lent->spec = spec;
    lent->output = output;
    lent->data = spec != NULL ? tensor_data : grad_data;
    lent->index = index;
    lent->bytes = bytes;
    lent->offset = bench->input_bytes + INPUT_GUARD;
    bench->input_bytes = align_up(lent->offset + bytes, INPUT_ALIGN);
}

rkb_status_t rkb_bench_create(rkb_evaluator_t *evaluator, const rkb_instance_t *instance,
                              rkb_direction_t direction, const rkb_trial_t *first,
                              rkb_bench_t **out, rkb_error_t *err)
{
    rkb_bench_t *bench = rkb_xcalloc(1, sizeof(*bench));
    bench->evaluator = evaluator;
    bench->instance = instance;
    bench->direction = direction;
    bench->lent_tensors = rkb_instance_tensor_count(instance);
    rkb_status_t status = RKB_OK;
    if (direction == RKB_BACKWARD) {
        status = rkb_reference_forward_specs(evaluator->torch, instance, &bench->outputs,
                                             &bench->output_count, err);
    }
    bench->lent = rkb_xcalloc(bench->lent_tensors + bench->output_count + 1, sizeof(*bench->lent));
    for (size_t i = 0; status == RKB_OK && i < bench->lent_tensors; i++) {
        const rkb_tensor_spec_t *spec = rkb_instance_tensor(instance, i);
        lend(bench, spec, NULL, i, spec->bytes);
    }
    for (size_t i = 0; status == RKB_OK && i < bench->output_count; i++) {
        lend(bench, NULL, &bench->outputs[i], i, bench->outputs[i].bytes);
    }
    bench->input_bytes = align_up(bench->input_bytes + INPUT_GUARD, PAGE);
    size_t output_bytes = 0;
    for (size_t i = 0; i < first->expected.count; i++) {
        output_bytes += first->expected.outputs[i].spec.bytes;
    }
    bench->heap_bytes =
        align_up(SCRATCH_FLOOR + SCRATCH_FACTOR * (bench->input_bytes + output_bytes), PAGE);
    if (status == RKB_OK) {
        bench->expected = malloc(bench->input_bytes);
        bench->actual = malloc(bench->input_bytes);
        bench->call = calloc(1, sizeof(*bench->call));
        if (bench->expected == NULL || bench->actual == NULL || bench->call == NULL) {
            status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "no %zu bytes for copies of the inputs",
                                   2 * bench->input_bytes);
        }
    }
    if (status == RKB_OK) {
        status = evaluator->device_ops->arena_create(
            evaluator->device, bench->input_bytes + bench->heap_bytes, &bench->arena, err);
    }
    if (status != RKB_OK) {
        rkb_bench_destroy(bench);
        return status;
    }
    *out = bench;
    return RKB_OK;
}

void rkb_bench_destroy(rkb_bench_t *bench)
{
    if (bench == NULL) {
        return;
    }
    bench->evaluator->device_ops->arena_destroy(bench->arena);
    free(bench->outputs);
    free(bench->lent);
    free(bench->expected);
    free(bench->actual);
    free(bench->call);
    free(bench);
}

int rkb_bench_fd(const rkb_bench_t *bench)
{
    return bench->evaluator->device_ops->arena_fd(bench->arena);
}

size_t rkb_bench_bytes(const rkb_bench_t *bench)
{
    return bench->input_bytes + bench->heap_bytes;
}

void rkb_snapshot_release(rkb_snapshot_t *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        free(snapshot->bytes[i]);
    }
    free(snapshot->bytes);
    free(snapshot->views);
    memset(snapshot, 0, sizeof(*snapshot));
}

static rkb_verdict_t ours(rkb_finding_t *finding, const rkb_error_t *err)
{
    return rkb_finding_set(finding, RKB_VERDICT_INFRA_ERROR, "%s", err->text);
}

/* What earlier calls left is discarded, and the input region is written whole, guards included. */
static rkb_status_t refresh(rkb_bench_t *bench, const rkb_trial_t *trial, uint32_t poison,
                            rkb_error_t *err)
{
    const rkb_device_ops_t *ops = bench->evaluator->device_ops;
    for (size_t i = 0; i < bench->input_bytes; i += sizeof(poison)) {
        memcpy(bench->expected + i, &poison, sizeof(poison));
    }
    for (size_t i = 0; i < bench->lent_count; i++) {
        const lent_t *lent = &bench->lent[i];
        memcpy(bench->expected + lent->offset, lent->data(trial, lent->index), lent->bytes);
    }
    /* A candidate may have written anywhere in the arena, so all of the heap goes. */
    rkb_status_t status =
        ops->arena_discard(bench->arena, bench->input_bytes, bench->heap_bytes, err);
    return status == RKB_OK
               ? ops->arena_write(bench->arena, 0, bench->expected, bench->input_bytes, err)
               : status;
}

static void describe_tensor(const rkb_bench_t *bench, size_t index, rkb_cell_tensor_t *tensor)
{
    const lent_t *lent = &bench->lent[index];
    const int64_t *sizes = lent->spec != NULL ? lent->spec->sizes : lent->output->sizes;
    tensor->dtype = lent->spec != NULL ? lent->spec->dtype : lent->output->dtype;
    tensor->ndim = lent->spec != NULL ? lent->spec->ndim : lent->output->ndim;
    tensor->offset = lent->offset;
    int64_t stride = 1;
    for (int d = tensor->ndim - 1; d >= 0; d--) {
        tensor->sizes[d] = sizes[d];
        tensor->strides[d] = stride;
        stride *= sizes[d] > 1 ? sizes[d] : 1;
    }
}

static rkb_status_t build_call(rkb_bench_t *bench, uint64_t seed, uint32_t poison, rkb_error_t *err)
{
    rkb_cell_call_t *call = bench->call;
    memset(call, 0, sizeof(*call));
    call->heap_offset = bench->input_bytes;
    call->heap_bytes = bench->heap_bytes;
    call->seed = seed;
    call->poison = poison;
    size_t count = rkb_instance_argument_count(bench->instance, bench->direction);
    if (count > RKB_CELL_MAX_ARGS) {
        return rkb_error_set(err, RKB_ERR_UNSUPPORTED, "the task has %zu arguments, at most %d fit",
                             count, RKB_CELL_MAX_ARGS);
    }
    call->nargs = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const rkb_argument_t *from = rkb_instance_argument(bench->instance, bench->direction, i);
        rkb_cell_argument_t *to = &call->args[i];
        if (from->is_tensor) {
            to->kind = RKB_VALUE_TENSOR;
            describe_tensor(bench, from->tensor, &to->tensor);
            continue;
        }
        to->kind = (uint32_t)from->value.kind;
        switch (from->value.kind) {
        case RKB_VALUE_NONE:
            break;
        case RKB_VALUE_INT:
        case RKB_VALUE_BOOL:
            to->i = from->value.i;
            break;
        case RKB_VALUE_DOUBLE:
            to->d = from->value.d;
            break;
        case RKB_VALUE_INT_LIST:
            if (from->value.count > RKB_CELL_MAX_LIST) {
                return rkb_error_set(err, RKB_ERR_UNSUPPORTED, "argument %s is too long",
                                     from->name);
            }
            to->count = (uint32_t)from->value.count;
            memcpy(to->ints, from->value.ints, from->value.count * sizeof(int64_t));
            break;
        default:
            return rkb_error_set(err, RKB_ERR_UNSUPPORTED,
                                 "argument %s has a type that no cell takes", from->name);
        }
    }
    return RKB_OK;
}

/* Elements from the lowest to the highest address that a checked tensor touches. */
static uint64_t extent(const rkb_cell_tensor_t *tensor)
{
    uint64_t last = 0;
    for (int d = 0; d < tensor->ndim; d++) {
        if (tensor->sizes[d] == 0) {
            return 0;
        }
        last += (uint64_t)(tensor->sizes[d] - 1) * (uint64_t)tensor->strides[d];
    }
    return last + 1;
}

static size_t dtype_bytes(int32_t dtype)
{
#define SIZE_CASE(_e, _name, _size, _torch)                                                        \
    case RKB_##_e:                                                                                 \
        return _size;
    switch (dtype) {
        RKB_DTYPE_MAP(SIZE_CASE)
    default:
        return 0;
    }
#undef SIZE_CASE
}

static rkb_verdict_t check_outputs(const rkb_trial_t *trial, const rkb_cell_returned_t *returned,
                                   rkb_output_view_t *views, rkb_finding_t *finding)
{
    size_t expected = trial->expected.count;
    if (returned->noutputs != expected) {
        return rkb_finding_set(finding, RKB_VERDICT_WRONG_COUNT,
                               "returned %u outputs, expected %zu", returned->noutputs, expected);
    }
    for (size_t i = 0; i < expected; i++) {
        const rkb_output_spec_t *spec = &trial->expected.outputs[i].spec;
        if (returned->output_is_tensor[i] == 0) {
            return rkb_finding_set(finding, RKB_VERDICT_WRONG_COUNT,
                                   "output %zu (%s) is no tensor, or an undefined one", i,
                                   spec->name);
        }
        const rkb_cell_tensor_t *tensor = &returned->outputs[i];
        views[i].dtype = (rkb_dtype_t)tensor->dtype;
        views[i].ndim = tensor->ndim;
        memcpy(views[i].sizes, tensor->sizes, sizeof(views[i].sizes));
        memcpy(views[i].strides, tensor->strides, sizeof(views[i].strides));
        rkb_verdict_t verdict = rkb_check_metadata(spec, &views[i], finding);
        if (verdict != RKB_VERDICT_OK) {
            return verdict;
        }
        if (returned->output_in_arena[i] == 0) {
            return rkb_finding_set(finding, RKB_VERDICT_WRONG_DTYPE,
                                   "output \"%s\" is in host memory; it must be a CUDA tensor",
                                   spec->name);
        }
    }
    return RKB_VERDICT_OK;
}

static rkb_verdict_t check_guards(rkb_bench_t *bench, const rkb_cell_returned_t *returned,
                                  uint32_t poison, rkb_finding_t *finding)
{
    if (returned->heap_used == 0) {
        return RKB_VERDICT_OK;
    }
    uint64_t used = returned->heap_used;
    rkb_error_t err = RKB_ERROR_INIT;
    void *heap = malloc(used);
    if (heap == NULL) {
        rkb_error_set(&err, RKB_ERR_NO_MEMORY, "no %llu bytes to check guard bands",
                      (unsigned long long)used);
        return ours(finding, &err);
    }
    rkb_verdict_t verdict;
    if (bench->evaluator->device_ops->arena_read(bench->arena, bench->input_bytes, heap, used,
                                                 &err) != RKB_OK) {
        verdict = ours(finding, &err);
    } else {
        uint32_t count =
            returned->nallocs > RKB_CELL_MAX_ALLOCS ? RKB_CELL_MAX_ALLOCS : returned->nallocs;
        /* Beyond the last listed allocation nothing is known. */
        uint64_t known = used;
        if (returned->nallocs > RKB_CELL_MAX_ALLOCS) {
            const rkb_cell_alloc_t *last = &returned->allocs[count - 1];
            known = last->offset + last->bytes - bench->input_bytes;
        }
        verdict = rkb_cell_guard_verdict(heap, known, bench->input_bytes, returned->allocs, count,
                                         poison, finding);
    }
    free(heap);
    return verdict;
}

static const char *lent_name(const lent_t *lent)
{
    return lent->spec != NULL ? lent->spec->name : "grad_output";
}

/* The whole input region against its image: a change inside a tensor or in the bands around it. */
static rkb_verdict_t check_inputs(rkb_bench_t *bench, rkb_finding_t *finding)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (bench->evaluator->device_ops->arena_read(bench->arena, 0, bench->actual, bench->input_bytes,
                                                 &err) != RKB_OK) {
        return ours(finding, &err);
    }
    size_t first, count;
    if (!rkb_find_difference(bench->actual, bench->expected, bench->input_bytes, &first, &count)) {
        return RKB_VERDICT_OK;
    }
    const lent_t *nearest = &bench->lent[0];
    for (size_t i = 0; i < bench->lent_count; i++) {
        const lent_t *lent = &bench->lent[i];
        if (first >= lent->offset) {
            nearest = lent;
        }
        if (first < lent->offset || first >= lent->offset + lent->bytes) {
            continue;
        }
        rkb_cell_tensor_t tensor;
        describe_tensor(bench, i, &tensor);
        size_t size = dtype_bytes(tensor.dtype);
        char index[128];
        rkb_format_index(tensor.sizes, tensor.ndim, (int64_t)((first - lent->offset) / size), index,
                         sizeof(index));
        const char *was = bench->expected + lent->offset + (first - lent->offset) / size * size;
        const char *is = bench->actual + lent->offset + (first - lent->offset) / size * size;
        return rkb_finding_set(finding, RKB_VERDICT_INPUT_MUTATED,
                               "input \"%s\" was changed: element %s was %.9g and is %.9g after "
                               "the call; work on a copy (clone())",
                               lent_name(lent), index,
                               rkb_load_double(was, (rkb_dtype_t)tensor.dtype),
                               rkb_load_double(is, (rkb_dtype_t)tensor.dtype));
    }
    size_t end = nearest->offset + nearest->bytes;
    return rkb_finding_set(finding, RKB_VERDICT_OUT_OF_BOUNDS,
                           first >= end ? "%zu bytes past the end of input \"%s\" were written"
                                        : "%zu bytes before input \"%s\" were written",
                           first >= end ? first - end : nearest->offset - first,
                           lent_name(nearest));
}

static rkb_verdict_t take_snapshot(rkb_bench_t *bench, const rkb_cell_returned_t *returned,
                                   rkb_snapshot_t *snapshot, rkb_finding_t *finding)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const rkb_cell_tensor_t *tensor = &returned->outputs[i];
        size_t bytes = extent(tensor) * dtype_bytes(tensor->dtype);
        rkb_error_t err = RKB_ERROR_INIT;
        snapshot->bytes[i] = malloc(bytes != 0 ? bytes : 1);
        if (snapshot->bytes[i] == NULL) {
            rkb_error_set(&err, RKB_ERR_NO_MEMORY, "no %zu bytes for a copy of an output", bytes);
            return ours(finding, &err);
        }
        if (bench->evaluator->device_ops->arena_read(bench->arena, tensor->offset,
                                                     snapshot->bytes[i], bytes, &err) != RKB_OK) {
            return ours(finding, &err);
        }
        snapshot->views[i].base = snapshot->bytes[i];
    }
    return RKB_VERDICT_OK;
}

rkb_verdict_t rkb_bench_call(rkb_bench_t *bench, rkb_cell_t *cell, const rkb_trial_t *trial,
                             uint64_t call_seed, uint32_t poison, double deadline,
                             rkb_cell_returned_t *returned, double *seconds,
                             rkb_snapshot_t *snapshot, rkb_finding_t *finding)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (build_call(bench, call_seed, poison, &err) != RKB_OK ||
        refresh(bench, trial, poison, &err) != RKB_OK) {
        return ours(finding, &err);
    }
    rkb_cell_fate_t fate;
    if (rkb_cell_call(cell, bench->call, deadline, returned, &fate) != RKB_FATE_OK) {
        return rkb_cell_fate_verdict(&fate, RKB_DURING_CALL, finding);
    }
    *seconds = fate.seconds;
    rkb_verdict_t verdict = rkb_cell_returned_verdict(returned, finding);
    rkb_snapshot_t taken = {.count = trial->expected.count};
    taken.views = rkb_xcalloc(taken.count + 1, sizeof(*taken.views));
    taken.bytes = rkb_xcalloc(taken.count + 1, sizeof(*taken.bytes));
    if (verdict == RKB_VERDICT_OK) {
        verdict = check_outputs(trial, returned, taken.views, finding);
    }
    if (verdict == RKB_VERDICT_OK) {
        verdict = check_guards(bench, returned, poison, finding);
    }
    if (verdict == RKB_VERDICT_OK) {
        verdict = check_inputs(bench, finding);
    }
    if (verdict == RKB_VERDICT_OK) {
        verdict = take_snapshot(bench, returned, &taken, finding);
    }
    if (verdict != RKB_VERDICT_OK) {
        rkb_snapshot_release(&taken);
        return verdict;
    }
    *snapshot = taken;
    return RKB_VERDICT_OK;
}
