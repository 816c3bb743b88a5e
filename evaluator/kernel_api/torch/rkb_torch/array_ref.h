/**
 * @file array_ref.h
 * c10::ArrayRef, a borrowed array, and the small types around it. The referred elements must
 * outlive the reference: for a brace list that is the full expression.
 */
#pragma once

#include "rkb_torch/error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <vector>

namespace c10 {

using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

template <typename T>
class ArrayRef final
{
    const T *data_ = nullptr;
    size_t size_ = 0;

    constexpr void refer(const T *data, size_t size)
    {
        data_ = data;
        size_ = size;
    }

  public:
    using iterator = const T *;
    using const_iterator = const T *;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using value_type = T;
    using size_type = size_t;

    constexpr ArrayRef() = default;
    constexpr ArrayRef(const T &element) : data_(&element), size_(1) {}
    constexpr ArrayRef(const T *data, size_t size) : data_(data), size_(size) {}
    constexpr ArrayRef(const T *begin, const T *end)
        : data_(begin), size_(static_cast<size_t>(end - begin))
    {
    }
    template <typename A>
    ArrayRef(const std::vector<T, A> &v) : data_(v.data()), size_(v.size())
    {
        static_assert(!std::is_same<T, bool>::value, "std::vector<bool> holds no array of bool");
    }
    template <size_t N>
    constexpr ArrayRef(const std::array<T, N> &a) : data_(a.data()), size_(N)
    {
    }
    template <size_t N>
    constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N)
    {
    }
    constexpr ArrayRef(const std::initializer_list<T> &list) { refer(list.begin(), list.size()); }

    constexpr iterator begin() const { return data_; }
    constexpr iterator end() const { return data_ + size_; }
    constexpr const_iterator cbegin() const { return data_; }
    constexpr const_iterator cend() const { return data_ + size_; }
    reverse_iterator rbegin() const { return reverse_iterator(end()); }
    reverse_iterator rend() const { return reverse_iterator(begin()); }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T *data() const { return data_; }
    constexpr size_t size() const { return size_; }
    const T &front() const { return at(0); }
    const T &back() const { return at(size_ - 1); }
    constexpr const T &operator[](size_t i) const { return data_[i]; }
    const T &at(size_t i) const
    {
        if (i >= size_)
            rkb::fail_index(static_cast<int64_t>(i), static_cast<int64_t>(size_));
        return data_[i];
    }
    ArrayRef<T> slice(size_t start, size_t count) const
    {
        if (start + count > size_)
            rkb::fail_index(static_cast<int64_t>(start + count), static_cast<int64_t>(size_));
        return ArrayRef<T>(data_ + start, count);
    }
    ArrayRef<T> slice(size_t start) const { return slice(start, size_ - start); }
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
    bool equals(ArrayRef<T> other) const
    {
        if (size_ != other.size_)
            return false;
        for (size_t i = 0; i < size_; i++)
            if (!(data_[i] == other.data_[i]))
                return false;
        return true;
    }
};

template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b)
{
    return a.equals(b);
}
template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b)
{
    return !a.equals(b);
}
template <typename T>
bool operator==(const std::vector<T> &a, ArrayRef<T> b)
{
    return ArrayRef<T>(a).equals(b);
}
template <typename T>
bool operator!=(const std::vector<T> &a, ArrayRef<T> b)
{
    return !ArrayRef<T>(a).equals(b);
}
template <typename T>
bool operator==(ArrayRef<T> a, const std::vector<T> &b)
{
    return a.equals(ArrayRef<T>(b));
}
template <typename T>
bool operator!=(ArrayRef<T> a, const std::vector<T> &b)
{
    return !a.equals(ArrayRef<T>(b));
}

template <typename T>
ArrayRef<T> makeArrayRef(const std::vector<T> &v)
{
    return v;
}

using IntArrayRef = ArrayRef<int64_t>;
using IntList = ArrayRef<int64_t>;
using SymInt = int64_t;
using SymIntArrayRef = ArrayRef<int64_t>;

/** A vector under c10's name; converts to ArrayRef like one. */
template <typename T, unsigned N = 5>
class SmallVector : public std::vector<T>
{
  public:
    using std::vector<T>::vector;
    SmallVector() = default;
    explicit SmallVector(ArrayRef<T> ref) : std::vector<T>(ref.begin(), ref.end()) {}
    void append(ArrayRef<T> more) { this->insert(this->end(), more.begin(), more.end()); }
};
using DimVector = SmallVector<int64_t, 5>;

/** A dimension list that may be absent: built from a number, a brace list or any ArrayRef source.
 */
class OptionalIntArrayRef final
{
    bool has_ = false;
    int64_t single_ = 0;
    IntArrayRef ref_;

  public:
    OptionalIntArrayRef() = default;
    OptionalIntArrayRef(nullopt_t) {}
    OptionalIntArrayRef(IntArrayRef ref) : has_(true), ref_(ref) {}
    OptionalIntArrayRef(const std::initializer_list<int64_t> &list) : has_(true), ref_(list) {}
    OptionalIntArrayRef(const std::vector<int64_t> &v) : has_(true), ref_(v) {}
    OptionalIntArrayRef(const optional<IntArrayRef> &o) : has_(o.has_value())
    {
        if (o)
            ref_ = *o;
    }
    template <typename I, typename = typename std::enable_if<std::is_integral<I>::value>::type>
    OptionalIntArrayRef(I dim) : has_(true), single_(static_cast<int64_t>(dim)), ref_(single_)
    {
    }
    OptionalIntArrayRef(const OptionalIntArrayRef &other) { *this = other; }
    OptionalIntArrayRef &operator=(const OptionalIntArrayRef &other)
    {
        bool own = other.ref_.data() == &other.single_;
        has_ = other.has_;
        single_ = other.single_;
        ref_ = own ? IntArrayRef(single_) : other.ref_;
        return *this;
    }
    bool has_value() const { return has_; }
    explicit operator bool() const { return has_; }
    IntArrayRef value() const { return ref_; }
    IntArrayRef operator*() const { return ref_; }
    const IntArrayRef *operator->() const { return &ref_; }
};

template <typename Traits, typename T>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                             ArrayRef<T> list)
{
    out << '[';
    for (size_t i = 0; i < list.size(); i++) {
        if (i > 0)
            out << ", ";
        out << list[i];
    }
    return out << ']';
}

} // namespace c10
