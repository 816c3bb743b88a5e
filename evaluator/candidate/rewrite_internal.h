/**
 * @file rewrite_internal.h
 * Between the parts of the rewriter: streams of tokens and the list of edits. A stream is either
 * the program without its directives, or the replacement list of one macro.
 */
#ifndef RKB_CANDIDATE_REWRITE_INTERNAL_H
#define RKB_CANDIDATE_REWRITE_INTERNAL_H

#include "evaluator/candidate/lexer.h"

#include <stdint.h>

#define RKB_NO_MATCH SIZE_MAX

typedef struct {
    size_t start, end; /* text to be replaced; start == end: an insertion */
    size_t order;      /* of edits at one place */
    char *text;        /* malloc'ed */
} rkb_edit_t;

typedef struct {
    const char *text;
    rkb_edit_t *edits;
    size_t nedits, edit_capacity;
    rkb_token_t *aliases; /* names of macros that mean __global__ */
    size_t naliases;
    rkb_error_t *err;
} rkb_rewrite_t;

typedef struct {
    const rkb_token_t *tokens;
    size_t count;
    size_t *match; /* partner of a bracket, or RKB_NO_MATCH */
    size_t *outer; /* innermost bracket that is open before the token, or RKB_NO_MATCH */
    bool macro;
} rkb_stream_t;

/** Dispatches on one token; part of the table in rewrite_rules.c. */
rkb_status_t rkb_rewrite_token(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i);

/** rewrite_shared.c: at a `__shared__` token. */
rkb_status_t rkb_rewrite_shared(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i);
/** rewrite_launch.c: at a `<<<` token. */
rkb_status_t rkb_rewrite_launch(rkb_rewrite_t *rw, rkb_stream_t *st, size_t i);

/** Takes ownership of text. */
void rkb_rewrite_edit(rkb_rewrite_t *rw, size_t start, size_t end, char *text);
void rkb_rewrite_insert(rkb_rewrite_t *rw, size_t at, const char *text);
/**
 * Replaces [start, end) and keeps the newlines of what was there, but for those that `text` and
 * `moved` (a part of it that an earlier edit has put elsewhere) hold themselves.
 */
void rkb_rewrite_replace(rkb_rewrite_t *rw, const rkb_stream_t *st, size_t start, size_t end,
                         const char *moved, const char *text);
/** Tokens [first, end) on one line, without comments; free() it. */
char *rkb_rewrite_join(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t first, size_t end);

bool rkb_stream_is(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i, const char *spelling);
bool rkb_stream_ident(const rkb_stream_t *st, size_t i);
bool rkb_stream_among(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i,
                      const char *const *spellings);
/** The token after i, or after the bracket group that i opens. */
size_t rkb_stream_skip(const rkb_stream_t *st, size_t i);
/** The "<" that a template argument list ending at `close` begins with, or RKB_NO_MATCH. */
size_t rkb_stream_angle_open(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t close);

#endif
