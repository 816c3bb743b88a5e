/**
 * @file task_internal.h
 * What the files of this folder share.
 */
#ifndef RKB_TASK_TASK_INTERNAL_H
#define RKB_TASK_TASK_INTERNAL_H

#include "common/hash.h"
#include "evaluator/task/program.h"

enum {
    RKB_TASK_MAX_ITEMS = 4096,  /* symbols, tensors, calls, …: of each */
    RKB_TASK_MAX_CONFIGS = 4096 /* in one set */
};

typedef struct {
    char *name, *about;
} rkb_symbol_t;

typedef enum {
    RKB_ATTRIBUTE_FLOAT,
    RKB_ATTRIBUTE_INT,
    RKB_ATTRIBUTE_BOOL,
    RKB_ATTRIBUTE_INT_LIST,
    RKB_ATTRIBUTE_STRING,
    RKB_ATTRIBUTE_NONE
} rkb_attribute_kind_t;

typedef struct {
    char *name, *about;
    rkb_attribute_kind_t kind;
    bool per_config; /* FLOAT and BOOL only: has no value of its own */
    double number;   /* FLOAT; BOOL as 0 or 1 */
    char *string;
    rkb_expr_t **exprs; /* INT: one; INT_LIST: count */
    size_t count;
} rkb_attribute_t;

/* How an initialiser's a and b follow from its terms. */
typedef enum {
    RKB_RULE_NORMAL,          /* numbers: mean, std */
    RKB_RULE_UNIFORM,         /* numbers: low, high */
    RKB_RULE_CONSTANT,        /* number: value */
    RKB_RULE_RANDINT,         /* expressions: low, high */
    RKB_RULE_KAIMING_UNIFORM, /* expression: fan_in */
    RKB_RULE_KAIMING_NORMAL,  /* expression: fan_in */
    RKB_RULE_XAVIER_UNIFORM,  /* expressions: fan_in, fan_out */
    RKB_RULE_XAVIER_NORMAL    /* expressions: fan_in, fan_out */
} rkb_init_rule_t;

typedef struct {
    rkb_init_rule_t rule;
    double numbers[2];
    rkb_expr_t *exprs[2];
} rkb_initialiser_t;

typedef struct {
    char *name, *about;
    rkb_role_t role;
    rkb_dtype_t dtype;
    int ndim;
    rkb_expr_t *shape[RKB_MAX_DIMS];
    rkb_initialiser_t *inits; /* one, or one per init method */
    size_t init_count;
} rkb_tensor_def_t;

/* One position of an entry. */
typedef enum {
    RKB_ENTRY_TENSOR,
    RKB_ENTRY_ATTRIBUTE,
    RKB_ENTRY_SYMBOL,
    RKB_ENTRY_GRAD
} rkb_entry_kind_t;

typedef struct {
    char *name;
    rkb_entry_kind_t kind;
    size_t index; /* RKB_ENTRY_GRAD: number of the output */
} rkb_entry_arg_t;

typedef struct {
    bool present;
    rkb_entry_arg_t *args;
    size_t arg_count;
    size_t *returns;       /* backward: tensors */
    char **gradient_names; /* of the returns, "grad_x" */
    size_t return_count;
    double atol, rtol;
} rkb_entry_def_t;

struct rkb_config {
    const rkb_task_t *task;
    char *name;
    bool *given;      /* symbols, then attributes, then the init method */
    int64_t *symbols; /* one per symbol */
    double *numbers;  /* one per attribute; only those set per config are used */
    size_t init;      /* index of the method; 0 for a task without methods */
};

typedef struct {
    char *name;
    rkb_config_t **configs[RKB_DIRECTIONS];
    size_t counts[RKB_DIRECTIONS];
} rkb_config_set_t;

struct rkb_task {
    char *name, *suite, *path, *folder, *description, *origin, *family;
    char sha256[RKB_SHA256_HEX_SIZE];
    char **notes;
    size_t note_count;
    rkb_symbol_t *symbols;
    size_t symbol_count;
    char **methods; /* init methods */
    size_t method_count;
    rkb_attribute_t *attributes;
    size_t attribute_count;
    rkb_tensor_def_t *tensors; /* inputs, params, buffers */
    size_t tensor_count;
    rkb_program_t program;
    rkb_entry_def_t entries[RKB_DIRECTIONS];
    rkb_config_set_t *sets;
    size_t set_count;
};

/** Parses a task from memory; `file` is for messages and gives the folder. */
rkb_status_t rkb_task_parse(const char *file, const char *text, size_t len, rkb_task_t **out,
                            rkb_error_t *err);

/** Scope of expressions: the task's symbols. */
const char *rkb_task_scope(const void *task, size_t index);

/* Parsers of one part each; `at` is the part. Implemented in parse_*.c and config.c. */
rkb_status_t rkb_parse_declarations(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err);
rkb_status_t rkb_parse_initialiser(const rkb_task_t *task, const rkb_json_at_t *at,
                                   rkb_dtype_t dtype, rkb_initialiser_t *out, rkb_error_t *err);
rkb_status_t rkb_parse_program(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err);
rkb_status_t rkb_parse_entries(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err);
rkb_status_t rkb_parse_config_sets(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err);
void rkb_program_release(rkb_program_t *program);
void rkb_initialiser_release(rkb_initialiser_t *init);

/** Numbers a and b of an initialiser under one assignment of the symbols. */
rkb_status_t rkb_initialiser_resolve(const rkb_initialiser_t *init, rkb_dtype_t dtype,
                                     const int64_t *symbols, rkb_init_t *out, rkb_error_t *err);

/** Writes "path: text"; returns status. */
rkb_status_t rkb_complain(const rkb_json_at_t *at, rkb_error_t *err, rkb_status_t status,
                          const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Puts the path before what is already recorded. */
rkb_status_t rkb_complain_prefix(const rkb_json_at_t *at, rkb_error_t *err);

/** An integer or an expression of symbols ("H//2"). */
rkb_status_t rkb_parse_expr(const rkb_task_t *task, const rkb_json_at_t *at, rkb_expr_t **out,
                            rkb_error_t *err);
rkb_status_t rkb_parse_dtype(const rkb_json_at_t *at, rkb_dtype_t *out, rkb_error_t *err);
/** Copies a string member, or the default (may be NULL) when it is absent. */
rkb_status_t rkb_copy_optional(const rkb_json_at_t *at, const char *key, const char *absent,
                               char **out, rkb_error_t *err);
/** Array member with bounded length; absent: *count is 0 and *out has no node. */
rkb_status_t rkb_parse_list(const rkb_json_at_t *at, const char *key, bool required,
                            rkb_json_at_t *out, size_t *count, rkb_error_t *err);

/** Size in bytes, name and kind of an element type. */
size_t rkb_dtype_bytes(rkb_dtype_t dtype);
const char *rkb_dtype_text(rkb_dtype_t dtype);
bool rkb_dtype_is_float(rkb_dtype_t dtype);

/** Fewest digits (15 to 17) that read back as the same double. */
const char *rkb_print_double(double value, char *buf, size_t size);

/** Finds a declared name in all four name spaces but results; false when there is none. */
bool rkb_task_find_name(const rkb_task_t *task, const char *name, rkb_ref_t *out);
int rkb_task_find_method(const rkb_task_t *task, const char *name);

#endif
