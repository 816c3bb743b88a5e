/**
 * @file cell_host.h
 * The evaluator's side of cells: start, load, call, kill. Every wait has a deadline
 * (rkb_clock_now() seconds), every byte that comes back is untrusted. One thread.
 *
 * Life of a cell (table in cell_host.c): spare → loaded → idle ⇄ calling; any → dead. A cell serves
 * one item and is destroyed; the pool keeps a spare started ahead, so that this costs no time.
 */
#ifndef RKB_CELL_CELL_HOST_H
#define RKB_CELL_CELL_HOST_H

#include "common/error.h"
#include "evaluator/cell/protocol.h"
#include "evaluator/verify/verify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rkb_cell_pool rkb_cell_pool_t;
typedef struct rkb_cell rkb_cell_t;

/** Starts the first spare. RKB_ERR_NOT_FOUND when bin/rkb-cell is missing. */
rkb_status_t rkb_cell_pool_create(rkb_cell_pool_t **out, rkb_error_t *err);
void rkb_cell_pool_destroy(rkb_cell_pool_t *pool); /* NULL allowed */
/**
 * Limits of cells that are taken from now on; 0 leaves one as it is. memory_bytes: private memory
 * (4 GiB at first). hello_seconds: until a fresh cell must have said hello (30).
 */
void rkb_cell_pool_set_limits(rkb_cell_pool_t *pool, uint64_t memory_bytes, double hello_seconds);
/** Hands out a cell that has said hello and starts the next spare. The caller destroys the cell. */
rkb_status_t rkb_cell_pool_take(rkb_cell_pool_t *pool, rkb_cell_t **out, rkb_error_t *err);
/** Kills the cell's process group, reaps it, frees. NULL allowed. */
void rkb_cell_destroy(rkb_cell_t *cell);
/** RKB_JAIL_* bits: offered by this kernel; once a candidate is loaded, those in force. */
unsigned rkb_cell_jail_bits(const rkb_cell_t *cell);

/** For tests and messages. */
pid_t rkb_cell_pid(const rkb_cell_t *cell);

/** How an exchange with a cell ended. */
typedef enum {
    RKB_FATE_OK,
    RKB_FATE_EXITED,    /* exit code in `code` */
    RKB_FATE_SIGNALED,  /* signal in `code` */
    RKB_FATE_TIMED_OUT, /* still running at the deadline; has been killed */
    RKB_FATE_PROTOCOL,  /* what it sent is no message of the protocol; has been killed */
    RKB_FATE_OURS       /* our side failed, or the jail could not be closed: nothing of the
                           candidate ran; has been killed */
} rkb_fate_kind_t;

typedef struct {
    rkb_fate_kind_t kind;
    int code;
    double seconds;           /* wall time of the exchange */
    double limit;             /* seconds that it was given */
    rkb_cell_status_t status; /* copy of the status page, strings terminated and sanitised */
    char text[256];           /* RKB_FATE_PROTOCOL, RKB_FATE_OURS: what was wrong */
} rkb_cell_fate_t;

/**
 * Loads a candidate: passes the arena's descriptor, jails the cell, opens the shared object and
 * finds `entry`. On RKB_FATE_OK *loaded is the answer (text terminated and sanitised).
 * arena_bytes: size of the mapping.
 */
rkb_fate_kind_t rkb_cell_load(rkb_cell_t *cell, const char *shared_object, const char *entry,
                              int arena_fd, size_t arena_bytes, double deadline,
                              rkb_cell_loaded_t *loaded, rkb_cell_fate_t *fate);
/** One call. The header of *call is filled here. On RKB_FATE_OK *returned has been checked (below).
 */
rkb_fate_kind_t rkb_cell_call(rkb_cell_t *cell, rkb_cell_call_t *call, double deadline,
                              rkb_cell_returned_t *returned, rkb_cell_fate_t *fate);

/**
 * Pure: is an answer within bounds? Counts, status, dtypes, ndim, sizes and strides (non-negative,
 * no overflow), every addressed element inside [0, arena_bytes), allocations inside the heap range
 * and in rising order without overlap; strings terminated and sanitised in place. False: *why says
 * what is wrong, and the cell is treated as hostile.
 */
bool rkb_cell_check_returned(rkb_cell_returned_t *returned, const rkb_cell_call_t *call,
                             uint64_t arena_bytes, char *why, size_t why_size);

/** What the cell was asked to do when its fate came. */
typedef enum { RKB_DURING_LOAD, RKB_DURING_CALL } rkb_cell_during_t;
/** Pure: verdict and sentence of a fate other than RKB_FATE_OK. */
rkb_verdict_t rkb_cell_fate_verdict(const rkb_cell_fate_t *fate, rkb_cell_during_t during,
                                    rkb_finding_t *finding);
/**
 * Pure: verdict of what a call says about itself before any output is looked at: RKB_VERDICT_OK,
 * BAD_SIGNATURE, EXCEPTION, UNSUPPORTED, LAUNCH_FAILURE (with the kernel and the CUDA error's
 * name), OUT_OF_MEMORY.
 */
rkb_verdict_t rkb_cell_returned_verdict(const rkb_cell_returned_t *returned,
                                        rkb_finding_t *finding);

/**
 * Pure: guard bands of the heap. heap: the bytes [0, heap_used) of the call's heap range; allocs
 * are relative to the arena. Everything between allocations must still hold the poison. OK or
 * OUT_OF_BOUNDS with the place ("16 bytes past the end of an allocation of 2560 bytes").
 */
rkb_verdict_t rkb_cell_guard_verdict(const void *heap, uint64_t heap_used, uint64_t heap_offset,
                                     const rkb_cell_alloc_t *allocs, size_t count, uint32_t poison,
                                     rkb_finding_t *finding);

#endif
