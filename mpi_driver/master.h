/**
 * @file master.h
 * Rank 0's second task: plans, schedules, journals, and ends the run. Nothing blocks but the
 * writing of the journal and of the report. Not thread-safe. `now` as in worker.h.
 */
#ifndef RKB_DRIVER_MASTER_H
#define RKB_DRIVER_MASTER_H

#include "common/error.h"
#include "mpi_driver/run_folder.h"
#include "mpi_driver/transport.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct rkb_master rkb_master_t;

typedef struct {
    rkb_transport_t *transport;
    const rkb_command_t *command;
    int argc;
    char *const *argv;
    const char *mpi_version;
    char *const *evaluator;  /* NULL when there is none */
    bool evaluator_replaced; /* it is not `rkb serve` */
    double lease_grace;      /* 0: the scheduler's */
    FILE *out, *err;         /* summary; progress and messages */
} rkb_master_params_t;

/**
 * Opens the run. Whatever goes wrong ends all ranks in order, with a message and the right exit
 * code, so this itself does not fail. problem: one that is known already, or NULL.
 */
rkb_master_t *rkb_master_create(const rkb_master_params_t *params, const rkb_error_t *problem,
                                double now);
void rkb_master_destroy(rkb_master_t *master); /* NULL allowed */

/** Takes a message from a rank: ready, failed, beat, result, gone, drain. */
void rkb_master_message(rkb_master_t *master, int source, const cJSON *message, double now);
/** Does what can be done now; true when there was something. */
bool rkb_master_step(rkb_master_t *master, double now);
/** Drains the run; at_once: ends it without waiting for what runs. */
void rkb_master_drain(rkb_master_t *master, bool at_once, double now);
/** Descriptors to wait for (at most one); returns their number. */
int rkb_master_watch(const rkb_master_t *master, struct pollfd *fds);

/** The run's life cycle as Graphviz. Caller frees. */
char *rkb_master_explain(void);

#endif
