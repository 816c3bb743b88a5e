/**
 * @file evaluator_link.h
 * The driver's end of one evaluator: a child process, `rkb serve`, that speaks JSON lines over a
 * socket pair (docs/protocol.md). Nothing blocks. The child dies with this process. Not
 * thread-safe.
 *
 * For tests the environment variable RKB_EVALUATOR holds a command line, split at blanks, that is
 * started instead of `rkb serve`.
 */
#ifndef RKB_DRIVER_EVALUATOR_LINK_H
#define RKB_DRIVER_EVALUATOR_LINK_H

#include "common/error.h"
#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct rkb_evaluator_link rkb_evaluator_link_t;

/**
 * argv of the evaluator to start: RKB_EVALUATOR, or `rkb serve` from the folder of this binary.
 * *replaced tells which. Free with rkb_evaluator_command_free().
 */
rkb_status_t rkb_evaluator_command(char ***argv, bool *replaced, rkb_error_t *err);
void rkb_evaluator_command_free(char **argv); /* NULL allowed */

rkb_status_t rkb_evaluator_link_create(char *const *argv, rkb_evaluator_link_t **out,
                                       rkb_error_t *err);
/** Kills the evaluator if it still runs. NULL allowed. */
void rkb_evaluator_link_destroy(rkb_evaluator_link_t *link);

/** Becomes readable when there is something to receive. */
int rkb_evaluator_link_fd(const rkb_evaluator_link_t *link);
/** True while a request waits to be written: watch the descriptor for writing, too. */
bool rkb_evaluator_link_pending(const rkb_evaluator_link_t *link);

/** Sends a request; frees it. */
rkb_status_t rkb_evaluator_link_send(rkb_evaluator_link_t *link, cJSON *request, rkb_error_t *err);
/**
 * Writes what is pending and takes the next answer: *out is NULL when there is none, else the
 * caller's. An answer that is no JSON object is RKB_ERR_PROTOCOL; the end of the evaluator is
 * RKB_ERR_LOST and says how it ended.
 */
rkb_status_t rkb_evaluator_link_receive(rkb_evaluator_link_t *link, cJSON **out, rkb_error_t *err);
/** True once it has ended by itself. */
bool rkb_evaluator_link_ended(rkb_evaluator_link_t *link);

#endif
