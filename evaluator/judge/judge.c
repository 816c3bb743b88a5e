#include "evaluator/judge/call.h"
#include "evaluator/judge/internal.h"

#include "common/clock.h"
#include "common/file.h"
#include "common/log.h"
#include "evaluator/timing/stats.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Quiet NaNs in every float format, different in the two calls of a trial, so that memory which was
 * never written shows as different bits too. */
static const uint32_t call_poison[RKB_CALLS_PER_TRIAL] = {0x7fdaffd5u, 0x7fc5ffc3u};

/* Everything at hand while one item is judged. */
typedef struct {
    rkb_evaluator_t *evaluator;
    const cJSON *payload;
    rkb_outcome_t outcome;
    char *text; /* the source */
    size_t text_len;
    rkb_compile_job_t *job;
    const rkb_instance_t *instance;
    rkb_bench_t *bench;
    rkb_cell_t *cell;
    double *call_seconds;
    int call_count;
} judge_t;

static rkb_verdict_t fail(judge_t *judge, rkb_verdict_t verdict, const rkb_error_t *err)
{
    return rkb_finding_set(&judge->outcome.finding, verdict, "%s", err->text);
}

static rkb_verdict_t step_parse(judge_t *judge)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_item_parse(judge->evaluator->tasks, judge->payload, &judge->outcome.item, &err) !=
        RKB_OK) {
        rkb_error_prefix(&err, "the item cannot be read");
        return fail(judge, RKB_VERDICT_INFRA_ERROR, &err);
    }
    if (judge->outcome.item.source == NULL && !rkb_item_is_control(&judge->outcome.item)) {
        return rkb_finding_set(&judge->outcome.finding, RKB_VERDICT_INFRA_ERROR,
                               "the item has neither a source nor the name of a control");
    }
    return RKB_VERDICT_OK;
}

static rkb_verdict_t step_source(judge_t *judge)
{
    const rkb_item_t *item = &judge->outcome.item;
    if (rkb_item_is_control(item)) {
        return RKB_VERDICT_OK;
    }
    rkb_error_t err = RKB_ERROR_INIT;
    char sha[RKB_SHA256_HEX_SIZE];
    if (rkb_file_read(item->source, RKB_SOURCE_MAX, &judge->text, &judge->text_len, &err) !=
            RKB_OK ||
        rkb_sha256_buffer(judge->text, judge->text_len, sha, &err) != RKB_OK) {
        return fail(judge, RKB_VERDICT_INFRA_ERROR, &err);
    }
    if (item->sha256 != NULL && strcmp(sha, item->sha256) != 0) {
        return rkb_finding_set(&judge->outcome.finding, RKB_VERDICT_INFRA_ERROR,
                               "%s was changed after the sweep was planned: it was %.12s… and is "
                               "%.12s…",
                               item->source, item->sha256, sha);
    }
    if (item->sha256 == NULL) {
        return rkb_finding_set(&judge->outcome.finding, RKB_VERDICT_INFRA_ERROR,
                               "%s could not be read when the sweep was planned", item->source);
    }
    return RKB_VERDICT_OK;
}

/* The job ends by its own limit, so this wait is bounded. */
static rkb_compile_state_t wait_for_job(rkb_evaluator_t *evaluator, rkb_compile_job_t *job)
{
    rkb_compile_state_t state;
    while ((state = rkb_compile_job_poll(job)) == RKB_COMPILE_RUNNING) {
        struct pollfd fds[2] = {{.fd = rkb_compile_job_fd(job), .events = POLLIN},
                                {.fd = evaluator->idle_fd, .events = POLLIN}};
        (void)poll(fds, evaluator->idle_fd >= 0 ? 2 : 1, 100);
        if (evaluator->idle != NULL && evaluator->idle_fd >= 0 && fds[1].revents != 0) {
            evaluator->idle(evaluator->idle_context);
        }
    }
    return state;
}

/* <log_dir>/<candidate hash>/compile.log; failing to keep a log costs nothing but the log. */
static void keep_log(judge_t *judge)
{
    const char *log = rkb_compile_job_log(judge->job);
    const char *folder = judge->evaluator->log_dir;
    if (folder == NULL || log == NULL || log[0] == '\0') {
        return;
    }
    rkb_error_t err = RKB_ERROR_INIT;
    char *dir = rkb_strf("%s/%.16s", folder, judge->outcome.item.sha256);
    char *path = rkb_strf("%s/compile.log", dir);
    if (rkb_file_make_dirs(dir, &err) == RKB_OK &&
        rkb_file_write_atomic(path, log, strlen(log), &err) == RKB_OK) {
        judge->outcome.log_path = path;
        path = NULL;
    } else {
        rkb_warn("compile log is not kept: %s", err.text);
    }
    free(path);
    free(dir);
}

static const rkb_verdict_t compile_verdicts[] = {
    [RKB_COMPILE_DONE] = RKB_VERDICT_OK,
    [RKB_COMPILE_FAILED] = RKB_VERDICT_COMPILE_ERROR,
    [RKB_COMPILE_TIMED_OUT] = RKB_VERDICT_COMPILE_TIMEOUT,
    [RKB_COMPILE_UNSUPPORTED] = RKB_VERDICT_UNSUPPORTED,
    [RKB_COMPILE_BROKEN] = RKB_VERDICT_INFRA_ERROR,
};

static rkb_verdict_t step_compile(judge_t *judge)
{
    if (judge->text == NULL) {
        return RKB_VERDICT_OK;
    }
    judge->job = rkb_compiler_start(judge->evaluator->compiler, judge->outcome.item.candidate,
                                    judge->text, judge->text_len);
    rkb_compile_state_t state = wait_for_job(judge->evaluator, judge->job);
    judge->outcome.compile_seconds = rkb_compile_job_take_seconds(judge->job);
    if (state == RKB_COMPILE_DONE) {
        return RKB_VERDICT_OK;
    }
    keep_log(judge);
    return rkb_finding_set(&judge->outcome.finding, compile_verdicts[state], "%s",
                           rkb_compile_job_message(judge->job));
}

static rkb_verdict_t step_reference(judge_t *judge)
{
    const rkb_item_t *item = &judge->outcome.item;
    rkb_trial_cache_t *cache = judge->evaluator->trials;
    rkb_outcome_t *outcome = &judge->outcome;
    const rkb_trial_t *trial;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_trial_cache_select(cache, item->task, item->config, item->direction, &judge->instance,
                               &err) != RKB_OK ||
        rkb_trial_cache_get(cache, 0, &trial, &err) != RKB_OK) {
        return fail(judge, RKB_VERDICT_REFERENCE_ERROR, &err);
    }
    size_t count = trial->expected.count;
    outcome->output_count = count;
    outcome->stats = rkb_xcalloc(count + 1, sizeof(*outcome->stats));
    outcome->dtypes = rkb_xcalloc(count + 1, sizeof(*outcome->dtypes));
    outcome->output_names = rkb_xcalloc(count + 1, sizeof(*outcome->output_names));
    snprintf(outcome->oracle, sizeof(outcome->oracle), "%s",
             trial->expected.oracle_float64 ? "float64" : "float32");
    for (size_t i = 0; i < count; i++) {
        outcome->dtypes[i] = trial->expected.outputs[i].spec.dtype;
        outcome->output_names[i] = rkb_xstrdup(trial->expected.outputs[i].spec.name);
    }
    if (judge->evaluator->device_ops->emulated) {
        outcome->flags |= RKB_FLAG(EMULATED);
    }
    return RKB_VERDICT_OK;
}

static rkb_verdict_t step_load(judge_t *judge)
{
    if (judge->job == NULL) {
        return RKB_VERDICT_OK;
    }
    rkb_evaluator_t *evaluator = judge->evaluator;
    const rkb_trial_t *trial;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_trial_cache_get(evaluator->trials, 0, &trial, &err) != RKB_OK ||
        rkb_bench_create(evaluator, judge->instance, judge->outcome.item.direction, trial,
                         &judge->bench, &err) != RKB_OK ||
        rkb_cell_pool_take(evaluator->cells, &judge->cell, &err) != RKB_OK) {
        return fail(judge, RKB_VERDICT_INFRA_ERROR, &err);
    }
    rkb_cell_loaded_t loaded;
    rkb_cell_fate_t fate;
    const char *entry = rkb_direction_name(judge->outcome.item.direction);
    if (rkb_cell_load(judge->cell, rkb_compile_job_path(judge->job), entry,
                      rkb_bench_fd(judge->bench), rkb_bench_bytes(judge->bench),
                      rkb_clock_now() + evaluator->timeout, &loaded, &fate) != RKB_FATE_OK) {
        return rkb_cell_fate_verdict(&fate, RKB_DURING_LOAD, &judge->outcome.finding);
    }
    if (loaded.status != RKB_LOADED_OK) {
        return rkb_finding_set(&judge->outcome.finding,
                               loaded.status == RKB_LOADED_NO_ENTRY ? RKB_VERDICT_NO_ENTRY
                                                                    : RKB_VERDICT_LOAD_ERROR,
                               "%s", loaded.text);
    }
    return RKB_VERDICT_OK;
}

static void note_delegated(rkb_outcome_t *outcome, const rkb_cell_returned_t *returned)
{
    if (returned->ndelegated == 0) {
        return;
    }
    outcome->flags |= RKB_FLAG(DELEGATED);
    if (outcome->delegated_count == 0) {
        outcome->delegated_count = returned->ndelegated < 8 ? returned->ndelegated : 8;
        memcpy(outcome->delegated, returned->delegated, sizeof(outcome->delegated));
    }
}

static rkb_verdict_t compare_outputs(judge_t *judge, const rkb_trial_t *trial,
                                     const rkb_snapshot_t *snapshot, uint32_t poison)
{
    rkb_outcome_t *outcome = &judge->outcome;
    double atol, rtol;
    rkb_instance_tolerance(judge->instance, outcome->item.direction, &atol, &rtol);
    size_t input_count = trial->data->tensor_count;
    rkb_named_array_t *inputs = rkb_xcalloc(input_count + 1, sizeof(*inputs));
    for (size_t i = 0; i < input_count; i++) {
        const rkb_tensor_spec_t *spec = rkb_instance_tensor(judge->instance, i);
        inputs[i].name = spec->name;
        inputs[i].data = trial->data->tensors[i];
        inputs[i].dtype = spec->dtype;
        inputs[i].numel = spec->numel;
    }
    rkb_verdict_t verdict = RKB_VERDICT_OK;
    for (size_t i = 0; verdict == RKB_VERDICT_OK && i < snapshot->count; i++) {
        const rkb_expected_t *expected = &trial->expected.outputs[i];
        rkb_compare_spec_t spec = {
            .spec = &expected->spec,
            .reference = expected->reference,
            .oracle = expected->oracle,
            .atol = atol,
            .rtol = rtol,
            .inputs = inputs,
            .input_count = input_count,
        };
        verdict = rkb_check_values(&spec, &snapshot->views[i], poison, &outcome->stats[i],
                                   &outcome->finding);
    }
    free(inputs);
    return verdict;
}

/* Bits of the elements, whatever the strides: the same values in another layout are the same. */
static bool same_bits(const rkb_snapshot_t *a, const rkb_snapshot_t *b, const rkb_trial_t *trial)
{
    for (size_t k = 0; k < a->count; k++) {
        const rkb_output_view_t *x = &a->views[k], *y = &b->views[k];
        const rkb_output_spec_t *spec = &trial->expected.outputs[k].spec;
        size_t size = spec->numel > 0 ? spec->bytes / (size_t)spec->numel : 0;
        int64_t index[RKB_MAX_DIMS] = {0};
        for (int64_t n = 0; n < spec->numel; n++) {
            int64_t at_x = 0, at_y = 0;
            for (int d = 0; d < spec->ndim; d++) {
                at_x += index[d] * x->strides[d];
                at_y += index[d] * y->strides[d];
            }
            if (memcmp((const char *)x->base + (size_t)at_x * size,
                       (const char *)y->base + (size_t)at_y * size, size) != 0) {
                return false;
            }
            for (int d = spec->ndim - 1; d >= 0 && ++index[d] == spec->sizes[d]; d--) {
                index[d] = 0;
            }
        }
    }
    return true;
}

static rkb_verdict_t run_trial(judge_t *judge, int number, const rkb_trial_t *trial)
{
    rkb_evaluator_t *evaluator = judge->evaluator;
    rkb_snapshot_t snapshots[RKB_CALLS_PER_TRIAL] = {{0}};
    rkb_cell_returned_t *returned = rkb_xcalloc(1, sizeof(*returned));
    rkb_verdict_t verdict = RKB_VERDICT_OK;
    for (int c = 0; verdict == RKB_VERDICT_OK && c < RKB_CALLS_PER_TRIAL; c++) {
        uint64_t call_seed = rkb_mix64(
            evaluator->seed ^ rkb_mix64((uint64_t)number * RKB_CALLS_PER_TRIAL + (uint64_t)c));
        double seconds;
        verdict = rkb_bench_call(judge->bench, judge->cell, trial, call_seed, call_poison[c],
                                 rkb_clock_now() + evaluator->timeout, returned, &seconds,
                                 &snapshots[c], &judge->outcome.finding);
        if (verdict != RKB_VERDICT_OK) {
            break;
        }
        judge->call_seconds[judge->call_count++] = seconds;
        note_delegated(&judge->outcome, returned);
        verdict = compare_outputs(judge, trial, &snapshots[c], call_poison[c]);
    }
    if (verdict == RKB_VERDICT_OK && !same_bits(&snapshots[0], &snapshots[1], trial)) {
        judge->outcome.flags |= RKB_FLAG(NONDETERMINISTIC);
    }
    for (int c = 0; c < RKB_CALLS_PER_TRIAL; c++) {
        rkb_snapshot_release(&snapshots[c]);
    }
    free(returned);
    return verdict;
}

/* A control answers from the trial itself; its values are checked like any candidate's. */
static rkb_verdict_t run_control(judge_t *judge, const rkb_trial_t *trial)
{
    size_t count = trial->expected.count;
    rkb_snapshot_t snapshot = {.count = count};
    snapshot.views = rkb_xcalloc(count + 1, sizeof(*snapshot.views));
    snapshot.bytes = rkb_xcalloc(count + 1, sizeof(*snapshot.bytes));
    rkb_verdict_t verdict = RKB_VERDICT_OK;
    for (size_t i = 0; verdict == RKB_VERDICT_OK && i < count; i++) {
        const rkb_output_spec_t *spec = &trial->expected.outputs[i].spec;
        rkb_output_view_t *view = &snapshot.views[i];
        rkb_error_t err = RKB_ERROR_INIT;
        snapshot.bytes[i] = malloc(spec->bytes != 0 ? spec->bytes : 1);
        view->base = snapshot.bytes[i];
        view->dtype = spec->dtype;
        view->ndim = spec->ndim;
        int64_t stride = 1;
        for (int d = spec->ndim - 1; d >= 0; d--) {
            view->sizes[d] = spec->sizes[d];
            view->strides[d] = stride;
            stride *= spec->sizes[d];
        }
        if (snapshot.bytes[i] == NULL) {
            rkb_error_set(&err, RKB_ERR_NO_MEMORY, "no %zu bytes for a control", spec->bytes);
            verdict = fail(judge, RKB_VERDICT_INFRA_ERROR, &err);
        } else if (rkb_control_output(judge->outcome.item.candidate, trial, i, snapshot.bytes[i],
                                      &err) != RKB_OK) {
            verdict = fail(judge, RKB_VERDICT_UNSUPPORTED, &err);
        }
    }
    if (verdict == RKB_VERDICT_OK) {
        verdict = compare_outputs(judge, trial, &snapshot, call_poison[0]);
    }
    rkb_snapshot_release(&snapshot);
    return verdict;
}

static rkb_verdict_t step_trials(judge_t *judge)
{
    rkb_evaluator_t *evaluator = judge->evaluator;
    judge->call_seconds = rkb_xcalloc((size_t)evaluator->trial_count * RKB_CALLS_PER_TRIAL,
                                      sizeof(*judge->call_seconds));
    rkb_verdict_t verdict = RKB_VERDICT_OK;
    for (int i = 0; verdict == RKB_VERDICT_OK && i < evaluator->trial_count; i++) {
        const rkb_trial_t *trial;
        rkb_error_t err = RKB_ERROR_INIT;
        if (rkb_trial_cache_get(evaluator->trials, i, &trial, &err) != RKB_OK) {
            return fail(judge, RKB_VERDICT_REFERENCE_ERROR, &err);
        }
        verdict = judge->job != NULL ? run_trial(judge, i, trial) : run_control(judge, trial);
        judge->outcome.trials_done = i + 1;
    }
    return verdict;
}

static rkb_verdict_t step_ratio(judge_t *judge)
{
    rkb_outcome_t *outcome = &judge->outcome;
    const double *lowered = rkb_trial_cache_lowered(judge->evaluator->trials);
    for (size_t i = 0; i < outcome->output_count; i++) {
        outcome->stats[i].lowered_error = lowered != NULL ? lowered[i] : 0;
        rkb_verdict_t verdict =
            rkb_check_ratio(outcome->output_names[i], &outcome->stats[i], outcome->dtypes[i],
                            &outcome->flags, &outcome->finding);
        if (verdict != RKB_VERDICT_OK) {
            return verdict;
        }
    }
    return RKB_VERDICT_OK;
}

/* The life of an item: each step in order, until one has a verdict other than ok. */
static const struct {
    const char *name;
    rkb_verdict_t (*run)(judge_t *judge);
} steps[] = {
    {"parse", step_parse},         {"source", step_source}, {"compile", step_compile},
    {"reference", step_reference}, {"load", step_load},     {"trials", step_trials},
    {"ratio", step_ratio},
};

cJSON *rkb_evaluator_judge(rkb_evaluator_t *evaluator, const cJSON *payload)
{
    judge_t judge = {.evaluator = evaluator, .payload = payload};
    rkb_outcome_t *outcome = &judge.outcome;
    outcome->baseline_ms = outcome->candidate_ms = NAN;
    outcome->item.task_path = outcome->item.candidate = outcome->item.config = "";
    double start = rkb_clock_now();
    rkb_verdict_t verdict = RKB_VERDICT_OK;
    for (size_t i = 0; verdict == RKB_VERDICT_OK && i < sizeof(steps) / sizeof(steps[0]); i++) {
        rkb_debug("%s: %s", outcome->item.candidate, steps[i].name);
        verdict = steps[i].run(&judge);
    }
    outcome->finding.verdict = verdict;
    if (verdict == RKB_VERDICT_OK) {
        outcome->finding.detail[0] = '\0';
        outcome->baseline_ms = rkb_trial_cache_baseline_ms(evaluator->trials);
        outcome->candidate_ms = rkb_median(judge.call_seconds, (size_t)judge.call_count) * 1e3;
    }
    rkb_cell_destroy(judge.cell);
    rkb_bench_destroy(judge.bench);
    outcome->eval_seconds = rkb_clock_now() - start;
    cJSON *result = rkb_outcome_json(evaluator, outcome);
    rkb_outcome_release(outcome);
    free(judge.call_seconds);
    free(judge.text);
    return result;
}

void rkb_evaluator_prepare(rkb_evaluator_t *evaluator, const cJSON *payload)
{
    rkb_item_t item;
    rkb_error_t ignored = RKB_ERROR_INIT;
    char *text;
    size_t len;
    if (rkb_item_parse(evaluator->tasks, payload, &item, &ignored) != RKB_OK ||
        item.source == NULL ||
        rkb_file_read(item.source, RKB_SOURCE_MAX, &text, &len, &ignored) != RKB_OK) {
        return;
    }
    (void)rkb_compiler_start(evaluator->compiler, item.candidate, text, len);
    free(text);
}
