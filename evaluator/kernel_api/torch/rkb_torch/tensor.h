/**
 * @file tensor.h
 * at::Tensor: one counted pointer to the runtime's tensor. Metadata is read in place; views, copies
 * and conversions are made by the runtime; every other operator goes to libtorch by its schema
 * name.
 */
#pragma once

#include "rkb_torch/accessor.h"
#include "rkb_torch/indexing.h"
#include "rkb_torch/op_arg.h"
#include "rkb_torch/options.h"
#include "rkb_torch/scalar.h"

#include <cuda_runtime.h>

#include <string>
#include <tuple>
#include <vector>

namespace rkb {

[[noreturn]] RKB_COLD inline void fail_runtime()
{
    throw c10::Error(rkb_rt_last_error());
}

/** Wraps a dimension index that may count from the end. */
inline int64_t wrap_dim(int64_t dim, int64_t ndim)
{
    int64_t n = ndim > 0 ? ndim : 1;
    if (dim < -n || dim >= n)
        throw c10::IndexError("dimension " + std::to_string(dim) +
                              " is out of range for a tensor of " + std::to_string(ndim) +
                              " dimensions");
    return dim < 0 ? dim + n : dim;
}

struct shape_t {
    int64_t sizes[RKB_MAX_DIMS];
    int64_t strides[RKB_MAX_DIMS];
    int32_t ndim = 0;

    void push(int64_t size, int64_t stride)
    {
        if (ndim == RKB_MAX_DIMS)
            fail_with("too many dimensions");
        sizes[ndim] = size;
        strides[ndim++] = stride;
    }
};

} // namespace rkb

namespace c10 {

inline int64_t maybe_wrap_dim(int64_t dim, int64_t ndim, bool = true)
{
    return rkb::wrap_dim(dim, ndim);
}

} // namespace c10

namespace at {

using namespace c10;

class Tensor;
using TensorList = ArrayRef<Tensor>;
using ITensorListRef = ArrayRef<Tensor>;

/** What Tensor::type() returns: element type and backend in one. */
class DeprecatedTypeProperties
{
    ScalarType type_;
    bool cuda_;

  public:
    DeprecatedTypeProperties(ScalarType type, bool cuda) : type_(type), cuda_(cuda) {}
    ScalarType scalarType() const { return type_; }
    caffe2::TypeMeta typeMeta() const { return type_; }
    Backend backend() const { return cuda_ ? Backend::CUDA : Backend::CPU; }
    DeviceType device_type() const { return cuda_ ? kCUDA : kCPU; }
    bool is_cuda() const { return cuda_; }
    bool is_sparse() const { return false; }
    TensorOptions options(int16_t index = -1) const
    {
        return TensorOptions(type_).device(device_type(), static_cast<DeviceIndex>(index));
    }
    operator TensorOptions() const { return options(); }
    std::string toString() const
    {
        return std::string(cuda_ ? "CUDA" : "CPU") + c10::toString(type_) + "Type";
    }
    bool operator==(const DeprecatedTypeProperties &o) const
    {
        return type_ == o.type_ && cuda_ == o.cuda_;
    }
    bool operator!=(const DeprecatedTypeProperties &o) const { return !(*this == o); }
};

template <typename Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                             const DeprecatedTypeProperties &type)
{
    return out << type.toString();
}

class Tensor
{
    rkb_tensor_t *t_ = nullptr;

    [[noreturn]] RKB_COLD void fail_dtype(ScalarType wanted) const
    {
        rkb::fail_with(std::string("expected scalar type ") + c10::toString(wanted) +
                       " but found " + c10::toString(scalar_type()));
    }
    [[noreturn]] RKB_COLD static void fail_undefined()
    {
        rkb::fail_with("an undefined tensor was used");
    }

  public:
    Tensor() = default;
    Tensor(const Tensor &other) : t_(other.t_) { rkb_rt_tensor_retain(t_); }
    Tensor(Tensor &&other) noexcept : t_(other.t_) { other.t_ = nullptr; }
    ~Tensor()
    {
        if (t_ != nullptr)
            rkb_rt_tensor_release(t_);
    }
    Tensor &operator=(const Tensor &other) &
    {
        rkb_rt_tensor_retain(other.t_);
        rkb_rt_tensor_release(t_);
        t_ = other.t_;
        return *this;
    }
    Tensor &operator=(Tensor &&other) &noexcept
    {
        rkb_tensor_t *mine = t_;
        t_ = other.t_;
        other.t_ = mine;
        return *this;
    }
    /* Assigning to a temporary view (x[0] = y) writes the elements. */
    Tensor &operator=(const Tensor &other) && { return copy_(other); }
    Tensor &operator=(Tensor &&other) && { return copy_(other); }
    Tensor &operator=(const Scalar &value) && { return fill_(value); }

    /** Takes over one reference; NULL is a failure of the runtime and throws its message. */
    static Tensor adopt(rkb_tensor_t *t)
    {
        if (t == nullptr)
            rkb::fail_runtime();
        return take(t);
    }
    /** Takes over one reference; NULL is an undefined tensor. */
    static Tensor take(rkb_tensor_t *t)
    {
        Tensor r;
        r.t_ = t;
        return r;
    }
    /** Adds a reference of its own. */
    static Tensor borrow(rkb_tensor_t *t)
    {
        rkb_rt_tensor_retain(t);
        return take(t);
    }
    rkb_tensor_t *raw() const { return t_; }
    rkb_tensor_t *release_raw()
    {
        rkb_tensor_t *t = t_;
        t_ = nullptr;
        return t;
    }
    /** The runtime's tensor; an undefined one throws. */
    rkb_tensor_t *impl() const
    {
        if (C10_UNLIKELY(t_ == nullptr))
            fail_undefined();
        return t_;
    }

    /* ---- metadata ---- */

    bool defined() const { return t_ != nullptr; }
    void reset() { *this = Tensor(); }
    bool is_same(const Tensor &other) const { return t_ == other.t_; }
    size_t use_count() const { return t_ != nullptr ? static_cast<size_t>(t_->refs) : 0; }
    int64_t dim() const { return impl()->ndim; }
    int64_t ndimension() const { return dim(); }
    int64_t numel() const { return impl()->numel; }
    int64_t size(int64_t d) const
    {
        rkb_tensor_t *t = impl();
        return t->ndim == 0 ? (rkb::fail_index(d, 0), 0) : t->sizes[rkb::wrap_dim(d, t->ndim)];
    }
    int64_t stride(int64_t d) const
    {
        rkb_tensor_t *t = impl();
        return t->ndim == 0 ? (rkb::fail_index(d, 0), 0) : t->strides[rkb::wrap_dim(d, t->ndim)];
    }
    IntArrayRef sizes() const { return IntArrayRef(impl()->sizes, static_cast<size_t>(t_->ndim)); }
    IntArrayRef sym_sizes() const { return sizes(); }
    int64_t sym_size(int64_t d) const { return size(d); }
    IntArrayRef strides() const
    {
        return IntArrayRef(impl()->strides, static_cast<size_t>(t_->ndim));
    }
    int64_t storage_offset() const
    {
        void *base;
        size_t bytes;
        rkb_rt_tensor_storage(impl(), &base, &bytes);
        return (static_cast<char *>(t_->data) - static_cast<char *>(base)) /
               static_cast<int64_t>(element_size());
    }
    ScalarType scalar_type() const { return static_cast<ScalarType>(impl()->dtype); }
    caffe2::TypeMeta dtype() const { return scalar_type(); }
    size_t element_size() const { return c10::elementSize(scalar_type()); }
    size_t itemsize() const { return element_size(); }
    size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
    DeprecatedTypeProperties type() const
    {
        return DeprecatedTypeProperties(scalar_type(), is_cuda());
    }
    Device device() const
    {
        rkb_tensor_t *t = impl();
        return Device(static_cast<DeviceType>(t->device),
                      static_cast<DeviceIndex>(t->device_index));
    }
    DeviceIndex get_device() const { return static_cast<DeviceIndex>(impl()->device_index); }
    bool is_cuda() const { return impl()->device == RKB_DEVICE_CUDA; }
    bool is_cpu() const { return impl()->device == RKB_DEVICE_CPU; }
    Layout layout() const { return kStrided; }
    bool is_sparse() const { return false; }
    bool is_quantized() const { return false; }
    bool is_complex() const { return false; }
    bool is_meta() const { return false; }
    bool is_pinned() const { return false; }
    bool is_inference() const { return false; }
    bool is_leaf() const { return true; }
    bool has_storage() const { return defined(); }
    bool is_floating_point() const { return c10::isFloatingType(scalar_type()); }
    bool is_signed() const { return c10::isSignedType(scalar_type()); }
    bool requires_grad() const { return impl()->requires_grad != 0; }
    const Tensor &requires_grad_(bool value = true) const
    {
        impl()->requires_grad = value;
        return *this;
    }
    const Tensor &set_requires_grad(bool value) const { return requires_grad_(value); }
    TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
    bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    bool is_non_overlapping_and_dense() const;
    MemoryFormat suggest_memory_format() const;

    /* ---- memory ---- */

    void *data_ptr() const { return t_ != nullptr ? t_->data : nullptr; }
    const void *const_data_ptr() const { return data_ptr(); }
    void *mutable_data_ptr() const { return data_ptr(); }
    template <typename T>
    T *data_ptr() const
    {
        using element = typename std::remove_const<T>::type;
        constexpr ScalarType wanted = CppTypeToScalarType<element>::value;
        if (C10_UNLIKELY(scalar_type() != wanted))
            fail_dtype(wanted);
        return static_cast<T *>(t_->data);
    }
    template <typename T>
    T *data() const
    {
        return data_ptr<T>();
    }
    template <typename T>
    const T *const_data_ptr() const
    {
        return data_ptr<const T>();
    }
    template <typename T>
    T *mutable_data_ptr() const
    {
        return data_ptr<T>();
    }
    Tensor data() const { return detach(); }
    Tensor variable_data() const { return detach(); }

    template <typename T, size_t N>
    TensorAccessor<T, N> accessor() const &
    {
        check_accessor(N);
        return TensorAccessor<T, N>(data_ptr<T>(), t_->sizes, t_->strides);
    }
    template <typename T, size_t N, template <typename U> class Traits = DefaultPtrTraits>
    PackedTensorAccessor32<T, N, Traits> packed_accessor32() const &
    {
        check_accessor(N);
        TORCH_CHECK(numel() <= INT32_MAX, "numel() is too large for a 32-bit accessor");
        return PackedTensorAccessor32<T, N, Traits>(data_ptr<T>(), t_->sizes, t_->strides);
    }
    template <typename T, size_t N, template <typename U> class Traits = DefaultPtrTraits>
    PackedTensorAccessor64<T, N, Traits> packed_accessor64() const &
    {
        check_accessor(N);
        return PackedTensorAccessor64<T, N, Traits>(data_ptr<T>(), t_->sizes, t_->strides);
    }
    template <typename T, size_t N, template <typename U> class Traits = DefaultPtrTraits,
              typename index_t = int64_t>
    GenericPackedTensorAccessor<T, N, Traits, index_t> packed_accessor() const &
    {
        check_accessor(N);
        return GenericPackedTensorAccessor<T, N, Traits, index_t>(data_ptr<T>(), t_->sizes,
                                                                  t_->strides);
    }
    template <typename T = Scalar>
    T item() const;

    /* ---- views ---- */

    Tensor as_strided(IntArrayRef sizes, IntArrayRef strides,
                      optional<int64_t> storage_offset = nullopt) const;
    Tensor view(IntArrayRef sizes) const;
    Tensor view(ScalarType dtype) const;
    Tensor reshape(IntArrayRef sizes) const;
    Tensor view_as(const Tensor &other) const { return view(other.sizes()); }
    Tensor reshape_as(const Tensor &other) const { return reshape(other.sizes()); }
    Tensor permute(IntArrayRef dims) const;
    Tensor transpose(int64_t a, int64_t b) const;
    Tensor t() const;
    Tensor mT() const { return transpose(-2, -1); }
    Tensor unsqueeze(int64_t dim) const;
    Tensor squeeze() const;
    Tensor squeeze(int64_t dim) const;
    Tensor expand(IntArrayRef sizes, bool implicit = false) const;
    Tensor expand_as(const Tensor &other) const { return expand(other.sizes()); }
    Tensor flatten(int64_t start = 0, int64_t end = -1) const;
    Tensor ravel() const { return reshape({-1}); }
    Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
    Tensor select(int64_t dim, int64_t index) const;
    Tensor slice(int64_t dim = 0, optional<int64_t> start = nullopt,
                 optional<int64_t> end = nullopt, int64_t step = 1) const;
    Tensor detach() const { return alias(); }
    Tensor alias() const { return as_strided(sizes(), strides()); }
    std::vector<Tensor> unbind(int64_t dim = 0) const;
    std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
    std::vector<Tensor> split(IntArrayRef sizes, int64_t dim = 0) const;
    std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
    Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
    Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
    Tensor index(ArrayRef<optional<Tensor>> indices) const;
    Tensor &index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor &values);
    Tensor &index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar &value);
    Tensor operator[](int64_t i) const { return select(0, i); }
    Tensor operator[](const Tensor &i) const;

    /* ---- copies ---- */

    Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    Tensor clone(optional<MemoryFormat> format = nullopt) const;
    Tensor &copy_(const Tensor &src, bool non_blocking = false) const;
    Tensor &fill_(const Scalar &value) const;
    Tensor &fill_(const Tensor &value) const;
    Tensor &zero_() const { return fill_(Scalar(0)); }
    Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false,
              optional<MemoryFormat> format = nullopt) const;
    Tensor to(caffe2::TypeMeta dtype, bool non_blocking = false, bool copy = false) const
    {
        return to(dtype.toScalarType(), non_blocking, copy);
    }
    Tensor to(TensorOptions options, bool non_blocking = false, bool copy = false,
              optional<MemoryFormat> format = nullopt) const;
    Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false,
              optional<MemoryFormat> format = nullopt) const;
    Tensor to(const Tensor &other, bool non_blocking = false, bool copy = false) const
    {
        return to(other.device(), other.scalar_type(), non_blocking, copy);
    }
    Tensor toType(ScalarType dtype) const { return to(dtype); }
    Tensor type_as(const Tensor &other) const { return to(other); }
    Tensor cpu() const { return to(Device(kCPU), scalar_type()); }
    Tensor cuda() const { return to(Device(kCUDA, 0), scalar_type()); }
    Tensor pin_memory() const { return *this; }
    Tensor new_empty(IntArrayRef sizes, TensorOptions options = {}) const;
    Tensor new_zeros(IntArrayRef sizes, TensorOptions options = {}) const;
    Tensor new_ones(IntArrayRef sizes, TensorOptions options = {}) const;
    Tensor new_full(IntArrayRef sizes, const Scalar &value, TensorOptions options = {}) const;

    std::string toString() const { return type().toString(); }

/* Operators that libtorch computes: one line each, later generated from its schemas. */
#define RKB_METHOD(ret, name, schema, params, ...)                                                 \
    ret name params const                                                                          \
    {                                                                                              \
        return rkb::op<ret>(schema, {*this, ##__VA_ARGS__});                                       \
    }
#define RKB_METHOD_(name, schema, params, ...)                                                     \
    Tensor &name params const                                                                      \
    {                                                                                              \
        rkb::op<Tensor>(schema, {*this, ##__VA_ARGS__});                                           \
        return const_cast<Tensor &>(*this);                                                        \
    }
#include "rkb_torch/methods.inc"
#undef RKB_METHOD
#undef RKB_METHOD_

    Tensor operator-() const;
    Tensor operator~() const;
    Tensor &operator+=(const Tensor &other)
    {
        return add_(other);
    }
    Tensor &operator+=(const Scalar &other)
    {
        return add_(other);
    }
    Tensor &operator-=(const Tensor &other)
    {
        return sub_(other);
    }
    Tensor &operator-=(const Scalar &other)
    {
        return sub_(other);
    }
    Tensor &operator*=(const Tensor &other)
    {
        return mul_(other);
    }
    Tensor &operator*=(const Scalar &other)
    {
        return mul_(other);
    }
    Tensor &operator/=(const Tensor &other)
    {
        return div_(other);
    }
    Tensor &operator/=(const Scalar &other)
    {
        return div_(other);
    }

  private:
    void check_accessor(size_t n) const
    {
        TORCH_CHECK(static_cast<size_t>(dim()) == n, "a tensor of ", dim(),
                    " dimensions was given an accessor of ", n);
    }
    Tensor strided(const rkb::shape_t &shape, void *data) const
    {
        return adopt(
            rkb_rt_tensor_as_strided(impl(), shape.sizes, shape.strides, shape.ndim, data));
    }
    char *element(int64_t offset) const
    {
        return static_cast<char *>(t_->data) + offset * static_cast<int64_t>(element_size());
    }
    bool view_shape(IntArrayRef sizes, rkb::shape_t *out) const;
};

using TensorBase = Tensor;

/** Type and shape; the elements stay where they are. */
template <typename Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                             const Tensor &tensor)
{
    if (!tensor.defined())
        return out << "[ Tensor (undefined) ]";
    return out << "[ " << tensor.toString() << tensor.sizes() << " ]";
}

static_assert(sizeof(Tensor) == sizeof(rkb_tensor_t *), "an array of tensors is one of pointers");

} // namespace at
