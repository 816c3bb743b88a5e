/**
 * @file lexer.h
 * C++ text as tokens: as much of the language as the rewriter needs. Comments and white space are
 * skipped, literals of every kind are one token, preprocessor lines are marked. Pure.
 */
#ifndef RKB_CANDIDATE_LEXER_H
#define RKB_CANDIDATE_LEXER_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    RKB_TOKEN_IDENT,
    RKB_TOKEN_NUMBER,
    RKB_TOKEN_STRING, /* with prefix and, when raw, delimiters */
    RKB_TOKEN_CHAR,
    RKB_TOKEN_PUNCT,   /* one character, or one of "::", "->", "<<", "<<<", "<=", ">=", "##" */
    RKB_TOKEN_INCLUDE, /* the path of an #include, without its quotes */
    RKB_TOKEN_IF,      /* #if, #ifdef, #ifndef: where alternatives of the text begin, … */
    RKB_TOKEN_ELSE,    /* … part, … */
    RKB_TOKEN_ENDIF    /* … and meet again */
} rkb_token_kind_t;

typedef struct {
    rkb_token_kind_t kind;
    size_t start, end; /* bytes [start, end) of the text */
    unsigned line;     /* 1-based */
    unsigned macro;    /* 0: program text; else number of the #define whose replacement it is in */
} rkb_token_t;

typedef struct {
    rkb_token_t *items;
    size_t count;
} rkb_tokens_t;

/**
 * Tokens in order of the text; the replacement lists of macros stand where their #define does.
 * Regions under `#if 0` give no tokens. RKB_ERR_INVALID with the line for an unterminated comment,
 * string or character, and for #include of a path that is absolute, leads upwards or is computed
 * (a candidate may not read files of the host into compiler messages).
 */
rkb_status_t rkb_tokens_create(const char *text, size_t len, rkb_tokens_t *out, rkb_error_t *err);
void rkb_tokens_release(rkb_tokens_t *tokens);

bool rkb_token_is(const char *text, const rkb_token_t *token, const char *spelling);

#endif
