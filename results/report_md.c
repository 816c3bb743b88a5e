#include "results/render.h"

#include "common/file.h"
#include "results/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_MAX = 500 };

/* Names and sentences quote candidates: nothing in them may become markup. */
static void write_text(FILE *out, const char *text)
{
    char *line = rkb_one_line(text);
    for (const char *c = line; *c; c++) {
        if (strchr("\\`*_{}[]<>#|~&$!", *c))
            fputc('\\', out);
        fputc(*c, out);
    }
    free(line);
}

static void write_row(FILE *out, const char *key, const char *text)
{
    if (!*text)
        return;
    fprintf(out, "| %s | ", key);
    write_text(out, text);
    fputs(" |\n", out);
}

static void write_context(const rkb_render_t *render)
{
    const rkb_summary_t *summary = render->summary;
    char *text;
    fputs("# rkb run ", render->out);
    write_text(render->out, rkb_summary_text(summary, "id"));
    fputs("\n\n| | |\n|---|---|\n", render->out);
    text = rkb_format_command(summary->context);
    write_row(render->out, "command", text);
    free(text);
    text = rkb_format_devices(summary->context);
    write_row(render->out, "devices", text);
    free(text);
    write_row(render->out, "started", rkb_summary_text(summary, "started"));
    text = rkb_format_wall(summary->context);
    write_row(render->out, "wall time", text);
    free(text);
    text = rkb_format_seed(summary->context);
    write_row(render->out, "seed", text);
    free(text);
    write_row(render->out, "configs", rkb_summary_text(summary, "configs"));
    text = rkb_format_versions(summary->context);
    write_row(render->out, "versions", text);
    free(text);
    write_row(render->out, "tasks (SHA-256)", rkb_summary_text(summary, "tasks_sha256"));
}

static void write_summary(const rkb_render_t *render)
{
    const rkb_summary_t *summary = render->summary;
    FILE *out = render->out;
    fputs("\n## Summary\n\n", out);
    char *text = rkb_format_items(summary);
    fprintf(out, "%s.\n", text);
    free(text);
    text = rkb_format_speed(summary);
    if (*text)
        fprintf(out, "\n%c%s.\n", toupper((unsigned char)*text), text + 1);
    free(text);
    fputs("\n| verdict | items | share |\n|---|---:|---:|\n", out);
    for (size_t i = 0; i < summary->verdicts.used; i++) {
        const struct rkb_tally_row *row = &summary->verdicts.rows[i];
        if (row->count == 0)
            continue;
        fputs("| ", out);
        write_text(out, row->word);
        fprintf(out, " | %" PRIu64 " | %.1f %% |\n", row->count,
                100 * (double)row->count / (double)summary->items);
    }
    text = rkb_format_tally(&summary->flags, NULL);
    if (*text) {
        fputs("\nFlags: ", out);
        write_text(out, text);
        fputs(".\n", out);
    }
    free(text);
    text = rkb_format_tally(&summary->classes, NULL);
    if (*text) {
        fputs("\nConsistency across devices: ", out);
        write_text(out, text);
        fputs(".\n", out);
    }
    free(text);
}

static void write_groups(const rkb_render_t *render)
{
    const rkb_summary_t *summary = render->summary;
    FILE *out = render->out;
    bool timed = summary->timed > 0;
    fprintf(out, "\n## Tasks\n\n| task | direction | items | ok |%s other verdicts |\n",
            timed ? " speed-up |" : "");
    fprintf(out, "|---|---|---:|---:|%s---|\n", timed ? "---:|" : "");
    for (size_t i = 0; i < summary->group_count; i++) {
        const rkb_group_t *group = summary->groups[i];
        fputs("| ", out);
        write_text(out, group->task);
        fputs(" | ", out);
        write_text(out, group->direction);
        fprintf(out, " | %" PRIu64 " | %" PRIu64 " | ", group->items, group->ok);
        if (timed && group->speedups.count)
            fprintf(out, "%.2f× | ", exp(group->speedups.log_sum / (double)group->speedups.count));
        else if (timed)
            fputs("| ", out);
        char *text = rkb_format_tally(&group->verdicts, "ok");
        write_text(out, text);
        free(text);
        fputs(" |\n", out);
    }
}

static rkb_status_t write_notice(const cJSON *record, void *context, rkb_error_t *err)
{
    (void)err;
    rkb_render_t *render = context;
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(record, "path");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(record, "text");
    if (render->items++ == 0)
        fputs("\n## Left out\n\n", render->out);
    fputs("- ", render->out);
    if (cJSON_IsString(path)) {
        write_text(render->out, path->valuestring);
        fputs(": ", render->out);
    }
    write_text(render->out, cJSON_IsString(text) ? text->valuestring : "");
    fputc('\n', render->out);
    return RKB_OK;
}

static rkb_status_t begin(rkb_render_t *render, rkb_error_t *err)
{
    write_context(render);
    write_summary(render);
    write_groups(render);
    rkb_status_t status = rkb_summary_notices(render->summary, write_notice, render, err);
    render->items = 0;
    return status;
}

/* A code block needs a fence longer than any run of backticks in it. */
static void write_command(FILE *out, const char *command)
{
    size_t longest = 2, run = 0;
    for (const char *c = command; *c; c++) {
        run = *c == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    char *fence = rkb_xcalloc(longest + 2, 1);
    memset(fence, '`', longest + 1);
    fprintf(out, "\n  %ssh\n  %s\n  %s\n", fence, command, fence);
    free(fence);
}

static rkb_status_t add_item(rkb_render_t *render, const rkb_item_view_t *view, const cJSON *item,
                             rkb_error_t *err)
{
    (void)item;
    (void)err;
    if (view->ok || render->failures++ >= FAILURES_MAX)
        return RKB_OK;
    FILE *out = render->out;
    if (render->failures == 1)
        fputs("\n## Failures\n\nEach with the command that judges it again.\n\n", out);
    fputs("- **", out);
    write_text(out, view->verdict);
    fputs("** ", out);
    write_text(out, view->task);
    fputc(' ', out);
    write_text(out, view->direction);
    fputs(", ", out);
    write_text(out, view->candidate);
    fputs(", ", out);
    write_text(out, view->config);
    fputs(": ", out);
    write_text(out, view->detail);
    char *command = rkb_item_reproduce(view, render->summary->context);
    char *line = rkb_one_line(command);
    write_command(out, line);
    free(line);
    free(command);
    return RKB_OK;
}

static rkb_status_t end(rkb_render_t *render, rkb_error_t *err)
{
    (void)err;
    if (render->failures > FAILURES_MAX)
        fprintf(render->out, "\n%" PRIu64 " more failures are in report.csv and report.json.\n",
                render->failures - FAILURES_MAX);
    return RKB_OK;
}

const rkb_renderer_t rkb_render_md = {"report.md", begin, add_item, end};
