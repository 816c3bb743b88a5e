#include "results/report.h"

#include "common/file.h"
#include "results/format.h"
#include "results/verdicts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MIN = 40, LABEL_WIDTH = 10, SENTENCE_INDENT = 6, NOTICES_MAX = 20 };

typedef struct {
    const rkb_summary_t *summary;
    FILE *out;
    int width;
    bool color;
    int max_failures;
    int failures, notices;
    char *first_again; /* command for the first failure */
} printer_t;

typedef enum { PLAIN, BOLD, GOOD, BAD, OURS, DIM } style_t;

static void put(const printer_t *printer, style_t style, const char *text)
{
    static const char *const codes[] = {"", "1", "32", "31", "33", "2"};
    if (printer->color && style != PLAIN)
        fprintf(printer->out, "\033[%sm%s\033[0m", codes[style], text);
    else
        fputs(text, printer->out);
}

/* Columns of a terminal: one for each character, which is right for what rkb itself writes. */
static int columns_of(const char *text, size_t len)
{
    int columns = 0;
    for (size_t i = 0; i < len; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

static int columns(const char *text)
{
    return columns_of(text, strlen(text));
}

static void pad(const printer_t *printer, int count)
{
    if (count > 0)
        fprintf(printer->out, "%*s", count, "");
}

/* Text with its controls removed, wrapped at blanks; the cursor stands in column `at`. */
static void put_wrapped(const printer_t *printer, const char *text, int indent, int at)
{
    char *line = rkb_one_line(text);
    bool first = true;
    for (const char *word = line + strspn(line, " "); *word;) {
        size_t len = strcspn(word, " ");
        int size = columns_of(word, len);
        if (!first && at + 1 + size > printer->width) {
            fprintf(printer->out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', printer->out);
            at++;
        }
        fwrite(word, 1, len, printer->out);
        at += size;
        first = false;
        word += len;
        word += strspn(word, " ");
    }
    fputc('\n', printer->out);
    free(line);
}

static void put_heading(const printer_t *printer, const char *text)
{
    fputc('\n', printer->out);
    put(printer, BOLD, text);
    fputc('\n', printer->out);
}

/* Takes the text over. */
static void put_fact(const printer_t *printer, const char *label, char *text)
{
    if (*text) {
        fprintf(printer->out, "  %-*s", LABEL_WIDTH, label);
        put_wrapped(printer, text, 2 + LABEL_WIDTH, 2 + LABEL_WIDTH);
    }
    free(text);
}

static style_t style_of(const char *verdict)
{
    if (strcmp(verdict, "ok") == 0)
        return GOOD;
    return rkb_verdict_word_is_ours(verdict) ? OURS : BAD;
}

static void put_header(const printer_t *printer)
{
    const rkb_summary_t *summary = printer->summary;
    char *text = rkb_strf("rkb run %s", rkb_summary_text(summary, "id"));
    char *line = rkb_one_line(text);
    put(printer, BOLD, line);
    fputc('\n', printer->out);
    free(line);
    free(text);
    put_fact(printer, "items", rkb_format_items(summary));
    put_fact(printer, "speed", rkb_format_speed(summary));
    put_fact(printer, "devices", rkb_format_devices(summary->context));
    char *wall = rkb_format_wall(summary->context);
    const char *started = rkb_summary_text(summary, "started");
    put_fact(printer, "time", rkb_strf("%s%s%s", started, *started && *wall ? ", " : "", wall));
    free(wall);
    put_fact(printer, "configs", rkb_xstrdup(rkb_summary_text(summary, "configs")));
    put_fact(printer, "seed", rkb_format_seed(summary->context));
    put_fact(printer, "versions", rkb_format_versions(summary->context));
}

static void put_verdicts(const printer_t *printer)
{
    const rkb_summary_t *summary = printer->summary;
    put_heading(printer, "verdicts");
    for (size_t i = 0; i < summary->verdicts.used; i++) {
        const struct rkb_tally_row *row = &summary->verdicts.rows[i];
        if (row->count == 0)
            continue;
        char *word = rkb_one_line(row->word);
        fputs("  ", printer->out);
        put(printer, style_of(row->word), word);
        pad(printer, 16 - columns(word));
        fprintf(printer->out, " %8" PRIu64 "  %5.1f %%\n", row->count,
                100 * (double)row->count / (double)summary->items);
        free(word);
    }
    put_fact(printer, "flags", rkb_format_tally(&summary->flags, NULL));
    put_fact(printer, "bits", rkb_format_tally(&summary->classes, NULL));
}

static void put_groups(const printer_t *printer)
{
    const rkb_summary_t *summary = printer->summary;
    bool timed = summary->timed > 0;
    int task_width = 4;
    for (size_t i = 0; i < summary->group_count; i++) {
        int size = columns(summary->groups[i]->task);
        task_width = size > task_width ? size : task_width;
    }
    put_heading(printer, "tasks");
    char *head = rkb_strf("  %-*s  %-9s %7s %7s%s  %s", task_width, "task", "direction", "items",
                          "ok", timed ? "  speed-up" : "", "other verdicts");
    put(printer, DIM, head);
    fputc('\n', printer->out);
    free(head);
    for (size_t i = 0; i < summary->group_count; i++) {
        const rkb_group_t *group = summary->groups[i];
        char *task = rkb_one_line(group->task), *direction = rkb_one_line(group->direction);
        fprintf(printer->out, "  %s", task);
        pad(printer, task_width - columns(task));
        fprintf(printer->out, "  %-9s %7" PRIu64 " ", direction, group->items);
        char *ok = rkb_strf("%7" PRIu64, group->ok);
        put(printer, group->ok + group->ours == group->items ? GOOD : BAD, ok);
        free(ok);
        if (timed && group->speedups.count)
            fprintf(printer->out, "  %7.2f×",
                    exp(group->speedups.log_sum / (double)group->speedups.count));
        else if (timed)
            fprintf(printer->out, "  %8s", "");
        char *others = rkb_format_tally(&group->verdicts, "ok");
        int at = 2 + task_width + 2 + 9 + 8 + 8 + (timed ? 10 : 0) + 2;
        if (*others) {
            fputs("  ", printer->out);
            put_wrapped(printer, others, at, at);
        } else {
            fputc('\n', printer->out);
        }
        free(others);
        free(direction);
        free(task);
    }
}

static rkb_status_t put_failure(const rkb_item_view_t *view, void *context, bool *stop,
                                rkb_error_t *err)
{
    (void)err;
    printer_t *printer = context;
    if (view->ok)
        return RKB_OK;
    *stop = ++printer->failures == printer->max_failures;
    if (printer->failures == 1)
        put_heading(printer, "failures");
    char *verdict = rkb_one_line(view->verdict);
    fputs("  ", printer->out);
    put(printer, style_of(view->verdict), verdict);
    free(verdict);
    char *where =
        rkb_strf(" %s %s  %s  %s", view->task, view->direction, view->candidate, view->config);
    char *line = rkb_one_line(where);
    /* One line whatever its length: it is what people copy and search for. */
    fprintf(printer->out, "%s\n%*s", line, SENTENCE_INDENT, "");
    free(line);
    free(where);
    put_wrapped(printer, *view->detail ? view->detail : "(no detail)", SENTENCE_INDENT,
                SENTENCE_INDENT);
    if (!printer->first_again)
        printer->first_again = rkb_item_reproduce(view, printer->summary->context);
    return RKB_OK;
}

static rkb_status_t put_notice(const cJSON *record, void *context, rkb_error_t *err)
{
    (void)err;
    printer_t *printer = context;
    if (printer->notices++ >= NOTICES_MAX)
        return RKB_OK;
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(record, "path");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(record, "text");
    const char *where = cJSON_IsString(path) ? path->valuestring : "";
    char *line = rkb_strf("%s%s%s", where, *where ? ": " : "",
                          cJSON_IsString(text) ? text->valuestring : "");
    fputs("  ", printer->out);
    put_wrapped(printer, line, SENTENCE_INDENT, 2);
    free(line);
    return RKB_OK;
}

static rkb_status_t put_details(printer_t *printer, rkb_error_t *err)
{
    const rkb_summary_t *summary = printer->summary;
    rkb_status_t status = RKB_OK;
    uint64_t failures = summary->items - summary->ok;
    if (printer->max_failures > 0 && failures > 0)
        status = rkb_summary_items(summary, put_failure, printer, err);
    if (printer->failures > 0 && failures > (uint64_t)printer->failures)
        fprintf(printer->out, "  and %" PRIu64 " more: rkb report %s --failures %" PRIu64 "\n",
                failures - (uint64_t)printer->failures, summary->folder, failures);
    if (printer->first_again) {
        char *line = rkb_one_line(printer->first_again);
        fprintf(printer->out, "\n  to judge the first of them again:\n  %s\n", line);
        free(line);
    }
    if (status == RKB_OK && summary->notices > 0) {
        put_heading(printer, "left out");
        status = rkb_summary_notices(summary, put_notice, printer, err);
        if (printer->notices > NOTICES_MAX)
            fprintf(printer->out, "  and %d more, in report.json\n",
                    printer->notices - NOTICES_MAX);
    }
    return status;
}

static void put_footer(const printer_t *printer)
{
    const rkb_summary_t *summary = printer->summary;
    fputc('\n', printer->out);
    if (summary->cut_bytes)
        fprintf(printer->out,
                "The last line of the journal is incomplete (%" PRIu64 " bytes) and does not "
                "count.\n",
                summary->cut_bytes);
    if (summary->planned > (int64_t)summary->items)
        fprintf(printer->out, "The run is not complete; rkb-mpi --resume continues it.\n");
    fprintf(printer->out, "%s/: report.json, report.csv, report.md\n", summary->folder);
}

rkb_status_t rkb_report_print(const char *folder, FILE *out, int width, int color, int max_failures,
                              rkb_error_t *err)
{
    rkb_summary_t *summary;
    rkb_status_t status = rkb_summary_create(folder, &summary, err);
    if (status != RKB_OK)
        return status;
    printer_t printer = {.summary = summary,
                         .out = out,
                         .width = width < WIDTH_MIN ? WIDTH_MIN : width,
                         .color = color != 0,
                         .max_failures = max_failures};
    put_header(&printer);
    if (summary->items > 0) {
        put_verdicts(&printer);
        put_groups(&printer);
    }
    status = put_details(&printer, err);
    put_footer(&printer);
    free(printer.first_again);
    rkb_summary_destroy(summary);
    if (status == RKB_OK && ferror(out))
        status = rkb_error_set(err, RKB_ERR_IO, "the summary could not be written");
    return status;
}
