/**
 * @file geomean.h
 * Geometric mean of speed-ups with a bootstrap interval. Items of one task stand or fall together
 * (one baseline, one kind of kernel), so whole tasks are drawn, not items.
 */
#ifndef RKB_RESULTS_GEOMEAN_H
#define RKB_RESULTS_GEOMEAN_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    double log_sum; /* of the speed-ups of one task */
    uint64_t count;
} rkb_speedup_cluster_t;

/** NAN where undefined: no item has a speed-up; for the interval also when only one task has. */
typedef struct {
    double value, lo, hi;
} rkb_geomean_t;

/** Percentile interval, 95 %, of a fixed number of draws under a fixed seed: repeatable. */
rkb_geomean_t rkb_geomean(const rkb_speedup_cluster_t *clusters, size_t count);

#endif
