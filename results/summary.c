#include "results/summary.h"

#include "common/file.h"
#include "results/journal.h"
#include "results/keyset.h"
#include "results/verdicts.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

const double rkb_fast_thresholds[RKB_FAST_COUNT] = {0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0};
const char *const rkb_fast_keys[RKB_FAST_COUNT] = {"0", "0.5", "0.8", "1.0", "1.2", "1.5", "2.0"};

/* ---- tallies ---- */

static void tally_add(rkb_tally_t *tally, const char *word, uint64_t count)
{
    for (size_t i = 0; i < tally->used; i++) {
        if (strcmp(tally->rows[i].word, word) == 0) {
            tally->rows[i].count += count;
            return;
        }
    }
    tally->rows = rkb_xrealloc(tally->rows, tally->used + 1, sizeof *tally->rows);
    tally->rows[tally->used++] = (struct rkb_tally_row){rkb_xstrdup(word), count};
}

static void tally_begin(rkb_tally_t *tally, const char *const *words)
{
    for (; *words; words++)
        tally_add(tally, *words, 0);
}

static void tally_release(rkb_tally_t *tally)
{
    for (size_t i = 0; i < tally->used; i++)
        free(tally->rows[i].word);
    free(tally->rows);
}

uint64_t rkb_tally_get(const rkb_tally_t *tally, const char *word)
{
    for (size_t i = 0; i < tally->used; i++) {
        if (strcmp(tally->rows[i].word, word) == 0)
            return tally->rows[i].count;
    }
    return 0;
}

/* ---- first pass ---- */

typedef struct {
    rkb_summary_t *summary;
    rkb_error_t *err;
    rkb_status_t status;
    rkb_keyset_t *keys, *devices_seen, *notices_seen;
    void *groups; /* tsearch tree of rkb_group_t */
    cJSON *first, *devices, *facts, *end;
    double wall_s;
} pass_t;

static int compare_groups(const void *a, const void *b)
{
    const rkb_group_t *x = a, *y = b;
    int order = strcmp(x->task, y->task);
    /* forward before backward */
    return order ? order : -strcmp(x->direction, y->direction);
}

static int compare_group_pointers(const void *a, const void *b)
{
    return compare_groups(*(rkb_group_t *const *)a, *(rkb_group_t *const *)b);
}

static rkb_group_t *group_of(pass_t *pass, const rkb_item_view_t *item)
{
    rkb_group_t probe = {.task = (char *)item->task, .direction = (char *)item->direction};
    rkb_group_t *const *found = tfind(&probe, &pass->groups, compare_groups);
    if (found)
        return *found;
    rkb_summary_t *summary = pass->summary;
    rkb_group_t *group = rkb_xcalloc(1, sizeof *group);
    group->task = rkb_xstrdup(item->task);
    group->direction = rkb_xstrdup(item->direction);
    tally_begin(&group->verdicts, rkb_verdict_words);
    /* Doubled when full: its room is the next power of two. */
    if ((summary->group_count & (summary->group_count - 1)) == 0) {
        size_t room = summary->group_count ? 2 * summary->group_count : 1;
        summary->groups = rkb_xrealloc(summary->groups, room, sizeof *summary->groups);
    }
    summary->groups[summary->group_count++] = group;
    if (!tsearch(group, &pass->groups, compare_groups))
        pass->status = rkb_error_set(pass->err, RKB_ERR_NO_MEMORY, "out of memory");
    return group;
}

static void count_item(pass_t *pass, const rkb_item_view_t *item)
{
    rkb_summary_t *summary = pass->summary;
    rkb_group_t *group = group_of(pass, item);
    summary->items++;
    summary->ok += item->ok;
    summary->ours += item->ours;
    summary->emulated += item->emulated;
    summary->expected += item->expected;
    summary->unexpected += item->expected && !item->as_expected;
    group->items++;
    group->ok += item->ok;
    group->ours += item->ours;
    tally_add(&summary->verdicts, item->verdict, 1);
    tally_add(&group->verdicts, item->verdict, 1);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, rkb_item_get(item, "flags"))
    {
        if (cJSON_IsString(flag))
            tally_add(&summary->flags, flag->valuestring, 1);
    }
    const cJSON *class =
        cJSON_GetObjectItemCaseSensitive(rkb_item_get(item, "consistency"), "class");
    if (cJSON_IsString(class))
        tally_add(&summary->classes, class->valuestring, 1);
    if (isfinite(item->speedup)) {
        summary->timed++;
        group->speedups.log_sum += log(item->speedup);
        group->speedups.count++;
        for (int i = 0; i < RKB_FAST_COUNT; i++)
            summary->fast[i] += item->speedup > rkb_fast_thresholds[i];
    }
}

static void visit_result(pass_t *pass, const cJSON *record, uint64_t line)
{
    rkb_item_view_t item;
    pass->status = rkb_item_view_open(record, line, &item, pass->err);
    if (pass->status != RKB_OK)
        return;
    bool added;
    pass->status = rkb_keyset_add(pass->keys, item.key, &added, pass->err);
    if (pass->status == RKB_OK && added)
        count_item(pass, &item);
    rkb_item_view_close(&item);
}

/* {rank, host, device{…}}; ranks tell the same facts again after each resume. */
static void visit_rank(pass_t *pass, const cJSON *record)
{
    const cJSON *facts = cJSON_GetObjectItemCaseSensitive(record, "facts");
    if (!facts)
        facts = record;
    if (!pass->facts)
        pass->facts = cJSON_Duplicate(facts, true);
    cJSON *row = cJSON_CreateObject();
    const char *const keys[] = {"rank", "host", "device"};
    for (int i = 0; i < 3; i++) {
        const cJSON *node = cJSON_GetObjectItemCaseSensitive(record, keys[i]);
        if (!node)
            node = cJSON_GetObjectItemCaseSensitive(facts, keys[i]);
        cJSON_AddItemToObject(row, keys[i],
                              node ? cJSON_Duplicate(node, true) : cJSON_CreateNull());
    }
    char *text = rkb_json_print_line(row);
    bool added = false;
    if (text)
        pass->status = rkb_keyset_add(pass->devices_seen, text, &added, pass->err);
    free(text);
    if (!added || !cJSON_AddItemToArray(pass->devices, row))
        cJSON_Delete(row);
}

static void visit_end(pass_t *pass, const cJSON *record)
{
    const cJSON *wall = cJSON_GetObjectItemCaseSensitive(record, "wall_s");
    if (cJSON_IsNumber(wall))
        pass->wall_s = isnan(pass->wall_s) ? wall->valuedouble : pass->wall_s + wall->valuedouble;
    cJSON_Delete(pass->end);
    pass->end = cJSON_Duplicate(record, true);
}

static const char *type_of(const cJSON *record)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(record, "type");
    return cJSON_IsString(type) ? type->valuestring : "";
}

static rkb_status_t add_notice(rkb_keyset_t *seen, const cJSON *record, bool *added,
                               rkb_error_t *err)
{
    char *text = rkb_json_print_line(record);
    if (!text)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory");
    rkb_status_t status = rkb_keyset_add(seen, text, added, err);
    free(text);
    return status;
}

static bool visit_first_pass(const cJSON *record, uint64_t line, void *context)
{
    pass_t *pass = context;
    const char *type = type_of(record);
    pass->summary->last_line = line;
    if (line == 1) {
        pass->first = cJSON_Duplicate(record, true);
    } else if (strcmp(type, "result") == 0) {
        visit_result(pass, record, line);
    } else if (strcmp(type, "rank") == 0) {
        visit_rank(pass, record);
    } else if (strcmp(type, "end") == 0) {
        visit_end(pass, record);
    } else if (strcmp(type, "notice") == 0) {
        bool added = false;
        pass->status = add_notice(pass->notices_seen, record, &added, pass->err);
        pass->summary->notices += added;
    }
    return pass->status == RKB_OK;
}

/* Both directions of a task are one cluster; groups are sorted, so they are neighbours. */
static rkb_geomean_t geomean_of(const rkb_summary_t *summary)
{
    rkb_speedup_cluster_t *tasks = rkb_xcalloc(summary->group_count, sizeof *tasks);
    size_t count = 0;
    for (size_t i = 0; i < summary->group_count; i++) {
        const rkb_group_t *group = summary->groups[i];
        if (i == 0 || strcmp(group->task, summary->groups[i - 1]->task) != 0)
            count++;
        tasks[count - 1].log_sum += group->speedups.log_sum;
        tasks[count - 1].count += group->speedups.count;
    }
    rkb_geomean_t result = rkb_geomean(tasks, count);
    free(tasks);
    return result;
}

static rkb_status_t finish(pass_t *pass, cJSON *run)
{
    rkb_summary_t *summary = pass->summary;
    rkb_context_parts_t parts = {.run = run,
                                 .first = pass->first,
                                 .devices = pass->devices,
                                 .facts = pass->facts,
                                 .end = pass->end,
                                 .wall_s = pass->wall_s};
    summary->context = rkb_context_json(&parts);
    if (!summary->context)
        return rkb_error_set(pass->err, RKB_ERR_NO_MEMORY, "out of memory");
    rkb_json_at_t at = rkb_json_root(run ? run : pass->first);
    if (rkb_json_get_int64(&at, "items", &summary->planned, NULL) != RKB_OK)
        summary->planned = -1;
    if (summary->group_count > 0)
        qsort(summary->groups, summary->group_count, sizeof *summary->groups,
              compare_group_pointers);
    summary->geomean = geomean_of(summary);
    return RKB_OK;
}

static void forget(void *group)
{
    (void)group; /* the array of groups owns it */
}

rkb_status_t rkb_summary_create(const char *folder, rkb_summary_t **out, rkb_error_t *err)
{
    if (!rkb_file_is_dir(folder))
        return rkb_error_set(err, RKB_ERR_NOT_FOUND, "%s: no such folder", folder);
    cJSON *run = NULL;
    rkb_status_t status = rkb_run_load(folder, &run, err);
    if (status != RKB_OK)
        return status;
    rkb_summary_t *summary = rkb_xcalloc(1, sizeof *summary);
    summary->folder = rkb_xstrdup(folder);
    tally_begin(&summary->verdicts, rkb_verdict_words);
    tally_begin(&summary->flags, rkb_flag_words);
    pass_t pass = {.summary = summary,
                   .err = err,
                   .keys = rkb_keyset_create(),
                   .devices_seen = rkb_keyset_create(),
                   .notices_seen = rkb_keyset_create(),
                   .devices = cJSON_CreateArray(),
                   .wall_s = NAN};
    status = rkb_journal_read(folder, visit_first_pass, &pass, &summary->cut_bytes, err);
    if (status == RKB_OK)
        status = pass.status;
    if (status == RKB_OK)
        status = finish(&pass, run);
    tdestroy(pass.groups, forget);
    rkb_keyset_destroy(pass.keys);
    rkb_keyset_destroy(pass.devices_seen);
    rkb_keyset_destroy(pass.notices_seen);
    cJSON_Delete(pass.first);
    cJSON_Delete(pass.devices);
    cJSON_Delete(pass.facts);
    cJSON_Delete(pass.end);
    cJSON_Delete(run);
    if (status != RKB_OK) {
        rkb_summary_destroy(summary);
        return status;
    }
    *out = summary;
    return RKB_OK;
}

void rkb_summary_destroy(rkb_summary_t *summary)
{
    if (!summary)
        return;
    for (size_t i = 0; i < summary->group_count; i++) {
        free(summary->groups[i]->task);
        free(summary->groups[i]->direction);
        tally_release(&summary->groups[i]->verdicts);
        free(summary->groups[i]);
    }
    free(summary->groups);
    tally_release(&summary->verdicts);
    tally_release(&summary->flags);
    tally_release(&summary->classes);
    cJSON_Delete(summary->context);
    free(summary->folder);
    free(summary);
}

/* ---- second pass ---- */

typedef struct {
    const rkb_summary_t *summary;
    rkb_item_fn_t visit_item;
    rkb_notice_fn_t visit_notice;
    void *context;
    rkb_keyset_t *seen;
    uint64_t notices_left;
    rkb_status_t status;
    rkb_error_t *err;
} second_t;

static bool visit_second_item(const cJSON *record, uint64_t line, void *context)
{
    second_t *second = context;
    if (line > second->summary->last_line)
        return false;
    if (strcmp(type_of(record), "result") != 0)
        return true;
    rkb_item_view_t item;
    second->status = rkb_item_view_open(record, line, &item, second->err);
    if (second->status != RKB_OK)
        return false;
    bool added, stop = false;
    second->status = rkb_keyset_add(second->seen, item.key, &added, second->err);
    if (second->status == RKB_OK && added)
        second->status = second->visit_item(&item, second->context, &stop, second->err);
    rkb_item_view_close(&item);
    return second->status == RKB_OK && !stop;
}

static bool visit_second_notice(const cJSON *record, uint64_t line, void *context)
{
    second_t *second = context;
    if (line > second->summary->last_line)
        return false;
    if (strcmp(type_of(record), "notice") != 0)
        return true;
    bool added = false;
    second->status = add_notice(second->seen, record, &added, second->err);
    if (second->status == RKB_OK && added) {
        second->status = second->visit_notice(record, second->context, second->err);
        second->notices_left--;
    }
    return second->status == RKB_OK && second->notices_left > 0;
}

static rkb_status_t run_second(second_t *second, rkb_journal_visit_fn_t visit)
{
    second->seen = rkb_keyset_create();
    rkb_status_t status =
        rkb_journal_read(second->summary->folder, visit, second, NULL, second->err);
    rkb_keyset_destroy(second->seen);
    return status == RKB_OK ? second->status : status;
}

rkb_status_t rkb_summary_items(const rkb_summary_t *summary, rkb_item_fn_t visit, void *context,
                               rkb_error_t *err)
{
    second_t second = {.summary = summary, .visit_item = visit, .context = context, .err = err};
    return run_second(&second, visit_second_item);
}

rkb_status_t rkb_summary_notices(const rkb_summary_t *summary, rkb_notice_fn_t visit, void *context,
                                 rkb_error_t *err)
{
    if (summary->notices == 0)
        return RKB_OK;
    second_t second = {.summary = summary,
                       .visit_notice = visit,
                       .context = context,
                       .notices_left = summary->notices,
                       .err = err};
    return run_second(&second, visit_second_notice);
}
