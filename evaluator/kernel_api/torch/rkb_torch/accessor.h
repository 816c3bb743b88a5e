/**
 * @file accessor.h
 * Accessors: a pointer with sizes and strides. TensorAccessor borrows the tensor's own arrays;
 * PackedTensorAccessor carries copies, so that it can be a kernel argument.
 */
#pragma once

#include "rkb_torch/array_ref.h"

namespace at {

template <typename T>
struct DefaultPtrTraits {
    using PtrType = T *;
};
template <typename T>
struct RestrictPtrTraits {
    using PtrType = T *__restrict__;
};

template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
          typename index_t = int64_t>
class TensorAccessor
{
  public:
    using PtrType = typename PtrTraits<T>::PtrType;

    RKB_HD TensorAccessor(PtrType data, const index_t *sizes, const index_t *strides)
        : data_(data), sizes_(sizes), strides_(strides)
    {
    }
    RKB_HD TensorAccessor<T, N - 1, PtrTraits, index_t> operator[](index_t i)
    {
        return {data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
    }
    RKB_HD const TensorAccessor<T, N - 1, PtrTraits, index_t> operator[](index_t i) const
    {
        return {data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
    }
    RKB_HD index_t size(index_t i) const { return sizes_[i]; }
    RKB_HD index_t stride(index_t i) const { return strides_[i]; }
    RKB_HD PtrType data() { return data_; }
    RKB_HD const PtrType data() const { return data_; }
    c10::ArrayRef<index_t> sizes() const { return c10::ArrayRef<index_t>(sizes_, N); }
    c10::ArrayRef<index_t> strides() const { return c10::ArrayRef<index_t>(strides_, N); }

  private:
    PtrType data_;
    const index_t *sizes_;
    const index_t *strides_;
};

template <typename T, template <typename U> class PtrTraits, typename index_t>
class TensorAccessor<T, 1, PtrTraits, index_t>
{
  public:
    using PtrType = typename PtrTraits<T>::PtrType;

    RKB_HD TensorAccessor(PtrType data, const index_t *sizes, const index_t *strides)
        : data_(data), sizes_(sizes), strides_(strides)
    {
    }
    RKB_HD T &operator[](index_t i) { return data_[strides_[0] * i]; }
    RKB_HD const T &operator[](index_t i) const { return data_[strides_[0] * i]; }
    RKB_HD index_t size(index_t i) const { return sizes_[i]; }
    RKB_HD index_t stride(index_t i) const { return strides_[i]; }
    RKB_HD PtrType data() { return data_; }
    RKB_HD const PtrType data() const { return data_; }
    c10::ArrayRef<index_t> sizes() const { return c10::ArrayRef<index_t>(sizes_, 1); }
    c10::ArrayRef<index_t> strides() const { return c10::ArrayRef<index_t>(strides_, 1); }

  private:
    PtrType data_;
    const index_t *sizes_;
    const index_t *strides_;
};

template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
          typename index_t = int64_t>
class GenericPackedTensorAccessor
{
  public:
    using PtrType = typename PtrTraits<T>::PtrType;

    GenericPackedTensorAccessor(PtrType data, const int64_t *sizes, const int64_t *strides)
        : data_(data)
    {
        for (size_t i = 0; i < N; i++) {
            sizes_[i] = static_cast<index_t>(sizes[i]);
            strides_[i] = static_cast<index_t>(strides[i]);
        }
    }
    /* One dimension less, or the element itself. */
    RKB_HD decltype(auto) operator[](index_t i)
    {
        if constexpr (N == 1)
            return static_cast<T &>(data_[strides_[0] * i]);
        else
            return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * i, sizes_ + 1,
                                                                strides_ + 1);
    }
    RKB_HD decltype(auto) operator[](index_t i) const
    {
        if constexpr (N == 1)
            return static_cast<const T &>(data_[strides_[0] * i]);
        else
            return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * i, sizes_ + 1,
                                                                strides_ + 1);
    }
    RKB_HD index_t size(index_t i) const { return sizes_[i]; }
    RKB_HD index_t stride(index_t i) const { return strides_[i]; }
    RKB_HD PtrType data() { return data_; }
    RKB_HD const PtrType data() const { return data_; }

  private:
    PtrType data_;
    index_t sizes_[N];
    index_t strides_[N];
};

template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
          typename index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, PtrTraits, index_t>;

} // namespace at
