#include "common/process.h"

#include "common/clock.h"
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { FIRST_PASSED_FD = 3, PASS_MAX = 61, INHERIT = -2 };

struct rkb_process {
    pid_t pid;
    int pidfd;
    bool group;
    bool reaped;
    bool timed_out;
    double started;
    rkb_process_result_t result; /* valid once reaped */
};

/* X(enum, text): what the child was doing when it failed. */
#define CHILD_STEP_MAP(X)                                                                          \
    X(SIGNALS, "resetting signals")                                                                \
    X(GROUP, "setpgid")                                                                            \
    X(DEATH_SIGNAL, "prctl(PR_SET_PDEATHSIG)")                                                     \
    X(DESCRIPTORS, "arranging descriptors")                                                        \
    X(FOLDER, "chdir")                                                                             \
    X(LIMITS, "setrlimit")                                                                         \
    X(NO_NEW_PRIVS, "prctl(PR_SET_NO_NEW_PRIVS)")                                                  \
    X(EXEC, "exec")

typedef enum {
#define CHILD_STEP_ENUM(_name, _text) STEP_##_name,
    CHILD_STEP_MAP(CHILD_STEP_ENUM)
#undef CHILD_STEP_ENUM
} child_step_t;

static const char *const step_texts[] = {
#define CHILD_STEP_TEXT(_name, _text) _text,
    CHILD_STEP_MAP(CHILD_STEP_TEXT)
#undef CHILD_STEP_TEXT
};

typedef struct {
    int step;
    int error;
} child_failure_t;

/* All that the child needs, made before the vfork: it may call async-signal-safe functions only. */
typedef struct {
    const rkb_process_params_t *params;
    const char *program;
    pid_t parent;
    int failure_fd;
} child_plan_t;

/* ---- in the child ---- */

static _Noreturn void child_fail(int fd, child_step_t step)
{
    child_failure_t failure = {.step = (int)step, .error = errno};
    ssize_t ignored = write(fd, &failure, sizeof failure);
    (void)ignored;
    _exit(127);
}

static bool child_reset_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &standard, NULL); /* SIGKILL, SIGSTOP and libc's own refuse: fine */
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

static void close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
        return;
    struct rlimit limit;
    int last = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1 << 20
                   ? (int)limit.rlim_cur
                   : 1 << 20;
    for (int fd = first; fd < last; fd++)
        close(fd);
}

/* Source descriptor of a standard stream; opens /dev/null for -1. */
static int stream_source(int wanted, int stream)
{
    if (wanted == INHERIT)
        return stream;
    if (wanted == -1)
        return open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    return wanted;
}

/*
 * Targets are 0, 1, 2, 3…; any of them may be the source of another. So all sources are first
 * copied above the targets. The failure pipe ends right above the last target, and all that lies
 * above that is closed. Returns the pipe's new number, or -1.
 */
static int child_arrange_descriptors(const rkb_process_params_t *params, int *failure_fd)
{
    int sources[FIRST_PASSED_FD + PASS_MAX];
    int count = FIRST_PASSED_FD + params->pass_count;
    int above = count + 1;
    int pipe_copy = fcntl(*failure_fd, F_DUPFD_CLOEXEC, above);
    if (pipe_copy < 0)
        return -1;
    *failure_fd = pipe_copy;
    const int streams[] = {params->stdin_fd, params->stdout_fd, params->stderr_fd};
    for (int i = 0; i < count; i++) {
        int source = i < FIRST_PASSED_FD ? stream_source(streams[i], i)
                                         : params->pass_fds[i - FIRST_PASSED_FD];
        sources[i] = source < 0 ? -1 : fcntl(source, F_DUPFD_CLOEXEC, above);
        if (sources[i] < 0)
            return -1;
    }
    for (int i = 0; i < count; i++) {
        if (dup2(sources[i], i) < 0) /* the copy is not close-on-exec */
            return -1;
    }
    if (dup3(pipe_copy, count, O_CLOEXEC) < 0)
        return -1;
    *failure_fd = count;
    close_from(above);
    return count;
}

static bool set_limit(int resource, uint64_t value)
{
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    struct rlimit now;
    /* A limit that is already tighter stays. */
    if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < value)
        limit.rlim_cur = limit.rlim_max = now.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

static bool child_set_limits(const rkb_process_params_t *params)
{
    if (params->memory_limit && !set_limit(RLIMIT_AS, params->memory_limit))
        return false;
    if (params->cpu_limit > 0 && !set_limit(RLIMIT_CPU, (uint64_t)ceil(params->cpu_limit)))
        return false;
    if (params->file_limit && !set_limit(RLIMIT_FSIZE, params->file_limit))
        return false;
    return !params->no_core || set_limit(RLIMIT_CORE, 0);
}

static _Noreturn void child_run(const child_plan_t *plan)
{
    const rkb_process_params_t *params = plan->params;
    int fd = plan->failure_fd;
    if (params->new_group && setpgid(0, 0) != 0)
        child_fail(fd, STEP_GROUP);
    if (params->die_with_parent) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            child_fail(fd, STEP_DEATH_SIGNAL);
        /* A parent that died before prctl sends no signal any more. */
        if (getppid() != plan->parent)
            _exit(127);
    }
    if (child_arrange_descriptors(params, &fd) < 0)
        child_fail(fd, STEP_DESCRIPTORS);
    if (params->cwd && chdir(params->cwd) != 0)
        child_fail(fd, STEP_FOLDER);
    if (params->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        child_fail(fd, STEP_NO_NEW_PRIVS);
    if (!child_reset_signals())
        child_fail(fd, STEP_SIGNALS);
    if (!child_set_limits(params))
        child_fail(fd, STEP_LIMITS);
    execve(plan->program, (char *const *)params->argv,
           params->env ? (char *const *)params->env : environ);
    child_fail(fd, STEP_EXEC);
}

/* ---- in the parent ---- */

static char *find_program(const char *name, rkb_error_t *err)
{
    if (strchr(name, '/'))
        return rkb_xstrdup(name);
    const char *path = getenv("PATH");
    if (!path || !*path)
        path = "/usr/local/bin:/usr/bin:/bin";
    char *copy = rkb_xstrdup(path);
    char *found = NULL;
    for (char *rest = copy, *folder; !found && (folder = strsep(&rest, ":"));) {
        found = rkb_strf("%s/%s", *folder ? folder : ".", name);
        if (access(found, X_OK) != 0 || rkb_file_is_dir(found)) {
            free(found);
            found = NULL;
        }
    }
    free(copy);
    if (!found)
        rkb_error_set(err, RKB_ERR_NOT_FOUND, "%s: no such program in PATH", name);
    return found;
}

/* Waits until the child has exec'ed (end of file) or said why it could not. */
static rkb_status_t read_failure(int fd, const child_plan_t *plan, rkb_error_t *err)
{
    child_failure_t failure;
    ssize_t got;
    do {
        got = read(fd, &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
    if (got == 0)
        return RKB_OK;
    if (got != (ssize_t)sizeof failure)
        return rkb_error_set(err, RKB_ERR_IO, "%s: cannot learn whether it started", plan->program);
    rkb_status_t status = failure.error == ENOENT ? RKB_ERR_NOT_FOUND : RKB_ERR_IO;
    const char *cwd = failure.step == STEP_FOLDER ? plan->params->cwd : NULL;
    return rkb_error_set(err, status, "cannot start %s: %s%s%s: %s", plan->program,
                         step_texts[failure.step], cwd ? " " : "", cwd ? cwd : "",
                         strerror(failure.error));
}

/*
 * An evaluator holds gigabytes; fork() would copy their page tables (0.1 s for 1 GiB). The child
 * borrows this address space until it execs, writes nothing of ours and never returns. A function
 * of its own keeps the caller's variables out of the child's registers.
 */
static __attribute__((noinline)) pid_t start_child(const child_plan_t *plan)
{
    pid_t pid = vfork();
    if (pid == 0)
        child_run(plan);
    return pid;
}

rkb_status_t rkb_process_spawn(const rkb_process_params_t *params, rkb_process_t **out,
                               rkb_error_t *err)
{
    if (params->pass_count < 0 || params->pass_count > PASS_MAX)
        return rkb_error_set(err, RKB_ERR_INVALID, "%d descriptors to pass; at most %d",
                             params->pass_count, PASS_MAX);
    char *program = find_program(params->argv[0], err);
    if (!program)
        return err ? err->status : RKB_ERR_NOT_FOUND;
    rkb_status_t status = RKB_OK;
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        status = rkb_error_set(err, RKB_ERR_IO, "pipe: %s", strerror(errno));
        goto err_free;
    }
    child_plan_t plan = {
        .params = params, .program = program, .parent = getpid(), .failure_fd = pipe_fds[1]};
    /* Until the child has reset its handlers, none of ours may run in it. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    double started = rkb_clock_now();
    pid_t pid = start_child(&plan);
    int fork_error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pipe_fds[1]);
    if (pid < 0) {
        status = rkb_error_set(err, RKB_ERR_IO, "vfork: %s", strerror(fork_error));
        goto err_close;
    }
    status = read_failure(pipe_fds[0], &plan, err);
    if (status != RKB_OK)
        goto err_kill;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
    if (pidfd < 0) {
        status = rkb_error_set(err, RKB_ERR_IO, "pidfd_open: %s", strerror(errno));
        goto err_kill;
    }
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    rkb_process_t *process = rkb_xcalloc(1, sizeof *process);
    process->pid = pid;
    process->pidfd = pidfd;
    process->group = params->new_group;
    process->started = started;
    close(pipe_fds[0]);
    free(program);
    *out = process;
    return RKB_OK;

err_kill:
    kill(params->new_group ? -pid : pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
err_close:
    close(pipe_fds[0]);
err_free:
    free(program);
    return status;
}

pid_t rkb_process_pid(const rkb_process_t *process)
{
    return process->pid;
}

int rkb_process_pidfd(const rkb_process_t *process)
{
    return process->pidfd;
}

void rkb_process_signal(rkb_process_t *process, int signal)
{
    if (!process->reaped)
        kill(process->group ? -process->pid : process->pid, signal);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* The process has ended or is about to: collects it, and what is left of its group. */
static rkb_status_t reap(rkb_process_t *process, rkb_error_t *err)
{
    siginfo_t info;
    while (waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    /* As long as the leader is not collected its group's number cannot belong to anybody else. */
    if (process->group)
        kill(-process->pid, SIGKILL);
    int status;
    struct rusage usage;
    pid_t got;
    do {
        got = wait4(process->pid, &status, 0, &usage);
    } while (got < 0 && errno == EINTR);
    process->reaped = true;
    process->result = (rkb_process_result_t){.timed_out = process->timed_out,
                                             .signal = SIGKILL,
                                             .wall_seconds = rkb_clock_now() - process->started};
    if (got < 0)
        return rkb_error_set(err, RKB_ERR_LOST, "wait4: %s", strerror(errno));
    process->result.exited = WIFEXITED(status);
    process->result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    process->result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    process->result.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    process->result.max_rss = (uint64_t)usage.ru_maxrss * 1024;
    return RKB_OK;
}

rkb_status_t rkb_process_wait(rkb_process_t *process, double deadline, rkb_process_result_t *result,
                              rkb_error_t *err)
{
    while (!process->reaped) {
        int timeout = -1;
        if (isfinite(deadline)) {
            double left = ceil((deadline - rkb_clock_now()) * 1e3);
            timeout = left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left;
        }
        struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
        int count = poll(&ended, 1, timeout);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return rkb_error_set(err, RKB_ERR_IO, "poll: %s", strerror(errno));
        if (count == 0 && rkb_clock_now() < deadline)
            continue;
        if (count == 0)
            return rkb_error_set(err, RKB_ERR_TIMEOUT, "process %ld still runs",
                                 (long)process->pid);
        rkb_status_t status = reap(process, err);
        if (status != RKB_OK)
            return status;
    }
    *result = process->result;
    return RKB_OK;
}

void rkb_process_kill(rkb_process_t *process)
{
    if (process->reaped)
        return;
    rkb_process_signal(process, SIGKILL);
    kill(process->pid, SIGKILL); /* it may have left the group */
    reap(process, NULL);
}

void rkb_process_destroy(rkb_process_t *process)
{
    if (!process)
        return;
    rkb_process_kill(process);
    close(process->pidfd);
    free(process);
}

rkb_status_t rkb_process_run(const rkb_process_params_t *params, double timeout,
                             rkb_process_result_t *result, rkb_error_t *err)
{
    rkb_process_t *process;
    rkb_status_t status = rkb_process_spawn(params, &process, err);
    if (status != RKB_OK)
        return status;
    status = rkb_process_wait(process, process->started + timeout, result, err);
    if (status == RKB_ERR_TIMEOUT) {
        process->timed_out = true;
        rkb_process_kill(process);
        status = rkb_process_wait(process, INFINITY, result, err);
        if (status == RKB_OK && err)
            *err = (rkb_error_t)RKB_ERROR_INIT;
    }
    rkb_process_destroy(process);
    return status;
}

const char *rkb_process_describe(const rkb_process_result_t *result, char *buf, size_t size)
{
    if (result->timed_out)
        snprintf(buf, size, "killed at its time limit");
    else if (result->exited)
        snprintf(buf, size, "exit code %d", result->exit_code);
    else
        snprintf(buf, size, "signal %d (%s)", result->signal, strsignal(result->signal));
    return buf;
}
