/**
 * @file toolchain.h
 * The host compiler as a fact: where it is, its version, and the arguments for one build.
 */
#ifndef RKB_CANDIDATE_TOOLCHAIN_H
#define RKB_CANDIDATE_TOOLCHAIN_H

#include "common/error.h"
#include "common/hash.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *compiler;    /* as found: a path */
    char *version;     /* first line of --version */
    char *include_dir; /* of rkb_abi.h, cuda/ and torch/ */
    char **arguments;  /* of every build, NULL-terminated, without input and output */
    size_t narguments;
    char *flags; /* those that a report should name */
    char headers_sha256[RKB_SHA256_HEX_SIZE];
    char *path_env; /* "PATH=…" */
} rkb_toolchain_t;

/** compiler: name or path, NULL: RKB_CXX, else c++ (with sanitize the one that
 * built this program). extra_flags: split at blanks, may be NULL. */
rkb_status_t rkb_toolchain_find(const char *compiler, const char *extra_flags, bool sanitize,
                                rkb_toolchain_t *out, rkb_error_t *err);
void rkb_toolchain_release(rkb_toolchain_t *toolchain);

#endif
