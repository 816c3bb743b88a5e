#include "evaluator/verify/verify_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RKB_SHAPE_TEXT = 128 };

rkb_verdict_t rkb_check_metadata(const rkb_output_spec_t *spec, const rkb_output_view_t *view,
                                 rkb_finding_t *finding)
{
    char want[RKB_SHAPE_TEXT], got[RKB_SHAPE_TEXT];
    rkb_format_shape(spec->sizes, spec->ndim, want, sizeof want);
    if (view->ndim < 0 || view->ndim > RKB_MAX_DIMS)
        return rkb_finding_set(finding, RKB_VERDICT_WRONG_SHAPE,
                               "output \"%s\": %d dimensions, expected shape %s", spec->name,
                               view->ndim, want);
    rkb_format_shape(view->sizes, view->ndim, got, sizeof got);
    bool same = view->ndim == spec->ndim;
    for (int d = 0; same && d < spec->ndim; d++)
        same = view->sizes[d] == spec->sizes[d];
    if (!same) {
        bool fits = view->ndim >= 0; /* do equal elements merely lie in another shape? */
        int64_t numel = 1;
        for (int d = 0; d < view->ndim && fits; d++)
            fits = view->sizes[d] >= 0 && !__builtin_mul_overflow(numel, view->sizes[d], &numel);
        const char *hint = "";
        if (fits && numel == 0 && spec->numel != 0)
            hint = ": it has no elements";
        else if (fits && numel == spec->numel)
            hint = ": as many elements in another shape";
        else if (fits && numel == 1)
            hint = ": a single element is not broadcast";
        return rkb_finding_set(finding, RKB_VERDICT_WRONG_SHAPE,
                               "output \"%s\" has shape %s, expected %s%s", spec->name, got, want,
                               hint);
    }
    for (int d = 0; d < view->ndim; d++) {
        if (view->strides[d] < 0 && view->sizes[d] > 1)
            return rkb_finding_set(finding, RKB_VERDICT_WRONG_SHAPE,
                                   "output \"%s\" %s has the negative stride %" PRId64
                                   " along dimension %d",
                                   spec->name, got, view->strides[d], d);
    }
    if (view->dtype != spec->dtype)
        return rkb_finding_set(finding, RKB_VERDICT_WRONG_DTYPE,
                               "output \"%s\" %s is %s, expected %s", spec->name, got,
                               rkb_element_name(view->dtype), rkb_element_name(spec->dtype));
    return rkb_finding_set(finding, RKB_VERDICT_OK, "%s", "");
}

/* ---- values ---- */

typedef enum { KIND_RIGHT, KIND_UNWRITTEN, KIND_NOT_FINITE, KIND_WRONG, KINDS } element_kind_t;

typedef struct {
    int64_t count;
    int64_t first;
    double worst; /* error of the worst one, where that is a number */
    int64_t worst_at;
    rkb_spread_t spread;
} tally_t;

typedef struct {
    const rkb_compare_spec_t *expected;
    const rkb_output_view_t *view;
    uint32_t poison;
    size_t size;
    int64_t last_size,
        first_span; /* to find an element's place along the last and first dimension */
    tally_t tallies[KINDS];
} compare_t;

static bool holds_poison(const void *element, size_t size, uint32_t poison)
{
    unsigned char pattern[8];
    memcpy(pattern, &poison, 4);
    memcpy(pattern + 4, &poison, 4);
    if (size == 1) /* a byte does not tell which half of the pattern it was */
        return *(const unsigned char *)element == pattern[0] ||
               *(const unsigned char *)element == pattern[1];
    return memcmp(element, pattern, size) == 0;
}

/* NaN and NaN, or the same infinity. */
static bool same_kind(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

static double allowed_error(const rkb_compare_spec_t *expected, double value)
{
    return expected->atol + expected->rtol * fabs(value);
}

/* For elements that the plain inequality did not accept: mostly wrong ones, so no hurry. */
static element_kind_t judge_float(const compare_t *compare, const void *element, double out,
                                  double oracle, double reference)
{
    const rkb_compare_spec_t *expected = compare->expected;
    rkb_dtype_t dtype = compare->view->dtype;
    if (holds_poison(element, compare->size, compare->poison))
        return KIND_UNWRITTEN;
    if (!isfinite(oracle) && same_kind(out, oracle))
        return KIND_RIGHT;
    /* Where libtorch itself overflows in this dtype, or does not while float64 does, agreeing with
     * it is right too. */
    if (!isfinite(reference) && same_kind(out, reference))
        return KIND_RIGHT;
    if (!isfinite(oracle) && isfinite(reference) &&
        fabs(out - reference) <= allowed_error(expected, reference))
        return KIND_RIGHT;
    if (isinf(out) && isfinite(oracle) && fabs(oracle) > rkb_largest_finite(dtype) &&
        signbit(out) == signbit(oracle))
        return KIND_RIGHT;
    /* The correctly rounded value is right under any tolerance. */
    if (fabs(out - oracle) <= rkb_half_ulp(oracle, dtype))
        return KIND_RIGHT;
    return isfinite(out) || !isfinite(oracle) ? KIND_WRONG : KIND_NOT_FINITE;
}

static void tally_add(compare_t *compare, element_kind_t kind, int64_t linear, double error)
{
    tally_t *tally = &compare->tallies[kind];
    int64_t place[2] = {linear / compare->first_span, linear % compare->last_size};
    if (tally->count == 0) {
        tally->first = tally->worst_at = linear;
        for (int i = 0; i < 2; i++)
            tally->spread.first[i] = tally->spread.last[i] = place[i];
    }
    for (int i = 0; i < 2; i++) {
        if (place[i] < tally->spread.first[i])
            tally->spread.first[i] = place[i];
        if (place[i] > tally->spread.last[i])
            tally->spread.last[i] = place[i];
    }
    if (isfinite(error) && error > tally->worst) {
        tally->worst = error;
        tally->worst_at = linear;
    }
    tally->count++;
}

static void compare_floats(compare_t *compare, rkb_error_stats_t *stats)
{
    const rkb_compare_spec_t *expected = compare->expected;
    rkb_dtype_t dtype = compare->view->dtype;
    double out[RKB_RUN], reference[RKB_RUN];
    double max_error = stats->max_abs_error, max_reference = stats->reference_error;
    double max_oracle = stats->max_abs_oracle;
    rkb_walk_t walk;
    rkb_run_t run;
    rkb_walk_begin(&walk, compare->view);
    while (rkb_walk_next(&walk, &run)) {
        const double *oracle = expected->oracle + run.linear;
        const unsigned char *want =
            (const unsigned char *)expected->reference + run.linear * (int64_t)compare->size;
        rkb_load_doubles(run.base, dtype, run.stride, run.count, out);
        rkb_load_doubles(want, dtype, 1, run.count, reference);
        for (int64_t i = 0; i < run.count; i++) {
            double error = fabs(out[i] - oracle[i]);
            double reference_error = fabs(reference[i] - oracle[i]);
            if (reference_error > max_reference && isfinite(reference_error))
                max_reference = reference_error;
            if (fabs(oracle[i]) > max_oracle && isfinite(oracle[i]))
                max_oracle = fabs(oracle[i]);
            /* An infinite bound would accept anything. */
            if (error <= allowed_error(expected, oracle[i]) && isfinite(oracle[i])) {
                if (error > max_error)
                    max_error = error;
                continue;
            }
            const unsigned char *element = run.base + i * run.stride * (int64_t)compare->size;
            element_kind_t kind = judge_float(compare, element, out[i], oracle[i], reference[i]);
            if (kind != KIND_RIGHT)
                tally_add(compare, kind, run.linear + i, error);
            if (kind != KIND_UNWRITTEN && isfinite(error) && error > max_error)
                max_error = error;
        }
    }
    stats->max_abs_error = max_error;
    stats->reference_error = max_reference;
    stats->max_abs_oracle = max_oracle;
}

/* Integers and booleans; floats without an oracle (equal as numbers, NaN where NaN is due). */
static void compare_exactly(compare_t *compare, rkb_error_stats_t *stats)
{
    rkb_dtype_t dtype = compare->view->dtype;
    bool is_float = rkb_element_is_float(dtype);
    rkb_walk_t walk;
    rkb_run_t run;
    rkb_walk_begin(&walk, compare->view);
    while (rkb_walk_next(&walk, &run)) {
        const unsigned char *want = (const unsigned char *)compare->expected->reference +
                                    run.linear * (int64_t)compare->size;
        const unsigned char *got = run.base;
        for (int64_t i = 0; i < run.count; i++) {
            if (memcmp(got, want, compare->size) != 0) {
                double out = rkb_load_double(got, dtype), due = rkb_load_double(want, dtype);
                double error = fabs(out - due);
                element_kind_t kind = KIND_WRONG;
                if (is_float && same_kind(out, due))
                    kind = KIND_RIGHT;
                else if (holds_poison(got, compare->size, compare->poison))
                    kind = KIND_UNWRITTEN;
                else if (is_float && !isfinite(out) && isfinite(due))
                    kind = KIND_NOT_FINITE;
                if (kind != KIND_RIGHT)
                    tally_add(compare, kind, run.linear + i, error);
                if (kind != KIND_UNWRITTEN && isfinite(error) && error > stats->max_abs_error)
                    stats->max_abs_error = error;
            } else if (is_float && holds_poison(got, compare->size, compare->poison)) {
                tally_add(compare, KIND_UNWRITTEN, run.linear + i, 0);
            }
            got += run.stride * (int64_t)compare->size;
            want += compare->size;
        }
    }
}

typedef struct {
    char index[128], got[48], want[48];
} element_text_t;

static void describe_element(const compare_t *compare, int64_t linear, element_text_t *text)
{
    const rkb_compare_spec_t *expected = compare->expected;
    const rkb_output_view_t *view = compare->view;
    rkb_format_index(view->sizes, view->ndim, linear, text->index, sizeof text->index);
    rkb_format_element(rkb_view_element(view, linear), view->dtype, text->got, sizeof text->got);
    if (expected->oracle)
        snprintf(text->want, sizeof text->want, view->dtype == RKB_F64 ? "%.12g" : "%.8g",
                 expected->oracle[linear]);
    else
        rkb_format_element((const unsigned char *)expected->reference +
                               linear * (int64_t)compare->size,
                           view->dtype, text->want, sizeof text->want);
}

static rkb_verdict_t report(const compare_t *compare, rkb_finding_t *finding)
{
    const rkb_output_spec_t *spec = compare->expected->spec;
    const rkb_output_view_t *view = compare->view;
    char shape[RKB_SHAPE_TEXT];
    element_text_t text;
    int64_t numel = spec->numel;
    rkb_format_shape(view->sizes, view->ndim, shape, sizeof shape);

    const tally_t *tally = &compare->tallies[KIND_UNWRITTEN];
    if (tally->count) {
        describe_element(compare, tally->first, &text);
        rkb_finding_set(finding, RKB_VERDICT_UNWRITTEN,
                        "output \"%s\" %s: %" PRId64 " of %" PRId64
                        " elements hold the fill of fresh memory: never written, or computed from "
                        "memory that was not; the first is %s",
                        spec->name, shape, tally->count, numel, text.index);
        if (tally->count < numel)
            rkb_hints_append(compare->expected, NULL, tally->count, &tally->spread, finding->detail,
                             sizeof finding->detail);
        return RKB_VERDICT_UNWRITTEN;
    }
    tally = &compare->tallies[KIND_NOT_FINITE];
    if (tally->count) {
        describe_element(compare, tally->first, &text);
        rkb_finding_set(finding, RKB_VERDICT_NAN_OR_INF,
                        "output \"%s\" %s: element %s is %s, expected %s; %" PRId64 " of %" PRId64
                        " elements are NaN or infinite where a finite value is due",
                        spec->name, shape, text.index, text.got, text.want, tally->count, numel);
        if (tally->count < numel)
            rkb_hints_append(compare->expected, NULL, tally->count, &tally->spread, finding->detail,
                             sizeof finding->detail);
        return RKB_VERDICT_NAN_OR_INF;
    }
    tally = &compare->tallies[KIND_WRONG];
    if (!tally->count)
        return rkb_finding_set(finding, RKB_VERDICT_OK, "%s", "");

    describe_element(compare, tally->first, &text);
    rkb_finding_set(finding, RKB_VERDICT_MISMATCH,
                    "output \"%s\" %s: element %s is %s, expected %s", spec->name, shape,
                    text.index, text.got, text.want);
    char *detail = finding->detail;
    size_t size = sizeof finding->detail;
    double due = compare->expected->oracle ? compare->expected->oracle[tally->first] : 0;
    if (compare->expected->oracle && isfinite(due))
        rkb_append(detail, size, " (error %.3g, allowed %.3g)",
                   fabs(rkb_load_double(rkb_view_element(view, tally->first), view->dtype) - due),
                   allowed_error(compare->expected, due));
    if (numel > 1)
        rkb_append(detail, size, "; %" PRId64 " of %" PRId64 " elements differ", tally->count,
                   numel);
    if (tally->count > 1 && tally->worst > 0) {
        describe_element(compare, tally->worst_at, &text);
        rkb_append(detail, size, ", the worst is %s: %s instead of %s", text.index, text.got,
                   text.want);
    }
    rkb_hints_append(compare->expected, view, tally->count, &tally->spread, detail, size);
    return RKB_VERDICT_MISMATCH;
}

rkb_verdict_t rkb_check_values(const rkb_compare_spec_t *expected, const rkb_output_view_t *view,
                               uint32_t poison, rkb_error_stats_t *stats, rkb_finding_t *finding)
{
    const rkb_output_spec_t *spec = expected->spec;
    rkb_finding_t own;
    if (!finding)
        finding = &own;
    compare_t compare = {.expected = expected,
                         .view = view,
                         .poison = poison,
                         .size = rkb_element_size(view->dtype),
                         .last_size = 1,
                         .first_span = 1};
    if (spec->numel > 0 && spec->ndim > 0) {
        compare.last_size = spec->sizes[spec->ndim - 1];
        compare.first_span = spec->numel / spec->sizes[0];
    }
    stats->elements += spec->numel;
    if (expected->oracle)
        compare_floats(&compare, stats);
    else
        compare_exactly(&compare, stats);
    return report(&compare, finding);
}
