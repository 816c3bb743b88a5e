/**
 * @file task.h
 * Tasks are data (schema rkb-task/1, tasks/schema/rkb-task-1.schema.json; language in
 * docs/tasks.md). A task is immutable after loading and may be shared by threads.
 */
#ifndef RKB_TASK_TASK_H
#define RKB_TASK_TASK_H

#include "common/error.h"
#include "common/json.h"
#include "evaluator/kernel_api/rkb_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { RKB_FORWARD, RKB_BACKWARD, RKB_DIRECTIONS } rkb_direction_t;
const char *rkb_direction_name(rkb_direction_t direction); /* "forward", "backward" */
rkb_status_t rkb_direction_parse(const char *text, rkb_direction_t *out, rkb_error_t *err);

typedef struct rkb_task rkb_task_t;

/** Loads and checks one task.json. Every complaint has file and path ("configs.multi[2].B"). */
rkb_status_t rkb_task_load(const char *file, rkb_task_t **out, rkb_error_t *err);
void rkb_task_destroy(rkb_task_t *task); /* NULL allowed */

const char *rkb_task_name(const rkb_task_t *task);   /* "layernorm" */
const char *rkb_task_suite(const rkb_task_t *task);  /* "robust-kbench" */
const char *rkb_task_path(const rkb_task_t *task);   /* "robust-kbench/layernorm" */
const char *rkb_task_folder(const rkb_task_t *task); /* folder that holds task.json */
const char *rkb_task_sha256(const rkb_task_t *task); /* of the bytes of task.json */
const char *rkb_task_description(const rkb_task_t *task);
bool rkb_task_has_direction(const rkb_task_t *task, rkb_direction_t direction);

/* ---- configs --------------------------------------------------------------------------------- */

/** One assignment of the task's symbols, scalars and init method. */
typedef struct rkb_config rkb_config_t;

size_t rkb_task_config_set_count(const rkb_task_t *task);
const char *rkb_task_config_set_name(const rkb_task_t *task, size_t set);
/** Index of a set by name, or -1. */
int rkb_task_find_config_set(const rkb_task_t *task, const char *name);
/** A set may differ by direction (seed tasks do). */
size_t rkb_task_config_count(const rkb_task_t *task, size_t set, rkb_direction_t direction);
const rkb_config_t *rkb_task_config(const rkb_task_t *task, size_t set, rkb_direction_t direction,
                                    size_t index);
/** "B=64,I=128,O=10,init=kaiming": symbols in the task's order, init last. Identifies the config.
 */
const char *rkb_config_name(const rkb_config_t *config);
/** Finds or parses a config by that name (any values; used by --config and by item payloads). */
rkb_status_t rkb_task_parse_config(const rkb_task_t *task, const char *name, rkb_config_t **out,
                                   rkb_error_t *err);
void rkb_config_destroy(rkb_config_t *config); /* only for rkb_task_parse_config() results */

/* ---- instances: everything of one (task, config) with numbers ----------------------------------
 */

typedef enum { RKB_ROLE_INPUT, RKB_ROLE_PARAM, RKB_ROLE_BUFFER, RKB_ROLE_GRAD_OUTPUT } rkb_role_t;
const char *rkb_role_name(rkb_role_t role); /* "input", "param", "buffer", "grad_output" */

typedef enum {
    RKB_INIT_NORMAL,   /* a: mean, b: standard deviation */
    RKB_INIT_UNIFORM,  /* a: low (inclusive), b: high (exclusive) */
    RKB_INIT_CONSTANT, /* a */
    RKB_INIT_RANDINT   /* integers a (inclusive) to b (exclusive) */
} rkb_init_kind_t;

typedef struct {
    rkb_init_kind_t kind;
    double a, b;
} rkb_init_t;

/** A tensor with all numbers known. */
typedef struct {
    const char *name; /* owned by the task */
    rkb_role_t role;
    rkb_dtype_t dtype;
    int ndim;
    int64_t sizes[RKB_MAX_DIMS];
    int64_t numel;
    size_t bytes;
    rkb_init_t init;
} rkb_tensor_spec_t;

/** What a candidate's entry takes at one position. */
typedef struct {
    const char *name;
    bool is_tensor;
    size_t tensor;     /* index into instance tensors, when is_tensor */
    rkb_value_t value; /* otherwise: INT, DOUBLE, BOOL, INT_LIST or NONE; owned by the instance */
} rkb_argument_t;

/** An output that a candidate must return, with its shape as the program gives it. */
typedef struct {
    const char *name; /* "y", or "grad_x" */
    rkb_dtype_t dtype;
    int ndim;
    int64_t sizes[RKB_MAX_DIMS];
    int64_t numel;
    size_t bytes;
} rkb_output_spec_t;

/**
 * Opaque instance; it must not outlive its task. Shapes of outputs follow from the program, so the
 * first reference run finds them and the instance keeps them: one thread at a time may use it.
 */
typedef struct rkb_instance rkb_instance_t;

rkb_status_t rkb_instance_create(const rkb_task_t *task, const rkb_config_t *config,
                                 rkb_instance_t **out, rkb_error_t *err);
void rkb_instance_destroy(rkb_instance_t *instance); /* NULL allowed */
const rkb_task_t *rkb_instance_task(const rkb_instance_t *instance);
/** Inputs, then params, then buffers, in the task's order. */
size_t rkb_instance_tensor_count(const rkb_instance_t *instance);
const rkb_tensor_spec_t *rkb_instance_tensor(const rkb_instance_t *instance, size_t index);
/**
 * Positional arguments of the entry of one direction. In backward, arguments named "grad_output"
 * (or "grad_<output>") are tensors with index tensor_count + k: gradient of output k.
 */
size_t rkb_instance_argument_count(const rkb_instance_t *instance, rkb_direction_t direction);
const rkb_argument_t *rkb_instance_argument(const rkb_instance_t *instance,
                                            rkb_direction_t direction, size_t index);
/** atol, rtol of the elementwise rule for one direction. */
void rkb_instance_tolerance(const rkb_instance_t *instance, rkb_direction_t direction, double *atol,
                            double *rtol);

/* ---- data: counter-based streams ---------------------------------------------------------------
 */

/**
 * Fills dst (numel × dtype size, host memory) with the spec's values for one trial. The stream is
 * named by (seed, task path, config name, trial, tensor name) and element i depends on i alone:
 * Philox4x32-10 (Salmon et al., SC'11), so the numbers are the same on any device, rank and run.
 * Only IEEE + - * / and sqrt are used, so no libm enters the bits. Large tensors are drawn by
 * several threads, one per core that the process may use; that changes no bit.
 */
rkb_status_t rkb_instance_generate(const rkb_instance_t *instance, const rkb_tensor_spec_t *spec,
                                   uint64_t seed, unsigned trial, void *dst, rkb_error_t *err);

/* ---- a set of tasks
 * ------------------------------------------------------------------------------ */

typedef struct rkb_task_set rkb_task_set_t;

/** Loads every task.json under folder (any depth), sorted by path. A broken task is an error that
 * names it. */
rkb_status_t rkb_task_set_load(const char *folder, rkb_task_set_t **out, rkb_error_t *err);
void rkb_task_set_destroy(rkb_task_set_t *set); /* NULL allowed */
size_t rkb_task_set_count(const rkb_task_set_t *set);
const rkb_task_t *rkb_task_set_get(const rkb_task_set_t *set, size_t index);
/** By name or suite/name. RKB_ERR_NOT_FOUND names the nearest; RKB_ERR_INVALID when ambiguous. */
rkb_status_t rkb_task_set_find(const rkb_task_set_t *set, const char *name, const rkb_task_t **out,
                               rkb_error_t *err);

#endif
