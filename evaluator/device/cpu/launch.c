#include "evaluator/device/cpu/model_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef RKB_SANITIZED
#include <sanitizer/asan_interface.h>
#endif

/* Numbers of cudaError_t that a launch can give. */
enum { CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_INVALID_CONFIGURATION = 9 };

enum { PAGE = 4096 };
#define PAGES(_bytes) (((_bytes) + PAGE - 1) / PAGE * PAGE)

/* The pages after those that a launch asked for are inaccessible; the last one always is. */
unsigned char rkb_rt_dynamic_shared[PAGES(RKB_SHARED_MAX) + PAGE] __attribute__((aligned(PAGE)));
uint64_t rkb_rt_block_serial;

static rkb_cpu_model_report_t report;
static uint32_t poison = 0x7fc0dead;
static int last_error;

void rkb_cpu_model_begin(uint32_t pattern, uint64_t seed)
{
    (void)seed;
    poison = pattern;
    last_error = 0;
    report = (rkb_cpu_model_report_t){.error = 0};
}

rkb_cpu_model_report_t rkb_cpu_model_report(void)
{
    return report;
}

int rkb_rt_last_cuda_error(int reset)
{
    int error = last_error;
    if (reset)
        last_error = 0;
    return error;
}

void rkb_rt_set_cuda_error(int error)
{
    if (error)
        last_error = error;
}

int rkb_rt_refuse_launch(const char *name, int error)
{
    last_error = error;
    if (!report.error) {
        report.error = error;
        snprintf(report.kernel, sizeof report.kernel, "%s", name);
    }
    return error;
}

static void fill(void *start, size_t bytes)
{
    unsigned char *p = start;
    size_t i = 0;
    for (; i + sizeof poison <= bytes; i += sizeof poison)
        memcpy(p + i, &poison, sizeof poison);
    memcpy(p + i, &poison, bytes - i);
}

void rkb_rt_shared_enter(void *variable, size_t bytes)
{
    rkb_block_t *b = &rkb_block;
    rkb_block_thread("a __shared__ variable");
    b->static_shared += bytes;
    /* nvcc refuses the first; the second is a failed launch on a GPU, which is known too late here.
     */
    if (b->static_shared > RKB_SHARED_DEFAULT ||
        b->static_shared + b->dynamic_shared > RKB_SHARED_MAX) {
        char text[160];
        snprintf(text, sizeof text,
                 "the kernel uses %zu bytes of static and %zu of dynamic shared memory",
                 b->static_shared, b->dynamic_shared);
        rkb_rt_trap(text);
    }
    fill(variable, bytes);
}

/* The limits of a device of compute capability 9.0. */
static int check_configuration(rkb_dim3_t grid, rkb_dim3_t block, size_t shared_bytes)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads == 0 || threads > 1024)
        return CUDA_ERROR_INVALID_CONFIGURATION;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 ||
        grid.z > 65535)
        return CUDA_ERROR_INVALID_CONFIGURATION;
    if (shared_bytes > RKB_SHARED_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    return 0;
}

/* What lies beyond the dynamic shared memory of a launch must not be touched. */
static void guard_dynamic_shared(size_t bytes)
{
#ifdef RKB_SANITIZED
    ASAN_UNPOISON_MEMORY_REGION(rkb_rt_dynamic_shared, bytes);
    ASAN_POISON_MEMORY_REGION(rkb_rt_dynamic_shared + bytes, sizeof rkb_rt_dynamic_shared - bytes);
#else
    static size_t guarded = sizeof rkb_rt_dynamic_shared; /* from here on */
    size_t end = PAGES(bytes);
    if (end == guarded)
        return;
    bool grow = end > guarded;
    mprotect(rkb_rt_dynamic_shared + (grow ? guarded : end), grow ? end - guarded : guarded - end,
             grow ? PROT_READ | PROT_WRITE : PROT_NONE);
    guarded = end;
#endif
}

/* The one place that knows the order of blocks. */
static void run_grid(rkb_dim3_t grid, size_t shared_bytes)
{
    rkb_dim3_t *block = &rkb_rt_thread.block;
    for (block->z = 0; block->z < grid.z; block->z++) {
        for (block->y = 0; block->y < grid.y; block->y++) {
            for (block->x = 0; block->x < grid.x; block->x++) {
                rkb_model_status->block = *block;
                rkb_rt_block_serial++;
                fill(rkb_rt_dynamic_shared, shared_bytes);
                rkb_block_run();
            }
        }
    }
}

int rkb_rt_launch(const char *name, rkb_dim3_t grid, rkb_dim3_t block, size_t shared_bytes,
                  void (*body)(void *), void *context)
{
    if (rkb_block.name)
        rkb_rt_unsupported("a launch from device code");
    int error = check_configuration(grid, block, shared_bytes);
    if (error)
        return rkb_rt_refuse_launch(name, error);

    report.launches++;
    guard_dynamic_shared(shared_bytes);
    snprintf(rkb_model_status->kernel, sizeof rkb_model_status->kernel, "%s", name);
    rkb_model_status->phase = RKB_PHASE_KERNEL;
    rkb_block.name = name;
    rkb_block.body = body;
    rkb_block.context = context;
    rkb_block.dynamic_shared = shared_bytes;
    rkb_block.nthreads = block.x * block.y * block.z;
    rkb_rt_thread = (rkb_thread_t){.block_dim = block, .grid_dim = grid};
    run_grid(grid, shared_bytes);
    rkb_block.name = NULL;
    rkb_model_status->phase = RKB_PHASE_HOST;
    return 0;
}
