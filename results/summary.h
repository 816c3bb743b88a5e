/**
 * @file summary.h
 * What one pass over a run folder yields: everything in a report but the items themselves. Its
 * size grows with tasks and ranks, not with items (but for the set of keys while it is made).
 */
#ifndef RKB_RESULTS_SUMMARY_H
#define RKB_RESULTS_SUMMARY_H

#include "common/json.h"
#include "results/geomean.h"
#include "results/item.h"

#include <stdbool.h>
#include <stdint.h>

/** Counts by word, in the order given at the start, then as met. Only met words count. */
typedef struct {
    struct rkb_tally_row {
        char *word;
        uint64_t count;
    } * rows;
    size_t used;
} rkb_tally_t;
uint64_t rkb_tally_get(const rkb_tally_t *tally, const char *word);

/** One task in one direction. */
typedef struct {
    char *task, *direction;
    uint64_t items, ok, ours;
    rkb_tally_t verdicts;
    rkb_speedup_cluster_t speedups;
} rkb_group_t;

/** Speed-ups that fast_p looks at, and their keys in report.json. */
enum { RKB_FAST_COUNT = 7 };
extern const double rkb_fast_thresholds[RKB_FAST_COUNT];
extern const char *const rkb_fast_keys[RKB_FAST_COUNT];

typedef struct {
    char *folder;
    cJSON *context;     /* of the report; see context.c */
    uint64_t last_line; /* of the journal that was looked at: it may still grow */
    uint64_t cut_bytes;
    uint64_t notices;
    int64_t planned; /* -1: unknown */
    uint64_t items, ok, ours, emulated;
    uint64_t expected, unexpected; /* items with an expected verdict; those that got another */
    uint64_t fast[RKB_FAST_COUNT];
    uint64_t timed; /* items with a speed-up that counts */
    rkb_geomean_t geomean;
    rkb_tally_t verdicts, flags, classes;
    rkb_group_t **groups; /* sorted by task and direction */
    size_t group_count;
} rkb_summary_t;

rkb_status_t rkb_summary_create(const char *folder, rkb_summary_t **out, rkb_error_t *err);
void rkb_summary_destroy(rkb_summary_t *summary); /* NULL allowed */

/** ok / (items - ours); NAN when nothing counts. */
double rkb_summary_correct_rate(const rkb_summary_t *summary);
/** Share of the same items; NAN when none has a speed-up. */
double rkb_summary_fast(const rkb_summary_t *summary, int threshold);
/** `summary` of report.json; NULL without memory. */
cJSON *rkb_summary_json(const rkb_summary_t *summary);
/** A text of the context, or "". */
const char *rkb_summary_text(const rkb_summary_t *summary, const char *key);

/**
 * Second pass: each item once, in journal order. visit returns an error to stop with, or sets
 * *stop when it has seen enough.
 * What was appended to the journal since the first pass is left out.
 */
typedef rkb_status_t (*rkb_item_fn_t)(const rkb_item_view_t *view, void *context, bool *stop,
                                      rkb_error_t *err);
rkb_status_t rkb_summary_items(const rkb_summary_t *summary, rkb_item_fn_t visit, void *context,
                               rkb_error_t *err);
/** The same for notices, each distinct one once. */
typedef rkb_status_t (*rkb_notice_fn_t)(const cJSON *record, void *context, rkb_error_t *err);
rkb_status_t rkb_summary_notices(const rkb_summary_t *summary, rkb_notice_fn_t visit, void *context,
                                 rkb_error_t *err);

/* context.c */
typedef struct {
    cJSON *run;                   /* content of run.json or NULL */
    const cJSON *first;           /* run record of the journal */
    const cJSON *devices, *facts; /* array; facts of the first rank that told any, or NULL */
    const cJSON *end;             /* last end record or NULL */
    double wall_s;                /* NAN: unknown */
} rkb_context_parts_t;
/** Reads run.json, if there is one; RKB_ERR_INVALID for another schema. */
rkb_status_t rkb_run_load(const char *folder, cJSON **out, rkb_error_t *err);
cJSON *rkb_context_json(const rkb_context_parts_t *parts);

#endif
