#include "evaluator/timing/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double rkb_median(double *values, size_t n)
{
    if (n == 0) {
        return NAN;
    }
    qsort(values, n, sizeof(*values), compare_doubles);
    return (values[n / 2] + values[(n - 1) / 2]) / 2;
}
