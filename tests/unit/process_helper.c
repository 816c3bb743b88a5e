/* The child in test_process.c: does what its first argument says. */
#include "common/process.h"
#include "common/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int do_exit(char **argv)
{
    return atoi(argv[0]);
}

static int do_kill_self(char **argv)
{
    raise(atoi(argv[0]));
    return 1;
}

static int do_sleep(char **argv)
{
    (void)argv;
    sleep(60);
    return 0;
}

static int do_print(char **argv)
{
    printf("%s", argv[0]);
    fprintf(stderr, "%s", argv[1]);
    return 0;
}

/* Which descriptors are open, and what 0, 1 and 2 are. */
static int do_descriptors(char **argv)
{
    (void)argv;
    for (int fd = 0; fd < 1000; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    }
    return 0;
}

static int do_write_passed(char **argv)
{
    (void)argv;
    return dprintf(3, "three") == 5 && dprintf(4, "four") == 4 ? 0 : 1;
}

static int do_echo(char **argv)
{
    (void)argv;
    char buf[100];
    ssize_t got = read(0, buf, sizeof buf);
    return got >= 0 && write(1, buf, (size_t)got) == got ? 0 : 1;
}

static int do_cwd(char **argv)
{
    (void)argv;
    char buf[4096];
    printf("%s", getcwd(buf, sizeof buf) ? buf : "?");
    return 0;
}

static int do_env(char **argv)
{
    const char *value = getenv(argv[0]);
    printf("%s", value ? value : "(unset)");
    return 0;
}

static int do_allocate(char **argv)
{
    void *memory = mmap(NULL, (size_t)atoll(argv[0]), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? 3 : 0;
}

static int do_touch_memory(char **argv)
{
    size_t size = (size_t)atoll(argv[0]);
    char *memory = malloc(size);
    memset(memory, 1, size);
    int failed = memory[size / 2] != 1;
    free(memory);
    return failed;
}

static int do_grow(char **argv)
{
    int fd = open(argv[0], O_WRONLY | O_CREAT, 0600);
    char block[4096] = {0};
    for (int i = 0; i < 100; i++) {
        if (write(fd, block, sizeof block) < 0)
            return 3;
    }
    return 0;
}

static _Noreturn int do_spin(char **argv)
{
    (void)argv;
    for (volatile unsigned i = 0;; i++) {
    }
}

/* Signals: how many are blocked, and whether SIGPIPE, SIGTERM and SIGUSR1 are at their default. */
static int do_signals(char **argv)
{
    (void)argv;
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int blocked = 0, changed = 0;
    for (int i = 1; i < NSIG; i++)
        blocked += sigismember(&mask, i) == 1;
    const int looked_at[] = {SIGPIPE, SIGTERM, SIGUSR1, SIGINT};
    for (int i = 0; i < 4; i++) {
        struct sigaction action;
        sigaction(looked_at[i], NULL, &action);
        changed += action.sa_handler != SIG_DFL;
    }
    printf("%d %d", blocked, changed);
    return 0;
}

static int do_privileges(char **argv)
{
    (void)argv;
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    printf("%d %d %d", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), core.rlim_max == 0,
           getpgrp() == getpid());
    return 0;
}

static void write_pid(const char *path, pid_t pid)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%ld", (long)pid);
    if (rkb_file_write_atomic(path, text, (size_t)len, NULL) != RKB_OK)
        abort();
}

/* A grandchild that outlives its parent unless somebody kills the group. */
static int do_grandchild(char **argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        sleep(60);
        _exit(0);
    }
    write_pid(argv[0], pid);
    if (strcmp(argv[1], "stay") == 0)
        sleep(60);
    return 0;
}

/* Starts a child that is to die with this process, and ends at once. */
static int do_orphan(char **argv)
{
    const char *const child[] = {argv[1], "sleep", NULL};
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    params.argv = child;
    params.die_with_parent = true;
    rkb_process_t *process;
    if (rkb_process_spawn(&params, &process, NULL) != RKB_OK)
        return 1;
    write_pid(argv[0], rkb_process_pid(process));
    _exit(0);
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} actions[] = {
    {"exit", do_exit},
    {"kill-self", do_kill_self},
    {"sleep", do_sleep},
    {"print", do_print},
    {"descriptors", do_descriptors},
    {"write-passed", do_write_passed},
    {"echo", do_echo},
    {"cwd", do_cwd},
    {"env", do_env},
    {"allocate", do_allocate},
    {"touch-memory", do_touch_memory},
    {"grow", do_grow},
    {"spin", do_spin},
    {"signals", do_signals},
    {"privileges", do_privileges},
    {"grandchild", do_grandchild},
    {"orphan", do_orphan},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].name, argv[1]) == 0)
            return actions[i].run(argv + 2);
    }
    return 100;
}
