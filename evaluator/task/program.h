/**
 * @file program.h
 * The program of a task, as the reference runs it: calls of ATen operators over named values.
 * Read-only views into the task.
 */
#ifndef RKB_TASK_PROGRAM_H
#define RKB_TASK_PROGRAM_H

#include "evaluator/task/expr.h"
#include "evaluator/task/task.h"

typedef enum {
    RKB_REF_TENSOR,    /* index of the instance's tensors */
    RKB_REF_ATTRIBUTE, /* index of rkb_instance_attribute() */
    RKB_REF_SYMBOL,    /* index of rkb_instance_symbols() */
    RKB_REF_RESULT     /* index of the program's results */
} rkb_ref_kind_t;

typedef struct {
    rkb_ref_kind_t kind;
    size_t index;
    int element; /* of a result that is a list of tensors; -1: the whole value */
} rkb_ref_t;

typedef enum {
    RKB_OPERAND_NONE,
    RKB_OPERAND_INT,
    RKB_OPERAND_DOUBLE,
    RKB_OPERAND_BOOL,
    RKB_OPERAND_STRING,
    RKB_OPERAND_DTYPE,
    RKB_OPERAND_EXPR,
    RKB_OPERAND_REF,
    RKB_OPERAND_LIST
} rkb_operand_kind_t;

/** One argument of a call. */
typedef struct rkb_operand {
    rkb_operand_kind_t kind;
    char *name; /* keyword, or NULL for a positional argument */
    union {
        int64_t i; /* INT, BOOL, DTYPE */
        double d;
        char *s;
        rkb_expr_t *expr;
        rkb_ref_t ref;
        struct {
            struct rkb_operand *items;
            size_t count;
        } list;
    };
} rkb_operand_t;

enum { RKB_CALL_MAX_ARGS = 64, RKB_CALL_MAX_RESULTS = 16 };

typedef struct {
    char *op;                /* "aten::layer_norm" */
    rkb_operand_t *operands; /* positional ones first, then by keyword */
    size_t operand_count;
    size_t positional_count;
    size_t first_result; /* results are numbered through the program */
    size_t result_count;
} rkb_program_call_t;

typedef struct {
    rkb_program_call_t *calls;
    size_t call_count;
    char **result_names; /* NULL: the result is not used */
    size_t result_count;
    size_t *outputs; /* indices of results */
    size_t output_count;
} rkb_program_t;

const rkb_program_t *rkb_task_program(const rkb_task_t *task);
/** Tensors whose gradients backward returns, as indices of the instance's tensors, in order. */
size_t rkb_task_backward_return_count(const rkb_task_t *task);
size_t rkb_task_backward_return(const rkb_task_t *task, size_t index);
const char *rkb_task_gradient_name(const rkb_task_t *task, size_t index); /* "grad_x" */

const char *rkb_task_origin(const rkb_task_t *task); /* NULL: not given */
const char *rkb_task_family(const rkb_task_t *task); /* NULL: not given */
size_t rkb_task_note_count(const rkb_task_t *task);
const char *rkb_task_note(const rkb_task_t *task, size_t index);
size_t rkb_task_symbol_count(const rkb_task_t *task);
const char *rkb_task_symbol(const rkb_task_t *task, size_t index);
const char *rkb_task_symbol_about(const rkb_task_t *task, size_t index); /* "" when not given */
size_t rkb_task_attribute_count(const rkb_task_t *task);
const char *rkb_task_attribute(const rkb_task_t *task, size_t index);
/** Text of shape dimension `dim` of tensor `index`, "H//2"; NULL past the last dimension. */
const char *rkb_task_tensor_dim(const rkb_task_t *task, size_t index, int dim);
const char *rkb_task_tensor_about(const rkb_task_t *task, size_t index); /* "" when not given */

const char *rkb_instance_config_name(const rkb_instance_t *instance);
const int64_t *rkb_instance_symbols(const rkb_instance_t *instance);
/** NULL for a task without init methods. */
const char *rkb_instance_init_method(const rkb_instance_t *instance);
/** Owned by the instance. */
const rkb_value_t *rkb_instance_attribute(const rkb_instance_t *instance, size_t index);

/**
 * Shapes of the program's outputs, once a reference has found them: an instance keeps them so that
 * the program need not run again to learn them. NULL before.
 */
const rkb_output_spec_t *rkb_instance_forward_specs(const rkb_instance_t *instance);
/** specs: one per program output, copied. Not thread-safe. */
void rkb_instance_keep_forward_specs(const rkb_instance_t *instance,
                                     const rkb_output_spec_t *specs);

#endif
