/**
 * @file expr.h
 * Integer expressions over symbols: decimal literals, names, + - * // % and parentheses, with
 * Python's meaning of // and % (floor). 64-bit; an overflow is an error, never a wrap.
 * An expression is immutable and may be evaluated by several threads.
 */
#ifndef RKB_TASK_EXPR_H
#define RKB_TASK_EXPR_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct rkb_expr rkb_expr_t;

/**
 * Name number `index` of the scope an expression may use, or NULL past the last one.
 */
typedef const char *(*rkb_expr_scope_fn_t)(const void *scope, size_t index);

/** Messages name the column (from 1) and, for an unknown name, the nearest known one. */
rkb_status_t rkb_expr_parse(const char *text, rkb_expr_scope_fn_t scope_name, const void *scope,
                            rkb_expr_t **out, rkb_error_t *err);
/** A constant, as if its decimal text had been parsed. */
rkb_expr_t *rkb_expr_constant(int64_t value);
void rkb_expr_destroy(rkb_expr_t *expr); /* NULL allowed */

/** values[i] belongs to scope name i. */
rkb_status_t rkb_expr_eval(const rkb_expr_t *expr, const int64_t *values, int64_t *out,
                           rkb_error_t *err);
const char *rkb_expr_text(const rkb_expr_t *expr);

#endif
