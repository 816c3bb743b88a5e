#include "results/item.h"

#include "common/file.h"
#include "results/format.h"
#include "results/verdicts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const cJSON *rkb_item_get(const rkb_item_view_t *view, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(view->result, key);
}

static const char *text_of(const rkb_item_view_t *view, const char *key)
{
    const cJSON *node = rkb_item_get(view, key);
    return cJSON_IsString(node) ? node->valuestring : NULL;
}

bool rkb_item_has_flag(const rkb_item_view_t *view, const char *flag)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, rkb_item_get(view, "flags"))
    {
        if (cJSON_IsString(word) && strcmp(word->valuestring, flag) == 0)
            return true;
    }
    return false;
}

/* The verdict, and every flag that the manifest lists. */
static void look_at_expectation(rkb_item_view_t *view)
{
    const cJSON *expected =
        cJSON_GetObjectItemCaseSensitive(rkb_item_get(view, "meta"), "expected");
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(expected, "verdict");
    if (!cJSON_IsString(verdict))
        return;
    view->expected = true;
    view->as_expected = strcmp(verdict->valuestring, view->verdict) == 0;
    const cJSON *flag;
    cJSON_ArrayForEach(flag, cJSON_GetObjectItemCaseSensitive(expected, "flags"))
    {
        if (!cJSON_IsString(flag) || !rkb_item_has_flag(view, flag->valuestring))
            view->as_expected = false;
    }
}

static double speedup_of(const rkb_item_view_t *view)
{
    const cJSON *speedup = rkb_item_get(view, "speedup");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(speedup, "value");
    /* Emulated times must never be compared with a GPU's; an impossible one is no time at all. */
    if (!view->ok || view->emulated || rkb_item_has_flag(view, "impossible_time") ||
        !cJSON_IsNumber(value) || !(value->valuedouble > 0))
        return NAN;
    return value->valuedouble;
}

/* A result that the driver made up for a lost item may lack names; the key has them all. */
static void fill_names(rkb_item_view_t *view)
{
    const char **const names[] = {&view->task, &view->direction, &view->candidate, &view->config};
    bool complete = true;
    for (int i = 0; i < 4; i++)
        complete = complete && *names[i];
    if (complete)
        return;
    view->names = rkb_xstrdup(view->key);
    char *rest = view->names;
    for (int i = 0; i < 4; i++) {
        char *word = i < 3 ? strsep(&rest, " ") : rest;
        if (!*names[i])
            *names[i] = word ? word : "";
    }
}

rkb_status_t rkb_item_view_open(const cJSON *record, uint64_t line, rkb_item_view_t *out,
                                rkb_error_t *err)
{
    const cJSON *key = cJSON_GetObjectItemCaseSensitive(record, "key");
    rkb_item_view_t view = {.record = record,
                            .result = cJSON_GetObjectItemCaseSensitive(record, "result")};
    view.verdict = text_of(&view, "verdict");
    if (!cJSON_IsString(key) || !view.verdict)
        return rkb_error_set(err, RKB_ERR_INVALID, "journal.jsonl: line %" PRIu64 ": a result %s",
                             line, view.verdict ? "without key" : "without verdict");
    view.key = key->valuestring;
    view.task = text_of(&view, "task");
    view.direction = text_of(&view, "direction");
    view.candidate = text_of(&view, "candidate");
    view.config = text_of(&view, "config");
    fill_names(&view);
    view.detail = text_of(&view, "detail");
    if (!view.detail)
        view.detail = "";
    view.ok = strcmp(view.verdict, "ok") == 0;
    view.ours = rkb_verdict_word_is_ours(view.verdict);
    view.emulated = rkb_item_has_flag(&view, "emulated");
    look_at_expectation(&view);
    view.speedup = speedup_of(&view);
    *out = view;
    return RKB_OK;
}

void rkb_item_view_close(rkb_item_view_t *view)
{
    free(view->names);
    view->names = NULL;
}

static const char *name_of(const rkb_item_view_t *view, const char *key)
{
    const struct {
        const char *key, *text;
    } names[] = {{"task", view->task},
                 {"direction", view->direction},
                 {"candidate", view->candidate},
                 {"config", view->config}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].key, key) == 0)
            return names[i].text;
    }
    return NULL;
}

/* Keys of an item in their order; [a]: an array when the result lacks it. */
static const char *const item_keys[] = {
    "task",          "direction",    "candidate",     "source",
    "source_sha256", "dialect",      "config",        "verdict",
    "detail",        "flags[a]",     "max_abs_error", "error_ratio",
    "outputs[a]",    "oracle",       "baseline_ms",   "candidate_ms",
    "speedup",       "delegated[a]", "consistency",   "rank",
    "device",        "compile_s",    "eval_s",        "seed",
    "trials",        "log",          "meta",          NULL};

static bool is_item_key(const char *key)
{
    for (const char *const *known = item_keys; *known; known++) {
        size_t len = strcspn(*known, "[");
        if (strlen(key) == len && strncmp(key, *known, len) == 0)
            return true;
    }
    return strcmp(key, "key") == 0;
}

static bool add_copy(cJSON *object, const char *key, const cJSON *node)
{
    cJSON *copy = cJSON_Duplicate(node, true);
    return copy && cJSON_AddItemToObject(object, key, copy);
}

static bool add_known(cJSON *item, const rkb_item_view_t *view, const char *row)
{
    char key[32];
    size_t len = strcspn(row, "[");
    memcpy(key, row, len);
    key[len] = '\0';
    const char *name = name_of(view, key);
    /* The rank is the driver's to say, not the evaluator's. */
    const cJSON *node = strcmp(key, "rank") == 0
                            ? cJSON_GetObjectItemCaseSensitive(view->record, key)
                            : rkb_item_get(view, key);
    if (name)
        return cJSON_AddStringToObject(item, key, name) != NULL;
    /* A speed-up in a report is one that counts: whoever averages the column gets it right. */
    if (strcmp(key, "speedup") == 0 && !isfinite(view->speedup))
        node = NULL;
    if (row[len] == '[' && !cJSON_IsArray(node))
        return cJSON_AddArrayToObject(item, key) != NULL;
    return node ? add_copy(item, key, node) : cJSON_AddNullToObject(item, key) != NULL;
}

cJSON *rkb_item_json(const rkb_item_view_t *view)
{
    cJSON *item = cJSON_CreateObject();
    bool ok = item != NULL;
    for (const char *const *row = item_keys; ok && *row; row++)
        ok = add_known(item, view, *row);
    const cJSON *member;
    cJSON_ArrayForEach(member, view->result)
    {
        if (ok && !is_item_key(member->string))
            ok = add_copy(item, member->string, member);
    }
    if (ok)
        return item;
    cJSON_Delete(item);
    return NULL;
}

/* ---- reproduction ---- */

/* Appends " option word"; frees the old line. */
static char *append(char *line, const char *option, const char *text)
{
    char *word = rkb_format_shell_word(text);
    char *longer = rkb_strf("%s %s%s%s", line, option, *option ? " " : "", word);
    free(word);
    free(line);
    return longer;
}

char *rkb_item_reproduce(const rkb_item_view_t *view, const cJSON *run)
{
    char *line = append(rkb_xstrdup("rkb eval"), "--task", view->task);
    line = append(line, "--direction", view->direction);
    line = append(line, "--config", view->config);
    rkb_json_at_t item = rkb_json_root(view->result), whole = rkb_json_root(run);
    uint64_t seed;
    if (rkb_json_get_uint64(&item, "seed", &seed, NULL) == RKB_OK ||
        rkb_json_get_uint64(&whole, "seed", &seed, NULL) == RKB_OK) {
        char *digits = rkb_strf("%" PRIu64, seed);
        line = append(line, "--seed", digits);
        free(digits);
    }
    /* What a run was told beyond the defaults decides the outcome too. */
    const struct {
        const char *key, *option, *standard;
    } told[] = {
        {"device", "--device", "auto"}, {"tasks", "--tasks", ""}, {"cxx_flags", "--cxx-flags", ""}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(run, told[i].key);
        if (cJSON_IsString(value) && value->valuestring[0] &&
            strcmp(value->valuestring, told[i].standard) != 0)
            line = append(line, told[i].option, value->valuestring);
    }
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(run, "options");
    const struct {
        const char *key, *option;
    } limits[] = {
        {"trials", "--trials"}, {"timeout", "--timeout"}, {"compile_timeout", "--compile-timeout"}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(options, limits[i].key);
        if (cJSON_IsNumber(value) && value->valuedouble > 0) {
            char *digits = rkb_strf("%.15g", value->valuedouble);
            line = append(line, limits[i].option, digits);
            free(digits);
        }
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "sanitize"))) {
        char *longer = rkb_strf("%s --sanitize", line);
        free(line);
        line = longer;
    }
    const char *source = text_of(view, "source");
    if (source)
        return append(line, "", source);
    return view->candidate[0] == '@' ? append(line, "", "--controls")
                                     : append(line, "", view->candidate);
}

char *rkb_one_line(const char *text)
{
    char *line = rkb_xstrdup(text);
    rkb_text_sanitize(line);
    for (char *c = line; *c; c++) {
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    }
    return line;
}
