#include "evaluator/judge/discover.h"
#include "evaluator/judge/internal.h"

#include "common/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of a compile job with the light headers, and of one element through one call on the CPU
 * device: only their ratio matters, for the longest-first order. */
static const double compile_cost = 1.5;
static const double element_cost = 40e-9;

typedef struct {
    rkb_evaluator_t *evaluator;
    rkb_plan_sink_fn_t sink;
    void *context;
    rkb_sha256_t *plan_hash;
    int64_t items;
} planner_t;

static bool add_all(cJSON *object, const char *const *pairs)
{
    bool ok = object != NULL;
    for (size_t i = 0; ok && pairs[i] != NULL; i += 2) {
        ok = pairs[i + 1] != NULL ? rkb_json_add_string(object, pairs[i], pairs[i + 1])
                                  : cJSON_AddNullToObject(object, pairs[i]) != NULL;
    }
    return ok;
}

static double item_cost(const rkb_evaluator_t *evaluator, const rkb_instance_t *instance)
{
    double elements = 0;
    for (size_t i = 0; i < rkb_instance_tensor_count(instance); i++) {
        elements += (double)rkb_instance_tensor(instance, i)->numel;
    }
    return compile_cost + elements * element_cost * RKB_CALLS_PER_TRIAL * evaluator->trial_count;
}

static rkb_status_t emit_item(planner_t *planner, const rkb_candidate_t *candidate,
                              const rkb_config_t *config, const char *sha, rkb_error_t *err)
{
    const char *task = rkb_task_path(candidate->task);
    const char *direction = rkb_direction_name(candidate->direction);
    rkb_instance_t *instance;
    rkb_status_t status = rkb_instance_create(candidate->task, config, &instance, err);
    if (status != RKB_OK) {
        return rkb_error_prefix(err, "task %s, config %s", task, rkb_config_name(config));
    }
    double cost = item_cost(planner->evaluator, instance);
    rkb_instance_destroy(instance);

    char *key = rkb_strf("%s %s %s %s", task, direction, candidate->name, rkb_config_name(config));
    char *task_key = rkb_strf("%s %s %s", task, direction, rkb_config_name(config));
    char task_hash[RKB_SHA256_HEX_SIZE];
    cJSON *line = cJSON_CreateObject();
    cJSON *payload = line != NULL ? cJSON_AddObjectToObject(line, "payload") : NULL;
    status = rkb_sha256_buffer(task_key, strlen(task_key), task_hash, err);
    if (status != RKB_OK) {
        goto out;
    }
    task_hash[16] = '\0';
    char candidate_hash[17] = "";
    memcpy(candidate_hash, sha != NULL ? sha : task_hash, 16);
    const char *const payload_pairs[] = {"task",
                                         task,
                                         "direction",
                                         direction,
                                         "candidate",
                                         candidate->name,
                                         "source",
                                         candidate->source,
                                         "source_sha256",
                                         sha,
                                         "config",
                                         rkb_config_name(config),
                                         NULL};
    const char *const line_pairs[] = {"op",           "item", "key",     key, "candidate",
                                      candidate_hash, "task", task_hash, NULL};
    bool ok = payload != NULL && add_all(payload, payload_pairs) && add_all(line, line_pairs) &&
              rkb_json_add_double(line, "cost", cost);
    if (ok && candidate->meta != NULL) {
        cJSON *meta = cJSON_Duplicate(candidate->meta, true);
        ok = meta != NULL && cJSON_AddItemToObject(payload, "meta", meta);
    }
    if (!ok) {
        status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory while planning %s", key);
        goto out;
    }
    rkb_sha256_update_field(planner->plan_hash, key);
    rkb_sha256_update_field(planner->plan_hash, sha != NULL ? sha : "");
    planner->items++;
    status = planner->sink(line, planner->context, err);
out:
    cJSON_Delete(line);
    free(task_key);
    free(key);
    return status;
}

/* *sha_p is "" for a source that cannot be read: its items then say so, each with its cause. */
static const char *hash_source(const rkb_candidate_t *candidate, char sha[RKB_SHA256_HEX_SIZE])
{
    rkb_error_t ignored = RKB_ERROR_INIT;
    if (candidate->source == NULL || rkb_sha256_file(candidate->source, sha, &ignored) != RKB_OK) {
        return NULL;
    }
    return sha;
}

static rkb_status_t plan_candidate(planner_t *planner, const rkb_plan_params_t *params,
                                   rkb_discovery_t *discovery, const rkb_candidate_t *candidate,
                                   rkb_error_t *err)
{
    char sha_buffer[RKB_SHA256_HEX_SIZE];
    const char *sha = hash_source(candidate, sha_buffer);
    if (params->config != NULL) {
        rkb_config_t *config;
        rkb_status_t status = rkb_task_parse_config(candidate->task, params->config, &config, err);
        if (status == RKB_OK) {
            status = emit_item(planner, candidate, config, sha, err);
            rkb_config_destroy(config);
        }
        return status;
    }
    int set = rkb_task_find_config_set(candidate->task, params->configs);
    if (set < 0) {
        rkb_discovery_notice(discovery, "no_configs",
                             candidate->source != NULL ? candidate->source : candidate->name,
                             "task %s has no config set \"%s\"", rkb_task_path(candidate->task),
                             params->configs);
        return RKB_OK;
    }
    size_t count = rkb_task_config_count(candidate->task, (size_t)set, candidate->direction);
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; status == RKB_OK && i < count; i++) {
        const rkb_config_t *config =
            rkb_task_config(candidate->task, (size_t)set, candidate->direction, i);
        bool seen = false;
        for (size_t k = 0; !seen && k < i; k++) {
            seen = strcmp(rkb_config_name(config),
                          rkb_config_name(rkb_task_config(candidate->task, (size_t)set,
                                                          candidate->direction, k))) == 0;
        }
        if (!seen) {
            status = emit_item(planner, candidate, config, sha, err);
        }
    }
    return status;
}

static rkb_status_t emit_notices(planner_t *planner, const rkb_discovery_t *discovery,
                                 rkb_error_t *err)
{
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; status == RKB_OK && i < discovery->notice_count; i++) {
        const rkb_notice_t *notice = &discovery->notices[i];
        const char *const pairs[] = {"op",         "notice", "kind",       notice->kind, "path",
                                     notice->path, "text",   notice->text, NULL};
        cJSON *line = cJSON_CreateObject();
        status = add_all(line, pairs)
                     ? planner->sink(line, planner->context, err)
                     : rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory while planning");
        cJSON_Delete(line);
    }
    return status;
}

static rkb_status_t hash_tasks(const rkb_task_set_t *tasks, char hex[RKB_SHA256_HEX_SIZE],
                               rkb_error_t *err)
{
    rkb_sha256_t *hash;
    rkb_status_t status = rkb_sha256_create(&hash, err);
    if (status != RKB_OK) {
        return status;
    }
    for (size_t i = 0; i < rkb_task_set_count(tasks); i++) {
        rkb_sha256_update_field(hash, rkb_task_path(rkb_task_set_get(tasks, i)));
        rkb_sha256_update_field(hash, rkb_task_sha256(rkb_task_set_get(tasks, i)));
    }
    rkb_sha256_finish(hash, hex);
    rkb_sha256_destroy(hash);
    return RKB_OK;
}

/* A set that no task has is a typing mistake, not a task to leave out. */
static rkb_status_t check_config_set(const rkb_task_set_t *tasks, const char *name,
                                     rkb_error_t *err)
{
    char known[256] = "";
    for (size_t i = 0; i < rkb_task_set_count(tasks); i++) {
        const rkb_task_t *task = rkb_task_set_get(tasks, i);
        if (rkb_task_find_config_set(task, name) >= 0) {
            return RKB_OK;
        }
        for (size_t k = 0; k < rkb_task_config_set_count(task); k++) {
            const char *set = rkb_task_config_set_name(task, k);
            size_t used = strlen(known);
            if (strstr(known, set) == NULL) {
                snprintf(known + used, sizeof(known) - used, "%s%s", used > 0 ? ", " : "", set);
            }
        }
    }
    return rkb_error_set(err, RKB_ERR_NOT_FOUND,
                         "--configs %s: no task has a config set of that name; known are %s", name,
                         known);
}

static rkb_status_t describe_nothing(const rkb_plan_params_t *params,
                                     const rkb_discovery_t *discovery, rkb_error_t *err)
{
    if (discovery->notice_count > 0) {
        return rkb_error_set(err, RKB_ERR_NOT_FOUND,
                             "nothing to judge; %zu files were left out, the first because %s",
                             discovery->notice_count, discovery->notices[0].text);
    }
    if (params->kernel_count == 0 && params->manifest == NULL && !params->samples &&
        !params->controls) {
        return rkb_error_set(err, RKB_ERR_USAGE,
                             "nothing to judge: give --kernels, --manifest, --samples or "
                             "--controls");
    }
    return rkb_error_set(err, RKB_ERR_NOT_FOUND,
                         "nothing to judge: no .cu file was found where it was looked for");
}

rkb_status_t rkb_evaluator_plan(rkb_evaluator_t *evaluator, const rkb_plan_params_t *params,
                                rkb_plan_sink_fn_t sink, void *context, cJSON **done_p,
                                rkb_error_t *err)
{
    rkb_discovery_t discovery = {0};
    planner_t planner = {.evaluator = evaluator, .sink = sink, .context = context};
    char tasks_sha[RKB_SHA256_HEX_SIZE], plan_sha[RKB_SHA256_HEX_SIZE];
    rkb_status_t status = hash_tasks(evaluator->tasks, tasks_sha, err);
    if (status == RKB_OK && params->config == NULL) {
        status = check_config_set(evaluator->tasks, params->configs, err);
    }
    if (status == RKB_OK) {
        status = rkb_sha256_create(&planner.plan_hash, err);
    }
    if (status == RKB_OK) {
        status = rkb_discover(evaluator->tasks, params, &discovery, err);
    }
    for (size_t i = 0; status == RKB_OK && i < discovery.count; i++) {
        status = plan_candidate(&planner, params, &discovery, &discovery.candidates[i], err);
    }
    if (status == RKB_OK && planner.items == 0) {
        status = describe_nothing(params, &discovery, err);
    }
    if (status == RKB_OK) {
        status = emit_notices(&planner, &discovery, err);
    }
    if (status == RKB_OK) {
        rkb_sha256_finish(planner.plan_hash, plan_sha);
        cJSON *done = cJSON_CreateObject();
        const char *const pairs[] = {
            "op", "plan_done", "tasks_sha256", tasks_sha, "plan_sha256", plan_sha, NULL};
        if (!add_all(done, pairs) || !rkb_json_add_int64(done, "items", planner.items)) {
            cJSON_Delete(done);
            status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory while planning");
        } else {
            *done_p = done;
        }
    }
    rkb_sha256_destroy(planner.plan_hash);
    rkb_discovery_release(&discovery);
    return status;
}
