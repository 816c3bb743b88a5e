/* Declarations of a task: symbols, init methods, attributes, inputs, params, buffers. */
#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <string.h>

/* Checks a new name of the task's one name space. */
static rkb_status_t check_name(const rkb_task_t *task, const rkb_json_at_t *at, const char *name,
                               rkb_error_t *err)
{
    rkb_ref_t other;
    if (!rkb_name_is_identifier(name, strlen(name)))
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "\"%.80s\" is no name: letters, digits and '_', no digit first, at "
                            "most %d characters",
                            name, RKB_NAME_MAX);
    if (strcmp(name, "init") == 0 || strncmp(name, "grad_", 5) == 0)
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "\"%s\": the name \"init\" and those that begin with \"grad_\" are "
                            "reserved",
                            name);
    if (rkb_task_find_name(task, name, &other))
        return rkb_complain(at, err, RKB_ERR_INVALID, "\"%s\" is declared twice", name);
    return RKB_OK;
}

/* name and about, which every declaration has; the name is checked. */
static rkb_status_t parse_heading(const rkb_task_t *task, const rkb_json_at_t *at, char **name,
                                  char **about, rkb_error_t *err)
{
    rkb_json_at_t member;
    const char *text;
    rkb_status_t status = rkb_json_member(at, "name", &member, err);
    if (status == RKB_OK)
        status = rkb_json_as_string(&member, &text, err);
    if (status == RKB_OK)
        status = check_name(task, &member, text, err);
    if (status == RKB_OK)
        status = rkb_copy_optional(at, "about", "", about, err);
    if (status == RKB_OK)
        *name = rkb_xstrdup(text);
    return status;
}

static rkb_status_t parse_symbols(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    static const char *const keys[] = {"name", "about", NULL};
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(root, "symbols", true, &list, &count, err);
    if (status != RKB_OK)
        return status;
    task->symbols = rkb_xcalloc(count, sizeof *task->symbols);
    for (size_t i = 0; i < count; i++) {
        rkb_json_at_t at = rkb_json_element(&list, (int)i);
        status = rkb_json_expect_object(&at, err);
        if (status == RKB_OK)
            status = rkb_json_only_keys(&at, keys, err);
        if (status == RKB_OK)
            status = parse_heading(task, &at, &task->symbols[i].name, &task->symbols[i].about, err);
        if (status != RKB_OK)
            return status;
        task->symbol_count = i + 1;
    }
    return RKB_OK;
}

static rkb_status_t parse_methods(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(root, "init_methods", false, &list, &count, err);
    if (status != RKB_OK || !list.node)
        return status;
    if (count == 0)
        return rkb_complain(&list, err, RKB_ERR_INVALID, "the list is empty; leave it out");
    task->methods = rkb_xcalloc(count, sizeof *task->methods);
    for (size_t i = 0; i < count; i++) {
        rkb_json_at_t at = rkb_json_element(&list, (int)i);
        const char *text;
        status = rkb_json_as_string(&at, &text, err);
        if (status != RKB_OK)
            return status;
        if (!rkb_name_is_identifier(text, strlen(text)))
            return rkb_complain(&at, err, RKB_ERR_INVALID, "\"%.80s\" is no name", text);
        if (rkb_task_find_method(task, text) >= 0)
            return rkb_complain(&at, err, RKB_ERR_INVALID, "\"%s\" is declared twice", text);
        task->methods[i] = rkb_xstrdup(text);
        task->method_count = i + 1;
    }
    return RKB_OK;
}

static const struct {
    const char *name;
    rkb_attribute_kind_t kind;
    bool may_vary; /* may be left to the configs */
} attribute_kinds[] = {
    {"float", RKB_ATTRIBUTE_FLOAT, true},    {"int", RKB_ATTRIBUTE_INT, false},
    {"bool", RKB_ATTRIBUTE_BOOL, true},      {"int_list", RKB_ATTRIBUTE_INT_LIST, false},
    {"string", RKB_ATTRIBUTE_STRING, false}, {"none", RKB_ATTRIBUTE_NONE, false},
};
enum { ATTRIBUTE_KINDS = sizeof attribute_kinds / sizeof attribute_kinds[0] };

static rkb_status_t parse_attribute_value(const rkb_task_t *task, const rkb_json_at_t *value,
                                          rkb_attribute_t *attribute, rkb_error_t *err)
{
    rkb_status_t status;
    const char *text;
    bool truth;
    switch (attribute->kind) {
    case RKB_ATTRIBUTE_FLOAT:
        return rkb_json_as_double(value, &attribute->number, err);
    case RKB_ATTRIBUTE_BOOL:
        status = rkb_json_as_bool(value, &truth, err);
        if (status == RKB_OK)
            attribute->number = truth;
        return status;
    case RKB_ATTRIBUTE_STRING:
        status = rkb_json_as_string(value, &text, err);
        if (status == RKB_OK)
            attribute->string = rkb_xstrdup(text);
        return status;
    case RKB_ATTRIBUTE_INT:
        attribute->exprs = rkb_xcalloc(1, sizeof(rkb_expr_t *));
        attribute->count = 1;
        return rkb_parse_expr(task, value, &attribute->exprs[0], err);
    case RKB_ATTRIBUTE_INT_LIST:
        break;
    case RKB_ATTRIBUTE_NONE:
        return rkb_complain(value, err, RKB_ERR_INVALID, "an attribute of type none has no value");
    }
    status = rkb_json_expect_array(value, err);
    if (status != RKB_OK)
        return status;
    int count = cJSON_GetArraySize(value->node);
    if (count > RKB_TASK_MAX_ITEMS)
        return rkb_complain(value, err, RKB_ERR_INVALID, "the list is too long");
    attribute->exprs = rkb_xcalloc((size_t)count, sizeof(rkb_expr_t *));
    attribute->count = (size_t)count;
    for (int i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t item = rkb_json_element(value, i);
        status = rkb_parse_expr(task, &item, &attribute->exprs[i], err);
    }
    return status;
}

static rkb_status_t parse_attribute(rkb_task_t *task, const rkb_json_at_t *at,
                                    rkb_attribute_t *attribute, rkb_error_t *err)
{
    static const char *const keys[] = {"name", "about", "type", "value", NULL};
    rkb_json_at_t type, value;
    const char *text;
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status == RKB_OK)
        status = rkb_json_only_keys(at, keys, err);
    if (status == RKB_OK)
        status = parse_heading(task, at, &attribute->name, &attribute->about, err);
    if (status == RKB_OK)
        status = rkb_json_member(at, "type", &type, err);
    if (status == RKB_OK)
        status = rkb_json_as_string(&type, &text, err);
    if (status != RKB_OK)
        return status;
    size_t k = 0;
    while (k < ATTRIBUTE_KINDS && strcmp(attribute_kinds[k].name, text) != 0)
        k++;
    if (k == ATTRIBUTE_KINDS)
        return rkb_complain(&type, err, RKB_ERR_INVALID,
                            "unknown type \"%.64s\"; there are float, int, bool, int_list, string "
                            "and none",
                            text);
    attribute->kind = attribute_kinds[k].kind;
    status = rkb_json_optional(at, "value", &value, err);
    if (status != RKB_OK)
        return status;
    if (value.node)
        return parse_attribute_value(task, &value, attribute, err);
    attribute->per_config = attribute_kinds[k].may_vary;
    if (!attribute->per_config && attribute->kind != RKB_ATTRIBUTE_NONE)
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "missing \"value\": only float and bool may be left to the configs; "
                            "an integer that varies is a symbol");
    return RKB_OK;
}

static rkb_status_t parse_attributes(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(root, "attributes", false, &list, &count, err);
    if (status != RKB_OK)
        return status;
    task->attributes = rkb_xcalloc(count, sizeof *task->attributes);
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t at = rkb_json_element(&list, (int)i);
        /* Counted before it is parsed, so that what a broken one holds is freed with the task. */
        task->attribute_count = i + 1;
        status = parse_attribute(task, &at, &task->attributes[i], err);
    }
    return status;
}

/* "init" for all methods alike, or "inits" with one per method. */
static rkb_status_t parse_tensor_inits(const rkb_task_t *task, const rkb_json_at_t *at,
                                       rkb_tensor_def_t *def, rkb_error_t *err)
{
    rkb_json_at_t one, many;
    rkb_status_t status = rkb_json_optional(at, "init", &one, err);
    if (status == RKB_OK)
        status = rkb_json_optional(at, "inits", &many, err);
    if (status != RKB_OK)
        return status;
    if (!one.node == !many.node)
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "expected either \"init\" or, for one per method, \"inits\"");
    if (one.node) {
        def->inits = rkb_xcalloc(1, sizeof *def->inits);
        def->init_count = 1;
        return rkb_parse_initialiser(task, &one, def->dtype, &def->inits[0], err);
    }
    status = rkb_json_expect_object(&many, err);
    if (status != RKB_OK)
        return status;
    if (task->method_count == 0)
        return rkb_complain(&many, err, RKB_ERR_INVALID, "the task declares no \"init_methods\"");
    def->inits = rkb_xcalloc(task->method_count, sizeof *def->inits);
    def->init_count = task->method_count;
    for (const cJSON *child = many.node->child; child; child = child->next)
        if (rkb_task_find_method(task, child->string) < 0)
            return rkb_complain(&many, err, RKB_ERR_INVALID, "undeclared init method \"%.64s\"",
                                child->string);
    for (size_t m = 0; m < task->method_count && status == RKB_OK; m++) {
        rkb_json_at_t init;
        status = rkb_json_member(&many, task->methods[m], &init, err);
        if (status == RKB_OK)
            status = rkb_parse_initialiser(task, &init, def->dtype, &def->inits[m], err);
    }
    return status;
}

static rkb_status_t parse_tensor(rkb_task_t *task, const rkb_json_at_t *at, rkb_tensor_def_t *def,
                                 rkb_error_t *err)
{
    static const char *const keys[] = {"name", "about", "shape", "dtype", "init", "inits", NULL};
    rkb_json_at_t shape, dtype;
    size_t ndim = 0;
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status == RKB_OK)
        status = rkb_json_only_keys(at, keys, err);
    if (status == RKB_OK)
        status = parse_heading(task, at, &def->name, &def->about, err);
    if (status == RKB_OK)
        status = rkb_parse_list(at, "shape", true, &shape, &ndim, err);
    if (status == RKB_OK && ndim > RKB_MAX_DIMS)
        status = rkb_complain(&shape, err, RKB_ERR_INVALID, "%zu dimensions, more than %d", ndim,
                              RKB_MAX_DIMS);
    for (size_t d = 0; d < ndim && status == RKB_OK; d++) {
        rkb_json_at_t dim = rkb_json_element(&shape, (int)d);
        def->ndim = (int)d + 1;
        status = rkb_parse_expr(task, &dim, &def->shape[d], err);
    }
    def->dtype = RKB_F32;
    if (status == RKB_OK)
        status = rkb_json_optional(at, "dtype", &dtype, err);
    if (status == RKB_OK && dtype.node)
        status = rkb_parse_dtype(&dtype, &def->dtype, err);
    if (status == RKB_OK)
        status = parse_tensor_inits(task, at, def, err);
    return status;
}

static rkb_status_t parse_tensors(rkb_task_t *task, const rkb_json_at_t *root, const char *key,
                                  rkb_role_t role, rkb_error_t *err)
{
    rkb_json_at_t list;
    size_t count, first = task->tensor_count;
    rkb_status_t status = rkb_parse_list(root, key, role == RKB_ROLE_INPUT, &list, &count, err);
    if (status != RKB_OK)
        return status;
    if (role == RKB_ROLE_INPUT && count == 0)
        return rkb_complain(&list, err, RKB_ERR_INVALID, "a task needs an input");
    if (count == 0)
        return RKB_OK;
    task->tensors = rkb_xrealloc(task->tensors, first + count, sizeof *task->tensors);
    memset(task->tensors + first, 0, count * sizeof *task->tensors);
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t at = rkb_json_element(&list, (int)i);
        task->tensors[first + i].role = role;
        task->tensor_count = first + i + 1;
        status = parse_tensor(task, &at, &task->tensors[first + i], err);
    }
    return status;
}

rkb_status_t rkb_parse_declarations(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_status_t status = parse_symbols(task, root, err);
    if (status == RKB_OK)
        status = parse_methods(task, root, err);
    if (status == RKB_OK)
        status = parse_attributes(task, root, err);
    if (status == RKB_OK)
        status = parse_tensors(task, root, "inputs", RKB_ROLE_INPUT, err);
    if (status == RKB_OK)
        status = parse_tensors(task, root, "params", RKB_ROLE_PARAM, err);
    if (status == RKB_OK)
        status = parse_tensors(task, root, "buffers", RKB_ROLE_BUFFER, err);
    return status;
}
