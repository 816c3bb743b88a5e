#include "results/report.h"

#include "common/file.h"
#include "common/text.h"
#include "results/summary.h"
#include "results/verdicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { OP_LESS, OP_AT_MOST, OP_GREATER, OP_AT_LEAST } op_t;

/* A condition, read. A word has no metric. */
typedef struct {
    char metric[48];
    op_t op;
    double bound;
} condition_t;

static const char *const metric_names[] = {"correct_rate", "geomean_speedup", "unjudged",
                                           "items",        "unexpected",      NULL};

/* Index of the key in "fast_p[1.0]", or -1. */
static int fast_index(const char *metric)
{
    for (int i = 0; i < RKB_FAST_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "fast_p[%s]", rkb_fast_keys[i]);
        if (strcmp(name, metric) == 0)
            return i;
    }
    return -1;
}

static bool is_in(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(*words, word) == 0)
            return true;
    }
    return false;
}

static rkb_status_t unknown_word(const char *word, rkb_error_t *err)
{
    const char *near = rkb_text_nearest(word, rkb_verdict_words);
    if (!near)
        near = rkb_text_nearest(word, rkb_flag_words);
    return rkb_error_set(err, RKB_ERR_USAGE,
                         "--fail-on: \"%s\" is neither any, a verdict or flag, nor METRIC<NUMBER"
                         "%s%s%s",
                         word, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static rkb_status_t parse(const char *text, condition_t *out, rkb_error_t *err)
{
    *out = (condition_t){.metric = ""};
    size_t len = strcspn(text, "<>");
    if (text[len] == '\0') {
        if (strcmp(text, "any") == 0 || is_in(text, rkb_verdict_words) ||
            is_in(text, rkb_flag_words))
            return RKB_OK;
        return unknown_word(text, err);
    }
    bool equal = text[len + 1] == '=';
    if (text[len] == '<')
        out->op = equal ? OP_AT_MOST : OP_LESS;
    else
        out->op = equal ? OP_AT_LEAST : OP_GREATER;
    snprintf(out->metric, sizeof out->metric, "%.*s", (int)len, text);
    if (!is_in(out->metric, metric_names) && fast_index(out->metric) < 0)
        return rkb_error_set(err, RKB_ERR_USAGE,
                             "--fail-on: no metric \"%s\"; known are correct_rate, "
                             "geomean_speedup, fast_p[1.0], unjudged, unexpected and items",
                             out->metric);
    const char *number = text + len + 1 + equal;
    char *end;
    out->bound = strtod(number, &end);
    if (end == number || *end || !isfinite(out->bound))
        return rkb_error_set(err, RKB_ERR_USAGE, "--fail-on: \"%s\" is not a number in \"%s\"",
                             number, text);
    return RKB_OK;
}

rkb_status_t rkb_fail_on_check(const char *condition, rkb_error_t *err)
{
    condition_t ignored;
    return parse(condition, &ignored, err);
}

static double unjudged_of(const rkb_summary_t *summary)
{
    if (summary->planned < 0)
        return NAN;
    return summary->planned > (int64_t)summary->items
               ? (double)(summary->planned - (int64_t)summary->items)
               : 0;
}

static double metric_of(const rkb_summary_t *summary, const char *metric)
{
    if (strcmp(metric, "correct_rate") == 0)
        return rkb_summary_correct_rate(summary);
    if (strcmp(metric, "geomean_speedup") == 0)
        return summary->geomean.value;
    if (strcmp(metric, "items") == 0)
        return (double)summary->items;
    if (strcmp(metric, "unjudged") == 0)
        return unjudged_of(summary);
    if (strcmp(metric, "unexpected") == 0)
        return (double)summary->unexpected;
    return rkb_summary_fast(summary, fast_index(metric));
}

static bool is_met(const rkb_summary_t *summary, const char *text, const condition_t *condition)
{
    if (strcmp(text, "any") == 0)
        return summary->ok < summary->items || unjudged_of(summary) > 0;
    if (!condition->metric[0])
        return rkb_tally_get(&summary->verdicts, text) + rkb_tally_get(&summary->flags, text) > 0;
    double value = metric_of(summary, condition->metric);
    if (isnan(value))
        return true;
    switch (condition->op) {
    case OP_LESS:
        return value < condition->bound;
    case OP_AT_MOST:
        return value <= condition->bound;
    case OP_GREATER:
        return value > condition->bound;
    case OP_AT_LEAST:
        return value >= condition->bound;
    }
    return true;
}

rkb_status_t rkb_report_fail_on(const char *folder, const char *const *conditions, size_t count,
                                const char **met, rkb_error_t *err)
{
    condition_t *parsed = rkb_xcalloc(count, sizeof *parsed);
    rkb_summary_t *summary = NULL;
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; status == RKB_OK && i < count; i++)
        status = parse(conditions[i], &parsed[i], err);
    if (status == RKB_OK)
        status = rkb_summary_create(folder, &summary, err);
    if (status == RKB_OK) {
        *met = NULL;
        for (size_t i = 0; !*met && i < count; i++)
            *met = is_met(summary, conditions[i], &parsed[i]) ? conditions[i] : NULL;
    }
    rkb_summary_destroy(summary);
    free(parsed);
    return status;
}
