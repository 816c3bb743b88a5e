#include "driver_job.h"

#include "common/clock.h"
#include "mpi_driver/evaluator_link.h"
#include "results/journal.h"

static char *scratch;
static char messages[1 << 16];

const char *job_scratch(void)
{
    if (scratch == NULL) {
        char name[] = "/tmp/rkb-driver-XXXXXX";
        assert_non_null(mkdtemp(name));
        scratch = rkb_xstrdup(name);
    }
    return scratch;
}

void job_remove_scratch(void)
{
    if (scratch != NULL) {
        assert_int_equal(rkb_file_remove_tree(scratch, NULL), RKB_OK);
        free(scratch);
        scratch = NULL;
    }
}

void job_init(job_t *job, int size, const char *name, const char *spec)
{
    *job = (job_t){.size = size, .command = RKB_COMMAND_INIT};
    /* Of this job alone: a fault that another job has used up would not happen here. */
    char *state = rkb_strf("%s/%s.state", job_scratch(), name);
    assert_int_equal(rkb_file_make_dirs(state, NULL), RKB_OK);
    char *line = rkb_strf("%s/tests/fake_evaluator state=%s %s", RKB_BINARY_DIR, state, spec);
    free(state);
    bool replaced;
    setenv("RKB_EVALUATOR", line, 1);
    free(line);
    assert_int_equal(rkb_evaluator_command(&job->evaluator, &replaced, NULL), RKB_OK);
    assert_true(replaced);
    job->folder = rkb_strf("%s/%s", job_scratch(), name);
    job->command.out = job->folder;
    job->command.tasks = job_scratch();
    job->command.seed = 7;
    job->command.progress = "never";
    job->out = fopen("/dev/null", "w");
    job->err = tmpfile();
    assert_non_null(job->out);
    assert_non_null(job->err);
    assert_int_equal(rkb_transport_local_create(size, job->transports, NULL), RKB_OK);
}

void job_start(job_t *job)
{
    for (int i = 0; i < job->size; i++) {
        rkb_master_params_t params = {.transport = job->transports[i],
                                      .command = &job->command,
                                      .evaluator = job->evaluator,
                                      .evaluator_replaced = true,
                                      .out = job->out,
                                      .err = job->err};
        job->ranks[i] = rkb_rank_create(&params, NULL, NULL);
    }
}

void job_step(job_t *job)
{
    static double last;
    double now = rkb_clock_now();
    double elapsed = job->speed > 0 ? job->speed : last > 0 ? now - last : 0;
    last = now;
    bool busy = false;
    for (int i = 0; i < job->size; i++) {
        bool one;
        rkb_error_t err = RKB_ERROR_INIT;
        if (job->ranks[i] == NULL || job->frozen[i]) {
            continue;
        }
        assert_status(rkb_rank_step(job->ranks[i], elapsed, &one, &err), RKB_OK, &err);
        busy = busy || one;
        if (rkb_rank_departs(job->ranks[i], &job->departures[i])) {
            job->departed[i] = true;
            rkb_rank_destroy(job->ranks[i]);
            job->ranks[i] = NULL;
        }
    }
    if (!busy) {
        rkb_clock_sleep(0.0005);
    }
}

static bool is_running(const job_t *job)
{
    for (int i = 0; i < job->size; i++) {
        if (job->ranks[i] != NULL && !job->frozen[i]) {
            return true;
        }
    }
    return false;
}

void job_kill_rank(job_t *job, int rank)
{
    rkb_rank_destroy(job->ranks[rank]);
    job->ranks[rank] = NULL;
    job->transports[rank]->ops->destroy(job->transports[rank]);
    job->transports[rank] = NULL;
}

void job_kill(job_t *job)
{
    for (int i = 0; i < job->size; i++) {
        if (job->transports[i] != NULL) {
            job_kill_rank(job, i);
        }
    }
    rewind(job->err);
    size_t got = fread(messages, 1, sizeof(messages) - 1, job->err);
    messages[got] = '\0';
    fclose(job->err);
    fclose(job->out);
    rkb_command_release(&job->command);
    rkb_evaluator_command_free(job->evaluator);
    free(job->folder);
}

int job_finish(job_t *job)
{
    double limit = rkb_clock_now() + 30;
    while (is_running(job)) {
        if (rkb_clock_now() > limit) {
            fail_msg("the job does not end");
        }
        job_step(job);
    }
    int code = job->departures[0].code;
    for (int i = 0; i < job->size; i++) {
        if (job->departed[i]) {
            assert_int_equal(job->departures[i].code, code);
        }
    }
    job_kill(job);
    return code;
}

int job_run(int size, const char *name, const char *spec)
{
    job_t job;
    job_init(&job, size, name, spec);
    job_start(&job);
    return job_finish(&job);
}

int job_resume(int size, const char *name, const char *spec)
{
    job_t job;
    job_init(&job, size, name, spec);
    job.command.resume = true;
    job_start(&job);
    return job_finish(&job);
}

const char *job_messages(void)
{
    return messages;
}

/* ---- the journal ---- */

typedef struct {
    const char *type, *verdict, *config, *member;
    int count;
    char **lines;
    char *found;
} search_t;

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(node) ? node->valuestring : "";
}

static bool visit(const cJSON *record, uint64_t line, void *context)
{
    (void)line;
    search_t *search = context;
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(record, "result");
    if (strcmp(text_of(record, "type"), search->type) != 0) {
        return true;
    }
    if (search->verdict != NULL && strcmp(text_of(result, "verdict"), search->verdict) != 0) {
        return true;
    }
    if (search->config != NULL && strcmp(text_of(result, "config"), search->config) == 0) {
        const cJSON *node = cJSON_GetObjectItemCaseSensitive(
            strcmp(search->member, "attempt") == 0 ? record : result, search->member);
        free(search->found);
        search->found =
            cJSON_IsString(node) ? rkb_xstrdup(node->valuestring) : rkb_json_print_line(node);
    }
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(result, "max_abs_error");
    search->lines = rkb_xrealloc(search->lines, (size_t)search->count + 1, sizeof(char *));
    search->lines[search->count++] =
        rkb_strf("%s %s %g", text_of(record, "key"), text_of(result, "verdict"),
                 cJSON_IsNumber(error) ? error->valuedouble : -1);
    return true;
}

static void look(const char *name, search_t *search)
{
    char *folder = rkb_strf("%s/%s", job_scratch(), name);
    rkb_error_t err = RKB_ERROR_INIT;
    assert_status(rkb_journal_read(folder, visit, search, NULL, &err), RKB_OK, &err);
    free(folder);
}

static void release(search_t *search)
{
    for (int i = 0; i < search->count; i++) {
        free(search->lines[i]);
    }
    free(search->lines);
}

int job_count(const char *name, const char *type, const char *verdict)
{
    search_t search = {.type = type, .verdict = verdict};
    look(name, &search);
    release(&search);
    return search.count;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *job_results(const char *name)
{
    search_t search = {.type = "result"};
    look(name, &search);
    qsort(search.lines, (size_t)search.count, sizeof(char *), compare);
    char *all = rkb_xstrdup("");
    for (int i = 0; i < search.count; i++) {
        char *longer = rkb_strf("%s%s\n", all, search.lines[i]);
        free(all);
        all = longer;
    }
    release(&search);
    return all;
}

char *job_member(const char *name, const char *config, const char *member)
{
    search_t search = {.type = "result", .config = config, .member = member};
    look(name, &search);
    release(&search);
    assert_non_null(search.found);
    return search.found;
}
