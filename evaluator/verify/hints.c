#include "evaluator/verify/verify_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double expected_value(const rkb_compare_spec_t *expected, int64_t linear)
{
    if (expected->oracle)
        return expected->oracle[linear];
    size_t size = rkb_element_size(expected->spec->dtype);
    return rkb_load_double((const unsigned char *)expected->reference + linear * (int64_t)size,
                           expected->spec->dtype);
}

/* What holds for the whole output at once; each is refuted by the first element that differs. */
typedef struct {
    bool constant;
    double value;
    double dot, norm; /* output · expected, expected · expected */
} scan_t;

static scan_t scan(const rkb_compare_spec_t *expected, const rkb_output_view_t *view)
{
    scan_t result = {.constant = true};
    double out[RKB_RUN];
    rkb_walk_t walk;
    rkb_run_t run;
    rkb_walk_begin(&walk, view);
    while (rkb_walk_next(&walk, &run)) {
        rkb_load_doubles(run.base, view->dtype, run.stride, run.count, out);
        if (run.linear == 0)
            result.value = out[0];
        for (int64_t i = 0; i < run.count; i++) {
            double due = expected_value(expected, run.linear + i);
            result.constant = result.constant && out[i] == result.value;
            result.dot += out[i] * due;
            result.norm += due * due;
        }
    }
    return result;
}

static bool is_multiple(const rkb_compare_spec_t *expected, const rkb_output_view_t *view,
                        double factor)
{
    double out[RKB_RUN];
    rkb_walk_t walk;
    rkb_run_t run;
    rkb_walk_begin(&walk, view);
    while (rkb_walk_next(&walk, &run)) {
        rkb_load_doubles(run.base, view->dtype, run.stride, run.count, out);
        for (int64_t i = 0; i < run.count; i++) {
            double due = factor * expected_value(expected, run.linear + i);
            if (!(fabs(out[i] - due) <= 1e-3 * fabs(due)))
                return false;
        }
    }
    return true;
}

/* The output with its last two dimensions exchanged; both have one size, else the shape would be
 * wrong. */
static bool is_transposed(const rkb_compare_spec_t *expected, const rkb_output_view_t *view)
{
    int ndim = view->ndim;
    if (ndim < 2 || view->sizes[ndim - 1] != view->sizes[ndim - 2] || view->sizes[ndim - 1] < 2)
        return false;
    int64_t n = view->sizes[ndim - 1];
    for (int64_t i = 0; i < expected->spec->numel; i++) {
        int64_t row = i / n % n, column = i % n;
        double due = expected_value(expected, i - row * n - column + column * n + row);
        double out = rkb_load_double(rkb_view_element(view, i), view->dtype);
        if (!(fabs(out - due) <= expected->atol + (expected->rtol + 1e-6) * fabs(due)))
            return false;
    }
    return true;
}

static bool equals_array(const rkb_output_view_t *view, const void *data)
{
    size_t size = rkb_element_size(view->dtype);
    const unsigned char *want = data;
    rkb_walk_t walk;
    rkb_run_t run;
    rkb_walk_begin(&walk, view);
    while (rkb_walk_next(&walk, &run)) {
        for (int64_t i = 0; i < run.count; i++) {
            const unsigned char *got = run.base + i * run.stride * (int64_t)size;
            if (memcmp(got, want + (run.linear + i) * (int64_t)size, size) != 0)
                return false;
        }
    }
    return true;
}

/* Says one thing about the values; false when nothing is certain. */
static bool value_hint(const rkb_compare_spec_t *expected, const rkb_output_view_t *view,
                       char *detail, size_t size)
{
    int64_t numel = expected->spec->numel;
    if (numel < 2)
        return false;
    for (size_t i = 0; i < expected->input_count; i++) {
        const rkb_named_array_t *input = &expected->inputs[i];
        if (input->numel == numel && input->dtype == view->dtype &&
            equals_array(view, input->data)) {
            rkb_append(detail, size, "; the output equals \"%s\"", input->name);
            return true;
        }
    }
    scan_t found = scan(expected, view);
    if (found.constant) {
        if (found.value == 0)
            rkb_append(detail, size, "; the output is all zeros");
        else
            rkb_append(detail, size, "; every element is %.7g", found.value);
        return true;
    }
    double factor = found.norm > 0 ? found.dot / found.norm : 0;
    if (isfinite(factor) && factor != 0 && fabs(factor - 1) > 0.01 &&
        is_multiple(expected, view, factor)) {
        rkb_append(detail, size, "; the output is the expected one times %.4g", factor);
        return true;
    }
    if (is_transposed(expected, view)) {
        rkb_append(detail, size,
                   "; the output is the expected one with its last two dimensions "
                   "exchanged");
        return true;
    }
    return false;
}

/* "they all lie at indices 60..63 of 64 of dimension 0, its end": said only of parts that are wrong
 * for the most part, because scattered elements have a first and a last index, too. */
static void place_hint(const rkb_output_spec_t *spec, int64_t count, const rkb_spread_t *spread,
                       char *detail, size_t size)
{
    int dims[2] = {0, spec->ndim - 1};
    for (int i = 0; i < 2 && i < spec->ndim; i++) {
        int64_t length = spec->sizes[dims[i]];
        int64_t first = spread->first[i], last = spread->last[i];
        int64_t part = spec->numel / length * (last - first + 1);
        if (count < 2 || last - first + 1 >= length || count < part - part / 4)
            continue;
        if (first == last)
            rkb_append(detail, size, "; they all lie at index %" PRId64 " of %" PRId64, first,
                       length);
        else
            rkb_append(detail, size,
                       "; they all lie at indices %" PRId64 "..%" PRId64 " of %" PRId64, first,
                       last, length);
        rkb_append(detail, size, " of dimension %d%s", dims[i],
                   last == length - 1 ? ", its end" : "");
        return;
    }
}

void rkb_hints_append(const rkb_compare_spec_t *expected, const rkb_output_view_t *view,
                      int64_t count, const rkb_spread_t *spread, char *detail, size_t size)
{
    if (!view || !value_hint(expected, view, detail, size))
        place_hint(expected->spec, count, spread, detail, size);
}
