#include "evaluator/judge/internal.h"

#include <math.h>
#include <string.h>

/* Built-in candidates with a known answer. They run in the evaluator: there is nothing to jail. */

static const char *const control_names[] = {"@reference", "@zeros", "@mean", "@copy", NULL};

const char *const *rkb_control_names(void)
{
    return control_names;
}

bool rkb_control_known(const char *name)
{
    for (int i = 0; control_names[i] != NULL; i++) {
        if (strcmp(name, control_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static rkb_status_t store(void *dst, rkb_dtype_t dtype, int64_t index, double value,
                          rkb_error_t *err)
{
    switch (dtype) {
    case RKB_F32:
        ((float *)dst)[index] = (float)value;
        return RKB_OK;
    case RKB_F64:
        ((double *)dst)[index] = value;
        return RKB_OK;
    case RKB_I64:
        ((int64_t *)dst)[index] = (int64_t)value;
        return RKB_OK;
    case RKB_I32:
        ((int32_t *)dst)[index] = (int32_t)value;
        return RKB_OK;
    default:
        return rkb_error_set(err, RKB_ERR_UNSUPPORTED, "this control has no answer in this dtype");
    }
}

static rkb_status_t fill_mean(const rkb_expected_t *expected, void *dst, rkb_error_t *err)
{
    const rkb_output_spec_t *spec = &expected->spec;
    double sum = 0;
    if (spec->numel == 1) {
        return rkb_error_set(err, RKB_ERR_UNSUPPORTED,
                             "output \"%s\" has one element: its mean is the answer itself",
                             spec->name);
    }
    for (int64_t i = 0; i < spec->numel; i++) {
        sum += expected->oracle != NULL
                   ? expected->oracle[i]
                   : rkb_load_double((const char *)expected->reference +
                                         (size_t)i * (spec->bytes / (size_t)spec->numel),
                                     spec->dtype);
    }
    for (int64_t i = 0; i < spec->numel; i++) {
        rkb_status_t status = store(dst, spec->dtype, i, sum / (double)spec->numel, err);
        if (status != RKB_OK) {
            return status;
        }
    }
    return RKB_OK;
}

/* The first input of the output's shape, else the first input repeated: "return x". */
static rkb_status_t fill_copy(const rkb_trial_t *trial, const rkb_output_spec_t *spec, void *dst,
                              rkb_error_t *err)
{
    const rkb_instance_t *instance = trial->data->instance;
    size_t count = rkb_instance_tensor_count(instance);
    size_t chosen = count;
    for (size_t i = count; i-- > 0;) {
        const rkb_tensor_spec_t *input = rkb_instance_tensor(instance, i);
        if (input->dtype != spec->dtype || input->numel == 0) {
            continue;
        }
        bool same = input->ndim == spec->ndim &&
                    memcmp(input->sizes, spec->sizes, (size_t)spec->ndim * sizeof(int64_t)) == 0;
        bool chosen_same =
            chosen != count && rkb_instance_tensor(instance, chosen)->numel == spec->numel;
        if (same || !chosen_same) {
            chosen = i;
        }
    }
    if (chosen == count) {
        return rkb_error_set(err, RKB_ERR_UNSUPPORTED, "no input has the output's dtype");
    }
    const rkb_tensor_spec_t *input = rkb_instance_tensor(instance, chosen);
    for (size_t at = 0; at < spec->bytes; at += input->bytes) {
        size_t part = spec->bytes - at < input->bytes ? spec->bytes - at : input->bytes;
        memcpy((char *)dst + at, trial->data->tensors[chosen], part);
    }
    return RKB_OK;
}

rkb_status_t rkb_control_output(const char *name, const rkb_trial_t *trial, size_t index, void *dst,
                                rkb_error_t *err)
{
    const rkb_expected_t *expected = &trial->expected.outputs[index];
    if (strcmp(name, "@reference") == 0) {
        memcpy(dst, expected->reference, expected->spec.bytes);
        return RKB_OK;
    }
    if (strcmp(name, "@zeros") == 0) {
        memset(dst, 0, expected->spec.bytes);
        return RKB_OK;
    }
    if (strcmp(name, "@mean") == 0) {
        return fill_mean(expected, dst, err);
    }
    if (strcmp(name, "@copy") == 0) {
        return fill_copy(trial, &expected->spec, dst, err);
    }
    return rkb_error_set(err, RKB_ERR_INVALID, "unknown control %s", name);
}
