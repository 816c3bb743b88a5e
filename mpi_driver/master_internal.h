/**
 * @file master_internal.h
 * What the parts of the master share: master.c (life cycle and plan), master_actions.c (what the
 * scheduler wants done), master_messages.c (what the ranks say).
 */
#ifndef RKB_DRIVER_MASTER_INTERNAL_H
#define RKB_DRIVER_MASTER_INTERNAL_H

#include "mpi_driver/item_store.h"
#include "mpi_driver/life_cycle.h"
#include "mpi_driver/master.h"
#include "mpi_driver/planner.h"
#include "mpi_driver/progress.h"
#include "mpi_driver/scheduler.h"
#include "results/keyset.h"

/* The life of a run. A pair without a row (master.c) is ignored. */
#define STATES(X) X(PLANNING) X(JUDGING) X(CLOSING) X(OVER)
#define EVENTS(X) X(PLANNED) X(COMPLETE) X(FINISHED) X(FAILURE) X(DRAIN) X(DRAIN_NOW) X(ALL_GONE)
#define ACTIONS(X) X(BEGIN) X(DISMISS) X(AWAIT_GONE) X(DRAIN_WORKERS) X(CONCLUDE)

typedef enum { STATES(RKB_LIFE_STATE) STATE_COUNT } state_t;
typedef enum { EVENTS(RKB_LIFE_EVENT) EVENT_COUNT } event_t;
typedef enum { ACTIONS(RKB_LIFE_ACTION) ACTION_COUNT } action_t;

enum { ACKS_PER_SYNC = 64, MESSAGES_SHOWN = 10 };

typedef struct {
    char *host;
    cJSON *facts; /* until the journal has them */
    bool ready, failed, lost, returned, gone;
} rank_t;

typedef struct {
    int rank;
    uint32_t item, attempt;
} ack_t;

struct rkb_master {
    rkb_master_params_t params;
    state_t state;
    rkb_run_t *run;
    rkb_planner_t *planner;
    rkb_scheduler_t *scheduler;
    rkb_item_store_t *items;
    rkb_keyset_t *planned; /* keys met in the plan */
    rkb_progress_t *progress;
    cJSON *notices; /* that wait for the journal */
    rank_t *ranks;
    int size;
    uint64_t total, done;  /* items, those of earlier sittings included */
    const cJSON *incoming; /* result that the scheduler is asked about */
    uint32_t incoming_item;
    ack_t acks[ACKS_PER_SYNC];
    int ack_count;
    double acks_since;
    bool begun, draining, stopping, complete;
    int messages_shown;
    rkb_error_t error;   /* what ended the run, if anything did */
    char *first_failure; /* of a rank that could not start */
    double started;      /* rkb_clock_now() */
    double next_alive, next_tick, closing_deadline;
};

/* master.c */
void rkb_master_raise(rkb_master_t *m, event_t event, double now);
/** The first cause counts; what follows from it is not news. */
void rkb_master_fail(rkb_master_t *m, const rkb_error_t *cause, double now);
/** A line on the terminal, without spoiling the progress line. */
void rkb_master_say(rkb_master_t *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* master_actions.c */
/** Does what the scheduler wants; after every event for it. */
void rkb_master_act(rkb_master_t *m, double now);
/** Syncs the journal and acknowledges what is in it. */
void rkb_master_flush_acks(rkb_master_t *m, double now);

/* master_messages.c */
bool rkb_master_can_reach(const rkb_master_t *m, int rank);
/** Takes message over. */
void rkb_master_send(rkb_master_t *m, int rank, cJSON *message, double now);
void rkb_master_send_stop(rkb_master_t *m, int rank, bool at_once, double now);
void rkb_master_write_notice(rkb_master_t *m, const cJSON *notice, double now);
/** Something about a rank that the report and the person should know. */
void rkb_master_report_rank(rkb_master_t *m, int rank, const char *kind, const char *text,
                            double now);
/** A rank that is ready begins to get work. */
void rkb_master_enlist(rkb_master_t *m, int rank, double now);

#endif
