#include "evaluator/task/expr.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_STEPS = 1024 };

/* Expressions are kept as postfix steps. */
typedef enum { STEP_CONSTANT, STEP_SYMBOL, STEP_NEGATE, STEP_BINARY } step_kind_t;

typedef struct {
    step_kind_t kind;
    char operation; /* STEP_BINARY: + - * / % */
    int column;
    int64_t value; /* the constant, or the symbol's index */
} step_t;

struct rkb_expr {
    char *text;
    step_t *steps;
    size_t count;
};

typedef struct {
    const char *text;
    const char *at;
    int depth;
    rkb_expr_scope_fn_t scope_name;
    const void *scope;
    rkb_expr_t *expr;
    rkb_error_t *err;
} parser_t;

static int column_of(const parser_t *parser, const char *at)
{
    return (int)(at - parser->text) + 1;
}

static void skip_blanks(parser_t *parser)
{
    while (*parser->at == ' ')
        parser->at++;
}

static rkb_status_t push_step(parser_t *parser, step_t step)
{
    rkb_expr_t *expr = parser->expr;
    if (expr->count == MAX_STEPS)
        return rkb_error_set(parser->err, RKB_ERR_INVALID, "expression is longer than %d steps",
                             MAX_STEPS);
    expr->steps = rkb_xrealloc(expr->steps, expr->count + 1, sizeof *expr->steps);
    expr->steps[expr->count++] = step;
    return RKB_OK;
}

static rkb_status_t parse_sum(parser_t *parser);

static rkb_status_t unexpected(parser_t *parser)
{
    int column = column_of(parser, parser->at);
    if (*parser->at == '\0')
        return rkb_error_set(parser->err, RKB_ERR_INVALID,
                             "expression \"%.80s\" ends too early, at column %d", parser->text,
                             column);
    return rkb_error_set(parser->err, RKB_ERR_INVALID,
                         "unexpected '%c' at column %d of expression \"%.80s\"", *parser->at,
                         column, parser->text);
}

static rkb_status_t parse_name(parser_t *parser)
{
    const char *start = parser->at;
    while (isalnum((unsigned char)*parser->at) || *parser->at == '_')
        parser->at++;
    size_t len = (size_t)(parser->at - start);
    rkb_nearest_t nearest = rkb_nearest_init(start, len);
    const char *name;
    for (size_t i = 0; (name = parser->scope_name(parser->scope, i)) != NULL; i++) {
        if (strlen(name) == len && memcmp(name, start, len) == 0)
            return push_step(parser,
                             (step_t){STEP_SYMBOL, 0, column_of(parser, start), (int64_t)i});
        rkb_nearest_offer(&nearest, name);
    }
    char hint[RKB_NAME_MAX + 32];
    return rkb_error_set(parser->err, RKB_ERR_INVALID,
                         "undeclared symbol \"%.*s\" at column %d of expression \"%.80s\"%s",
                         (int)(len < RKB_NAME_MAX ? len : RKB_NAME_MAX), start,
                         column_of(parser, start), parser->text,
                         rkb_nearest_hint(&nearest, hint, sizeof hint));
}

static rkb_status_t parse_number(parser_t *parser)
{
    const char *start = parser->at;
    int64_t value = 0;
    for (; isdigit((unsigned char)*parser->at); parser->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *parser->at - '0', &value))
            return rkb_error_set(parser->err, RKB_ERR_INVALID,
                                 "number at column %d of expression \"%.80s\" is too large",
                                 column_of(parser, start), parser->text);
    if (isalpha((unsigned char)*parser->at) || *parser->at == '_' || *parser->at == '.')
        return unexpected(parser);
    return push_step(parser, (step_t){STEP_CONSTANT, 0, column_of(parser, start), value});
}

/* primary := number | name | '(' sum ')' | '-' primary */
static rkb_status_t parse_primary(parser_t *parser)
{
    rkb_status_t status;
    skip_blanks(parser);
    unsigned char c = (unsigned char)*parser->at;
    if (isdigit(c))
        return parse_number(parser);
    if (isalpha(c) || c == '_')
        return parse_name(parser);
    if (c != '(' && c != '-')
        return unexpected(parser);
    if (++parser->depth > MAX_DEPTH)
        return rkb_error_set(parser->err, RKB_ERR_INVALID,
                             "expression nests deeper than %d at column %d", MAX_DEPTH,
                             column_of(parser, parser->at));
    const char *start = parser->at++;
    if (c == '-') {
        status = parse_primary(parser);
        if (status == RKB_OK)
            status = push_step(parser, (step_t){STEP_NEGATE, 0, column_of(parser, start), 0});
    } else {
        status = parse_sum(parser);
        if (status == RKB_OK) {
            skip_blanks(parser);
            if (*parser->at != ')')
                return unexpected(parser);
            parser->at++;
        }
    }
    parser->depth--;
    return status;
}

/* product := primary (('*' | '//' | '%') primary)* */
static rkb_status_t parse_product(parser_t *parser)
{
    rkb_status_t status = parse_primary(parser);
    while (status == RKB_OK) {
        skip_blanks(parser);
        const char *start = parser->at;
        char operation = *start;
        if (operation != '*' && operation != '/' && operation != '%')
            return RKB_OK;
        if (operation == '/' && start[1] != '/')
            return rkb_error_set(parser->err, RKB_ERR_INVALID,
                                 "'/' at column %d of expression \"%.80s\": sizes are integers, "
                                 "write '//' (floor)",
                                 column_of(parser, start), parser->text);
        parser->at += operation == '/' ? 2 : 1;
        status = parse_primary(parser);
        if (status == RKB_OK)
            status =
                push_step(parser, (step_t){STEP_BINARY, operation, column_of(parser, start), 0});
    }
    return status;
}

/* sum := product (('+' | '-') product)* */
static rkb_status_t parse_sum(parser_t *parser)
{
    rkb_status_t status = parse_product(parser);
    while (status == RKB_OK) {
        skip_blanks(parser);
        const char *start = parser->at;
        char operation = *start;
        if (operation != '+' && operation != '-')
            return RKB_OK;
        parser->at++;
        status = parse_product(parser);
        if (status == RKB_OK)
            status =
                push_step(parser, (step_t){STEP_BINARY, operation, column_of(parser, start), 0});
    }
    return status;
}

rkb_status_t rkb_expr_parse(const char *text, rkb_expr_scope_fn_t scope_name, const void *scope,
                            rkb_expr_t **out, rkb_error_t *err)
{
    rkb_expr_t *expr = rkb_xcalloc(1, sizeof *expr);
    expr->text = rkb_xstrdup(text);
    parser_t parser = {text, text, 0, scope_name, scope, expr, err};
    rkb_status_t status = parse_sum(&parser);
    if (status == RKB_OK) {
        skip_blanks(&parser);
        if (*parser.at != '\0')
            status = unexpected(&parser);
    }
    if (status != RKB_OK) {
        rkb_expr_destroy(expr);
        return status;
    }
    *out = expr;
    return RKB_OK;
}

rkb_expr_t *rkb_expr_constant(int64_t value)
{
    rkb_expr_t *expr = rkb_xcalloc(1, sizeof *expr);
    expr->text = rkb_strf("%lld", (long long)value);
    expr->steps = rkb_xcalloc(1, sizeof *expr->steps);
    expr->steps[0] = (step_t){STEP_CONSTANT, 0, 1, value};
    expr->count = 1;
    return expr;
}

void rkb_expr_destroy(rkb_expr_t *expr)
{
    if (!expr)
        return;
    free(expr->text);
    free(expr->steps);
    free(expr);
}

/* false on overflow */
static bool apply(char operation, int64_t a, int64_t b, int64_t *out)
{
    switch (operation) {
    case '+':
        return !__builtin_add_overflow(a, b, out);
    case '-':
        return !__builtin_sub_overflow(a, b, out);
    case '*':
        return !__builtin_mul_overflow(a, b, out);
    default:
        break;
    }
    if (b == -1) { /* INT64_MIN // -1 overflows, and INT64_MIN % -1 traps on x86 */
        *out = 0;
        return operation == '%' || !__builtin_sub_overflow((int64_t)0, a, out);
    }
    int64_t quotient = a / b, rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    *out = operation == '/' ? quotient : rest;
    return true;
}

rkb_status_t rkb_expr_eval(const rkb_expr_t *expr, const int64_t *values, int64_t *out,
                           rkb_error_t *err)
{
    /* Each level of nesting holds at most two operands back: one of a sum, one of a product. */
    int64_t stack[2 * MAX_DEPTH + 4];
    size_t top = 0;
    for (size_t i = 0; i < expr->count; i++) {
        const step_t *step = &expr->steps[i];
        bool fits = true;
        switch (step->kind) {
        case STEP_CONSTANT:
            stack[top++] = step->value;
            break;
        case STEP_SYMBOL:
            stack[top++] = values[step->value];
            break;
        case STEP_NEGATE:
            fits = !__builtin_sub_overflow((int64_t)0, stack[top - 1], &stack[top - 1]);
            break;
        case STEP_BINARY:
            top--;
            if (stack[top] == 0 && (step->operation == '/' || step->operation == '%'))
                return rkb_error_set(err, RKB_ERR_INVALID,
                                     "division by zero at column %d of expression \"%.80s\"",
                                     step->column, expr->text);
            fits = apply(step->operation, stack[top - 1], stack[top], &stack[top - 1]);
            break;
        }
        if (!fits)
            return rkb_error_set(err, RKB_ERR_INVALID,
                                 "64-bit overflow at column %d of expression \"%.80s\"",
                                 step->column, expr->text);
    }
    *out = stack[0];
    return RKB_OK;
}

const char *rkb_expr_text(const rkb_expr_t *expr)
{
    return expr->text;
}
