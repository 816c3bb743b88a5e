#include "evaluator/judge/internal.h"

#include "common/file.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

uint64_t rkb_seed_fresh(void)
{
    uint64_t seed = 0;
    while (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
    }
    return seed >> 11; /* 53 bits: an exact JSON number everywhere */
}

rkb_status_t rkb_evaluator_create(const rkb_evaluator_params_t *params, rkb_evaluator_t **out,
                                  rkb_error_t *err)
{
    if (params->trials < 0 || params->trials > RKB_TRIALS_MAX) {
        return rkb_error_set(err, RKB_ERR_USAGE, "trials: %d is not in 1..%d", params->trials,
                             RKB_TRIALS_MAX);
    }
    rkb_evaluator_t *evaluator = rkb_xcalloc(1, sizeof(*evaluator));
    evaluator->seed = params->seed;
    evaluator->trial_count = params->trials != 0 ? params->trials : RKB_TRIALS_DEFAULT;
    evaluator->timeout = params->timeout > 0 ? params->timeout : 30;
    evaluator->idle_fd = -1;
    evaluator->log_dir = params->log_dir != NULL ? rkb_xstrdup(params->log_dir) : NULL;
    if (gethostname(evaluator->host, sizeof(evaluator->host) - 1) != 0) {
        strcpy(evaluator->host, "localhost");
    }
    char *installed = NULL;
    const char *tasks = params->tasks;
    rkb_status_t status = RKB_OK;
    if (tasks == NULL) {
        installed = rkb_install_path("tasks", err);
        tasks = installed;
        status = installed == NULL ? RKB_ERR_NOT_FOUND : RKB_OK;
    }
    if (status == RKB_OK) {
        status = rkb_task_set_load(tasks, &evaluator->tasks, err);
    }
    free(installed);
    if (status == RKB_OK) {
        status = rkb_device_select(params->device, &evaluator->device_ops, err);
    }
    if (status == RKB_OK) {
        status = evaluator->device_ops->open(params->local_rank, &evaluator->device, err);
    }
    if (status == RKB_OK) {
        evaluator->device_facts = evaluator->device_ops->describe(evaluator->device);
        status = rkb_torch_load(&evaluator->torch, err);
    }
    if (status == RKB_OK) {
        rkb_compile_options_t options = {
            .cache_dir = params->cache_dir,
            .flags = params->cxx_flags,
            .timeout = params->compile_timeout,
            .sanitize = params->sanitize,
        };
        status = rkb_compiler_create(&options, &evaluator->compiler, err);
    }
    if (status == RKB_OK) {
        status = rkb_cell_pool_create(&evaluator->cells, err);
    }
    if (status != RKB_OK) {
        rkb_evaluator_destroy(evaluator);
        return status;
    }
    evaluator->trials =
        rkb_trial_cache_create(evaluator->torch, evaluator->seed, evaluator->trial_count);
    *out = evaluator;
    return RKB_OK;
}

void rkb_evaluator_destroy(rkb_evaluator_t *evaluator)
{
    if (evaluator == NULL) {
        return;
    }
    rkb_trial_cache_destroy(evaluator->trials);
    rkb_cell_pool_destroy(evaluator->cells);
    rkb_compiler_destroy(evaluator->compiler);
    if (evaluator->device_ops != NULL) {
        evaluator->device_ops->close(evaluator->device);
    }
    cJSON_Delete(evaluator->device_facts);
    rkb_task_set_destroy(evaluator->tasks);
    free(evaluator->log_dir);
    free(evaluator);
}

cJSON *rkb_evaluator_facts(const rkb_evaluator_t *evaluator)
{
    cJSON *facts = cJSON_CreateObject();
    cJSON *device = cJSON_Duplicate(evaluator->device_facts, true);
    bool ok = facts != NULL && device != NULL &&
              rkb_json_add_int64(facts, "protocol", RKB_SERVE_PROTOCOL) &&
              rkb_json_add_string(facts, "version", RKB_VERSION) &&
              rkb_json_add_string(facts, "host", evaluator->host) &&
              rkb_json_add_string(facts, "compiler", rkb_compiler_version(evaluator->compiler)) &&
              rkb_json_add_string(facts, "cxx_flags", rkb_compiler_flags(evaluator->compiler)) &&
              rkb_json_add_string(facts, "torch", evaluator->torch->torch_version) &&
              cJSON_AddItemToObject(facts, "device", device);
    if (!ok) {
        cJSON_Delete(facts);
        return NULL;
    }
    return facts;
}

void rkb_evaluator_set_idle(rkb_evaluator_t *evaluator, int fd, rkb_idle_fn_t idle, void *context)
{
    evaluator->idle_fd = fd;
    evaluator->idle = idle;
    evaluator->idle_context = context;
}

rkb_status_t rkb_item_parse(const rkb_task_set_t *tasks, const cJSON *payload, rkb_item_t *out,
                            rkb_error_t *err)
{
    rkb_json_at_t root = rkb_json_root(payload), at;
    const char *direction;
    memset(out, 0, sizeof(*out));
    out->task_path = out->candidate = out->config = "";
    rkb_status_t status = rkb_json_expect_object(&root, err);
    if (status == RKB_OK) {
        status = rkb_json_get_string(&root, "task", &out->task_path, err);
    }
    if (status == RKB_OK) {
        status = rkb_json_get_string(&root, "candidate", &out->candidate, err);
    }
    if (status == RKB_OK) {
        status = rkb_json_get_string(&root, "config", &out->config, err);
    }
    if (status == RKB_OK) {
        status = rkb_json_get_string(&root, "direction", &direction, err);
    }
    if (status == RKB_OK) {
        status = rkb_direction_parse(direction, &out->direction, err);
    }
    const struct {
        const char *key;
        const char **field;
    } optional[] = {{"source", &out->source}, {"source_sha256", &out->sha256}};
    for (size_t i = 0; status == RKB_OK && i < 2; i++) {
        status = rkb_json_optional(&root, optional[i].key, &at, err);
        if (status == RKB_OK && at.node != NULL && !cJSON_IsNull(at.node)) {
            status = rkb_json_as_string(&at, optional[i].field, err);
        }
    }
    if (status == RKB_OK) {
        out->meta = cJSON_GetObjectItemCaseSensitive(payload, "meta");
        status = rkb_task_set_find(tasks, out->task_path, &out->task, err);
    }
    return status;
}

bool rkb_item_is_control(const rkb_item_t *item)
{
    return item->source == NULL && rkb_control_known(item->candidate);
}
