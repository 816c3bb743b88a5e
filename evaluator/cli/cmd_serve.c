#include "evaluator/cli/commands.h"

#include "common/file.h"
#include "common/json.h"
#include "common/line_reader.h"
#include "common/log.h"
#include "common/options.h"
#include "evaluator/rkb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* `rkb serve`: one evaluator behind the protocol of docs/protocol.md, on standard input. */

typedef struct {
    rkb_line_reader_t *reader;
    rkb_line_writer_t *writer;
    rkb_evaluator_t *evaluator;
    char **pending; /* requests that came while an item was judged, oldest first */
    size_t pending_count;
    bool ended; /* the rank is gone or broke the protocol */
} serve_t;

/* Replies are small; a rank that stops reading is dead or wedged, and then so may we block. */
static rkb_status_t send_line(serve_t *serve, const cJSON *line, rkb_error_t *err)
{
    char *text = rkb_json_print_line(line);
    if (text == NULL) {
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory while answering");
    }
    rkb_status_t status = rkb_line_writer_put(serve->writer, text, err);
    free(text);
    bool pending = true;
    while (status == RKB_OK && pending) {
        status = rkb_line_writer_flush(serve->writer, &pending, err);
        if (status == RKB_OK && pending) {
            usleep(1000);
        }
    }
    return status;
}

static rkb_status_t send_error(serve_t *serve, const rkb_error_t *cause, rkb_error_t *err)
{
    cJSON *line = cJSON_CreateObject();
    rkb_status_t status = RKB_ERR_NO_MEMORY;
    if (line != NULL && rkb_json_add_string(line, "op", "error") &&
        rkb_json_add_string(line, "status", rkb_status_name(cause->status)) &&
        rkb_json_add_string(line, "text", cause->text)) {
        status = send_line(serve, line, err);
    }
    cJSON_Delete(line);
    return status;
}

/* Optional members of a request: absent and null leave the default. */
static const char *text_member(const cJSON *request, const char *key)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(request, key);
    return cJSON_IsString(node) ? node->valuestring : NULL;
}

static double number_member(const cJSON *request, const char *key, double fallback)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(request, key);
    return cJSON_IsNumber(node) && isfinite(node->valuedouble) ? node->valuedouble : fallback;
}

static bool bool_member(const cJSON *request, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(request, key));
}

static rkb_status_t on_hello(serve_t *serve, const cJSON *request, rkb_error_t *err)
{
    rkb_json_at_t root = rkb_json_root(request);
    int64_t protocol;
    rkb_evaluator_params_t params = RKB_EVALUATOR_PARAMS_INIT;
    rkb_error_t cause = RKB_ERROR_INIT;
    rkb_status_t status = rkb_json_get_int64(&root, "protocol", &protocol, &cause);
    if (status == RKB_OK && protocol != RKB_SERVE_PROTOCOL) {
        status = rkb_error_set(&cause, RKB_ERR_PROTOCOL,
                               "the driver speaks protocol %lld, this evaluator (rkb %s) speaks "
                               "%d: they come from different installations",
                               (long long)protocol, RKB_VERSION, RKB_SERVE_PROTOCOL);
    }
    if (status == RKB_OK && serve->evaluator != NULL) {
        status = rkb_error_set(&cause, RKB_ERR_PROTOCOL, "hello was said twice");
    }
    if (status == RKB_OK) {
        status = rkb_json_get_uint64(&root, "seed", &params.seed, &cause);
    }
    if (status == RKB_OK) {
        const char *device = text_member(request, "device");
        params.device = device != NULL ? device : "auto";
        params.local_rank = (int)number_member(request, "local_rank", 0);
        params.tasks = text_member(request, "tasks");
        params.trials = (int)number_member(request, "trials", 0);
        params.timeout = number_member(request, "timeout", 0);
        params.compile_timeout = number_member(request, "compile_timeout", 0);
        params.cache_dir = text_member(request, "cache");
        params.cxx_flags = text_member(request, "cxx_flags");
        params.log_dir = text_member(request, "logs");
        params.sanitize = bool_member(request, "sanitize");
        status = rkb_evaluator_create(&params, &serve->evaluator, &cause);
    }
    if (status != RKB_OK) {
        return send_error(serve, &cause, err);
    }
    cJSON *answer = rkb_evaluator_facts(serve->evaluator);
    status = answer != NULL && rkb_json_add_string(answer, "op", "hello")
                 ? send_line(serve, answer, err)
                 : rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory while answering");
    cJSON_Delete(answer);
    return status;
}

static rkb_status_t plan_sink(const cJSON *line, void *context, rkb_error_t *err)
{
    return send_line(context, line, err);
}

static rkb_status_t on_plan(serve_t *serve, const cJSON *request, rkb_error_t *err)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(request, "kernels");
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    const char **kernels = rkb_xcalloc((size_t)count + 1, sizeof(*kernels));
    int used = 0;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        if (cJSON_IsString(entry)) {
            kernels[used++] = entry->valuestring;
        }
    }
    rkb_plan_params_t params = {
        .kernels = kernels,
        .kernel_count = used,
        .manifest = text_member(request, "manifest"),
        .samples = bool_member(request, "samples"),
        .controls = bool_member(request, "controls"),
        .configs = text_member(request, "configs"),
        .config = text_member(request, "config"),
        .task = text_member(request, "task"),
        .direction = text_member(request, "direction"),
    };
    if (params.configs == NULL) {
        params.configs = "single";
    }
    rkb_error_t cause = RKB_ERROR_INIT;
    cJSON *done;
    rkb_status_t status =
        rkb_evaluator_plan(serve->evaluator, &params, plan_sink, serve, &done, &cause);
    free(kernels);
    if (status != RKB_OK) {
        return send_error(serve, &cause, err);
    }
    status = send_line(serve, done, err);
    cJSON_Delete(done);
    return status;
}

static rkb_status_t on_prepare(serve_t *serve, const cJSON *request, rkb_error_t *err)
{
    (void)err;
    rkb_evaluator_prepare(serve->evaluator, cJSON_GetObjectItemCaseSensitive(request, "payload"));
    return RKB_OK;
}

static rkb_status_t on_eval(serve_t *serve, const cJSON *request, rkb_error_t *err)
{
    rkb_json_at_t root = rkb_json_root(request);
    int64_t id;
    rkb_error_t cause = RKB_ERROR_INIT;
    if (rkb_json_get_int64(&root, "id", &id, &cause) != RKB_OK) {
        return send_error(serve, &cause, err);
    }
    cJSON *result =
        rkb_evaluator_judge(serve->evaluator, cJSON_GetObjectItemCaseSensitive(request, "payload"));
    cJSON *answer = cJSON_CreateObject();
    bool ok = answer != NULL && result != NULL && rkb_json_add_string(answer, "op", "result") &&
              rkb_json_add_int64(answer, "id", id) &&
              cJSON_AddItemToObject(answer, "result", result);
    rkb_status_t status = ok ? send_line(serve, answer, err)
                             : rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory for a result");
    if (!ok) {
        cJSON_Delete(result);
    }
    cJSON_Delete(answer);
    return status;
}

static rkb_status_t on_bye(serve_t *serve, const cJSON *request, rkb_error_t *err)
{
    (void)request;
    (void)err;
    serve->ended = true;
    return RKB_OK;
}

typedef struct {
    const char *op;
    bool needs_evaluator;
    rkb_status_t (*run)(serve_t *serve, const cJSON *request, rkb_error_t *err);
} operation_t;

static const operation_t operations[] = {
    {"hello", false, on_hello}, {"plan", true, on_plan}, {"prepare", true, on_prepare},
    {"eval", true, on_eval},    {"bye", false, on_bye},
};

static rkb_status_t serve_line(serve_t *serve, const char *text, size_t len, rkb_error_t *err)
{
    cJSON *request;
    rkb_error_t cause = RKB_ERROR_INIT;
    if (rkb_json_parse(text, len, &request, &cause) != RKB_OK) {
        rkb_error_prefix(&cause, "a request is no JSON");
        return send_error(serve, &cause, err);
    }
    const char *op = text_member(request, "op");
    rkb_status_t status = RKB_OK;
    const operation_t *found = NULL;
    for (size_t i = 0; op != NULL && i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (strcmp(op, operations[i].op) == 0) {
            found = &operations[i];
        }
    }
    if (found == NULL) {
        rkb_error_set(&cause, RKB_ERR_PROTOCOL, "unknown request \"%s\"", op != NULL ? op : "");
        status = send_error(serve, &cause, err);
    } else if (found->needs_evaluator && serve->evaluator == NULL) {
        rkb_error_set(&cause, RKB_ERR_PROTOCOL, "%s came before a hello that succeeded", op);
        status = send_error(serve, &cause, err);
    } else {
        status = found->run(serve, request, err);
    }
    cJSON_Delete(request);
    return status;
}

static void keep_line(serve_t *serve, const char *text)
{
    serve->pending =
        rkb_xrealloc(serve->pending, serve->pending_count + 1, sizeof(*serve->pending));
    serve->pending[serve->pending_count++] = rkb_xstrdup(text);
}

/* While an item waits for its compiler: start the jobs of items to come, keep the rest for later.
 */
static void serve_idle(void *context)
{
    serve_t *serve = context;
    rkb_error_t ignored = RKB_ERROR_INIT;
    for (;;) {
        char *line = NULL;
        size_t len;
        if (rkb_line_reader_next(serve->reader, 0, &line, &len, &ignored) != RKB_OK) {
            _exit(0); /* the rank is gone; cells and jobs die with this process */
        }
        if (line == NULL) {
            return;
        }
        cJSON *request;
        if (rkb_json_parse(line, len, &request, &ignored) != RKB_OK) {
            keep_line(serve, line);
            continue;
        }
        const char *op = text_member(request, "op");
        if (op != NULL && strcmp(op, "prepare") == 0) {
            (void)on_prepare(serve, request, &ignored);
        } else {
            keep_line(serve, line);
        }
        cJSON_Delete(request);
    }
}

static rkb_status_t serve_loop(serve_t *serve, rkb_error_t *err)
{
    rkb_status_t status = RKB_OK;
    while (status == RKB_OK && !serve->ended) {
        if (serve->evaluator != NULL) {
            rkb_evaluator_set_idle(serve->evaluator, STDIN_FILENO, serve_idle, serve);
        }
        if (serve->pending_count > 0) {
            char *line = serve->pending[0];
            serve->pending_count--;
            memmove(serve->pending, serve->pending + 1,
                    serve->pending_count * sizeof(*serve->pending));
            status = serve_line(serve, line, strlen(line), err);
            free(line);
            continue;
        }
        char *line = NULL;
        size_t len;
        status = rkb_line_reader_next(serve->reader, -1, &line, &len, err);
        if (status == RKB_OK && line != NULL) {
            char *copy = rkb_xstrdup(line);
            status = serve_line(serve, copy, len, err);
            free(copy);
        }
    }
    return status == RKB_ERR_LOST ? RKB_OK : status; /* end of file is how a rank says goodbye */
}

int rkb_cmd_serve(int argc, char **argv)
{
    static const rkb_option_t options[] = {{NULL}};
    static const rkb_command_line_t line = {
        .program = "rkb serve",
        .synopsis = "",
        .summary = "Evaluator of one device. rkb-mpi starts it with a socket as standard input and "
                   "speaks the protocol of docs/protocol.md; it is of no use at a terminal "
                   "(`rkb eval` is).",
        .options = options,
    };
    rkb_error_t err = RKB_ERROR_INIT;
    int positional;
    rkb_parse_next_t next;
    if (rkb_options_parse(&line, argc, argv, NULL, &positional, &next, &err) != RKB_OK) {
        return rkb_error_print(&err, "rkb serve");
    }
    if (next == RKB_PARSE_EXIT) {
        return 0;
    }
    struct stat st;
    if (fstat(STDIN_FILENO, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        rkb_error_set(&err, RKB_ERR_USAGE,
                      "standard input is no socket: rkb-mpi starts this command; at a terminal use "
                      "`rkb eval`");
        return rkb_error_print(&err, "rkb serve");
    }
    rkb_log_init("rkb serve");
    serve_t serve = {.reader = rkb_line_reader_create(STDIN_FILENO),
                     .writer = rkb_line_writer_create(STDIN_FILENO)};
    rkb_status_t status = serve_loop(&serve, &err);
    for (size_t i = 0; i < serve.pending_count; i++) {
        free(serve.pending[i]);
    }
    free(serve.pending);
    rkb_evaluator_destroy(serve.evaluator);
    rkb_line_writer_destroy(serve.writer);
    rkb_line_reader_destroy(serve.reader);
    return status == RKB_OK ? 0 : rkb_error_print(&err, "rkb serve");
}
