/**
 * @file verify.h
 * Verdicts and the comparison that makes them. Pure: memory in, verdict out; no I/O, no processes,
 * no libtorch. Everything about a candidate's output is untrusted bytes here.
 */
#ifndef RKB_VERIFY_VERIFY_H
#define RKB_VERIFY_VERIFY_H

#include "common/error.h"
#include "evaluator/kernel_api/rkb_abi.h"
#include "evaluator/task/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enum, text, ours): ours = infrastructure, never counted against the candidate. */
#define RKB_VERDICT_MAP(X)                                                                         \
    X(OK, "ok", 0)                                                                                 \
    X(COMPILE_ERROR, "compile_error", 0)                                                           \
    X(COMPILE_TIMEOUT, "compile_timeout", 0)                                                       \
    X(LOAD_ERROR, "load_error", 0)                                                                 \
    X(NO_ENTRY, "no_entry", 0)                                                                     \
    X(BAD_SIGNATURE, "bad_signature", 0)                                                           \
    X(WRONG_COUNT, "wrong_count", 0)                                                               \
    X(WRONG_SHAPE, "wrong_shape", 0)                                                               \
    X(WRONG_DTYPE, "wrong_dtype", 0)                                                               \
    X(UNWRITTEN, "unwritten", 0)                                                                   \
    X(NAN_OR_INF, "nan_or_inf", 0)                                                                 \
    X(MISMATCH, "mismatch", 0)                                                                     \
    X(INPUT_MUTATED, "input_mutated", 0)                                                           \
    X(OUT_OF_BOUNDS, "out_of_bounds", 0)                                                           \
    X(ILLEGAL_ACCESS, "illegal_access", 0)                                                         \
    X(LAUNCH_FAILURE, "launch_failure", 0)                                                         \
    X(OUT_OF_MEMORY, "out_of_memory", 0)                                                           \
    X(TIMEOUT, "timeout", 0)                                                                       \
    X(CRASH, "crash", 0)                                                                           \
    X(EXCEPTION, "exception", 0)                                                                   \
    X(TAMPERING, "tampering", 0)                                                                   \
    X(UNSUPPORTED, "unsupported", 0)                                                               \
    X(REFERENCE_ERROR, "reference_error", 1)                                                       \
    X(INFRA_ERROR, "infra_error", 1)

typedef enum {
#define RKB_VERDICT_ENUM(_e, _text, _ours) RKB_VERDICT_##_e,
    RKB_VERDICT_MAP(RKB_VERDICT_ENUM)
#undef RKB_VERDICT_ENUM
        RKB_VERDICTS
} rkb_verdict_t;

const char *rkb_verdict_name(rkb_verdict_t verdict);
/** RKB_ERR_INVALID for an unknown word. */
rkb_status_t rkb_verdict_parse(const char *text, rkb_verdict_t *out, rkb_error_t *err);
bool rkb_verdict_is_ours(rkb_verdict_t verdict);

/* X(enum, text) */
#define RKB_FLAG_MAP(X)                                                                            \
    X(NONDETERMINISTIC, "nondeterministic")                                                        \
    X(REDUCED_PRECISION, "reduced_precision")                                                      \
    X(DELEGATED, "delegated")                                                                      \
    X(IMPOSSIBLE_TIME, "impossible_time")                                                          \
    X(EMULATED, "emulated")                                                                        \
    X(REAL_HEADER, "real_header")

typedef enum {
#define RKB_FLAG_BIT(_e, _text) RKB_FLAG_BIT_##_e,
    RKB_FLAG_MAP(RKB_FLAG_BIT)
#undef RKB_FLAG_BIT
        RKB_FLAGS
} rkb_flag_bit_t;
#define RKB_FLAG(_e) (1u << RKB_FLAG_BIT_##_e)
const char *rkb_flag_name(rkb_flag_bit_t flag);

enum { RKB_DETAIL_SIZE = 1024 };

/** A verdict with its sentence. */
typedef struct {
    rkb_verdict_t verdict;
    char detail[RKB_DETAIL_SIZE];
} rkb_finding_t;

rkb_verdict_t rkb_finding_set(rkb_finding_t *finding, rkb_verdict_t verdict, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * An honest float kernel's worst error, divided by libtorch's own worst error against the float64
 * oracle, stays below this factor; arithmetic of the next lower precision exceeds it by far.
 * Measured: 91 honest kernels, largest ratio 13.5 (plain sums over 4,096 terms); TF32, bf16 and
 * fp16 give hundreds and more (docs/judging.md).
 */
#define RKB_ERROR_FACTOR 32.0

/** Error of one output over all trials so far: what the ratio is made of. Zero-initialise. */
typedef struct {
    double max_abs_error;     /* candidate against oracle */
    double reference_error;   /* libtorch in the task's dtype against oracle */
    double max_abs_oracle;    /* scale: its rounding is the floor of reference_error */
    double lowered_error;     /* oracle on inputs rounded to the next lower precision; 0: unknown */
    int64_t elements;
} rkb_error_stats_t;

/** What the program expects of one output (see rkb_expected_t). */
typedef struct {
    const rkb_output_spec_t *spec;
    const void *reference; /* contiguous, spec->dtype */
    const double *oracle;  /* float outputs; NULL otherwise: exact equality with reference */
    double atol, rtol;
} rkb_compare_spec_t;

/** A candidate's output as snapshotted by the evaluator. Strides in elements. */
typedef struct {
    const void *base;  /* element 0 */
    rkb_dtype_t dtype;
    int ndim;
    int64_t sizes[RKB_MAX_DIMS];
    int64_t strides[RKB_MAX_DIMS];
} rkb_output_view_t;

/** Shape and dtype only; RKB_VERDICT_OK, WRONG_SHAPE or WRONG_DTYPE. */
rkb_verdict_t rkb_check_metadata(const rkb_output_spec_t *spec, const rkb_output_view_t *view,
                                 rkb_finding_t *finding);
/**
 * Values: UNWRITTEN (elements that hold the poison pattern; first index and count), NAN_OR_INF
 * (where the oracle is finite), MISMATCH by the elementwise rule |out - oracle| <= atol + rtol·|oracle|
 * (first bad index with both values, count, worst). Updates *stats whatever the verdict.
 * poison: the 32-bit pattern; for 16-bit and 8-bit dtypes its low bytes, for 64-bit twice.
 */
rkb_verdict_t rkb_check_values(const rkb_compare_spec_t *expected, const rkb_output_view_t *view,
                               uint32_t poison, rkb_error_stats_t *stats, rkb_finding_t *finding);
/** candidate error / max(libtorch's error, rounding of the largest value); 0 when both are 0. */
double rkb_error_ratio(const rkb_error_stats_t *stats, rkb_dtype_t dtype);
/** The ratio rule over all trials: OK or MISMATCH; sets RKB_FLAG(REDUCED_PRECISION) in *flags. */
rkb_verdict_t rkb_check_ratio(const char *output, const rkb_error_stats_t *stats, rkb_dtype_t dtype,
                              unsigned *flags, rkb_finding_t *finding);

/** First byte range in which the two differ; false when equal. */
bool rkb_find_difference(const void *a, const void *b, size_t bytes, size_t *first, size_t *count);
/** First 32-bit word of [0, bytes) that is not the pattern; false when all are. Bytes multiple of 4. */
bool rkb_find_unpoisoned(const void *data, size_t bytes, uint32_t poison, size_t *first);

/** "[3,17]" of a linear index in a shape; buf is always terminated. */
const char *rkb_format_index(const int64_t *sizes, int ndim, int64_t linear, char *buf, size_t size);
/** "[64,10] float32" */
const char *rkb_format_shape(const int64_t *sizes, int ndim, char *buf, size_t size);
/** One element of any dtype as double (integers beyond 2^53 lose digits). */
double rkb_load_double(const void *element, rkb_dtype_t dtype);

#endif
