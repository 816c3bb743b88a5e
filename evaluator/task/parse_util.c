/* Helpers of the task parsers: complaints with paths, names, element types. */
#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <stdio.h>
#include <string.h>

rkb_status_t rkb_complain(const rkb_json_at_t *at, rkb_error_t *err, rkb_status_t status,
                          const char *fmt, ...)
{
    char path[256];
    va_list ap;
    va_start(ap, fmt);
    rkb_error_vset(err, status, fmt, ap);
    va_end(ap);
    rkb_error_prefix(err, "%s", rkb_json_path(at, path, sizeof path));
    return status;
}

rkb_status_t rkb_complain_prefix(const rkb_json_at_t *at, rkb_error_t *err)
{
    char path[256];
    return rkb_error_prefix(err, "%s", rkb_json_path(at, path, sizeof path));
}

const char *rkb_task_scope(const void *scope, size_t index)
{
    const rkb_task_t *task = scope;
    return index < task->symbol_count ? task->symbols[index].name : NULL;
}

rkb_status_t rkb_parse_expr(const rkb_task_t *task, const rkb_json_at_t *at, rkb_expr_t **out,
                            rkb_error_t *err)
{
    if (cJSON_IsString(at->node)) {
        rkb_status_t status = rkb_expr_parse(at->node->valuestring, rkb_task_scope, task, out, err);
        return status == RKB_OK ? RKB_OK : (rkb_complain_prefix(at, err), status);
    }
    if (!cJSON_IsNumber(at->node))
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "expected an integer or an expression of symbols");
    int64_t value;
    rkb_status_t status = rkb_json_as_int64(at, &value, err);
    if (status == RKB_OK)
        *out = rkb_expr_constant(value);
    return status;
}

static const struct {
    rkb_dtype_t dtype;
    const char *name;
    size_t bytes;
} dtypes[] = {
#define DTYPE_ROW(_e, _name, _size, _torch) {RKB_##_e, _name, _size},
    RKB_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};
enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

size_t rkb_dtype_bytes(rkb_dtype_t dtype)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].bytes;
    return 0;
}

const char *rkb_dtype_text(rkb_dtype_t dtype)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return "unknown";
}

bool rkb_dtype_is_float(rkb_dtype_t dtype)
{
    return dtype == RKB_F16 || dtype == RKB_BF16 || dtype == RKB_F32 || dtype == RKB_F64;
}

rkb_status_t rkb_parse_dtype(const rkb_json_at_t *at, rkb_dtype_t *out, rkb_error_t *err)
{
    const char *text;
    rkb_status_t status = rkb_json_as_string(at, &text, err);
    if (status != RKB_OK)
        return status;
    rkb_nearest_t nearest = rkb_nearest_init(text, strlen(text));
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, text) == 0) {
            *out = dtypes[i].dtype;
            return RKB_OK;
        }
        rkb_nearest_offer(&nearest, dtypes[i].name);
    }
    char hint[RKB_NAME_MAX + 32];
    return rkb_complain(at, err, RKB_ERR_INVALID, "unknown dtype \"%.64s\"%s", text,
                        rkb_nearest_hint(&nearest, hint, sizeof hint));
}

rkb_status_t rkb_copy_optional(const rkb_json_at_t *at, const char *key, const char *absent,
                               char **out, rkb_error_t *err)
{
    rkb_json_at_t member;
    const char *text = absent;
    rkb_status_t status = rkb_json_optional(at, key, &member, err);
    if (status == RKB_OK && member.node)
        status = rkb_json_as_string(&member, &text, err);
    if (status == RKB_OK)
        *out = text ? rkb_xstrdup(text) : NULL;
    return status;
}

rkb_status_t rkb_parse_list(const rkb_json_at_t *at, const char *key, bool required,
                            rkb_json_at_t *out, size_t *count, rkb_error_t *err)
{
    rkb_status_t status =
        required ? rkb_json_member(at, key, out, err) : rkb_json_optional(at, key, out, err);
    if (status != RKB_OK)
        return status;
    *count = 0;
    if (!out->node)
        return RKB_OK;
    status = rkb_json_expect_array(out, err);
    if (status != RKB_OK)
        return status;
    int size = cJSON_GetArraySize(out->node);
    if (size > RKB_TASK_MAX_ITEMS)
        return rkb_complain(out, err, RKB_ERR_INVALID, "%d elements, more than %d", size,
                            RKB_TASK_MAX_ITEMS);
    *count = (size_t)size;
    return RKB_OK;
}

bool rkb_task_find_name(const rkb_task_t *task, const char *name, rkb_ref_t *out)
{
    for (size_t i = 0; i < task->tensor_count; i++)
        if (task->tensors[i].name && strcmp(task->tensors[i].name, name) == 0) {
            *out = (rkb_ref_t){RKB_REF_TENSOR, i, -1};
            return true;
        }
    for (size_t i = 0; i < task->attribute_count; i++)
        if (task->attributes[i].name && strcmp(task->attributes[i].name, name) == 0) {
            *out = (rkb_ref_t){RKB_REF_ATTRIBUTE, i, -1};
            return true;
        }
    for (size_t i = 0; i < task->symbol_count; i++)
        if (task->symbols[i].name && strcmp(task->symbols[i].name, name) == 0) {
            *out = (rkb_ref_t){RKB_REF_SYMBOL, i, -1};
            return true;
        }
    return false;
}

int rkb_task_find_method(const rkb_task_t *task, const char *name)
{
    for (size_t i = 0; i < task->method_count; i++)
        if (task->methods[i] && strcmp(task->methods[i], name) == 0)
            return (int)i;
    return -1;
}
