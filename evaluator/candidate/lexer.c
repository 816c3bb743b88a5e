#include "evaluator/candidate/lexer.h"

#include "common/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *text;
    size_t len, pos;
    unsigned line;
    unsigned macro;  /* of the directive being read, 0 outside */
    unsigned macros; /* #define seen so far */
    rkb_tokens_t *out;
    size_t capacity;
    rkb_error_t *err;
} lexer_t;

static char at(const lexer_t *lx, size_t offset)
{
    return lx->pos + offset < lx->len ? lx->text[lx->pos + offset] : '\0';
}

/* Length of a line splice (backslash, newline) at the position, or 0. */
static size_t splice_length(const lexer_t *lx, size_t pos)
{
    if (pos + 1 < lx->len && lx->text[pos] == '\\') {
        if (lx->text[pos + 1] == '\n')
            return 2;
        if (pos + 2 < lx->len && lx->text[pos + 1] == '\r' && lx->text[pos + 2] == '\n')
            return 3;
    }
    return 0;
}

static void advance(lexer_t *lx, size_t count)
{
    for (; count && lx->pos < lx->len; count--)
        lx->line += lx->text[lx->pos++] == '\n';
}

static void push(lexer_t *lx, rkb_token_kind_t kind, size_t start, size_t end, unsigned line)
{
    rkb_tokens_t *out = lx->out;
    if (out->count == lx->capacity) {
        lx->capacity = lx->capacity ? lx->capacity * 2 : 256;
        out->items = rkb_xrealloc(out->items, lx->capacity, sizeof out->items[0]);
    }
    out->items[out->count++] = (rkb_token_t){kind, start, end, line, lx->macro};
}

static bool is_ident_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_ident(char c)
{
    return is_ident_start(c) || isdigit((unsigned char)c);
}

/* Skips one comment, splice or blank other than a newline. False: there is none; *ok tells of
 * errors. */
static bool skip_blank(lexer_t *lx, bool *ok)
{
    size_t splice = splice_length(lx, lx->pos);
    char c = at(lx, 0);
    if (splice) {
        advance(lx, splice);
        return true;
    }
    if (c == '/' && at(lx, 1) == '/') {
        while (lx->pos < lx->len && at(lx, 0) != '\n') {
            splice = splice_length(lx, lx->pos);
            advance(lx, splice ? splice : 1);
        }
        return true;
    }
    if (c == '/' && at(lx, 1) == '*') {
        unsigned line = lx->line;
        advance(lx, 2);
        while (lx->pos < lx->len && !(at(lx, 0) == '*' && at(lx, 1) == '/'))
            advance(lx, 1);
        if (lx->pos >= lx->len) {
            rkb_error_set(lx->err, RKB_ERR_INVALID, "line %u: the comment is not closed", line);
            *ok = false;
            return false;
        }
        advance(lx, 2);
        return true;
    }
    if (lx->pos < lx->len && c != '\n' && (isspace((unsigned char)c) || c == '\0')) {
        advance(lx, 1);
        return true;
    }
    return false;
}

static bool lex_quoted(lexer_t *lx, size_t start, unsigned line)
{
    char quote = at(lx, 0);
    advance(lx, 1);
    for (;;) {
        if (lx->pos >= lx->len || at(lx, 0) == '\n') {
            rkb_error_set(lx->err, RKB_ERR_INVALID, "line %u: missing closing %c", line, quote);
            return false;
        }
        size_t splice = splice_length(lx, lx->pos);
        if (splice) {
            advance(lx, splice);
        } else if (at(lx, 0) == '\\') {
            advance(lx, 2);
        } else if (at(lx, 0) == quote) {
            advance(lx, 1);
            break;
        } else {
            advance(lx, 1);
        }
    }
    while (is_ident(at(lx, 0))) /* user-defined suffix */
        advance(lx, 1);
    push(lx, quote == '"' ? RKB_TOKEN_STRING : RKB_TOKEN_CHAR, start, lx->pos, line);
    return true;
}

/* At the quote of a raw string. */
static bool lex_raw_string(lexer_t *lx, size_t start, unsigned line)
{
    size_t open = lx->pos + 1;
    size_t paren = open;
    while (paren < lx->len && paren - open <= 16 && lx->text[paren] != '(')
        paren++;
    if (paren >= lx->len || lx->text[paren] != '(') {
        rkb_error_set(lx->err, RKB_ERR_INVALID, "line %u: malformed raw string", line);
        return false;
    }
    size_t delimiter = paren - open;
    for (size_t i = paren + 1; i + delimiter + 1 < lx->len; i++) {
        if (lx->text[i] == ')' && memcmp(lx->text + i + 1, lx->text + open, delimiter) == 0 &&
            lx->text[i + 1 + delimiter] == '"') {
            advance(lx, i + 2 + delimiter - lx->pos);
            while (is_ident(at(lx, 0)))
                advance(lx, 1);
            push(lx, RKB_TOKEN_STRING, start, lx->pos, line);
            return true;
        }
    }
    rkb_error_set(lx->err, RKB_ERR_INVALID, "line %u: the raw string is not closed", line);
    return false;
}

static bool lex_word(lexer_t *lx)
{
    size_t start = lx->pos;
    unsigned line = lx->line;
    while (is_ident(at(lx, 0)))
        advance(lx, 1);
    size_t size = lx->pos - start;
    const char *word = lx->text + start;
    char next = at(lx, 0);
    if ((next == '"' || next == '\'') && size <= 3) {
        static const char *const prefixes[] = {"L",  "u",  "U",  "u8",  "R",
                                               "LR", "uR", "UR", "u8R", NULL};
        for (int i = 0; prefixes[i]; i++) {
            if (strlen(prefixes[i]) != size || memcmp(prefixes[i], word, size) != 0)
                continue;
            if (word[size - 1] != 'R')
                return lex_quoted(lx, start, line);
            if (next == '"')
                return lex_raw_string(lx, start, line);
        }
    }
    push(lx, RKB_TOKEN_IDENT, start, lx->pos, line);
    return true;
}

static void lex_number(lexer_t *lx)
{
    size_t start = lx->pos;
    unsigned line = lx->line;
    while (is_ident(at(lx, 0)) || at(lx, 0) == '.' ||
           (at(lx, 0) == '\'' && isalnum((unsigned char)at(lx, 1)))) {
        char c = at(lx, 0);
        char sign = at(lx, 1);
        bool hex =
            lx->pos > start + 1 && (lx->text[start + 1] == 'x' || lx->text[start + 1] == 'X');
        bool exponent = hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
        advance(lx, exponent && (sign == '+' || sign == '-') ? 2 : 1);
    }
    push(lx, RKB_TOKEN_NUMBER, start, lx->pos, line);
}

static void lex_punct(lexer_t *lx)
{
    size_t start = lx->pos;
    unsigned line = lx->line;
    size_t size = 1;
    char c = at(lx, 0);
    char next = at(lx, 1);
    if (c == '<') {
        size_t run = 1;
        while (at(lx, run) == '<')
            run++;
        /* A run of more than three is no launch (a merge conflict marker, say). */
        size = run == 1 && next == '=' ? 2 : run;
    } else if ((c == '-' && next == '>') || (c == ':' && next == ':') ||
               (c == '>' && next == '=') || (c == '#' && next == '#')) {
        size = 2;
    }
    advance(lx, size);
    push(lx, RKB_TOKEN_PUNCT, start, lx->pos, line);
}

static bool lex_one(lexer_t *lx)
{
    char c = at(lx, 0);
    if (is_ident_start(c))
        return lex_word(lx);
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)at(lx, 1)))) {
        lex_number(lx);
        return true;
    }
    if (c == '"' || c == '\'')
        return lex_quoted(lx, lx->pos, lx->line);
    lex_punct(lx);
    return true;
}

/* The rest of a directive's logical line as plain text: splices and comments removed. */
static bool directive_text(lexer_t *lx, char *buf, size_t size)
{
    size_t used = 0;
    bool ok = true;
    while (lx->pos < lx->len && at(lx, 0) != '\n') {
        bool blank = isspace((unsigned char)at(lx, 0)) || at(lx, 0) == '/';
        size_t splice = splice_length(lx, lx->pos);
        if (splice) {
            advance(lx, splice);
            continue;
        }
        if (skip_blank(lx, &ok)) {
            if (blank && used + 1 < size)
                buf[used++] = ' ';
            continue;
        }
        if (!ok)
            return false;
        if (used + 1 < size)
            buf[used++] = at(lx, 0);
        advance(lx, 1);
    }
    buf[used] = '\0';
    return true;
}

/* operand: the text after #include; start: where the directive begins in the source. */
static bool lex_include(lexer_t *lx, const char *operand, size_t start, unsigned line)
{
    operand += strspn(operand, " ");
    if (*operand != '"' && *operand != '<') {
        rkb_error_set(lx->err, RKB_ERR_INVALID, "line %u: #include needs a file name, not a macro",
                      line);
        return false;
    }
    const char *path = operand + 1;
    size_t size = strcspn(path, *operand == '"' ? "\"" : ">");
    if (path[size] == '\0') {
        rkb_error_set(lx->err, RKB_ERR_INVALID, "line %u: malformed #include", line);
        return false;
    }
    bool outside = *path == '/';
    for (size_t i = 0; i + 1 < size; i++)
        outside |= path[i] == '.' && path[i + 1] == '.';
    if (outside) {
        rkb_error_set(lx->err, RKB_ERR_INVALID,
                      "line %u: #include of a file outside the candidate: %.*s", line,
                      (int)(size > 80 ? 80 : size), path);
        return false;
    }
    const char *open = memchr(lx->text + start, *operand, lx->pos - start);
    size_t from = (size_t)(open + 1 - lx->text);
    push(lx, RKB_TOKEN_INCLUDE, from, from + size, line);
    return true;
}

/* Skips a region under #if 0 up to its #else, #elif or #endif, which is left to be read. */
static void skip_disabled(lexer_t *lx)
{
    int depth = 0;
    while (lx->pos < lx->len) {
        advance(lx, 1); /* the newline */
        size_t start = lx->pos;
        unsigned line = lx->line;
        size_t i = start;
        while (i < lx->len && (lx->text[i] == ' ' || lx->text[i] == '\t'))
            i++;
        if (i < lx->len && lx->text[i] == '#') {
            i++;
            while (i < lx->len && (lx->text[i] == ' ' || lx->text[i] == '\t'))
                i++;
            const char *word = lx->text + i;
            size_t left = lx->len - i;
            if (left >= 2 && memcmp(word, "if", 2) == 0) {
                depth++;
            } else if (left >= 5 && memcmp(word, "endif", 5) == 0) {
                if (depth-- == 0)
                    goto found;
            } else if (depth == 0 && left >= 3 && memcmp(word, "el", 2) == 0) {
                goto found;
            }
        }
        while (lx->pos < lx->len && at(lx, 0) != '\n')
            advance(lx, 1);
        continue;
    found:
        lx->pos = start - 1; /* the newline, so that the directive is seen to begin a line */
        lx->line = line - 1;
        return;
    }
}

/* `#define NAME` or `#define NAME(…)` has been read up to NAME: the replacement follows as tokens.
 */
static bool lex_define(lexer_t *lx)
{
    bool ok = true;
    while (skip_blank(lx, &ok))
        ;
    lx->macro = ++lx->macros;
    while (ok && lx->pos < lx->len && at(lx, 0) != '\n') {
        if (skip_blank(lx, &ok))
            continue;
        if (ok)
            ok = lex_one(lx);
    }
    lx->macro = 0;
    return ok;
}

/* After the '#' that begins a line. */
static bool lex_directive(lexer_t *lx)
{
    bool ok = true;
    unsigned line = lx->line;
    size_t start = lx->pos;
    while (skip_blank(lx, &ok))
        ;
    char word[32];
    size_t size = 0;
    while (is_ident(at(lx, 0)) || splice_length(lx, lx->pos)) {
        size_t splice = splice_length(lx, lx->pos);
        if (!splice && size + 1 < sizeof word)
            word[size++] = at(lx, 0);
        advance(lx, splice ? splice : 1);
    }
    word[size] = '\0';
    if (!ok)
        return false;
    if (strcmp(word, "define") == 0)
        return lex_define(lx);

    char rest[512];
    if (!directive_text(lx, rest, sizeof rest))
        return false;
    if (strncmp(word, "include", 7) == 0 || strcmp(word, "import") == 0)
        return lex_include(lx, rest, start, line);
    if (strcmp(word, "if") == 0 || strcmp(word, "ifdef") == 0 || strcmp(word, "ifndef") == 0) {
        push(lx, RKB_TOKEN_IF, start, start, line);
        const char *condition = rest + strspn(rest, " ");
        if (strcmp(word, "if") == 0 && *condition == '0' &&
            condition[1 + strspn(condition + 1, " ")] == '\0')
            skip_disabled(lx);
    } else if (strncmp(word, "el", 2) == 0) {
        push(lx, RKB_TOKEN_ELSE, start, start, line);
    } else if (strcmp(word, "endif") == 0) {
        push(lx, RKB_TOKEN_ENDIF, start, start, line);
    }
    return true;
}

rkb_status_t rkb_tokens_create(const char *text, size_t len, rkb_tokens_t *out, rkb_error_t *err)
{
    rkb_tokens_t tokens = {NULL, 0};
    lexer_t lx = {.text = text, .len = len, .line = 1, .out = &tokens, .err = err};
    bool line_start = true;
    bool ok = true;
    while (ok && lx.pos < len) {
        if (skip_blank(&lx, &ok) || !ok)
            continue;
        char c = at(&lx, 0);
        if (c == '\n') {
            advance(&lx, 1);
            line_start = true;
            continue;
        }
        bool digraph = c == '%' && at(&lx, 1) == ':';
        if (line_start && (c == '#' || digraph)) {
            advance(&lx, digraph ? 2 : 1);
            ok = lex_directive(&lx);
        } else {
            ok = lex_one(&lx);
        }
        line_start = false;
    }
    if (!ok) {
        free(tokens.items);
        return RKB_ERR_INVALID;
    }
    *out = tokens;
    return RKB_OK;
}

void rkb_tokens_release(rkb_tokens_t *tokens)
{
    free(tokens->items);
    *tokens = (rkb_tokens_t){NULL, 0};
}

bool rkb_token_is(const char *text, const rkb_token_t *token, const char *spelling)
{
    size_t size = strlen(spelling);
    return token->end - token->start == size && memcmp(text + token->start, spelling, size) == 0;
}
