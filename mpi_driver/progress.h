/**
 * @file progress.h
 * How far the run is, on standard error: a line that is repainted on a terminal, else one line a
 * minute and one at the end. Not thread-safe.
 */
#ifndef RKB_DRIVER_PROGRESS_H
#define RKB_DRIVER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct rkb_progress rkb_progress_t;

typedef struct {
    uint64_t done, total; /* items, those of earlier sittings included */
    double cost_left;     /* expected seconds of what is left, of one rank */
    uint32_t ranks, lost; /* that work; that do not any more */
    bool draining;
} rkb_progress_state_t;

/** out: borrowed. terminal: repaint. */
rkb_progress_t *rkb_progress_create(FILE *out, bool terminal);
void rkb_progress_destroy(rkb_progress_t *progress); /* NULL allowed */
/** A verdict of this sitting, or of an earlier one. */
void rkb_progress_count(rkb_progress_t *progress, const char *verdict, bool earlier);
/** Whether rkb_progress_show() would show something, so that nobody counts in vain. */
bool rkb_progress_is_due(const rkb_progress_t *progress, double now);
/** Shows the state when it is time to; rates count from the first call. now: rkb_clock_now(). */
void rkb_progress_show(rkb_progress_t *progress, const rkb_progress_state_t *state, double now);
/** Shows the last state for good. */
void rkb_progress_end(rkb_progress_t *progress, const rkb_progress_state_t *state, double now);
/** Takes the repainted line away so that something else can be printed. */
void rkb_progress_clear(rkb_progress_t *progress);
/** The line as it is printed (buf is always terminated). */
void rkb_progress_format(const rkb_progress_t *progress, const rkb_progress_state_t *state,
                         double now, char *buf, size_t size);

#endif
