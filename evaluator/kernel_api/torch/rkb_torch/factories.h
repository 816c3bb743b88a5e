/**
 * @file factories.h
 * Functions that make tensors. Memory comes poisoned from the runtime; nothing here needs libtorch
 * but random numbers and the like.
 */
#pragma once

#include "rkb_torch/views.h"

namespace at {

namespace detail {

inline Tensor make_empty(IntArrayRef sizes, const TensorOptions &options,
                         optional<MemoryFormat> format = nullopt)
{
    TORCH_CHECK(options.device().index() <= 0, "device ", options.device(), " does not exist");
    Tensor r = empty_in_format(
        sizes, options.dtype().toScalarType(), options.device().type(),
        format.value_or(options.memory_format_opt().value_or(MemoryFormat::Contiguous)));
    if (options.requires_grad())
        r.requires_grad_(true);
    return r;
}

inline Tensor make_like(const Tensor &self, const TensorOptions &options,
                        optional<MemoryFormat> format)
{
    MemoryFormat kept = options.memory_format_opt().value_or(MemoryFormat::Preserve);
    return empty_like_layout(
        self, options.has_dtype() ? options.dtype().toScalarType() : self.scalar_type(),
        options.has_device() ? options.device().type() : self.device().type(),
        format.value_or(kept));
}

/** The long form of the generated API: each option on its own. */
inline TensorOptions options_of(optional<ScalarType> dtype, optional<Layout>,
                                optional<Device> device, optional<bool>)
{
    return TensorOptions().dtype(dtype).device(device);
}

/** The dtype that torch gives to a literal: float for fractions, int64 for integers. */
inline ScalarType literal_type(const Scalar &value)
{
    return value.isFloatingPoint() ? kFloat : (value.isBoolean() ? kBool : kLong);
}

} // namespace detail

/* X(name, statement that fills the new tensor r) */
#define RKB_FACTORY(name, fill)                                                                    \
    inline Tensor name(IntArrayRef size, TensorOptions options = {},                               \
                       optional<MemoryFormat> format = nullopt)                                    \
    {                                                                                              \
        Tensor r = detail::make_empty(size, options, format);                                      \
        fill;                                                                                      \
        return r;                                                                                  \
    }                                                                                              \
    inline Tensor name(IntArrayRef size, optional<ScalarType> dtype, optional<Layout> layout,      \
                       optional<Device> device, optional<bool> pin,                                \
                       optional<MemoryFormat> format = nullopt)                                    \
    {                                                                                              \
        return name(size, detail::options_of(dtype, layout, device, pin), format);                 \
    }                                                                                              \
    inline Tensor name##_like(const Tensor &self, TensorOptions options = {},                      \
                              optional<MemoryFormat> format = nullopt)                             \
    {                                                                                              \
        Tensor r = detail::make_like(self, options, format);                                       \
        fill;                                                                                      \
        return r;                                                                                  \
    }
RKB_FACTORY(empty, (void)0)
RKB_FACTORY(zeros, r.fill_(Scalar(0)))
RKB_FACTORY(ones, r.fill_(Scalar(1)))
#undef RKB_FACTORY

inline Tensor full(IntArrayRef size, const Scalar &value, TensorOptions options = {})
{
    if (!options.has_dtype())
        options = options.dtype(detail::literal_type(value));
    return detail::make_empty(size, options).fill_(value);
}
inline Tensor full_like(const Tensor &self, const Scalar &value, TensorOptions options = {},
                        optional<MemoryFormat> format = nullopt)
{
    return detail::make_like(self, options, format).fill_(value);
}
inline Tensor empty_strided(IntArrayRef size, IntArrayRef stride, TensorOptions options = {})
{
    TORCH_CHECK(size.size() == stride.size() && size.size() <= RKB_MAX_DIMS,
                "sizes and strides differ in length");
    return detail::empty_with_strides(size, stride.data(), options.dtype().toScalarType(),
                                      options.device().type());
}
inline Tensor scalar_tensor(const Scalar &value, TensorOptions options = {})
{
    return full({}, value, options);
}

namespace detail {

template <typename F>
void run_deleter(void *context)
{
    F *deleter = static_cast<F *>(context);
    (*deleter)();
    delete deleter;
}

} // namespace detail

inline Tensor from_blob(void *data, IntArrayRef sizes, IntArrayRef strides,
                        TensorOptions options = {})
{
    TORCH_CHECK(sizes.size() == strides.size(), "sizes and strides differ in length");
    return Tensor::adopt(rkb_rt_tensor_from_blob(
        data, sizes.data(), strides.data(), static_cast<int32_t>(sizes.size()),
        static_cast<int32_t>(options.dtype().toScalarType()),
        static_cast<int32_t>(options.device().type()), nullptr, nullptr));
}
inline Tensor from_blob(void *data, IntArrayRef sizes, TensorOptions options = {})
{
    return Tensor::adopt(
        rkb_rt_tensor_from_blob(data, sizes.data(), nullptr, static_cast<int32_t>(sizes.size()),
                                static_cast<int32_t>(options.dtype().toScalarType()),
                                static_cast<int32_t>(options.device().type()), nullptr, nullptr));
}
/** `deleter(data)` runs when the last tensor over the memory is gone. */
template <typename F, typename = decltype(std::declval<F &>()(static_cast<void *>(nullptr)))>
Tensor from_blob(void *data, IntArrayRef sizes, F deleter, TensorOptions options = {})
{
    auto call = [deleter, data]() mutable { deleter(data); };
    using call_t = decltype(call);
    call_t *context = new call_t(call);
    rkb_tensor_t *t = rkb_rt_tensor_from_blob(
        data, sizes.data(), nullptr, static_cast<int32_t>(sizes.size()),
        static_cast<int32_t>(options.dtype().toScalarType()),
        static_cast<int32_t>(options.device().type()), &detail::run_deleter<call_t>, context);
    if (t == nullptr)
        delete context;
    return Tensor::adopt(t);
}

/* ---- tensor({…}) ---- */

namespace detail {

template <typename T>
Tensor tensor_of(const T *values, size_t n, IntArrayRef shape, TensorOptions options)
{
    constexpr ScalarType own = CppTypeToScalarType<T>::value;
    int64_t count = static_cast<int64_t>(n);
    if (!options.has_dtype()) /* torch's defaults: double literals make a float tensor */
        options = options.dtype(own == kDouble ? kFloat : (own == kInt ? kLong : own));
    Tensor host = Tensor::adopt(rkb_rt_tensor_from_blob(const_cast<T *>(values), &count, nullptr, 1,
                                                        static_cast<int32_t>(own), RKB_DEVICE_CPU,
                                                        nullptr, nullptr));
    Tensor r = make_empty(shape, options);
    if (n > 0)
        r.copy_(host.view(shape));
    return r;
}

} // namespace detail

template <typename T, typename = decltype(CppTypeToScalarType<T>::value)>
Tensor tensor(std::initializer_list<T> values, TensorOptions options = {})
{
    int64_t n = static_cast<int64_t>(values.size());
    return detail::tensor_of(values.begin(), values.size(), n, options);
}
template <typename T, typename = decltype(CppTypeToScalarType<T>::value)>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, TensorOptions options = {})
{
    std::vector<T> flat;
    int64_t shape[2] = {static_cast<int64_t>(rows.size()), 0};
    for (const auto &row : rows) {
        shape[1] = static_cast<int64_t>(row.size());
        flat.insert(flat.end(), row.begin(), row.end());
    }
    TORCH_CHECK(static_cast<int64_t>(flat.size()) == shape[0] * shape[1], "rows differ in length");
    return detail::tensor_of(flat.data(), flat.size(), shape, options);
}
template <typename T, typename = decltype(CppTypeToScalarType<T>::value)>
Tensor tensor(ArrayRef<T> values, TensorOptions options = {})
{
    int64_t n = static_cast<int64_t>(values.size());
    return detail::tensor_of(values.data(), values.size(), n, options);
}
template <typename T, typename = decltype(CppTypeToScalarType<T>::value)>
Tensor tensor(const std::vector<T> &values, TensorOptions options = {})
{
    return tensor(ArrayRef<T>(values), options);
}
template <typename T, typename = decltype(CppTypeToScalarType<T>::value)>
Tensor tensor(T value, TensorOptions options = {})
{
    return detail::tensor_of(&value, 1, IntArrayRef(), options);
}

/* ---- sequences and random numbers: computed by libtorch, then moved ---- */

namespace detail {

inline Tensor moved(const Tensor &made, const TensorOptions &options)
{
    return options.is_cuda() ? made.cuda() : made;
}

} // namespace detail

inline Tensor arange(const Scalar &end, TensorOptions options = {})
{
    return detail::moved(rkb::op<Tensor>("aten::arange", {end, options.dtype_opt()}), options);
}
inline Tensor arange(const Scalar &start, const Scalar &end, TensorOptions options = {})
{
    return detail::moved(rkb::op<Tensor>("aten::arange.start", {start, end, options.dtype_opt()}),
                         options);
}
inline Tensor arange(const Scalar &start, const Scalar &end, const Scalar &step,
                     TensorOptions options = {})
{
    return detail::moved(
        rkb::op<Tensor>("aten::arange.start_step", {start, end, step, options.dtype_opt()}),
        options);
}
inline Tensor linspace(const Scalar &start, const Scalar &end, int64_t steps,
                       TensorOptions options = {})
{
    return detail::moved(
        rkb::op<Tensor>("aten::linspace", {start, end, steps, options.dtype_opt()}), options);
}
inline Tensor eye(int64_t n, TensorOptions options = {})
{
    return detail::moved(rkb::op<Tensor>("aten::eye", {n, options.dtype_opt()}), options);
}
inline Tensor eye(int64_t n, int64_t m, TensorOptions options = {})
{
    return detail::moved(rkb::op<Tensor>("aten::eye.m", {n, m, options.dtype_opt()}), options);
}
inline Tensor rand(IntArrayRef size, TensorOptions options = {})
{
    return detail::moved(rkb::op<Tensor>("aten::rand", {size, options.dtype_opt()}), options);
}
inline Tensor randn(IntArrayRef size, TensorOptions options = {})
{
    return detail::moved(rkb::op<Tensor>("aten::randn", {size, options.dtype_opt()}), options);
}
inline Tensor rand_like(const Tensor &self, TensorOptions options = {})
{
    return rkb::op<Tensor>("aten::rand_like", {self, options.dtype_opt()});
}
inline Tensor randn_like(const Tensor &self, TensorOptions options = {})
{
    return rkb::op<Tensor>("aten::randn_like", {self, options.dtype_opt()});
}
inline Tensor randint(int64_t high, IntArrayRef size, TensorOptions options = {})
{
    return detail::moved(rkb::op<Tensor>("aten::randint", {high, size, options.dtype_opt()}),
                         options);
}
inline Tensor randint(int64_t low, int64_t high, IntArrayRef size, TensorOptions options = {})
{
    return detail::moved(
        rkb::op<Tensor>("aten::randint.low", {low, high, size, options.dtype_opt()}), options);
}

/* ---- methods that make tensors ---- */

inline Tensor Tensor::new_empty(IntArrayRef sizes, TensorOptions options) const
{
    return detail::make_empty(sizes, this->options().merge_in(options));
}
inline Tensor Tensor::new_zeros(IntArrayRef sizes, TensorOptions options) const
{
    return new_empty(sizes, options).fill_(Scalar(0));
}
inline Tensor Tensor::new_ones(IntArrayRef sizes, TensorOptions options) const
{
    return new_empty(sizes, options).fill_(Scalar(1));
}
inline Tensor Tensor::new_full(IntArrayRef sizes, const Scalar &value, TensorOptions options) const
{
    return new_empty(sizes, options).fill_(value);
}

} // namespace at
