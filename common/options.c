#include "common/options.h"

#include "common/file.h"
#include "common/text.h"

#include <errno.h>
#include <math.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES_MAX = 32 };

static const rkb_option_t *find_long(const rkb_option_t *options, const char *name, size_t len)
{
    for (; options->name; options++) {
        if (strlen(options->name) == len && strncmp(options->name, name, len) == 0)
            return options;
    }
    return NULL;
}

static const rkb_option_t *find_letter(const rkb_option_t *options, char letter)
{
    for (; options->name; options++) {
        if (options->letter && options->letter == letter)
            return options;
    }
    return NULL;
}

static rkb_status_t unknown_option(const rkb_command_line_t *line, const char *argument,
                                   rkb_error_t *err)
{
    const char *near = NULL;
    char word[64];
    if (strncmp(argument, "--", 2) == 0) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
        size_t count = 0;
        while (line->options[count].name)
            count++;
        const char **names = rkb_xcalloc(count + 3, sizeof *names);
        for (size_t i = 0; i < count; i++)
            names[i] = line->options[i].name;
        names[count] = "help";
        names[count + 1] = "version";
        near = rkb_text_nearest(word, names);
        free(names);
    }
    int shown = (int)strcspn(argument, "=");
    if (near)
        return rkb_error_set(err, RKB_ERR_USAGE, "unknown option %.*s; did you mean --%s?", shown,
                             argument, near);
    return rkb_error_set(err, RKB_ERR_USAGE, "unknown option %.*s; see %s --help", shown, argument,
                         line->program);
}

static rkb_status_t bad_value(const rkb_option_t *option, const char *text, const char *wanted,
                              rkb_error_t *err)
{
    return rkb_error_set(err, RKB_ERR_USAGE, "--%s: \"%s\" is not %s", option->name, text, wanted);
}

static rkb_status_t take_int(const rkb_option_t *option, const char *text, int64_t *out,
                             rkb_error_t *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno == ERANGE || strchr(" \t\n+", *text))
        return bad_value(option, text, "an integer", err);
    if ((option->min || option->max) && (value < option->min || value > option->max)) {
        if (option->max == INT64_MAX)
            return rkb_error_set(err, RKB_ERR_USAGE, "--%s: %lld is below %" PRId64, option->name,
                                 value, option->min);
        return rkb_error_set(err, RKB_ERR_USAGE, "--%s: %lld is not within %" PRId64 " to %" PRId64,
                             option->name, value, option->min, option->max);
    }
    *out = value;
    return RKB_OK;
}

static rkb_status_t take_uint64(const rkb_option_t *option, const char *text, uint64_t *out,
                                rkb_error_t *err)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(digits, &end, hex ? 16 : 10);
    if (!strchr("0123456789abcdefABCDEF", *digits) || !*digits || *end || errno == ERANGE)
        return bad_value(option, text, "an unsigned 64-bit integer (decimal or 0x…)", err);
    *out = value;
    return RKB_OK;
}

static rkb_status_t take_double(const rkb_option_t *option, const char *text, double *out,
                                rkb_error_t *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || strchr(" \t\n", *text))
        return bad_value(option, text, "a finite number", err);
    *out = value;
    return RKB_OK;
}

static rkb_status_t take_duration(const rkb_option_t *option, const char *text, double *out,
                                  rkb_error_t *err)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
    char *end;
    double value = strtod(text, &end);
    if (end != text && isfinite(value) && value >= 0 && !strchr(" \t\n", *text)) {
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (strcmp(end, units[i].unit) == 0) {
                *out = value * units[i].seconds;
                return RKB_OK;
            }
        }
    }
    return bad_value(option, text, "a duration such as 10, 1.5s, 250ms, 5m or 2h", err);
}

static rkb_status_t take_choice(const rkb_option_t *option, const char *text, const char **out,
                                rkb_error_t *err)
{
    char *copy = rkb_xstrdup(option->arg);
    const char *words[CHOICES_MAX + 1];
    int count = 0;
    bool found = false;
    for (char *rest = copy, *word; count < CHOICES_MAX && (word = strsep(&rest, "|"));) {
        words[count++] = word;
        found = found || strcmp(word, text) == 0;
    }
    words[count] = NULL;
    rkb_status_t status = RKB_OK;
    if (found) {
        *out = text;
    } else {
        const char *near = rkb_text_nearest(text, words);
        status = rkb_error_set(err, RKB_ERR_USAGE, "--%s: \"%s\" is none of %s%s%s%s", option->name,
                               text, option->arg, near ? "; did you mean " : "", near ? near : "",
                               near ? "?" : "");
    }
    free(copy);
    return status;
}

static rkb_status_t take_value(const rkb_option_t *option, const char *text, void *target,
                               rkb_error_t *err)
{
    void *field = (char *)target + option->offset;
    switch (option->kind) {
    case RKB_OPT_FLAG:
        *(bool *)field = true;
        return RKB_OK;
    case RKB_OPT_STRING:
        *(const char **)field = text;
        return RKB_OK;
    case RKB_OPT_INT:
        return take_int(option, text, field, err);
    case RKB_OPT_UINT64:
        return take_uint64(option, text, field, err);
    case RKB_OPT_DOUBLE:
        return take_double(option, text, field, err);
    case RKB_OPT_DURATION:
        return take_duration(option, text, field, err);
    case RKB_OPT_CHOICE:
        return take_choice(option, text, field, err);
    case RKB_OPT_LIST: {
        rkb_option_list_t *list = field;
        list->items = rkb_xrealloc(list->items, list->count + 1, sizeof *list->items);
        list->items[list->count++] = text;
        return RKB_OK;
    }
    }
    return rkb_error_set(err, RKB_ERR_INTERNAL, "--%s: bad row in the options table", option->name);
}

/* Handles argv[*i], which begins with '-', and steps *i over a value of its own. */
static rkb_status_t take_option(const rkb_command_line_t *line, int argc, char **argv, int *i,
                                void *target, rkb_error_t *err)
{
    const char *argument = argv[*i];
    const rkb_option_t *option;
    const char *value = NULL;
    if (argument[1] == '-') {
        size_t len = strcspn(argument + 2, "=");
        option = find_long(line->options, argument + 2, len);
        if (argument[2 + len] == '=')
            value = argument + 3 + len;
    } else {
        option = argument[2] ? NULL : find_letter(line->options, argument[1]);
    }
    if (!option)
        return unknown_option(line, argument, err);
    if (option->kind == RKB_OPT_FLAG) {
        if (value)
            return rkb_error_set(err, RKB_ERR_USAGE, "--%s takes no value", option->name);
    } else if (!value) {
        if (*i + 1 >= argc)
            return rkb_error_set(err, RKB_ERR_USAGE, "--%s needs a value: %s", option->name,
                                 option->arg ? option->arg : "VALUE");
        value = argv[++*i];
    }
    return take_value(option, value, target, err);
}

rkb_status_t rkb_options_parse(const rkb_command_line_t *line, int argc, char **argv, void *target,
                               int *positional, rkb_parse_next_t *next, rkb_error_t *err)
{
    int count = 0;
    bool options_ended = false;
    for (int i = 1; i < argc; i++) {
        char *argument = argv[i];
        if (options_ended || argument[0] != '-' || argument[1] == '\0') {
            argv[1 + count++] = argument;
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            options_ended = true;
            continue;
        }
        bool asks_help = strcmp(argument, "--help") == 0 ||
                         (strcmp(argument, "-h") == 0 && !find_letter(line->options, 'h'));
        if (asks_help || strcmp(argument, "--version") == 0) {
            if (asks_help)
                rkb_options_help(line, stdout);
            else
                printf("%s %s\n", line->program, RKB_VERSION);
            *positional = count;
            *next = RKB_PARSE_EXIT;
            return RKB_OK;
        }
        rkb_status_t status = take_option(line, argc, argv, &i, target, err);
        if (status != RKB_OK)
            return status;
    }
    *positional = count;
    *next = RKB_PARSE_RUN;
    return RKB_OK;
}

void rkb_option_list_release(rkb_option_list_t *list)
{
    free(list->items);
    *list = (rkb_option_list_t){NULL, 0};
}
