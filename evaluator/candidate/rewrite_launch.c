#include "common/file.h"
#include "evaluator/candidate/rewrite_internal.h"

#include <stdlib.h>

/*
 * `callee<<<config>>>(arguments)` becomes `(::rkb::launch_scope(config), callee(arguments))`: the
 * scope announces the configuration, and the kernel's body, which rewrite_rules.c has wrapped, runs
 * once for each thread. So arguments are evaluated once and converted by the rules of the language,
 * whatever the callee is: a template with deduced arguments, an overload, a function pointer.
 */

static bool is_keyword(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i)
{
    static const char *const words[] = {"return", "else", "do",       "case",  "goto",
                                        "throw",  "if",   "co_yield", "while", NULL};
    return rkb_stream_among(rw, st, i, words);
}

/* First token of the postfix expression that ends with the name or bracket at `last`. */
static size_t callee_start(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t last)
{
    size_t p = last;
    if (rkb_stream_is(rw, st, p, ">")) {
        p = rkb_stream_angle_open(rw, st, p);
        if (p == RKB_NO_MATCH || p == 0)
            return RKB_NO_MATCH;
        p--;
    } else if (rkb_stream_is(rw, st, p, ")") || rkb_stream_is(rw, st, p, "]")) {
        bool call = rkb_stream_is(rw, st, p, ")");
        p = st->match[p];
        if (p == RKB_NO_MATCH)
            return RKB_NO_MATCH;
        if (p == 0 || !rkb_stream_ident(st, p - 1) || is_keyword(rw, st, p - 1))
            return call ? p : RKB_NO_MATCH;
        p--;
    }
    bool parenthesised = rkb_stream_is(rw, st, p, ")");
    if (!parenthesised && (!rkb_stream_ident(st, p) || is_keyword(rw, st, p)))
        return RKB_NO_MATCH;
    while (p > 0) {
        if (rkb_stream_is(rw, st, p - 1, "template")) {
            p--;
            continue;
        }
        bool scope = rkb_stream_is(rw, st, p - 1, "::");
        bool member = rkb_stream_is(rw, st, p - 1, ".") || rkb_stream_is(rw, st, p - 1, "->");
        bool paste = rkb_stream_is(rw, st, p - 1, "##");
        if (!scope && !member && !paste)
            break;
        if (p >= 2 && rkb_stream_ident(st, p - 2) && !is_keyword(rw, st, p - 2)) {
            p -= 2;
        } else if (scope && p >= 2 && rkb_stream_is(rw, st, p - 2, ">")) {
            size_t open = rkb_stream_angle_open(rw, st, p - 2);
            if (open == RKB_NO_MATCH || open == 0)
                return RKB_NO_MATCH;
            p = open - 1;
        } else if (scope) {
            p--; /* ::kernel */
            break;
        } else {
            return RKB_NO_MATCH;
        }
    }
    return p;
}

/* Index of the first of the three ">" that end a configuration, or RKB_NO_MATCH. */
static size_t config_end(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t first)
{
    for (size_t i = first; i < st->count; i = rkb_stream_skip(st, i)) {
        if (rkb_stream_is(rw, st, i, ";") || rkb_stream_is(rw, st, i, "}") ||
            rkb_stream_is(rw, st, i, ")"))
            break;
        size_t run = 0;
        while (rkb_stream_is(rw, st, i + run, ">") &&
               (run == 0 || st->tokens[i + run].start == st->tokens[i + run - 1].end))
            run++;
        if (run >= 3)
            return i + run - 3;
        if (run)
            i += run - 1;
    }
    return RKB_NO_MATCH;
}

rkb_status_t rkb_rewrite_launch(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i)
{
    unsigned line = st->tokens[i].line;
    size_t end = config_end(rw, st, i + 1);
    if (end == RKB_NO_MATCH)
        return rkb_error_set(rw->err, RKB_ERR_INVALID,
                             "line %u: the launch configuration <<< is not closed by >>>", line);
    if (end == i + 1)
        return rkb_error_set(rw->err, RKB_ERR_INVALID,
                             "line %u: the launch configuration <<<>>> is empty", line);
    size_t callee = i ? callee_start(rw, st, i - 1) : RKB_NO_MATCH;
    if (callee == RKB_NO_MATCH)
        return rkb_error_set(rw->err, RKB_ERR_INVALID, "line %u: no kernel before <<<", line);

    size_t arguments = end + 3;
    bool have_arguments =
        rkb_stream_is(rw, st, arguments, "(") && st->match[arguments] != RKB_NO_MATCH;
    if (!have_arguments && !st->macro)
        return rkb_error_set(rw->err, RKB_ERR_INVALID,
                             "line %u: the launch has no argument list after >>>", line);

    char *config = rkb_rewrite_join(rw, st, i + 1, end);
    char *head;
    if (have_arguments)
        head = rkb_strf("(::rkb::launch_scope(%s), ", config);
    else /* a macro whose user adds the arguments: something that can be called */
        head = rkb_strf("[&](auto &&...rkb_a) { (::rkb::launch_scope(%s), ", config);
    rkb_rewrite_edit(rw, st->tokens[callee].start, st->tokens[callee].start, head);
    rkb_rewrite_replace(rw, st, st->tokens[i].start, st->tokens[end + 2].end, config,
                        have_arguments ? "" : "(static_cast<decltype(rkb_a)>(rkb_a)...)); }");
    free(config);
    if (have_arguments)
        rkb_rewrite_insert(rw, st->tokens[st->match[arguments]].end, ")");
    return RKB_OK;
}
