/**
 * @file stats.h
 * Statistics of times. Pure; thread-safe.
 */
#ifndef RKB_TIMING_STATS_H
#define RKB_TIMING_STATS_H

#include <stddef.h>

/** Median of n values (any order, none NaN), which are sorted in place; NAN for n = 0. */
double rkb_median(double *values, size_t n);

#endif
