/**
 * @file report.h
 * report.json (schema rkb-report/1, results/schema/rkb-report-1.schema.json) from a run folder, and
 * its renderings. Written by streaming over the journal: memory does not grow with the items, but
 * for 24 bytes per item that keep a key from being counted twice.
 */
#ifndef RKB_RESULTS_REPORT_H
#define RKB_RESULTS_REPORT_H

#include "common/error.h"

#include <stdint.h>
#include <stdio.h>

typedef struct rkb_report_summary rkb_report_summary_t;

/** Writes report.json, report.csv and report.md into the run's folder, each atomically. */
rkb_status_t rkb_report_write(const char *folder, rkb_error_t *err);
/**
 * Terminal summary of <folder>/report.json: verdict counts, a row per task and direction, the
 * failures with their sentences (at most `max_failures`), what was not planned and why.
 * width: columns of the terminal. color: ANSI colours.
 */
rkb_status_t rkb_report_print(const char *folder, FILE *out, int width, int color, int max_failures,
                              rkb_error_t *err);

#endif
