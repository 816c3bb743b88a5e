#include "common/file.h"
#include "evaluator/candidate/rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * Blocks run one after another, so block-shared memory is static storage. Each declared variable is
 * entered once a block (RKB_SHARED_ENTER fills it with poison), and `extern __shared__ T name[];`
 * becomes a constant pointer to the runtime's dynamic shared memory.
 */

static const char *const group_words[] = {"__align__",  "alignas",           "__attribute__",
                                          "__declspec", "__builtin_align__", NULL};

/* Is i the name of a specifier with an argument list, as `alignas(16)`? */
static bool is_group(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i)
{
    return rkb_stream_ident(st, i) && rkb_stream_among(rw, st, i, group_words) &&
           rkb_stream_is(rw, st, i + 1, "(") && st->match[i + 1] != RKB_NO_MATCH;
}

/* First token of the declaration that holds the specifier at i. */
static size_t declaration_start(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i)
{
    static const char *const statements[] = {"else", "do", "return", "case", NULL};
    size_t p = i;
    while (p > 0) {
        size_t before = p - 1;
        if (st->macro && before == 0) /* the macro's own name */
            break;
        if (rkb_stream_is(rw, st, before, ")") && st->match[before] != RKB_NO_MATCH &&
            st->match[before] > 0 && is_group(rw, st, st->match[before] - 1)) {
            p = st->match[before] - 1;
        } else if (rkb_stream_is(rw, st, before, ">")) {
            size_t open = rkb_stream_angle_open(rw, st, before);
            if (open == RKB_NO_MATCH || open == 0 || !rkb_stream_ident(st, open - 1))
                break;
            if (rkb_stream_is(rw, st, open - 1, "template"))
                break;
            p = open - 1;
        } else if (rkb_stream_is(rw, st, before, "::") ||
                   (rkb_stream_ident(st, before) &&
                    !rkb_stream_among(rw, st, before, statements))) {
            p = before;
        } else {
            break;
        }
    }
    return p;
}

/* The parameter list of a function-like macro is no part of what it expands to. */
static size_t macro_body(const rkb_rewrite_t *rw, const rkb_stream_t *st)
{
    if (!st->macro)
        return 0;
    if (rkb_stream_is(rw, st, 1, "(") && st->tokens[1].start == st->tokens[0].end)
        return rkb_stream_skip(st, 1);
    return 1;
}

/* Does the innermost brace around i belong to a namespace (or is there none)? */
static bool at_namespace_scope(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i)
{
    size_t open = st->outer[i];
    if (open == RKB_NO_MATCH)
        return !st->macro;
    if (open == 0)
        return false;
    if (rkb_stream_is(rw, st, open - 1, "namespace"))
        return true;
    if (st->tokens[open - 1].kind == RKB_TOKEN_STRING)
        return open >= 2 && rkb_stream_is(rw, st, open - 2, "extern");
    while (open > 1 && rkb_stream_ident(st, open - 1)) {
        open--;
        if (rkb_stream_is(rw, st, open - 1, "namespace"))
            return true;
        if (rkb_stream_is(rw, st, open - 1, "::"))
            open--;
    }
    return false;
}

/* Name declared by the tokens [first, end) of one declarator, or RKB_NO_MATCH. */
static size_t declared_name(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t first,
                            size_t end)
{
    size_t name = RKB_NO_MATCH;
    for (size_t i = first; i < end; i = rkb_stream_skip(st, i)) {
        if (is_group(rw, st, i)) {
            i++;
        } else if (rkb_stream_is(rw, st, i, "[") || rkb_stream_is(rw, st, i, "=")) {
            break;
        } else if (rkb_stream_is(rw, st, i, "(")) {
            return RKB_NO_MATCH; /* `T (*p)[n]`: not worth the parsing */
        } else if (rkb_stream_ident(st, i)) {
            name = i;
        }
    }
    return name;
}

/* The text after `extern __shared__ …`: TYPE, NAME, and the dimensions after the first. */
static rkb_status_t rewrite_dynamic(rkb_rewrite_t *rw, rkb_stream_t *st, size_t first, size_t end)
{
    static const char *const dropped[] = {"extern",     "static",     "inline",
                                          "__shared__", "__device__", NULL};
    size_t name = declared_name(rw, st, first, end);
    for (size_t i = first; i < end; i++) {
        if (st->tokens[i].kind == RKB_TOKEN_STRING)
            name = RKB_NO_MATCH;
    }
    if (name == RKB_NO_MATCH)
        return rkb_error_set(rw->err, RKB_ERR_UNSUPPORTED,
                             "line %u: this form of extern __shared__ declaration",
                             st->tokens[first].line);
    char *type = rkb_xstrdup("");
    for (size_t i = first; i < name;) {
        if (rkb_stream_among(rw, st, i, dropped) && rkb_stream_ident(st, i)) {
            i++;
        } else if (is_group(rw, st, i)) {
            i = rkb_stream_skip(st, i + 1);
        } else {
            char *word = rkb_rewrite_join(rw, st, i, i + 1);
            char *longer = rkb_strf("%s%s ", type, word);
            free(word);
            free(type);
            type = longer;
            i++;
        }
    }
    size_t rest = name + 1;
    bool array = rkb_stream_is(rw, st, rest, "[");
    if (array)
        rest = rkb_stream_skip(st, rest);
    size_t rest_end = rest;
    while (rest_end < end && rkb_stream_is(rw, st, rest_end, "["))
        rest_end = rkb_stream_skip(st, rest_end);
    char *dims = rkb_rewrite_join(rw, st, rest, rest_end);
    char *word = rkb_rewrite_join(rw, st, name, name + 1);
    char *text;
    if (!array)
        text = rkb_strf("static %s&%s = *(%s*)::rkb_rt_dynamic_shared", type, word, type);
    else if (*dims)
        text = rkb_strf("static %s(*const %s)%s = (%s(*)%s)::rkb_rt_dynamic_shared", type, word,
                        dims, type, dims);
    else
        text = rkb_strf("static %s*const %s = (%s*)::rkb_rt_dynamic_shared", type, word, type);
    size_t until = end < st->count ? st->tokens[end].start : st->tokens[end - 1].end;
    rkb_rewrite_replace(rw, st, st->tokens[first].start, until, "", text);
    free(text);
    free(word);
    free(dims);
    free(type);
    return RKB_OK;
}

/* Moves `alignas` to the front, makes the rest static and enters each variable after the ';'. */
static rkb_status_t rewrite_static(rkb_rewrite_t *rw, rkb_stream_t *st, size_t first, size_t end)
{
    char *align = rkb_xstrdup("");
    for (size_t i = first; i < end; i = rkb_stream_skip(st, i)) {
        if (rkb_stream_is(rw, st, i, "alignas") && is_group(rw, st, i)) {
            char *group = rkb_rewrite_join(rw, st, i, st->match[i + 1] + 1);
            char *longer = rkb_strf("%s%s ", align, group);
            free(group);
            free(align);
            align = longer;
        }
    }
    rkb_rewrite_edit(rw, st->tokens[first].start, st->tokens[first].start,
                     rkb_strf("%sstatic ", align));
    free(align);
    for (size_t i = first; i < end; i = rkb_stream_skip(st, i)) {
        const rkb_token_t *token = &st->tokens[i];
        if (rkb_stream_is(rw, st, i, "static") || rkb_stream_is(rw, st, i, "__shared__")) {
            rkb_rewrite_replace(rw, st, token->start, token->end, "", "");
        } else if (rkb_stream_is(rw, st, i, "alignas") && is_group(rw, st, i)) {
            char *group = rkb_rewrite_join(rw, st, i, st->match[i + 1] + 1);
            rkb_rewrite_replace(rw, st, token->start, st->tokens[st->match[i + 1]].end, group, "");
            free(group);
            i++;
        }
    }
    if (end >= st->count || at_namespace_scope(rw, st, first))
        return RKB_OK;
    int angle = 0;
    size_t from = first;
    for (size_t i = first; i <= end; i = rkb_stream_skip(st, i)) {
        if (rkb_stream_is(rw, st, i, "<") && i > 0 && rkb_stream_ident(st, i - 1))
            angle++;
        if (rkb_stream_is(rw, st, i, ">") && angle)
            angle--;
        if (i != end && (angle || !rkb_stream_is(rw, st, i, ",")))
            continue;
        size_t name = declared_name(rw, st, from, i);
        if (name != RKB_NO_MATCH) {
            char *word = rkb_rewrite_join(rw, st, name, name + 1);
            rkb_rewrite_edit(rw, st->tokens[end].end, st->tokens[end].end,
                             rkb_strf(" RKB_SHARED_ENTER(%s)", word));
            free(word);
        }
        from = i + 1;
    }
    return RKB_OK;
}

rkb_status_t rkb_rewrite_shared(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i)
{
    size_t first = declaration_start(rw, st, i);
    size_t body = macro_body(rw, st);
    if (first < body)
        first = body;
    if (i < body)
        return RKB_OK;
    size_t end = i;
    while (end < st->count && !rkb_stream_is(rw, st, end, ";")) {
        if (rkb_stream_is(rw, st, end, "}"))
            return rkb_error_set(rw->err, RKB_ERR_INVALID,
                                 "line %u: the __shared__ declaration does not end",
                                 st->tokens[i].line);
        end = rkb_stream_skip(st, end);
    }
    for (size_t k = first; k < end; k = rkb_stream_skip(st, k)) {
        if (rkb_stream_is(rw, st, k, "extern"))
            return rewrite_dynamic(rw, st, first, end);
    }
    return rewrite_static(rw, st, first, end);
}
