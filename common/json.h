/**
 * @file json.h
 * Reading and writing JSON over cJSON, with paths in every complaint ("configs.multi[2].B").
 *
 * 64-bit integers are kept: cJSON holds numbers as double, so integers beyond 2^53 are written as
 * decimal strings, and the readers accept both forms; a *number* beyond 2^53 is refused because its
 * digits are already lost. (Above 10^15 writers use strings too: cJSON prints only 15 digits
 * there.) Non-finite numbers are refused on both sides.
 */
#ifndef RKB_COMMON_JSON_H
#define RKB_COMMON_JSON_H

#include "common/error.h"
#include "common/text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A node and the way to it, for error paths. Lives on the stack; parents must outlive children. */
typedef struct rkb_json_at {
    const cJSON *node;
    const struct rkb_json_at *up; /* NULL at the root */
    const char *key;              /* member name, or NULL for an array element */
    int index;                    /* array index when key is NULL */
} rkb_json_at_t;

rkb_json_at_t rkb_json_root(const cJSON *node);
/** "configs.multi[2].B"; "(top level)" at the root. buf is always terminated. */
const char *rkb_json_path(const rkb_json_at_t *at, char *buf, size_t size);

/**
 * Parses text of len bytes (no NUL needed). Trailing garbage, duplicate keys, non-finite numbers
 * and nesting beyond 64 are refused; the message has line and column. *out is owned by the caller
 * (cJSON_Delete).
 */
rkb_status_t rkb_json_parse(const char *text, size_t len, cJSON **out, rkb_error_t *err);
/** The same for a file; messages begin with the path. Files above 64 MiB are refused. */
rkb_status_t rkb_json_load(const char *path, cJSON **out, rkb_error_t *err);

/* Members. A missing required member or one of the wrong type is RKB_ERR_INVALID with its path. */
rkb_status_t rkb_json_member(const rkb_json_at_t *at, const char *key, rkb_json_at_t *out,
                             rkb_error_t *err);
/** out->node is NULL when the member is absent. */
rkb_status_t rkb_json_optional(const rkb_json_at_t *at, const char *key, rkb_json_at_t *out,
                               rkb_error_t *err);
rkb_json_at_t rkb_json_element(const rkb_json_at_t *at, int index);
/** Refuses members that are not in the NULL-terminated list, naming the nearest known key. */
rkb_status_t rkb_json_only_keys(const rkb_json_at_t *at, const char *const *keys, rkb_error_t *err);

/* The node itself, by type. Strings stay owned by the tree. */
rkb_status_t rkb_json_as_string(const rkb_json_at_t *at, const char **out, rkb_error_t *err);
rkb_status_t rkb_json_as_bool(const rkb_json_at_t *at, bool *out, rkb_error_t *err);
rkb_status_t rkb_json_as_double(const rkb_json_at_t *at, double *out, rkb_error_t *err);
rkb_status_t rkb_json_as_int64(const rkb_json_at_t *at, int64_t *out, rkb_error_t *err);
rkb_status_t rkb_json_as_uint64(const rkb_json_at_t *at, uint64_t *out, rkb_error_t *err);
rkb_status_t rkb_json_expect_object(const rkb_json_at_t *at, rkb_error_t *err);
rkb_status_t rkb_json_expect_array(const rkb_json_at_t *at, rkb_error_t *err);

/* Required member by type: rkb_json_member + rkb_json_as_*. */
rkb_status_t rkb_json_get_string(const rkb_json_at_t *at, const char *key, const char **out,
                                 rkb_error_t *err);
rkb_status_t rkb_json_get_bool(const rkb_json_at_t *at, const char *key, bool *out,
                               rkb_error_t *err);
rkb_status_t rkb_json_get_double(const rkb_json_at_t *at, const char *key, double *out,
                                 rkb_error_t *err);
rkb_status_t rkb_json_get_int64(const rkb_json_at_t *at, const char *key, int64_t *out,
                                rkb_error_t *err);
rkb_status_t rkb_json_get_uint64(const rkb_json_at_t *at, const char *key, uint64_t *out,
                                 rkb_error_t *err);

/* Writing. All return false when memory ran out; a non-finite double is written as null, the
 * last few doubles below infinity as 1.79769313486231e308 (the largest number that is read). */
bool rkb_json_add_double(cJSON *object, const char *key, double value);
bool rkb_json_add_int64(cJSON *object, const char *key, int64_t value);
bool rkb_json_add_uint64(cJSON *object, const char *key, uint64_t value);
/** Invalid UTF-8 and control characters are replaced, so that any bytes may be passed. */
bool rkb_json_add_string(cJSON *object, const char *key, const char *value);
/** One line, no newline at its end; free() it. NULL when memory ran out. */
char *rkb_json_print_line(const cJSON *node);

#endif
