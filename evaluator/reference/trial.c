/* Host data of one trial. */
#include "evaluator/reference/reference.h"

#include "common/file.h"
#include "evaluator/task/program.h"
#include "evaluator/task/task_internal.h"

#include <stdlib.h>

/* Memory for one tensor, filled from its stream. */
static rkb_status_t draw(const rkb_instance_t *instance, const rkb_tensor_spec_t *spec,
                         uint64_t seed, unsigned trial, void **out, rkb_error_t *err)
{
    void *data = malloc(spec->bytes);
    if (!data)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no %zu bytes for \"%s\"", spec->bytes,
                             spec->name);
    rkb_status_t status = rkb_instance_generate(instance, spec, seed, trial, data, err);
    if (status != RKB_OK) {
        free(data);
        return status;
    }
    *out = data;
    return RKB_OK;
}

/* Upstream gradients: N(0,1) of the shapes of the program's outputs. */
static rkb_status_t draw_upstream(const rkb_torch_api_t *torch, rkb_trial_data_t *data,
                                  uint64_t seed, unsigned trial, rkb_error_t *err)
{
    rkb_output_spec_t *specs;
    size_t count;
    rkb_status_t status = rkb_reference_forward_specs(torch, data->instance, &specs, &count, err);
    if (status != RKB_OK)
        return status;
    data->grad_outputs = rkb_xcalloc(count, sizeof *data->grad_outputs);
    data->grad_count = count;
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        if (!rkb_dtype_is_float(specs[i].dtype))
            continue; /* integer outputs have no gradient */
        char *name = rkb_strf("grad_%s", specs[i].name);
        rkb_tensor_spec_t spec = {.name = name,
                                  .role = RKB_ROLE_GRAD_OUTPUT,
                                  .dtype = specs[i].dtype,
                                  .numel = specs[i].numel,
                                  .bytes = specs[i].bytes,
                                  .init = {RKB_INIT_NORMAL, 0, 1}};
        status = draw(data->instance, &spec, seed, trial, &data->grad_outputs[i], err);
        free(name);
    }
    free(specs);
    return status;
}

rkb_status_t rkb_trial_create(const rkb_torch_api_t *torch, const rkb_instance_t *instance,
                              rkb_direction_t direction, uint64_t seed, unsigned trial,
                              rkb_trial_data_t **out, rkb_error_t *err)
{
    size_t count = rkb_instance_tensor_count(instance);
    rkb_trial_data_t *data = rkb_xcalloc(1, sizeof *data);
    rkb_status_t status = RKB_OK;
    data->instance = instance;
    data->direction = direction;
    data->tensors = rkb_xcalloc(count, sizeof *data->tensors);
    data->tensor_count = count;
    for (size_t i = 0; i < count && status == RKB_OK; i++)
        status =
            draw(instance, rkb_instance_tensor(instance, i), seed, trial, &data->tensors[i], err);
    if (status == RKB_OK && direction == RKB_BACKWARD)
        status = draw_upstream(torch, data, seed, trial, err);
    if (status != RKB_OK) {
        rkb_trial_destroy(data);
        return status;
    }
    *out = data;
    return RKB_OK;
}

void rkb_trial_destroy(rkb_trial_data_t *trial)
{
    if (!trial)
        return;
    for (size_t i = 0; i < trial->tensor_count; i++)
        free(trial->tensors[i]);
    for (size_t i = 0; i < trial->grad_count; i++)
        free(trial->grad_outputs[i]);
    free(trial->tensors);
    free(trial->grad_outputs);
    free(trial);
}
