#include "evaluator/judge/internal.h"

#include "common/file.h"
#include "evaluator/timing/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Trials are kept between items up to this many bytes, so that a sweep of one task draws its data
 * and runs its references once. */
static const size_t keep_limit = (size_t)1 << 30;

struct rkb_trial_cache {
    const rkb_torch_api_t *torch;
    uint64_t seed;
    int count;
    const rkb_task_t *task;
    rkb_direction_t direction;
    char *config;
    rkb_instance_t *instance;
    rkb_trial_t *trials; /* `count` of them; data is NULL where not made */
    double *seconds;     /* of each reference made so far; 0: not yet */
    double *lowered;
    bool lowered_tried;
    bool keep; /* trials of this selection fit */
};

rkb_trial_cache_t *rkb_trial_cache_create(const rkb_torch_api_t *torch, uint64_t seed, int trials)
{
    rkb_trial_cache_t *cache = rkb_xcalloc(1, sizeof(*cache));
    cache->torch = torch;
    cache->seed = seed;
    cache->count = trials;
    cache->trials = rkb_xcalloc((size_t)trials, sizeof(*cache->trials));
    cache->seconds = rkb_xcalloc((size_t)trials, sizeof(*cache->seconds));
    return cache;
}

static void drop_trial(rkb_trial_t *trial)
{
    if (trial->data != NULL) {
        rkb_expected_release(&trial->expected);
        rkb_trial_destroy(trial->data);
    }
    memset(trial, 0, sizeof(*trial));
}

static void forget(rkb_trial_cache_t *cache)
{
    for (int i = 0; i < cache->count; i++) {
        drop_trial(&cache->trials[i]);
        cache->seconds[i] = 0;
    }
    free(cache->lowered);
    cache->lowered = NULL;
    cache->lowered_tried = false;
    rkb_instance_destroy(cache->instance);
    cache->instance = NULL;
    free(cache->config);
    cache->config = NULL;
    cache->task = NULL;
}

void rkb_trial_cache_destroy(rkb_trial_cache_t *cache)
{
    if (cache == NULL) {
        return;
    }
    forget(cache);
    free(cache->trials);
    free(cache->seconds);
    free(cache);
}

rkb_status_t rkb_trial_cache_select(rkb_trial_cache_t *cache, const rkb_task_t *task,
                                    const char *config, rkb_direction_t direction,
                                    const rkb_instance_t **instance_p, rkb_error_t *err)
{
    if (cache->task == task && cache->direction == direction &&
        strcmp(cache->config, config) == 0) {
        *instance_p = cache->instance;
        return RKB_OK;
    }
    forget(cache);
    rkb_config_t *parsed;
    rkb_status_t status = rkb_task_parse_config(task, config, &parsed, err);
    if (status != RKB_OK) {
        return status;
    }
    rkb_instance_t *instance;
    status = rkb_instance_create(task, parsed, &instance, err);
    rkb_config_destroy(parsed);
    if (status != RKB_OK) {
        return status;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < rkb_instance_tensor_count(instance); i++) {
        bytes += rkb_instance_tensor(instance, i)->bytes;
    }
    /* Outputs are not known yet; references in the task's dtype and in double are at most of the
     * order of three times the inputs in the programs that are worth keeping. */
    cache->keep = bytes < keep_limit / 4 / (size_t)cache->count;
    cache->task = task;
    cache->direction = direction;
    cache->config = rkb_xstrdup(config);
    cache->instance = instance;
    *instance_p = instance;
    return RKB_OK;
}

rkb_status_t rkb_trial_cache_get(rkb_trial_cache_t *cache, int index, const rkb_trial_t **trial_p,
                                 rkb_error_t *err)
{
    rkb_trial_t *trial = &cache->trials[index];
    if (trial->data != NULL) {
        *trial_p = trial;
        return RKB_OK;
    }
    if (!cache->keep) {
        for (int i = 0; i < cache->count; i++) {
            drop_trial(&cache->trials[i]);
        }
    }
    rkb_trial_data_t *data;
    rkb_status_t status = rkb_trial_create(cache->torch, cache->instance, cache->direction,
                                           cache->seed, (unsigned)index, &data, err);
    if (status != RKB_OK) {
        return status;
    }
    status = rkb_reference_run(cache->torch, data, 0, &trial->expected, err);
    if (status != RKB_OK) {
        rkb_trial_destroy(data);
        return status;
    }
    trial->data = data;
    cache->seconds[index] = trial->expected.reference_seconds;
    *trial_p = trial;
    return RKB_OK;
}

static void *lower_copy(const void *src, rkb_dtype_t dtype, int64_t numel, size_t bytes)
{
    void *copy = malloc(bytes != 0 ? bytes : 1);
    if (copy != NULL) {
        memcpy(copy, src, bytes);
        rkb_round_to_lower(copy, dtype, (size_t)numel);
    }
    return copy;
}

/* The oracle of one trial on lowered data; false when memory or an operator failed. */
static bool run_lowered(rkb_trial_cache_t *cache, const rkb_trial_t *trial,
                        rkb_expected_set_t *lowered)
{
    const rkb_trial_data_t *data = trial->data;
    rkb_trial_data_t copy = *data;
    copy.tensors = rkb_xcalloc(data->tensor_count + 1, sizeof(void *));
    copy.grad_outputs = rkb_xcalloc(data->grad_count + 1, sizeof(void *));
    bool ok = true;
    for (size_t i = 0; i < data->tensor_count; i++) {
        const rkb_tensor_spec_t *spec = rkb_instance_tensor(cache->instance, i);
        copy.tensors[i] = lower_copy(data->tensors[i], spec->dtype, spec->numel, spec->bytes);
        ok = ok && copy.tensors[i] != NULL;
    }
    rkb_output_spec_t *specs = NULL;
    size_t count = 0;
    rkb_error_t ignored = RKB_ERROR_INIT;
    if (ok && data->grad_count != 0) {
        ok = rkb_reference_forward_specs(cache->torch, cache->instance, &specs, &count, &ignored) ==
                 RKB_OK &&
             count == data->grad_count;
        for (size_t i = 0; ok && i < count; i++) {
            copy.grad_outputs[i] =
                lower_copy(data->grad_outputs[i], specs[i].dtype, specs[i].numel, specs[i].bytes);
            ok = copy.grad_outputs[i] != NULL;
        }
        free(specs);
    }
    ok = ok && rkb_reference_run(cache->torch, &copy, RKB_REFERENCE_ORACLE_ONLY, lowered,
                                 &ignored) == RKB_OK;
    for (size_t i = 0; i < data->tensor_count; i++) {
        free(copy.tensors[i]);
    }
    for (size_t i = 0; i < data->grad_count; i++) {
        free(copy.grad_outputs[i]);
    }
    free(copy.tensors);
    free(copy.grad_outputs);
    return ok;
}

static bool add_lowered(rkb_trial_cache_t *cache, const rkb_trial_t *trial)
{
    rkb_expected_set_t lowered;
    memset(&lowered, 0, sizeof(lowered));
    if (!run_lowered(cache, trial, &lowered)) {
        return false;
    }
    for (size_t k = 0; k < trial->expected.count && k < lowered.count; k++) {
        const double *exact = trial->expected.outputs[k].oracle;
        const double *rough = lowered.outputs[k].oracle;
        int64_t numel = trial->expected.outputs[k].spec.numel;
        for (int64_t i = 0; exact != NULL && rough != NULL && i < numel; i++) {
            double change = fabs(rough[i] - exact[i]);
            if (change > cache->lowered[k]) {
                cache->lowered[k] = change;
            }
        }
    }
    rkb_expected_release(&lowered);
    return true;
}

const double *rkb_trial_cache_lowered(rkb_trial_cache_t *cache)
{
    if (cache->lowered_tried) {
        return cache->lowered;
    }
    cache->lowered_tried = true;
    /* Few elements need the maximum over all trials; big trials, which are not kept, have many. */
    int count = cache->keep ? cache->count : 1;
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        const rkb_trial_t *trial;
        rkb_error_t ignored = RKB_ERROR_INIT;
        ok = rkb_trial_cache_get(cache, i, &trial, &ignored) == RKB_OK;
        if (ok && cache->lowered == NULL) {
            cache->lowered = rkb_xcalloc(trial->expected.count + 1, sizeof(double));
        }
        ok = ok && add_lowered(cache, trial);
    }
    if (!ok) {
        free(cache->lowered);
        cache->lowered = NULL;
    }
    return cache->lowered;
}

double rkb_trial_cache_baseline_ms(rkb_trial_cache_t *cache)
{
    double *measured = rkb_xcalloc((size_t)cache->count, sizeof(double));
    size_t n = 0;
    for (int i = 0; i < cache->count; i++) {
        if (cache->seconds[i] > 0) {
            measured[n++] = cache->seconds[i];
        }
    }
    double median = rkb_median(measured, n);
    free(measured);
    return median * 1e3;
}
