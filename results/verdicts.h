/**
 * @file verdicts.h
 * The verdict words in the order in which reports list them. This module must not know the
 * evaluator, so the words stand here a second time; a unit test compares the two lists.
 */
#ifndef RKB_RESULTS_VERDICTS_H
#define RKB_RESULTS_VERDICTS_H

#include <stdbool.h>

/** NULL-terminated. */
extern const char *const rkb_verdict_words[];
/** NULL-terminated: the flags an item may carry. */
extern const char *const rkb_flag_words[];
/** Infrastructure: not counted against a candidate. */
bool rkb_verdict_word_is_ours(const char *word);

#endif
