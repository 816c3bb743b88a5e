/**
 * @file functional.h
 * torch::nn::functional: option structs over the operators of at::.
 */
#pragma once

#include "rkb_torch/torch.h"

namespace torch {

struct enumtype {
    struct kNone {
    };
    struct kMean {
    };
    struct kSum {
    };
};
constexpr enumtype::kNone kNone{};
constexpr enumtype::kMean kMean{};
constexpr enumtype::kSum kSum{};

namespace nn {
namespace functional {

/* A field with a getter and a chaining setter. */
#define RKB_OPTION(type, name, ...)                                                                \
  private:                                                                                         \
    type name##_ = __VA_ARGS__;                                                                    \
                                                                                                   \
  public:                                                                                          \
    auto &name(const type &value)                                                                  \
    {                                                                                              \
        name##_ = value;                                                                           \
        return *this;                                                                              \
    }                                                                                              \
    const type &name() const                                                                       \
    {                                                                                              \
        return name##_;                                                                            \
    }

/** Kernel sizes and the like: one number or a list. */
class int_list : public std::vector<int64_t>
{
  public:
    int_list(int64_t v) : std::vector<int64_t>{v} {}
    int_list(std::initializer_list<int64_t> v) : std::vector<int64_t>(v) {}
    int_list(const std::vector<int64_t> &v) : std::vector<int64_t>(v) {}
    int_list(IntArrayRef v) : std::vector<int64_t>(v.begin(), v.end()) {}
};

/** How a loss is reduced, as ATen's number. */
class reduction_t
{
    int64_t code_;

  public:
    reduction_t(enumtype::kNone) : code_(0) {}
    reduction_t(enumtype::kMean) : code_(1) {}
    reduction_t(enumtype::kSum) : code_(2) {}
    int64_t code() const { return code_; }
};

class SoftmaxFuncOptions
{
  public:
    SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
    RKB_OPTION(int64_t, dim, 0)
    RKB_OPTION(optional<ScalarType>, dtype, nullopt)
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
inline Tensor softmax(const Tensor &x, const SoftmaxFuncOptions &o)
{
    return at::softmax(x, o.dim(), o.dtype());
}
inline Tensor log_softmax(const Tensor &x, const LogSoftmaxFuncOptions &o)
{
    return at::log_softmax(x, o.dim(), o.dtype());
}

class GELUFuncOptions
{
  public:
    RKB_OPTION(std::string, approximate, "none")
};
inline Tensor gelu(const Tensor &x, const GELUFuncOptions &o = {})
{
    return at::gelu(x, o.approximate());
}
class ReLUFuncOptions
{
  public:
    ReLUFuncOptions(bool inplace = false) : inplace_(inplace) {}
    RKB_OPTION(bool, inplace, false)
};
inline Tensor relu(Tensor x, const ReLUFuncOptions &o = {})
{
    return o.inplace() ? at::relu_(x) : at::relu(x);
}
inline Tensor silu(const Tensor &x)
{
    return at::silu(x);
}
inline Tensor mish(const Tensor &x)
{
    return at::mish(x);
}
inline Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias = {})
{
    return at::linear(x, weight, bias);
}

class LayerNormFuncOptions
{
  public:
    LayerNormFuncOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
    RKB_OPTION(std::vector<int64_t>, normalized_shape, {})
    RKB_OPTION(Tensor, weight, {})
    RKB_OPTION(Tensor, bias, {})
    RKB_OPTION(double, eps, 1e-5)
};
inline Tensor layer_norm(const Tensor &x, const LayerNormFuncOptions &o)
{
    return at::layer_norm(x, o.normalized_shape(), o.weight(), o.bias(), o.eps());
}

class CrossEntropyFuncOptions
{
  public:
    RKB_OPTION(Tensor, weight, {})
    RKB_OPTION(int64_t, ignore_index, -100)
    RKB_OPTION(reduction_t, reduction, torch::kMean)
    RKB_OPTION(double, label_smoothing, 0.0)
};
inline Tensor cross_entropy(const Tensor &x, const Tensor &target,
                            const CrossEntropyFuncOptions &o = {})
{
    return at::cross_entropy_loss(x, target, o.weight(), o.reduction().code(), o.ignore_index(),
                                  o.label_smoothing());
}
class NLLLossFuncOptions
{
  public:
    RKB_OPTION(Tensor, weight, {})
    RKB_OPTION(int64_t, ignore_index, -100)
    RKB_OPTION(reduction_t, reduction, torch::kMean)
};
inline Tensor nll_loss(const Tensor &x, const Tensor &target, const NLLLossFuncOptions &o = {})
{
    return at::nll_loss_nd(x, target, o.weight(), o.reduction().code(), o.ignore_index());
}
class MSELossFuncOptions
{
  public:
    MSELossFuncOptions(reduction_t reduction = torch::kMean) : reduction_(reduction) {}
    RKB_OPTION(reduction_t, reduction, torch::kMean)
};
inline Tensor mse_loss(const Tensor &x, const Tensor &target, const MSELossFuncOptions &o = {})
{
    return at::mse_loss(x, target, o.reduction().code());
}
inline Tensor one_hot(const Tensor &x, int64_t num_classes = -1)
{
    return at::one_hot(x, num_classes);
}

class ConvFuncOptions
{
  public:
    RKB_OPTION(Tensor, bias, {})
    RKB_OPTION(int_list, stride, 1)
    RKB_OPTION(int_list, padding, 0)
    RKB_OPTION(int_list, dilation, 1)
    RKB_OPTION(int64_t, groups, 1)
};
using Conv1dFuncOptions = ConvFuncOptions;
using Conv2dFuncOptions = ConvFuncOptions;
using Conv3dFuncOptions = ConvFuncOptions;
class ConvTransposeFuncOptions
{
  public:
    RKB_OPTION(Tensor, bias, {})
    RKB_OPTION(int_list, stride, 1)
    RKB_OPTION(int_list, padding, 0)
    RKB_OPTION(int_list, output_padding, 0)
    RKB_OPTION(int_list, dilation, 1)
    RKB_OPTION(int64_t, groups, 1)
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions;
#define RKB_CONV(n)                                                                                \
    inline Tensor conv##n(const Tensor &x, const Tensor &w, const ConvFuncOptions &o = {})         \
    {                                                                                              \
        return at::conv##n(x, w, o.bias(), o.stride(), o.padding(), o.dilation(), o.groups());     \
    }                                                                                              \
    inline Tensor conv_transpose##n(const Tensor &x, const Tensor &w,                              \
                                    const ConvTransposeFuncOptions &o = {})                        \
    {                                                                                              \
        return at::conv_transpose##n(x, w, o.bias(), o.stride(), o.padding(), o.output_padding(),  \
                                     o.groups(), o.dilation());                                    \
    }
RKB_CONV(1d)
RKB_CONV(2d)
RKB_CONV(3d)
#undef RKB_CONV

class PoolFuncOptions
{
  public:
    PoolFuncOptions(int_list kernel_size) : kernel_size_(std::move(kernel_size)) {}
    RKB_OPTION(int_list, kernel_size, 1)
    RKB_OPTION(int_list, stride, std::initializer_list<int64_t>{})
    RKB_OPTION(int_list, padding, 0)
    RKB_OPTION(int_list, dilation, 1)
    RKB_OPTION(bool, ceil_mode, false)
    RKB_OPTION(bool, count_include_pad, true)
};
using MaxPool1dFuncOptions = PoolFuncOptions;
using MaxPool2dFuncOptions = PoolFuncOptions;
using MaxPool3dFuncOptions = PoolFuncOptions;
using AvgPool1dFuncOptions = PoolFuncOptions;
using AvgPool2dFuncOptions = PoolFuncOptions;
using AvgPool3dFuncOptions = PoolFuncOptions;
#define RKB_POOL(n)                                                                                \
    inline Tensor max_pool##n(const Tensor &x, const PoolFuncOptions &o)                           \
    {                                                                                              \
        return at::max_pool##n(x, o.kernel_size(), o.stride(), o.padding(), o.dilation(),          \
                               o.ceil_mode());                                                     \
    }                                                                                              \
    inline Tensor avg_pool##n(const Tensor &x, const PoolFuncOptions &o)                           \
    {                                                                                              \
        return at::avg_pool##n(x, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(),         \
                               o.count_include_pad());                                             \
    }
RKB_POOL(1d)
RKB_POOL(2d)
RKB_POOL(3d)
#undef RKB_POOL
#undef RKB_OPTION

} // namespace functional
} // namespace nn
} // namespace torch
