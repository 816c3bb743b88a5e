/**
 * @file cmd_tasks.h
 * `rkb tasks list|show|dump`. argv[0] is "tasks"; returns the exit code and has printed its errors.
 */
#ifndef RKB_TASK_CMD_TASKS_H
#define RKB_TASK_CMD_TASKS_H

int rkb_cmd_tasks(int argc, char **argv);

#endif
