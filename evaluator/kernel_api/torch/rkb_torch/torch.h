/**
 * @file torch.h
 * Namespace torch: everything of at:: and c10:: under one roof.
 */
#pragma once

#include "rkb_torch/cuda.h"
#include "rkb_torch/dispatch.h"
#include "rkb_torch/ops.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

namespace torch {

using namespace at;
using Dtype = at::ScalarType;

namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
using tensor_list = std::vector<at::Tensor>;
} // namespace autograd

namespace cuda {
inline bool is_available()
{
    return at::cuda::is_available();
}
inline size_t device_count()
{
    return static_cast<size_t>(c10::cuda::device_count());
}
inline void synchronize(int64_t = -1)
{
    c10::cuda::device_synchronize();
}
} // namespace cuda

/** Delegated random numbers have their own seed; a candidate cannot set it. */
inline void manual_seed(uint64_t) {}

template <typename F>
F wrap_pybind_function(F f)
{
    return f;
}
template <typename F>
F wrap_pybind_function_no_gil(F f)
{
    return f;
}

} // namespace torch
