#include "evaluator/cell/runtime/tensor.h"

#include "evaluator/cell/runtime/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { STORAGE_HEAP, STORAGE_HOST, STORAGE_FOREIGN } storage_kind_t;

struct rkb_storage {
    int64_t refs;
    storage_kind_t kind;
    unsigned char *base;
    uint64_t bytes;
    uint64_t generation; /* of the heap, when the block was taken */
    void (*deleter)(void *);
    void *context;
};

static char last_error[1024];

int rkb_rt_fail(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(last_error, sizeof(last_error), fmt, ap);
    va_end(ap);
    return -1;
}

const char *rkb_rt_last_error(void)
{
    return last_error;
}

size_t rkb_rt_dtype_size(int32_t dtype)
{
    switch (dtype) {
#define DTYPE_SIZE(_e, _name, _size, _torch)                                                       \
    case RKB_##_e:                                                                                 \
        return _size;
        RKB_DTYPE_MAP(DTYPE_SIZE)
#undef DTYPE_SIZE
    default:
        return 0;
    }
}

const char *rkb_rt_dtype_name(int32_t dtype)
{
    switch (dtype) {
#define DTYPE_NAME(_e, _name, _size, _torch)                                                       \
    case RKB_##_e:                                                                                 \
        return _name;
        RKB_DTYPE_MAP(DTYPE_NAME)
#undef DTYPE_NAME
    default:
        return "unknown";
    }
}

/* ---- storage ----------------------------------------------------------------------------------
 */

static void storage_release(rkb_storage_t *storage)
{
    if (storage == NULL || --storage->refs > 0)
        return;
    switch (storage->kind) {
    case STORAGE_HEAP:
        /* A tensor that a candidate kept over calls may outlive the range it was made in. */
        if (storage->generation == rkb_heap_generation())
            rkb_heap_free(storage->base);
        break;
    case STORAGE_HOST:
        free(storage->base);
        break;
    case STORAGE_FOREIGN:
        if (storage->deleter != NULL)
            storage->deleter(storage->context);
        break;
    }
    free(storage);
}

static rkb_storage_t *storage_create(uint64_t bytes, int32_t device)
{
    rkb_storage_t *storage = calloc(1, sizeof(*storage));
    if (storage == NULL)
        return NULL;
    storage->refs = 1;
    storage->bytes = bytes;
    if (device == RKB_DEVICE_CUDA) {
        storage->kind = STORAGE_HEAP;
        storage->base = rkb_heap_alloc(bytes);
        storage->generation = rkb_heap_generation();
    } else {
        storage->kind = STORAGE_HOST;
        storage->base = malloc(bytes > 0 ? bytes : 1);
        if (storage->base != NULL)
            rkb_heap_fill(storage->base, bytes, rkb_heap_poison());
    }
    if (storage->base == NULL) {
        free(storage);
        return NULL;
    }
    return storage;
}

/* ---- tensors ----------------------------------------------------------------------------------
 */

static bool shape_valid(const int64_t *sizes, int32_t ndim, int32_t dtype, int64_t *numel)
{
    if (rkb_rt_dtype_size(dtype) == 0) {
        rkb_rt_fail("tensors of dtype number %d are not supported", dtype);
        return false;
    }
    if (ndim < 0 || ndim > RKB_MAX_DIMS) {
        rkb_rt_fail("a tensor of %d dimensions is not supported (at most %d)", ndim, RKB_MAX_DIMS);
        return false;
    }
    int64_t total = 1;
    for (int32_t i = 0; i < ndim; i++) {
        if (sizes[i] < 0) {
            rkb_rt_fail("size %lld of dimension %d is negative", (long long)sizes[i], i);
            return false;
        }
        if (__builtin_mul_overflow(total, sizes[i], &total)) {
            rkb_rt_fail("the number of elements overflows");
            return false;
        }
    }
    if (total > INT64_MAX / 8) {
        rkb_rt_fail("the number of bytes overflows");
        return false;
    }
    *numel = total;
    return true;
}

static void contiguous_strides(const int64_t *sizes, int32_t ndim, int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= sizes[i] > 0 ? sizes[i] : 1;
    }
}

/** Offsets, in elements from data, of the first and one past the last element; false: overflow. */
static bool extent(const int64_t *sizes, const int64_t *strides, int32_t ndim, int64_t *low,
                   int64_t *high)
{
    *low = 0;
    *high = 1;
    for (int32_t i = 0; i < ndim; i++) {
        int64_t span;
        if (sizes[i] == 0) {
            *low = *high = 0;
            return true;
        }
        if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &span) ||
            __builtin_add_overflow(span < 0 ? *low : *high, span, span < 0 ? low : high))
            return false;
    }
    return *high <= INT64_MAX / 8 && *low >= INT64_MIN / 8;
}

/** Takes over the reference to storage, also on failure. */
static rkb_tensor_t *tensor_create(rkb_storage_t *storage, void *data, int32_t dtype,
                                   int32_t device, int64_t numel, const int64_t *sizes,
                                   const int64_t *strides, int32_t ndim)
{
    rkb_tensor_t *tensor = calloc(1, sizeof(*tensor));
    if (tensor == NULL) {
        storage_release(storage);
        rkb_rt_fail("out of memory");
        return NULL;
    }
    tensor->data = data;
    tensor->storage = storage;
    tensor->refs = 1;
    tensor->dtype = dtype;
    tensor->device = device;
    tensor->device_index = device == RKB_DEVICE_CUDA ? 0 : -1;
    tensor->ndim = ndim;
    tensor->numel = numel;
    if (ndim > 0) {
        memcpy(tensor->sizes, sizes, (size_t)ndim * sizeof(*sizes));
        memcpy(tensor->strides, strides, (size_t)ndim * sizeof(*strides));
    }
    return tensor;
}

void rkb_rt_tensor_retain(rkb_tensor_t *tensor)
{
    if (tensor != NULL)
        tensor->refs++;
}

void rkb_rt_tensor_release(rkb_tensor_t *tensor)
{
    if (tensor == NULL || --tensor->refs > 0)
        return;
    storage_release(tensor->storage);
    free(tensor);
}

rkb_tensor_t *rkb_rt_tensor_empty(const int64_t *sizes, int32_t ndim, int32_t dtype, int32_t device)
{
    int64_t numel, strides[RKB_MAX_DIMS];
    if (!shape_valid(sizes, ndim, dtype, &numel))
        return NULL;
    if (device != RKB_DEVICE_CPU && device != RKB_DEVICE_CUDA) {
        rkb_rt_fail("device number %d is not supported", device);
        return NULL;
    }
    uint64_t bytes = (uint64_t)numel * rkb_rt_dtype_size(dtype);
    rkb_storage_t *storage = storage_create(bytes, device);
    if (storage == NULL) {
        rkb_rt_fail("out of %s memory: a tensor of %llu bytes does not fit",
                    device == RKB_DEVICE_CUDA ? "CUDA" : "host", (unsigned long long)bytes);
        return NULL;
    }
    contiguous_strides(sizes, ndim, strides);
    return tensor_create(storage, storage->base, dtype, device, numel, sizes, strides, ndim);
}

rkb_tensor_t *rkb_rt_tensor_as_strided(rkb_tensor_t *base, const int64_t *sizes,
                                       const int64_t *strides, int32_t ndim, void *data)
{
    int64_t numel, low, high;
    if (!shape_valid(sizes, ndim, base->dtype, &numel))
        return NULL;
    if (!extent(sizes, strides, ndim, &low, &high)) {
        rkb_rt_fail("the strides of a view overflow");
        return NULL;
    }
    int64_t size = (int64_t)rkb_rt_dtype_size(base->dtype);
    int64_t offset = (int64_t)((uintptr_t)data - (uintptr_t)base->storage->base);
    int64_t bytes = (int64_t)base->storage->bytes;
    bool inside = high == low ? offset >= 0 && offset <= bytes
                              : offset + low * size >= 0 && offset + high * size <= bytes;
    if (!inside) {
        rkb_rt_fail("a view reaches outside of its storage of %lld bytes", (long long)bytes);
        return NULL;
    }
    base->storage->refs++;
    return tensor_create(base->storage, data, base->dtype, base->device, numel, sizes, strides,
                         ndim);
}

rkb_tensor_t *rkb_rt_tensor_from_blob(void *data, const int64_t *sizes, const int64_t *strides,
                                      int32_t ndim, int32_t dtype, int32_t device,
                                      void (*deleter)(void *), void *context)
{
    int64_t numel, low, high, packed[RKB_MAX_DIMS];
    if (!shape_valid(sizes, ndim, dtype, &numel))
        return NULL;
    if (strides == NULL) {
        contiguous_strides(sizes, ndim, packed);
        strides = packed;
    }
    if (!extent(sizes, strides, ndim, &low, &high)) {
        rkb_rt_fail("the strides of a tensor overflow");
        return NULL;
    }
    rkb_storage_t *storage = calloc(1, sizeof(*storage));
    if (storage == NULL) {
        rkb_rt_fail("out of memory");
        return NULL;
    }
    int64_t size = (int64_t)rkb_rt_dtype_size(dtype);
    storage->refs = 1;
    storage->kind = STORAGE_FOREIGN;
    storage->base = (unsigned char *)((uintptr_t)data + (uintptr_t)(low * size));
    storage->bytes = (uint64_t)((high - low) * size);
    rkb_tensor_t *tensor = tensor_create(storage, data, dtype, device, numel, sizes, strides, ndim);
    if (tensor != NULL) { /* only now: on failure the caller still owns the memory */
        storage->deleter = deleter;
        storage->context = context;
    }
    return tensor;
}

rkb_tensor_t *rkb_runtime_lend(void *data, int32_t dtype, int32_t ndim, const int64_t *sizes,
                               const int64_t *strides)
{
    return rkb_rt_tensor_from_blob(data, sizes, strides, ndim, dtype, RKB_DEVICE_CUDA, NULL, NULL);
}

bool rkb_runtime_storage_holds(const rkb_tensor_t *tensor, const void *data)
{
    const unsigned char *p = data;
    const rkb_storage_t *storage = tensor->storage;
    return storage->bytes > 0 && p >= storage->base && p < storage->base + storage->bytes;
}

void rkb_rt_tensor_storage(const rkb_tensor_t *tensor, void **base, size_t *bytes)
{
    *base = tensor->storage->base;
    *bytes = tensor->storage->bytes;
}

/* ---- device memory ----------------------------------------------------------------------------
 */

void *rkb_rt_device_alloc(size_t bytes)
{
    void *pointer = rkb_heap_alloc(bytes);
    if (pointer == NULL)
        rkb_rt_fail("out of CUDA memory: %zu bytes do not fit", bytes);
    return pointer;
}

int rkb_rt_device_free(void *pointer)
{
    if (rkb_heap_free(pointer) == 0)
        return 0;
    return rkb_rt_fail("%p was not allocated by cudaMalloc", pointer);
}
