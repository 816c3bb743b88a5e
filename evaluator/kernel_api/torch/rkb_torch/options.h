/**
 * @file options.h
 * c10::TensorOptions: what a new tensor is to be. Unset parts fall back to float, cpu.
 */
#pragma once

#include "rkb_torch/array_ref.h"
#include "rkb_torch/device.h"
#include "rkb_torch/scalar_type.h"

namespace c10 {

class TensorOptions
{
    ScalarType dtype_ = ScalarType::Undefined;
    Device device_ = Device(DeviceType::CPU);
    bool has_device_ = false;
    bool requires_grad_ = false;
    bool has_requires_grad_ = false;
    bool pinned_ = false;
    bool has_format_ = false;
    Layout layout_ = Layout::Strided;
    MemoryFormat format_ = MemoryFormat::Contiguous;

  public:
    TensorOptions() = default;
    TensorOptions(ScalarType dtype) : dtype_(dtype) {}
    TensorOptions(TypeMeta dtype) : dtype_(dtype.toScalarType()) {}
    TensorOptions(Layout layout) : layout_(layout) {}
    TensorOptions(MemoryFormat format) : has_format_(true), format_(format) {}
    template <typename T, typename = typename std::enable_if<std::is_convertible<
                              typename std::decay<T>::type, Device>::value>::type>
    TensorOptions(T &&device) : device_(std::forward<T>(device)), has_device_(true)
    {
    }

    TensorOptions dtype(optional<ScalarType> type) const
    {
        TensorOptions r = *this;
        r.dtype_ = type.value_or(ScalarType::Undefined);
        return r;
    }
    TensorOptions dtype(ScalarType type) const { return dtype(optional<ScalarType>(type)); }
    TensorOptions dtype(TypeMeta type) const { return dtype(type.toScalarType()); }
    template <typename T>
    TensorOptions dtype() const
    {
        return dtype(CppTypeToScalarType<T>::value);
    }
    TensorOptions device(Device value) const
    {
        TensorOptions r = *this;
        r.device_ = value;
        r.has_device_ = true;
        return r;
    }
    TensorOptions device(optional<Device> value) const
    {
        return value.has_value() ? device(*value) : *this;
    }
    TensorOptions device(DeviceType type, DeviceIndex index = -1) const
    {
        return device(Device(type, index));
    }
    TensorOptions device_index(int index) const
    {
        return device(Device(DeviceType::CUDA, static_cast<DeviceIndex>(index)));
    }
    TensorOptions layout(Layout value) const
    {
        TensorOptions r = *this;
        r.layout_ = value;
        return r;
    }
    TensorOptions requires_grad(bool value) const
    {
        TensorOptions r = *this;
        r.requires_grad_ = value;
        r.has_requires_grad_ = true;
        return r;
    }
    TensorOptions pinned_memory(bool value) const
    {
        TensorOptions r = *this;
        r.pinned_ = value;
        return r;
    }
    TensorOptions memory_format(MemoryFormat value) const
    {
        TensorOptions r = *this;
        r.format_ = value;
        r.has_format_ = true;
        return r;
    }

    Device device() const { return device_; }
    TypeMeta dtype() const { return TypeMeta(has_dtype() ? dtype_ : ScalarType::Float); }
    Layout layout() const { return layout_; }
    bool requires_grad() const { return requires_grad_; }
    bool pinned_memory() const { return pinned_; }
    bool has_dtype() const { return dtype_ != ScalarType::Undefined; }
    bool has_device() const { return has_device_; }
    bool has_requires_grad() const { return has_requires_grad_; }
    bool is_cuda() const { return device_.is_cuda(); }
    DeviceIndex device_index() const { return device_.index(); }
    optional<MemoryFormat> memory_format_opt() const
    {
        return has_format_ ? optional<MemoryFormat>(format_) : nullopt;
    }
    optional<ScalarType> dtype_opt() const
    {
        return has_dtype() ? optional<ScalarType>(dtype_) : nullopt;
    }
    optional<Device> device_opt() const
    {
        return has_device_ ? optional<Device>(device_) : nullopt;
    }

    /** These options, with what `other` sets put over them. */
    TensorOptions merge_in(const TensorOptions &other) const
    {
        TensorOptions r = *this;
        if (other.has_dtype())
            r.dtype_ = other.dtype_;
        if (other.has_device_) {
            r.device_ = other.device_;
            r.has_device_ = true;
        }
        if (other.has_requires_grad_) {
            r.requires_grad_ = other.requires_grad_;
            r.has_requires_grad_ = true;
        }
        if (other.has_format_) {
            r.format_ = other.format_;
            r.has_format_ = true;
        }
        return r;
    }
};

inline TensorOptions dtype(ScalarType type)
{
    return TensorOptions().dtype(type);
}
inline TensorOptions dtype(TypeMeta type)
{
    return TensorOptions().dtype(type);
}
template <typename T>
TensorOptions dtype()
{
    return TensorOptions().dtype<T>();
}
inline TensorOptions device(Device value)
{
    return TensorOptions().device(value);
}
inline TensorOptions device_index(int16_t index)
{
    return TensorOptions().device_index(index);
}
inline TensorOptions layout(Layout value)
{
    return TensorOptions().layout(value);
}
inline TensorOptions requires_grad(bool value = true)
{
    return TensorOptions().requires_grad(value);
}
inline TensorOptions memory_format(MemoryFormat value)
{
    return TensorOptions().memory_format(value);
}

} // namespace c10
