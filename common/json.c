#include "common/json.h"

#include "common/file.h"
#include "common/json_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 64 << 20, PATH_SIZE = 256, SMALL_OBJECT = 16 };

#define EXACT_LIMIT 9007199254740992.0           /* 2^53: the last double with its neighbours */
#define PRINTED_EXACTLY INT64_C(999999999999999) /* what cJSON prints digit by digit */

/* ---- paths ---- */

rkb_json_at_t rkb_json_root(const cJSON *node)
{
    return (rkb_json_at_t){.node = node};
}

/* Appends from the root down; `used` counts even what did not fit. */
static size_t path_append(const rkb_json_at_t *at, char *buf, size_t size)
{
    size_t used = at->up ? path_append(at->up, buf, size) : 0;
    char *rest = used < size ? buf + used : NULL;
    size_t room = used < size ? size - used : 0;
    int wrote = 0;
    if (at->key)
        wrote = snprintf(rest, room, "%s%s", used ? "." : "", at->key);
    else if (at->up)
        wrote = snprintf(rest, room, "[%d]", at->index);
    return used + (size_t)(wrote > 0 ? wrote : 0);
}

const char *rkb_json_path(const rkb_json_at_t *at, char *buf, size_t size)
{
    if (size == 0)
        return "";
    buf[0] = '\0';
    if (path_append(at, buf, size) == 0)
        snprintf(buf, size, "(top level)");
    rkb_text_sanitize(buf); /* a key may hold anything, and cutting may have split a character */
    return buf;
}

/* ---- parsing ---- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(cJSON *const *)a)->string, (*(cJSON *const *)b)->string);
}

/* A member of the object whose name an earlier member has, or NULL. */
static const cJSON *find_duplicate(const cJSON *object)
{
    size_t count = 0;
    for (const cJSON *member = object->child; member; member = member->next)
        count++;
    if (count <= SMALL_OBJECT) {
        for (const cJSON *member = object->child; member; member = member->next) {
            for (const cJSON *earlier = object->child; earlier != member; earlier = earlier->next) {
                if (strcmp(earlier->string, member->string) == 0)
                    return member;
            }
        }
        return NULL;
    }
    const cJSON **sorted = rkb_xcalloc(count, sizeof(*sorted));
    size_t i = 0;
    for (const cJSON *member = object->child; member; member = member->next)
        sorted[i++] = member;
    qsort(sorted, count, sizeof(*sorted), compare_keys);
    const cJSON *found = NULL;
    for (i = 1; i < count && !found; i++) {
        if (strcmp(sorted[i - 1]->string, sorted[i]->string) == 0)
            found = sorted[i];
    }
    free(sorted);
    return found;
}

/* Any object below node with a member given twice. */
static const cJSON *find_any_duplicate(const cJSON *node)
{
    const cJSON *found = cJSON_IsObject(node) ? find_duplicate(node) : NULL;
    for (const cJSON *child = node->child; child && !found; child = child->next)
        found = find_any_duplicate(child);
    return found;
}

/* Number of the member in the order of the text; counts on in *keys. */
static bool find_key_number(const cJSON *node, const cJSON *wanted, size_t *keys)
{
    for (const cJSON *child = node->child; child; child = child->next) {
        if (child == wanted)
            return true;
        if (child->string)
            ++*keys;
        if (find_key_number(child, wanted, keys))
            return true;
    }
    return false;
}

static rkb_status_t complain_at(const char *text, size_t offset, const char *fault,
                                const char *name, rkb_error_t *err)
{
    size_t line, column;
    rkb_json_locate(text, offset, &line, &column);
    if (!name)
        return rkb_error_set(err, RKB_ERR_INVALID, "line %zu, column %zu: %s", line, column, fault);
    char shown[PATH_SIZE];
    snprintf(shown, sizeof shown, "%s", name);
    rkb_text_sanitize(shown);
    return rkb_error_set(err, RKB_ERR_INVALID, "line %zu, column %zu: %s \"%s\"", line, column,
                         fault, shown);
}

rkb_status_t rkb_json_parse(const char *text, size_t len, cJSON **out, rkb_error_t *err)
{
    rkb_json_scan_t scan = {.text = text, .len = len, .stop_at_key = SIZE_MAX};
    if (!rkb_json_scan(&scan))
        return complain_at(text, scan.at, scan.fault, NULL, err);
    cJSON *tree = cJSON_ParseWithLength(text, len);
    if (!tree)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory while reading JSON");
    const cJSON *twice = find_any_duplicate(tree);
    if (twice) {
        rkb_json_scan_t again = {.text = text, .len = len, .stop_at_key = 0};
        find_key_number(tree, twice, &again.stop_at_key);
        rkb_json_scan(&again);
        rkb_status_t status = complain_at(text, again.at, "duplicate key", twice->string, err);
        cJSON_Delete(tree);
        return status;
    }
    *out = tree;
    return RKB_OK;
}

rkb_status_t rkb_json_load(const char *path, cJSON **out, rkb_error_t *err)
{
    char *text;
    size_t len;
    rkb_status_t status = rkb_file_read(path, FILE_LIMIT, &text, &len, err);
    if (status != RKB_OK)
        return status;
    status = rkb_json_parse(text, len, out, err);
    free(text);
    if (status != RKB_OK)
        rkb_error_prefix(err, "%s", path);
    return status;
}

/* ---- members ---- */

static const char *type_name(const cJSON *node)
{
    if (cJSON_IsObject(node))
        return "an object";
    if (cJSON_IsArray(node))
        return "an array";
    if (cJSON_IsString(node))
        return "a string";
    if (cJSON_IsNumber(node))
        return "a number";
    if (cJSON_IsBool(node))
        return "a boolean";
    return "null";
}

static rkb_status_t wrong_type(const rkb_json_at_t *at, const char *wanted, rkb_error_t *err)
{
    char path[PATH_SIZE];
    rkb_json_path(at, path, sizeof path);
    if (!at->node)
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: missing", path);
    return rkb_error_set(err, RKB_ERR_INVALID, "%s: expected %s, found %s", path, wanted,
                         type_name(at->node));
}

rkb_status_t rkb_json_expect_object(const rkb_json_at_t *at, rkb_error_t *err)
{
    return cJSON_IsObject(at->node) ? RKB_OK : wrong_type(at, "an object", err);
}

rkb_status_t rkb_json_expect_array(const rkb_json_at_t *at, rkb_error_t *err)
{
    return cJSON_IsArray(at->node) ? RKB_OK : wrong_type(at, "an array", err);
}

rkb_status_t rkb_json_optional(const rkb_json_at_t *at, const char *key, rkb_json_at_t *out,
                               rkb_error_t *err)
{
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status != RKB_OK)
        return status;
    *out = (rkb_json_at_t){
        .node = cJSON_GetObjectItemCaseSensitive(at->node, key), .up = at, .key = key};
    return RKB_OK;
}

rkb_status_t rkb_json_member(const rkb_json_at_t *at, const char *key, rkb_json_at_t *out,
                             rkb_error_t *err)
{
    rkb_json_at_t member;
    rkb_status_t status = rkb_json_optional(at, key, &member, err);
    if (status != RKB_OK)
        return status;
    if (!member.node)
        return wrong_type(&member, "", err);
    *out = member;
    return RKB_OK;
}

rkb_json_at_t rkb_json_element(const rkb_json_at_t *at, int index)
{
    return (rkb_json_at_t){.node = cJSON_GetArrayItem(at->node, index), .up = at, .index = index};
}

rkb_status_t rkb_json_only_keys(const rkb_json_at_t *at, const char *const *keys, rkb_error_t *err)
{
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status != RKB_OK)
        return status;
    for (const cJSON *member = at->node->child; member; member = member->next) {
        bool known = false;
        for (const char *const *key = keys; *key && !known; key++)
            known = strcmp(*key, member->string) == 0;
        if (known)
            continue;
        rkb_json_at_t unknown = {.node = member, .up = at, .key = member->string};
        char path[PATH_SIZE];
        rkb_json_path(&unknown, path, sizeof path);
        const char *near = rkb_text_nearest(member->string, keys);
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: unknown key%s%s%s", path,
                             near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return RKB_OK;
}

/* ---- values ---- */

rkb_status_t rkb_json_as_string(const rkb_json_at_t *at, const char **out, rkb_error_t *err)
{
    if (!cJSON_IsString(at->node))
        return wrong_type(at, "a string", err);
    *out = at->node->valuestring;
    return RKB_OK;
}

rkb_status_t rkb_json_as_bool(const rkb_json_at_t *at, bool *out, rkb_error_t *err)
{
    if (!cJSON_IsBool(at->node))
        return wrong_type(at, "true or false", err);
    *out = cJSON_IsTrue(at->node);
    return RKB_OK;
}

rkb_status_t rkb_json_as_double(const rkb_json_at_t *at, double *out, rkb_error_t *err)
{
    /* A tree that the program built itself may hold what no text can. */
    if (!cJSON_IsNumber(at->node) || !isfinite(at->node->valuedouble))
        return wrong_type(at, "a finite number", err);
    *out = at->node->valuedouble;
    return RKB_OK;
}

static rkb_status_t out_of_range(const rkb_json_at_t *at, const char *why, rkb_error_t *err)
{
    char path[PATH_SIZE];
    return rkb_error_set(err, RKB_ERR_INVALID, "%s: %s", rkb_json_path(at, path, sizeof path), why);
}

/* Digits only, with a sign where allowed: strtoll would also take blanks, '+' and more. */
static bool is_decimal(const char *text, bool negative_allowed)
{
    if (negative_allowed && *text == '-')
        text++;
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* A number node as an exact integer of either sign. */
static rkb_status_t exact_integer(const rkb_json_at_t *at, int64_t *out, rkb_error_t *err)
{
    double value;
    rkb_status_t status = rkb_json_as_double(at, &value, err);
    if (status != RKB_OK)
        return status;
    if (value != floor(value))
        return out_of_range(at, "expected an integer, found a fraction", err);
    if (fabs(value) > EXACT_LIMIT)
        return out_of_range(at, "integers beyond 2^53 must be written as a string of digits", err);
    *out = (int64_t)value;
    return RKB_OK;
}

rkb_status_t rkb_json_as_int64(const rkb_json_at_t *at, int64_t *out, rkb_error_t *err)
{
    if (!cJSON_IsString(at->node))
        return exact_integer(at, out, err);
    const char *text = at->node->valuestring;
    if (!is_decimal(text, true))
        return out_of_range(at, "expected an integer", err);
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return out_of_range(at, "does not fit into 64 bits", err);
    *out = value;
    return RKB_OK;
}

rkb_status_t rkb_json_as_uint64(const rkb_json_at_t *at, uint64_t *out, rkb_error_t *err)
{
    if (!cJSON_IsString(at->node)) {
        int64_t value;
        rkb_status_t status = exact_integer(at, &value, err);
        if (status != RKB_OK)
            return status;
        if (value < 0)
            return out_of_range(at, "must not be negative", err);
        *out = (uint64_t)value;
        return RKB_OK;
    }
    const char *text = at->node->valuestring;
    if (!is_decimal(text, false))
        return out_of_range(at, "expected an integer that is not negative", err);
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno == ERANGE)
        return out_of_range(at, "does not fit into 64 bits", err);
    *out = value;
    return RKB_OK;
}

#define RKB_JSON_GETTER(_type, _name)                                                              \
    rkb_status_t rkb_json_get_##_name(const rkb_json_at_t *at, const char *key, _type *out,        \
                                      rkb_error_t *err)                                            \
    {                                                                                              \
        rkb_json_at_t member;                                                                      \
        rkb_status_t status = rkb_json_member(at, key, &member, err);                              \
        return status == RKB_OK ? rkb_json_as_##_name(&member, out, err) : status;                 \
    }
RKB_JSON_GETTER(const char *, string)
RKB_JSON_GETTER(bool, bool)
RKB_JSON_GETTER(double, double)
RKB_JSON_GETTER(int64_t, int64)
RKB_JSON_GETTER(uint64_t, uint64)
#undef RKB_JSON_GETTER

/* ---- writing ---- */

bool rkb_json_add_double(cJSON *object, const char *key, double value)
{
    if (!isfinite(value))
        return cJSON_AddNullToObject(object, key) != NULL;
    /* A candidate can make an error of any size; it must not make a line that cannot be read. */
    if (fabs(value) > RKB_JSON_NUMBER_MAX)
        value = copysign(RKB_JSON_NUMBER_MAX, value);
    return cJSON_AddNumberToObject(object, key, value) != NULL;
}

bool rkb_json_add_int64(cJSON *object, const char *key, int64_t value)
{
    if (value >= -PRINTED_EXACTLY && value <= PRINTED_EXACTLY)
        return cJSON_AddNumberToObject(object, key, (double)value) != NULL;
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    return cJSON_AddStringToObject(object, key, digits) != NULL;
}

bool rkb_json_add_uint64(cJSON *object, const char *key, uint64_t value)
{
    if (value <= (uint64_t)PRINTED_EXACTLY)
        return cJSON_AddNumberToObject(object, key, (double)value) != NULL;
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    return cJSON_AddStringToObject(object, key, digits) != NULL;
}

bool rkb_json_add_string(cJSON *object, const char *key, const char *value)
{
    if (!value)
        return cJSON_AddNullToObject(object, key) != NULL;
    char *clean = strdup(value);
    if (!clean)
        return false;
    rkb_text_sanitize(clean);
    bool added = cJSON_AddStringToObject(object, key, clean) != NULL;
    free(clean);
    return added;
}

char *rkb_json_print_line(const cJSON *node)
{
    return cJSON_PrintUnformatted(node);
}
