/**
 * @file indexing.h
 * torch::indexing: what goes between the brackets of Tensor::index().
 */
#pragma once

#include "rkb_torch/array_ref.h"

#include <climits>
#include <memory>

namespace at {

class Tensor;

namespace indexing {

enum class EllipsisIndexType { Ellipsis };
constexpr EllipsisIndexType Ellipsis = EllipsisIndexType::Ellipsis;
using c10::nullopt;
using c10::nullopt_t;
constexpr nullopt_t None = nullopt;

struct Slice {
    c10::optional<int64_t> start, stop;
    int64_t step;

    Slice(c10::optional<int64_t> start_ = nullopt, c10::optional<int64_t> stop_ = nullopt,
          c10::optional<int64_t> step_ = nullopt)
        : start(start_), stop(stop_), step(step_.value_or(1))
    {
    }
};

struct TensorIndex {
    enum class Kind { Absent, Dots, Integer, Boolean, Range, Tensor };
    Kind kind;
    int64_t integer = 0;
    Slice range;
    const at::Tensor *tensor = nullptr; /* borrowed for the length of the expression */

    TensorIndex(nullopt_t) : kind(Kind::Absent) {}
    TensorIndex(EllipsisIndexType) : kind(Kind::Dots) {}
    TensorIndex(const char *text) : kind(Kind::Dots)
    {
        if (std::string_view(text) != "...")
            rkb::fail_with("expected \"...\" as an index");
    }
    TensorIndex(const Slice &slice) : kind(Kind::Range), range(slice) {}
    TensorIndex(const at::Tensor &t) : kind(Kind::Tensor), tensor(&t) {}
    template <typename I, typename = typename std::enable_if<std::is_integral<I>::value>::type>
    TensorIndex(I value)
        : kind(std::is_same<I, bool>::value ? Kind::Boolean : Kind::Integer),
          integer(static_cast<int64_t>(value))
    {
    }
};

} // namespace indexing
} // namespace at
