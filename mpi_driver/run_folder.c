#include "mpi_driver/run_folder.h"

#include "common/clock.h"
#include "common/file.h"
#include "mpi_driver/message.h"
#include "results/journal.h"
#include "results/keyset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUN_SCHEMA "rkb-run/1"

struct rkb_run {
    rkb_run_params_t params;
    char *folder;
    cJSON *options;
    cJSON *record; /* run.json of a resumed run */
    rkb_journal_t *journal;
    rkb_keyset_t *done, *notices;
    uint32_t done_count; /* found in the journal */
    bool made_folder, begun;
};

static char *path_in(const rkb_run_t *run, const char *name)
{
    return rkb_strf("%s/%s", run->folder, name);
}

static char *default_folder(void)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
    return rkb_strf("results/runs/%s-%d", stamp, (int)getpid());
}

static const char *id_of(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    return slash != NULL ? slash + 1 : folder;
}

/* The absolute name without trailing slashes, of a folder whose parent exists. */
static rkb_status_t resolve(const char *name, char **out, rkb_error_t *err)
{
    char *copy = rkb_xstrdup(name);
    for (size_t len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--) {
        copy[len - 1] = '\0';
    }
    char *slash = strrchr(copy, '/');
    char *parent = slash == NULL   ? rkb_xstrdup(".")
                   : slash == copy ? rkb_xstrdup("/")
                                   : rkb_strf("%.*s", (int)(slash - copy), copy);
    rkb_status_t status = rkb_file_make_dirs(parent, err);
    char *absolute = status == RKB_OK ? realpath(parent, NULL) : NULL;
    if (status == RKB_OK && absolute == NULL) {
        status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", parent, strerror(errno));
    }
    if (status == RKB_OK) {
        *out = rkb_strf("%s/%s", strcmp(absolute, "/") == 0 ? "" : absolute,
                        slash == NULL ? copy : slash + 1);
    }
    free(absolute);
    free(parent);
    free(copy);
    return status;
}

static rkb_status_t make_folder(rkb_run_t *run, rkb_error_t *err)
{
    if (mkdir(run->folder, 0777) == 0) {
        run->made_folder = true;
        return RKB_OK;
    }
    if (errno == EEXIST) {
        return rkb_error_set(err, RKB_ERR_EXISTS,
                             "%s: exists already; choose another --out, or go on with it by "
                             "--resume",
                             run->folder);
    }
    return rkb_error_set(err, RKB_ERR_IO, "%s: %s", run->folder, strerror(errno));
}

/* A journal that was not even begun when the run was killed: no whole line is in it. */
static bool is_unbegun(const char *path)
{
    char start[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    struct stat st;
    ssize_t got = read(fd, start, sizeof(start));
    bool whole = fstat(fd, &st) != 0 || st.st_size > got || got < 0 ||
                 memchr(start, '\n', (size_t)got) != NULL;
    close(fd);
    return !whole;
}

static char *notice_name(const char *kind, const char *path, const char *text)
{
    return rkb_strf("%s\n%s\n%s", kind != NULL ? kind : "", path != NULL ? path : "",
                    text != NULL ? text : "");
}

static bool visit(const cJSON *record, uint64_t line, void *context)
{
    (void)line;
    rkb_run_t *run = context;
    const char *type = rkb_message_text(record, "type");
    bool added;
    if (type != NULL && strcmp(type, "result") == 0) {
        const char *key = rkb_message_text(record, "key");
        const char *verdict =
            rkb_result_verdict(cJSON_GetObjectItemCaseSensitive(record, "result"));
        if (key != NULL && verdict != NULL &&
            rkb_keyset_add(run->done, key, &added, NULL) == RKB_OK && added) {
            run->done_count++;
            if (run->params.verdict != NULL) {
                run->params.verdict(run->params.context, verdict);
            }
        }
    } else if (type != NULL && strcmp(type, "notice") == 0) {
        char *name = notice_name(rkb_message_text(record, "kind"), rkb_message_text(record, "path"),
                                 rkb_message_text(record, "text"));
        (void)rkb_keyset_add(run->notices, name, &added, NULL);
        free(name);
    }
    return true;
}

static rkb_status_t open_journal(rkb_run_t *run, rkb_error_t *err)
{
    char *path = path_in(run, "journal.jsonl");
    rkb_status_t status = RKB_OK;
    if (rkb_file_exists(path) && is_unbegun(path)) {
        fprintf(run->params.err, "rkb-mpi: %s: holds no whole line; it is begun anew\n", path);
        unlink(path);
    }
    if (rkb_file_exists(path)) {
        uint64_t cut = 0;
        status = rkb_journal_open(run->folder, &run->journal, &cut, err);
        if (status == RKB_OK && cut > 0) {
            fprintf(run->params.err,
                    "rkb-mpi: %s: a broken last line of %llu bytes was cut off; its item is judged "
                    "again\n",
                    path, (unsigned long long)cut);
        }
        if (status == RKB_OK) {
            status = rkb_journal_read(run->folder, visit, run, NULL, err);
        }
    }
    free(path);
    return status;
}

static rkb_status_t load_record(rkb_run_t *run, const char *path, const cJSON *given,
                                rkb_error_t *err)
{
    rkb_status_t status = rkb_json_load(path, &run->record, err);
    if (status != RKB_OK) {
        return status;
    }
    const char *schema = rkb_message_text(run->record, "schema");
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(run->record, "options");
    if (schema == NULL || strcmp(schema, RUN_SCHEMA) != 0 || !cJSON_IsObject(options)) {
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: schema is %s; this rkb resumes %s", path,
                             schema != NULL ? schema : "missing", RUN_SCHEMA);
    }
    status = rkb_settings_agree(given, options, err);
    if (status != RKB_OK) {
        return rkb_error_prefix(err, "%s", run->folder);
    }
    cJSON *copy = cJSON_Duplicate(options, true);
    cJSON_Delete(run->options);
    run->options = copy;
    /* Runs of a later rkb may know more options than an older one wrote down. */
    status = rkb_settings_complete(run->options, err);
    if (status == RKB_OK) {
        status = open_journal(run, err);
    }
    return status;
}

static rkb_status_t resume(rkb_run_t *run, const cJSON *given, bool *fresh, rkb_error_t *err)
{
    char *record = path_in(run, "run.json"), *journal = path_in(run, "journal.jsonl");
    rkb_status_t status = RKB_OK;
    *fresh = false;
    if (rkb_file_exists(record)) {
        status = load_record(run, record, given, err);
    } else if (rkb_file_exists(journal)) {
        status = rkb_error_set(err, RKB_ERR_INVALID,
                               "%s: is missing, but there is a journal; without it nobody knows "
                               "what was judged",
                               record);
    } else {
        fprintf(run->params.err,
                "rkb-mpi: %s: nothing was begun there yet; the run starts afresh\n", run->folder);
        *fresh = true;
    }
    free(record);
    free(journal);
    return status;
}

rkb_status_t rkb_run_open(const rkb_run_params_t *params, rkb_run_t **out, rkb_error_t *err)
{
    rkb_run_t *run = rkb_xcalloc(1, sizeof(*run));
    run->params = *params;
    run->done = rkb_keyset_create();
    run->notices = rkb_keyset_create();
    char *name =
        params->command->out != NULL ? rkb_xstrdup(params->command->out) : default_folder();
    cJSON *given = NULL;
    bool fresh = true;
    /* Before anything is made: what is wrong with the command line leaves no traces. */
    rkb_status_t status = rkb_settings_given(params->command, &given, err);
    if (status == RKB_OK) {
        run->options = cJSON_Duplicate(given, true);
        if (!params->command->resume && rkb_file_exists(name)) {
            status = rkb_error_set(err, RKB_ERR_EXISTS,
                                   "%s: exists already; choose another --out, or go on with it by "
                                   "--resume",
                                   name);
        }
    }
    if (status == RKB_OK) {
        status = resolve(name, &run->folder, err);
    }
    if (status == RKB_OK && params->command->resume) {
        status = resume(run, given, &fresh, err);
    }
    if (status == RKB_OK && fresh) {
        status = rkb_settings_complete(run->options, err);
    }
    if (status == RKB_OK && fresh && !(params->command->resume && rkb_file_is_dir(run->folder))) {
        status = make_folder(run, err);
    }
    cJSON_Delete(given);
    free(name);
    if (status != RKB_OK) {
        rkb_run_close(run);
        return status;
    }
    *out = run;
    return RKB_OK;
}

void rkb_run_close(rkb_run_t *run)
{
    if (run == NULL) {
        return;
    }
    if (run->made_folder && !run->begun) {
        rmdir(run->folder);
    }
    rkb_journal_close(run->journal);
    rkb_keyset_destroy(run->done);
    rkb_keyset_destroy(run->notices);
    cJSON_Delete(run->options);
    cJSON_Delete(run->record);
    free(run->folder);
    free(run);
}

const char *rkb_run_folder(const rkb_run_t *run)
{
    return run->folder;
}

const cJSON *rkb_run_options(const rkb_run_t *run)
{
    return run->options;
}

bool rkb_run_is_resumed(const rkb_run_t *run)
{
    return run->record != NULL;
}

bool rkb_run_is_complete(const rkb_run_t *run)
{
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(run->record, "items");
    return run->journal != NULL && cJSON_IsNumber(items) && run->done_count >= items->valuedouble;
}

rkb_status_t rkb_run_is_done(rkb_run_t *run, const char *key, bool *done, rkb_error_t *err)
{
    /* The plan has each key once, so that adding it spoils nothing. */
    bool added;
    rkb_status_t status = rkb_keyset_add(run->done, key, &added, err);
    if (status == RKB_OK) {
        *done = !added;
    }
    return status;
}

static void add_command(cJSON *record, int argc, char *const *argv)
{
    cJSON *command = cJSON_CreateArray();
    for (int i = 0; i < argc; i++) {
        char *word = rkb_xstrdup(argv[i]);
        rkb_text_sanitize(word);
        cJSON_AddItemToArray(command, cJSON_CreateString(word));
        free(word);
    }
    rkb_message_add(record, "command", command);
}

static void add_copy(cJSON *record, const char *key, const cJSON *from)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, key);
    rkb_message_add(record, key, value != NULL ? cJSON_Duplicate(value, true) : cJSON_CreateNull());
}

static void add_seed(cJSON *record, const cJSON *options)
{
    rkb_json_at_t root = rkb_json_root(options);
    uint64_t seed = 0;
    (void)rkb_json_get_uint64(&root, "seed", &seed, NULL);
    (void)rkb_json_add_uint64(record, "seed", seed);
}

static cJSON *describe(const rkb_run_t *run, const cJSON *plan, const cJSON *facts, uint32_t items)
{
    cJSON *record = cJSON_CreateObject();
    char stamp[32], host[256] = "localhost";
    gethostname(host, sizeof(host) - 1);
    rkb_message_add_text(record, "schema", RUN_SCHEMA);
    rkb_message_add_text(record, "id", id_of(run->folder));
    add_command(record, run->params.argc, run->params.argv);
    rkb_message_add_text(record, "started", rkb_clock_iso8601(stamp, sizeof(stamp)));
    rkb_message_add_text(record, "host", host);
    add_seed(record, run->options);
    add_copy(record, "device", run->options);
    add_copy(record, "configs", run->options);
    add_copy(record, "tasks", run->options);
    add_copy(record, "cxx_flags", run->options);
    add_copy(record, "tasks_sha256", plan);
    add_copy(record, "plan_sha256", plan);
    rkb_message_add_number(record, "items", items);
    cJSON *versions = cJSON_CreateObject();
    rkb_message_add_text(versions, "rkb", RKB_VERSION);
    rkb_message_add_text(versions, "mpi", run->params.mpi_version);
    add_copy(versions, "torch", facts);
    add_copy(versions, "compiler", facts);
    rkb_message_add(record, "versions", versions);
    if (run->params.evaluator != NULL) {
        char *line = rkb_xstrdup("");
        for (char *const *word = run->params.evaluator; *word != NULL; word++) {
            char *longer = rkb_strf("%s%s%s", line, *line != '\0' ? " " : "", *word);
            free(line);
            line = longer;
        }
        rkb_message_add_text(record, "evaluator", line);
        free(line);
    }
    rkb_message_add_text(record, "out", run->folder);
    rkb_message_add(record, "options", cJSON_Duplicate(run->options, true));
    return record;
}

static rkb_status_t create_journal(rkb_run_t *run, const cJSON *plan, uint32_t items,
                                   rkb_error_t *err)
{
    cJSON *first = cJSON_CreateObject();
    rkb_message_add_text(first, "type", "run");
    rkb_message_add_text(first, "schema", RKB_JOURNAL_SCHEMA);
    rkb_message_add_text(first, "run", id_of(run->folder));
    add_seed(first, run->options);
    add_copy(first, "tasks_sha256", plan);
    add_copy(first, "plan_sha256", plan);
    rkb_message_add_number(first, "items", items);
    rkb_status_t status = rkb_journal_create(run->folder, first, &run->journal, err);
    cJSON_Delete(first);
    return status;
}

static rkb_status_t compare(const rkb_run_t *run, const cJSON *plan, const char *key,
                            const char *what, rkb_error_t *err)
{
    const char *then = rkb_message_text(run->record, key), *now = rkb_message_text(plan, key);
    if (then != NULL && now != NULL && strcmp(then, now) == 0) {
        return RKB_OK;
    }
    return rkb_error_set(err, RKB_ERR_USAGE,
                         "%s: %s changed since the run began (%s was %.12s, is %.12s); results of "
                         "both would be mixed. Put back what was there, or start a new run",
                         run->folder, what, key, then != NULL ? then : "missing",
                         now != NULL ? now : "missing");
}

rkb_status_t rkb_run_begin(rkb_run_t *run, const cJSON *plan, const cJSON *facts, uint32_t items,
                           rkb_error_t *err)
{
    rkb_status_t status = RKB_OK;
    if (run->record != NULL) {
        status = compare(run, plan, "tasks_sha256", "the tasks have", err);
        if (status == RKB_OK) {
            status = compare(run, plan, "plan_sha256", "the candidates have", err);
        }
    } else {
        char *path = path_in(run, "run.json");
        cJSON *record = describe(run, plan, facts, items);
        char *text = cJSON_Print(record);
        cJSON_Delete(record);
        status = text != NULL ? rkb_file_write_atomic(path, text, strlen(text), err)
                              : rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for run.json");
        cJSON_free(text);
        free(path);
        run->begun = run->begun || status == RKB_OK;
    }
    if (status == RKB_OK && run->journal == NULL) {
        status = create_journal(run, plan, items, err);
    }
    return status;
}

/* Appends and frees. */
static rkb_status_t append(rkb_run_t *run, cJSON *record, rkb_error_t *err)
{
    rkb_status_t status = rkb_journal_append(run->journal, record, err);
    cJSON_Delete(record);
    return status;
}

static cJSON *record_of(const char *type)
{
    cJSON *record = cJSON_CreateObject();
    rkb_message_add_text(record, "type", type);
    return record;
}

rkb_status_t rkb_run_add_result(rkb_run_t *run, const char *key, uint32_t attempt, int rank,
                                const cJSON *result, rkb_error_t *err)
{
    cJSON *record = record_of("result");
    rkb_message_add_text(record, "key", key);
    rkb_message_add_number(record, "attempt", attempt);
    rkb_message_add_number(record, "rank", rank);
    rkb_message_add(record, "result", cJSON_Duplicate(result, true));
    return append(run, record, err);
}

rkb_status_t rkb_run_add_rank(rkb_run_t *run, int rank, const char *host, const cJSON *facts,
                              rkb_error_t *err)
{
    cJSON *record = record_of("rank");
    rkb_message_add_number(record, "rank", rank);
    rkb_message_add_text(record, "host", host);
    rkb_message_add(record, "facts",
                    facts != NULL ? cJSON_Duplicate(facts, true) : cJSON_CreateObject());
    return append(run, record, err);
}

rkb_status_t rkb_run_add_notice(rkb_run_t *run, const char *kind, const char *path,
                                const char *text, rkb_error_t *err)
{
    bool added;
    char *name = notice_name(kind, path, text);
    rkb_status_t status = rkb_keyset_add(run->notices, name, &added, err);
    free(name);
    if (status != RKB_OK || !added) {
        return status;
    }
    cJSON *record = record_of("notice");
    rkb_message_add_text(record, "kind", kind);
    rkb_message_add_text(record, "path", path);
    rkb_message_add_text(record, "text", text);
    return append(run, record, err);
}

rkb_status_t rkb_run_add_end(rkb_run_t *run, const char *status_text, int exit_code, double wall,
                             rkb_error_t *err)
{
    char stamp[32];
    cJSON *record = record_of("end");
    rkb_message_add_text(record, "status", status_text);
    rkb_message_add_number(record, "exit_code", exit_code);
    rkb_message_add_text(record, "finished", rkb_clock_iso8601(stamp, sizeof(stamp)));
    rkb_message_add_number(record, "wall_s", wall);
    return append(run, record, err);
}

rkb_status_t rkb_run_sync(rkb_run_t *run, rkb_error_t *err)
{
    return run->journal != NULL ? rkb_journal_sync(run->journal, err) : RKB_OK;
}
