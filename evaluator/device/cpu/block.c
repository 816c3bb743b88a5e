#include "evaluator/device/cpu/model_internal.h"

#include <stdio.h>
#include <string.h>

rkb_block_t rkb_block;
rkb_thread_t rkb_rt_thread;

void rkb_queue_push(rkb_queue_t *queue, rkb_cuda_thread_t *thread)
{
    thread->next = NULL;
    if (queue->head)
        queue->tail->next = thread;
    else
        queue->head = thread;
    queue->tail = thread;
}

static rkb_cuda_thread_t *queue_pop(rkb_queue_t *queue)
{
    rkb_cuda_thread_t *thread = queue->head;
    if (thread)
        queue->head = thread->next;
    return thread;
}

/* Makes a thread the one that runs, for the built-in variables and the status page. */
static void enter_thread(rkb_cuda_thread_t *thread)
{
    rkb_block.current = thread;
    rkb_rt_thread.thread = thread->index;
    rkb_model_status->thread = thread->index;
}

rkb_cuda_thread_t *rkb_block_thread(const char *what)
{
    if (!rkb_block.current)
        rkb_model_die(1, "%s outside a kernel", what);
    return rkb_block.current;
}

/* "3 threads wait at __syncthreads (first: (4,0,0))", appended to text. */
static void describe_waiting(char *text, size_t size, rkb_wait_t why, const char *where)
{
    unsigned count = 0;
    const rkb_cuda_thread_t *first = NULL;
    for (unsigned i = 0; i < rkb_block.nthreads; i++) {
        const rkb_cuda_thread_t *thread = &rkb_block.threads[i];
        if (thread->wait != why)
            continue;
        count++;
        if (!first)
            first = thread;
    }
    size_t used = strlen(text);
    if (!count || used >= size)
        return;
    int n = snprintf(text + used, size - used, "%s%u wait at %s", used ? ", " : "", count, where);
    used += n > 0 ? (size_t)n : 0;
    if (why != RKB_WAIT_BARRIER && used < size) {
        n = snprintf(text + used, size - used, " with mask 0x%08x", first->mask);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used < size)
        snprintf(text + used, size - used, " (first: thread (%u,%u,%u))", first->index.x,
                 first->index.y, first->index.z);
}

static void die_of_deadlock(void)
{
    char text[512] = "";
    describe_waiting(text, sizeof text, RKB_WAIT_BARRIER, "__syncthreads");
    describe_waiting(text, sizeof text, RKB_WAIT_EXCHANGE, "a shuffle");
    describe_waiting(text, sizeof text, RKB_WAIT_BALLOT, "a vote");
    rkb_dim3_t block = rkb_rt_thread.block;
    rkb_model_die(3, "deadlock in kernel %s, block (%u,%u,%u): of its threads %s", rkb_block.name,
                  block.x, block.y, block.z, text);
}

static void switch_to(rkb_fiber_t *to)
{
    rkb_fiber_t *from = rkb_block.running;
    rkb_block.running = to;
    rkb_fiber_switch(from, to);
}

static void carrier_entry(void);

/* A fiber with nothing on its stack but the loop of carry(). */
static rkb_fiber_t *take_carrier(void)
{
    rkb_block_t *b = &rkb_block;
    if (b->main_idle) {
        b->main_idle = false;
        return b->main;
    }
    rkb_fiber_t *fiber = b->idle;
    if (fiber)
        b->idle = fiber->next;
    else
        fiber = rkb_fiber_create(carrier_entry);
    if (!fiber)
        rkb_model_die(2, "no memory for the stacks of %u threads of kernel %s", b->nthreads,
                      b->name);
    return fiber;
}

static void release_carrier(rkb_fiber_t *fiber)
{
    rkb_block_t *b = &rkb_block;
    if (fiber == b->main) {
        b->main_idle = true;
    } else {
        fiber->next = b->idle;
        b->idle = fiber;
    }
}

void rkb_block_wait(rkb_wait_t why)
{
    rkb_block_t *b = &rkb_block;
    rkb_cuda_thread_t *self = b->current;
    self->fiber = b->running;
    self->wait = why;
    rkb_cuda_thread_t *next = NULL;
    while (!b->start_first && !(next = queue_pop(&b->ready)) && b->started == b->nthreads) {
        if (!rkb_warp_settle())
            die_of_deadlock();
    }
    /* It may be itself that goes on: it yielded, and nobody else could run. */
    if (next != self)
        switch_to(next ? next->fiber : take_carrier());
    self->wait = RKB_WAIT_NONE;
    enter_thread(self);
}

static void release_barrier(void)
{
    rkb_block_t *b = &rkb_block;
    b->predicate_result = b->predicates;
    b->predicates = 0;
    b->at_barrier = 0;
    if (!b->barrier.head)
        return;
    if (b->ready.head)
        b->ready.tail->next = b->barrier.head;
    else
        b->ready.head = b->barrier.head;
    b->ready.tail = b->barrier.tail;
    b->barrier.head = NULL;
}

int rkb_rt_barrier_count(int predicate)
{
    rkb_block_t *b = &rkb_block;
    rkb_cuda_thread_t *self = rkb_block_thread("__syncthreads");
    b->predicates += predicate != 0;
    if (++b->at_barrier == b->nthreads - b->finished) {
        release_barrier();
    } else {
        rkb_queue_push(&b->barrier, self);
        rkb_block_wait(RKB_WAIT_BARRIER);
    }
    return b->predicate_result; /* the next barrier completes only after everyone has read it */
}

void rkb_rt_barrier(void)
{
    rkb_rt_barrier_count(0);
}

void rkb_rt_yield(void)
{
    rkb_block_t *b = &rkb_block;
    rkb_queue_push(&b->ready, rkb_block_thread("__nanosleep"));
    b->start_first = b->started < b->nthreads;
    rkb_block_wait(RKB_WAIT_NONE);
}

static void run_one_thread(void)
{
    rkb_block_t *b = &rkb_block;
    rkb_cuda_thread_t *thread = &b->threads[b->started];
    thread->index = b->upcoming;
    thread->linear = b->started++;
    thread->wait = RKB_WAIT_NONE;
    if (++b->upcoming.x == rkb_rt_thread.block_dim.x) {
        b->upcoming.x = 0;
        if (++b->upcoming.y == rkb_rt_thread.block_dim.y) {
            b->upcoming.y = 0;
            b->upcoming.z++;
        }
    }
    enter_thread(thread);
    b->body(b->context);
    thread = b->current;
    b->finished++;
    rkb_warp_t *warp = &b->warps[thread->linear / RKB_WARP];
    warp->alive &= ~(1u << thread->linear % RKB_WARP);
    if (warp->ngroups)
        rkb_warp_lane_ended(thread);
    if (b->at_barrier && b->at_barrier == b->nthreads - b->finished)
        release_barrier();
}

/* Starts threads and resumes those that are ready, until the block is done. */
static void carry(void)
{
    rkb_block_t *b = &rkb_block;
    for (;;) {
        rkb_cuda_thread_t *next = b->start_first ? NULL : queue_pop(&b->ready);
        b->start_first = false;
        if (next) {
            release_carrier(b->running);
            switch_to(next->fiber);
        } else if (b->started < b->nthreads) {
            do
                run_one_thread();
            while (!b->ready.head && b->started < b->nthreads);
        } else if (b->finished < b->nthreads) {
            if (!rkb_warp_settle())
                die_of_deadlock();
        } else if (b->running != b->main) {
            release_carrier(b->running);
            b->main_idle = false;
            switch_to(b->main);
        } else {
            return;
        }
    }
}

static void carrier_entry(void)
{
    for (;;)
        carry();
}

void rkb_block_run(void)
{
    rkb_block_t *b = &rkb_block;
    if (!b->main)
        b->main = rkb_fiber_adopt();
    if (!b->main)
        rkb_model_die(2, "no memory to run kernel %s", b->name);
    b->running = b->main;
    b->main_idle = false;
    b->started = 0;
    b->finished = 0;
    b->upcoming = (rkb_dim3_t){0, 0, 0};
    b->static_shared = 0;
    unsigned nwarps = (b->nthreads + RKB_WARP - 1) / RKB_WARP;
    for (unsigned w = 0; w < nwarps; w++) {
        unsigned lanes = b->nthreads - w * RKB_WARP;
        b->warps[w].alive = lanes >= RKB_WARP ? UINT32_MAX : (1u << lanes) - 1;
        b->warps[w].ngroups = 0;
    }
    carry();
    b->current = NULL;
}
