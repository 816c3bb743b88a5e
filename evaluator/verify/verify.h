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
 * The ratio rule. An honest kernel's worst error stays within this factor of libtorch's own worst
 * error against the float64 oracle. Measured: 91 honest kernels, largest ratio 13.5; simulated
 * ones and the two corrections below are in docs/judging.md.
 *
 * With lowered_error known, L = lowered_error / libtorch's error corrects it:
 * - L above the factor, lower precision is visible: the factor grows to L / 16 (outputs of few
 *   elements: L / 2), but to RKB_ERROR_FACTOR_LONG at most. That makes room for plain sums over
 * very many terms, and for scalars whose reference is exact by luck.
 * - L below the factor, lower precision hides behind an honest kernel's error (a mean over
 * thousands of samples): the factor grows to 2·factor² / L, but to a quarter of the lower
 * precision's rounding of the output itself at most.
 */
#define RKB_ERROR_FACTOR 32.0
#define RKB_ERROR_FACTOR_LONG 128.0

/** Error of one output over all trials so far: what the ratio is made of. Zero-initialise. */
typedef struct {
    double max_abs_error;   /* candidate against oracle, over finite elements */
    double reference_error; /* libtorch in the task's dtype against oracle */
    double max_abs_oracle;  /* scale: its rounding is the floor of reference_error */
    double lowered_error;   /* oracle on inputs rounded to the next lower precision; 0: unknown */
    int64_t elements;
} rkb_error_stats_t;

/** A contiguous array with its name. */
typedef struct {
    const char *name;
    const void *data;
    rkb_dtype_t dtype;
    int64_t numel;
} rkb_named_array_t;

/** What the program expects of one output (see rkb_expected_t). */
typedef struct {
    const rkb_output_spec_t *spec;
    const void *reference; /* contiguous, spec->dtype */
    const double *oracle;  /* float outputs; NULL otherwise: exact equality with reference */
    double atol, rtol;
    const rkb_named_array_t *inputs; /* only for the hint "the output equals x"; may be NULL */
    size_t input_count;
} rkb_compare_spec_t;

/** A candidate's output as snapshotted by the evaluator. Strides in elements. */
typedef struct {
    const void *base; /* element 0 */
    rkb_dtype_t dtype;
    int ndim;
    int64_t sizes[RKB_MAX_DIMS];
    int64_t strides[RKB_MAX_DIMS];
} rkb_output_view_t;

/**
 * Shape and dtype only; RKB_VERDICT_OK, WRONG_SHAPE (negative strides too) or WRONG_DTYPE.
 * Overlapping outputs (stride 0, as expand() gives) are fine: every element is compared anyway.
 */
rkb_verdict_t rkb_check_metadata(const rkb_output_spec_t *spec, const rkb_output_view_t *view,
                                 rkb_finding_t *finding);
/**
 * Values of an output whose metadata is right: UNWRITTEN (wrong elements that hold the poison
 * pattern; first index and count), NAN_OR_INF (where a finite value is due), MISMATCH by the
 * elementwise rule |out - oracle| <= atol + rtol·|oracle| (first bad index with both values, count,
 * worst). Updates *stats whatever the verdict.
 *
 * Besides, an element is right when it is the oracle correctly rounded to the dtype, when it is the
 * same NaN or infinity as a non-finite oracle, and when it is the same NaN or infinity as
 * libtorch's result in the task's dtype, which overflows where float64 does not.
 *
 * poison: the 32-bit pattern; for 16-bit and 8-bit dtypes its low bytes, for 64-bit twice.
 * The view must lie in readable memory: nothing is checked here.
 */
rkb_verdict_t rkb_check_values(const rkb_compare_spec_t *expected, const rkb_output_view_t *view,
                               uint32_t poison, rkb_error_stats_t *stats, rkb_finding_t *finding);
/** candidate error / max(libtorch's error, rounding of the largest value); 0 when both are 0. */
double rkb_error_ratio(const rkb_error_stats_t *stats, rkb_dtype_t dtype);
/** What rkb_error_ratio() may be: RKB_ERROR_FACTOR, corrected as said there. */
double rkb_allowed_ratio(const rkb_error_stats_t *stats, rkb_dtype_t dtype);
/**
 * The ratio rule over all trials: OK or MISMATCH; sets RKB_FLAG(REDUCED_PRECISION) in *flags when
 * the error is as large as lower precision makes it. Integer outputs and outputs that are mere
 * rounding noise (zeros would satisfy the rule) are OK.
 */
rkb_verdict_t rkb_check_ratio(const char *output, const rkb_error_stats_t *stats, rkb_dtype_t dtype,
                              unsigned *flags, rkb_finding_t *finding);

/**
 * Rounds floats in place to the next lower precision, ties to even: float64 to float32's 24 digits,
 * float32 to the 11 of TF32 and float16, both 16-bit formats to the 4 of fp8 e4m3; the exponent
 * range stays. Running the oracle on inputs so rounded gives lowered_error. Other dtypes stay.
 */
void rkb_round_to_lower(void *data, rkb_dtype_t dtype, size_t n);
/**
 * A pattern for fresh memory: two equal halves, a quiet NaN in each float dtype that arithmetic
 * does not produce, absurd as an integer and no boolean. Varies with the seed.
 */
uint32_t rkb_poison_pattern(uint64_t seed);

/** First byte range in which the two differ; false when equal. */
bool rkb_find_difference(const void *a, const void *b, size_t bytes, size_t *first, size_t *count);
/** First 32-bit word of [0, bytes) that is not the pattern; false when all are. Bytes multiple
 * of 4. */
bool rkb_find_unpoisoned(const void *data, size_t bytes, uint32_t poison, size_t *first);

/** "[3,17]" of a linear index in a shape; buf is always terminated. */
const char *rkb_format_index(const int64_t *sizes, int ndim, int64_t linear, char *buf,
                             size_t size);
/** "[64,10] float32" */
const char *rkb_format_shape(const int64_t *sizes, int ndim, char *buf, size_t size);
/** One element of any dtype as double (integers beyond 2^53 lose digits). */
double rkb_load_double(const void *element, rkb_dtype_t dtype);

#endif
