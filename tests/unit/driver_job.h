/**
 * @file driver_job.h
 * A whole job of ranks in this process, over the local transport, with fake_evaluator children.
 */
#ifndef RKB_TESTS_DRIVER_JOB_H
#define RKB_TESTS_DRIVER_JOB_H

#include "unit.h"

#include "common/json.h"
#include "mpi_driver/rank.h"

enum { JOB_RANKS = 8 };

typedef struct {
    int size;
    rkb_transport_t *transports[JOB_RANKS];
    rkb_rank_t *ranks[JOB_RANKS]; /* NULL: dead, or departed */
    bool frozen[JOB_RANKS];       /* alive, but does nothing */
    rkb_departure_t departures[JOB_RANKS];
    bool departed[JOB_RANKS];
    rkb_command_t command;
    char **evaluator;
    FILE *out, *err;
    char *folder; /* of the run */
    double speed; /* seconds of the ranks' clocks per step; 0: real time */
} job_t;

/** A scratch folder, made once per program and removed at its end. */
const char *job_scratch(void);
void job_remove_scratch(void);

/**
 * Prepares a job; `spec` is the script of fake_evaluator, `name` the run's folder below the scratch
 * folder. The command may be changed before job_start().
 */
void job_init(job_t *job, int size, const char *name, const char *spec);
void job_start(job_t *job);
/** One step of each live rank. */
void job_step(job_t *job);
/** Steps until all live ranks have departed, then ends the job; returns rank 0's exit code. */
int job_finish(job_t *job);
/** As kill -9: the rank and its evaluator are gone. */
void job_kill_rank(job_t *job, int rank);
/** Ends the job at once, as kill -9 of all. */
void job_kill(job_t *job);
/** init, start and finish. */
int job_run(int size, const char *name, const char *spec);
/** The same with --resume. */
int job_resume(int size, const char *name, const char *spec);

/** What the last job said on standard error. */
const char *job_messages(void);
/** Records of a type in the journal; of any verdict or of one. */
int job_count(const char *name, const char *type, const char *verdict);
/** Sorted "key verdict max_abs_error" lines of all results. Free it. */
char *job_results(const char *name);
/** A member of the result with this config ("n=3"), printed. Free it. */
char *job_member(const char *name, const char *config, const char *member);

#endif
