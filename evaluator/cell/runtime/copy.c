/*
 * Element-wise copies and fills. Between dtypes a row goes through a buffer of int64_t or double,
 * so that ten loads and twenty stores serve a hundred pairs.
 */
#include "evaluator/cell/runtime/runtime.h"
#include "evaluator/kernel_api/rkb_half.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Floating point to integer saturates and turns NaN into 0, as the device's conversions do. */
static int64_t saturate64(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 9223372036854775808.0)
        return INT64_MAX;
    if (value <= -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)value;
}

static int32_t saturate32(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 2147483647.0)
        return INT32_MAX;
    if (value <= -2147483648.0)
        return INT32_MIN;
    return (int32_t)value;
}

static uint16_t f16_of_double(double value)
{
    return rkb_half_from_float(rkb_double_to_float_odd(value));
}

static uint16_t bf16_of_double(double value)
{
    return rkb_bfloat16_from_float(rkb_double_to_float_odd(value));
}

/** A double that rounds to the shorter types as the integer itself would. */
static double sticky_double(int64_t value)
{
    int64_t exact = (int64_t)1 << 53;
    if (value > -exact && value < exact)
        return (double)value;
    int64_t high = value & ~(int64_t)0x7ff;
    return (double)(high | (value != high ? 0x400 : 0));
}

static uint16_t f16_of_int(int64_t value)
{
    return f16_of_double(sticky_double(value));
}

static uint16_t bf16_of_int(int64_t value)
{
    return bf16_of_double(sticky_double(value));
}

/* X(enum, C type, class it is read as, load, store from int64_t, store from double) */
#define FORMATS(X)                                                                                 \
    X(U8, uint8_t, ints, (int64_t), (uint8_t), (uint8_t)saturate64)                                \
    X(I8, int8_t, ints, (int64_t), (int8_t), (int8_t)saturate64)                                   \
    X(I16, int16_t, ints, (int64_t), (int16_t), (int16_t)saturate64)                               \
    X(I32, int32_t, ints, (int64_t), (int32_t), saturate32)                                        \
    X(I64, int64_t, ints, (int64_t), (int64_t), saturate64)                                        \
    X(F16, uint16_t, doubles, (double)rkb_half_to_float, f16_of_int, f16_of_double)                \
    X(F32, float, doubles, (double), (float), (float))                                             \
    X(F64, double, doubles, (double), (double), (double))                                          \
    X(BOOL, uint8_t, ints, 0 !=, 0 !=, 0 !=)                                                       \
    X(BF16, uint16_t, doubles, (double)rkb_bfloat16_to_float, bf16_of_int, bf16_of_double)

enum { ROW = 256 };

/** Elements on their way from one dtype to another. */
typedef struct {
    bool integral;
    int64_t ints[ROW];
    double doubles[ROW];
} row_t;

static void row_load(row_t *row, int32_t dtype, const void *src, int64_t stride, int n)
{
    switch (dtype) {
#define LOAD_CASE(_e, _type, _class, _load, _from_int, _from_double)                               \
    case RKB_##_e:                                                                                 \
        for (int i = 0; i < n; i++)                                                                \
            row->_class[i] = _load(((const _type *)src)[i * stride]);                              \
        row->integral = (const void *)row->_class == (const void *)row->ints;                      \
        break;
        FORMATS(LOAD_CASE)
#undef LOAD_CASE
    default:
        break;
    }
}

static void row_store(const row_t *row, int32_t dtype, void *dst, int64_t stride, int n)
{
    switch (dtype) {
#define STORE_CASE(_e, _type, _class, _load, _from_int, _from_double)                              \
    case RKB_##_e:                                                                                 \
        for (int i = 0; i < n && row->integral; i++)                                               \
            ((_type *)dst)[i * stride] = _from_int(row->ints[i]);                                  \
        for (int i = 0; i < n && !row->integral; i++)                                              \
            ((_type *)dst)[i * stride] = _from_double(row->doubles[i]);                            \
        break;
        FORMATS(STORE_CASE)
#undef STORE_CASE
    default:
        break;
    }
}

static void copy_same(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t n,
                      size_t size)
{
    if (dst_stride == 1 && src_stride == 1) {
        memmove(dst, src, (size_t)n * size);
        return;
    }
    switch (size) {
#define SAME_CASE(_type)                                                                           \
    case sizeof(_type):                                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((_type *)dst)[i * dst_stride] = ((const _type *)src)[i * src_stride];                 \
        break;
        SAME_CASE(uint8_t)
        SAME_CASE(uint16_t)
        SAME_CASE(uint32_t)
        SAME_CASE(uint64_t)
#undef SAME_CASE
    default:
        break;
    }
}

static void copy_row(rkb_tensor_t *dst, char *to, int64_t to_stride, const rkb_tensor_t *src,
                     const char *from, int64_t from_stride, int64_t n)
{
    int64_t to_size = (int64_t)rkb_rt_dtype_size(dst->dtype);
    int64_t from_size = (int64_t)rkb_rt_dtype_size(src->dtype);
    row_t row;

    if (dst->dtype == src->dtype) {
        copy_same(to, to_stride, from, from_stride, n, (size_t)to_size);
        return;
    }
    for (int64_t i = 0; i < n; i += ROW) {
        int part = n - i < ROW ? (int)(n - i) : ROW;
        row_load(&row, src->dtype, from + i * from_stride * from_size, from_stride, part);
        row_store(&row, dst->dtype, to + i * to_stride * to_size, to_stride, part);
    }
}

/** Strides with which src is read in the shape of dst; false: it does not broadcast. */
static bool broadcast(const rkb_tensor_t *dst, const rkb_tensor_t *src, int64_t *strides)
{
    int32_t lead = dst->ndim - src->ndim;
    for (int32_t i = 0; i < dst->ndim; i++) {
        int64_t size = i < lead ? 1 : src->sizes[i - lead];
        if (size != dst->sizes[i] && size != 1)
            return false;
        strides[i] = size == 1 ? 0 : src->strides[i - lead];
    }
    for (int32_t i = 0; i < -lead; i++) /* leading dimensions of 1 may be dropped */
        if (src->sizes[i] != 1)
            return false;
    return true;
}

/** Joins dimensions that both tensors walk through evenly, so that rows are long. */
static int32_t coalesce(int32_t ndim, int64_t *sizes, int64_t *a, int64_t *b)
{
    int32_t n = 0;
    for (int32_t i = 0; i < ndim; i++) {
        if (sizes[i] == 1)
            continue;
        if (n > 0 && a[n - 1] == a[i] * sizes[i] && b[n - 1] == b[i] * sizes[i]) {
            sizes[n - 1] *= sizes[i];
            a[n - 1] = a[i];
            b[n - 1] = b[i];
            continue;
        }
        sizes[n] = sizes[i];
        a[n] = a[i];
        b[n] = b[i];
        n++;
    }
    if (n == 0) {
        sizes[0] = 1;
        a[0] = b[0] = 1;
        n = 1;
    }
    return n;
}

static int not_broadcastable(const rkb_tensor_t *dst, const rkb_tensor_t *src)
{
    char text[2][256] = {"", ""};
    const rkb_tensor_t *tensors[2] = {src, dst};
    for (int k = 0; k < 2; k++) {
        size_t used = 0;
        for (int32_t i = 0; i < tensors[k]->ndim && used < sizeof(text[k]) - 32; i++)
            used += (size_t)snprintf(text[k] + used, sizeof(text[k]) - used, "%s%lld",
                                     i > 0 ? ", " : "", (long long)tensors[k]->sizes[i]);
    }
    return rkb_rt_fail("a tensor of shape [%s] does not broadcast to [%s]", text[0], text[1]);
}

int rkb_rt_tensor_copy(rkb_tensor_t *dst, const rkb_tensor_t *src)
{
    int64_t sizes[RKB_MAX_DIMS], to[RKB_MAX_DIMS], from[RKB_MAX_DIMS], index[RKB_MAX_DIMS] = {0};
    int64_t to_size = (int64_t)rkb_rt_dtype_size(dst->dtype);
    int64_t from_size = (int64_t)rkb_rt_dtype_size(src->dtype);

    if (to_size == 0 || from_size == 0)
        return rkb_rt_fail("a copy from %s to %s is not supported", rkb_rt_dtype_name(src->dtype),
                           rkb_rt_dtype_name(dst->dtype));
    if (dst->ndim > 0) {
        memcpy(sizes, dst->sizes, sizeof(sizes));
        memcpy(to, dst->strides, sizeof(to));
    }
    if (!broadcast(dst, src, from))
        return not_broadcastable(dst, src);
    if (dst->numel == 0)
        return 0;

    int32_t ndim = coalesce(dst->ndim, sizes, to, from);
    char *to_row = dst->data;
    const char *from_row = src->data;
    for (;;) {
        copy_row(dst, to_row, to[ndim - 1], src, from_row, from[ndim - 1], sizes[ndim - 1]);
        int32_t d = ndim - 2;
        for (; d >= 0; d--) {
            to_row += to[d] * to_size;
            from_row += from[d] * from_size;
            if (++index[d] < sizes[d])
                break;
            to_row -= to[d] * sizes[d] * to_size;
            from_row -= from[d] * sizes[d] * from_size;
            index[d] = 0;
        }
        if (d < 0)
            return 0;
    }
}

int rkb_rt_tensor_fill(rkb_tensor_t *tensor, double value, int64_t ivalue)
{
    uint64_t bits = 0;
    row_t row;
    rkb_tensor_t scalar = {.data = &bits, .dtype = tensor->dtype, .numel = 1};

    if (rkb_rt_dtype_size(tensor->dtype) == 0)
        return rkb_rt_fail("tensors of dtype number %d are not supported", tensor->dtype);
    switch (tensor->dtype) {
    case RKB_F16:
    case RKB_F32:
    case RKB_F64:
    case RKB_BF16:
        row.integral = false;
        row.doubles[0] = value;
        break;
    default:
        row.integral = true;
        row.ints[0] = ivalue;
        break;
    }
    row_store(&row, tensor->dtype, &bits, 1, 1);
    return rkb_rt_tensor_copy(tensor, &scalar);
}
