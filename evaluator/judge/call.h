/**
 * @file call.h
 * The arena of one item and the calls on it: lays out private inputs between guard bands, calls the
 * candidate on fresh memory, and checks what it left behind.
 */
#ifndef RKB_JUDGE_CALL_H
#define RKB_JUDGE_CALL_H

#include "evaluator/judge/internal.h"

typedef struct rkb_bench rkb_bench_t;

/** An arena large enough for the trial's tensors and outputs, and room to work. */
rkb_status_t rkb_bench_create(rkb_evaluator_t *evaluator, const rkb_instance_t *instance,
                              rkb_direction_t direction, const rkb_trial_t *first,
                              rkb_bench_t **out, rkb_error_t *err);
void rkb_bench_destroy(rkb_bench_t *bench); /* NULL allowed */
int rkb_bench_fd(const rkb_bench_t *bench);
size_t rkb_bench_bytes(const rkb_bench_t *bench);

/** One call's outputs as the evaluator snapshotted them. */
typedef struct {
    size_t count;
    rkb_output_view_t *views; /* base points into `bytes` */
    void **bytes;
} rkb_snapshot_t;
void rkb_snapshot_release(rkb_snapshot_t *snapshot);

/**
 * Calls once: fresh poison, fresh copies of the inputs, deadline. Checks in order: how the call
 * ended, what it says of itself, number, shape, dtype of outputs, guard bands, inputs. The verdict
 * is OK when *snapshot holds outputs whose values can be compared. RKB_VERDICT_INFRA_ERROR: ours.
 * `returned` and *seconds are set when the call came back.
 */
rkb_verdict_t rkb_bench_call(rkb_bench_t *bench, rkb_cell_t *cell, const rkb_trial_t *trial,
                             uint64_t call_seed, uint32_t poison, double deadline,
                             rkb_cell_returned_t *returned, double *seconds,
                             rkb_snapshot_t *snapshot, rkb_finding_t *finding);

#endif
