/* Every task.json below a folder. */
#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct rkb_task_set {
    rkb_task_t **tasks;
    size_t count;
};

static int compare_paths(const void *a, const void *b)
{
    const rkb_task_t *const *first = a, *const *second = b;
    return strcmp((*first)->path, (*second)->path);
}

static rkb_status_t add_task(rkb_task_set_t *set, const char *file, rkb_error_t *err)
{
    rkb_task_t *task;
    rkb_status_t status = rkb_task_load(file, &task, err);
    if (status != RKB_OK)
        return status;
    set->tasks = rkb_xrealloc(set->tasks, set->count + 1, sizeof *set->tasks);
    set->tasks[set->count++] = task;
    return RKB_OK;
}

static rkb_status_t walk(rkb_task_set_t *set, const char *folder, rkb_error_t *err)
{
    char *roots[] = {(char *)folder, NULL};
    FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    rkb_status_t status = RKB_OK;
    if (!fts)
        return rkb_error_set(err, RKB_ERR_IO, "%s: %s", folder, strerror(errno));
    while (status == RKB_OK && (errno = 0, entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
            status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", entry->fts_path,
                                   strerror(entry->fts_errno));
        else if (strcmp(entry->fts_name, "task.json") == 0 && entry->fts_info != FTS_D &&
                 entry->fts_info != FTS_DP)
            status = add_task(set, entry->fts_path, err);
    }
    if (status == RKB_OK && errno != 0)
        status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", folder, strerror(errno));
    fts_close(fts);
    return status;
}

rkb_status_t rkb_task_set_load(const char *folder, rkb_task_set_t **out, rkb_error_t *err)
{
    if (!rkb_file_is_dir(folder))
        return rkb_error_set(err, RKB_ERR_NOT_FOUND, "%s: no such folder of tasks", folder);
    rkb_task_set_t *set = rkb_xcalloc(1, sizeof *set);
    rkb_status_t status = walk(set, folder, err);
    if (status != RKB_OK)
        goto err_set;
    if (set->count == 0) {
        status = rkb_error_set(err, RKB_ERR_NOT_FOUND, "%s: no task.json in it or below", folder);
        goto err_set;
    }
    qsort(set->tasks, set->count, sizeof *set->tasks, compare_paths);
    for (size_t i = 1; i < set->count; i++)
        if (strcmp(set->tasks[i - 1]->path, set->tasks[i]->path) == 0) {
            status = rkb_error_set(err, RKB_ERR_INVALID, "task %s is in both %s and %s",
                                   set->tasks[i]->path, set->tasks[i - 1]->folder,
                                   set->tasks[i]->folder);
            goto err_set;
        }
    *out = set;
    return RKB_OK;

err_set:
    rkb_task_set_destroy(set);
    return status;
}

void rkb_task_set_destroy(rkb_task_set_t *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        rkb_task_destroy(set->tasks[i]);
    free(set->tasks);
    free(set);
}

size_t rkb_task_set_count(const rkb_task_set_t *set)
{
    return set->count;
}

const rkb_task_t *rkb_task_set_get(const rkb_task_set_t *set, size_t index)
{
    return set->tasks[index];
}

rkb_status_t rkb_task_set_find(const rkb_task_set_t *set, const char *name, const rkb_task_t **out,
                               rkb_error_t *err)
{
    const rkb_task_t *found = NULL;
    rkb_nearest_t nearest = rkb_nearest_init(name, strlen(name));
    for (size_t i = 0; i < set->count; i++) {
        const rkb_task_t *task = set->tasks[i];
        if (strcmp(task->path, name) == 0) {
            *out = task;
            return RKB_OK;
        }
        rkb_nearest_offer(&nearest, task->name);
        rkb_nearest_offer(&nearest, task->path);
        if (strcmp(task->name, name) != 0)
            continue;
        if (found)
            return rkb_error_set(err, RKB_ERR_INVALID, "task \"%s\" is ambiguous: %s or %s", name,
                                 found->path, task->path);
        found = task;
    }
    if (!found) {
        char hint[RKB_NAME_MAX + 32];
        return rkb_error_set(err, RKB_ERR_NOT_FOUND, "there is no task \"%.128s\"%s", name,
                             rkb_nearest_hint(&nearest, hint, sizeof hint));
    }
    *out = found;
    return RKB_OK;
}
