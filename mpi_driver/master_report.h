/**
 * @file master_report.h
 * What rank 0 does last: the journal's end, the report, the summary, and the exit code.
 */
#ifndef RKB_DRIVER_MASTER_REPORT_H
#define RKB_DRIVER_MASTER_REPORT_H

#include "common/error.h"
#include "mpi_driver/run_folder.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    rkb_run_t *run; /* NULL when it could not be opened */
    const rkb_command_t *command;
    const rkb_error_t *error; /* what ended the run; RKB_OK: nothing */
    bool begun;               /* there is a journal to end */
    bool complete;            /* all was done in earlier sittings */
    bool draining;
    uint64_t done, total;
    double wall; /* seconds */
    FILE *out, *err;
} rkb_conclusion_t;

/** Returns the exit code; says on `err` what a person should know. */
int rkb_conclude(const rkb_conclusion_t *conclusion);

#endif
