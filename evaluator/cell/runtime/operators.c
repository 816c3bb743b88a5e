/*
 * Operators that a candidate leaves to libtorch. Inputs are wrapped without a copy; a result that
 * lies in an input's storage (in-place and view operators) becomes that tensor or a view of it, any
 * other is copied into a new tensor of the cell, so that guards and poison cover it too.
 */
#include "evaluator/cell/runtime/runtime.h"
#include "evaluator/cell/runtime/tensor.h"
#include "evaluator/reference/torch_api.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 32, MAX_RESULTS = 16 };

/** One call: handles that are released at its end and the tensors that results may alias. */
typedef struct {
    const rkb_torch_api_t *api;
    const char *name;
    rkb_torch_tensor_t **handles;
    rkb_tensor_t **tensors; /* borrowed, same order as handles */
    size_t count, capacity;
    void *lists[MAX_ARGS]; /* argument arrays to free */
    int32_t device;        /* of new results */
} call_t;

static bool crosses_devices(const char *name)
{
    return strncmp(name, "aten::index", 11) == 0 || strncmp(name, "aten::_index", 12) == 0;
}

/* ---- arguments --------------------------------------------------------------------------------
 */

static int add_tensor(call_t *call, rkb_tensor_t *tensor, rkb_torch_tensor_t **out)
{
    rkb_error_t err = RKB_ERROR_INIT;
    *out = NULL;
    if (tensor == NULL)
        return 0;
    if (call->count == call->capacity) {
        size_t capacity = call->capacity ? 2 * call->capacity : 16;
        void *handles = realloc(call->handles, capacity * sizeof(*call->handles));
        if (handles != NULL)
            call->handles = handles;
        void *tensors = realloc(call->tensors, capacity * sizeof(*call->tensors));
        if (tensors != NULL)
            call->tensors = tensors;
        if (handles == NULL || tensors == NULL)
            return rkb_rt_fail("%s: out of memory", call->name);
        call->capacity = capacity;
    }
    if (call->api->wrap(tensor->data, (rkb_dtype_t)tensor->dtype, tensor->sizes, tensor->strides,
                        tensor->ndim, out, &err) != RKB_OK)
        return rkb_rt_fail("%s: %s", call->name, err.text);
    call->handles[call->count] = *out;
    call->tensors[call->count++] = tensor;
    return 0;
}

/** A list of single values becomes the list kind that libtorch knows. */
static int add_list(call_t *call, const rkb_value_t *arg, size_t at, rkb_torch_value_t *out)
{
    size_t n = arg->count;
    rkb_value_kind_t kind = n > 0 ? arg->list[0].kind : RKB_VALUE_INT;
    for (size_t i = 0; i < n; i++) {
        rkb_value_kind_t each = arg->list[i].kind;
        if (each == RKB_VALUE_TENSOR || (each == RKB_VALUE_DOUBLE && kind == RKB_VALUE_INT))
            kind = each;
    }
    void *array = calloc(n > 0 ? n : 1, sizeof(int64_t));
    call->lists[at] = array;
    if (array == NULL)
        return rkb_rt_fail("%s: out of memory", call->name);
    out->count = n;
    for (size_t i = 0; i < n; i++) {
        const rkb_value_t *item = &arg->list[i];
        bool integral = item->kind == RKB_VALUE_INT || item->kind == RKB_VALUE_BOOL;
        if (kind == RKB_VALUE_TENSOR && item->kind == RKB_VALUE_NONE) {
            ((rkb_torch_tensor_t **)array)[i] = NULL;
        } else if (kind == RKB_VALUE_TENSOR && item->kind == RKB_VALUE_TENSOR) {
            if (add_tensor(call, item->tensor, (rkb_torch_tensor_t **)array + i) != 0)
                return -1;
        } else if (kind == RKB_VALUE_DOUBLE && (integral || item->kind == RKB_VALUE_DOUBLE)) {
            ((double *)array)[i] = integral ? (double)item->i : item->d;
        } else if ((kind == RKB_VALUE_INT || kind == RKB_VALUE_BOOL) && integral) {
            ((int64_t *)array)[i] = item->i;
        } else {
            return rkb_rt_fail("%s: argument %zu is a list of mixed kinds", call->name, at + 1);
        }
    }
    if (kind == RKB_VALUE_TENSOR) {
        out->kind = RKB_VALUE_TENSOR_LIST;
        out->tensors = array;
    } else if (kind == RKB_VALUE_DOUBLE) {
        out->kind = RKB_VALUE_DOUBLE_LIST;
        out->doubles = array;
    } else {
        out->kind = kind == RKB_VALUE_BOOL ? RKB_VALUE_BOOL_LIST : RKB_VALUE_INT_LIST;
        out->ints = array;
    }
    return 0;
}

static int add_argument(call_t *call, const rkb_value_t *arg, size_t at, rkb_torch_value_t *out)
{
    memset(out, 0, sizeof(*out));
    out->kind = arg->kind;
    out->count = arg->count;
    switch (arg->kind) {
    case RKB_VALUE_NONE:
        return 0;
    case RKB_VALUE_TENSOR:
        if (arg->tensor == NULL)
            out->kind = RKB_VALUE_NONE;
        return add_tensor(call, arg->tensor, &out->tensor);
    case RKB_VALUE_INT:
    case RKB_VALUE_BOOL:
    case RKB_VALUE_DTYPE:
        out->i = arg->i;
        return 0;
    case RKB_VALUE_DOUBLE:
        out->d = arg->d;
        return 0;
    case RKB_VALUE_STRING:
        out->s = arg->s;
        return 0;
    case RKB_VALUE_INT_LIST:
    case RKB_VALUE_BOOL_LIST:
        out->ints = arg->ints;
        return 0;
    case RKB_VALUE_DOUBLE_LIST:
        out->doubles = arg->doubles;
        return 0;
    case RKB_VALUE_TENSOR_LIST:
        out->tensors = calloc(arg->count > 0 ? arg->count : 1, sizeof(*out->tensors));
        call->lists[at] = out->tensors;
        if (out->tensors == NULL)
            return rkb_rt_fail("%s: out of memory", call->name);
        for (size_t i = 0; i < arg->count; i++)
            if (add_tensor(call, arg->tensors[i], &out->tensors[i]) != 0)
                return -1;
        return 0;
    case RKB_VALUE_LIST:
        return add_list(call, arg, at, out);
    }
    return rkb_rt_fail("%s: argument %zu is of an unknown kind", call->name, at + 1);
}

/** New results live where the inputs live; like torch, tensors of two devices do not mix. */
static int choose_device(call_t *call)
{
    bool cuda = false, cpu = false;
    for (size_t i = 0; i < call->count; i++) {
        if (call->tensors[i]->device == RKB_DEVICE_CUDA)
            cuda = true;
        else if (call->tensors[i]->ndim > 0)
            cpu = true;
    }
    if (cuda && cpu && !crosses_devices(call->name))
        return rkb_rt_fail("%s: expected all tensors on the same device, but found cuda:0 and cpu",
                           call->name);
    call->device = cuda ? RKB_DEVICE_CUDA : RKB_DEVICE_CPU;
    return 0;
}

/* ---- results ----------------------------------------------------------------------------------
 */

static void release_tensor(void *context)
{
    rkb_rt_tensor_release(context);
}

static bool same_layout(const rkb_tensor_t *a, const rkb_tensor_t *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof(a->sizes[0])) == 0 &&
           memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof(a->strides[0])) == 0;
}

/** The tensor that a result is, or is a view of; NULL with *failed unset: it is none. */
static rkb_tensor_t *alias(const call_t *call, const rkb_tensor_t *result, bool *failed)
{
    rkb_tensor_t *parent = NULL;
    if (result->numel == 0)
        return NULL;
    for (size_t i = 0; i < call->count; i++) {
        rkb_tensor_t *tensor = call->tensors[i];
        if (same_layout(tensor, result)) {
            rkb_rt_tensor_retain(tensor);
            return tensor;
        }
        if (parent == NULL && rkb_runtime_storage_holds(tensor, result->data))
            parent = tensor;
    }
    if (parent == NULL)
        return NULL;

    rkb_tensor_t *view;
    if (parent->dtype == result->dtype) {
        view = rkb_rt_tensor_as_strided(parent, result->sizes, result->strides, result->ndim,
                                        result->data);
    } else { /* the same bytes as another dtype */
        rkb_rt_tensor_retain(parent);
        view = rkb_rt_tensor_from_blob(result->data, result->sizes, result->strides, result->ndim,
                                       result->dtype, parent->device, release_tensor, parent);
        if (view == NULL)
            rkb_rt_tensor_release(parent);
    }
    *failed = view == NULL;
    return view;
}

static int take_tensor(call_t *call, rkb_torch_tensor_t *handle, rkb_tensor_t **out)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_tensor_t result;
    bool failed = false;

    *out = NULL;
    if (handle == NULL)
        return 0;
    memset(&result, 0, sizeof(result));
    call->api->describe(handle, &result);
    rkb_tensor_t *tensor = alias(call, &result, &failed);
    if (tensor == NULL && !failed) {
        tensor = rkb_rt_tensor_empty(result.sizes, result.ndim, result.dtype, call->device);
        size_t bytes = (size_t)result.numel * rkb_rt_dtype_size(result.dtype);
        if (tensor != NULL && call->api->read(handle, tensor->data, bytes, &err) != RKB_OK) {
            rkb_rt_tensor_release(tensor);
            return rkb_rt_fail("%s: %s", call->name, err.text);
        }
    }
    *out = tensor;
    return tensor != NULL ? 0 : -1;
}

static void *copy_array(const void *array, size_t count, size_t size)
{
    void *copy = calloc(count > 0 ? count : 1, size);
    if (copy != NULL && count > 0)
        memcpy(copy, array, count * size);
    return copy;
}

static int take_result(call_t *call, const rkb_torch_value_t *from, rkb_value_t *to)
{
    memset(to, 0, sizeof(*to));
    to->kind = from->kind;
    to->count = from->count;
    switch (from->kind) {
    case RKB_VALUE_NONE:
        return 0;
    case RKB_VALUE_TENSOR:
        return take_tensor(call, from->tensor, &to->tensor);
    case RKB_VALUE_INT:
    case RKB_VALUE_BOOL:
    case RKB_VALUE_DTYPE:
        to->i = from->i;
        return 0;
    case RKB_VALUE_DOUBLE:
        to->d = from->d;
        return 0;
    case RKB_VALUE_STRING:
        to->s = copy_array(from->s, strlen(from->s) + 1, 1);
        return to->s != NULL ? 0 : rkb_rt_fail("%s: out of memory", call->name);
    case RKB_VALUE_INT_LIST:
    case RKB_VALUE_BOOL_LIST:
        to->ints = copy_array(from->ints, from->count, sizeof(*to->ints));
        return to->ints != NULL ? 0 : rkb_rt_fail("%s: out of memory", call->name);
    case RKB_VALUE_DOUBLE_LIST:
        to->doubles = copy_array(from->doubles, from->count, sizeof(*to->doubles));
        return to->doubles != NULL ? 0 : rkb_rt_fail("%s: out of memory", call->name);
    case RKB_VALUE_TENSOR_LIST:
        to->tensors = calloc(from->count > 0 ? from->count : 1, sizeof(*to->tensors));
        if (to->tensors == NULL)
            return rkb_rt_fail("%s: out of memory", call->name);
        for (size_t i = 0; i < from->count; i++)
            if (take_tensor(call, from->tensors[i], &to->tensors[i]) != 0)
                return -1;
        return 0;
    case RKB_VALUE_LIST:
        break;
    }
    return rkb_rt_fail("%s returned a value of an unknown kind", call->name);
}

static void release_result(const rkb_torch_api_t *api, rkb_torch_value_t *value)
{
    if (value->kind == RKB_VALUE_TENSOR)
        api->release(value->tensor);
    else if (value->kind == RKB_VALUE_TENSOR_LIST)
        for (size_t i = 0; i < value->count; i++)
            api->release(value->tensors[i]);
}

/** A CPU build of libtorch lacks kernels for half that a GPU has: no fault of the candidate. */
static int fail_call(const call_t *call, rkb_status_t status, const rkb_error_t *err)
{
    bool missing = status == RKB_ERR_NOT_FOUND || status == RKB_ERR_UNSUPPORTED ||
                   strstr(err->text, "not implemented for 'Half'") != NULL ||
                   strstr(err->text, "not implemented for 'BFloat16'") != NULL;
    bool named = strncmp(err->text, call->name, strlen(call->name)) == 0;
    if (named)
        rkb_rt_fail("%s", err->text);
    else
        rkb_rt_fail("%s: %s", call->name, err->text);
    return missing ? RKB_RT_UNSUPPORTED : -1;
}

static int run(call_t *call, const rkb_torch_value_t *args, size_t nargs, rkb_value_t *results,
               size_t *nresults)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_torch_value_t raw[MAX_RESULTS];
    size_t n = MAX_RESULTS, taken = 0;
    int rc = 0;

    memset(raw, 0, sizeof(raw));
    rkb_status_t status = call->api->call(call->name, args, nargs, false, raw, &n, &err);
    if (status != RKB_OK)
        return fail_call(call, status, &err);
    if (n > *nresults)
        rc = rkb_rt_fail("%s returned %zu values, %zu were expected", call->name, n, *nresults);
    while (rc == 0 && taken < n)
        rc = take_result(call, &raw[taken], &results[taken]), taken++;
    for (size_t i = 0; i < n; i++)
        release_result(call->api, &raw[i]);
    if (rc != 0) {
        while (taken > 0)
            rkb_rt_value_release(&results[--taken]);
        return rc;
    }
    *nresults = n;
    return 0;
}

int rkb_rt_call_operator(const char *name, const rkb_value_t *args, size_t nargs,
                         rkb_value_t *results, size_t *nresults)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_torch_value_t values[MAX_ARGS];
    call_t call = {.name = name};
    int rc = 0;

    if (nargs > MAX_ARGS)
        return rkb_rt_fail("%s: %zu arguments are too many", name, nargs);
    rkb_runtime_record(name);
    if (rkb_torch_load(&call.api, &err) != RKB_OK) {
        rkb_rt_fail("%s needs libtorch: %s", name, err.text);
        return RKB_RT_UNSUPPORTED;
    }
    for (size_t i = 0; i < nargs && rc == 0; i++)
        rc = add_argument(&call, &args[i], i, &values[i]);
    if (rc == 0)
        rc = choose_device(&call);
    if (rc == 0)
        rc = run(&call, values, nargs, results, nresults);
    for (size_t i = 0; i < call.count; i++)
        call.api->release(call.handles[i]);
    for (size_t i = 0; i < nargs; i++)
        free(call.lists[i]);
    free(call.handles);
    free(call.tensors);
    return rc;
}
