/**
 * @file process.h
 * Child processes with limits, in a process group of their own, killed with their parent.
 * With new_group, what is left of the group is killed when its leader is reaped.
 * Not thread-safe: one thread spawns and waits.
 */
#ifndef RKB_COMMON_PROCESS_H
#define RKB_COMMON_PROCESS_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    const char *const *argv; /* argv[0] is looked up in PATH of the parent unless it has a '/' */
    const char *const *env;  /* NULL: inherit */
    const char *cwd;         /* NULL: inherit */
    int stdin_fd;            /* -1: /dev/null, -2: inherit */
    int stdout_fd;           /* -1: /dev/null, -2: inherit */
    int stderr_fd;           /* as stdout_fd */
    const int *pass_fds;     /* become descriptors 3, 4, … in the child; all others are closed */
    int pass_count;
    uint64_t memory_limit; /* bytes of address space (RLIMIT_AS); 0: none */
    double cpu_limit;      /* seconds (RLIMIT_CPU), rounded up; 0: none */
    uint64_t file_limit;   /* bytes a file may grow to (RLIMIT_FSIZE); 0: none */
    bool no_core;          /* RLIMIT_CORE 0 */
    bool new_group;        /* setpgid(0, 0): rkb_process_kill() then reaches descendants */
    bool die_with_parent;  /* PR_SET_PDEATHSIG SIGKILL, checked against an already dead parent */
    bool no_new_privs;
} rkb_process_params_t;

#define RKB_PROCESS_PARAMS_INIT                                                                    \
    {                                                                                              \
        .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1                                           \
    }

typedef struct rkb_process rkb_process_t;

typedef struct {
    bool exited; /* else killed by `signal` */
    int exit_code;
    int signal;
    bool timed_out; /* the watchdog killed it */
    double wall_seconds;
    double cpu_seconds; /* user + system, of it and the children it waited for */
    uint64_t max_rss;   /* bytes */
} rkb_process_result_t;

/** An exec that fails (no such program, say) is reported here, not as an exit code. */
rkb_status_t rkb_process_spawn(const rkb_process_params_t *params, rkb_process_t **out,
                               rkb_error_t *err);
pid_t rkb_process_pid(const rkb_process_t *process);
/** Becomes readable when the process ends (pidfd), for poll(). Owned by process. */
int rkb_process_pidfd(const rkb_process_t *process);
/**
 * Waits until `deadline` (rkb_clock_now() seconds; INFINITY: for ever). RKB_ERR_TIMEOUT when it
 * still runs. On RKB_OK *result is set; later calls give the same result.
 */
rkb_status_t rkb_process_wait(rkb_process_t *process, double deadline, rkb_process_result_t *result,
                              rkb_error_t *err);
/** SIGKILL to the group (or the process) and reaps it. Harmless when it has already ended. */
void rkb_process_kill(rkb_process_t *process);
/** Sends a signal to the group or process. */
void rkb_process_signal(rkb_process_t *process, int signal);
/** Kills what still runs and frees. NULL allowed. */
void rkb_process_destroy(rkb_process_t *process);

/** Runs to the end under a watchdog: killed after `timeout` seconds (INFINITY: never). */
rkb_status_t rkb_process_run(const rkb_process_params_t *params, double timeout,
                             rkb_process_result_t *result, rkb_error_t *err);

/** "exit code 3", "signal 11 (Segmentation fault)", "killed at its time limit" */
const char *rkb_process_describe(const rkb_process_result_t *result, char *buf, size_t size);

#endif
