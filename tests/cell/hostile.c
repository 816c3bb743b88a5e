/**
 * A candidate with one entry for each way to misbehave, and some that behave. Entries that try what
 * the jail must refuse throw "denied N" (N: errno) or "ALLOWED". With CONSTRUCTOR defined, that
 * entry's deed is done when the module is loaded.
 */
#include "evaluator/cell/protocol.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const rkb_value_t *args;
    size_t nargs;
    rkb_value_t *result;
    char *error;
    size_t error_size;
} frame_t;

typedef rkb_call_status_t (*deed_t)(frame_t *frame);

const rkb_module_t *rkb_candidate_module_v1(void);

static rkb_call_status_t thrown(frame_t *f, const char *text)
{
    snprintf(f->error, f->error_size, "%s", text);
    return RKB_CALL_EXCEPTION;
}

/* rc as system calls give it: negative means that the jail held. */
static rkb_call_status_t tried(frame_t *f, long rc)
{
    if (rc >= 0)
        return thrown(f, "ALLOWED");
    snprintf(f->error, f->error_size, "denied %d", errno);
    return RKB_CALL_EXCEPTION;
}

static float *data_of(const rkb_value_t *value)
{
    return value->tensor->data;
}

/* ---- well-behaved ---- */

static rkb_call_status_t twice(frame_t *f)
{
    if (f->nargs != 1 || f->args[0].kind != RKB_VALUE_TENSOR) {
        snprintf(f->error, f->error_size, "expected (Tensor)");
        return RKB_CALL_BAD_SIGNATURE;
    }
    rkb_tensor_t *x = f->args[0].tensor;
    rkb_tensor_t *y = rkb_rt_tensor_empty(x->sizes, x->ndim, x->dtype, RKB_DEVICE_CUDA);
    if (!y)
        return thrown(f, rkb_rt_last_error());
    for (int64_t i = 0; i < x->numel; i++)
        ((float *)y->data)[i] = 2 * ((float *)x->data)[i];
    *f->result = (rkb_value_t){.kind = RKB_VALUE_TENSOR, .tensor = y};
    return RKB_CALL_OK;
}

static void *work(void *argument)
{
    *(int *)argument = 7;
    return NULL;
}

static rkb_call_status_t with_thread(frame_t *f)
{
    pthread_t thread;
    int value = 0;
    if (pthread_create(&thread, NULL, work, &value) != 0)
        return thrown(f, "no thread");
    pthread_join(thread, NULL);
    return value == 7 ? twice(f) : thrown(f, "the thread did nothing");
}

static rkb_call_status_t pair(frame_t *f)
{
    rkb_call_status_t status = twice(f);
    if (status != RKB_CALL_OK)
        return status;
    rkb_value_t *list = calloc(3, sizeof *list);
    list[0] = *f->result;
    list[1] = (rkb_value_t){.kind = RKB_VALUE_DOUBLE, .d = 1};
    int64_t sizes[] = {3};
    list[2] = (rkb_value_t){.kind = RKB_VALUE_TENSOR,
                            .tensor = rkb_rt_tensor_empty(sizes, 1, RKB_F32, RKB_DEVICE_CPU)};
    *f->result = (rkb_value_t){.kind = RKB_VALUE_LIST, .count = 3, .list = list};
    return RKB_CALL_OK;
}

static rkb_call_status_t nothing(frame_t *f)
{
    *f->result = (rkb_value_t){.kind = RKB_VALUE_NONE};
    return RKB_CALL_OK;
}

static rkb_call_status_t scalars(frame_t *f)
{
    if (f->nargs != 5 || f->args[1].kind != RKB_VALUE_INT || f->args[1].i != -3 ||
        f->args[2].kind != RKB_VALUE_DOUBLE || f->args[2].d != 0.5 ||
        f->args[3].kind != RKB_VALUE_INT_LIST || f->args[3].count != 2 || f->args[3].ints[1] != 9 ||
        f->args[4].kind != RKB_VALUE_NONE)
        return thrown(f, "arguments arrived wrong");
    return nothing(f);
}

static rkb_call_status_t overrun(frame_t *f)
{
    rkb_call_status_t status = twice(f);
    if (status == RKB_CALL_OK)
        ((float *)f->result->tensor->data)[f->result->tensor->numel + 1] = 5;
    return status;
}

static rkb_call_status_t too_much_device_memory(frame_t *f)
{
    int64_t sizes[] = {INT64_C(1) << 40};
    if (!rkb_rt_tensor_empty(sizes, 1, RKB_F32, RKB_DEVICE_CUDA))
        return thrown(f, rkb_rt_last_error());
    return nothing(f);
}

static rkb_call_status_t delegates(frame_t *f)
{
    rkb_value_t args[] = {f->args[0], f->args[0], {.kind = RKB_VALUE_INT, .i = 1}};
    size_t count = 1;
    if (rkb_rt_call_operator("aten::add.Tensor", args, 3, f->result, &count) != 0)
        return thrown(f, rkb_rt_last_error());
    return RKB_CALL_OK;
}

static rkb_call_status_t opens_torch(frame_t *f)
{
    return dlopen(getenv("RKB_TORCH_PLUGIN"), RTLD_NOW) ? twice(f) : thrown(f, dlerror());
}

/* ---- failures ---- */

static rkb_call_status_t throws(frame_t *f)
{
    return thrown(f, "bad\x01 \xff thing\x1b[31m");
}

static rkb_call_status_t odd_status(frame_t *f)
{
    (void)f;
    return (rkb_call_status_t)77;
}

static volatile int *volatile nowhere = (volatile int *)0x10;

static rkb_call_status_t segfault(frame_t *f)
{
    *nowhere = 1;
    return nothing(f);
}

static void calm_body(void *context)
{
    *(int *)context = 1;
}

static void faulty_body(void *context)
{
    (void)context;
    if (rkb_rt_thread.block.x == 1 && rkb_rt_thread.thread.x == 3)
        *nowhere = 1;
}

static void spinning_body(void *context)
{
    (void)context;
    for (volatile int spin = 1; spin;)
        ;
}

static void trapping_body(void *context)
{
    (void)context;
    rkb_rt_trap("assertion `i < n' failed");
}

static void dividing_body(void *context)
{
    volatile int zero = 0, many = 1000;
    *(volatile int *)context = many / zero;
}

static void smashing_body(void *context)
{
    (void)context;
    volatile size_t bytes = 16;
    char *piece = malloc(8);
    memset(piece, 1, bytes);
    free(piece);
}

static void launch(void (*body)(void *))
{
    int out;
    rkb_rt_launch("hostile_kernel", (rkb_dim3_t){2, 1, 1}, (rkb_dim3_t){4, 1, 1}, 0, body, &out);
}

static rkb_call_status_t kernel_segfault(frame_t *f)
{
    launch(faulty_body);
    return nothing(f);
}

static rkb_call_status_t kernel_hang(frame_t *f)
{
    launch(spinning_body);
    return nothing(f);
}

static rkb_call_status_t kernel_trap(frame_t *f)
{
    launch(trapping_body);
    return nothing(f);
}

static rkb_call_status_t kernel_division(frame_t *f)
{
    launch(dividing_body);
    return nothing(f);
}

static rkb_call_status_t kernel_smash(frame_t *f)
{
    launch(smashing_body);
    return nothing(f);
}

static rkb_call_status_t kernel_unsupported(frame_t *f)
{
    rkb_rt_unsupported("inline PTX");
    return nothing(f);
}

static rkb_call_status_t bad_launch(frame_t *f)
{
    rkb_rt_launch("wide_kernel", (rkb_dim3_t){1, 1, 1}, (rkb_dim3_t){2048, 1, 1}, 0, faulty_body,
                  NULL);
    return twice(f);
}

static rkb_call_status_t aborts(frame_t *f)
{
    abort();
    return nothing(f);
}

static rkb_call_status_t exits(frame_t *f)
{
    _exit(0);
    return nothing(f);
}

static rkb_call_status_t hangs(frame_t *f)
{
    for (volatile int spin = 1; spin;)
        ;
    return nothing(f);
}

static int recurse(int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth < 1 << 30 ? recurse(depth + 1) + frame[0] : 0;
}

static rkb_call_status_t overflows_stack(frame_t *f)
{
    return recurse(0) ? nothing(f) : twice(f);
}

static rkb_call_status_t kills_itself(frame_t *f)
{
    kill(getpid(), SIGKILL);
    return nothing(f);
}

static rkb_call_status_t eats_memory(frame_t *f)
{
    enum { PIECE = 1 << 20 };
    for (int i = 0;; i++) {
        char *piece = malloc(PIECE);
        if (!piece) {
            snprintf(f->error, f->error_size, "refused after %d MiB", i);
            return RKB_CALL_EXCEPTION;
        }
        memset(piece, 1, PIECE);
    }
}

static void *crash_later(void *argument)
{
    struct timespec pause = {0, 50000000};
    nanosleep(&pause, NULL);
    *nowhere = 1;
    return argument;
}

static rkb_call_status_t crashes_later(frame_t *f)
{
    pthread_t thread;
    pthread_create(&thread, NULL, crash_later, NULL);
    return twice(f);
}

/* ---- attacks that end the cell ---- */

static rkb_call_status_t forks(frame_t *f)
{
    return tried(f, fork());
}

static rkb_call_status_t executes(frame_t *f)
{
    char *argv[] = {(char *)"sh", NULL};
    return tried(f, execv("/bin/sh", argv));
}

static rkb_call_status_t kills_parent(frame_t *f)
{
    return tried(f, kill(getppid(), SIGKILL));
}

static rkb_call_status_t kills_group(frame_t *f)
{
    return tried(f, kill(0, SIGTERM));
}

static rkb_call_status_t traces_parent(frame_t *f)
{
    return tried(f, ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static rkb_call_status_t reads_parent(frame_t *f)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return tried(f, process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static rkb_call_status_t opens_socket(frame_t *f)
{
    return tried(f, socket(AF_INET, SOCK_STREAM, 0));
}

static rkb_call_status_t masks_sigsys(frame_t *f)
{
    signal(SIGSYS, SIG_IGN); /* refused */
    return tried(f, socket(AF_INET, SOCK_DGRAM, 0));
}

static rkb_call_status_t starts_namespace(frame_t *f)
{
    return tried(f, unshare(CLONE_NEWUSER));
}

/* ---- attacks that fail ---- */

static rkb_call_status_t opens_parent_memory(frame_t *f)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return tried(f, open(path, O_RDONLY));
}

static rkb_call_status_t opens_local_socket(frame_t *f)
{
    return tried(f, socket(AF_UNIX, SOCK_STREAM, 0));
}

static rkb_call_status_t lists_proc(frame_t *f)
{
    return tried(f, open("/proc", O_RDONLY | O_DIRECTORY));
}

static rkb_call_status_t reads_passwd(frame_t *f)
{
    return tried(f, open("/etc/passwd", O_RDONLY));
}

static rkb_call_status_t creates_file(frame_t *f)
{
    return tried(f, open("/tmp/rkb-hostile", O_WRONLY | O_CREAT, 0600));
}

static rkb_call_status_t writes_null(frame_t *f)
{
    return tried(f, open("/dev/null", O_RDWR));
}

static rkb_call_status_t removes_file(frame_t *f)
{
    return tried(f, unlink("/tmp/rkb-hostile-victim"));
}

static rkb_call_status_t makes_folder(frame_t *f)
{
    return tried(f, mkdir("/tmp/rkb-hostile-folder", 0700));
}

static rkb_call_status_t changes_mode(frame_t *f)
{
    return tried(f, chmod("/tmp", 0777));
}

static rkb_call_status_t makes_memfd(frame_t *f)
{
    return tried(f, syscall(SYS_memfd_create, "x", 0));
}

static rkb_call_status_t outlives_parent(frame_t *f)
{
    return tried(f, prctl(PR_SET_PDEATHSIG, 0));
}

static rkb_call_status_t leaves_group(frame_t *f)
{
    return tried(f, setsid() < 0 && setpgid(0, 0) < 0 ? -1 : 0);
}

static rkb_call_status_t raises_limit(frame_t *f)
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

static rkb_call_status_t forges(frame_t *f)
{
    send_returned(plausible, f);
    return twice(f);
}

static rkb_call_status_t forges_enormous(frame_t *f)
{
    send_returned(enormous, f);
    return hangs(f);
}

static rkb_call_status_t forges_outside(frame_t *f)
{
    send_returned(outside, f);
    return hangs(f);
}

static rkb_call_status_t floods(frame_t *f)
{
    char junk[100];
    memset(junk, 'x', sizeof junk);
    for (;;)
        send(RKB_CELL_FD_SOCKET, junk, sizeof junk, 0);
    return nothing(f);
}

static rkb_call_status_t closes_everything(frame_t *f)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    return hangs(f);
}

static rkb_call_status_t closes_and_returns(frame_t *f)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    return nothing(f);
}

/* By hand, because a sanitized cell lends its watchful strcmp() and memset() to candidates. */
static int same_name(const volatile char *a, const char *b)
{
    while (*a == *b && *b)
        a++, b++;
    return *a == *b;
}

/* Finds the status page by the name of a kernel, searching around the arena. */
static rkb_call_status_t scribbles(frame_t *f)
{
    enum { PAGE = 4096, PAGES = 1 << 17 };
    char *middle = (char *)((uintptr_t)data_of(&f->args[0]) / PAGE * PAGE);
    launch(calm_body);
    for (long i = -PAGES; i < PAGES; i++) {
        rkb_cell_status_t *page = (rkb_cell_status_t *)(middle + i * PAGE);
        if ((access((char *)page, F_OK) != 0 && errno == EFAULT) ||
            !same_name(page->kernel, "hostile_kernel"))
            continue;
        for (size_t k = 0; k < sizeof *page; k++)
            ((volatile unsigned char *)page)[k] = 0xfe;
        page->phase = RKB_PHASE_KERNEL;
        *nowhere = 1;
    }
    return thrown(f, "the page was not found");
}

/* Claims to be unsupported by what it writes, as the runtime would. */
static rkb_call_status_t exits_like_runtime(frame_t *f)
{
    _exit(97);
    return nothing(f);
}

#define DEEDS(X)                                                                                   \
    X(twice)                                                                                       \
    X(with_thread)                                                                                 \
    X(pair)                                                                                        \
    X(nothing)                                                                                     \
    X(scalars)                                                                                     \
    X(opens_torch)                                                                                 \
    X(delegates)                                                                                   \
    X(overrun)                                                                                     \
    X(too_much_device_memory)                                                                      \
    X(throws)                                                                                      \
    X(odd_status)                                                                                  \
    X(segfault)                                                                                    \
    X(kernel_segfault)                                                                             \
    X(kernel_hang)                                                                                 \
    X(kernel_trap)                                                                                 \
    X(kernel_division)                                                                             \
    X(kernel_smash)                                                                                \
    X(kernel_unsupported)                                                                          \
    X(bad_launch)                                                                                  \
    X(aborts)                                                                                      \
    X(exits)                                                                                       \
    X(hangs)                                                                                       \
    X(overflows_stack)                                                                             \
    X(kills_itself)                                                                                \
    X(eats_memory)                                                                                 \
    X(crashes_later)                                                                               \
    X(forks)                                                                                       \
    X(executes)                                                                                    \
    X(kills_parent)                                                                                \
    X(kills_group)                                                                                 \
    X(traces_parent)                                                                               \
    X(reads_parent)                                                                                \
    X(opens_socket)                                                                                \
    X(masks_sigsys)                                                                                \
    X(starts_namespace)                                                                            \
    X(opens_parent_memory)                                                                         \
    X(opens_local_socket)                                                                          \
    X(lists_proc)                                                                                  \
    X(reads_passwd)                                                                                \
    X(creates_file)                                                                                \
    X(writes_null)                                                                                 \
    X(removes_file)                                                                                \
    X(makes_folder)                                                                                \
    X(changes_mode)                                                                                \
    X(makes_memfd)                                                                                 \
    X(outlives_parent)                                                                             \
    X(leaves_group)                                                                                \
    X(raises_limit)                                                                                \
    X(forges)                                                                                      \
    X(forges_enormous)                                                                             \
    X(forges_outside)                                                                              \
    X(floods)                                                                                      \
    X(closes_everything)                                                                           \
    X(closes_and_returns)                                                                          \
    X(scribbles)                                                                                   \
    X(exits_like_runtime)

#define DEED_CALL(_name)                                                                           \
    static rkb_call_status_t call_##_name(void *self, const rkb_value_t *args, size_t nargs,       \
                                          rkb_value_t *result, char *error, size_t error_size)     \
    {                                                                                              \
        (void)self;                                                                                \
        frame_t frame = {args, nargs, result, error, error_size};                                  \
        return _name(&frame);                                                                      \
    }
DEEDS(DEED_CALL)

#define DEED_ENTRY(_name) {#_name, "(Tensor) -> Tensor", call_##_name, NULL},
static const rkb_entry_t entries[] = {DEEDS(DEED_ENTRY)};

#ifndef MODULE_ERROR
#define MODULE_ERROR NULL
#endif
#ifndef MODULE_ABI
#define MODULE_ABI RKB_ABI_VERSION
#endif

const rkb_module_t *rkb_candidate_module_v1(void)
{
    static const rkb_module_t module = {MODULE_ABI, sizeof entries / sizeof *entries, entries,
                                        MODULE_ERROR};
    return &module;
}

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void at_load(void)
{
    static char error[256];
    rkb_value_t result;
    frame_t frame = {NULL, 0, &result, error, sizeof error};
    CONSTRUCTOR(&frame);
}
#endif
