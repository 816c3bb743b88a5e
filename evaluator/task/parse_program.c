/*
 * The program: calls of ATen operators. An argument is a JSON value:
 *   "$x"   the value named x; "$parts[1]" one tensor of a list    "=H//2"  an integer expression
 *   "text" a string ("$$…" and "==…" for one that begins so)      [ … ]    a list
 *   {"dtype": "float32"}   numbers, true, false, null as they are
 */
#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void offer_all(const rkb_task_t *task, rkb_nearest_t *nearest)
{
    for (size_t i = 0; i < task->tensor_count; i++)
        rkb_nearest_offer(nearest, task->tensors[i].name);
    for (size_t i = 0; i < task->attribute_count; i++)
        rkb_nearest_offer(nearest, task->attributes[i].name);
    for (size_t i = 0; i < task->symbol_count; i++)
        rkb_nearest_offer(nearest, task->symbols[i].name);
    for (size_t i = 0; i < task->program.result_count; i++)
        if (task->program.result_names[i])
            rkb_nearest_offer(nearest, task->program.result_names[i]);
}

/* Results shadow nothing, since names are unique; `task` holds those of the calls before. */
static bool find_result(const rkb_task_t *task, const char *name, size_t *out)
{
    for (size_t i = 0; i < task->program.result_count; i++)
        if (task->program.result_names[i] && strcmp(task->program.result_names[i], name) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* text: "x" or "x[1]", without the dollar */
static rkb_status_t parse_ref(const rkb_task_t *task, const rkb_json_at_t *at, const char *text,
                              rkb_ref_t *out, rkb_error_t *err)
{
    char name[RKB_NAME_MAX + 1];
    size_t len = strcspn(text, "[");
    int element = -1;
    if (!rkb_name_is_identifier(text, len))
        return rkb_complain(at, err, RKB_ERR_INVALID, "\"$%.80s\" is no reference to a value",
                            text);
    memcpy(name, text, len);
    name[len] = '\0';
    if (text[len] == '[') {
        char *end;
        long index = strtol(text + len + 1, &end, 10);
        if (!isdigit((unsigned char)text[len + 1]) || strcmp(end, "]") != 0 || index > 65535)
            return rkb_complain(at, err, RKB_ERR_INVALID,
                                "\"$%.80s\": expected the number of an element, \"$%s[0]\"", text,
                                name);
        element = (int)index;
    }
    size_t result;
    if (find_result(task, name, &result)) {
        *out = (rkb_ref_t){RKB_REF_RESULT, result, element};
        return RKB_OK;
    }
    if (!rkb_task_find_name(task, name, out)) {
        char hint[RKB_NAME_MAX + 32];
        rkb_nearest_t nearest = rkb_nearest_init(name, len);
        offer_all(task, &nearest);
        return rkb_complain(at, err, RKB_ERR_INVALID, "\"$%s\" is not defined at this point%s",
                            name, rkb_nearest_hint(&nearest, hint, sizeof hint));
    }
    if (element >= 0)
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "\"$%s\" is no result of a call, so it has no elements", name);
    return RKB_OK;
}

static rkb_status_t parse_operand(const rkb_task_t *task, const rkb_json_at_t *at, bool in_list,
                                  rkb_operand_t *out, rkb_error_t *err);

static rkb_status_t parse_string_operand(const rkb_task_t *task, const rkb_json_at_t *at,
                                         rkb_operand_t *out, rkb_error_t *err)
{
    const char *text = at->node->valuestring;
    bool escaped = (text[0] == '$' || text[0] == '=') && text[1] == text[0];
    if (text[0] == '$' && !escaped) {
        out->kind = RKB_OPERAND_REF;
        return parse_ref(task, at, text + 1, &out->ref, err);
    }
    if (text[0] == '=' && !escaped) {
        rkb_expr_t *expr;
        rkb_status_t status = rkb_expr_parse(text + 1, rkb_task_scope, task, &expr, err);
        if (status != RKB_OK)
            return rkb_complain_prefix(at, err), status;
        out->kind = RKB_OPERAND_EXPR;
        out->expr = expr;
        return RKB_OK;
    }
    out->kind = RKB_OPERAND_STRING;
    out->s = rkb_xstrdup(text + escaped);
    return RKB_OK;
}

static rkb_status_t parse_list_operand(const rkb_task_t *task, const rkb_json_at_t *at,
                                       rkb_operand_t *out, rkb_error_t *err)
{
    int count = cJSON_GetArraySize(at->node);
    if (count > RKB_TASK_MAX_ITEMS)
        return rkb_complain(at, err, RKB_ERR_INVALID, "the list is too long");
    out->kind = RKB_OPERAND_LIST;
    out->list.count = (size_t)count;
    out->list.items = rkb_xcalloc((size_t)count, sizeof *out->list.items);
    rkb_status_t status = RKB_OK;
    for (int i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t item = rkb_json_element(at, i);
        status = parse_operand(task, &item, true, &out->list.items[i], err);
    }
    return status;
}

static rkb_status_t parse_operand(const rkb_task_t *task, const rkb_json_at_t *at, bool in_list,
                                  rkb_operand_t *out, rkb_error_t *err)
{
    static const char *const keys[] = {"dtype", NULL};
    const cJSON *node = at->node;
    if (cJSON_IsNull(node)) {
        out->kind = RKB_OPERAND_NONE;
        return RKB_OK;
    }
    if (cJSON_IsBool(node)) {
        out->kind = RKB_OPERAND_BOOL;
        out->i = cJSON_IsTrue(node);
        return RKB_OK;
    }
    if (cJSON_IsNumber(node)) {
        if (node->valuedouble == floor(node->valuedouble) && fabs(node->valuedouble) <= 0x1p53) {
            out->kind = RKB_OPERAND_INT;
            return rkb_json_as_int64(at, &out->i, err);
        }
        out->kind = RKB_OPERAND_DOUBLE;
        return rkb_json_as_double(at, &out->d, err);
    }
    if (cJSON_IsString(node))
        return parse_string_operand(task, at, out, err);
    if (in_list)
        return rkb_complain(at, err, RKB_ERR_INVALID, "a list holds no lists and no objects");
    if (cJSON_IsArray(node))
        return parse_list_operand(task, at, out, err);
    rkb_json_at_t member;
    rkb_dtype_t dtype;
    rkb_status_t status = rkb_json_only_keys(at, keys, err);
    if (status == RKB_OK)
        status = rkb_json_member(at, "dtype", &member, err);
    if (status == RKB_OK)
        status = rkb_parse_dtype(&member, &dtype, err);
    if (status == RKB_OK) {
        out->kind = RKB_OPERAND_DTYPE;
        out->i = dtype;
    }
    return status;
}

static rkb_status_t parse_operands(const rkb_task_t *task, const rkb_json_at_t *at,
                                   rkb_program_call_t *call, rkb_error_t *err)
{
    rkb_json_at_t args, named;
    size_t positional;
    rkb_status_t status = rkb_parse_list(at, "args", false, &args, &positional, err);
    if (status == RKB_OK)
        status = rkb_json_optional(at, "named", &named, err);
    if (status == RKB_OK && named.node)
        status = rkb_json_expect_object(&named, err);
    if (status != RKB_OK)
        return status;
    size_t count = positional + (named.node ? (size_t)cJSON_GetArraySize(named.node) : 0);
    if (count > RKB_CALL_MAX_ARGS)
        return rkb_complain(at, err, RKB_ERR_INVALID, "%zu arguments, more than %d", count,
                            RKB_CALL_MAX_ARGS);
    call->operands = rkb_xcalloc(count, sizeof *call->operands);
    call->operand_count = count;
    call->positional_count = positional;
    for (size_t i = 0; i < positional && status == RKB_OK; i++) {
        rkb_json_at_t item = rkb_json_element(&args, (int)i);
        status = parse_operand(task, &item, false, &call->operands[i], err);
    }
    const cJSON *child = named.node ? named.node->child : NULL;
    for (size_t i = positional; i < count && status == RKB_OK; i++, child = child->next) {
        rkb_json_at_t item;
        call->operands[i].name = rkb_xstrdup(child->string);
        status = rkb_json_member(&named, child->string, &item, err);
        if (status == RKB_OK)
            status = parse_operand(task, &item, false, &call->operands[i], err);
    }
    return status;
}

static rkb_status_t parse_result(rkb_task_t *task, const rkb_json_at_t *at, rkb_error_t *err)
{
    rkb_program_t *program = &task->program;
    const char *name = NULL;
    rkb_ref_t other;
    size_t result;
    if (!cJSON_IsNull(at->node)) {
        rkb_status_t status = rkb_json_as_string(at, &name, err);
        if (status != RKB_OK)
            return status;
        if (!rkb_name_is_identifier(name, strlen(name)))
            return rkb_complain(at, err, RKB_ERR_INVALID, "\"%.80s\" is no name", name);
        if (strncmp(name, "grad_", 5) == 0)
            return rkb_complain(at, err, RKB_ERR_INVALID,
                                "\"%s\": names that begin with \"grad_\" are reserved", name);
        if (rkb_task_find_name(task, name, &other) || find_result(task, name, &result))
            return rkb_complain(at, err, RKB_ERR_INVALID, "\"%s\" is already defined", name);
    }
    if (program->result_count == RKB_TASK_MAX_ITEMS)
        return rkb_complain(at, err, RKB_ERR_INVALID, "the program has too many results");
    program->result_names = rkb_xrealloc(program->result_names, program->result_count + 1,
                                         sizeof *program->result_names);
    program->result_names[program->result_count++] = name ? rkb_xstrdup(name) : NULL;
    return RKB_OK;
}

/* "result": one name, or "results": a list of names, null for one that is not used */
static rkb_status_t parse_results(rkb_task_t *task, const rkb_json_at_t *at,
                                  rkb_program_call_t *call, rkb_error_t *err)
{
    rkb_json_at_t one, many;
    size_t count;
    rkb_status_t status = rkb_json_optional(at, "result", &one, err);
    if (status == RKB_OK)
        status = rkb_parse_list(at, "results", false, &many, &count, err);
    if (status != RKB_OK)
        return status;
    if (!one.node == !many.node)
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "expected either \"result\" or, for several, \"results\"");
    call->first_result = task->program.result_count;
    if (one.node) {
        call->result_count = 1;
        return parse_result(task, &one, err);
    }
    if (count == 0 || count > RKB_CALL_MAX_RESULTS)
        return rkb_complain(&many, err, RKB_ERR_INVALID, "expected 1 to %d results",
                            RKB_CALL_MAX_RESULTS);
    call->result_count = count;
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t item = rkb_json_element(&many, (int)i);
        status = parse_result(task, &item, err);
    }
    return status;
}

/* namespace::name or namespace::name.overload; never in place, since inputs are shared */
static rkb_status_t check_operator(const rkb_json_at_t *at, const char *op, rkb_error_t *err)
{
    const char *colons = strstr(op, "::");
    const char *dot = strchr(op, '.');
    size_t space = colons ? (size_t)(colons - op) : 0;
    size_t base = colons ? (dot ? (size_t)(dot - colons - 2) : strlen(colons + 2)) : 0;
    if (!colons || (dot && dot < colons) || !rkb_name_is_identifier(op, space) ||
        !rkb_name_is_identifier(colons + 2, base) ||
        (dot && !rkb_name_is_identifier(dot + 1, strlen(dot + 1))))
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "\"%.80s\" is no operator name; expected \"aten::name\" or "
                            "\"aten::name.overload\"",
                            op);
    if (colons[2 + base - 1] == '_' && colons[2] != '_')
        return rkb_complain(at, err, RKB_ERR_INVALID,
                            "\"%.80s\" works in place; a program must not change its inputs", op);
    return RKB_OK;
}

static rkb_status_t parse_call(rkb_task_t *task, const rkb_json_at_t *at, rkb_program_call_t *call,
                               rkb_error_t *err)
{
    static const char *const keys[] = {"op", "args", "named", "result", "results", NULL};
    rkb_json_at_t op;
    const char *name;
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status == RKB_OK)
        status = rkb_json_only_keys(at, keys, err);
    if (status == RKB_OK)
        status = rkb_json_member(at, "op", &op, err);
    if (status == RKB_OK)
        status = rkb_json_as_string(&op, &name, err);
    if (status == RKB_OK)
        status = check_operator(&op, name, err);
    if (status != RKB_OK)
        return status;
    call->op = rkb_xstrdup(name);
    status = parse_operands(task, at, call, err);
    return status == RKB_OK ? parse_results(task, at, call, err) : status;
}

static rkb_status_t parse_outputs(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_program_t *program = &task->program;
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(root, "outputs", true, &list, &count, err);
    if (status == RKB_OK && count == 0)
        status = rkb_complain(&list, err, RKB_ERR_INVALID, "a task needs an output");
    if (status != RKB_OK)
        return status;
    program->outputs = rkb_xcalloc(count, sizeof *program->outputs);
    for (size_t i = 0; i < count; i++) {
        rkb_json_at_t at = rkb_json_element(&list, (int)i);
        const char *name;
        status = rkb_json_as_string(&at, &name, err);
        if (status != RKB_OK)
            return status;
        if (!find_result(task, name, &program->outputs[i])) {
            char hint[RKB_NAME_MAX + 32];
            rkb_nearest_t nearest = rkb_nearest_init(name, strlen(name));
            for (size_t r = 0; r < program->result_count; r++)
                if (program->result_names[r])
                    rkb_nearest_offer(&nearest, program->result_names[r]);
            return rkb_complain(&at, err, RKB_ERR_INVALID,
                                "no call of the program has the result \"%.64s\"%s", name,
                                rkb_nearest_hint(&nearest, hint, sizeof hint));
        }
        for (size_t j = 0; j < i; j++)
            if (program->outputs[j] == program->outputs[i])
                return rkb_complain(&at, err, RKB_ERR_INVALID, "\"%s\" is listed twice", name);
        program->output_count = i + 1;
    }
    return RKB_OK;
}

rkb_status_t rkb_parse_program(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_program_t *program = &task->program;
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(root, "program", true, &list, &count, err);
    if (status == RKB_OK && count == 0)
        status = rkb_complain(&list, err, RKB_ERR_INVALID, "the program is empty");
    if (status != RKB_OK)
        return status;
    program->calls = rkb_xcalloc(count, sizeof *program->calls);
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t at = rkb_json_element(&list, (int)i);
        program->call_count = i + 1;
        status = parse_call(task, &at, &program->calls[i], err);
    }
    return status == RKB_OK ? parse_outputs(task, root, err) : status;
}

static void operand_release(rkb_operand_t *operand)
{
    free(operand->name);
    if (operand->kind == RKB_OPERAND_STRING)
        free(operand->s);
    if (operand->kind == RKB_OPERAND_EXPR)
        rkb_expr_destroy(operand->expr);
    if (operand->kind == RKB_OPERAND_LIST) {
        for (size_t i = 0; i < operand->list.count; i++)
            operand_release(&operand->list.items[i]);
        free(operand->list.items);
    }
}

void rkb_program_release(rkb_program_t *program)
{
    for (size_t c = 0; c < program->call_count; c++) {
        for (size_t i = 0; i < program->calls[c].operand_count; i++)
            operand_release(&program->calls[c].operands[i]);
        free(program->calls[c].operands);
        free(program->calls[c].op);
    }
    for (size_t i = 0; i < program->result_count; i++)
        free(program->result_names[i]);
    free(program->calls);
    free(program->result_names);
    free(program->outputs);
}
