#include "evaluator/device/cpu/fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef RKB_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__) && !defined(RKB_FIBER_UCONTEXT)
/*
 * Saves what the ABI says a call preserves: rbx, rbp, r12 to r15, the SSE control bits and the x87
 * control word; everything else is dead across the call.
 */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl rkb_fiber_swap_stack\n"
        ".hidden rkb_fiber_swap_stack\n"
        ".type rkb_fiber_swap_stack, @function\n"
        "rkb_fiber_swap_stack:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size rkb_fiber_swap_stack, . - rkb_fiber_swap_stack\n");

void rkb_fiber_swap_stack(void **save, void *load);

/* A frame as the switch leaves it: control words, six registers, where to go, no caller. */
static void *first_frame(void *top, void (*start)(void))
{
    uint64_t *ret = (uint64_t *)top - 2; /* 16-byte aligned: as after a call at function entry */
    ret[0] = (uint64_t)(uintptr_t)start;
    ret[1] = 0;
    uint64_t *frame = ret - 7;
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    frame[0] = mxcsr | (uint64_t)x87 << 32;
    return frame;
}
#elif defined(__aarch64__) && !defined(RKB_FIBER_UCONTEXT)
/* x19 to x30, d8 to d15 and the floating-point control register. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl rkb_fiber_swap_stack\n"
        ".hidden rkb_fiber_swap_stack\n"
        ".type rkb_fiber_swap_stack, %function\n"
        "rkb_fiber_swap_stack:\n"
        "    sub sp, sp, #176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #160]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldr x9, [sp, #160]\n"
        "    msr fpcr, x9\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #176\n"
        "    ret\n"
        ".size rkb_fiber_swap_stack, . - rkb_fiber_swap_stack\n");

void rkb_fiber_swap_stack(void **save, void *load);

static void *first_frame(void *top, void (*start)(void))
{
    uint64_t *frame = (uint64_t *)top - 22;
    frame[11] = (uint64_t)(uintptr_t)start; /* x30 */
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    frame[20] = fpcr;
    return frame;
}
#else
#include <ucontext.h>
#define RKB_FIBER_BY_UCONTEXT 1

static void *first_context(const rkb_fiber_t *fiber, void (*start)(void))
{
    ucontext_t *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack;
    context->uc_stack.ss_size = fiber->stack_size;
    makecontext(context, start, 0);
    return context;
}
#endif

#ifndef RKB_FIBER_BY_UCONTEXT
static void *first_context(const rkb_fiber_t *fiber, void (*start)(void))
{
    /* Stacks begin at different offsets in their pages, lest their tops share a few cache sets. */
    static unsigned count;
    size_t colour = (size_t)(count++ % 60) * 64;
    return first_frame((char *)fiber->stack + fiber->stack_size - colour, start);
}
#endif

/* The fiber that is being entered for the first time. */
static rkb_fiber_t *entering;

static void start(void)
{
#ifdef RKB_SANITIZED
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
    entering->entry();
    abort(); /* an entry never returns */
}

rkb_fiber_t *rkb_fiber_create(void (*entry)(void))
{
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    rkb_fiber_t *fiber = calloc(1, sizeof *fiber);
    if (!fiber)
        return NULL;
    char *map = mmap(NULL, guard + RKB_FIBER_STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED)
        goto err_free;
    if (mprotect(map, guard, PROT_NONE) != 0)
        goto err_unmap;
    fiber->map = map;
    fiber->map_size = guard + RKB_FIBER_STACK;
    fiber->stack = map + guard;
    fiber->stack_size = RKB_FIBER_STACK;
    fiber->entry = entry;
    fiber->context = first_context(fiber, start);
    if (!fiber->context)
        goto err_unmap;
    return fiber;

err_unmap:
    munmap(map, guard + RKB_FIBER_STACK);
err_free:
    free(fiber);
    return NULL;
}

rkb_fiber_t *rkb_fiber_adopt(void)
{
    rkb_fiber_t *fiber = calloc(1, sizeof *fiber);
    if (!fiber)
        return NULL;
#ifdef RKB_FIBER_BY_UCONTEXT
    fiber->context = calloc(1, sizeof(ucontext_t));
    if (!fiber->context) {
        free(fiber);
        return NULL;
    }
#endif
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &fiber->stack, &fiber->stack_size);
        pthread_attr_destroy(&attributes);
    }
    return fiber;
}

void rkb_fiber_destroy(rkb_fiber_t *fiber)
{
    if (!fiber)
        return;
#ifdef RKB_FIBER_BY_UCONTEXT
    free(fiber->context);
#endif
#ifdef RKB_SANITIZED
    if (fiber->map) /* its frames have not returned, and others may get these addresses */
        ASAN_UNPOISON_MEMORY_REGION(fiber->stack, fiber->stack_size);
#endif
    if (fiber->map)
        munmap(fiber->map, fiber->map_size);
    free(fiber);
}

void rkb_fiber_switch(rkb_fiber_t *from, rkb_fiber_t *to)
{
    entering = to;
#ifdef RKB_SANITIZED
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#endif
#ifdef RKB_FIBER_BY_UCONTEXT
    swapcontext(from->context, to->context);
#else
    rkb_fiber_swap_stack(&from->context, to->context);
#endif
#ifdef RKB_SANITIZED
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}
