/**
 * @file run_folder.h
 * The folder of a run: run.json says what the run is, journal.jsonl what is known so far. It is
 * resumable from the moment that it exists. Not thread-safe.
 *
 * run.json: {schema: "rkb-run/1", id, command, started, host, seed, device, configs, tasks,
 * tasks_sha256, plan_sha256, items, versions{rkb, mpi, torch, compiler}, evaluator (only when it is
 * not `rkb serve`), out, options{…} (settings.h)}.
 */
#ifndef RKB_DRIVER_RUN_FOLDER_H
#define RKB_DRIVER_RUN_FOLDER_H

#include "common/error.h"
#include "common/json.h"
#include "mpi_driver/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct rkb_run rkb_run_t;

/** Called for each verdict that the journal of a resumed run holds. */
typedef void (*rkb_verdict_fn_t)(void *context, const char *verdict);

typedef struct {
    const rkb_command_t *command;
    int argc;
    char *const *argv;        /* as given, for run.json */
    const char *mpi_version;  /* NULL: none */
    char *const *evaluator;   /* NULL: `rkb serve`; else what stands in for it */
    rkb_verdict_fn_t verdict; /* may be NULL */
    void *context;
    FILE *err; /* messages */
} rkb_run_params_t;

/**
 * A new run: makes the folder, which must not exist. A resumed one: reads its options and results,
 * opens its journal and cuts off a broken end; where nothing was begun yet it is a new run with a
 * message.
 */
rkb_status_t rkb_run_open(const rkb_run_params_t *params, rkb_run_t **out, rkb_error_t *err);
/** Closes it; the folder of a run that never began is removed. NULL allowed. */
void rkb_run_close(rkb_run_t *run);

const char *rkb_run_folder(const rkb_run_t *run);
const cJSON *rkb_run_options(const rkb_run_t *run);
bool rkb_run_is_resumed(const rkb_run_t *run);
/** A resumed run in whose journal every item has its result: only the report may be missing. */
bool rkb_run_is_complete(const rkb_run_t *run);

/** Whether the journal of a resumed run has the result of this key. */
rkb_status_t rkb_run_is_done(rkb_run_t *run, const char *key, bool *done, rkb_error_t *err);
/**
 * The plan is known: a new run writes run.json and then its journal, a resumed one compares the
 * hashes (RKB_ERR_USAGE when tasks or candidates have changed). plan: `plan_done`; facts: the
 * evaluator's answer to hello.
 */
rkb_status_t rkb_run_begin(rkb_run_t *run, const cJSON *plan, const cJSON *facts, uint32_t items,
                           rkb_error_t *err);

/* Records, from rkb_run_begin() on. They are durable after rkb_run_sync(). */
rkb_status_t rkb_run_add_result(rkb_run_t *run, const char *key, uint32_t attempt, int rank,
                                const cJSON *result, rkb_error_t *err);
rkb_status_t rkb_run_add_rank(rkb_run_t *run, int rank, const char *host, const cJSON *facts,
                              rkb_error_t *err);
/** One that the journal has already is not written again. */
rkb_status_t rkb_run_add_notice(rkb_run_t *run, const char *kind, const char *path,
                                const char *text, rkb_error_t *err);
rkb_status_t rkb_run_add_end(rkb_run_t *run, const char *status, int exit_code, double wall,
                             rkb_error_t *err);
rkb_status_t rkb_run_sync(rkb_run_t *run, rkb_error_t *err);

#endif
