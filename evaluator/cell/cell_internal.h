/**
 * @file cell_internal.h
 * Between the parts of the program rkb-cell.
 */
#ifndef RKB_CELL_INTERNAL_H
#define RKB_CELL_INTERNAL_H

#include "evaluator/cell/protocol.h"

#include <stdbool.h>
#include <stddef.h>

/** The lent memory. */
typedef struct {
    unsigned char *base;
    uint64_t bytes;
} rkb_lent_arena_t;

/* ---- cell_signal.c ---- */

/** Handlers on a stack of their own that write signal and address to the page and then die by it.
 */
void rkb_cell_watch_signals(rkb_cell_status_t *page);

/* ---- cell_values.c ---- */

/**
 * Arguments of a call as values; integer lists borrow from the message. False: *why tells what
 * could not be made. rkb_cell_arguments_release() undoes both.
 */
bool rkb_cell_arguments_make(const rkb_cell_call_t *call, const rkb_lent_arena_t *arena,
                             rkb_value_t *values, const char **why);
void rkb_cell_arguments_release(rkb_value_t *values, size_t count);

/** Describes what a candidate returned. */
void rkb_cell_describe_result(const rkb_value_t *result, const rkb_lent_arena_t *arena,
                              rkb_cell_returned_t *returned);
/** Describes what the runtime counted during the call: allocations, launches, delegated names. */
void rkb_cell_describe_work(rkb_cell_returned_t *returned);

#endif
