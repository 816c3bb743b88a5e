/**
 * @file irange.h
 * c10::irange: integers to loop over.
 */
#pragma once

#include <type_traits>

namespace c10 {

template <typename I>
class integer_range
{
    I begin_, end_;

  public:
    struct iterator {
        I value;
        I operator*() const { return value; }
        iterator &operator++()
        {
            ++value;
            return *this;
        }
        bool operator!=(const iterator &o) const { return value != o.value; }
        bool operator==(const iterator &o) const { return value == o.value; }
    };
    integer_range(I begin, I end) : begin_(begin), end_(end < begin ? begin : end) {}
    iterator begin() const { return {begin_}; }
    iterator end() const { return {end_}; }
};

template <typename I>
integer_range<I> irange(I end)
{
    return {I(0), end};
}
template <typename A, typename B>
integer_range<B> irange(A begin, B end)
{
    return {static_cast<B>(begin), end};
}

} // namespace c10
