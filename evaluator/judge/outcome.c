#include "evaluator/judge/internal.h"

#include "common/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool add_text_or_null(cJSON *object, const char *key, const char *text)
{
    return text != NULL && text[0] != '\0' ? rkb_json_add_string(object, key, text)
                                           : cJSON_AddNullToObject(object, key) != NULL;
}

static bool add_double_or_null(cJSON *object, const char *key, double value)
{
    return isfinite(value) ? rkb_json_add_double(object, key, value)
                           : cJSON_AddNullToObject(object, key) != NULL;
}

static bool add_flags(cJSON *result, unsigned flags)
{
    cJSON *array = cJSON_AddArrayToObject(result, "flags");
    bool ok = array != NULL;
    for (int bit = 0; ok && bit < RKB_FLAGS; bit++) {
        if ((flags & (1u << bit)) != 0) {
            ok =
                cJSON_AddItemToArray(array, cJSON_CreateString(rkb_flag_name((rkb_flag_bit_t)bit)));
        }
    }
    return ok;
}

/* A control's outputs and a failed candidate's have no meaningful error. */
static bool add_errors(cJSON *result, const rkb_outcome_t *outcome)
{
    double worst = NAN, ratio = NAN;
    cJSON *outputs = cJSON_AddArrayToObject(result, "outputs");
    bool ok = outputs != NULL;
    for (size_t i = 0; ok && i < outcome->output_count; i++) {
        const rkb_error_stats_t *stats = &outcome->stats[i];
        if (stats->elements == 0) {
            continue;
        }
        double output_ratio = rkb_error_ratio(stats, outcome->dtypes[i]);
        worst = isnan(worst) || stats->max_abs_error > worst ? stats->max_abs_error : worst;
        ratio = isnan(ratio) || output_ratio > ratio ? output_ratio : ratio;
        cJSON *output = cJSON_CreateObject();
        ok = output != NULL && cJSON_AddItemToArray(outputs, output) &&
             rkb_json_add_string(output, "name", outcome->output_names[i]) &&
             add_double_or_null(output, "max_abs_error", stats->max_abs_error) &&
             add_double_or_null(output, "reference_error", stats->reference_error) &&
             add_double_or_null(output, "error_ratio", output_ratio);
    }
    return ok && add_double_or_null(result, "max_abs_error", worst) &&
           add_double_or_null(result, "error_ratio", ratio);
}

cJSON *rkb_outcome_json(const rkb_evaluator_t *evaluator, const rkb_outcome_t *outcome)
{
    const rkb_item_t *item = &outcome->item;
    cJSON *result = cJSON_CreateObject();
    bool ok = result != NULL && rkb_json_add_string(result, "task", item->task_path) &&
              rkb_json_add_string(result, "direction", rkb_direction_name(item->direction)) &&
              rkb_json_add_string(result, "candidate", item->candidate) &&
              add_text_or_null(result, "source", item->source) &&
              add_text_or_null(result, "source_sha256", item->sha256) &&
              rkb_json_add_string(result, "config", item->config) &&
              rkb_json_add_string(result, "dialect", item->source != NULL ? "torch" : "control") &&
              rkb_json_add_string(result, "verdict", rkb_verdict_name(outcome->finding.verdict)) &&
              add_text_or_null(result, "detail", outcome->finding.detail) &&
              add_flags(result, outcome->flags) && add_errors(result, outcome) &&
              add_text_or_null(result, "oracle", outcome->oracle) &&
              rkb_json_add_uint64(result, "seed", evaluator->seed) &&
              rkb_json_add_int64(result, "trials", outcome->trials_done) &&
              add_double_or_null(result, "baseline_ms", outcome->baseline_ms) &&
              add_double_or_null(result, "candidate_ms", outcome->candidate_ms) &&
              cJSON_AddNullToObject(result, "speedup") != NULL &&
              cJSON_AddNullToObject(result, "consistency") != NULL &&
              rkb_json_add_double(result, "compile_s", outcome->compile_seconds) &&
              rkb_json_add_double(result, "eval_s", outcome->eval_seconds) &&
              add_text_or_null(result, "log", outcome->log_path);
    cJSON *delegated = ok ? cJSON_AddArrayToObject(result, "delegated") : NULL;
    ok = ok && delegated != NULL;
    for (unsigned i = 0; ok && i < outcome->delegated_count; i++) {
        ok = cJSON_AddItemToArray(delegated, cJSON_CreateString(outcome->delegated[i]));
    }
    if (ok) {
        cJSON *device = evaluator->device_facts != NULL
                            ? cJSON_GetObjectItemCaseSensitive(evaluator->device_facts, "name")
                            : NULL;
        char *name =
            rkb_strf("%s:%s", evaluator->host, cJSON_IsString(device) ? device->valuestring : "?");
        ok = rkb_json_add_string(result, "device", name);
        free(name);
    }
    if (ok && item->meta != NULL) {
        cJSON *meta = cJSON_Duplicate(item->meta, true);
        ok = meta != NULL && cJSON_AddItemToObject(result, "meta", meta);
    }
    if (!ok) {
        cJSON_Delete(result);
        return NULL;
    }
    return result;
}

void rkb_outcome_release(rkb_outcome_t *outcome)
{
    for (size_t i = 0; outcome->output_names != NULL && i < outcome->output_count; i++) {
        free(outcome->output_names[i]);
    }
    free(outcome->output_names);
    free(outcome->stats);
    free(outcome->dtypes);
    free(outcome->log_path);
    memset(outcome, 0, sizeof(*outcome));
}
