/**
 * @file diagnose.h
 * What a compiler's output means for the candidate: one sentence without paths of ours. Pure.
 */
#ifndef RKB_CANDIDATE_DIAGNOSE_H
#define RKB_CANDIDATE_DIAGNOSE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool failed;      /* an error was found (also after an exit code of 0: undefined symbols) */
    bool unsupported; /* it is something that this device lacks, not a mistake */
    char text[512];   /* "line 12: 'foo' was not declared in this scope" */
} rkb_diagnosis_t;

/** log: NUL-terminated; name: of the candidate, as in its #line. */
rkb_diagnosis_t rkb_diagnose(const char *log, const char *name);

/**
 * A copy of the output fit for people: `prefixes` (NULL-terminated; of our folders) are cut from
 * paths, the linker's remarks on the runtime's own symbols are left out, and at most `limit` bytes
 * remain. free() it.
 */
char *rkb_clean_log(const char *log, const char *const *prefixes, size_t limit);

#endif
