/**
 * @file internal.h
 * What the parts of the judge share. Nothing here is used outside evaluator/judge/.
 */
#ifndef RKB_JUDGE_INTERNAL_H
#define RKB_JUDGE_INTERNAL_H

#include "common/hash.h"
#include "evaluator/candidate/compile.h"
#include "evaluator/cell/cell_host.h"
#include "evaluator/device/device.h"
#include "evaluator/reference/reference.h"
#include "evaluator/rkb.h"
#include "evaluator/task/task.h"
#include "evaluator/verify/verify.h"

enum {
    RKB_SOURCE_MAX = 4 << 20, /* bytes of one candidate source */
    RKB_CALLS_PER_TRIAL = 2,  /* on fresh poison; different bits: nondeterministic */
    RKB_TRIALS_DEFAULT = 5,
    RKB_TRIALS_MAX = 1000
};

/** Inputs and expected outputs of one trial. Owned by the cache. */
typedef struct {
    rkb_trial_data_t *data;
    rkb_expected_set_t expected;
} rkb_trial_t;

/**
 * Trials of one (task, config, direction), kept while the next item asks for the same: the
 * scheduler's affinity makes that likely. Big trials are not kept but made again.
 */
typedef struct rkb_trial_cache rkb_trial_cache_t;

rkb_trial_cache_t *rkb_trial_cache_create(const rkb_torch_api_t *torch, uint64_t seed, int trials);
void rkb_trial_cache_destroy(rkb_trial_cache_t *cache);
/** Selects what the next calls are about; keeps what fits. */
rkb_status_t rkb_trial_cache_select(rkb_trial_cache_t *cache, const rkb_task_t *task,
                                    const char *config, rkb_direction_t direction,
                                    const rkb_instance_t **instance_p, rkb_error_t *err);
/** Trial `index`; valid until the next call. */
rkb_status_t rkb_trial_cache_get(rkb_trial_cache_t *cache, int index, const rkb_trial_t **trial_p,
                                 rkb_error_t *err);
/**
 * Per output: worst change of the oracle, over the trials, when inputs are rounded to the
 * next lower precision (rkb_round_to_lower): what such arithmetic costs at least. Valid until the
 * next select. NULL when it could not be computed.
 */
const double *rkb_trial_cache_lowered(rkb_trial_cache_t *cache);
/** Median wall time of libtorch's program in the task's dtype, milliseconds. */
double rkb_trial_cache_baseline_ms(rkb_trial_cache_t *cache);

struct rkb_evaluator {
    const rkb_device_ops_t *device_ops;
    rkb_device_t *device;
    cJSON *device_facts;
    const rkb_torch_api_t *torch;
    rkb_task_set_t *tasks;
    rkb_compiler_t *compiler;
    rkb_cell_pool_t *cells;
    rkb_trial_cache_t *trials;
    uint64_t seed;
    int trial_count;
    double timeout;
    char *log_dir;
    char host[256];
    rkb_idle_fn_t idle;
    void *idle_context;
    int idle_fd;
};

/** An item's payload, checked. Strings are borrowed from the JSON. */
typedef struct {
    const rkb_task_t *task;
    rkb_direction_t direction;
    const char *task_path, *candidate, *source, *sha256, *config;
    const cJSON *meta; /* may be NULL */
} rkb_item_t;

rkb_status_t rkb_item_parse(const rkb_task_set_t *tasks, const cJSON *payload, rkb_item_t *out,
                            rkb_error_t *err);
/** Built-in controls are named "@…" and have no source. */
bool rkb_item_is_control(const rkb_item_t *item);
bool rkb_control_known(const char *name);
/** Names of the controls, NULL-terminated. */
const char *const *rkb_control_names(void);
/**
 * Writes the control's answer for output `index` of a trial to dst (spec.bytes, the output's
 * dtype). RKB_ERR_UNSUPPORTED when the control has none (@copy without an input of that dtype,
 * @mean of a single element, which would be the answer itself).
 */
rkb_status_t rkb_control_output(const char *name, const rkb_trial_t *trial, size_t index, void *dst,
                                rkb_error_t *err);

/** Everything that is learned about an item on its way; starts zeroed, becomes the result. */
typedef struct {
    rkb_item_t item;
    rkb_finding_t finding;
    unsigned flags;
    double compile_seconds, eval_seconds;
    double baseline_ms, candidate_ms; /* NAN: not measured */
    int trials_done;
    size_t output_count;
    rkb_error_stats_t *stats; /* per output */
    rkb_dtype_t *dtypes;
    char **output_names;
    char delegated[8][RKB_CELL_NAME];
    unsigned delegated_count;
    char *log_path;
    char oracle[16];
} rkb_outcome_t;

cJSON *rkb_outcome_json(const rkb_evaluator_t *evaluator, const rkb_outcome_t *outcome);
void rkb_outcome_release(rkb_outcome_t *outcome);

#endif
