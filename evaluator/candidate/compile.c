#include "evaluator/candidate/compile.h"

#include "common/clock.h"
#include "common/file.h"
#include "common/process.h"
#include "evaluator/candidate/cache.h"
#include "evaluator/candidate/diagnose.h"
#include "evaluator/candidate/rewrite.h"
#include "evaluator/candidate/toolchain.h"
#include "evaluator/kernel_api/rkb_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SOURCE_LIMIT = 4 << 20, LOG_LIMIT = 64 << 10, LOG_READ_LIMIT = 1 << 20 };
static const double default_timeout = 120;
static const uint64_t default_memory = UINT64_C(4) << 30;
static const uint64_t file_limit = UINT64_C(512) << 20; /* of objects and of the log */

struct rkb_compile_job {
    rkb_compiler_t *compiler;
    rkb_compile_job_t *next;
    char key[RKB_SHA256_HEX_SIZE];
    char *name;
    char *entry; /* where the object lies when done */
    rkb_compile_state_t state;
    bool cached;
    double started, seconds;
    char *message, *log;
    /* while it runs */
    char *scratch;
    rkb_process_t *process;
};

struct rkb_compiler {
    rkb_toolchain_t toolchain;
    char *cache_dir;
    double timeout;
    uint64_t memory_limit;
    rkb_compile_job_t *jobs; /* all that were started: running, done and failed ones */
};

rkb_status_t rkb_compiler_create(const rkb_compile_options_t *options, rkb_compiler_t **out,
                                 rkb_error_t *err)
{
    rkb_compiler_t *compiler = rkb_xcalloc(1, sizeof *compiler);
    rkb_status_t status = rkb_toolchain_find(options->compiler, options->flags, options->sanitize,
                                             &compiler->toolchain, err);
    if (status != RKB_OK)
        goto err_free;
    compiler->cache_dir = rkb_cache_locate(options->cache_dir);
    status = rkb_cache_open(compiler->cache_dir, err);
    if (status != RKB_OK)
        goto err_release;
    /* Jobs run in folders of their own, where a relative path would lead elsewhere. */
    char *absolute = realpath(compiler->cache_dir, NULL);
    if (absolute) {
        free(compiler->cache_dir);
        compiler->cache_dir = absolute;
    }
    compiler->timeout = options->timeout > 0 ? options->timeout : default_timeout;
    compiler->memory_limit = options->memory_limit ? options->memory_limit : default_memory;
    *out = compiler;
    return RKB_OK;

err_release:
    free(compiler->cache_dir);
    rkb_toolchain_release(&compiler->toolchain);
err_free:
    free(compiler);
    return status;
}

static void job_clean_up(rkb_compile_job_t *job)
{
    rkb_process_destroy(job->process);
    job->process = NULL;
    if (job->scratch)
        rkb_file_remove_tree(job->scratch, NULL);
    free(job->scratch);
    job->scratch = NULL;
}

static void job_destroy(rkb_compile_job_t *job)
{
    job_clean_up(job);
    free(job->name);
    free(job->entry);
    free(job->message);
    free(job->log);
    free(job);
}

void rkb_compiler_destroy(rkb_compiler_t *compiler)
{
    if (!compiler)
        return;
    while (compiler->jobs) {
        rkb_compile_job_t *job = compiler->jobs;
        compiler->jobs = job->next;
        job_destroy(job);
    }
    rkb_toolchain_release(&compiler->toolchain);
    free(compiler->cache_dir);
    free(compiler);
}

const char *rkb_compiler_version(const rkb_compiler_t *compiler)
{
    return compiler->toolchain.version;
}

const char *rkb_compiler_cache_dir(const rkb_compiler_t *compiler)
{
    return compiler->cache_dir;
}

const char *rkb_compiler_flags(const rkb_compiler_t *compiler)
{
    return compiler->toolchain.flags;
}

static rkb_compile_state_t job_end(rkb_compile_job_t *job, rkb_compile_state_t state,
                                   const char *message)
{
    job->state = state;
    free(job->message);
    job->message = rkb_xstrdup(message);
    job_clean_up(job);
    return state;
}

/* Everything that the object depends on. */
static rkb_status_t make_key(const rkb_compiler_t *compiler, const char *source, size_t len,
                             char key[RKB_SHA256_HEX_SIZE], rkb_error_t *err)
{
    const rkb_toolchain_t *tc = &compiler->toolchain;
    rkb_sha256_t *hash;
    rkb_status_t status = rkb_sha256_create(&hash, err);
    if (status != RKB_OK)
        return status;
    char abi[32];
    snprintf(abi, sizeof abi, "torch abi %d", RKB_ABI_VERSION);
    rkb_sha256_update_field(hash, "rkb-object/1");
    rkb_sha256_update_field(hash, abi);
    rkb_sha256_update_field(hash, tc->version);
    rkb_sha256_update_field(hash, tc->headers_sha256);
    for (size_t i = 0; i < tc->narguments; i++) {
        /* The headers count by their contents, not by where they lie. */
        if (strncmp(tc->arguments[i], "-I", 2) != 0)
            rkb_sha256_update_field(hash, tc->arguments[i]);
    }
    rkb_sha256_update_field(hash, "");
    rkb_sha256_update(hash, source, len);
    rkb_sha256_finish(hash, key);
    rkb_sha256_destroy(hash);
    return RKB_OK;
}

static rkb_status_t spawn_compiler(rkb_compile_job_t *job, rkb_error_t *err)
{
    const rkb_compiler_t *compiler = job->compiler;
    const rkb_toolchain_t *tc = &compiler->toolchain;
    char *log = rkb_strf("%s/log", job->scratch);
    int fd = open(log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(log);
    if (fd < 0)
        return rkb_error_set(err, RKB_ERR_IO, "%s/log: %s", job->scratch, strerror(errno));

    const char **argv = rkb_xcalloc(tc->narguments + 5, sizeof *argv);
    size_t n = 0;
    argv[n++] = tc->compiler;
    for (size_t i = 0; i < tc->narguments; i++)
        argv[n++] = tc->arguments[i];
    argv[n++] = "candidate.cu";
    argv[n++] = "-o";
    argv[n++] = "candidate.so";
    char *tmpdir = rkb_strf("TMPDIR=%s", job->scratch);
    const char *env[] = {tc->path_env, "LANG=C",           "LC_ALL=C",
                         tmpdir,       "CCACHE_DISABLE=1", /* where c++ is a link to ccache */
                         NULL};
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    params.argv = argv;
    params.env = env;
    params.cwd = job->scratch;
    params.stdout_fd = fd;
    params.stderr_fd = fd;
    params.memory_limit = compiler->memory_limit;
    params.cpu_limit = compiler->timeout + 5; /* a last resort: the clock is to tell first */
    params.file_limit = file_limit;
    params.no_core = params.new_group = params.die_with_parent = params.no_new_privs = true;
    rkb_status_t status = rkb_process_spawn(&params, &job->process, err);
    free(tmpdir);
    free(argv);
    close(fd);
    return status;
}

/* Rewrites the source into a scratch folder and starts the compiler on it. */
static void job_launch(rkb_compile_job_t *job, const char *source, size_t len)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char *text;
    size_t text_len;
    if (len > SOURCE_LIMIT) {
        job_end(job, RKB_COMPILE_FAILED, "the source is larger than 4 MiB");
        return;
    }
    rkb_status_t status = rkb_rewrite_cuda(job->name, source, len, &text, &text_len, &err);
    if (status != RKB_OK) {
        job_end(job, status == RKB_ERR_UNSUPPORTED ? RKB_COMPILE_UNSUPPORTED : RKB_COMPILE_FAILED,
                err.text);
        return;
    }
    status = rkb_cache_scratch(job->compiler->cache_dir, &job->scratch, &err);
    if (status == RKB_OK) {
        char *path = rkb_strf("%s/candidate.cu", job->scratch);
        status = rkb_file_write_atomic(path, text, text_len, &err);
        free(path);
    }
    if (status == RKB_OK)
        status = spawn_compiler(job, &err);
    free(text);
    if (status != RKB_OK)
        job_end(job, RKB_COMPILE_BROKEN, err.text);
}

rkb_compile_job_t *rkb_compiler_start(rkb_compiler_t *compiler, const char *name,
                                      const char *source, size_t len)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char key[RKB_SHA256_HEX_SIZE] = "";
    rkb_status_t status = make_key(compiler, source, len, key, &err);
    rkb_compile_job_t *job = compiler->jobs;
    while (job && strcmp(job->key, key) != 0)
        job = job->next;
    /* Known, unless its object has been cleared away since. */
    if (job && (job->state != RKB_COMPILE_DONE || rkb_cache_has(job->entry)))
        return job;
    if (!job) {
        job = rkb_xcalloc(1, sizeof *job);
        job->compiler = compiler;
        job->next = compiler->jobs;
        compiler->jobs = job;
        memcpy(job->key, key, sizeof key);
        job->name = rkb_xstrdup(name);
        job->entry = rkb_cache_entry(compiler->cache_dir, key);
        job->log = rkb_xstrdup("");
    }
    job->state = RKB_COMPILE_RUNNING;
    job->started = rkb_clock_now();
    job->cached = status == RKB_OK && rkb_cache_has(job->entry);
    if (status != RKB_OK)
        job_end(job, RKB_COMPILE_BROKEN, err.text);
    else if (job->cached)
        job_end(job, RKB_COMPILE_DONE, "");
    else
        job_launch(job, source, len);
    return job;
}

/* The output of the compiler, cleaned; raw text is cut at LOG_READ_LIMIT. */
static char *read_log(const rkb_compile_job_t *job)
{
    const rkb_toolchain_t *tc = &job->compiler->toolchain;
    char *raw = rkb_xcalloc(1, LOG_READ_LIMIT + 1);
    char *path = rkb_strf("%s/log", job->scratch);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got;
    while (fd >= 0 && used < LOG_READ_LIMIT &&
           (got = read(fd, raw + used, LOG_READ_LIMIT - used)) > 0)
        used += (size_t)got;
    if (fd >= 0)
        close(fd);
    free(path);
    for (size_t i = 0; i < used; i++) {
        if (raw[i] == '\0')
            raw[i] = '?';
    }
    char *torch = rkb_strf("%s/torch/", tc->include_dir);
    char *cuda = rkb_strf("%s/cuda/", tc->include_dir);
    char *include = rkb_strf("%s/", tc->include_dir);
    char *scratch = rkb_strf("%s/", job->scratch);
    const char *prefixes[] = {torch, cuda, include, scratch, NULL};
    char *clean = rkb_clean_log(raw, prefixes, LOG_READ_LIMIT);
    free(torch);
    free(cuda);
    free(include);
    free(scratch);
    free(raw);
    return clean;
}

/* Why a compiler that gave up without an error of the source could not write; NULL: it could. The
 * log may be empty because it lies on the full disk, too. */
static const char *writing_obstacle(const char *scratch, const char *log)
{
    enum { TOO_LITTLE = 64 << 10 };
    struct statvfs disk;
    if (!rkb_file_is_dir(scratch))
        return "its folder was removed";
    if (strstr(log, strerror(ENOSPC)) ||
        (statvfs(scratch, &disk) == 0 && disk.f_bavail * disk.f_frsize < TOO_LITTLE))
        return strerror(ENOSPC);
    return NULL;
}

static rkb_compile_state_t job_finish(rkb_compile_job_t *job, const rkb_process_result_t *result)
{
    job->seconds = rkb_clock_now() - job->started;
    char *log = read_log(job);
    rkb_diagnosis_t diagnosis = rkb_diagnose(log, job->name);
    if (strlen(log) > LOG_LIMIT)
        log[LOG_LIMIT] = '\0';
    free(job->log);
    job->log = log;
    char text[640];
    if (diagnosis.failed)
        return job_end(job, diagnosis.unsupported ? RKB_COMPILE_UNSUPPORTED : RKB_COMPILE_FAILED,
                       diagnosis.text);
    const char *obstacle = writing_obstacle(job->scratch, log);
    if (obstacle) {
        snprintf(text, sizeof text, "the compiler could not write below %s: %s",
                 job->compiler->cache_dir, obstacle);
        return job_end(job, RKB_COMPILE_BROKEN, text);
    }
    if (!result->exited || result->exit_code != 0) {
        char how[128];
        snprintf(text, sizeof text, "the compiler gave up: %s",
                 rkb_process_describe(result, how, sizeof how));
        return job_end(job, RKB_COMPILE_FAILED, text);
    }
    rkb_error_t err = RKB_ERROR_INIT;
    char *object = rkb_strf("%s/candidate.so", job->scratch);
    rkb_status_t status = rkb_cache_publish(object, job->entry, &err);
    free(object);
    if (status != RKB_OK)
        return job_end(job, RKB_COMPILE_BROKEN, err.text);
    return job_end(job, RKB_COMPILE_DONE, "");
}

static rkb_compile_state_t job_step(rkb_compile_job_t *job, double until)
{
    if (job->state != RKB_COMPILE_RUNNING)
        return job->state;
    double deadline = job->started + job->compiler->timeout;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_process_result_t result;
    rkb_status_t status =
        rkb_process_wait(job->process, until < deadline ? until : deadline, &result, &err);
    if (status == RKB_OK)
        return job_finish(job, &result);
    if (status != RKB_ERR_TIMEOUT)
        return job_end(job, RKB_COMPILE_BROKEN, err.text);
    if (rkb_clock_now() < deadline)
        return RKB_COMPILE_RUNNING;
    char text[128];
    snprintf(text, sizeof text, "the compiler was stopped at its limit of %g s",
             job->compiler->timeout);
    job->seconds = rkb_clock_now() - job->started;
    return job_end(job, RKB_COMPILE_TIMED_OUT, text);
}

int rkb_compile_job_fd(const rkb_compile_job_t *job)
{
    return job->process ? rkb_process_pidfd(job->process) : -1;
}

rkb_compile_state_t rkb_compile_job_poll(rkb_compile_job_t *job)
{
    return job_step(job, 0);
}

rkb_compile_state_t rkb_compile_job_wait(rkb_compile_job_t *job)
{
    while (job->state == RKB_COMPILE_RUNNING)
        job_step(job, job->started + job->compiler->timeout);
    return job->state;
}

const char *rkb_compile_job_path(const rkb_compile_job_t *job)
{
    return job->entry;
}

const char *rkb_compile_job_message(const rkb_compile_job_t *job)
{
    return job->message ? job->message : "";
}

const char *rkb_compile_job_log(const rkb_compile_job_t *job)
{
    return job->log;
}

double rkb_compile_job_take_seconds(rkb_compile_job_t *job)
{
    double seconds = job->seconds;
    job->seconds = 0;
    return seconds;
}

bool rkb_compile_job_cached(const rkb_compile_job_t *job)
{
    return job->cached;
}
