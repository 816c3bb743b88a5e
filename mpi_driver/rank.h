/**
 * @file rank.h
 * One rank of the driver: its worker, and on rank 0 the master as well, over one transport. Tests
 * step several of them in one process; main.c runs one to its end. Not thread-safe.
 */
#ifndef RKB_DRIVER_RANK_H
#define RKB_DRIVER_RANK_H

#include "mpi_driver/master.h"
#include "mpi_driver/worker.h"

typedef struct rkb_rank rkb_rank_t;

/** master: used on rank 0 only. problem: why the run cannot begin (rank 0), or NULL. */
rkb_rank_t *rkb_rank_create(const rkb_master_params_t *master, const char *no_evaluator,
                            const rkb_error_t *problem);
/** Kills the evaluator. NULL allowed; the transport stays the caller's. */
void rkb_rank_destroy(rkb_rank_t *rank);

/**
 * Does what can be done now; *busy: whether there was something. `elapsed`: seconds since the last
 * step; what is beyond a second counts as one, so that a suspended job misses no deadline.
 * RKB_OK, or the failure of the transport, after which this rank can only leave.
 */
rkb_status_t rkb_rank_step(rkb_rank_t *rank, double elapsed, bool *busy, rkb_error_t *err);
/**
 * A signal to end has come for the nth time: the first drains the run, the second ends it at once,
 * the third ends a rank that rank 0 does not answer.
 */
void rkb_rank_signal(rkb_rank_t *rank, int nth);
bool rkb_rank_departs(const rkb_rank_t *rank, rkb_departure_t *out);

/** Steps until this rank departs; `signals` is counted up by the caller's handler. */
rkb_departure_t rkb_rank_run(rkb_rank_t *rank, const volatile int *signals);

#endif
