/* The reference in the task's dtype and the oracle in float64, forward and backward. */
#include "evaluator/reference/reference.h"

#include "common/clock.h"
#include "common/file.h"
#include "evaluator/reference/run_program.h"
#include "evaluator/task/task_internal.h"

#include <stdlib.h>
#include <string.h>

/* Element type of a pass's floating tensors. */
typedef enum { PASS_TASK_DTYPE, PASS_FLOAT64, PASS_FLOAT32 } precision_t;

typedef struct {
    const rkb_torch_api_t *torch;
    const rkb_trial_data_t *trial;
    precision_t precision;
} pass_t;

static rkb_dtype_t pass_dtype(precision_t precision, rkb_dtype_t dtype)
{
    if (precision == PASS_TASK_DTYPE || !rkb_dtype_is_float(dtype))
        return dtype;
    return precision == PASS_FLOAT64 ? RKB_F64 : RKB_F32;
}

static void release_all(const rkb_torch_api_t *torch, rkb_torch_tensor_t **tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        torch->release(tensors[i]);
    free(tensors);
}

/* The handle of host data: a view of it, or a copy where dtype or gradient ask for one. */
static rkb_status_t enter_tensor(const pass_t *pass, void *data, rkb_dtype_t dtype,
                                 const int64_t *sizes, int ndim, bool grad,
                                 rkb_torch_tensor_t **out, rkb_error_t *err)
{
    const rkb_torch_api_t *torch = pass->torch;
    rkb_torch_tensor_t *view;
    rkb_dtype_t wanted = pass_dtype(pass->precision, dtype);
    rkb_status_t status = torch->wrap(data, dtype, sizes, NULL, ndim, &view, err);
    if (status != RKB_OK || (wanted == dtype && !grad)) {
        if (status == RKB_OK)
            *out = view;
        return status;
    }
    status = torch->copy(view, wanted, grad, out, err);
    torch->release(view);
    return status;
}

static bool needs_gradient(const rkb_task_t *task, rkb_direction_t direction, size_t tensor)
{
    for (size_t i = 0; direction == RKB_BACKWARD && i < rkb_task_backward_return_count(task); i++)
        if (rkb_task_backward_return(task, i) == tensor)
            return true;
    return false;
}

static rkb_status_t enter_all(const pass_t *pass, rkb_torch_tensor_t **tensors, rkb_error_t *err)
{
    const rkb_trial_data_t *trial = pass->trial;
    const rkb_task_t *task = rkb_instance_task(trial->instance);
    for (size_t i = 0; i < trial->tensor_count; i++) {
        const rkb_tensor_spec_t *spec = rkb_instance_tensor(trial->instance, i);
        rkb_status_t status =
            enter_tensor(pass, trial->tensors[i], spec->dtype, spec->sizes, spec->ndim,
                         needs_gradient(task, trial->direction, i), &tensors[i], err);
        if (status != RKB_OK)
            return status;
    }
    return RKB_OK;
}

/* Gradients of the tensors that backward returns, through autograd. */
static rkb_status_t run_backward(const pass_t *pass, rkb_torch_tensor_t **tensors,
                                 rkb_torch_tensor_t **outputs, rkb_torch_tensor_t **grads,
                                 rkb_error_t *err)
{
    const rkb_trial_data_t *trial = pass->trial;
    const rkb_task_t *task = rkb_instance_task(trial->instance);
    size_t nreturns = rkb_task_backward_return_count(task), noutputs = trial->grad_count;
    rkb_torch_tensor_t **upstream = rkb_xcalloc(noutputs, sizeof *upstream);
    rkb_torch_tensor_t **from = rkb_xcalloc(noutputs, sizeof *from);
    rkb_torch_tensor_t **to = rkb_xcalloc(nreturns, sizeof *to);
    size_t used = 0;
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; i < noutputs && status == RKB_OK; i++) {
        rkb_tensor_t shape;
        if (!trial->grad_outputs[i])
            continue;
        /* The trial holds upstream gradients in the task's dtype, whatever this pass computes in.
         */
        pass->torch->describe(outputs[i], &shape);
        const rkb_output_spec_t *spec = &rkb_instance_forward_specs(trial->instance)[i];
        status = enter_tensor(pass, trial->grad_outputs[i], spec->dtype, shape.sizes, shape.ndim,
                              false, &upstream[used], err);
        if (status == RKB_OK)
            from[used++] = outputs[i];
    }
    for (size_t i = 0; i < nreturns; i++)
        to[i] = tensors[rkb_task_backward_return(task, i)];
    if (status == RKB_OK)
        status = pass->torch->grad(from, upstream, used, to, nreturns, grads, err);
    release_all(pass->torch, upstream, noutputs);
    free(from);
    free(to);
    return status;
}

static size_t result_count(const rkb_trial_data_t *trial)
{
    const rkb_task_t *task = rkb_instance_task(trial->instance);
    return trial->direction == RKB_BACKWARD ? rkb_task_backward_return_count(task)
                                            : rkb_task_program(task)->output_count;
}

/**
 * One pass: results (owned handles, result_count() of them) of the trial's direction. *seconds is
 * the wall time of the program, for backward that of autograd's pass alone; may be NULL.
 */
static rkb_status_t run_pass(const pass_t *pass, rkb_torch_tensor_t **results, double *seconds,
                             rkb_error_t *err)
{
    const rkb_trial_data_t *trial = pass->trial;
    const rkb_program_t *program = rkb_task_program(rkb_instance_task(trial->instance));
    bool backward = trial->direction == RKB_BACKWARD;
    rkb_torch_tensor_t **tensors = rkb_xcalloc(trial->tensor_count, sizeof *tensors);
    rkb_torch_tensor_t **outputs = rkb_xcalloc(program->output_count, sizeof *outputs);
    rkb_program_run_t run = {pass->torch, trial->instance, tensors, backward,
                             pass->precision == PASS_FLOAT64};
    rkb_status_t status = enter_all(pass, tensors, err);
    double start = rkb_clock_now();
    if (status == RKB_OK)
        status = rkb_program_run(&run, outputs, err);
    if (status == RKB_OK && backward) {
        start = rkb_clock_now();
        status = run_backward(pass, tensors, outputs, results, err);
    }
    if (seconds)
        *seconds = rkb_clock_now() - start;
    if (status == RKB_OK && !backward) {
        memcpy(results, outputs, program->output_count * sizeof *results);
        memset(outputs, 0, program->output_count * sizeof *outputs);
    }
    release_all(pass->torch, outputs, program->output_count);
    release_all(pass->torch, tensors, trial->tensor_count);
    return status;
}

/* ---- results as host arrays -------------------------------------------------------------------
 */

static void *allocate(size_t bytes, rkb_error_t *err)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (!memory)
        rkb_error_set(err, RKB_ERR_NO_MEMORY, "no %zu bytes for a reference output", bytes);
    return memory;
}

static void fill_spec(const rkb_torch_api_t *torch, const rkb_torch_tensor_t *tensor,
                      rkb_output_spec_t *spec)
{
    rkb_tensor_t shape;
    torch->describe(tensor, &shape);
    spec->dtype = shape.dtype;
    spec->ndim = shape.ndim;
    memcpy(spec->sizes, shape.sizes, sizeof spec->sizes);
    spec->numel = shape.numel;
    spec->bytes = (size_t)shape.numel * rkb_dtype_bytes(shape.dtype);
}

/* Name of result i: an output of the program, or "grad_<tensor>" kept with the expected set. */
static const char *result_name(const rkb_trial_data_t *trial, size_t i)
{
    const rkb_task_t *task = rkb_instance_task(trial->instance);
    const rkb_program_t *program = rkb_task_program(task);
    if (trial->direction == RKB_FORWARD)
        return program->result_names[program->outputs[i]];
    return rkb_task_gradient_name(task, i);
}

static rkb_status_t take_reference(const rkb_torch_api_t *torch, const rkb_torch_tensor_t *tensor,
                                   rkb_expected_t *out, rkb_error_t *err)
{
    fill_spec(torch, tensor, &out->spec);
    out->reference = allocate(out->spec.bytes, err);
    if (!out->reference)
        return RKB_ERR_NO_MEMORY;
    return torch->read(tensor, out->reference, out->spec.bytes, err);
}

/* The oracle's value of one output, as doubles; its shape must be the reference's. */
static rkb_status_t take_oracle(const rkb_torch_api_t *torch, const rkb_torch_tensor_t *tensor,
                                bool have_spec, rkb_expected_t *out, rkb_error_t *err)
{
    rkb_output_spec_t spec = {.name = out->spec.name};
    fill_spec(torch, tensor, &spec);
    if (!rkb_dtype_is_float(spec.dtype)) {
        if (!have_spec)
            out->spec = spec;
        return RKB_OK;
    }
    if (have_spec && (spec.ndim != out->spec.ndim ||
                      memcmp(spec.sizes, out->spec.sizes, sizeof spec.sizes) != 0))
        return rkb_error_set(err, RKB_ERR_INTERNAL,
                             "output \"%s\" has another shape in float64 than in %s",
                             out->spec.name, rkb_dtype_text(out->spec.dtype));
    if (!have_spec)
        out->spec = spec;
    size_t bytes = (size_t)spec.numel * sizeof(double);
    out->oracle = allocate(bytes, err);
    if (!out->oracle)
        return RKB_ERR_NO_MEMORY;
    if (spec.dtype == RKB_F64)
        return torch->read(tensor, out->oracle, bytes, err);
    rkb_torch_tensor_t *wide;
    rkb_status_t status = torch->copy(tensor, RKB_F64, false, &wide, err);
    if (status != RKB_OK)
        return status;
    status = torch->read(wide, out->oracle, bytes, err);
    torch->release(wide);
    return status;
}

/* Without a reference pass an oracle still says what the candidate must return: the task's dtype.
 */
static rkb_dtype_t narrow_dtype(const rkb_trial_data_t *trial, size_t i, rkb_dtype_t oracle_dtype)
{
    const rkb_task_t *task = rkb_instance_task(trial->instance);
    if (trial->direction == RKB_BACKWARD)
        return rkb_instance_tensor(trial->instance, rkb_task_backward_return(task, i))->dtype;
    const rkb_output_spec_t *specs = rkb_instance_forward_specs(trial->instance);
    return specs ? specs[i].dtype : oracle_dtype;
}

static rkb_status_t run_reference(const rkb_torch_api_t *torch, const rkb_trial_data_t *trial,
                                  rkb_expected_set_t *set, rkb_error_t *err)
{
    pass_t pass = {torch, trial, PASS_TASK_DTYPE};
    rkb_torch_tensor_t **results = rkb_xcalloc(set->count, sizeof *results);
    rkb_status_t status = run_pass(&pass, results, &set->reference_seconds, err);
    for (size_t i = 0; i < set->count && status == RKB_OK; i++)
        status = take_reference(torch, results[i], &set->outputs[i], err);
    if (status == RKB_OK && trial->direction == RKB_FORWARD &&
        !rkb_instance_forward_specs(trial->instance)) {
        rkb_output_spec_t *specs = rkb_xcalloc(set->count, sizeof *specs);
        for (size_t i = 0; i < set->count; i++)
            specs[i] = set->outputs[i].spec;
        rkb_instance_keep_forward_specs(trial->instance, specs);
        free(specs);
    }
    release_all(torch, results, set->count);
    return status;
}

static rkb_status_t run_oracle(const rkb_torch_api_t *torch, const rkb_trial_data_t *trial,
                               precision_t precision, bool have_spec, rkb_expected_set_t *set,
                               rkb_error_t *err)
{
    pass_t pass = {torch, trial, precision};
    rkb_torch_tensor_t **results = rkb_xcalloc(set->count, sizeof *results);
    rkb_status_t status = run_pass(&pass, results, NULL, err);
    for (size_t i = 0; i < set->count && status == RKB_OK; i++) {
        status = take_oracle(torch, results[i], have_spec, &set->outputs[i], err);
        if (status == RKB_OK && !have_spec) {
            rkb_output_spec_t *spec = &set->outputs[i].spec;
            spec->dtype = narrow_dtype(trial, i, spec->dtype);
            spec->bytes = (size_t)spec->numel * rkb_dtype_bytes(spec->dtype);
        }
    }
    release_all(torch, results, set->count);
    if (status == RKB_OK)
        set->oracle_float64 = precision == PASS_FLOAT64;
    return status;
}

/* float64 where it exists and fits, else float32. */
static bool oracle_may_narrow(const rkb_error_t *err)
{
    return err->status == RKB_ERR_NO_MEMORY || strstr(err->text, "'Double'") != NULL;
}

static void drop_oracles(rkb_expected_set_t *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->outputs[i].oracle);
        set->outputs[i].oracle = NULL;
    }
}

rkb_status_t rkb_reference_run(const rkb_torch_api_t *torch, const rkb_trial_data_t *trial,
                               unsigned flags, rkb_expected_set_t *out, rkb_error_t *err)
{
    const rkb_task_t *task = rkb_instance_task(trial->instance);
    bool oracle_only = flags & RKB_REFERENCE_ORACLE_ONLY;
    rkb_expected_set_t set = {.count = result_count(trial)};
    rkb_error_t why = RKB_ERROR_INIT;
    rkb_status_t status = rkb_program_check(torch, task, err);
    if (status != RKB_OK)
        return status;
    set.outputs = rkb_xcalloc(set.count, sizeof *set.outputs);
    for (size_t i = 0; i < set.count; i++)
        set.outputs[i].spec.name = result_name(trial, i);
    if (!oracle_only)
        status = run_reference(torch, trial, &set, err);
    if (status == RKB_OK) {
        status = run_oracle(torch, trial, PASS_FLOAT64, !oracle_only, &set, &why);
        if (status != RKB_OK && oracle_may_narrow(&why)) {
            drop_oracles(&set);
            status = run_oracle(torch, trial, PASS_FLOAT32, !oracle_only, &set, &why);
        }
        if (status != RKB_OK)
            rkb_error_set(err, why.status, "oracle: %s", why.text);
    }
    if (status != RKB_OK) {
        rkb_expected_release(&set);
        rkb_error_prefix(err, "%s", rkb_task_path(task));
        return status;
    }
    *out = set;
    return RKB_OK;
}

void rkb_expected_release(rkb_expected_set_t *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->outputs[i].reference);
        free(set->outputs[i].oracle);
    }
    free(set->outputs);
    *set = (rkb_expected_set_t){0};
}

/* ---- shapes of the outputs --------------------------------------------------------------------
 */

/* Runs the program on zeros: shapes do not depend on values, and untouched pages cost nothing. */
static rkb_status_t discover_specs(const rkb_torch_api_t *torch, const rkb_instance_t *instance,
                                   rkb_error_t *err)
{
    const rkb_program_t *program = rkb_task_program(rkb_instance_task(instance));
    size_t count = rkb_instance_tensor_count(instance);
    void **zeros = rkb_xcalloc(count, sizeof *zeros);
    rkb_trial_data_t trial = {instance, RKB_FORWARD, zeros, count, NULL, 0};
    pass_t pass = {torch, &trial, PASS_TASK_DTYPE};
    rkb_torch_tensor_t **outputs = rkb_xcalloc(program->output_count, sizeof *outputs);
    rkb_output_spec_t *specs = rkb_xcalloc(program->output_count, sizeof *specs);
    rkb_status_t status = rkb_program_check(torch, rkb_instance_task(instance), err);
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        zeros[i] = calloc(1, rkb_instance_tensor(instance, i)->bytes);
        if (!zeros[i])
            status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for \"%s\"",
                                   rkb_instance_tensor(instance, i)->name);
    }
    if (status == RKB_OK)
        status = run_pass(&pass, outputs, NULL, err);
    if (status == RKB_OK) {
        for (size_t i = 0; i < program->output_count; i++) {
            specs[i].name = program->result_names[program->outputs[i]];
            fill_spec(torch, outputs[i], &specs[i]);
        }
        rkb_instance_keep_forward_specs(instance, specs);
    }
    for (size_t i = 0; i < count; i++)
        free(zeros[i]);
    free(zeros);
    free(specs);
    release_all(torch, outputs, program->output_count);
    return status;
}

rkb_status_t rkb_reference_forward_specs(const rkb_torch_api_t *torch,
                                         const rkb_instance_t *instance, rkb_output_spec_t **specs,
                                         size_t *count, rkb_error_t *err)
{
    const rkb_task_t *task = rkb_instance_task(instance);
    size_t outputs = rkb_task_program(task)->output_count;
    if (!rkb_instance_forward_specs(instance)) {
        rkb_status_t status = discover_specs(torch, instance, err);
        if (status != RKB_OK) {
            rkb_error_prefix(err, "%s", rkb_task_path(task));
            return status;
        }
    }
    *specs = rkb_xcalloc(outputs, sizeof **specs);
    memcpy(*specs, rkb_instance_forward_specs(instance), outputs * sizeof **specs);
    *count = outputs;
    return RKB_OK;
}
