/**
 * @file fiber.h
 * Stacks of their own for CUDA threads that wait, and the switch between them. One thread of the
 * process uses them. A stack has RKB_FIBER_STACK bytes above a guard page and is backed lazily.
 */
#ifndef RKB_DEVICE_CPU_FIBER_H
#define RKB_DEVICE_CPU_FIBER_H

#include <stddef.h>

/* Local arrays of a CUDA thread live here; a GPU's limit is 512 KiB of local memory. */
enum { RKB_FIBER_STACK = 256 * 1024 };

typedef struct rkb_fiber rkb_fiber_t;
struct rkb_fiber {
    void *context; /* saved stack pointer, or the ucontext */
    void *stack;   /* lowest usable byte */
    size_t stack_size;
    void *map; /* the guard page and the stack; NULL: an adopted stack */
    size_t map_size;
    void *fake_stack; /* AddressSanitizer's */
    void (*entry)(void);
    rkb_fiber_t *next; /* for the owner's free list */
};

/** A fiber that runs entry() when first switched to; entry never returns. NULL: out of memory. */
rkb_fiber_t *rkb_fiber_create(void (*entry)(void));
/** Describes the stack that runs now, so that it can be switched away from. NULL: out of memory. */
rkb_fiber_t *rkb_fiber_adopt(void);
/** Frees a fiber that does not run. NULL allowed. */
void rkb_fiber_destroy(rkb_fiber_t *fiber);
/** Runs `to` until something switches back to `from`, which is the fiber that runs now. */
void rkb_fiber_switch(rkb_fiber_t *from, rkb_fiber_t *to);

#endif
