/**
 * @file error.h
 * The human cause that travels beside a status. It is written where the cause is first known,
 * callers may prefix it with context, and only the top level prints it, once.
 */
#ifndef RKB_COMMON_ERROR_H
#define RKB_COMMON_ERROR_H

#include "common/status.h"

#include <stdarg.h>

enum { RKB_ERROR_TEXT_SIZE = 1024 };

typedef struct {
    rkb_status_t status;
    char text[RKB_ERROR_TEXT_SIZE]; /* NUL-terminated; a cut text ends in '+' */
} rkb_error_t;

#define RKB_ERROR_INIT                                                                             \
    {                                                                                              \
        RKB_OK, ""                                                                                 \
    }

/**
 * Records status and cause and returns the status, so that a failing path reads
 * `return rkb_error_set(err, RKB_ERR_IO, "%s: %s", path, strerror(errno));`.
 * err may be NULL. errno is preserved.
 */
rkb_status_t rkb_error_set(rkb_error_t *err, rkb_status_t status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
rkb_status_t rkb_error_vset(rkb_error_t *err, rkb_status_t status, const char *fmt, va_list ap);

/**
 * Puts "prefix: " before the recorded text; returns the recorded status. err may be NULL
 * (RKB_ERR_INTERNAL).
 */
rkb_status_t rkb_error_prefix(rkb_error_t *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Prints "program: text" to stderr and returns the exit code of the recorded status. */
int rkb_error_print(const rkb_error_t *err, const char *program);

#endif
