/* Initialisers: {"normal": {"mean": 0, "std": 1}}, {"kaiming_uniform": {"fan_in": "I"}}, … */
#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    rkb_init_rule_t rule;
    bool expressions;     /* terms are expressions of symbols; else numbers */
    bool floats_only;     /* makes no sense for integers */
    const char *terms[3]; /* NULL-terminated; all are required */
} rules[] = {
    {"normal", RKB_RULE_NORMAL, false, true, {"mean", "std"}},
    {"uniform", RKB_RULE_UNIFORM, false, true, {"low", "high"}},
    {"constant", RKB_RULE_CONSTANT, false, false, {"value"}},
    {"randint", RKB_RULE_RANDINT, true, false, {"low", "high"}},
    {"kaiming_uniform", RKB_RULE_KAIMING_UNIFORM, true, true, {"fan_in"}},
    {"kaiming_normal", RKB_RULE_KAIMING_NORMAL, true, true, {"fan_in"}},
    {"xavier_uniform", RKB_RULE_XAVIER_UNIFORM, true, true, {"fan_in", "fan_out"}},
    {"xavier_normal", RKB_RULE_XAVIER_NORMAL, true, true, {"fan_in", "fan_out"}},
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

rkb_status_t rkb_parse_initialiser(const rkb_task_t *task, const rkb_json_at_t *at,
                                   rkb_dtype_t dtype, rkb_initialiser_t *out, rkb_error_t *err)
{
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status != RKB_OK)
        return status;
    if (cJSON_GetArraySize(at->node) != 1)
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "expected one member, the kind of initialiser");
    const char *name = at->node->child->string;
    rkb_nearest_t nearest = rkb_nearest_init(name, strlen(name));
    size_t r = 0;
    for (; r < RULE_COUNT && strcmp(rules[r].name, name) != 0; r++)
        rkb_nearest_offer(&nearest, rules[r].name);
    if (r == RULE_COUNT) {
        char hint[RKB_NAME_MAX + 32];
        return rkb_complain(at, err, RKB_ERR_INVALID, "unknown initialiser \"%.64s\"%s", name,
                            rkb_nearest_hint(&nearest, hint, sizeof hint));
    }
    if (rules[r].floats_only && !rkb_dtype_is_float(dtype))
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "\"%s\" draws real numbers and the dtype is %s; use \"randint\"", name,
                            rkb_dtype_text(dtype));
    rkb_json_at_t terms;
    status = rkb_json_member(at, name, &terms, err);
    if (status == RKB_OK)
        status = rkb_json_expect_object(&terms, err);
    if (status == RKB_OK)
        status = rkb_json_only_keys(&terms, rules[r].terms, err);
    rkb_initialiser_t init = {.rule = rules[r].rule};
    for (int i = 0; i < 2 && rules[r].terms[i] && status == RKB_OK; i++) {
        rkb_json_at_t term;
        status = rkb_json_member(&terms, rules[r].terms[i], &term, err);
        if (status == RKB_OK)
            status = rules[r].expressions ? rkb_parse_expr(task, &term, &init.exprs[i], err)
                                          : rkb_json_as_double(&term, &init.numbers[i], err);
    }
    if (status == RKB_OK && init.rule == RKB_RULE_NORMAL && !(init.numbers[1] > 0))
        status = rkb_complain(&terms, err, RKB_ERR_INVALID, "std must be above 0");
    if (status == RKB_OK && init.rule == RKB_RULE_UNIFORM &&
        !(init.numbers[0] < init.numbers[1] && isfinite(init.numbers[1] - init.numbers[0])))
        status =
            rkb_complain(&terms, err, RKB_ERR_INVALID, "low must be below high, by a finite step");
    if (status != RKB_OK) {
        rkb_initialiser_release(&init);
        return status;
    }
    *out = init;
    return RKB_OK;
}

void rkb_initialiser_release(rkb_initialiser_t *init)
{
    rkb_expr_destroy(init->exprs[0]);
    rkb_expr_destroy(init->exprs[1]);
    init->exprs[0] = init->exprs[1] = NULL;
}

/* Integers that a dtype holds exactly: low to high, both inclusive. */
static void integer_range(rkb_dtype_t dtype, int64_t *low, int64_t *high)
{
    static const struct {
        rkb_dtype_t dtype;
        int64_t low, high;
    } ranges[] = {
        {RKB_U8, 0, UINT8_MAX},
        {RKB_I8, INT8_MIN, INT8_MAX},
        {RKB_I16, INT16_MIN, INT16_MAX},
        {RKB_I32, INT32_MIN, INT32_MAX},
        {RKB_BOOL, 0, 1},
        {RKB_BF16, -(1 << 8), 1 << 8},
        {RKB_F16, -(1 << 11), 1 << 11},
        {RKB_F32, -(1 << 24), 1 << 24},
    };
    *low = -((int64_t)1 << 53); /* bounds travel as double */
    *high = (int64_t)1 << 53;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (ranges[i].dtype == dtype) {
            *low = ranges[i].low;
            *high = ranges[i].high;
        }
}

static rkb_status_t resolve_constant(rkb_dtype_t dtype, double value, rkb_init_t *out,
                                     rkb_error_t *err)
{
    int64_t low, high;
    integer_range(dtype, &low, &high);
    if (!rkb_dtype_is_float(dtype) &&
        (value < (double)low || value > (double)high || value != (double)(int64_t)value))
        return rkb_error_set(err, RKB_ERR_INVALID, "constant %.17g does not fit %s", value,
                             rkb_dtype_text(dtype));
    *out = (rkb_init_t){RKB_INIT_CONSTANT, value, 0};
    return RKB_OK;
}

static rkb_status_t resolve_randint(rkb_dtype_t dtype, int64_t a, int64_t b, rkb_init_t *out,
                                    rkb_error_t *err)
{
    int64_t low, high;
    integer_range(dtype, &low, &high);
    if (a >= b)
        return rkb_error_set(err, RKB_ERR_INVALID, "randint from %lld to below %lld is empty",
                             (long long)a, (long long)b);
    if (a < low || b - 1 > high)
        return rkb_error_set(err, RKB_ERR_INVALID,
                             "randint from %lld to below %lld does not fit %s", (long long)a,
                             (long long)b, rkb_dtype_text(dtype));
    *out = (rkb_init_t){RKB_INIT_RANDINT, (double)a, (double)b};
    return RKB_OK;
}

rkb_status_t rkb_initialiser_resolve(const rkb_initialiser_t *init, rkb_dtype_t dtype,
                                     const int64_t *symbols, rkb_init_t *out, rkb_error_t *err)
{
    int64_t terms[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (!init->exprs[i])
            continue;
        rkb_status_t status = rkb_expr_eval(init->exprs[i], symbols, &terms[i], err);
        if (status != RKB_OK)
            return status;
        if (terms[i] < 1 && init->rule != RKB_RULE_RANDINT)
            return rkb_error_set(err, RKB_ERR_INVALID, "fan \"%s\" is %lld, below 1",
                                 rkb_expr_text(init->exprs[i]), (long long)terms[i]);
    }
    double fan_in = (double)terms[0], fans = fan_in + (double)terms[1], bound;
    switch (init->rule) {
    case RKB_RULE_NORMAL:
        *out = (rkb_init_t){RKB_INIT_NORMAL, init->numbers[0], init->numbers[1]};
        return RKB_OK;
    case RKB_RULE_UNIFORM:
        *out = (rkb_init_t){RKB_INIT_UNIFORM, init->numbers[0], init->numbers[1]};
        return RKB_OK;
    case RKB_RULE_CONSTANT:
        return resolve_constant(dtype, init->numbers[0], out, err);
    case RKB_RULE_RANDINT:
        return resolve_randint(dtype, terms[0], terms[1], out, err);
    case RKB_RULE_KAIMING_UNIFORM:
        bound = 1 / sqrt(fan_in);
        *out = (rkb_init_t){RKB_INIT_UNIFORM, -bound, bound};
        return RKB_OK;
    case RKB_RULE_KAIMING_NORMAL:
        *out = (rkb_init_t){RKB_INIT_NORMAL, 0, sqrt(2 / fan_in)};
        return RKB_OK;
    case RKB_RULE_XAVIER_UNIFORM:
        bound = sqrt(6 / fans);
        *out = (rkb_init_t){RKB_INIT_UNIFORM, -bound, bound};
        return RKB_OK;
    case RKB_RULE_XAVIER_NORMAL:
        *out = (rkb_init_t){RKB_INIT_NORMAL, 0, sqrt(2 / fans)};
        return RKB_OK;
    }
    return rkb_error_set(err, RKB_ERR_INTERNAL, "initialiser rule %d", (int)init->rule);
}
