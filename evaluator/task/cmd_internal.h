/**
 * @file cmd_internal.h
 * What the sub-commands of `rkb tasks` share. Each gets argv from its own name on.
 */
#ifndef RKB_TASK_CMD_INTERNAL_H
#define RKB_TASK_CMD_INTERNAL_H

#include "evaluator/task/task.h"

rkb_status_t rkb_tasks_list(int argc, char **argv, rkb_error_t *err);
rkb_status_t rkb_tasks_show(int argc, char **argv, rkb_error_t *err);
rkb_status_t rkb_tasks_dump(int argc, char **argv, rkb_error_t *err);

/** Loads a folder of tasks; NULL: the installed ones. */
rkb_status_t rkb_tasks_open(const char *folder, rkb_task_set_t **out, rkb_error_t *err);

#endif
