/**
 * @file model_internal.h
 * Between the parts of the execution model: the block that runs, its threads and warps.
 */
#ifndef RKB_DEVICE_CPU_MODEL_INTERNAL_H
#define RKB_DEVICE_CPU_MODEL_INTERNAL_H

#include "evaluator/device/cpu/fiber.h"
#include "evaluator/device/cpu/model.h"

#include <stdbool.h>

enum { RKB_WARP = 32, RKB_MAX_THREADS = 1024, RKB_LANE_BYTES = 16 };

typedef enum {
    RKB_WAIT_NONE,
    RKB_WAIT_BARRIER,
    RKB_WAIT_SYNC,     /* __syncwarp */
    RKB_WAIT_EXCHANGE, /* shuffles */
    RKB_WAIT_BALLOT,
    RKB_WAIT_ACTIVE /* __activemask */
} rkb_wait_t;

typedef struct rkb_cuda_thread rkb_cuda_thread_t;
struct rkb_cuda_thread {
    rkb_fiber_t *fiber;      /* that it waits on */
    rkb_cuda_thread_t *next; /* in the queue it stands in */
    rkb_dim3_t index;
    uint32_t linear;
    rkb_wait_t wait;
    uint32_t mask;                        /* of the warp operation it waits in */
    int32_t operand;                      /* lane to read, or predicate */
    uint32_t ballot;                      /* result */
    unsigned char value[RKB_LANE_BYTES];  /* deposited */
    unsigned char result[RKB_LANE_BYTES]; /* taken */
};

typedef struct {
    rkb_cuda_thread_t *head, *tail;
} rkb_queue_t;

/** Lanes that wait for each other in one warp operation. */
typedef struct {
    uint32_t mask, arrived;
    rkb_wait_t kind;
    const void *place; /* RKB_WAIT_ACTIVE: of the call in the candidate's code */
} rkb_group_t;

typedef struct {
    uint32_t alive; /* lanes that exist and have not ended */
    unsigned ngroups;
    rkb_group_t groups[RKB_WARP];
} rkb_warp_t;

/** The one block that runs, or none: name is NULL then. */
typedef struct {
    const char *name;
    void (*body)(void *);
    void *context;
    unsigned nthreads, started, finished;
    rkb_dim3_t upcoming; /* index of the next thread to start */
    rkb_cuda_thread_t *current;
    rkb_queue_t ready;
    rkb_queue_t barrier; /* waiting there */
    unsigned at_barrier;
    int predicates, predicate_result;
    size_t static_shared; /* bytes of the variables entered so far */
    size_t dynamic_shared;
    rkb_fiber_t *running, *main, *idle;
    bool main_idle;
    bool start_first; /* the next fiber to run starts a thread before it resumes any */
    rkb_cuda_thread_t threads[RKB_MAX_THREADS];
    rkb_warp_t warps[RKB_MAX_THREADS / RKB_WARP];
} rkb_block_t;

extern rkb_block_t rkb_block;
extern rkb_cell_status_t *rkb_model_status;

void rkb_queue_push(rkb_queue_t *queue, rkb_cuda_thread_t *thread);

/** Runs all threads of one block; the launch has set name, body, context and nthreads. */
void rkb_block_run(void);
/** Lets others run until something puts the current thread into the ready queue. */
void rkb_block_wait(rkb_wait_t why);
/** The thread that runs; traps when no kernel does. what: named in the message. */
rkb_cuda_thread_t *rkb_block_thread(const char *what);
/** warp.c: a lane is no longer alive; whoever waited for it in its warp may go on. */
void rkb_warp_lane_ended(rkb_cuda_thread_t *thread);
/**
 * warp.c: nobody can run. Lets lanes go that only ask who stands beside them. False: there are
 * none.
 */
bool rkb_warp_settle(void);
/** Ends the process with a message on the status page. kind: rkb_cell_status_t.trap. */
void rkb_model_die(uint32_t kind, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

#endif
