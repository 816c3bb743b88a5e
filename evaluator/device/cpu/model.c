#include "evaluator/device/cpu/model.h"

#include "evaluator/device/cpu/model_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static rkb_cell_status_t nobody;
rkb_cell_status_t *rkb_model_status = &nobody;

void rkb_cpu_model_set_status(rkb_cell_status_t *status)
{
    rkb_model_status = status ? status : &nobody;
}

void rkb_model_die(uint32_t kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rkb_model_status->text, sizeof rkb_model_status->text, fmt, ap);
    va_end(ap);
    rkb_model_status->trap = kind;
    fflush(stdout); /* what the candidate printed before */
    _exit(RKB_CPU_MODEL_EXIT);
}

/* "kernel k, block (0,0,0), thread (1,0,0)" where one runs. */
static void die_where(uint32_t kind, const char *what)
{
    const rkb_block_t *b = &rkb_block;
    if (!b->name)
        rkb_model_die(kind, "%s", what);
    rkb_dim3_t block = rkb_rt_thread.block;
    rkb_dim3_t thread = rkb_rt_thread.thread;
    rkb_model_die(kind, "%s (kernel %s, block (%u,%u,%u), thread (%u,%u,%u))", what, b->name,
                  block.x, block.y, block.z, thread.x, thread.y, thread.z);
}

void rkb_rt_trap(const char *what)
{
    die_where(1, what);
    _exit(RKB_CPU_MODEL_EXIT);
}

void rkb_rt_unsupported(const char *what)
{
    die_where(2, what);
    _exit(RKB_CPU_MODEL_EXIT);
}
