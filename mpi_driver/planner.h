/**
 * @file planner.h
 * Asks an evaluator what there is to judge. It is one of its own, on the CPU device: rank 0 may sit
 * on a node without a GPU, and the ranks' evaluators start meanwhile. Nothing blocks. Not
 * thread-safe.
 */
#ifndef RKB_DRIVER_PLANNER_H
#define RKB_DRIVER_PLANNER_H

#include "common/error.h"
#include "common/json.h"
#include "mpi_driver/scheduler.h"

#include <poll.h>
#include <stdbool.h>

typedef struct rkb_planner rkb_planner_t;

/** Receives the plan; a status other than RKB_OK ends it. */
typedef struct {
    rkb_status_t (*item)(void *context, const char *key, const rkb_item_info_t *info,
                         const cJSON *payload, rkb_error_t *err);
    rkb_status_t (*notice)(void *context, const cJSON *notice, rkb_error_t *err);
    void *context;
} rkb_plan_sink_t;

/** hello and plan: from settings.h; taken over. */
rkb_status_t rkb_planner_create(char *const *evaluator, cJSON *hello, cJSON *plan, double now,
                                const rkb_plan_sink_t *sink, rkb_planner_t **out, rkb_error_t *err);
void rkb_planner_destroy(rkb_planner_t *planner); /* NULL allowed */
/** Takes what has come; *busy: whether there was something. A failure is final. */
rkb_status_t rkb_planner_step(rkb_planner_t *planner, double now, bool *busy, rkb_error_t *err);
/** The evaluator's `plan_done` once the plan is whole, else NULL; and its answer to hello. */
const cJSON *rkb_planner_result(const rkb_planner_t *planner);
const cJSON *rkb_planner_facts(const rkb_planner_t *planner);
int rkb_planner_watch(const rkb_planner_t *planner, struct pollfd *fds);

#endif
