/**
 * @file views.h
 * Bodies of the Tensor methods that need no arithmetic: layout tests, views, copies, conversions.
 */
#pragma once

#include "rkb_torch/op.h"

namespace at {

namespace detail {

/** Strides of a tensor whose dimensions are packed in the given order, last one fastest. */
inline void packed_strides(const int64_t *sizes, const int *order, int n, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = n - 1; i >= 0; i--) {
        strides[order[i]] = stride;
        stride *= sizes[order[i]] > 0 ? sizes[order[i]] : 1;
    }
}

constexpr int channels_last_2d[] = {0, 2, 3, 1};
constexpr int channels_last_3d[] = {0, 2, 3, 4, 1};

inline bool strides_match(const rkb_tensor_t *t, const int *order, int n)
{
    int64_t packed[RKB_MAX_DIMS];
    if (t->ndim != n)
        return false;
    packed_strides(t->sizes, order, n, packed);
    for (int i = 0; i < n; i++)
        if (t->sizes[i] != 1 && t->strides[i] != packed[i])
            return false;
    return true;
}

/** A new tensor of these sizes and strides over fresh memory that is just large enough. */
inline Tensor empty_with_strides(IntArrayRef sizes, const int64_t *strides, ScalarType dtype,
                                 DeviceType device)
{
    int64_t extent = 1;
    for (size_t i = 0; i < sizes.size(); i++)
        extent = sizes[i] == 0 || extent == 0 ? 0 : extent + (sizes[i] - 1) * strides[i];
    Tensor flat = Tensor::adopt(
        rkb_rt_tensor_empty(&extent, 1, static_cast<int32_t>(dtype), static_cast<int32_t>(device)));
    return Tensor::adopt(rkb_rt_tensor_as_strided(
        flat.raw(), sizes.data(), strides, static_cast<int32_t>(sizes.size()), flat.data_ptr()));
}

inline Tensor empty_in_format(IntArrayRef sizes, ScalarType dtype, DeviceType device,
                              MemoryFormat format)
{
    int64_t strides[RKB_MAX_DIMS];
    if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
        bool planar = format == MemoryFormat::ChannelsLast;
        int n = planar ? 4 : 5;
        TORCH_CHECK(sizes.size() == static_cast<size_t>(n), "channels-last needs a tensor of ", n,
                    " dimensions");
        packed_strides(sizes.data(), planar ? channels_last_2d : channels_last_3d, n, strides);
        return empty_with_strides(sizes, strides, dtype, device);
    }
    return Tensor::adopt(rkb_rt_tensor_empty(sizes.data(), static_cast<int32_t>(sizes.size()),
                                             static_cast<int32_t>(dtype),
                                             static_cast<int32_t>(device)));
}

/** Keeps the strides of a tensor without holes or overlaps; any other becomes contiguous. */
inline Tensor empty_like_layout(const Tensor &self, ScalarType dtype, DeviceType device,
                                MemoryFormat format)
{
    if (format == MemoryFormat::Preserve) {
        if (!self.is_contiguous() && self.is_non_overlapping_and_dense())
            return empty_with_strides(self.sizes(), self.strides().data(), dtype, device);
        format = MemoryFormat::Contiguous;
    }
    return empty_in_format(self.sizes(), dtype, device, format);
}

} // namespace detail

/* ---- layout ---- */

inline bool Tensor::is_contiguous(MemoryFormat format) const
{
    const rkb_tensor_t *t = impl();
    if (format == MemoryFormat::ChannelsLast)
        return detail::strides_match(t, detail::channels_last_2d, 4);
    if (format == MemoryFormat::ChannelsLast3d)
        return detail::strides_match(t, detail::channels_last_3d, 5);
    int64_t stride = 1;
    if (t->numel == 0)
        return true;
    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        if (t->sizes[i] == 1)
            continue;
        if (t->strides[i] != stride)
            return false;
        stride *= t->sizes[i];
    }
    return true;
}

inline bool Tensor::is_non_overlapping_and_dense() const
{
    const rkb_tensor_t *t = impl();
    bool used[RKB_MAX_DIMS] = {};
    int64_t stride = 1;
    for (int32_t left = 0; left < t->ndim; left++) {
        int32_t next = -1;
        for (int32_t i = 0; i < t->ndim; i++)
            if (!used[i] && (t->sizes[i] == 1 || t->strides[i] == stride))
                next = next < 0 || t->sizes[i] == 1 ? i : next;
        if (next < 0)
            return false;
        used[next] = true;
        stride *= t->sizes[next];
    }
    return true;
}

inline MemoryFormat Tensor::suggest_memory_format() const
{
    if (!is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast))
        return MemoryFormat::ChannelsLast;
    if (!is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast3d))
        return MemoryFormat::ChannelsLast3d;
    return MemoryFormat::Contiguous;
}

/* ---- views ---- */

inline Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides,
                                 optional<int64_t> storage_offset) const
{
    TORCH_CHECK(sizes.size() == strides.size(), "sizes and strides differ in length");
    void *data = impl()->data;
    if (storage_offset.has_value())
        data = element(*storage_offset - this->storage_offset());
    return adopt(rkb_rt_tensor_as_strided(t_, sizes.data(), strides.data(),
                                          static_cast<int32_t>(sizes.size()), data));
}

/** Sizes with -1 resolved, and strides; false if the view would need a copy. */
inline bool Tensor::view_shape(IntArrayRef sizes, rkb::shape_t *out) const
{
    const rkb_tensor_t *t = impl();
    int64_t known = 1;
    int32_t open = -1;
    for (size_t i = 0; i < sizes.size(); i++) {
        out->push(sizes[i], 0);
        if (sizes[i] == -1 && open < 0)
            open = static_cast<int32_t>(i);
        else if (sizes[i] < 0)
            rkb::fail_with(c10::str("invalid shape ", sizes));
        else
            known *= sizes[i];
    }
    if (open >= 0 && known > 0) {
        out->sizes[open] = t->numel / known;
        known *= out->sizes[open];
    }
    TORCH_CHECK(known == t->numel && (open < 0 || known > 0 || t->numel == 0), "shape ", sizes,
                " is invalid for a tensor of ", t->numel, " elements");
    if (t->numel == 0 || is_contiguous()) {
        int64_t stride = 1;
        for (int32_t i = out->ndim - 1; i >= 0; i--) {
            out->strides[i] = stride;
            stride *= out->sizes[i] > 0 ? out->sizes[i] : 1;
        }
        return true;
    }
    /* Old dimensions that walk evenly form chunks; new dimensions may split a chunk only. */
    int32_t d = out->ndim - 1;
    for (int32_t last = t->ndim - 1; last >= 0;) {
        int64_t base = t->strides[last], chunk = t->sizes[last];
        int32_t first = last;
        while (first > 0 &&
               (t->sizes[first - 1] == 1 || chunk == 1 || t->strides[first - 1] == base * chunk)) {
            if (chunk == 1)
                base = t->strides[first - 1];
            chunk *= t->sizes[--first];
        }
        int64_t filled = 1;
        while (d >= 0 && (filled < chunk || out->sizes[d] == 1)) {
            out->strides[d] = base * filled;
            filled *= out->sizes[d--];
        }
        if (filled != chunk)
            return false;
        last = first - 1;
    }
    return d < 0;
}

inline Tensor Tensor::view(IntArrayRef sizes) const
{
    rkb::shape_t shape;
    TORCH_CHECK(view_shape(sizes, &shape), "view: shape ", sizes,
                " does not fit the strides of the tensor; use reshape");
    return strided(shape, t_->data);
}

inline Tensor Tensor::view(ScalarType dtype) const
{
    return rkb::op<Tensor>("aten::view.dtype", {*this, dtype});
}

inline Tensor Tensor::reshape(IntArrayRef sizes) const
{
    rkb::shape_t shape;
    if (view_shape(sizes, &shape))
        return strided(shape, t_->data);
    return clone(MemoryFormat::Contiguous).view(sizes);
}

inline Tensor Tensor::permute(IntArrayRef dims) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    bool seen[RKB_MAX_DIMS] = {};
    TORCH_CHECK(dims.size() == static_cast<size_t>(t->ndim), "permute: ", dims.size(),
                " dimensions for a tensor of ", t->ndim);
    for (int64_t each : dims) {
        int64_t d = rkb::wrap_dim(each, t->ndim);
        TORCH_CHECK(!seen[d], "permute: dimension ", d, " is repeated");
        seen[d] = true;
        shape.push(t->sizes[d], t->strides[d]);
    }
    return strided(shape, t->data);
}

inline Tensor Tensor::transpose(int64_t a, int64_t b) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    a = rkb::wrap_dim(a, t->ndim);
    b = rkb::wrap_dim(b, t->ndim);
    for (int32_t i = 0; i < t->ndim; i++) {
        int64_t d = i == a ? b : (i == b ? a : i);
        shape.push(t->sizes[d], t->strides[d]);
    }
    return strided(shape, t->data);
}

inline Tensor Tensor::t() const
{
    TORCH_CHECK(dim() <= 2, "t() needs at most 2 dimensions, not ", dim());
    return dim() < 2 ? alias() : transpose(0, 1);
}

inline Tensor Tensor::unsqueeze(int64_t dim) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    dim = rkb::wrap_dim(dim, t->ndim + 1);
    for (int32_t i = 0; i <= t->ndim; i++) {
        if (i == dim)
            shape.push(1, i < t->ndim ? t->sizes[i] * t->strides[i] : 1);
        if (i < t->ndim)
            shape.push(t->sizes[i], t->strides[i]);
    }
    return strided(shape, t->data);
}

inline Tensor Tensor::squeeze() const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    for (int32_t i = 0; i < t->ndim; i++)
        if (t->sizes[i] != 1)
            shape.push(t->sizes[i], t->strides[i]);
    return strided(shape, t->data);
}

inline Tensor Tensor::squeeze(int64_t dim) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    dim = rkb::wrap_dim(dim, t->ndim);
    for (int32_t i = 0; i < t->ndim; i++)
        if (i != dim || t->sizes[i] != 1)
            shape.push(t->sizes[i], t->strides[i]);
    return strided(shape, t->data);
}

inline Tensor Tensor::expand(IntArrayRef sizes, bool) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    int64_t lead = static_cast<int64_t>(sizes.size()) - t->ndim;
    TORCH_CHECK(lead >= 0, "expand: ", sizes.size(), " sizes for a tensor of ", t->ndim,
                " dimensions");
    for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); i++) {
        int64_t size = i < lead ? 1 : t->sizes[i - lead];
        int64_t want = sizes[static_cast<size_t>(i)];
        if (want == -1 && i >= lead)
            want = size;
        TORCH_CHECK(want >= 0 && (size == want || size == 1), "expand: size ", size,
                    " of dimension ", i, " cannot become ", want);
        shape.push(want, size == 1 && want != 1 ? 0 : (i < lead ? 0 : t->strides[i - lead]));
    }
    return strided(shape, t->data);
}

inline Tensor Tensor::flatten(int64_t start, int64_t end) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    start = rkb::wrap_dim(start, t->ndim);
    end = rkb::wrap_dim(end, t->ndim);
    TORCH_CHECK(start <= end, "flatten: the start comes after the end");
    if (t->ndim == 0)
        return reshape({1});
    for (int64_t i = 0; i < t->ndim; i++) {
        if (i > start && i <= end)
            shape.sizes[start] *= t->sizes[i];
        else
            shape.push(t->sizes[i], 0);
    }
    return reshape(IntArrayRef(shape.sizes, static_cast<size_t>(shape.ndim)));
}

inline Tensor Tensor::slice(int64_t dim, optional<int64_t> start, optional<int64_t> end,
                            int64_t step) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    TORCH_CHECK(t->ndim > 0, "slice: the tensor has no dimensions");
    TORCH_CHECK(step > 0, "slice: the step must be positive");
    dim = rkb::wrap_dim(dim, t->ndim);
    int64_t size = t->sizes[dim];
    auto bound = [size](int64_t i) {
        i = i < 0 ? i + size : i;
        return i < 0 ? 0 : (i > size ? size : i);
    };
    int64_t first = bound(start.value_or(0));
    int64_t last = end.has_value() ? bound(*end) : size;
    int64_t length = last > first ? (last - first + step - 1) / step : 0;
    for (int32_t i = 0; i < t->ndim; i++)
        shape.push(i == dim ? length : t->sizes[i], t->strides[i] * (i == dim ? step : 1));
    return strided(shape, element(length > 0 ? first * t->strides[dim] : 0));
}

inline Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const
{
    int64_t n = size(dim);
    start = start < 0 ? start + n : start;
    TORCH_CHECK(start >= 0 && length >= 0 && start + length <= n, "narrow: [", start, ", ",
                start + length, ") is outside of a dimension of ", n);
    return slice(dim, start, start + length, 1);
}

inline Tensor Tensor::select(int64_t dim, int64_t index) const
{
    const rkb_tensor_t *t = impl();
    rkb::shape_t shape;
    TORCH_CHECK(t->ndim > 0, "select: the tensor has no dimensions");
    dim = rkb::wrap_dim(dim, t->ndim);
    if (index < -t->sizes[dim] || index >= t->sizes[dim])
        rkb::fail_index(index, t->sizes[dim]);
    index = index < 0 ? index + t->sizes[dim] : index;
    for (int32_t i = 0; i < t->ndim; i++)
        if (i != dim)
            shape.push(t->sizes[i], t->strides[i]);
    return strided(shape, element(index * t->strides[dim]));
}

inline std::vector<Tensor> Tensor::unbind(int64_t dim) const
{
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < size(dim); i++)
        parts.push_back(select(dim, i));
    return parts;
}

inline std::vector<Tensor> Tensor::split(int64_t length, int64_t dim) const
{
    std::vector<Tensor> parts;
    int64_t n = size(dim);
    TORCH_CHECK(length > 0, "split: the size must be positive");
    for (int64_t i = 0; i < n; i += length)
        parts.push_back(narrow(dim, i, n - i < length ? n - i : length));
    return parts;
}

inline std::vector<Tensor> Tensor::split(IntArrayRef lengths, int64_t dim) const
{
    std::vector<Tensor> parts;
    int64_t start = 0;
    for (int64_t length : lengths) {
        parts.push_back(narrow(dim, start, length));
        start += length;
    }
    TORCH_CHECK(start == size(dim), "split: the sizes do not add up to ", size(dim));
    return parts;
}

inline std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const
{
    TORCH_CHECK(chunks > 0, "chunk: the number must be positive");
    int64_t n = size(dim), length = (n + chunks - 1) / chunks;
    return split(length > 0 ? length : 1, dim);
}

/* ---- indexing ---- */

namespace detail {

/** Applies all that makes a view; tensors that are left stand at their dimension in *gathered. */
inline Tensor apply_indices(const Tensor &self, const indexing::TensorIndex *list, size_t n,
                            std::vector<Tensor> *gathered)
{
    using Kind = indexing::TensorIndex::Kind;
    Tensor view = self;
    int64_t dim = 0, consuming = 0;
    for (size_t i = 0; i < n; i++)
        consuming += list[i].kind == Kind::Integer || list[i].kind == Kind::Range ||
                     list[i].kind == Kind::Tensor;
    for (size_t i = 0; i < n; i++) {
        const indexing::TensorIndex &each = list[i];
        switch (each.kind) {
        case Kind::Absent:
            view = view.unsqueeze(dim++);
            break;
        case Kind::Boolean:
            TORCH_CHECK(each.integer != 0, "indexing with false is not supported");
            view = view.unsqueeze(dim++);
            break;
        case Kind::Dots:
            dim += self.dim() - consuming;
            break;
        case Kind::Integer:
            view = view.select(dim, each.integer);
            break;
        case Kind::Range:
            view = view.slice(dim++, each.range.start, each.range.stop, each.range.step);
            break;
        case Kind::Tensor:
            gathered->resize(static_cast<size_t>(dim) + 1);
            (*gathered)[static_cast<size_t>(dim++)] = *each.tensor;
            break;
        }
    }
    return view;
}

} // namespace detail

inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const
{
    std::vector<Tensor> gathered;
    Tensor view = detail::apply_indices(*this, indices.data(), indices.size(), &gathered);
    return gathered.empty() ? view : rkb::op<Tensor>("aten::index.Tensor", {view, gathered});
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const
{
    return index(ArrayRef<indexing::TensorIndex>(indices));
}
inline Tensor Tensor::index(ArrayRef<optional<Tensor>> indices) const
{
    std::vector<Tensor> gathered;
    for (const optional<Tensor> &each : indices)
        gathered.push_back(each.value_or(Tensor()));
    return rkb::op<Tensor>("aten::index.Tensor", {*this, gathered});
}
inline Tensor Tensor::operator[](const Tensor &i) const
{
    return index({indexing::TensorIndex(i)});
}
inline Tensor &Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                  const Tensor &values)
{
    std::vector<Tensor> gathered;
    Tensor view = detail::apply_indices(*this, indices.begin(), indices.size(), &gathered);
    if (gathered.empty())
        view.copy_(values);
    else
        rkb::op<Tensor>("aten::index_put_", {view, gathered, values});
    return *this;
}
inline Tensor &Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                  const Scalar &value)
{
    Tensor scalar = adopt(rkb_rt_tensor_empty(nullptr, 0, impl()->dtype, RKB_DEVICE_CPU));
    scalar.fill_(value);
    return index_put_(indices, scalar);
}

/* ---- copies ---- */

inline Tensor &Tensor::copy_(const Tensor &src, bool) const
{
    if (rkb_rt_tensor_copy(impl(), src.impl()) != 0)
        rkb::fail_runtime();
    return const_cast<Tensor &>(*this);
}

inline Tensor &Tensor::fill_(const Scalar &value) const
{
    if (rkb_rt_tensor_fill(impl(), value.toDouble(), value.toLong()) != 0)
        rkb::fail_runtime();
    return const_cast<Tensor &>(*this);
}

inline Tensor &Tensor::fill_(const Tensor &value) const
{
    TORCH_CHECK(value.dim() == 0, "fill_ takes a tensor without dimensions");
    return copy_(value);
}

inline Tensor Tensor::clone(optional<MemoryFormat> format) const
{
    Tensor r = detail::empty_like_layout(*this, scalar_type(), device().type(),
                                         format.value_or(MemoryFormat::Preserve));
    return r.copy_(*this);
}

inline Tensor Tensor::contiguous(MemoryFormat format) const
{
    return is_contiguous(format) ? *this : clone(format);
}

inline Tensor Tensor::to(Device device, ScalarType dtype, bool, bool copy,
                         optional<MemoryFormat> format) const
{
    MemoryFormat wanted = format.value_or(MemoryFormat::Preserve);
    bool same = device.type() == this->device().type() && dtype == scalar_type();
    if (same && !copy && (wanted == MemoryFormat::Preserve || is_contiguous(wanted)))
        return *this;
    TORCH_CHECK(device.index() <= 0, "device ", device, " does not exist");
    Tensor r = detail::empty_like_layout(*this, dtype, device.type(), wanted);
    return r.copy_(*this);
}
inline Tensor Tensor::to(ScalarType dtype, bool non_blocking, bool copy,
                         optional<MemoryFormat> format) const
{
    return to(device(), dtype, non_blocking, copy, format);
}
inline Tensor Tensor::to(TensorOptions options, bool non_blocking, bool copy,
                         optional<MemoryFormat> format) const
{
    return to(options.has_device() ? options.device() : device(),
              options.has_dtype() ? options.dtype().toScalarType() : scalar_type(), non_blocking,
              copy, format.has_value() ? format : options.memory_format_opt());
}

namespace detail {

/** Reads the one element of a tensor, converted to T. */
template <typename T>
T read_element(const Tensor &self)
{
    TORCH_CHECK(self.numel() == 1, "a tensor of ", self.numel(),
                " elements cannot become one number");
    T value;
    Tensor slot = Tensor::adopt(rkb_rt_tensor_from_blob(
        &value, nullptr, nullptr, 0, static_cast<int32_t>(CppTypeToScalarType<T>::value),
        RKB_DEVICE_CPU, nullptr, nullptr));
    slot.copy_(self.dim() == 0 ? self : self.reshape({}));
    return value;
}

} // namespace detail

template <typename T>
T Tensor::item() const
{
    return detail::read_element<T>(*this);
}
template <>
inline Scalar Tensor::item<Scalar>() const
{
    if (is_floating_point())
        return detail::read_element<double>(*this);
    int64_t value = detail::read_element<int64_t>(*this);
    return scalar_type() == kBool ? Scalar(value != 0) : Scalar(value);
}

inline Tensor Tensor::operator-() const
{
    return neg();
}
inline Tensor Tensor::operator~() const
{
    return bitwise_not();
}

} // namespace at
