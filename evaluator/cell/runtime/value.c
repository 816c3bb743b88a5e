#include "evaluator/cell/runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rkb_rt_value_release(rkb_value_t *value)
{
    if (value == NULL)
        return;
    switch (value->kind) {
    case RKB_VALUE_TENSOR:
        rkb_rt_tensor_release(value->tensor);
        break;
    case RKB_VALUE_STRING:
        free(value->s);
        break;
    case RKB_VALUE_INT_LIST:
    case RKB_VALUE_BOOL_LIST:
        free(value->ints);
        break;
    case RKB_VALUE_DOUBLE_LIST:
        free(value->doubles);
        break;
    case RKB_VALUE_TENSOR_LIST:
        for (size_t i = 0; i < value->count; i++)
            rkb_rt_tensor_release(value->tensors[i]);
        free(value->tensors);
        break;
    case RKB_VALUE_LIST:
        for (size_t i = 0; i < value->count; i++)
            rkb_rt_value_release(&value->list[i]);
        free(value->list);
        break;
    case RKB_VALUE_NONE:
    case RKB_VALUE_INT:
    case RKB_VALUE_DOUBLE:
    case RKB_VALUE_BOOL:
    case RKB_VALUE_DTYPE:
        break;
    }
    memset(value, 0, sizeof(*value));
}

int rkb_rt_value_list(rkb_value_t *to, size_t count)
{
    rkb_value_t *list = calloc(count > 0 ? count : 1, sizeof(*list));
    if (list == NULL)
        return rkb_rt_fail("out of memory");
    *to = (rkb_value_t){.kind = RKB_VALUE_LIST, .count = count, .list = list};
    return 0;
}

rkb_value_t rkb_rt_value_item(const rkb_value_t *list, size_t i)
{
    rkb_value_t item = {.kind = RKB_VALUE_NONE};
    if (i >= list->count)
        return item;
    switch (list->kind) {
    case RKB_VALUE_LIST:
        return list->list[i];
    case RKB_VALUE_INT_LIST:
    case RKB_VALUE_BOOL_LIST:
        item.kind = list->kind == RKB_VALUE_INT_LIST ? RKB_VALUE_INT : RKB_VALUE_BOOL;
        item.i = list->ints[i];
        break;
    case RKB_VALUE_DOUBLE_LIST:
        item.kind = RKB_VALUE_DOUBLE;
        item.d = list->doubles[i];
        break;
    case RKB_VALUE_TENSOR_LIST:
        item.kind = list->tensors[i] != NULL ? RKB_VALUE_TENSOR : RKB_VALUE_NONE;
        item.tensor = list->tensors[i];
        break;
    default:
        break;
    }
    return item;
}

static bool is_list(const rkb_value_t *value)
{
    return value->kind == RKB_VALUE_LIST || value->kind == RKB_VALUE_INT_LIST ||
           value->kind == RKB_VALUE_BOOL_LIST || value->kind == RKB_VALUE_DOUBLE_LIST ||
           value->kind == RKB_VALUE_TENSOR_LIST;
}

int rkb_rt_value_copy(rkb_value_t *to, const rkb_value_t *from)
{
    rkb_value_t copy = *from;
    if (is_list(from)) {
        if (rkb_rt_value_list(&copy, from->count) != 0)
            return -1;
        for (size_t i = 0; i < from->count; i++) {
            rkb_value_t item = rkb_rt_value_item(from, i);
            if (rkb_rt_value_copy(&copy.list[i], &item) != 0) {
                rkb_rt_value_release(&copy);
                return -1;
            }
        }
    } else if (from->kind == RKB_VALUE_STRING) {
        copy.s = strdup(from->s);
        if (copy.s == NULL)
            return rkb_rt_fail("out of memory");
    } else if (from->kind == RKB_VALUE_TENSOR) {
        rkb_rt_tensor_retain(from->tensor);
    }
    *to = copy;
    return 0;
}

static void describe_tensor(const rkb_tensor_t *tensor, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "Tensor of %s [", rkb_rt_dtype_name(tensor->dtype));
    for (int32_t i = 0; i < tensor->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i > 0 ? ", " : "",
                                 (long long)tensor->sizes[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/** A float looks like one: with a point or an exponent. */
static void describe_double(double d, char *text, size_t size)
{
    snprintf(text, size, "float %.9g", d);
    if (strpbrk(text + 6, ".eni") == NULL)
        snprintf(text, size, "float %.1f", d);
}

void rkb_rt_value_describe(const rkb_value_t *value, char *text, size_t size)
{
    switch (value->kind) {
    case RKB_VALUE_NONE:
        snprintf(text, size, "None");
        return;
    case RKB_VALUE_TENSOR:
        if (value->tensor == NULL)
            snprintf(text, size, "None");
        else
            describe_tensor(value->tensor, text, size);
        return;
    case RKB_VALUE_INT:
        snprintf(text, size, "int %lld", (long long)value->i);
        return;
    case RKB_VALUE_DOUBLE:
        describe_double(value->d, text, size);
        return;
    case RKB_VALUE_BOOL:
        snprintf(text, size, "bool %s", value->i ? "True" : "False");
        return;
    case RKB_VALUE_STRING:
        snprintf(text, size, "str \"%.80s\"", value->s);
        return;
    case RKB_VALUE_DTYPE:
        snprintf(text, size, "dtype %s", rkb_rt_dtype_name((int32_t)value->i));
        return;
    default:
        break;
    }
    if (value->count == 0) {
        snprintf(text, size, "an empty list");
        return;
    }
    char first[160];
    rkb_value_t item = rkb_rt_value_item(value, 0);
    rkb_rt_value_describe(&item, first, sizeof(first));
    snprintf(text, size, "list of %zu (first: %.120s)", value->count, first);
}
