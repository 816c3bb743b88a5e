#include "evaluator/judge/discover.h"

#include "common/file.h"
#include "common/json.h"
#include "evaluator/judge/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

static const size_t manifest_limit = (size_t)1 << 30;

/* What the search needs at hand. */
typedef struct {
    const rkb_task_set_t *tasks;
    const rkb_task_t *only_task;
    bool only_direction_set;
    rkb_direction_t only_direction;
    rkb_discovery_t *out;
} search_t;

void rkb_discovery_notice(rkb_discovery_t *discovery, const char *kind, const char *path,
                          const char *fmt, ...)
{
    char text[RKB_ERROR_TEXT_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    discovery->notices =
        rkb_xrealloc(discovery->notices, discovery->notice_count + 1, sizeof(*discovery->notices));
    rkb_notice_t *notice = &discovery->notices[discovery->notice_count++];
    notice->kind = kind;
    notice->path = rkb_xstrdup(path);
    notice->text = rkb_xstrdup(text);
}

void rkb_discovery_release(rkb_discovery_t *discovery)
{
    for (size_t i = 0; i < discovery->count; i++) {
        free(discovery->candidates[i].name);
        free(discovery->candidates[i].source);
        cJSON_Delete(discovery->candidates[i].meta);
    }
    free(discovery->candidates);
    for (size_t i = 0; i < discovery->notice_count; i++) {
        free(discovery->notices[i].path);
        free(discovery->notices[i].text);
    }
    free(discovery->notices);
    memset(discovery, 0, sizeof(*discovery));
}

static bool wanted(const search_t *search, const rkb_task_t *task, rkb_direction_t direction)
{
    return (search->only_task == NULL || search->only_task == task) &&
           (!search->only_direction_set || search->only_direction == direction);
}

/* Takes over meta. name may hold anything; blanks would break keys. */
static void add(search_t *search, const rkb_task_t *task, rkb_direction_t direction,
                const char *name, const char *source, cJSON *meta)
{
    if (!wanted(search, task, direction)) {
        cJSON_Delete(meta);
        return;
    }
    if (!rkb_task_has_direction(task, direction)) {
        rkb_discovery_notice(search->out, "no_direction", source != NULL ? source : name,
                             "task %s has no %s direction", rkb_task_path(task),
                             rkb_direction_name(direction));
        cJSON_Delete(meta);
        return;
    }
    rkb_discovery_t *out = search->out;
    out->candidates = rkb_xrealloc(out->candidates, out->count + 1, sizeof(*out->candidates));
    rkb_candidate_t *candidate = &out->candidates[out->count++];
    candidate->task = task;
    candidate->direction = direction;
    candidate->name = rkb_xstrdup(name);
    rkb_text_sanitize(candidate->name);
    for (char *c = candidate->name; *c != '\0'; c++) {
        if (isspace((unsigned char)*c)) {
            *c = '_';
        }
    }
    candidate->source = source != NULL ? rkb_xstrdup(source) : NULL;
    candidate->meta = meta;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n > m && strcmp(text + n - m, suffix) == 0;
}

/* "a/b/forward/x/y.cu": every component named like a direction may end the task's name. */
static bool add_by_path(search_t *search, const char *relative, const char *file)
{
    for (const char *slash = strchr(relative, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        for (int d = 0; d < RKB_DIRECTIONS; d++) {
            const char *word = rkb_direction_name((rkb_direction_t)d);
            size_t len = strlen(word);
            if (strncmp(slash + 1, word, len) != 0 || slash[1 + len] != '/') {
                continue;
            }
            char *task_name = rkb_strf("%.*s", (int)(slash - relative), relative);
            const rkb_task_t *task;
            rkb_error_t ignored = RKB_ERROR_INIT;
            rkb_status_t status = rkb_task_set_find(search->tasks, task_name, &task, &ignored);
            free(task_name);
            if (status != RKB_OK) {
                continue;
            }
            const char *rest = slash + 1 + len + 1;
            char *name = rkb_strf("%.*s", (int)(strlen(rest) - strlen(".cu")), rest);
            add(search, task, (rkb_direction_t)d, name, file, NULL);
            free(name);
            return true;
        }
    }
    return false;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static rkb_status_t search_folder(search_t *search, const char *folder, rkb_error_t *err)
{
    char *const roots[] = {(char *)folder, NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (walk == NULL) {
        return rkb_error_set(err, RKB_ERR_IO, "%s: %s", folder, strerror(errno));
    }
    size_t root_len = strlen(folder);
    while (root_len > 1 && folder[root_len - 1] == '/') {
        root_len--;
    }
    FTSENT *entry;
    while ((entry = fts_read(walk)) != NULL) {
        if (entry->fts_info == FTS_D && entry->fts_level > 0 && entry->fts_name[0] == '.') {
            fts_set(walk, entry, FTS_SKIP);
            continue;
        }
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
            rkb_discovery_notice(search->out, "unreadable", entry->fts_path, "%s: %s",
                                 entry->fts_path, strerror(entry->fts_errno));
            continue;
        }
        if ((entry->fts_info != FTS_F && entry->fts_info != FTS_SLNONE) ||
            !has_suffix(entry->fts_name, ".cu")) {
            continue;
        }
        const char *relative = entry->fts_path + root_len;
        relative += strspn(relative, "/");
        if (!add_by_path(search, relative, entry->fts_path)) {
            rkb_discovery_notice(search->out, "unknown_task", entry->fts_path,
                                 "%s names no known task: expected <task>/<direction>/<name>.cu "
                                 "below %s",
                                 relative, folder);
        }
    }
    fts_close(walk);
    return RKB_OK;
}

static rkb_status_t search_kernels(search_t *search, const rkb_plan_params_t *params,
                                   const char *path, rkb_error_t *err)
{
    if (rkb_file_is_dir(path)) {
        return search_folder(search, path, err);
    }
    if (!rkb_file_exists(path)) {
        return rkb_error_set(err, RKB_ERR_NOT_FOUND, "--kernels %s: no such file or folder", path);
    }
    if (params->task == NULL) {
        return rkb_error_set(err, RKB_ERR_USAGE,
                             "--kernels %s is one file: --task must say which task it is for",
                             path);
    }
    rkb_direction_t direction = search->only_direction_set ? search->only_direction : RKB_FORWARD;
    const char *base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    char *name = rkb_xstrdup(base);
    if (has_suffix(name, ".cu")) {
        name[strlen(name) - strlen(".cu")] = '\0';
    }
    add(search, search->only_task, direction, name, path, NULL);
    free(name);
    return RKB_OK;
}

static rkb_status_t parse_manifest_line(search_t *search, const char *folder, const cJSON *line,
                                        rkb_error_t *err)
{
    static const char *const keys[] = {"task",    "direction", "source", "name",
                                       "dialect", "meta",      NULL};
    rkb_json_at_t root = rkb_json_root(line), at;
    const char *task_name, *direction_name, *source, *name = NULL;
    rkb_status_t status = rkb_json_only_keys(&root, keys, err);
    if (status == RKB_OK) {
        status = rkb_json_get_string(&root, "task", &task_name, err);
    }
    if (status == RKB_OK) {
        status = rkb_json_get_string(&root, "direction", &direction_name, err);
    }
    if (status == RKB_OK) {
        status = rkb_json_get_string(&root, "source", &source, err);
    }
    const rkb_task_t *task;
    rkb_direction_t direction;
    if (status == RKB_OK) {
        status = rkb_direction_parse(direction_name, &direction, err);
    }
    if (status == RKB_OK) {
        status = rkb_json_optional(&root, "name", &at, err);
    }
    if (status == RKB_OK && at.node != NULL) {
        status = rkb_json_as_string(&at, &name, err);
    }
    const char *dialect = "torch";
    if (status == RKB_OK) {
        status = rkb_json_optional(&root, "dialect", &at, err);
    }
    if (status == RKB_OK && at.node != NULL) {
        status = rkb_json_as_string(&at, &dialect, err);
    }
    if (status == RKB_OK && strcmp(dialect, "torch") != 0) {
        status =
            rkb_error_set(err, RKB_ERR_INVALID, "dialect: \"%s\" is not known (torch)", dialect);
    }
    if (status == RKB_OK) {
        status = rkb_task_set_find(search->tasks, task_name, &task, err);
    }
    if (status != RKB_OK) {
        return status;
    }
    char *path = source[0] == '/' ? rkb_xstrdup(source) : rkb_strf("%s/%s", folder, source);
    char *own_name = NULL;
    if (name == NULL) {
        own_name = rkb_xstrdup(source);
        if (has_suffix(own_name, ".cu")) {
            own_name[strlen(own_name) - strlen(".cu")] = '\0';
        }
        name = own_name;
    }
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(line, "meta");
    add(search, task, direction, name, path, meta != NULL ? cJSON_Duplicate(meta, true) : NULL);
    free(own_name);
    free(path);
    return RKB_OK;
}

/* A line that cannot be used is told and costs itself only. */
static rkb_status_t search_manifest(search_t *search, const char *file, rkb_error_t *err)
{
    char *text;
    size_t len;
    rkb_status_t status = rkb_file_read(file, manifest_limit, &text, &len, err);
    if (status != RKB_OK) {
        return rkb_error_prefix(err, "--manifest");
    }
    const char *slash = strrchr(file, '/');
    char *folder = slash != NULL ? rkb_strf("%.*s", (int)(slash - file), file) : rkb_xstrdup(".");
    int number = 0;
    for (char *line = text, *end; line < text + len; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + len - line));
        if (end == NULL) {
            end = text + len;
        }
        number++;
        size_t blank = 0;
        while (line + blank < end && isspace((unsigned char)line[blank])) {
            blank++;
        }
        if (line + blank == end) {
            continue;
        }
        cJSON *json;
        rkb_error_t cause = RKB_ERROR_INIT;
        if (rkb_json_parse(line, (size_t)(end - line), &json, &cause) == RKB_OK) {
            (void)parse_manifest_line(search, folder, json, &cause);
            cJSON_Delete(json);
        }
        if (cause.status != RKB_OK) {
            char *where = rkb_strf("%s:%d", file, number);
            rkb_discovery_notice(search->out,
                                 cause.status == RKB_ERR_NOT_FOUND ? "unknown_task"
                                                                   : "bad_manifest_line",
                                 where, "%s", cause.text);
            free(where);
        }
    }
    free(folder);
    free(text);
    return RKB_OK;
}

/* {"expected": {verdict, flags…}} of a sample, from expected.json; NULL when it names none. */
static cJSON *sample_meta(const cJSON *expected, const char *relative)
{
    const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(expected, "kernels");
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(kernels, relative);
    if (entry == NULL) {
        return NULL;
    }
    cJSON *meta = cJSON_CreateObject();
    cJSON *copy = cJSON_Duplicate(entry, true);
    if (meta == NULL || copy == NULL || !cJSON_AddItemToObject(meta, "expected", copy)) {
        cJSON_Delete(copy);
        cJSON_Delete(meta);
        return NULL;
    }
    return meta;
}

static rkb_status_t search_samples(search_t *search, rkb_error_t *err)
{
    for (size_t i = 0; i < rkb_task_set_count(search->tasks); i++) {
        const rkb_task_t *task = rkb_task_set_get(search->tasks, i);
        char *manifest = rkb_strf("%s/kernels/expected.json", rkb_task_folder(task));
        cJSON *expected = NULL;
        rkb_status_t status =
            rkb_file_exists(manifest) ? rkb_json_load(manifest, &expected, err) : RKB_OK;
        free(manifest);
        if (status != RKB_OK) {
            return status;
        }
        for (int d = 0; d < RKB_DIRECTIONS; d++) {
            const char *direction = rkb_direction_name((rkb_direction_t)d);
            char *pattern = rkb_strf("%s/kernels/%s", rkb_task_folder(task), direction);
            char *const roots[] = {pattern, NULL};
            FTS *walk = rkb_file_is_dir(pattern)
                            ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name)
                            : NULL;
            FTSENT *entry;
            while (walk != NULL && (entry = fts_read(walk)) != NULL) {
                if (entry->fts_info != FTS_F || !has_suffix(entry->fts_name, ".cu")) {
                    continue;
                }
                const char *rest = entry->fts_path + strlen(pattern) + 1;
                char *relative = rkb_strf("%s/%s", direction, rest);
                char *name = rkb_strf("%.*s", (int)(strlen(rest) - strlen(".cu")), rest);
                add(search, task, (rkb_direction_t)d, name, entry->fts_path,
                    sample_meta(expected, relative));
                free(name);
                free(relative);
            }
            if (walk != NULL) {
                fts_close(walk);
            }
            free(pattern);
        }
        cJSON_Delete(expected);
    }
    return RKB_OK;
}

static void add_controls(search_t *search)
{
    for (size_t i = 0; i < rkb_task_set_count(search->tasks); i++) {
        const rkb_task_t *task = rkb_task_set_get(search->tasks, i);
        for (int d = 0; d < RKB_DIRECTIONS; d++) {
            for (const char *const *name = rkb_control_names();
                 rkb_task_has_direction(task, (rkb_direction_t)d) && *name != NULL; name++) {
                add(search, task, (rkb_direction_t)d, *name, NULL, NULL);
            }
        }
    }
}

static int compare_candidates(const void *a, const void *b)
{
    const rkb_candidate_t *x = a, *y = b;
    int order = strcmp(rkb_task_path(x->task), rkb_task_path(y->task));
    if (order == 0) {
        order = (int)x->direction - (int)y->direction;
    }
    if (order == 0) {
        order = strcmp(x->name, y->name);
    }
    if (order == 0 && x->source != NULL && y->source != NULL) {
        order = strcmp(x->source, y->source);
    }
    return order;
}

/* Same name twice for one task and direction: later ones become name#2, name#3. */
static void make_unique(rkb_discovery_t *discovery)
{
    for (size_t i = 0; i < discovery->count;) {
        size_t same = 1;
        rkb_candidate_t *first = &discovery->candidates[i];
        while (i + same < discovery->count && first[same].task == first->task &&
               first[same].direction == first->direction &&
               strcmp(first[same].name, first->name) == 0) {
            same++;
        }
        for (size_t k = 1; k < same; k++) {
            char *name = rkb_strf("%s#%zu", first[k].name, k + 1);
            free(first[k].name);
            first[k].name = name;
        }
        i += same;
    }
}

rkb_status_t rkb_discover(const rkb_task_set_t *tasks, const rkb_plan_params_t *params,
                          rkb_discovery_t *out, rkb_error_t *err)
{
    rkb_discovery_t found = {0};
    search_t search = {.tasks = tasks, .out = &found};
    rkb_status_t status = RKB_OK;
    if (params->task != NULL) {
        status = rkb_task_set_find(tasks, params->task, &search.only_task, err);
    }
    if (status == RKB_OK && params->direction != NULL) {
        status = rkb_direction_parse(params->direction, &search.only_direction, err);
        search.only_direction_set = true;
    }
    for (int i = 0; status == RKB_OK && i < params->kernel_count; i++) {
        status = search_kernels(&search, params, params->kernels[i], err);
    }
    if (status == RKB_OK && params->manifest != NULL) {
        status = search_manifest(&search, params->manifest, err);
    }
    if (status == RKB_OK && params->samples) {
        status = search_samples(&search, err);
    }
    if (status == RKB_OK && params->controls) {
        add_controls(&search);
    }
    if (status != RKB_OK) {
        rkb_discovery_release(&found);
        return status;
    }
    if (found.count > 0) {
        qsort(found.candidates, found.count, sizeof(*found.candidates), compare_candidates);
    }
    make_unique(&found);
    *out = found;
    return RKB_OK;
}
