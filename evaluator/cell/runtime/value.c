#include "evaluator/cell/runtime/runtime.h"

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
