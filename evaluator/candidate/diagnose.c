#include "evaluator/candidate/diagnose.h"

#include "common/file.h"
#include "common/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "name:LINE" at the start of a line of output (or after "In file included from "): LINE, else 0.
 */
static unsigned candidate_line(const char *line, const char *name)
{
    static const char *const leads[] = {"In file included from ", "                 from ", ""};
    for (int i = 0; i < 3; i++) {
        size_t lead = strlen(leads[i]);
        if (!starts(line, leads[i]) || !starts(line + lead, name))
            continue;
        const char *rest = line + lead + strlen(name);
        if (*rest == ':' && isdigit((unsigned char)rest[1]))
            return (unsigned)strtoul(rest + 1, NULL, 10);
    }
    return 0;
}

/* The place that an error in a header is reported at: "torch/extension.h:12". */
static void header_place(const char *line, char *place, size_t size)
{
    const char *end = strchr(line, ':');
    const char *start = line;
    for (const char *p = line; end && p < end; p++) {
        if (*p == '/')
            start = p + 1;
    }
    if (end && isdigit((unsigned char)end[1])) {
        end++;
        while (isdigit((unsigned char)*end))
            end++;
        snprintf(place, size, " (in %.*s)", (int)(end - start), start);
    } else {
        place[0] = '\0';
    }
}

/* The rewriter sends headers of CUDA and torch to folders of ours: what is not there is lacking. */
static bool missing_header(const char *message, rkb_diagnosis_t *out)
{
    static const char *const folders[] = {"cuda/", "torch/"};
    const char *tail = strstr(message, ": No such file or directory");
    bool clang = !tail && message[0] == '\'' && strstr(message, "' file not found");
    if (!tail && !clang)
        return false;
    const char *header = clang ? message + 1 : message;
    size_t size = clang ? strcspn(header, "'") : (size_t)(tail - header);
    for (int i = 0; i < 2; i++) {
        size_t folder = strlen(folders[i]);
        if (!starts(header, folders[i]) || size <= folder)
            continue;
        out->unsupported = true;
        snprintf(out->text, sizeof out->text, "the CPU device does not have <%.*s>",
                 (int)(size - folder), header + folder);
        return true;
    }
    return false;
}

/* One line of output as the candidate's first error? */
static bool diagnose_line(const char *line, const char *name, unsigned last_line,
                          rkb_diagnosis_t *out)
{
    static const char *const marks[] = {
        ": fatal error: ", ": error: ", ": internal compiler error: ", NULL};
    const char *message = NULL;
    for (const char *const *mark = marks; *mark && !message; mark++) {
        message = strstr(line, *mark);
        message = message ? message + strlen(*mark) : NULL;
    }
    if (!message)
        return false;
    out->failed = true;
    if (missing_header(message, out))
        return true;
    const char *lacking = strstr(message, "rkb-unsupported: ");
    if (lacking) {
        out->unsupported = true;
        message = lacking + strlen("rkb-unsupported: ");
    }
    unsigned own = candidate_line(line, name);
    char place[96] = "";
    if (!own)
        header_place(line, place, sizeof place);
    if (own || last_line)
        snprintf(out->text, sizeof out->text, "line %u: %.380s%s", own ? own : last_line, message,
                 place);
    else
        snprintf(out->text, sizeof out->text, "%.380s%s", message, place);
    return true;
}

/* "…undefined reference to `symbol'": the symbol, unless it is the runtime's. */
static bool undefined_symbol(const char *line, char *symbol, size_t size)
{
    const char *found = strstr(line, "undefined reference"); /* or "more undefined references" */
    found = found ? strstr(found, " to `") : NULL;
    if (!found)
        return false;
    found += strlen(" to `");
    const char *end = strrchr(found, '\'');
    snprintf(symbol, size, "%.*s", (int)(end ? end - found : (long)strlen(found)), found);
    return true;
}

/* What the cell provides at load: the runtime, and the sanitizers' where it is built with them. */
static const char *const cell_symbols[] = {"rkb_rt_", "__asan_", "__ubsan_", "__sanitizer_", NULL};

static bool is_cell_symbol(const char *symbol)
{
    for (const char *const *prefix = cell_symbols; *prefix; prefix++) {
        if (starts(symbol, *prefix))
            return true;
    }
    return false;
}

rkb_diagnosis_t rkb_diagnose(const char *log, const char *name)
{
    rkb_diagnosis_t out = {.failed = false};
    unsigned last_line = 0;
    char line[2048];
    while (*log && !out.failed) {
        size_t size = strcspn(log, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(size < sizeof line ? size : sizeof line - 1),
                 log);
        log += size + (log[size] == '\n');
        char symbol[256];
        if (strstr(line, "out of memory allocating") || strstr(line, "virtual memory exhausted") ||
            strstr(line, "Cannot allocate memory")) {
            out.failed = true;
            snprintf(out.text, sizeof out.text, "the compiler ran out of its memory limit");
        } else if (undefined_symbol(line, symbol, sizeof symbol)) {
            if (!is_cell_symbol(symbol)) {
                out.failed = true;
                snprintf(out.text, sizeof out.text, "undefined symbol %s", symbol);
            }
        } else if (!diagnose_line(line, name, last_line, &out)) {
            unsigned here = candidate_line(line, name);
            last_line = here ? here : last_line;
        }
    }
    rkb_text_sanitize(out.text);
    return out;
}

char *rkb_clean_log(const char *log, const char *const *prefixes, size_t limit)
{
    char *out = rkb_xcalloc(1, strlen(log) + 1);
    size_t used = 0;
    while (*log) {
        size_t size = strcspn(log, "\n");
        size += log[size] == '\n';
        char *line = rkb_strf("%.*s", (int)size, log);
        log += size;
        /* "in function `f':" only introduces references, which are dropped below. */
        char symbol[256];
        bool ours = (undefined_symbol(line, symbol, sizeof symbol) && is_cell_symbol(symbol)) ||
                    (strstr(line, ": in function `") && !strstr(line, "error"));
        for (const char *p = line; *p && !ours;) {
            size_t cut = 0;
            for (const char *const *prefix = prefixes; *prefix; prefix++) {
                size_t length = strlen(*prefix);
                if (length > cut && strncmp(p, *prefix, length) == 0)
                    cut = length;
            }
            if (cut)
                p += cut;
            else
                out[used++] = *p++;
        }
        free(line);
    }
    used = used < limit ? used : limit;
    out[used] = '\0';
    rkb_text_sanitize(out);
    return out;
}
