#include "common/log.h"
#include "common/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_SIZE = 64, LINE_SIZE = 4096, LEVEL_UNSET = -1 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static char tag[TAG_SIZE] = "rkb";
static atomic_int level = LEVEL_UNSET;

static int level_from_environment(void)
{
    const char *text = getenv("RKB_LOG");
    for (int i = 0; text && i <= RKB_LOG_DEBUG; i++) {
        if (strcmp(text, level_names[i]) == 0)
            return i;
    }
    return RKB_LOG_WARN;
}

void rkb_log_init(const char *new_tag)
{
    snprintf(tag, sizeof tag, "%s", new_tag);
    atomic_store(&level, level_from_environment());
}

rkb_log_level_t rkb_log_level(void)
{
    int now = atomic_load(&level);
    if (now == LEVEL_UNSET) {
        now = level_from_environment();
        atomic_store(&level, now);
    }
    return (rkb_log_level_t)now;
}

void rkb_log(rkb_log_level_t at, const char *fmt, ...)
{
    if (at > rkb_log_level())
        return;
    int saved = errno;
    char line[LINE_SIZE];
    int head = snprintf(line, sizeof line, "%s: %s: ", tag, level_names[at]);
    va_list ap;
    va_start(ap, fmt);
    int body = vsnprintf(line + head, sizeof line - (size_t)head - 1, fmt, ap);
    va_end(ap);
    if (body < 0)
        line[head] = '\0';
    /* The text may quote a candidate: it must not steer the terminal or fake lines of its own. */
    rkb_text_sanitize(line);
    for (char *c = line; *c; c++) {
        if (*c == '\n')
            *c = ' ';
    }
    size_t len = strlen(line);
    line[len++] = '\n';
    ssize_t written;
    do {
        written = write(STDERR_FILENO, line, len);
    } while (written < 0 && errno == EINTR);
    errno = saved;
}
