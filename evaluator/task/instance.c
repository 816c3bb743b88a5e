/* A task under one config: shapes, initialisers and scalars as numbers. */
#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/config.h"

#include <stdlib.h>
#include <string.h>

struct rkb_instance {
    const rkb_task_t *task;
    rkb_config_t *config; /* own copy */
    rkb_tensor_spec_t *tensors;
    rkb_value_t *attributes;
    rkb_argument_t *arguments[RKB_DIRECTIONS];
    rkb_output_spec_t **forward_specs; /* a cell of its own, so that const instances can keep it */
};

/* numel and bytes; false when they do not fit a pointer difference. */
static bool size_up(rkb_tensor_spec_t *spec)
{
    int64_t numel = 1, bytes;
    for (int d = 0; d < spec->ndim; d++)
        if (__builtin_mul_overflow(numel, spec->sizes[d], &numel))
            return false;
    if (__builtin_mul_overflow(numel, (int64_t)rkb_dtype_bytes(spec->dtype), &bytes) ||
        bytes > PTRDIFF_MAX)
        return false;
    spec->numel = numel;
    spec->bytes = (size_t)bytes;
    return true;
}

static rkb_status_t resolve_tensor(const rkb_instance_t *instance, const rkb_tensor_def_t *def,
                                   rkb_tensor_spec_t *spec, rkb_error_t *err)
{
    const int64_t *symbols = instance->config->symbols;
    rkb_status_t status;
    *spec = (rkb_tensor_spec_t){
        .name = def->name, .role = def->role, .dtype = def->dtype, .ndim = def->ndim};
    for (int d = 0; d < def->ndim; d++) {
        status = rkb_expr_eval(def->shape[d], symbols, &spec->sizes[d], err);
        if (status != RKB_OK) {
            rkb_error_prefix(err, "shape[%d] of \"%s\"", d, def->name);
            return status;
        }
        if (spec->sizes[d] < 1)
            return rkb_error_set(
                err, RKB_ERR_INVALID,
                "shape[%d] of \"%s\", \"%.80s\", is %lld; sizes must be at least 1", d, def->name,
                rkb_expr_text(def->shape[d]), (long long)spec->sizes[d]);
    }
    if (!size_up(spec))
        return rkb_error_set(err, RKB_ERR_INVALID, "the size of \"%s\" overflows 64 bits",
                             def->name);
    size_t method = def->init_count > 1 ? instance->config->init : 0;
    status = rkb_initialiser_resolve(&def->inits[method], def->dtype, symbols, &spec->init, err);
    if (status != RKB_OK)
        rkb_error_prefix(err, "initialiser of \"%s\"", def->name);
    return status;
}

static rkb_status_t resolve_attribute(const rkb_instance_t *instance, size_t index,
                                      rkb_value_t *value, rkb_error_t *err)
{
    const rkb_attribute_t *attribute = &instance->task->attributes[index];
    const rkb_config_t *config = instance->config;
    double number = attribute->per_config ? config->numbers[index] : attribute->number;
    rkb_status_t status = RKB_OK;
    switch (attribute->kind) {
    case RKB_ATTRIBUTE_NONE:
        break;
    case RKB_ATTRIBUTE_FLOAT:
        value->kind = RKB_VALUE_DOUBLE;
        value->d = number;
        break;
    case RKB_ATTRIBUTE_BOOL:
        value->kind = RKB_VALUE_BOOL;
        value->i = number != 0;
        break;
    case RKB_ATTRIBUTE_STRING:
        value->kind = RKB_VALUE_STRING;
        value->s = rkb_xstrdup(attribute->string);
        break;
    case RKB_ATTRIBUTE_INT:
        value->kind = RKB_VALUE_INT;
        status = rkb_expr_eval(attribute->exprs[0], config->symbols, &value->i, err);
        break;
    case RKB_ATTRIBUTE_INT_LIST:
        value->kind = RKB_VALUE_INT_LIST;
        value->count = attribute->count;
        value->ints = rkb_xcalloc(attribute->count + 1, sizeof *value->ints);
        for (size_t i = 0; i < attribute->count && status == RKB_OK; i++)
            status = rkb_expr_eval(attribute->exprs[i], config->symbols, &value->ints[i], err);
        break;
    }
    if (status != RKB_OK)
        rkb_error_prefix(err, "attribute \"%s\"", attribute->name);
    return status;
}

static void resolve_arguments(rkb_instance_t *instance, rkb_direction_t direction)
{
    const rkb_entry_def_t *entry = &instance->task->entries[direction];
    rkb_argument_t *args = rkb_xcalloc(entry->arg_count + 1, sizeof *args);
    for (size_t i = 0; i < entry->arg_count; i++) {
        const rkb_entry_arg_t *arg = &entry->args[i];
        args[i].name = arg->name;
        switch (arg->kind) {
        case RKB_ENTRY_TENSOR:
            args[i].is_tensor = true;
            args[i].tensor = arg->index;
            break;
        case RKB_ENTRY_GRAD:
            args[i].is_tensor = true;
            args[i].tensor = instance->task->tensor_count + arg->index;
            break;
        case RKB_ENTRY_SYMBOL:
            args[i].value.kind = RKB_VALUE_INT;
            args[i].value.i = instance->config->symbols[arg->index];
            break;
        case RKB_ENTRY_ATTRIBUTE:
            args[i].value = instance->attributes[arg->index];
            break;
        }
    }
    instance->arguments[direction] = args;
}

rkb_status_t rkb_instance_create(const rkb_task_t *task, const rkb_config_t *config,
                                 rkb_instance_t **out, rkb_error_t *err)
{
    rkb_instance_t *instance = rkb_xcalloc(1, sizeof *instance);
    rkb_status_t status = RKB_OK;
    instance->task = task;
    instance->config = rkb_config_copy(config);
    instance->tensors = rkb_xcalloc(task->tensor_count + 1, sizeof *instance->tensors);
    instance->attributes = rkb_xcalloc(task->attribute_count + 1, sizeof *instance->attributes);
    instance->forward_specs = rkb_xcalloc(1, sizeof *instance->forward_specs);
    for (size_t i = 0; i < task->tensor_count && status == RKB_OK; i++)
        status = resolve_tensor(instance, &task->tensors[i], &instance->tensors[i], err);
    for (size_t i = 0; i < task->attribute_count && status == RKB_OK; i++)
        status = resolve_attribute(instance, i, &instance->attributes[i], err);
    if (status != RKB_OK) {
        rkb_instance_destroy(instance);
        return status;
    }
    for (int d = 0; d < RKB_DIRECTIONS; d++)
        resolve_arguments(instance, d);
    *out = instance;
    return RKB_OK;
}

void rkb_instance_destroy(rkb_instance_t *instance)
{
    if (!instance)
        return;
    for (size_t i = 0; i < instance->task->attribute_count; i++) {
        if (instance->attributes[i].kind == RKB_VALUE_INT_LIST)
            free(instance->attributes[i].ints);
        if (instance->attributes[i].kind == RKB_VALUE_STRING)
            free(instance->attributes[i].s);
    }
    for (int d = 0; d < RKB_DIRECTIONS; d++)
        free(instance->arguments[d]);
    free(*instance->forward_specs);
    free(instance->forward_specs);
    free(instance->attributes);
    free(instance->tensors);
    rkb_config_destroy(instance->config);
    free(instance);
}

const rkb_task_t *rkb_instance_task(const rkb_instance_t *instance)
{
    return instance->task;
}

size_t rkb_instance_tensor_count(const rkb_instance_t *instance)
{
    return instance->task->tensor_count;
}

const rkb_tensor_spec_t *rkb_instance_tensor(const rkb_instance_t *instance, size_t index)
{
    return &instance->tensors[index];
}

size_t rkb_instance_argument_count(const rkb_instance_t *instance, rkb_direction_t direction)
{
    return instance->task->entries[direction].arg_count;
}

const rkb_argument_t *rkb_instance_argument(const rkb_instance_t *instance,
                                            rkb_direction_t direction, size_t index)
{
    return &instance->arguments[direction][index];
}

void rkb_instance_tolerance(const rkb_instance_t *instance, rkb_direction_t direction, double *atol,
                            double *rtol)
{
    *atol = instance->task->entries[direction].atol;
    *rtol = instance->task->entries[direction].rtol;
}

const char *rkb_instance_config_name(const rkb_instance_t *instance)
{
    return instance->config->name;
}

const int64_t *rkb_instance_symbols(const rkb_instance_t *instance)
{
    return instance->config->symbols;
}

const char *rkb_instance_init_method(const rkb_instance_t *instance)
{
    const rkb_task_t *task = instance->task;
    return task->method_count > 0 ? task->methods[instance->config->init] : NULL;
}

const rkb_value_t *rkb_instance_attribute(const rkb_instance_t *instance, size_t index)
{
    return &instance->attributes[index];
}

const rkb_output_spec_t *rkb_instance_forward_specs(const rkb_instance_t *instance)
{
    return *instance->forward_specs;
}

void rkb_instance_keep_forward_specs(const rkb_instance_t *instance, const rkb_output_spec_t *specs)
{
    size_t count = instance->task->program.output_count;
    rkb_output_spec_t *copy = rkb_xcalloc(count, sizeof *copy);
    memcpy(copy, specs, count * sizeof *copy);
    free(*instance->forward_specs);
    *instance->forward_specs = copy;
}
