/** Attacks on the evaluator, the system and the protocol. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* rc as system calls give it. Only a refusal counts: a missing file proves nothing. */
static rkb_call_status_t tried(frame_t *f, long rc)
{
    if (rc >= 0)
        return hostile_throw(f, "ALLOWED");
    bool refused = errno == EPERM || errno == EACCES;
    snprintf(f->error, f->error_size, "%s %d", refused ? "denied" : "failed", errno);
    return RKB_CALL_EXCEPTION;
}

/* ---- attacks that end the cell ---- */

rkb_call_status_t deed_forks(frame_t *f)
{
    return tried(f, fork());
}

rkb_call_status_t deed_executes(frame_t *f)
{
    char *argv[] = {(char *)"sh", NULL};
    return tried(f, execv("/bin/sh", argv));
}

rkb_call_status_t deed_kills_parent(frame_t *f)
{
    return tried(f, kill(getppid(), SIGKILL));
}

rkb_call_status_t deed_kills_group(frame_t *f)
{
    return tried(f, kill(0, SIGTERM));
}

rkb_call_status_t deed_traces_parent(frame_t *f)
{
    return tried(f, ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

rkb_call_status_t deed_reads_parent(frame_t *f)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return tried(f, process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

rkb_call_status_t deed_opens_socket(frame_t *f)
{
    return tried(f, socket(AF_INET, SOCK_STREAM, 0));
}

rkb_call_status_t deed_masks_sigsys(frame_t *f)
{
    signal(SIGSYS, SIG_IGN); /* refused */
    return tried(f, socket(AF_INET, SOCK_DGRAM, 0));
}

rkb_call_status_t deed_starts_namespace(frame_t *f)
{
    return tried(f, unshare(CLONE_NEWUSER));
}

/* ---- attacks that fail ---- */

rkb_call_status_t deed_opens_parent_memory(frame_t *f)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return tried(f, open(path, O_RDONLY));
}

rkb_call_status_t deed_opens_local_socket(frame_t *f)
{
    return tried(f, socket(AF_UNIX, SOCK_STREAM, 0));
}

rkb_call_status_t deed_lists_proc(frame_t *f)
{
    return tried(f, open("/proc", O_RDONLY | O_DIRECTORY));
}

rkb_call_status_t deed_reads_passwd(frame_t *f)
{
    return tried(f, open("/etc/passwd", O_RDONLY));
}

rkb_call_status_t deed_creates_file(frame_t *f)
{
    return tried(f, open("/tmp/rkb-hostile", O_WRONLY | O_CREAT, 0600));
}

rkb_call_status_t deed_writes_null(frame_t *f)
{
    return tried(f, open("/dev/null", O_RDWR));
}

rkb_call_status_t deed_removes_file(frame_t *f)
{
    return tried(f, unlink("/tmp/rkb-hostile-victim"));
}

rkb_call_status_t deed_makes_folder(frame_t *f)
{
    return tried(f, mkdir("/tmp/rkb-hostile-folder", 0700));
}

rkb_call_status_t deed_changes_mode(frame_t *f)
{
    return tried(f, chmod("/tmp", 0777));
}

rkb_call_status_t deed_makes_memfd(frame_t *f)
{
    return tried(f, syscall(SYS_memfd_create, "x", 0));
}

rkb_call_status_t deed_outlives_parent(frame_t *f)
{
    return tried(f, prctl(PR_SET_PDEATHSIG, 0));
}

rkb_call_status_t deed_leaves_group(frame_t *f)
{
    return tried(f, setsid() < 0 && setpgid(0, 0) < 0 ? -1 : 0);
}

rkb_call_status_t deed_raises_limit(frame_t *f)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    return tried(f, setrlimit(RLIMIT_DATA, &limit));
}

/* ---- lies ---- */

static void send_returned(void (*lie)(rkb_cell_returned_t *, frame_t *), frame_t *f)
{
    static rkb_cell_returned_t forged;
    memset(&forged, 0, sizeof forged);
    forged.header =
        (rkb_cell_header_t){RKB_CELL_MAGIC, RKB_CELL_VERSION, RKB_CELL_RETURNED, sizeof forged};
    lie(&forged, f);
    send(RKB_CELL_FD_SOCKET, &forged, sizeof forged, 0);
}

static void plausible(rkb_cell_returned_t *forged, frame_t *f)
{
    (void)f;
    forged->noutputs = 1;
    forged->output_is_tensor[0] = forged->output_in_arena[0] = 1;
    forged->outputs[0] =
        (rkb_cell_tensor_t){.dtype = RKB_F32, .ndim = 1, .sizes = {4}, .strides = {1}};
}

static void enormous(rkb_cell_returned_t *forged, frame_t *f)
{
    plausible(forged, f);
    forged->outputs[0].sizes[0] = INT64_C(1) << 62;
    forged->outputs[0].strides[0] = INT64_C(1) << 62;
}

static void outside(rkb_cell_returned_t *forged, frame_t *f)
{
    plausible(forged, f);
    forged->outputs[0].offset = UINT64_MAX - 8;
}

rkb_call_status_t deed_forges(frame_t *f)
{
    send_returned(plausible, f);
    return deed_twice(f);
}

rkb_call_status_t deed_forges_enormous(frame_t *f)
{
    send_returned(enormous, f);
    return deed_hangs(f);
}

rkb_call_status_t deed_forges_outside(frame_t *f)
{
    send_returned(outside, f);
    return deed_hangs(f);
}

rkb_call_status_t deed_floods(frame_t *f)
{
    char junk[100];
    memset(junk, 'x', sizeof junk);
    for (;;)
        send(RKB_CELL_FD_SOCKET, junk, sizeof junk, 0);
    return deed_nothing(f);
}

rkb_call_status_t deed_closes_everything(frame_t *f)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    return deed_hangs(f);
}

rkb_call_status_t deed_closes_and_returns(frame_t *f)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    return deed_nothing(f);
}

/* By hand, because a sanitized cell lends its watchful strcmp() and memset() to candidates. */
static int same_name(const volatile char *a, const char *b)
{
    while (*a == *b && *b)
        a++, b++;
    return *a == *b;
}

/* Finds the status page by the name of a kernel, searching around the arena. */
rkb_call_status_t deed_scribbles(frame_t *f)
{
    enum { PAGE = 4096, PAGES = 1 << 17 };
    char *middle = (char *)((uintptr_t)f->args[0].tensor->data / PAGE * PAGE);
    hostile_launch(hostile_calm_body);
    for (long i = -PAGES; i < PAGES; i++) {
        rkb_cell_status_t *page = (rkb_cell_status_t *)(middle + i * PAGE);
        if ((access((char *)page, F_OK) != 0 && errno == EFAULT) ||
            !same_name(page->kernel, "hostile_kernel"))
            continue;
        for (size_t k = 0; k < sizeof *page; k++)
            ((volatile unsigned char *)page)[k] = 0xfe;
        page->phase = RKB_PHASE_KERNEL;
        *hostile_nowhere = 1;
    }
    return hostile_throw(f, "the page was not found");
}

/* Claims to be unsupported by what it writes, as the runtime would. */
rkb_call_status_t deed_exits_like_runtime(frame_t *f)
{
    _exit(97);
    return deed_nothing(f);
}
