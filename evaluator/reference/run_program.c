#include "evaluator/reference/run_program.h"

#include "common/file.h"

#include <stdlib.h>
#include <string.h>

enum { SCHEMA_SIZE = 8192 };

/* A run's values: results by number, and lists that arguments of the present call point to. */
typedef struct {
    const rkb_program_run_t *run;
    const rkb_program_t *program;
    rkb_torch_value_t *results; /* tensor lists are copied, so that they outlive the next call */
    void *lists[RKB_CALL_MAX_ARGS];
    size_t list_count;
} frame_t;

static void release_value(const rkb_torch_api_t *torch, rkb_torch_value_t *value)
{
    if (value->kind == RKB_VALUE_TENSOR)
        torch->release(value->tensor);
    for (size_t i = 0; value->kind == RKB_VALUE_TENSOR_LIST && i < value->count; i++)
        torch->release(value->tensors[i]);
    if (value->kind == RKB_VALUE_TENSOR_LIST)
        free(value->tensors);
    *value = (rkb_torch_value_t){.kind = RKB_VALUE_NONE};
}

/* Takes the array of a fresh result over; other arrays and strings are of no use to a program. */
static void keep_result(rkb_torch_value_t *to, const rkb_torch_value_t *from)
{
    *to = *from;
    switch (from->kind) {
    case RKB_VALUE_TENSOR_LIST:
        to->tensors = rkb_xcalloc(from->count + 1, sizeof *to->tensors);
        if (from->count > 0)
            memcpy(to->tensors, from->tensors, from->count * sizeof *to->tensors);
        break;
    case RKB_VALUE_STRING:
    case RKB_VALUE_INT_LIST:
    case RKB_VALUE_BOOL_LIST:
    case RKB_VALUE_DOUBLE_LIST:
        *to = (rkb_torch_value_t){.kind = RKB_VALUE_NONE};
        break;
    default:
        break;
    }
}

/* ---- operands ---------------------------------------------------------------------------------
 */

static rkb_status_t take_result(const frame_t *frame, const rkb_ref_t *ref, rkb_torch_value_t *out,
                                rkb_error_t *err)
{
    const rkb_torch_value_t *result = &frame->results[ref->index];
    if (ref->element < 0) {
        *out = *result;
        return RKB_OK;
    }
    const char *name = frame->program->result_names[ref->index];
    if (result->kind != RKB_VALUE_TENSOR_LIST)
        return rkb_error_set(err, RKB_ERR_INVALID, "\"%s\" is no list of tensors", name);
    if ((size_t)ref->element >= result->count)
        return rkb_error_set(err, RKB_ERR_INVALID, "\"%s\" has %zu elements, no [%d]", name,
                             result->count, ref->element);
    out->kind = RKB_VALUE_TENSOR;
    out->tensor = result->tensors[ref->element];
    return RKB_OK;
}

static rkb_status_t take_attribute(const rkb_value_t *value, rkb_torch_value_t *out)
{
    out->kind = value->kind;
    out->count = value->count;
    switch (value->kind) {
    case RKB_VALUE_DOUBLE:
        out->d = value->d;
        break;
    case RKB_VALUE_STRING:
        out->s = value->s;
        break;
    case RKB_VALUE_INT_LIST:
        out->ints = value->ints;
        break;
    default:
        out->i = value->i;
        break;
    }
    return RKB_OK;
}

static rkb_status_t take_ref(const frame_t *frame, const rkb_ref_t *ref, rkb_torch_value_t *out,
                             rkb_error_t *err)
{
    const rkb_instance_t *instance = frame->run->instance;
    switch (ref->kind) {
    case RKB_REF_TENSOR:
        out->kind = RKB_VALUE_TENSOR;
        out->tensor = frame->run->tensors[ref->index];
        return RKB_OK;
    case RKB_REF_ATTRIBUTE:
        return take_attribute(rkb_instance_attribute(instance, ref->index), out);
    case RKB_REF_SYMBOL:
        out->kind = RKB_VALUE_INT;
        out->i = rkb_instance_symbols(instance)[ref->index];
        return RKB_OK;
    case RKB_REF_RESULT:
        return take_result(frame, ref, out, err);
    }
    return rkb_error_set(err, RKB_ERR_INTERNAL, "reference of kind %d", (int)ref->kind);
}

static bool is_float(int64_t dtype)
{
    return dtype == RKB_F16 || dtype == RKB_BF16 || dtype == RKB_F32;
}

static rkb_status_t take_operand(frame_t *frame, const rkb_operand_t *operand,
                                 rkb_torch_value_t *out, rkb_error_t *err);

/* One list of one kind: tensors (with None), floats when any is one, else ints or bools. */
static rkb_status_t take_list(frame_t *frame, const rkb_operand_t *operand, rkb_torch_value_t *out,
                              rkb_error_t *err)
{
    size_t count = operand->list.count, tensors = 0, doubles = 0, ints = 0, bools = 0;
    rkb_torch_value_t *items = rkb_xcalloc(count + 1, sizeof *items);
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; i < count && status == RKB_OK; i++) {
        status = take_operand(frame, &operand->list.items[i], &items[i], err);
        tensors += items[i].kind == RKB_VALUE_TENSOR || items[i].kind == RKB_VALUE_NONE;
        doubles += items[i].kind == RKB_VALUE_DOUBLE;
        ints += items[i].kind == RKB_VALUE_INT;
        bools += items[i].kind == RKB_VALUE_BOOL;
    }
    if (status == RKB_OK && tensors != count && doubles + ints != count && bools != count)
        status = rkb_error_set(err, RKB_ERR_INVALID,
                               "a list holds values of one kind: tensors, numbers or bools");
    if (status != RKB_OK) {
        free(items);
        return status;
    }
    void *array = rkb_xcalloc(count + 1, sizeof(int64_t));
    frame->lists[frame->list_count++] = array;
    out->count = count;
    if (count > 0 && tensors == count) {
        rkb_torch_tensor_t **handles = array;
        for (size_t i = 0; i < count; i++)
            handles[i] = items[i].kind == RKB_VALUE_TENSOR ? items[i].tensor : NULL;
        out->kind = RKB_VALUE_TENSOR_LIST;
        out->tensors = handles;
    } else if (doubles > 0) {
        double *numbers = array;
        for (size_t i = 0; i < count; i++)
            numbers[i] = items[i].kind == RKB_VALUE_DOUBLE ? items[i].d : (double)items[i].i;
        out->kind = RKB_VALUE_DOUBLE_LIST;
        out->doubles = numbers;
    } else {
        int64_t *integers = array;
        for (size_t i = 0; i < count; i++)
            integers[i] = items[i].i;
        out->kind = count > 0 && bools == count ? RKB_VALUE_BOOL_LIST : RKB_VALUE_INT_LIST;
        out->ints = integers;
    }
    free(items);
    return RKB_OK;
}

static rkb_status_t take_operand(frame_t *frame, const rkb_operand_t *operand,
                                 rkb_torch_value_t *out, rkb_error_t *err)
{
    memset(out, 0, sizeof *out);
    switch (operand->kind) {
    case RKB_OPERAND_NONE:
        return RKB_OK;
    case RKB_OPERAND_INT:
        out->kind = RKB_VALUE_INT;
        out->i = operand->i;
        return RKB_OK;
    case RKB_OPERAND_DOUBLE:
        out->kind = RKB_VALUE_DOUBLE;
        out->d = operand->d;
        return RKB_OK;
    case RKB_OPERAND_BOOL:
        out->kind = RKB_VALUE_BOOL;
        out->i = operand->i;
        return RKB_OK;
    case RKB_OPERAND_STRING:
        out->kind = RKB_VALUE_STRING;
        out->s = operand->s;
        return RKB_OK;
    case RKB_OPERAND_DTYPE:
        out->kind = RKB_VALUE_DTYPE;
        out->i = frame->run->widen && is_float(operand->i) ? RKB_F64 : operand->i;
        return RKB_OK;
    case RKB_OPERAND_EXPR:
        out->kind = RKB_VALUE_INT;
        return rkb_expr_eval(operand->expr, rkb_instance_symbols(frame->run->instance), &out->i,
                             err);
    case RKB_OPERAND_REF:
        return take_ref(frame, &operand->ref, out, err);
    case RKB_OPERAND_LIST:
        return take_list(frame, operand, out, err);
    }
    return rkb_error_set(err, RKB_ERR_INTERNAL, "operand of kind %d", (int)operand->kind);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

/* Position of an operand in the operator's schema. */
static rkb_status_t find_position(const rkb_torch_api_t *torch, const rkb_program_call_t *call,
                                  size_t operand, size_t *out, rkb_error_t *err)
{
    if (operand < call->positional_count) {
        *out = operand;
        return RKB_OK;
    }
    const char *name = call->operands[operand].name;
    rkb_status_t status = torch->argument(call->op, name, out, err);
    if (status == RKB_OK && *out < call->positional_count)
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: argument \"%s\" is given by position too",
                             call->op, name);
    if (status == RKB_OK && *out >= RKB_CALL_MAX_ARGS)
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: argument \"%s\" is beyond number %d",
                             call->op, name, RKB_CALL_MAX_ARGS);
    return status;
}

static rkb_status_t run_call(frame_t *frame, const rkb_program_call_t *call, rkb_error_t *err)
{
    const rkb_torch_api_t *torch = frame->run->torch;
    rkb_torch_value_t args[RKB_CALL_MAX_ARGS], results[RKB_CALL_MAX_RESULTS];
    size_t nargs = 0, nresults = RKB_CALL_MAX_RESULTS;
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; i < RKB_CALL_MAX_ARGS; i++)
        args[i] = (rkb_torch_value_t){.use_default = true};
    for (size_t i = 0; i < call->operand_count && status == RKB_OK; i++) {
        size_t position = i;
        status = find_position(torch, call, i, &position, err);
        if (status != RKB_OK)
            break;
        status = take_operand(frame, &call->operands[i], &args[position], err);
        if (position + 1 > nargs)
            nargs = position + 1;
    }
    if (status == RKB_OK)
        status = torch->call(call->op, args, nargs, frame->run->grad, results, &nresults, err);
    if (status == RKB_OK) {
        for (size_t i = 0; i < nresults; i++) {
            rkb_torch_value_t kept;
            keep_result(&kept, &results[i]);
            bool used = i < call->result_count &&
                        frame->program->result_names[call->first_result + i] != NULL;
            if (used)
                frame->results[call->first_result + i] = kept;
            else
                release_value(torch, &kept);
        }
        if (nresults != call->result_count)
            status =
                rkb_error_set(err, RKB_ERR_INVALID, "%s returns %zu values, the task names %zu",
                              call->op, nresults, call->result_count);
    }
    while (frame->list_count > 0)
        free(frame->lists[--frame->list_count]);
    return status;
}

static rkb_status_t take_outputs(const frame_t *frame, rkb_torch_tensor_t **outputs,
                                 rkb_error_t *err)
{
    const rkb_program_t *program = frame->program;
    for (size_t i = 0; i < program->output_count; i++) {
        const rkb_torch_value_t *value = &frame->results[program->outputs[i]];
        if (value->kind != RKB_VALUE_TENSOR || !value->tensor)
            return rkb_error_set(err, RKB_ERR_INVALID, "output \"%s\" is no tensor",
                                 program->result_names[program->outputs[i]]);
    }
    for (size_t i = 0; i < program->output_count; i++)
        outputs[i] = frame->run->torch->retain(frame->results[program->outputs[i]].tensor);
    return RKB_OK;
}

rkb_status_t rkb_program_run(const rkb_program_run_t *run, rkb_torch_tensor_t **outputs,
                             rkb_error_t *err)
{
    const rkb_program_t *program = rkb_task_program(rkb_instance_task(run->instance));
    frame_t frame = {.run = run, .program = program};
    rkb_status_t status = RKB_OK;
    frame.results = rkb_xcalloc(program->result_count + 1, sizeof *frame.results);
    for (size_t i = 0; i < program->call_count && status == RKB_OK; i++) {
        status = run_call(&frame, &program->calls[i], err);
        if (status != RKB_OK)
            rkb_error_prefix(err, "program[%zu]", i);
    }
    if (status == RKB_OK)
        status = take_outputs(&frame, outputs, err);
    for (size_t i = 0; i < program->result_count; i++)
        release_value(run->torch, &frame.results[i]);
    free(frame.results);
    return status;
}

/* ---- checks before a run ----------------------------------------------------------------------
 */

/* Values that a schema returns: "… -> (Tensor, Tensor[])" has two. */
static size_t count_returns(const char *schema)
{
    const char *arrow = NULL;
    for (const char *next = schema; (next = strstr(next, " -> ")) != NULL; next++)
        arrow = next; /* "Tensor(a -> *) self" has one too */
    if (!arrow)
        return 0;
    const char *at = arrow + 4;
    if (*at != '(')
        return 1;
    size_t count = at[1] == ')' ? 0 : 1;
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        count += *at == ',' && depth == 1;
    }
    return count;
}

static rkb_status_t check_call(const rkb_torch_api_t *torch, const rkb_program_call_t *call,
                               rkb_error_t *err)
{
    char schema[SCHEMA_SIZE];
    rkb_status_t status = torch->schema(call->op, schema, sizeof schema, err);
    if (status != RKB_OK)
        return status;
    if (strchr(schema, '!'))
        return rkb_error_set(err, RKB_ERR_INVALID, "%s writes to its arguments: %s", call->op,
                             schema);
    if (count_returns(schema) != call->result_count)
        return rkb_error_set(err, RKB_ERR_INVALID, "%s returns %zu values, the task names %zu: %s",
                             call->op, count_returns(schema), call->result_count, schema);
    for (size_t i = 0; i < call->operand_count && status == RKB_OK; i++) {
        size_t position;
        status = find_position(torch, call, i, &position, err);
    }
    return status;
}

rkb_status_t rkb_program_check(const rkb_torch_api_t *torch, const rkb_task_t *task,
                               rkb_error_t *err)
{
    const rkb_program_t *program = rkb_task_program(task);
    for (size_t i = 0; i < program->call_count; i++) {
        rkb_status_t status = check_call(torch, &program->calls[i], err);
        if (status != RKB_OK) {
            rkb_error_prefix(err, "%s/task.json: program[%zu]", rkb_task_folder(task), i);
            return status;
        }
    }
    return RKB_OK;
}
