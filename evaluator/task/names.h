/**
 * @file names.h
 * Identifiers of the task language and the nearest known name for messages.
 */
#ifndef RKB_TASK_NAMES_H
#define RKB_TASK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { RKB_NAME_MAX = 64 };

/** [A-Za-z_][A-Za-z0-9_]*, at most RKB_NAME_MAX characters. */
bool rkb_name_is_identifier(const char *text, size_t len);
/** Task names and suites: letters, digits, '_', '-', '.'; also '/' between parts when allowed. */
bool rkb_name_is_path(const char *text, bool slashes);

/** Collects the nearest of the names offered to it. Start with nearest_init(). */
typedef struct {
    const char *wanted;
    size_t wanted_len;
    const char *best; /* NULL when nothing is near enough to be a slip of the pen */
    size_t distance;
} rkb_nearest_t;

rkb_nearest_t rkb_nearest_init(const char *wanted, size_t len);
void rkb_nearest_offer(rkb_nearest_t *nearest, const char *name);
/** "; did you mean \"x\"?" or "". buf is returned. */
const char *rkb_nearest_hint(const rkb_nearest_t *nearest, char *buf, size_t size);

#endif
