#include "common/text.h"

#include <ctype.h>
#include <string.h>

enum { WORD_MAX = 63 };

size_t rkb_text_utf8_length(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    if (len == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    size_t need;
    unsigned low = 0x80, high = 0xbf; /* bounds of the second byte: no overlong, no surrogates */
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        need = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        need = 3;
        if (s[0] == 0xe0)
            low = 0xa0;
        if (s[0] == 0xed)
            high = 0x9f;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        need = 4;
        if (s[0] == 0xf0)
            low = 0x90;
        if (s[0] == 0xf4)
            high = 0x8f;
    } else {
        return 0;
    }
    if (len < need || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    return need;
}

static int is_control(const unsigned char *s, size_t length)
{
    if (length == 1)
        return (s[0] < 0x20 && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7f;
    return length == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

void rkb_text_sanitize(char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        size_t length = rkb_text_utf8_length(text + i, len - i);
        if (length == 0) {
            text[i++] = '?';
        } else {
            if (is_control((const unsigned char *)text + i, length))
                memset(text + i, '?', length);
            i += length;
        }
    }
}

/* Optimal string alignment distance; words longer than WORD_MAX are never near anything. */
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return WORD_MAX;
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        before[j] = last[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            unsigned best = last[j - 1] + (x != y);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[m];
}

const char *rkb_text_nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    unsigned best_distance = (unsigned)(strlen(word) + 2) / 3 + 1;
    if (best_distance > 4)
        best_distance = 4;
    for (; *words; words++) {
        unsigned d = distance(word, *words);
        if (d < best_distance && d < strlen(*words)) {
            best = *words;
            best_distance = d;
        }
    }
    return best;
}
