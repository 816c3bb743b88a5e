/**
 * @file jail_internal.h
 * The two layers that have a file of their own.
 */
#ifndef RKB_CELL_JAIL_INTERNAL_H
#define RKB_CELL_JAIL_INTERNAL_H

#include "evaluator/cell/jail.h"

/** Version of Landlock that this kernel offers; 0: none. */
int rkb_landlock_version(void);
rkb_status_t rkb_landlock_enter(int version, const char *const *readable, rkb_error_t *err);

rkb_status_t rkb_seccomp_enter(rkb_error_t *err);

#endif
