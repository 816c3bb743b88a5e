#include "evaluator/candidate/rewrite.h"

#include "common/file.h"
#include "evaluator/candidate/rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

void rkb_rewrite_edit(rkb_rewrite_t *rw, size_t start, size_t end, char *text)
{
    if (rw->nedits == rw->edit_capacity) {
        rw->edit_capacity = rw->edit_capacity ? rw->edit_capacity * 2 : 64;
        rw->edits = rkb_xrealloc(rw->edits, rw->edit_capacity, sizeof rw->edits[0]);
    }
    rw->edits[rw->nedits] = (rkb_edit_t){start, end, rw->nedits, text};
    rw->nedits++;
}

void rkb_rewrite_insert(rkb_rewrite_t *rw, size_t at, const char *text)
{
    rkb_rewrite_edit(rw, at, at, rkb_xstrdup(text));
}

static size_t count_newlines(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    return count;
}

void rkb_rewrite_replace(rkb_rewrite_t *rw, const rkb_stream_t *st, size_t start, size_t end,
                         const char *moved, const char *text)
{
    /* Newlines of the replaced text stay, so that the compiler's line numbers are the candidate's.
     */
    size_t size = strlen(text);
    size_t newlines = count_newlines(rw->text + start, end - start) - count_newlines(text, size) -
                      count_newlines(moved, strlen(moved));
    const char *newline = st->macro ? " \\\n" : "\n";
    char *out = rkb_xcalloc(1, size + newlines * strlen(newline) + 1);
    memcpy(out, text, size);
    for (size_t i = 0; i < newlines; i++)
        memcpy(out + size + i * strlen(newline), newline, strlen(newline));
    rkb_rewrite_edit(rw, start, end, out);
}

/* Appends a token; splices within it vanish (but a raw string's are text). */
static size_t append_token(const rkb_rewrite_t *rw, const rkb_token_t *token, char *out)
{
    const char *text = rw->text + token->start;
    size_t size = token->end - token->start;
    size_t used = 0;
    bool raw = token->kind == RKB_TOKEN_STRING && text[strcspn(text, "R\"")] == 'R';
    for (size_t i = 0; i < size; i++) {
        if (!raw && text[i] == '\\' && i + 1 < size && text[i + 1] == '\n')
            i++;
        else if (!raw && text[i] == '\\' && i + 2 < size && text[i + 1] == '\r' &&
                 text[i + 2] == '\n')
            i += 2;
        else
            out[used++] = text[i];
    }
    return used;
}

char *rkb_rewrite_join(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t first, size_t end)
{
    size_t size = 1;
    for (size_t i = first; i < end; i++)
        size += st->tokens[i].end - st->tokens[i].start + 1;
    char *out = rkb_xcalloc(1, size);
    size_t used = 0;
    for (size_t i = first; i < end; i++) {
        const rkb_token_t *token = &st->tokens[i];
        /* Neighbours stay neighbours: ">" ">" may be one operator. */
        if (i > first && token->start > st->tokens[i - 1].end)
            out[used++] = ' ';
        used += append_token(rw, token, out + used);
    }
    out[used] = '\0';
    return out;
}

bool rkb_stream_is(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i, const char *spelling)
{
    return i < st->count && rkb_token_is(rw->text, &st->tokens[i], spelling);
}

bool rkb_stream_ident(const rkb_stream_t *st, size_t i)
{
    return i < st->count && st->tokens[i].kind == RKB_TOKEN_IDENT;
}

bool rkb_stream_among(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t i,
                      const char *const *spellings)
{
    for (; *spellings; spellings++) {
        if (rkb_stream_is(rw, st, i, *spellings))
            return true;
    }
    return false;
}

static char bracket(const rkb_rewrite_t *rw, const rkb_token_t *token)
{
    if (token->kind != RKB_TOKEN_PUNCT || token->end - token->start != 1)
        return '\0';
    char c = rw->text[token->start];
    return strchr("()[]{}", c) ? c : '\0';
}

/*
 * Pairs brackets. Where #if gives alternatives, each begins with the brackets that were open at the
 * #if, and the text after #endif continues from the last alternative.
 */
static void match_brackets(const rkb_rewrite_t *rw, rkb_stream_t *st)
{
    enum { MAX_CONDITIONS = 64 };
    size_t *open = rkb_xcalloc(st->count + 1, sizeof *open);
    struct {
        size_t *open, depth;
    } saved[MAX_CONDITIONS];
    size_t depth = 0;
    size_t conditions = 0;
    for (size_t i = 0; i < st->count; i++) {
        st->match[i] = RKB_NO_MATCH;
        st->outer[i] = depth ? open[depth - 1] : RKB_NO_MATCH;
        rkb_token_kind_t kind = st->tokens[i].kind;
        if (kind == RKB_TOKEN_IF && conditions < MAX_CONDITIONS) {
            saved[conditions].open = rkb_xcalloc(depth + 1, sizeof *open);
            memcpy(saved[conditions].open, open, depth * sizeof *open);
            saved[conditions++].depth = depth;
        } else if (kind == RKB_TOKEN_ELSE && conditions) {
            depth = saved[conditions - 1].depth;
            memcpy(open, saved[conditions - 1].open, depth * sizeof *open);
        } else if (kind == RKB_TOKEN_ENDIF && conditions) {
            free(saved[--conditions].open);
        }
        char c = bracket(rw, &st->tokens[i]);
        if (c == '(' || c == '[' || c == '{') {
            open[depth++] = i;
        } else if (c) {
            char want = c == ')' ? '(' : c == ']' ? '[' : '{';
            /* A missing closer inside must not lose the rest of the file. */
            while (depth && bracket(rw, &st->tokens[open[depth - 1]]) != want && c == '}')
                depth--;
            if (depth && bracket(rw, &st->tokens[open[depth - 1]]) == want) {
                st->match[i] = open[--depth];
                st->match[open[depth]] = i;
            }
        }
    }
    while (conditions)
        free(saved[--conditions].open);
    free(open);
}

size_t rkb_stream_skip(const rkb_stream_t *st, size_t i)
{
    return st->match[i] != RKB_NO_MATCH && st->match[i] > i ? st->match[i] + 1 : i + 1;
}

size_t rkb_stream_angle_open(const rkb_rewrite_t *rw, const rkb_stream_t *st, size_t close)
{
    int depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
        if (rkb_stream_is(rw, st, i, ">")) {
            depth++;
        } else if (rkb_stream_is(rw, st, i, "<")) {
            if (--depth == 0)
                return i;
        } else if (rkb_stream_is(rw, st, i, ";") || rkb_stream_is(rw, st, i, "{")) {
            break;
        } else if (st->match[i] != RKB_NO_MATCH) {
            if (st->match[i] > i)
                break;
            i = st->match[i];
        }
    }
    return RKB_NO_MATCH;
}

static rkb_status_t rewrite_stream(rkb_rewrite_t *rw, const rkb_token_t *tokens, size_t count,
                                   unsigned macro)
{
    rkb_stream_t st = {.tokens = tokens, .count = count, .macro = macro != 0};
    rkb_status_t status = RKB_OK;
    st.match = rkb_xcalloc(count + 1, sizeof *st.match);
    st.outer = rkb_xcalloc(count + 1, sizeof *st.outer);
    match_brackets(rw, &st);
    for (size_t i = 0; i < count && status == RKB_OK; i++)
        status = rkb_rewrite_token(rw, &st, i);
    free(st.match);
    free(st.outer);
    return status;
}

/* Macros that only stand for __global__ (and perhaps a type) are as good as the keyword. */
static void find_kernel_aliases(rkb_rewrite_t *rw, const rkb_token_t *tokens, size_t count)
{
    bool global = false;
    for (size_t i = 1; i < count; i++) {
        if (rkb_token_is(rw->text, &tokens[i], "{") || rkb_token_is(rw->text, &tokens[i], "("))
            return;
        global |= rkb_token_is(rw->text, &tokens[i], "__global__");
    }
    if (!global)
        return;
    rw->aliases = rkb_xrealloc(rw->aliases, rw->naliases + 1, sizeof rw->aliases[0]);
    rw->aliases[rw->naliases++] = tokens[0];
}

static rkb_status_t rewrite_all(rkb_rewrite_t *rw, const rkb_tokens_t *all)
{
    rkb_token_t *program = rkb_xcalloc(all->count + 1, sizeof *program);
    rkb_status_t status = RKB_OK;
    size_t count = 0;
    for (size_t i = 0, end; i < all->count; i = end) {
        unsigned macro = all->items[i].macro;
        for (end = i; end < all->count && all->items[end].macro == macro; end++)
            ;
        if (macro)
            find_kernel_aliases(rw, all->items + i, end - i);
        else
            memcpy(program + count, all->items + i, (end - i) * sizeof *program);
        count += macro ? 0 : end - i;
    }
    for (size_t i = 0, end; i < all->count && status == RKB_OK; i = end) {
        unsigned macro = all->items[i].macro;
        for (end = i; end < all->count && all->items[end].macro == macro; end++)
            ;
        if (macro)
            status = rewrite_stream(rw, all->items + i, end - i, macro);
    }
    if (status == RKB_OK)
        status = rewrite_stream(rw, program, count, 0);
    free(program);
    return status;
}

static int edit_order(const void *a, const void *b)
{
    const rkb_edit_t *x = a;
    const rkb_edit_t *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static char *apply_edits(rkb_rewrite_t *rw, const char *head, size_t skip, size_t len,
                         size_t *out_len)
{
    size_t size = strlen(head) + len + 2;
    for (size_t i = 0; i < rw->nedits; i++)
        size += strlen(rw->edits[i].text);
    char *out = rkb_xcalloc(1, size);
    size_t used = strlen(head);
    size_t pos = skip;
    memcpy(out, head, used);
    if (rw->nedits)
        qsort(rw->edits, rw->nedits, sizeof rw->edits[0], edit_order);
    for (size_t i = 0; i < rw->nedits; i++) {
        const rkb_edit_t *edit = &rw->edits[i];
        if (edit->start < pos) /* inside text that has been replaced as a whole */
            continue;
        memcpy(out + used, rw->text + pos, edit->start - pos);
        used += edit->start - pos;
        memcpy(out + used, edit->text, strlen(edit->text));
        used += strlen(edit->text);
        pos = edit->end;
    }
    memcpy(out + used, rw->text + pos, len - pos);
    used += len - pos;
    out[used] = '\0';
    *out_len = used;
    return out;
}

/* `#line 1 "name"` with everything that could end the literal or the line made harmless. */
static char *line_directive(const char *name)
{
    char *quoted = rkb_xcalloc(2, strlen(name) + 1);
    size_t used = 0;
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            quoted[used++] = '\\';
        quoted[used++] = (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name;
    }
    char *head = rkb_strf("#line 1 \"%s\"\n", quoted);
    free(quoted);
    return head;
}

rkb_status_t rkb_rewrite_cuda(const char *name, const char *text, size_t len, char **out,
                              size_t *out_len, rkb_error_t *err)
{
    static const char bom[] = "\xef\xbb\xbf";
    size_t skip = len >= 3 && memcmp(text, bom, 3) == 0 ? 3 : 0;
    rkb_rewrite_t rw = {.text = text, .err = err};
    rkb_tokens_t tokens;
    rkb_status_t status = rkb_tokens_create(text, len, &tokens, err);
    if (status != RKB_OK)
        return status;
    status = rewrite_all(&rw, &tokens);
    if (status == RKB_OK) {
        char *head = line_directive(name);
        *out = apply_edits(&rw, head, skip, len, out_len);
        free(head);
    }
    for (size_t i = 0; i < rw.nedits; i++)
        free(rw.edits[i].text);
    free(rw.edits);
    free(rw.aliases);
    rkb_tokens_release(&tokens);
    return status;
}
