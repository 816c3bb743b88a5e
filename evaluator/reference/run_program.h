/**
 * @file run_program.h
 * One run of a task's program over libtorch tensors.
 */
#ifndef RKB_REFERENCE_RUN_PROGRAM_H
#define RKB_REFERENCE_RUN_PROGRAM_H

#include "evaluator/reference/reference.h"
#include "evaluator/task/program.h"

typedef struct {
    const rkb_torch_api_t *torch;
    const rkb_instance_t *instance;
    rkb_torch_tensor_t **tensors; /* of the instance, in its order; borrowed */
    bool grad;                    /* record for autograd */
    bool widen;                   /* floating dtypes named in the program become float64 */
} rkb_program_run_t;

/**
 * outputs: one owned handle per program output. A complaint begins with the place in the task,
 * "program[2]", and names the operator.
 */
rkb_status_t rkb_program_run(const rkb_program_run_t *run, rkb_torch_tensor_t **outputs,
                             rkb_error_t *err);

/**
 * Checks what only libtorch knows, without running: that operators and named arguments exist, that
 * the number of results fits and that no operator writes to its arguments.
 */
rkb_status_t rkb_program_check(const rkb_torch_api_t *torch, const rkb_task_t *task,
                               rkb_error_t *err);

#endif
