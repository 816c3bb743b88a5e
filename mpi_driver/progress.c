#include "mpi_driver/progress.h"

#include "common/file.h"
#include "mpi_driver/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 40, LINE = 512 };
static const double repaint_every = 0.2;
static const double print_every = 60;

struct rkb_progress {
    FILE *out;
    bool terminal, painted;
    double started, next;
    double first_cost; /* expected seconds when the first item was judged; NAN: not yet */
    uint64_t judged;   /* in this sitting */
    struct {
        char word[33];
        uint64_t count;
    } verdicts[WORDS];
};

rkb_progress_t *rkb_progress_create(FILE *out, bool terminal)
{
    rkb_progress_t *progress = rkb_xcalloc(1, sizeof(*progress));
    progress->out = out;
    progress->terminal = terminal;
    progress->first_cost = NAN;
    return progress;
}

void rkb_progress_destroy(rkb_progress_t *progress)
{
    free(progress);
}

void rkb_progress_count(rkb_progress_t *progress, const char *verdict, bool earlier)
{
    progress->judged += !earlier;
    for (int i = 0; i < WORDS; i++) {
        if (progress->verdicts[i].count == 0) {
            snprintf(progress->verdicts[i].word, sizeof(progress->verdicts[i].word), "%s", verdict);
        }
        if (strcmp(progress->verdicts[i].word, verdict) == 0) {
            progress->verdicts[i].count++;
            return;
        }
    }
}

static void format_duration(double seconds, char *buf, size_t size)
{
    if (!isfinite(seconds) || seconds < 0) {
        snprintf(buf, size, "?");
    } else if (seconds < 100) {
        snprintf(buf, size, "%.0f s", ceil(seconds));
    } else if (seconds < 6000) {
        snprintf(buf, size, "%.0f min", ceil(seconds / 60));
    } else {
        snprintf(buf, size, "%.1f h", seconds / 3600);
    }
}

static void append(char *buf, size_t size, const char *text)
{
    size_t used = strlen(buf);
    snprintf(buf + used, size - used, "%s", text);
}

/* ok first, then by number: what most people look for stands in front. */
static void append_verdicts(const rkb_progress_t *progress, char *buf, size_t size)
{
    bool shown[WORDS] = {false};
    for (int round = 0; round < WORDS; round++) {
        int best = -1;
        for (int i = 0; i < WORDS && progress->verdicts[i].count > 0; i++) {
            bool ok = strcmp(progress->verdicts[i].word, "ok") == 0;
            if (!shown[i] && (best < 0 || ok ||
                              (strcmp(progress->verdicts[best].word, "ok") != 0 &&
                               progress->verdicts[i].count > progress->verdicts[best].count))) {
                best = i;
            }
        }
        if (best < 0) {
            return;
        }
        char text[64];
        shown[best] = true;
        snprintf(text, sizeof(text), "%s%s %llu", round == 0 ? " | " : ", ",
                 progress->verdicts[best].word, (unsigned long long)progress->verdicts[best].count);
        append(buf, size, text);
    }
}

void rkb_progress_format(const rkb_progress_t *progress, const rkb_progress_state_t *state,
                         double now, char *buf, size_t size)
{
    double elapsed = isnan(progress->first_cost) ? 0 : now - progress->started;
    double rate = elapsed > 0 ? (double)progress->judged / elapsed : 0;
    /* Expected costs are right in proportion, not in size: what is done gives the scale. */
    double spent = progress->first_cost - state->cost_left;
    double left = spent > 0 ? elapsed * state->cost_left / spent
                            : (rate > 0 ? (double)(state->total - state->done) / rate : NAN);
    char time_left[32], text[160];
    format_duration(left, time_left, sizeof(time_left));
    double share = state->total > 0 ? 100.0 * (double)state->done / (double)state->total : 0;
    snprintf(buf, size, "%llu/%llu (%.0f%%)", (unsigned long long)state->done,
             (unsigned long long)state->total, floor(share));
    if (rate > 0) {
        snprintf(text, sizeof(text), " %.3g/s", rate);
        append(buf, size, text);
    }
    if (state->done < state->total) {
        snprintf(text, sizeof(text), ", %s%s, %u rank%s", time_left,
                 state->draining ? " left, draining" : " left", state->ranks,
                 state->ranks == 1 ? "" : "s");
        append(buf, size, text);
    }
    if (state->lost > 0) {
        snprintf(text, sizeof(text), ", %u lost", state->lost);
        append(buf, size, text);
    }
    append_verdicts(progress, buf, size);
}

static void print(rkb_progress_t *progress, const rkb_progress_state_t *state, double now)
{
    char line[LINE];
    rkb_progress_format(progress, state, now, line, sizeof(line));
    if (!progress->terminal) {
        fprintf(progress->out, "rkb-mpi: %s\n", line);
        return;
    }
    int width = rkb_terminal_width(progress->out);
    if (width > 1 && strlen(line) >= (size_t)width) {
        line[width - 1] = '\0'; /* a wrapped line could not be repainted */
    }
    fprintf(progress->out, "\r\033[K%s", line);
    fflush(progress->out);
    progress->painted = true;
}

bool rkb_progress_is_due(const rkb_progress_t *progress, double now)
{
    return isnan(progress->first_cost) || now >= progress->next;
}

void rkb_progress_show(rkb_progress_t *progress, const rkb_progress_state_t *state, double now)
{
    if (isnan(progress->first_cost)) {
        progress->first_cost = state->cost_left;
        progress->started = now;
        progress->next = now + (progress->terminal ? 0 : print_every);
    }
    if (now >= progress->next) {
        print(progress, state, now);
        progress->next = now + (progress->terminal ? repaint_every : print_every);
    }
}

void rkb_progress_end(rkb_progress_t *progress, const rkb_progress_state_t *state, double now)
{
    print(progress, state, now);
    if (progress->painted) {
        fputc('\n', progress->out);
        progress->painted = false;
    }
}

void rkb_progress_clear(rkb_progress_t *progress)
{
    if (progress->painted) {
        fputs("\r\033[K", progress->out);
        fflush(progress->out);
        progress->painted = false;
    }
}
