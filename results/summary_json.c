#include "results/summary.h"

#include <math.h>
#include <stddef.h>

static uint64_t counted(const rkb_summary_t *summary)
{
    return summary->items - summary->ours;
}

double rkb_summary_correct_rate(const rkb_summary_t *summary)
{
    return counted(summary) ? (double)summary->ok / (double)counted(summary) : NAN;
}

double rkb_summary_fast(const rkb_summary_t *summary, int threshold)
{
    if (summary->timed == 0)
        return NAN;
    return (double)summary->fast[threshold] / (double)counted(summary);
}

const char *rkb_summary_text(const rkb_summary_t *summary, const char *key)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(summary->context, key);
    return cJSON_IsString(node) ? node->valuestring : "";
}

static bool add_tally(cJSON *object, const char *key, const rkb_tally_t *tally)
{
    cJSON *counts = cJSON_AddObjectToObject(object, key);
    bool ok = counts != NULL;
    for (size_t i = 0; ok && i < tally->used; i++) {
        if (tally->rows[i].count > 0)
            ok = rkb_json_add_uint64(counts, tally->rows[i].word, tally->rows[i].count);
    }
    return ok;
}

cJSON *rkb_summary_json(const rkb_summary_t *summary)
{
    cJSON *json = cJSON_CreateObject();
    bool ok = json && rkb_json_add_uint64(json, "items", summary->items);
    if (ok && summary->planned >= 0) {
        int64_t unjudged = summary->planned - (int64_t)summary->items;
        ok = rkb_json_add_int64(json, "planned", summary->planned) &&
             rkb_json_add_int64(json, "unjudged", unjudged > 0 ? unjudged : 0);
    } else if (ok) {
        ok = cJSON_AddNullToObject(json, "planned") && cJSON_AddNullToObject(json, "unjudged");
    }
    ok = ok && rkb_json_add_uint64(json, "infrastructure", summary->ours) &&
         rkb_json_add_uint64(json, "expected", summary->expected) &&
         rkb_json_add_uint64(json, "unexpected", summary->unexpected) &&
         add_tally(json, "by_verdict", &summary->verdicts) &&
         add_tally(json, "by_flag", &summary->flags) &&
         add_tally(json, "by_consistency", &summary->classes) &&
         rkb_json_add_double(json, "correct_rate", rkb_summary_correct_rate(summary));
    cJSON *fast = ok ? cJSON_AddObjectToObject(json, "fast_p") : NULL;
    ok = fast != NULL;
    for (int i = 0; ok && i < RKB_FAST_COUNT; i++)
        ok = rkb_json_add_double(fast, rkb_fast_keys[i], rkb_summary_fast(summary, i));
    cJSON *geomean = ok ? cJSON_AddObjectToObject(json, "geomean_speedup") : NULL;
    ok = geomean && rkb_json_add_double(geomean, "value", summary->geomean.value) &&
         rkb_json_add_double(geomean, "lo", summary->geomean.lo) &&
         rkb_json_add_double(geomean, "hi", summary->geomean.hi) &&
         rkb_json_add_uint64(json, "timed_items", summary->timed);
    if (ok)
        return json;
    cJSON_Delete(json);
    return NULL;
}
