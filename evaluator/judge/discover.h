/**
 * @file discover.h
 * Finds candidates: folders, single files, manifests, the tasks' own samples, built-in controls.
 */
#ifndef RKB_JUDGE_DISCOVER_H
#define RKB_JUDGE_DISCOVER_H

#include "evaluator/rkb.h"
#include "evaluator/task/task.h"

typedef struct {
    const rkb_task_t *task;
    rkb_direction_t direction;
    char *name;   /* unique within (task, direction); no blanks */
    char *source; /* path; NULL for a control */
    cJSON *meta;  /* carried into the report; may be NULL */
} rkb_candidate_t;

/** Something that could not become a candidate and must be told: kind, path, sentence. */
typedef struct {
    const char *kind; /* "unknown_task", "no_direction", "no_configs", "bad_manifest_line" */
    char *path;
    char *text;
} rkb_notice_t;

typedef struct {
    rkb_candidate_t *candidates; /* sorted by task, direction, name */
    size_t count;
    rkb_notice_t *notices;
    size_t notice_count;
} rkb_discovery_t;

/** A folder or manifest that does not exist, or a task that is not known, is an error that names
 * it. */
rkb_status_t rkb_discover(const rkb_task_set_t *tasks, const rkb_plan_params_t *params,
                          rkb_discovery_t *out, rkb_error_t *err);
void rkb_discovery_release(rkb_discovery_t *discovery);
void rkb_discovery_notice(rkb_discovery_t *discovery, const char *kind, const char *path,
                          const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
