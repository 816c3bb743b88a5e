/**
 * @file reference.h
 * Runs a task's program: libtorch in the task's dtype (the reference), the same program in float64
 * (the oracle), backward by autograd. Results are host arrays.
 */
#ifndef RKB_REFERENCE_REFERENCE_H
#define RKB_REFERENCE_REFERENCE_H

#include "evaluator/reference/torch_api.h"
#include "evaluator/task/task.h"

/** Host data of one trial; arrays are in the order of rkb_instance_tensor(). */
typedef struct {
    const rkb_instance_t *instance;
    rkb_direction_t direction;
    void **tensors; /* inputs, params, buffers: borrowed by the run */
    size_t tensor_count;
    void **grad_outputs; /* backward: one per program output; owned by the trial */
    size_t grad_count;
} rkb_trial_data_t;

typedef struct {
    rkb_output_spec_t spec; /* dtype: what the candidate must return */
    void *reference;        /* contiguous, spec.dtype, spec.bytes */
    double *oracle;         /* numel doubles; float outputs only, NULL for integer outputs */
} rkb_expected_t;

typedef struct {
    size_t count;
    rkb_expected_t *outputs;
    double reference_seconds; /* wall time of the task-dtype program alone */
    bool oracle_float64;
} rkb_expected_set_t;

/** Draws all tensors of a trial (upstream gradients too, N(0,1), stream "grad_<output>"). */
rkb_status_t rkb_trial_create(const rkb_torch_api_t *torch, const rkb_instance_t *instance,
                              rkb_direction_t direction, uint64_t seed, unsigned trial,
                              rkb_trial_data_t **out, rkb_error_t *err);
void rkb_trial_destroy(rkb_trial_data_t *trial); /* NULL allowed */
/** Shapes and dtypes of the program's outputs (forward), needed for upstream gradients. */
rkb_status_t rkb_reference_forward_specs(const rkb_torch_api_t *torch,
                                         const rkb_instance_t *instance, rkb_output_spec_t **specs,
                                         size_t *count, rkb_error_t *err);

/**
 * Reference and oracle of one trial and direction. Backward outputs are the gradients that the task
 * says backward returns, named "grad_<tensor>". RKB_ERR_NO_MEMORY and operator failures carry the
 * operator's name (verdict reference_error). With RKB_REFERENCE_ORACLE_ONLY the task-dtype program
 * is left out (`reference` is NULL): used on rounded inputs to learn what lower precision costs.
 */
enum { RKB_REFERENCE_ORACLE_ONLY = 1 };
rkb_status_t rkb_reference_run(const rkb_torch_api_t *torch, const rkb_trial_data_t *trial,
                               unsigned flags, rkb_expected_set_t *out, rkb_error_t *err);
void rkb_expected_release(rkb_expected_set_t *set);

#endif
