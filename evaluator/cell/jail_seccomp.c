/* The system-call filter. Names are resolved at run time, because not every architecture and
 * library version knows each of them. */
#include "evaluator/cell/jail_internal.h"

#include "evaluator/cell/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* What computing, allocating, threads, clocks and reading files need. */
static const char *const allowed[] = {
    "read",
    "pread64",
    "readv",
    "preadv",
    "write",
    "writev",
    "close",
    "fstat",
    "newfstatat",
    "stat",
    "lstat",
    "statx",
    "lseek",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents64",
    "getcwd",
    "dup",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "mmap",
    "munmap",
    "mprotect",
    "mremap",
    "madvise",
    "brk",
    "mincore",
    "membarrier",
    "futex",
    "futex_waitv",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "sched_yield",
    "sched_getaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "getcpu",
    "set_tid_address",
    "exit",
    "exit_group",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "sigaltstack",
    "gettid",
    "getpid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getrusage",
    "times",
    "sysinfo",
    "uname",
    "getrandom",
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "getrlimit",
    "restart_syscall",
#ifdef RKB_SANITIZED /* UBSan probes memory through a pipe */
    "pipe",
    "pipe2",
#endif
};

/* What nothing but an attack, or a program inside the program, would ask for: SIGSYS. */
static const char *const hostile[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_open",
    "pidfd_getfd",
    "pidfd_send_signal",
    "kcmp",
    "fork",
    "vfork",
    "execve",
    "execveat",

    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "tkill",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsmount",
    "fspick",
    "mount_setattr",
    "setns",
    "unshare",
    "bpf",
    "perf_event_open",
    "keyctl",
    "add_key",
    "request_key",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "userfaultfd",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "seccomp",
    "name_to_handle_at",
    "open_by_handle_at",
    "personality",
    "iopl",
    "ioperm",
    "acct",
    "quotactl",
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setgroups",
    "capset",
};

/* glibc falls back to an older call, whose arguments can be looked at. */
static const char *const unknown[] = {"clone3", "openat2"};

static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const *names,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        if (number == __NR_SCMP_ERROR)
            continue;
        int rc = seccomp_rule_add(filter, action, number, 0);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int allow_if(scmp_filter_ctx filter, const char *name, struct scmp_arg_cmp condition)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &condition);
}

static int trap_if(scmp_filter_ctx filter, const char *name, struct scmp_arg_cmp condition)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add_array(filter, SCMP_ACT_TRAP, number, 1, &condition);
}

/* Files may be opened for reading only, whatever Landlock says. */
static int add_open(scmp_filter_ctx filter)
{
    const uint64_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
    int rc = allow_if(filter, "openat", SCMP_A2(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
    return rc ? rc : allow_if(filter, "open", SCMP_A1(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
}

/* Messages of the protocol, on the one socket. A new one is an attack, but for the local ones by
 * which libraries look for name-service daemons when they are loaded: those fail quietly. */
static int add_socket(scmp_filter_ctx filter)
{
    int trapped = trap_if(filter, "socket", SCMP_A0(SCMP_CMP_NE, AF_UNIX));
    if (trapped)
        return trapped;
    static const char *const names[] = {"sendto", "sendmsg", "recvfrom", "recvmsg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int rc = allow_if(filter, names[i], SCMP_A0(SCMP_CMP_EQ, RKB_CELL_FD_SOCKET));
        if (rc)
            return rc;
    }
    return 0;
}

/* Threads, but no processes. */
static int add_clone(scmp_filter_ctx filter)
{
    int rc = allow_if(filter, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    return rc ? rc : trap_if(filter, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

/* Signals to itself (abort, raise). Those to others are SIGSYS. */
static int add_signals(scmp_filter_ctx filter)
{
    static const char *const names[] = {"kill", "tgkill"};
    uint64_t self = (uint64_t)getpid();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int rc = allow_if(filter, names[i], SCMP_A0(SCMP_CMP_EQ, self));
        if (rc == 0)
            rc = trap_if(filter, names[i], SCMP_A0(SCMP_CMP_NE, self));
        if (rc)
            return rc;
    }
    /* The handler of SIGSYS stays ours. */
    return allow_if(filter, "rt_sigaction", SCMP_A0(SCMP_CMP_NE, SIGSYS));
}

static int add_rest(scmp_filter_ctx filter)
{
    int rc = allow_if(filter, "prlimit64", SCMP_A2(SCMP_CMP_EQ, 0)); /* reading */
    if (rc == 0)
        rc = allow_if(filter, "prctl", SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
    if (rc == 0)
        rc = allow_if(filter, "prctl", SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME));
    return rc;
}

rkb_status_t rkb_seccomp_enter(rkb_error_t *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "seccomp_init failed");
    int rc = add_names(filter, SCMP_ACT_ALLOW, allowed, sizeof allowed / sizeof *allowed);
    if (rc == 0)
        rc = add_names(filter, SCMP_ACT_TRAP, hostile, sizeof hostile / sizeof *hostile);
    if (rc == 0)
        rc = add_names(filter, SCMP_ACT_ERRNO(ENOSYS), unknown, sizeof unknown / sizeof *unknown);
    int (*const parts[])(scmp_filter_ctx) = {add_open, add_socket, add_clone, add_signals,
                                             add_rest};
    for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++)
        rc = parts[i](filter);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    if (rc != 0)
        return rkb_error_set(err, RKB_ERR_IO, "seccomp filter: %s", strerror(-rc));
    return RKB_OK;
}
