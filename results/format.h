/**
 * @file format.h
 * Phrases that the terminal summary and report.md share. All return malloc'ed text, "" where there
 * is nothing to say.
 */
#ifndef RKB_RESULTS_FORMAT_H
#define RKB_RESULTS_FORMAT_H

#include "results/summary.h"

char *rkb_format_command(const cJSON *context); /* "rkb-mpi --samples --out 'a b'" */
char *rkb_format_devices(const cJSON *context); /* "4 × cpu (Embedded CPU device) on 1 host" */
char *rkb_format_wall(const cJSON *context);    /* "1 h 02 min 03 s" */
char *rkb_format_seed(const cJSON *context);
char *rkb_format_versions(const cJSON *context); /* "rkb 0.1.0, torch 1.13.1" */
/** "44 items, 28 of 43 right (65.1 %), 1 not judged for infrastructure reasons, 2 left" */
char *rkb_format_items(const rkb_summary_t *summary);
/** Speed-ups, or why there are none. */
char *rkb_format_speed(const rkb_summary_t *summary);
/** "9 mismatch, 2 timeout", without the word `except` (may be NULL). */
char *rkb_format_tally(const rkb_tally_t *tally, const char *except);
/** "1 h 02 min 03 s", "4 min 05 s", "12.3 s" */
char *rkb_format_seconds(double seconds);
/** A word as a shell takes it, quoted where it must be. */
char *rkb_format_shell_word(const char *text);

#endif
