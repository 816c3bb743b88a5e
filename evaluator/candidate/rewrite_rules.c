#include "common/file.h"
#include "evaluator/candidate/rewrite_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* First argument of the __launch_bounds__ among the tokens [first, end); NULL: there is none. */
static char *launch_bounds(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t first,
                           size_t end)
{
    while (first < end && !rkb_stream_is(rw, st, first, "__launch_bounds__"))
        first++;
    size_t open = first + 1;
    if (open >= end || !rkb_stream_is(rw, st, open, "(") || st->match[open] == RKB_NO_MATCH)
        return NULL;
    size_t last = open + 1;
    int angle = 0;
    while (last < st->match[open] && (angle || !rkb_stream_is(rw, st, last, ","))) {
        if (rkb_stream_is(rw, st, last, "<") && rkb_stream_ident(st, last - 1))
            angle++;
        if (rkb_stream_is(rw, st, last, ">") && angle)
            angle--;
        last = rkb_stream_skip(st, last);
    }
    for (size_t i = open + 1; i < last; i++) {
        if (st->tokens[i].kind == RKB_TOKEN_STRING)
            return NULL;
    }
    return last > open + 1 ? rkb_rewrite_join(rw, st, open + 1, last) : NULL;
}

/*
 * A kernel's definition is wrapped so that calling it under a launch scope runs its body once for
 * each thread; the body's copy of the parameters is each thread's own.
 */
static rkb_status_t rewrite_kernel(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i)
{
    size_t open = i + 1;
    while (open < st->count && !rkb_stream_is(rw, st, open, "{")) {
        if (rkb_stream_is(rw, st, open, ";") || rkb_stream_is(rw, st, open, "}"))
            return RKB_OK; /* a declaration */
        open = rkb_stream_skip(st, open);
    }
    if (open >= st->count)
        return RKB_OK;
    size_t close = st->match[open];
    if (close == RKB_NO_MATCH)
        return rkb_error_set(rw->err, RKB_ERR_INVALID, "line %u: the kernel's body is not closed",
                             st->tokens[open].line);
    char *bounds = launch_bounds(rw, st, i, open);
    char *initial = bounds ? rkb_strf("{static_cast<unsigned>(%s)}", bounds) : rkb_xstrdup("");
    rkb_rewrite_edit(rw, st->tokens[open].end, st->tokens[open].end,
                     rkb_strf(" static ::rkb::kernel rkb_kernel_%s; "
                              "::rkb::run(rkb_kernel_, __func__, [=]() mutable {",
                              initial));
    free(initial);
    free(bounds);
    rkb_rewrite_insert(rw, st->tokens[close].start, "}); ");
    rw->edits[rw->nedits - 1].order += SIZE_MAX / 2; /* after what ends the last statement */
    return RKB_OK;
}

/* First instruction of assembler text, past braces and declarations such as `.reg .b32 t;`. */
static void first_instruction(const char *text, char *word, size_t size)
{
    size_t used = 0;
    while (*text) {
        if (text[0] == '\\' && text[1]) {
            text += 2;
        } else if (*text == '.') {
            while (*text && *text != ';')
                text++;
        } else if (isalpha((unsigned char)*text)) {
            break;
        } else {
            text++;
        }
    }
    while ((isalnum((unsigned char)*text) || *text == '.' || *text == '_' || *text == ':') &&
           used + 1 < size)
        word[used++] = *text++;
    word[used] = '\0';
}

static bool is_blank_assembly(const char *text)
{
    for (; *text; text++) {
        if (text[0] == '\\' && (text[1] == 'n' || text[1] == 't'))
            text++;
        else if (!isspace((unsigned char)*text) && *text != ';')
            return false;
    }
    return true;
}

/* Contents of the adjacent string literals from i on. */
static char *literal_text(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i)
{
    char *all = rkb_xstrdup("");
    for (; i < st->count && st->tokens[i].kind == RKB_TOKEN_STRING; i++) {
        const char *start = rw->text + st->tokens[i].start;
        const char *end = rw->text + st->tokens[i].end;
        bool raw = false;
        while (start < end && *start != '"')
            raw |= *start++ == 'R';
        while (end > start && end[-1] != '"')
            end--;
        start += start < end;
        end -= end > start;
        if (raw) {
            while (start < end && *start++ != '(')
                ;
            while (end > start && *--end != ')')
                ;
        }
        char *longer = rkb_strf("%s%.*s", all, (int)(end - start), start);
        free(all);
        all = longer;
    }
    return all;
}

static rkb_status_t rewrite_asm(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i)
{
    static const char *const qualifiers[] = {"volatile", "__volatile__", "inline", "goto", NULL};
    size_t open = i + 1;
    while (rkb_stream_among(rw, st, open, qualifiers))
        open++;
    if (!rkb_stream_is(rw, st, open, "("))
        return RKB_OK;
    char *text = literal_text(rw, st, open + 1);
    bool literal = open + 1 < st->count && st->tokens[open + 1].kind == RKB_TOKEN_STRING;
    rkb_status_t status = RKB_OK;
    if (!literal || !is_blank_assembly(text)) {
        char word[64];
        first_instruction(text, word, sizeof word);
        status = rkb_error_set(rw->err, RKB_ERR_UNSUPPORTED,
                               "line %u: inline PTX (%s) cannot run on the CPU device",
                               st->tokens[i].line, *word ? word : "assembler text from a macro");
    }
    free(text);
    return status;
}

/* libstdc++ spells an attribute like this keyword, so it cannot be a macro. */
static rkb_status_t rewrite_noinline(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i)
{
    size_t outer = st->outer[i];
    if (outer != RKB_NO_MATCH && outer >= 2 && rkb_stream_is(rw, st, outer - 1, "(") &&
        rkb_stream_is(rw, st, outer - 2, "__attribute__"))
        return RKB_OK;
    rkb_rewrite_replace(rw, st, st->tokens[i].start, st->tokens[i].end, "",
                        "__attribute__((__noinline__))");
    return RKB_OK;
}

/* Is [i, …) `[const] void [const] *` followed by `close`? The index of `close`, else RKB_NO_MATCH.
 */
static size_t void_pointer(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i,
                           const char *close)
{
    if (rkb_stream_is(rw, st, i, "const"))
        i++;
    if (!rkb_stream_is(rw, st, i, "void"))
        return RKB_NO_MATCH;
    i++;
    if (rkb_stream_is(rw, st, i, "const"))
        i++;
    if (!rkb_stream_is(rw, st, i, "*") || !rkb_stream_is(rw, st, i + 1, close))
        return RKB_NO_MATCH;
    return i + 1;
}

/*
 * Runtime calls that take a kernel are templates here and need its type: `(void *)kernel` and
 * `reinterpret_cast<const void *>(kernel)` as an argument lose their cast.
 */
static rkb_status_t rewrite_kernel_argument(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i)
{
    size_t open = i + 1;
    if (rkb_stream_is(rw, st, open, "<")) {
        while (open < st->count && !rkb_stream_is(rw, st, open, "(") &&
               !rkb_stream_is(rw, st, open, ";"))
            open++;
    }
    if (!rkb_stream_is(rw, st, open, "(") || st->match[open] == RKB_NO_MATCH)
        return RKB_OK;
    static const char *const casts[] = {"reinterpret_cast", "static_cast", NULL};
    for (size_t k = open + 1; k < st->match[open]; k++) {
        size_t end = RKB_NO_MATCH;
        if (rkb_stream_is(rw, st, k, "("))
            end = void_pointer(rw, st, k + 1, ")");
        else if (rkb_stream_among(rw, st, k, casts) && rkb_stream_is(rw, st, k + 1, "<"))
            end = void_pointer(rw, st, k + 2, ">");
        if (end != RKB_NO_MATCH) {
            rkb_rewrite_replace(rw, st, st->tokens[k].start, st->tokens[end].end, "", "");
            break; /* one kernel an argument list */
        }
    }
    return RKB_OK;
}

/*
 * Headers of CUDA and torch are looked for in our folders only, whatever the host has installed:
 * `cublas_v2.h` becomes `cuda/cublas_v2.h`, and diagnose.c knows what it means that it is missing.
 */
static rkb_status_t rewrite_include(rkb_rewrite_t *rw, const rkb_token_t *token)
{
    static const char *const torch[] = {"torch/", "ATen/", "c10/", "caffe2/", "pybind11/", NULL};
    static const char *const cuda[] = {"cu",
                                       "cooperative_groups",
                                       "nv",
                                       "npp",
                                       "nccl",
                                       "thrust/",
                                       "mma.h",
                                       "crt/",
                                       "vector_ty",
                                       "vector_f",
                                       "driver_",
                                       "device_",
                                       "host_def",
                                       "math_constants",
                                       "math_func",
                                       "sm_",
                                       "texture_",
                                       "surface_",
                                       "builtin_types",
                                       "channel_descriptor",
                                       "library_types",
                                       "common_functions",
                                       NULL};
    const char *path = rw->text + token->start;
    size_t size = token->end - token->start;
    for (size_t i = 0; torch[i]; i++) {
        if (size >= strlen(torch[i]) && memcmp(path, torch[i], strlen(torch[i])) == 0)
            rkb_rewrite_insert(rw, token->start, "torch/");
    }
    for (size_t i = 0; cuda[i]; i++) {
        if (size >= strlen(cuda[i]) && memcmp(path, cuda[i], strlen(cuda[i])) == 0)
            rkb_rewrite_insert(rw, token->start, "cuda/");
    }
    return RKB_OK;
}

typedef struct {
    const char *spelling;
    rkb_status_t (*apply)(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i);
} rule_t;

static const rule_t rules[] = {
    {"__global__", rewrite_kernel},
    {"__shared__", rkb_rewrite_shared},
    {"asm", rewrite_asm},
    {"__asm", rewrite_asm},
    {"__asm__", rewrite_asm},
    {"__noinline__", rewrite_noinline},
    {"cudaLaunchKernel", rewrite_kernel_argument},
    {"cudaLaunchCooperativeKernel", rewrite_kernel_argument},
    {"cudaFuncSetAttribute", rewrite_kernel_argument},
    {"cudaFuncGetAttributes", rewrite_kernel_argument},
    {"cudaFuncSetCacheConfig", rewrite_kernel_argument},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", rewrite_kernel_argument},
    {"cudaOccupancyMaxPotentialBlockSize", rewrite_kernel_argument},
};

rkb_status_t rkb_rewrite_token(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i)
{
    const rkb_token_t *token = &st->tokens[i];
    if (token->kind == RKB_TOKEN_PUNCT)
        return rkb_stream_is(rw, st, i, "<<<") ? rkb_rewrite_launch(rw, st, i) : RKB_OK;
    if (token->kind == RKB_TOKEN_INCLUDE)
        return rewrite_include(rw, token);
    if (token->kind != RKB_TOKEN_IDENT)
        return RKB_OK;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        if (rkb_token_is(rw->text, token, rules[r].spelling))
            return rules[r].apply(rw, st, i);
    }
    if (!st->macro || i > 0) {
        for (size_t a = 0; a < rw->naliases; a++) {
            size_t size = rw->aliases[a].end - rw->aliases[a].start;
            if (size == token->end - token->start &&
                memcmp(rw->text + rw->aliases[a].start, rw->text + token->start, size) == 0)
                return rewrite_kernel(rw, st, i);
        }
    }
    return RKB_OK;
}
