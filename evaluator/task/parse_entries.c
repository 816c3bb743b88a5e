/* The entries forward and backward: argument order, returned gradients, tolerance. */
#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <string.h>

static const char *output_name(const rkb_task_t *task, size_t output)
{
    return task->program.result_names[task->program.outputs[output]];
}

/* "grad_output" of the only output, or "grad_<output>" */
static bool find_upstream(const rkb_task_t *task, const char *name, size_t *output)
{
    if (strcmp(name, "grad_output") == 0 && task->program.output_count == 1) {
        *output = 0;
        return true;
    }
    if (strncmp(name, "grad_", 5) != 0)
        return false;
    for (size_t i = 0; i < task->program.output_count; i++)
        if (strcmp(name + 5, output_name(task, i)) == 0) {
            *output = i;
            return true;
        }
    return false;
}

static rkb_status_t parse_arg(const rkb_task_t *task, const rkb_json_at_t *at,
                              rkb_direction_t direction, rkb_entry_arg_t *out, rkb_error_t *err)
{
    static const rkb_entry_kind_t kinds[] = {
        [RKB_REF_TENSOR] = RKB_ENTRY_TENSOR,
        [RKB_REF_ATTRIBUTE] = RKB_ENTRY_ATTRIBUTE,
        [RKB_REF_SYMBOL] = RKB_ENTRY_SYMBOL,
    };
    const char *name;
    rkb_ref_t ref;
    rkb_status_t status = rkb_json_as_string(at, &name, err);
    if (status != RKB_OK)
        return status;
    if (rkb_task_find_name(task, name, &ref)) {
        out->kind = kinds[ref.kind];
        out->index = ref.index;
    } else if (direction == RKB_BACKWARD && find_upstream(task, name, &out->index)) {
        out->kind = RKB_ENTRY_GRAD;
    } else {
        rkb_nearest_t nearest = rkb_nearest_init(name, strlen(name));
        char hint[RKB_NAME_MAX + 32];
        for (size_t i = 0; i < task->tensor_count; i++)
            rkb_nearest_offer(&nearest, task->tensors[i].name);
        for (size_t i = 0; i < task->attribute_count; i++)
            rkb_nearest_offer(&nearest, task->attributes[i].name);
        if (direction == RKB_BACKWARD && task->program.output_count == 1)
            rkb_nearest_offer(&nearest, "grad_output");
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "\"%.64s\" is no input, param, buffer, attribute or symbol%s", name,
                            rkb_nearest_hint(&nearest, hint, sizeof hint));
    }
    out->name = rkb_xstrdup(name);
    return RKB_OK;
}

static rkb_status_t parse_args(rkb_task_t *task, const rkb_json_at_t *at, rkb_direction_t direction,
                               rkb_error_t *err)
{
    rkb_entry_def_t *entry = &task->entries[direction];
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(at, "args", true, &list, &count, err);
    if (status == RKB_OK && (count == 0 || count > RKB_CALL_MAX_ARGS))
        status = rkb_complain(&list, err, RKB_ERR_INVALID, "expected 1 to %d arguments",
                              RKB_CALL_MAX_ARGS);
    if (status != RKB_OK)
        return status;
    entry->args = rkb_xcalloc(count, sizeof *entry->args);
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t item = rkb_json_element(&list, (int)i);
        status = parse_arg(task, &item, direction, &entry->args[i], err);
        entry->arg_count = i + 1;
    }
    return status;
}

static rkb_status_t parse_returns(rkb_task_t *task, const rkb_json_at_t *at, rkb_error_t *err)
{
    rkb_entry_def_t *entry = &task->entries[RKB_BACKWARD];
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(at, "returns", true, &list, &count, err);
    if (status == RKB_OK && (count == 0 || count > RKB_CALL_MAX_ARGS))
        status = rkb_complain(&list, err, RKB_ERR_INVALID, "expected 1 to %d tensors",
                              RKB_CALL_MAX_ARGS);
    if (status != RKB_OK)
        return status;
    entry->returns = rkb_xcalloc(count, sizeof *entry->returns);
    entry->gradient_names = rkb_xcalloc(count, sizeof *entry->gradient_names);
    for (size_t i = 0; i < count; i++) {
        rkb_json_at_t item = rkb_json_element(&list, (int)i);
        const char *name;
        rkb_ref_t ref;
        status = rkb_json_as_string(&item, &name, err);
        if (status != RKB_OK)
            return status;
        if (!rkb_task_find_name(task, name, &ref) || ref.kind != RKB_REF_TENSOR)
            return rkb_complain(&item, err, RKB_ERR_INVALID,
                                "\"%.64s\" is no input, param or buffer", name);
        if (!rkb_dtype_is_float(task->tensors[ref.index].dtype))
            return rkb_complain(&item, err, RKB_ERR_INVALID, "\"%s\" is %s: it has no gradient",
                                name, rkb_dtype_text(task->tensors[ref.index].dtype));
        for (size_t j = 0; j < i; j++)
            if (entry->returns[j] == ref.index)
                return rkb_complain(&item, err, RKB_ERR_INVALID, "\"%s\" is listed twice", name);
        entry->returns[i] = ref.index;
        entry->gradient_names[i] = rkb_strf("grad_%s", name);
        entry->return_count = i + 1;
    }
    return RKB_OK;
}

static rkb_status_t parse_tolerance(const rkb_json_at_t *at, rkb_entry_def_t *entry,
                                    rkb_error_t *err)
{
    static const char *const keys[] = {"atol", "rtol", NULL};
    rkb_json_at_t tolerance;
    rkb_status_t status = rkb_json_member(at, "tolerance", &tolerance, err);
    if (status == RKB_OK)
        status = rkb_json_expect_object(&tolerance, err);
    if (status == RKB_OK)
        status = rkb_json_only_keys(&tolerance, keys, err);
    if (status == RKB_OK)
        status = rkb_json_get_double(&tolerance, "atol", &entry->atol, err);
    if (status == RKB_OK)
        status = rkb_json_get_double(&tolerance, "rtol", &entry->rtol, err);
    if (status == RKB_OK && (entry->atol < 0 || entry->rtol < 0))
        status = rkb_complain(&tolerance, err, RKB_ERR_INVALID, "a tolerance is negative");
    return status;
}

static rkb_status_t parse_entry(rkb_task_t *task, const rkb_json_at_t *at,
                                rkb_direction_t direction, rkb_error_t *err)
{
    static const char *const forward_keys[] = {"args", "tolerance", NULL};
    static const char *const backward_keys[] = {"args", "returns", "tolerance", NULL};
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status == RKB_OK)
        status =
            rkb_json_only_keys(at, direction == RKB_FORWARD ? forward_keys : backward_keys, err);
    if (status == RKB_OK)
        status = parse_args(task, at, direction, err);
    if (status == RKB_OK && direction == RKB_BACKWARD)
        status = parse_returns(task, at, err);
    if (status == RKB_OK)
        status = parse_tolerance(at, &task->entries[direction], err);
    task->entries[direction].present = status == RKB_OK;
    return status;
}

rkb_status_t rkb_parse_entries(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    bool any = false;
    for (int d = 0; d < RKB_DIRECTIONS; d++) {
        rkb_json_at_t at;
        rkb_status_t status = rkb_json_optional(root, rkb_direction_name(d), &at, err);
        if (status == RKB_OK && at.node)
            status = parse_entry(task, &at, d, err);
        if (status != RKB_OK)
            return status;
        any = any || at.node;
    }
    if (!any)
        return rkb_complain(root, err, RKB_ERR_INVALID, "a task needs \"forward\" or \"backward\"");
    return RKB_OK;
}
