/**
 * @file text.h
 * Text that comes from outside, and hints for misspelt words. Thread-safe.
 */
#ifndef RKB_COMMON_TEXT_H
#define RKB_COMMON_TEXT_H

#include <stddef.h>

/**
 * Replaces invalid UTF-8 and control characters other than \n and \t by '?', in place. DEL and the
 * C1 controls (U+0080 to U+009F), which terminals also obey, count as control characters.
 */
void rkb_text_sanitize(char *text);

/** Bytes of the valid UTF-8 sequence at text (1 to 4), 0 when there is none within len bytes. */
size_t rkb_text_utf8_length(const char *text, size_t len);

/**
 * The word of the NULL-terminated list that `word` most likely meant (edit distance, case ignored,
 * neighbouring letters swapped count once), or NULL when none is near.
 */
const char *rkb_text_nearest(const char *word, const char *const *words);

#endif
