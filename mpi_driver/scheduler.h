/**
 * @file scheduler.h
 * Who judges what, and when: a pure state machine. Events in, actions out; no MPI, no I/O, no
 * clock of its own (`now` in seconds comes with each event). The driver, the unit tests and the
 * simulation drive this same code. Not thread-safe.
 *
 * Policy: one item runs on a worker and one more is prefetched; longest expected first; a worker
 * prefers an item of the candidate it judged last (compiled there), then one of the same task.
 * Near the end the longest item goes first whatever the affinity, and nothing is prefetched that an
 * idle worker could take. A result whose attempt is not the current one is dropped. An item that
 * loses two workers ends as `crash` and is not tried again. Life cycles are tables (scheduler.c),
 * printed into docs/architecture.md.
 */
#ifndef RKB_DRIVER_SCHEDULER_H
#define RKB_DRIVER_SCHEDULER_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rkb_scheduler rkb_scheduler_t;

typedef struct {
    int workers;        /* number of ranks */
    int crash_limit;    /* workers an item may lose, at most 100; 0: 2 */
    double lease_grace; /* seconds without a heartbeat until a worker is lost; 0: 60 */
} rkb_scheduler_params_t;

typedef struct {
    uint64_t candidate; /* affinity keys: hashes; 0: none */
    uint64_t task;
    double cost; /* expected seconds */
} rkb_item_info_t;

typedef enum {
    RKB_ACT_ASSIGN,  /* send item (attempt) to worker */
    RKB_ACT_RECORD,  /* result is accepted: journal it, then acknowledge to worker */
    RKB_ACT_DROP,    /* late result of an older attempt: log it */
    RKB_ACT_CRASHED, /* item used up its crash limit: journal a `crash` verdict for it */
    RKB_ACT_STOP,    /* tell worker that there is no more work */
    RKB_ACT_LOST,    /* the lease of worker ended: it gets nothing any more; report it */
    RKB_ACT_FINISHED /* nothing runs and nothing will: all is done, drained, or no worker is left */
} rkb_action_kind_t;

typedef struct {
    rkb_action_kind_t kind;
    int worker;
    uint32_t item;
    uint32_t attempt;
} rkb_action_t;

rkb_status_t rkb_scheduler_create(const rkb_scheduler_params_t *params, rkb_scheduler_t **out,
                                  rkb_error_t *err);
void rkb_scheduler_destroy(rkb_scheduler_t *scheduler); /* NULL allowed */

/* Events. Unknown workers or items are RKB_ERR_PROTOCOL and change nothing. */
rkb_status_t rkb_scheduler_add_item(rkb_scheduler_t *scheduler, const rkb_item_info_t *info,
                                    uint32_t *item, rkb_error_t *err);
/** All items are known; without it workers wait for more when the queue is empty. */
void rkb_scheduler_plan_done(rkb_scheduler_t *scheduler);
rkb_status_t rkb_scheduler_worker_ready(rkb_scheduler_t *scheduler, int worker, double now,
                                        rkb_error_t *err);
rkb_status_t rkb_scheduler_result(rkb_scheduler_t *scheduler, int worker, uint32_t item,
                                  uint32_t attempt, double now, rkb_error_t *err);
rkb_status_t rkb_scheduler_heartbeat(rkb_scheduler_t *scheduler, int worker, double now,
                                     rkb_error_t *err);
/**
 * The worker is gone for good. Only the item that ran may be to blame and is charged with the loss;
 * one that was prefetched, or held by a worker that was told to stop, just waits again.
 */
rkb_status_t rkb_scheduler_worker_lost(rkb_scheduler_t *scheduler, int worker, double now,
                                       rkb_error_t *err);
/**
 * No new assignments: every worker is told to stop, finishes what runs and gives back what was only
 * prefetched (rkb_scheduler_worker_lost() when it has gone).
 */
void rkb_scheduler_drain(rkb_scheduler_t *scheduler);
/** Expires leases; they begin with the first tick. Call a few times a second. */
void rkb_scheduler_tick(rkb_scheduler_t *scheduler, double now);

/** Takes the next action; false when there is none. */
bool rkb_scheduler_next_action(rkb_scheduler_t *scheduler, rkb_action_t *out);

typedef struct {
    uint32_t items, queued, assigned, done, crashed;
    uint32_t workers_ready, workers_lost;
    double cost_left; /* expected seconds of unfinished items, summed over workers */
} rkb_scheduler_counts_t;
void rkb_scheduler_counts(const rkb_scheduler_t *scheduler, rkb_scheduler_counts_t *out);
/** Life cycles of item and worker as two Graphviz graphs, from the tables. Caller frees. */
char *rkb_scheduler_explain(void);

#endif
