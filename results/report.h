/**
 * @file report.h
 * report.json (schema rkb-report/1, results/schema/rkb-report-1.schema.json) from a run folder, and
 * its renderings. Everything is made by streaming over the journal: memory does not grow with the
 * items, but for 24 to 48 bytes per item that keep a key from being counted twice. Items stand in
 * journal order: the order in which they were judged; the first result of a key counts.
 *
 * correct_rate and fast_p are shares of the items but for those whose verdict is ours
 * (reference_error, infra_error). A speed-up counts when the item is ok, its times are not emulated
 * and not impossible. Numbers that are not defined are null. Not thread-safe.
 */
#ifndef RKB_RESULTS_REPORT_H
#define RKB_RESULTS_REPORT_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define RKB_REPORT_SCHEMA "rkb-report/1"

/**
 * Writes report.json, report.csv and report.md into the run's folder, each atomically. Works while
 * the run goes on, too. run.json may be missing; one of another schema is RKB_ERR_INVALID.
 */
rkb_status_t rkb_report_write(const char *folder, rkb_error_t *err);
/** Whether report.json is missing or older than what it is made from. */
bool rkb_report_is_stale(const char *folder);
/**
 * Terminal summary of the run: verdict counts, a row per task and direction, the failures with
 * their sentences (at most `max_failures`), what was not planned and why.
 * width: columns of the terminal. color: ANSI colours.
 */
rkb_status_t rkb_report_print(const char *folder, FILE *out, int width, int color, int max_failures,
                              rkb_error_t *err);

/**
 * --fail-on conditions: "any" (some item is not ok, or was not judged), a verdict or flag by its
 * name (some item has it), or METRIC OP NUMBER without blanks, as in "correct_rate<0.9": metrics
 * correct_rate, geomean_speedup, fast_p[1.0] (or another of its keys), unjudged, unexpected, items;
 * operators < <= > >=. A metric that is not defined meets every condition: no proof of success.
 * rkb_fail_on_check() tells before a run whether a condition can be read (RKB_ERR_USAGE).
 */
rkb_status_t rkb_fail_on_check(const char *condition, rkb_error_t *err);
/** *met: NULL, or the first of the conditions that is met. */
rkb_status_t rkb_report_fail_on(const char *folder, const char *const *conditions, size_t count,
                                const char **met, rkb_error_t *err);

#endif
