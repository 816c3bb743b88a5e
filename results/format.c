#include "results/format.h"

#include "common/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replaces *text by itself with more behind it. */
static void extend(char **text, const char *separator, char *more)
{
    char *longer = rkb_strf("%s%s%s", *text, **text ? separator : "", more);
    free(more);
    free(*text);
    *text = longer;
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

char *rkb_format_shell_word(const char *text)
{
    if (*text && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-./,=:@%+")] == '\0')
        return rkb_xstrdup(text);
    char *word = rkb_xcalloc(4 * strlen(text) + 3, 1), *out = word;
    *out++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') {
            memcpy(out, "'\\''", 4);
            out += 4;
        } else {
            *out++ = *text;
        }
    }
    *out = '\'';
    return word;
}

char *rkb_format_command(const cJSON *context)
{
    const cJSON *command = get(context, "command");
    if (cJSON_IsString(command))
        return rkb_xstrdup(command->valuestring);
    char *text = rkb_xstrdup("");
    const cJSON *word;
    cJSON_ArrayForEach(word, command)
    {
        if (cJSON_IsString(word))
            extend(&text, " ", rkb_format_shell_word(word->valuestring));
    }
    return text;
}

/* The one of a few different words that are counted with a linear search; ranks share few. */
typedef struct {
    char **words;
    uint64_t *counts;
    size_t used;
} counter_t;

static void count_word(counter_t *counter, char *word)
{
    for (size_t i = 0; i < counter->used; i++) {
        if (strcmp(counter->words[i], word) == 0) {
            counter->counts[i]++;
            free(word);
            return;
        }
    }
    counter->words = rkb_xrealloc(counter->words, counter->used + 1, sizeof *counter->words);
    counter->counts = rkb_xrealloc(counter->counts, counter->used + 1, sizeof *counter->counts);
    counter->words[counter->used] = word;
    counter->counts[counter->used++] = 1;
}

static void counter_release(counter_t *counter)
{
    for (size_t i = 0; i < counter->used; i++)
        free(counter->words[i]);
    free(counter->words);
    free(counter->counts);
}

static char *device_name(const cJSON *device)
{
    if (cJSON_IsString(device))
        return rkb_xstrdup(device->valuestring);
    const cJSON *name = get(device, "name");
    if (!cJSON_IsString(name))
        name = get(device, "kind");
    return rkb_xstrdup(cJSON_IsString(name) ? name->valuestring : "unknown device");
}

char *rkb_format_devices(const cJSON *context)
{
    counter_t names = {0}, hosts = {0};
    const cJSON *row;
    cJSON_ArrayForEach(row, get(context, "devices"))
    {
        const cJSON *host = get(row, "host");
        count_word(&names, device_name(get(row, "device")));
        if (cJSON_IsString(host))
            count_word(&hosts, rkb_xstrdup(host->valuestring));
    }
    char *text = rkb_xstrdup("");
    for (size_t i = 0; i < names.used; i++)
        extend(&text, ", ", rkb_strf("%" PRIu64 " × %s", names.counts[i], names.words[i]));
    if (hosts.used == 1)
        extend(&text, " ", rkb_strf("on %s", hosts.words[0]));
    else if (hosts.used > 1)
        extend(&text, " ", rkb_strf("on %zu hosts", hosts.used));
    counter_release(&names);
    counter_release(&hosts);
    return text;
}

char *rkb_format_seconds(double seconds)
{
    if (!isfinite(seconds) || seconds < 0)
        return rkb_xstrdup("");
    if (seconds < 99.95)
        return rkb_strf("%.1f s", seconds);
    long whole = seconds < 1e9 ? lround(seconds) : 1000000000;
    if (whole < 3600)
        return rkb_strf("%ld min %02ld s", whole / 60, whole % 60);
    return rkb_strf("%ld h %02ld min %02ld s", whole / 3600, whole / 60 % 60, whole % 60);
}

char *rkb_format_wall(const cJSON *context)
{
    const cJSON *wall = get(context, "wall_s");
    return rkb_format_seconds(cJSON_IsNumber(wall) ? wall->valuedouble : NAN);
}

char *rkb_format_seed(const cJSON *context)
{
    rkb_json_at_t root = rkb_json_root(context);
    uint64_t seed;
    if (rkb_json_get_uint64(&root, "seed", &seed, NULL) != RKB_OK)
        return rkb_xstrdup("");
    return rkb_strf("%" PRIu64, seed);
}

char *rkb_format_versions(const cJSON *context)
{
    char *text = rkb_xstrdup("");
    const cJSON *version;
    cJSON_ArrayForEach(version, get(context, "versions"))
    {
        if (cJSON_IsString(version))
            extend(&text, ", ", rkb_strf("%s %s", version->string, version->valuestring));
    }
    return text;
}

char *rkb_format_items(const rkb_summary_t *summary)
{
    uint64_t counted = summary->items - summary->ours;
    char *text = rkb_strf("%" PRIu64 " item%s", summary->items, summary->items == 1 ? "" : "s");
    if (counted)
        extend(&text, ", ",
               rkb_strf("%" PRIu64 " of %" PRIu64 " right (%.1f %%)", summary->ok, counted,
                        100 * rkb_summary_correct_rate(summary)));
    if (summary->expected)
        extend(&text, ", ",
               rkb_strf("%" PRIu64 " of %" PRIu64 " as expected.json says",
                        summary->expected - summary->unexpected, summary->expected));
    if (summary->ours)
        extend(&text, ", ",
               rkb_strf("%" PRIu64 " left undecided by our own errors", summary->ours));
    if (summary->planned > (int64_t)summary->items)
        extend(&text, ", ",
               rkb_strf("%" PRId64 " of %" PRId64 " planned not judged yet",
                        summary->planned - (int64_t)summary->items, summary->planned));
    return text;
}

char *rkb_format_speed(const rkb_summary_t *summary)
{
    if (summary->timed == 0)
        return rkb_xstrdup(summary->emulated ? "times are emulated by the CPU device and are not "
                                               "compared with a GPU's: no speed-ups"
                                             : "");
    char *text = rkb_strf("geometric mean speed-up %.3f×", summary->geomean.value);
    if (isfinite(summary->geomean.lo))
        extend(&text, " ",
               rkb_strf("(95 %% interval %.3f to %.3f)", summary->geomean.lo, summary->geomean.hi));
    extend(&text, " ", rkb_strf("over %" PRIu64 " timed items", summary->timed));
    for (int i = 0; i < RKB_FAST_COUNT; i++)
        extend(&text, i ? ", " : "; fast_p: ",
               rkb_strf("%.1f %% above %s×", 100 * rkb_summary_fast(summary, i), rkb_fast_keys[i]));
    return text;
}

char *rkb_format_tally(const rkb_tally_t *tally, const char *except)
{
    char *text = rkb_xstrdup("");
    for (size_t i = 0; i < tally->used; i++) {
        const struct rkb_tally_row *row = &tally->rows[i];
        if (row->count > 0 && (!except || strcmp(row->word, except) != 0))
            extend(&text, ", ", rkb_strf("%" PRIu64 " %s", row->count, row->word));
    }
    return text;
}
