#include "evaluator/verify/verify_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    bool ours;
} rkb_verdict_row_t;

static const rkb_verdict_row_t verdict_rows[] = {
#define RKB_VERDICT_ROW(_e, _text, _ours) [RKB_VERDICT_##_e] = {_text, _ours},
    RKB_VERDICT_MAP(RKB_VERDICT_ROW)
#undef RKB_VERDICT_ROW
};

static const char *const flag_names[] = {
#define RKB_FLAG_ROW(_e, _text) [RKB_FLAG_BIT_##_e] = _text,
    RKB_FLAG_MAP(RKB_FLAG_ROW)
#undef RKB_FLAG_ROW
};

const char *rkb_verdict_name(rkb_verdict_t verdict)
{
    return (unsigned)verdict < RKB_VERDICTS ? verdict_rows[verdict].name : "unknown";
}

bool rkb_verdict_is_ours(rkb_verdict_t verdict)
{
    return (unsigned)verdict < RKB_VERDICTS && verdict_rows[verdict].ours;
}

rkb_status_t rkb_verdict_parse(const char *text, rkb_verdict_t *out, rkb_error_t *err)
{
    for (int i = 0; i < RKB_VERDICTS; i++) {
        if (strcmp(text, verdict_rows[i].name) == 0) {
            *out = (rkb_verdict_t)i;
            return RKB_OK;
        }
    }
    return rkb_error_set(err, RKB_ERR_INVALID, "\"%.64s\" is not a verdict", text);
}

const char *rkb_flag_name(rkb_flag_bit_t flag)
{
    return (unsigned)flag < RKB_FLAGS ? flag_names[flag] : "unknown";
}

rkb_verdict_t rkb_finding_set(rkb_finding_t *finding, rkb_verdict_t verdict, const char *fmt, ...)
{
    if (!finding)
        return verdict;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(finding->detail, sizeof finding->detail, fmt, ap);
    va_end(ap);
    if (n < 0)
        finding->detail[0] = '\0';
    else if ((size_t)n >= sizeof finding->detail)
        finding->detail[sizeof finding->detail - 2] = '+';
    finding->verdict = verdict;
    return verdict;
}

void rkb_append(char *buf, size_t size, const char *fmt, ...)
{
    size_t used = strnlen(buf, size);
    if (used + 1 >= size)
        return;
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(buf + used, size - used, fmt, ap) < 0)
        buf[used] = '\0';
    va_end(ap);
}

const char *rkb_format_index(const int64_t *sizes, int ndim, int64_t linear, char *buf, size_t size)
{
    if (size == 0)
        return buf;
    int64_t index[RKB_MAX_DIMS] = {0};
    if (ndim > RKB_MAX_DIMS)
        ndim = RKB_MAX_DIMS;
    for (int d = ndim - 1; d >= 0; d--) {
        if (sizes[d] <= 0)
            continue;
        index[d] = linear % sizes[d];
        linear /= sizes[d];
    }
    buf[0] = '\0';
    rkb_append(buf, size, "[");
    for (int d = 0; d < ndim; d++)
        rkb_append(buf, size, d ? ",%lld" : "%lld", (long long)index[d]);
    rkb_append(buf, size, "]");
    return buf;
}

const char *rkb_format_shape(const int64_t *sizes, int ndim, char *buf, size_t size)
{
    if (size == 0)
        return buf;
    buf[0] = '\0';
    rkb_append(buf, size, "[");
    for (int d = 0; d < ndim && d < RKB_MAX_DIMS; d++)
        rkb_append(buf, size, d ? ",%lld" : "%lld", (long long)sizes[d]);
    rkb_append(buf, size, "]");
    return buf;
}
