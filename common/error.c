#include "common/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A cut text must not pass for a whole one. */
static void mark_cut(char *text, int wanted)
{
    if (wanted >= RKB_ERROR_TEXT_SIZE)
        text[RKB_ERROR_TEXT_SIZE - 2] = '+';
}

rkb_status_t rkb_error_vset(rkb_error_t *err, rkb_status_t status, const char *fmt, va_list ap)
{
    int saved = errno;
    if (err) {
        /* The arguments may point into err->text itself. */
        char text[RKB_ERROR_TEXT_SIZE];
        int wanted = vsnprintf(text, sizeof text, fmt, ap);
        if (wanted < 0)
            text[0] = '\0';
        mark_cut(text, wanted);
        memcpy(err->text, text, sizeof text);
        err->status = status;
    }
    errno = saved;
    return status;
}

rkb_status_t rkb_error_set(rkb_error_t *err, rkb_status_t status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rkb_error_vset(err, status, fmt, ap);
    va_end(ap);
    return status;
}

rkb_status_t rkb_error_prefix(rkb_error_t *err, const char *fmt, ...)
{
    if (!err)
        return RKB_ERR_INTERNAL;
    int saved = errno;
    char text[RKB_ERROR_TEXT_SIZE];
    va_list ap;
    va_start(ap, fmt);
    int used = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (used < 0)
        used = 0;
    int wanted = used;
    if (used < RKB_ERROR_TEXT_SIZE)
        wanted += snprintf(text + used, sizeof text - (size_t)used, ": %s", err->text);
    mark_cut(text, wanted);
    memcpy(err->text, text, sizeof text);
    errno = saved;
    return err->status;
}

int rkb_error_print(const rkb_error_t *err, const char *program)
{
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program, err->text[0] ? err->text : rkb_status_text(err->status));
    return rkb_status_exit_code(err->status);
}
