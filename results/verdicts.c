#include "results/verdicts.h"

#include <stddef.h>
#include <string.h>

const char *const rkb_verdict_words[] = {"ok",
                                         "compile_error",
                                         "compile_timeout",
                                         "load_error",
                                         "no_entry",
                                         "bad_signature",
                                         "wrong_count",
                                         "wrong_shape",
                                         "wrong_dtype",
                                         "unwritten",
                                         "nan_or_inf",
                                         "mismatch",
                                         "input_mutated",
                                         "out_of_bounds",
                                         "illegal_access",
                                         "launch_failure",
                                         "out_of_memory",
                                         "timeout",
                                         "crash",
                                         "exception",
                                         "tampering",
                                         "unsupported",
                                         "reference_error",
                                         "infra_error",
                                         NULL};

const char *const rkb_flag_words[] = {
    "nondeterministic", "reduced_precision", "delegated", "impossible_time",
    "emulated",         "real_header",       NULL};

bool rkb_verdict_word_is_ours(const char *word)
{
    return strcmp(word, "reference_error") == 0 || strcmp(word, "infra_error") == 0;
}
