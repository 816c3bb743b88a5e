#include "evaluator/verify/verify_internal.h"

#include <math.h>
#include <stdio.h>

/* libtorch's own error, but never less than the rounding of the largest value: a reference that
 * happens to be exact is luck, not a yardstick. */
static double base_error(const rkb_error_stats_t *stats, rkb_dtype_t dtype)
{
    double floor_error = rkb_half_ulp(stats->max_abs_oracle, dtype);
    return stats->reference_error > floor_error ? stats->reference_error : floor_error;
}

double rkb_error_ratio(const rkb_error_stats_t *stats, rkb_dtype_t dtype)
{
    if (stats->max_abs_error == 0)
        return 0;
    double base = base_error(stats, dtype);
    return base > 0 ? stats->max_abs_error / base : stats->max_abs_error;
}

/* Outputs of so few elements that the largest error of each side is a matter of luck. */
enum { RKB_FEW_ELEMENTS = 64 };

double rkb_allowed_ratio(const rkb_error_stats_t *stats, rkb_dtype_t dtype)
{
    double base = base_error(stats, dtype);
    if (!(base > 0) || !(stats->lowered_error > 0))
        return RKB_ERROR_FACTOR;
    double lowered = stats->lowered_error / base;
    if (lowered > RKB_ERROR_FACTOR) { /* visible in the output */
        double part = lowered / (stats->elements < RKB_FEW_ELEMENTS ? 2 : 16);
        return fmin(fmax(part, RKB_ERROR_FACTOR), RKB_ERROR_FACTOR_LONG);
    }
    /* The less rounded inputs show, the more an honest sum of many terms may err; but never as much
     * as rounding the output itself. */
    double rounding = rkb_lower_roundoff(dtype) * stats->max_abs_oracle / base;
    return fmax(fmin(2 * RKB_ERROR_FACTOR * RKB_ERROR_FACTOR / lowered, rounding / 4),
                RKB_ERROR_FACTOR);
}

rkb_verdict_t rkb_check_ratio(const char *output, const rkb_error_stats_t *stats, rkb_dtype_t dtype,
                              unsigned *flags, rkb_finding_t *finding)
{
    rkb_finding_set(finding, RKB_VERDICT_OK, "%s", "");
    if (!rkb_element_is_float(dtype) || stats->elements == 0)
        return RKB_VERDICT_OK;
    double ratio = rkb_error_ratio(stats, dtype);
    double allowed = rkb_allowed_ratio(stats, dtype);
    if (ratio <= allowed)
        return RKB_VERDICT_OK;
    double base = base_error(stats, dtype);
    /* Zeros would satisfy the rule, so it cannot tell anything: the output is rounding noise, such
     * as a gradient that vanishes analytically. The elementwise rule alone decides. */
    if (stats->max_abs_oracle <= RKB_ERROR_FACTOR * stats->reference_error ||
        stats->max_abs_oracle == 0)
        return RKB_VERDICT_OK;
    double lowered = stats->lowered_error;
    double typical =
        lowered > 0 ? lowered / 4 : rkb_lower_roundoff(dtype) * stats->max_abs_oracle / 16;
    bool reduced = stats->max_abs_error >= typical;
    if (reduced && flags)
        *flags |= RKB_FLAG(REDUCED_PRECISION);
    rkb_finding_set(finding, RKB_VERDICT_MISMATCH,
                    "output \"%s\" is within tolerance, but its largest error %.3g is %.0f times "
                    "that of libtorch in %s (%.3g); at most %.0f times is accepted",
                    output, stats->max_abs_error, ratio, rkb_element_name(dtype), base, allowed);
    if (finding && reduced)
        rkb_append(finding->detail, sizeof finding->detail,
                   ": arithmetic in a lower precision (%s) makes such errors",
                   dtype == RKB_F64   ? "float32"
                   : dtype == RKB_F32 ? "TF32, float16 or bfloat16"
                                      : "8-bit floats");
    return RKB_VERDICT_MISMATCH;
}
