/**
 * @file verify_internal.h
 * Shared by the files of this module.
 */
#ifndef RKB_VERIFY_INTERNAL_H
#define RKB_VERIFY_INTERNAL_H

#include "evaluator/verify/verify.h"

/* ---- element.c ---- */

size_t rkb_element_size(int dtype); /* 0: unknown */
const char *rkb_element_name(int dtype);
bool rkb_element_is_float(int dtype);
/** Converts n elements, `stride` elements apart, to doubles. */
void rkb_load_doubles(const void *base, rkb_dtype_t dtype, int64_t stride, int64_t n, double *out);
/** Half a unit in the last place of a float dtype at |magnitude|; 0 for integers. */
double rkb_half_ulp(double magnitude, rkb_dtype_t dtype);
/** Relative rounding of the next lower precision: 2^-11 (TF32, fp16) for float32. */
double rkb_lower_roundoff(rkb_dtype_t dtype);
double rkb_largest_finite(rkb_dtype_t dtype);
/** "0.125"; integers in full. */
const char *rkb_format_element(const void *element, rkb_dtype_t dtype, char *buf, size_t size);

/* ---- walk.c: the elements of a strided view in row-major order, in runs ---- */

enum { RKB_RUN = 512 };

typedef struct {
    const unsigned char *base;
    int64_t element_size;
    int ndim; /* neighbouring dimensions that lie densely are merged */
    int64_t sizes[RKB_MAX_DIMS], strides[RKB_MAX_DIMS];
    int64_t index[RKB_MAX_DIMS]; /* of the next run's first element */
    int64_t offset;              /* of that element, in elements */
    int64_t linear, numel;
} rkb_walk_t;

typedef struct {
    const unsigned char *base; /* first element of the run */
    int64_t stride;            /* in elements */
    int64_t linear, count;
} rkb_run_t;

int64_t rkb_shape_numel(const int64_t *sizes, int ndim);
void rkb_walk_begin(rkb_walk_t *walk, const rkb_output_view_t *view);
bool rkb_walk_next(rkb_walk_t *walk, rkb_run_t *run);
/** Address of one element by its linear index. */
const void *rkb_view_element(const rkb_output_view_t *view, int64_t linear);

/* ---- hints.c ---- */

/** Where the differing elements lie: for the first and the last dimension. */
typedef struct {
    int64_t first[2], last[2];
} rkb_spread_t;

/**
 * Appends to `detail` what is certain about an output with `count` wrong elements ("; the output is
 * all zeros"). view NULL: about their place only.
 */
void rkb_hints_append(const rkb_compare_spec_t *expected, const rkb_output_view_t *view,
                      int64_t count, const rkb_spread_t *spread, char *detail, size_t size);

/** snprintf at the end of a terminated string. */
void rkb_append(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
