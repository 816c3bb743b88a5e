#include "mpi_driver/evaluator_link.h"

#include "common/clock.h"
#include "common/file.h"
#include "common/line_reader.h"
#include "common/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct rkb_evaluator_link {
    rkb_process_t *process;
    int fd;
    rkb_line_reader_t *reader;
    rkb_line_writer_t *writer;
    bool pending;
};

/* Splits at blanks; no shell, no quoting. */
static char **split_words(const char *text)
{
    char **argv = rkb_xcalloc(strlen(text) / 2 + 2, sizeof(*argv));
    size_t count = 0;
    char *copy = rkb_xstrdup(text);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        argv[count++] = rkb_xstrdup(word);
    }
    free(copy);
    return argv;
}

rkb_status_t rkb_evaluator_command(char ***argv, bool *replaced, rkb_error_t *err)
{
    const char *given = getenv("RKB_EVALUATOR");
    if (given != NULL) {
        char **words = split_words(given);
        if (words[0] == NULL) {
            rkb_evaluator_command_free(words);
            return rkb_error_set(err, RKB_ERR_USAGE,
                                 "RKB_EVALUATOR is set but holds no command; unset it to use "
                                 "`rkb serve`");
        }
        *argv = words;
        *replaced = true;
        return RKB_OK;
    }
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0) {
        return rkb_error_set(err, RKB_ERR_IO, "/proc/self/exe: %s", strerror(errno));
    }
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    char *program = rkb_strf("%.*s/rkb", slash != NULL ? (int)(slash - path) : 0, path);
    if (access(program, X_OK) != 0) {
        rkb_error_set(err, RKB_ERR_NOT_FOUND,
                      "%s: %s; rkb-mpi starts it as evaluator and expects it beside itself",
                      program, strerror(errno));
        free(program);
        return RKB_ERR_NOT_FOUND;
    }
    *argv = rkb_xcalloc(3, sizeof(**argv));
    (*argv)[0] = program;
    (*argv)[1] = rkb_xstrdup("serve");
    *replaced = false;
    return RKB_OK;
}

void rkb_evaluator_command_free(char **argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++) {
        free(argv[i]);
    }
    free(argv);
}

rkb_status_t rkb_evaluator_link_create(char *const *argv, rkb_evaluator_link_t **out,
                                       rkb_error_t *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return rkb_error_set(err, RKB_ERR_IO, "socketpair: %s", strerror(errno));
    }
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    params.argv = (const char *const *)argv;
    params.stdin_fd = fds[1];
    /* What libraries print must not mix with the summary on our standard output. */
    params.stdout_fd = STDERR_FILENO;
    params.stderr_fd = -2;
    params.new_group = true;
    params.die_with_parent = true;
    rkb_process_t *process;
    rkb_status_t status = rkb_process_spawn(&params, &process, err);
    close(fds[1]);
    if (status != RKB_OK) {
        close(fds[0]);
        return status;
    }
    rkb_evaluator_link_t *link = rkb_xcalloc(1, sizeof(*link));
    link->process = process;
    link->fd = fds[0];
    link->reader = rkb_line_reader_create(link->fd);
    link->writer = rkb_line_writer_create(link->fd);
    *out = link;
    return RKB_OK;
}

void rkb_evaluator_link_destroy(rkb_evaluator_link_t *link)
{
    if (link == NULL) {
        return;
    }
    rkb_process_destroy(link->process);
    rkb_line_writer_destroy(link->writer);
    rkb_line_reader_destroy(link->reader);
    close(link->fd);
    free(link);
}

int rkb_evaluator_link_fd(const rkb_evaluator_link_t *link)
{
    return link->fd;
}

bool rkb_evaluator_link_pending(const rkb_evaluator_link_t *link)
{
    return link->pending;
}

/* The socket is closed: say how the process ended, or kill it when it goes on without a socket. */
static rkb_status_t explain_end(rkb_evaluator_link_t *link, rkb_error_t *err)
{
    rkb_process_result_t result;
    if (rkb_process_wait(link->process, rkb_clock_now() + 0.2, &result, NULL) != RKB_OK) {
        rkb_process_kill(link->process);
        return rkb_error_set(err, RKB_ERR_LOST, "the evaluator closed its socket");
    }
    char text[128];
    return rkb_error_set(err, RKB_ERR_LOST, "the evaluator ended: %s",
                         rkb_process_describe(&result, text, sizeof(text)));
}

rkb_status_t rkb_evaluator_link_send(rkb_evaluator_link_t *link, cJSON *request, rkb_error_t *err)
{
    char *text = rkb_json_print_line(request);
    cJSON_Delete(request);
    if (text == NULL) {
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for a request");
    }
    rkb_status_t status = rkb_line_writer_put(link->writer, text, err);
    free(text);
    link->pending = rkb_line_writer_queued(link->writer) > 0;
    /* A dead reader is reported by the next receive, which also has its last words. */
    return status == RKB_ERR_LOST ? RKB_OK : status;
}

rkb_status_t rkb_evaluator_link_receive(rkb_evaluator_link_t *link, cJSON **out, rkb_error_t *err)
{
    *out = NULL;
    rkb_status_t status;
    if (link->pending) {
        status = rkb_line_writer_flush(link->writer, &link->pending, err);
        if (status != RKB_OK && status != RKB_ERR_LOST) {
            return status;
        }
    }
    char *line = NULL;
    size_t len = 0;
    status = rkb_line_reader_next(link->reader, 0, &line, &len, err);
    if (status == RKB_ERR_LOST) {
        return explain_end(link, err);
    }
    if (status != RKB_OK || line == NULL) {
        return status;
    }
    cJSON *answer;
    if (rkb_json_parse(line, len, &answer, err) != RKB_OK) {
        answer = NULL;
    }
    if (!cJSON_IsObject(answer)) {
        cJSON_Delete(answer);
        char start[49];
        snprintf(start, sizeof(start), "%.*s", (int)(len < 48 ? len : 48), line);
        rkb_text_sanitize(start);
        return rkb_error_set(err, RKB_ERR_PROTOCOL,
                             "the evaluator sent something that is no JSON object: %s", start);
    }
    *out = answer;
    return RKB_OK;
}

bool rkb_evaluator_link_ended(rkb_evaluator_link_t *link)
{
    rkb_process_result_t result;
    return rkb_process_wait(link->process, rkb_clock_now(), &result, NULL) == RKB_OK;
}
