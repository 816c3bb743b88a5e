#include "results/geomean.h"

#include "common/file.h"
#include "common/hash.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 2000, TAIL = DRAWS / 40 }; /* 2.5 % on either side */

static const uint64_t bootstrap_seed = UINT64_C(0x726b62);
static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Uniform in [0, bound) from the high bits: bound is far below 2^32, its bias does not matter. */
static size_t draw(uint64_t *counter, size_t bound)
{
    return (size_t)(((rkb_mix64(*counter += golden) >> 32) * (uint64_t)bound) >> 32);
}

rkb_geomean_t rkb_geomean(const rkb_speedup_cluster_t *clusters, size_t count)
{
    rkb_geomean_t result = {NAN, NAN, NAN};
    rkb_speedup_cluster_t *timed = rkb_xcalloc(count, sizeof *timed);
    rkb_speedup_cluster_t all = {0, 0};
    size_t tasks = 0;
    for (size_t i = 0; i < count; i++) {
        if (clusters[i].count == 0)
            continue;
        timed[tasks++] = clusters[i];
        all.log_sum += clusters[i].log_sum;
        all.count += clusters[i].count;
    }
    if (all.count > 0)
        result.value = exp(all.log_sum / (double)all.count);
    if (tasks > 1) {
        double *means = rkb_xcalloc(DRAWS, sizeof *means);
        uint64_t counter = bootstrap_seed;
        for (int d = 0; d < DRAWS; d++) {
            rkb_speedup_cluster_t sample = {0, 0};
            for (size_t i = 0; i < tasks; i++) {
                const rkb_speedup_cluster_t *drawn = &timed[draw(&counter, tasks)];
                sample.log_sum += drawn->log_sum;
                sample.count += drawn->count;
            }
            means[d] = sample.log_sum / (double)sample.count;
        }
        qsort(means, DRAWS, sizeof *means, compare_doubles);
        result.lo = exp(means[TAIL]);
        result.hi = exp(means[DRAWS - 1 - TAIL]);
        free(means);
    }
    free(timed);
    return result;
}
