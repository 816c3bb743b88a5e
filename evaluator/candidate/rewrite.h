/**
 * @file rewrite.h
 * CUDA syntax that a host compiler lacks, rewritten on tokens: `kernel<T><<<g, b, s, st>>>(args)`,
 * `extern __shared__ T name[];`, `__shared__` declarations, `__launch_bounds__`, `asm`. Pure: text
 * in, text out. Comments, strings, raw strings and line numbers are preserved.
 */
#ifndef RKB_CANDIDATE_REWRITE_H
#define RKB_CANDIDATE_REWRITE_H

#include "common/error.h"

#include <stddef.h>

/**
 * name: shown in compiler messages (`#line 1 "name"`). *out is malloc'ed and NUL-terminated.
 * RKB_ERR_INVALID for text that cannot be tokenised (unterminated comment or string, a launch
 * without its argument list), with the line. RKB_ERR_UNSUPPORTED for inline PTX, with the line and
 * the first instruction, when the assembler text is not empty.
 */
rkb_status_t rkb_rewrite_cuda(const char *name, const char *text, size_t len, char **out,
                              size_t *out_len, rkb_error_t *err);

#endif
