/**
 * The entries that behave or fail by themselves, and the module. With CONSTRUCTOR defined, that
 * deed is done when the module is loaded.
 */
#include "hostile.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const rkb_module_t *rkb_candidate_module_v1(void);

rkb_call_status_t hostile_throw(frame_t *f, const char *text)
{
    snprintf(f->error, f->error_size, "%s", text);
    return RKB_CALL_EXCEPTION;
}

/* ---- well-behaved ---- */

rkb_call_status_t deed_twice(frame_t *f)
{
    if (f->nargs != 1 || f->args[0].kind != RKB_VALUE_TENSOR) {
        snprintf(f->error, f->error_size, "expected (Tensor)");
        return RKB_CALL_BAD_SIGNATURE;
    }
    rkb_tensor_t *x = f->args[0].tensor;
    rkb_tensor_t *y = rkb_rt_tensor_empty(x->sizes, x->ndim, x->dtype, RKB_DEVICE_CUDA);
    if (!y)
        return hostile_throw(f, rkb_rt_last_error());
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

rkb_call_status_t deed_with_thread(frame_t *f)
{
    pthread_t thread;
    int value = 0;
    if (pthread_create(&thread, NULL, work, &value) != 0)
        return hostile_throw(f, "no thread");
    pthread_join(thread, NULL);
    return value == 7 ? deed_twice(f) : hostile_throw(f, "the thread did nothing");
}

rkb_call_status_t deed_pair(frame_t *f)
{
    rkb_call_status_t status = deed_twice(f);
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

rkb_call_status_t deed_nothing(frame_t *f)
{
    *f->result = (rkb_value_t){.kind = RKB_VALUE_NONE};
    return RKB_CALL_OK;
}

rkb_call_status_t deed_scalars(frame_t *f)
{
    if (f->nargs != 5 || f->args[1].kind != RKB_VALUE_INT || f->args[1].i != -3 ||
        f->args[2].kind != RKB_VALUE_DOUBLE || f->args[2].d != 0.5 ||
        f->args[3].kind != RKB_VALUE_INT_LIST || f->args[3].count != 2 || f->args[3].ints[1] != 9 ||
        f->args[4].kind != RKB_VALUE_NONE)
        return hostile_throw(f, "arguments arrived wrong");
    return deed_nothing(f);
}

rkb_call_status_t deed_overrun(frame_t *f)
{
    rkb_call_status_t status = deed_twice(f);
    if (status == RKB_CALL_OK)
        ((float *)f->result->tensor->data)[f->result->tensor->numel + 1] = 5;
    return status;
}

rkb_call_status_t deed_too_much_device_memory(frame_t *f)
{
    int64_t sizes[] = {INT64_C(1) << 40};
    if (!rkb_rt_tensor_empty(sizes, 1, RKB_F32, RKB_DEVICE_CUDA))
        return hostile_throw(f, rkb_rt_last_error());
    return deed_nothing(f);
}

rkb_call_status_t deed_delegates(frame_t *f)
{
    rkb_value_t args[] = {f->args[0], f->args[0], {.kind = RKB_VALUE_INT, .i = 1}};
    size_t count = 1;
    if (rkb_rt_call_operator("aten::add.Tensor", args, 3, f->result, &count) != 0)
        return hostile_throw(f, rkb_rt_last_error());
    return RKB_CALL_OK;
}

rkb_call_status_t deed_opens_torch(frame_t *f)
{
    return dlopen(getenv("RKB_TORCH_PLUGIN"), RTLD_NOW) ? deed_twice(f)
                                                        : hostile_throw(f, dlerror());
}

/* ---- failures ---- */

rkb_call_status_t deed_throws(frame_t *f)
{
    return hostile_throw(f, "bad\x01 \xff thing\x1b[31m");
}

rkb_call_status_t deed_odd_status(frame_t *f)
{
    (void)f;
    return (rkb_call_status_t)77;
}

volatile int *volatile hostile_nowhere = (volatile int *)0x10;

rkb_call_status_t deed_segfault(frame_t *f)
{
    *hostile_nowhere = 1;
    return deed_nothing(f);
}

void hostile_calm_body(void *context)
{
    *(int *)context = 1;
}

static void faulty_body(void *context)
{
    (void)context;
    if (rkb_rt_thread.block.x == 1 && rkb_rt_thread.thread.x == 3)
        *hostile_nowhere = 1;
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

void hostile_launch(void (*body)(void *))
{
    int out;
    rkb_rt_launch("hostile_kernel", (rkb_dim3_t){2, 1, 1}, (rkb_dim3_t){4, 1, 1}, 0, body, &out);
}

rkb_call_status_t deed_kernel_segfault(frame_t *f)
{
    hostile_launch(faulty_body);
    return deed_nothing(f);
}

rkb_call_status_t deed_kernel_hang(frame_t *f)
{
    hostile_launch(spinning_body);
    return deed_nothing(f);
}

rkb_call_status_t deed_kernel_trap(frame_t *f)
{
    hostile_launch(trapping_body);
    return deed_nothing(f);
}

rkb_call_status_t deed_kernel_division(frame_t *f)
{
    hostile_launch(dividing_body);
    return deed_nothing(f);
}

rkb_call_status_t deed_kernel_smash(frame_t *f)
{
    hostile_launch(smashing_body);
    return deed_nothing(f);
}

rkb_call_status_t deed_kernel_unsupported(frame_t *f)
{
    rkb_rt_unsupported("inline PTX");
    return deed_nothing(f);
}

rkb_call_status_t deed_bad_launch(frame_t *f)
{
    rkb_rt_launch("wide_kernel", (rkb_dim3_t){1, 1, 1}, (rkb_dim3_t){2048, 1, 1}, 0, faulty_body,
                  NULL);
    return deed_twice(f);
}

rkb_call_status_t deed_aborts(frame_t *f)
{
    abort();
    return deed_nothing(f);
}

rkb_call_status_t deed_exits(frame_t *f)
{
    _exit(0);
    return deed_nothing(f);
}

rkb_call_status_t deed_hangs(frame_t *f)
{
    for (volatile int spin = 1; spin;)
        ;
    return deed_nothing(f);
}

static int recurse(int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth < 1 << 30 ? recurse(depth + 1) + frame[0] : 0;
}

rkb_call_status_t deed_overflows_stack(frame_t *f)
{
    return recurse(0) ? deed_nothing(f) : deed_twice(f);
}

rkb_call_status_t deed_kills_itself(frame_t *f)
{
    kill(getpid(), SIGKILL);
    return deed_nothing(f);
}

rkb_call_status_t deed_eats_memory(frame_t *f)
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
    *hostile_nowhere = 1;
    return argument;
}

rkb_call_status_t deed_crashes_later(frame_t *f)
{
    pthread_t thread;
    pthread_create(&thread, NULL, crash_later, NULL);
    return deed_twice(f);
}

#define DEED_CALL(_name)                                                                           \
    static rkb_call_status_t call_##_name(void *self, const rkb_value_t *args, size_t nargs,       \
                                          rkb_value_t *result, char *error, size_t error_size)     \
    {                                                                                              \
        (void)self;                                                                                \
        frame_t frame = {args, nargs, result, error, error_size};                                  \
        return deed_##_name(&frame);                                                               \
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
