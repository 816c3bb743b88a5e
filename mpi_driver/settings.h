/**
 * @file settings.h
 * The command line of rkb-mpi, and the part of it that makes a run what it is: its *options*, one
 * JSON object that run.json keeps and a resume takes up again. Paths in it are absolute.
 *
 * Members: tasks, kernels[], manifest, samples, controls, task, direction, configs, device, seed
 * (decimal text), trials, timeout, compile_timeout, cxx_flags, cache_dir, sanitize.
 */
#ifndef RKB_DRIVER_SETTINGS_H
#define RKB_DRIVER_SETTINGS_H

#include "common/error.h"
#include "common/json.h"
#include "common/options.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *tasks, *manifest, *task, *direction, *configs, *device, *cxx_flags, *cache_dir;
    rkb_option_list_t kernels;
    bool samples, controls, sanitize;
    int64_t seed, trials;            /* -1: not given */
    double timeout, compile_timeout; /* seconds; -1: not given */

    const char *out; /* NULL: a new folder below results/runs */
    bool resume;
    rkb_option_list_t fail_on;
    const char *progress; /* "auto" or "never" */
    bool explain_states;
} rkb_command_t;

#define RKB_COMMAND_INIT                                                                           \
    {                                                                                              \
        .seed = -1, .trials = -1, .timeout = -1, .compile_timeout = -1, .progress = "auto"         \
    }

extern const rkb_command_line_t rkb_driver_command_line;

/** What no file system is needed for: ranks other than 0 can do it, too. */
rkb_status_t rkb_command_check(const rkb_command_t *command, rkb_error_t *err);
void rkb_command_release(rkb_command_t *command);

/** The options that the command line gives and no others; the caller's. */
rkb_status_t rkb_settings_given(const rkb_command_t *command, cJSON **out, rkb_error_t *err);
/** Fills in what is not given, the seed by a fresh one. */
rkb_status_t rkb_settings_complete(cJSON *options, rkb_error_t *err);
/** RKB_ERR_USAGE names the first given option that differs from the stored one. */
rkb_status_t rkb_settings_agree(const cJSON *given, const cJSON *stored, rkb_error_t *err);

/** Members of the hello to an evaluator, but for op, protocol and ranks; the caller's. */
cJSON *rkb_settings_hello(const cJSON *options, const char *log_folder);
/** The plan request; the caller's. */
cJSON *rkb_settings_plan(const cJSON *options);
/** Seconds after which an evaluator that still has no result is beyond hope. */
double rkb_settings_item_limit(const cJSON *options);

#endif
