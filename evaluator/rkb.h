/**
 * @file rkb.h
 * Public C API of the evaluator: plan a sweep, judge items. `rkb serve` and `rkb eval` are thin
 * layers over it; the driver never links it (docs/protocol.md is all they share).
 *
 * One evaluator owns one device and is used by one thread.
 */
#ifndef RKB_EVALUATOR_RKB_H
#define RKB_EVALUATOR_RKB_H

#include "common/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define RKB_SERVE_PROTOCOL 1

typedef struct rkb_evaluator rkb_evaluator_t;

typedef struct {
    const char *device;     /* "auto", "cpu", "cuda" */
    int local_rank;         /* which device of this host */
    const char *tasks;      /* folder of tasks; NULL: the installed ones */
    uint64_t seed;          /* of all inputs; see rkb_seed_fresh() */
    int trials;             /* checks per item, each with data of its own; 0: 5 */
    double timeout;         /* seconds for one call of a candidate; 0: 30 */
    double compile_timeout; /* seconds for one compile job; 0: 120 */
    const char *cache_dir;  /* NULL: the user's cache folder */
    const char *cxx_flags;  /* extra compiler flags; NULL: none */
    const char *log_dir;    /* compile logs go to <log_dir>/<candidate>/; NULL: none are kept */
    bool sanitize;          /* build candidates with ASan and UBSan (CPU device) */
} rkb_evaluator_params_t;

#define RKB_EVALUATOR_PARAMS_INIT {.device = "auto"}

rkb_status_t rkb_evaluator_create(const rkb_evaluator_params_t *params, rkb_evaluator_t **out,
                                  rkb_error_t *err);
/** Kills its cells and compile jobs. NULL allowed. */
void rkb_evaluator_destroy(rkb_evaluator_t *evaluator);
/**
 * {version, protocol, host, device{…}, compiler, cxx_flags, torch, jail[…]}; owned by the caller.
 */
cJSON *rkb_evaluator_facts(const rkb_evaluator_t *evaluator);

/** What to sweep. All strings are borrowed for the call. */
typedef struct {
    const char *const *kernels; /* folders <task>/<direction>/…, or files with task and direction */
    int kernel_count;
    const char *manifest;  /* JSON Lines {task, direction, source, name?, dialect?, meta?}; may be NULL */
    bool samples;          /* the tasks' own sample candidates */
    bool controls;         /* @reference, @zeros, @mean, @copy */
    const char *configs;   /* config set name, or NULL when `config` is given */
    const char *config;    /* one config by name, "B=4,I=8,O=2,init=kaiming"; needs task */
    const char *task;      /* only this task; NULL: all */
    const char *direction; /* only this direction; NULL: both */
} rkb_plan_params_t;

/**
 * Receives the plan line by line, each an object of docs/protocol.md ("item" or "notice"); the
 * object is borrowed. A status other than RKB_OK ends planning.
 */
typedef rkb_status_t (*rkb_plan_sink_fn_t)(const cJSON *line, void *context, rkb_error_t *err);
/** *done_p: the "plan_done" object, owned by the caller. */
rkb_status_t rkb_evaluator_plan(rkb_evaluator_t *evaluator, const rkb_plan_params_t *params,
                                rkb_plan_sink_fn_t sink, void *context, cJSON **done_p,
                                rkb_error_t *err);

/** Starts the compile job of an item to come; what fails here fails again, with a verdict, later. */
void rkb_evaluator_prepare(rkb_evaluator_t *evaluator, const cJSON *payload);
/** Called while the evaluator waits for a compile job; `fd` (-1: none) wakes the wait. */
typedef void (*rkb_idle_fn_t)(void *context);
void rkb_evaluator_set_idle(rkb_evaluator_t *evaluator, int fd, rkb_idle_fn_t idle, void *context);
/**
 * Judges one item. Never fails: what goes wrong with the candidate is its verdict, what goes wrong
 * with us is `infra_error` or `reference_error`. The result (keys of an item in report.json) is
 * owned by the caller.
 */
cJSON *rkb_evaluator_judge(rkb_evaluator_t *evaluator, const cJSON *payload);

/** A fresh seed below 2^53 from the kernel's generator. */
uint64_t rkb_seed_fresh(void);

#endif
