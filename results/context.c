#include "results/summary.h"

#include "common/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUN_SCHEMA "rkb-run/1"

rkb_status_t rkb_run_load(const char *folder, cJSON **out, rkb_error_t *err)
{
    char *path = rkb_strf("%s/run.json", folder);
    cJSON *run = NULL;
    rkb_status_t status = rkb_file_exists(path) ? rkb_json_load(path, &run, err) : RKB_OK;
    if (status == RKB_OK && run) {
        rkb_json_at_t root = rkb_json_root(run);
        const char *schema;
        status = rkb_json_get_string(&root, "schema", &schema, err);
        if (status != RKB_OK)
            rkb_error_prefix(err, "%s", path);
        else if (strcmp(schema, RUN_SCHEMA) != 0)
            status = rkb_error_set(err, RKB_ERR_INVALID, "%s: schema is %s; this rkb reads %s",
                                   path, schema, RUN_SCHEMA);
    }
    free(path);
    if (status != RKB_OK) {
        cJSON_Delete(run);
        return status;
    }
    *out = run;
    return RKB_OK;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(word, *words) == 0)
            return true;
    }
    return false;
}

/* Members of `from` that `to` lacks, but for those named in `without`. */
static bool add_missing(cJSON *to, const cJSON *from, const char *const *without)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, from)
    {
        if (is_one_of(member->string, without) ||
            cJSON_GetObjectItemCaseSensitive(to, member->string))
            continue;
        cJSON *copy = cJSON_Duplicate(member, true);
        if (!copy || !cJSON_AddItemToObject(to, member->string, copy))
            return false;
    }
    return true;
}

static bool add_versions(cJSON *context, const cJSON *facts)
{
    cJSON *versions = cJSON_GetObjectItemCaseSensitive(context, "versions");
    if (!cJSON_IsObject(versions)) {
        cJSON_DeleteItemFromObjectCaseSensitive(context, "versions");
        versions = cJSON_AddObjectToObject(context, "versions");
    }
    const char *const told[] = {"version", "torch", "compiler", "nccl", "cuda"};
    for (size_t i = 0; versions && i < sizeof told / sizeof *told; i++) {
        const char *key = i == 0 ? "rkb" : told[i];
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(facts, told[i]);
        if (!cJSON_IsString(value) || cJSON_GetObjectItemCaseSensitive(versions, key))
            continue;
        if (!cJSON_AddStringToObject(versions, key, value->valuestring))
            return false;
    }
    return versions != NULL;
}

cJSON *rkb_context_json(const rkb_context_parts_t *parts)
{
    static const char *const not_of_run[] = {"schema", "items", "devices", "wall_s", "end", NULL};
    static const char *const not_of_first[] = {"schema", "type", "items", "devices",
                                               "wall_s", "end",  "run",   NULL};
    static const char *const not_of_end[] = {"type", NULL};
    static const char *const not_of_facts[] = {"op",    "protocol", "version", "device", "host",
                                               "torch", "compiler", "nccl",    "cuda",   NULL};
    static const char *const always[] = {"id",           "command",     "started", "seed",
                                         "host",         "device",      "configs", "tasks",
                                         "tasks_sha256", "plan_sha256", NULL};
    cJSON *context = cJSON_CreateObject();
    bool ok = context && add_missing(context, parts->run, not_of_run);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(parts->first, "run");
    if (ok && cJSON_IsString(id) && !cJSON_GetObjectItemCaseSensitive(context, "id"))
        ok = cJSON_AddStringToObject(context, "id", id->valuestring) != NULL;
    ok = ok && add_missing(context, parts->first, not_of_first);
    ok = ok && add_missing(context, parts->facts, not_of_facts);
    for (const char *const *key = always; ok && *key; key++) {
        if (!cJSON_GetObjectItemCaseSensitive(context, *key))
            ok = cJSON_AddNullToObject(context, *key) != NULL;
    }
    ok = ok && add_versions(context, parts->facts);
    cJSON *devices = ok ? cJSON_Duplicate(parts->devices, true) : NULL;
    ok = devices && cJSON_AddItemToObject(context, "devices", devices);
    ok = ok && rkb_json_add_double(context, "wall_s", parts->wall_s);
    if (ok && parts->end) {
        cJSON *end = cJSON_AddObjectToObject(context, "end");
        ok = end && add_missing(end, parts->end, not_of_end);
    } else if (ok) {
        ok = cJSON_AddNullToObject(context, "end") != NULL;
    }
    if (ok)
        return context;
    cJSON_Delete(context);
    return NULL;
}
