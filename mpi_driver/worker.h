/**
 * @file worker.h
 * One rank's share of the work: owns an evaluator, feeds it the items that rank 0 assigns, relays
 * its results, and replaces it when it dies. Every rank has one, rank 0 too. Nothing blocks. Not
 * thread-safe.
 *
 * `now` is in seconds of a clock that stands still while the rank itself is stopped (rank.c), so
 * that neither a suspended job nor a debugger looks like a hang.
 */
#ifndef RKB_DRIVER_WORKER_H
#define RKB_DRIVER_WORKER_H

#include "common/error.h"
#include "common/json.h"
#include "mpi_driver/transport.h"

#include <poll.h>
#include <stdbool.h>

typedef struct rkb_worker rkb_worker_t;

/** argv of the evaluator, NULL if there is none, `why` that is so, and transport are borrowed. */
rkb_worker_t *rkb_worker_create(rkb_transport_t *transport, char *const *evaluator, const char *why,
                                double now);
/** This rank got a signal to end: asks rank 0 to drain the run, or to end it at once. */
void rkb_worker_ask_drain(rkb_worker_t *worker, bool at_once);
/** Kills the evaluator. NULL allowed. */
void rkb_worker_destroy(rkb_worker_t *worker);

/** Takes a message from rank 0: start, assign, ack, alive, stop, exit. */
void rkb_worker_message(rkb_worker_t *worker, const cJSON *message, double now);
/** Does what can be done now; true when there was something. */
bool rkb_worker_step(rkb_worker_t *worker, double now);
/** Descriptors to wait for (at most one); returns their number. */
int rkb_worker_watch(const rkb_worker_t *worker, struct pollfd *fds);

typedef struct {
    int code;      /* exit code for this rank */
    bool finalize; /* all ranks are healthy: MPI_Finalize will not hang */
} rkb_departure_t;

/** True while an item is being judged. */
bool rkb_worker_is_judging(const rkb_worker_t *worker);
/** True when this rank shall leave: rank 0 said so or is silent for good. */
bool rkb_worker_departs(const rkb_worker_t *worker, rkb_departure_t *out);
/** Life cycle of the evaluator as Graphviz. Caller frees. */
char *rkb_worker_explain(void);

#endif
