/**
 * @file ops.h
 * The free functions of at:: (and so of torch::). Parameters have the types that the real headers
 * declare, so that overload resolution against a candidate's own helpers of the same name ends the
 * same way.
 */
#pragma once

#include "rkb_torch/factories.h"

namespace at {

/* ---- views and copies: the methods under their free names ---- */

#define RKB_VIEW(ret, name, params, ...)                                                           \
    inline ret name params                                                                         \
    {                                                                                              \
        return self.name(__VA_ARGS__);                                                             \
    }
RKB_VIEW(Tensor, reshape, (const Tensor &self, IntArrayRef shape), shape)
RKB_VIEW(Tensor, permute, (const Tensor &self, IntArrayRef dims), dims)
RKB_VIEW(Tensor, transpose, (const Tensor &self, int64_t dim0, int64_t dim1), dim0, dim1)
RKB_VIEW(Tensor, t, (const Tensor &self))
RKB_VIEW(Tensor, unsqueeze, (const Tensor &self, int64_t dim), dim)
RKB_VIEW(Tensor, squeeze, (const Tensor &self))
RKB_VIEW(Tensor, squeeze, (const Tensor &self, int64_t dim), dim)
RKB_VIEW(Tensor, flatten, (const Tensor &self, int64_t start_dim = 0, int64_t end_dim = -1),
         start_dim, end_dim)
RKB_VIEW(Tensor, narrow, (const Tensor &self, int64_t dim, int64_t start, int64_t length), dim,
         start, length)
RKB_VIEW(Tensor, select, (const Tensor &self, int64_t dim, int64_t index), dim, index)
RKB_VIEW(Tensor, slice,
         (const Tensor &self, int64_t dim = 0, optional<int64_t> start = nullopt,
          optional<int64_t> end = nullopt, int64_t step = 1),
         dim, start, end, step)
RKB_VIEW(Tensor, detach, (const Tensor &self))
RKB_VIEW(Tensor, clone, (const Tensor &self, optional<MemoryFormat> format = nullopt), format)
RKB_VIEW(Tensor, as_strided,
         (const Tensor &self, IntArrayRef size, IntArrayRef stride,
          optional<int64_t> offset = nullopt),
         size, stride, offset)
RKB_VIEW(std::vector<Tensor>, unbind, (const Tensor &self, int64_t dim = 0), dim)
RKB_VIEW(std::vector<Tensor>, split, (const Tensor &self, int64_t split_size, int64_t dim = 0),
         split_size, dim)
RKB_VIEW(std::vector<Tensor>, chunk, (const Tensor &self, int64_t chunks, int64_t dim = 0), chunks,
         dim)
RKB_VIEW(int64_t, numel, (const Tensor &self))
#undef RKB_VIEW

/* ---- delegated operators: one line each, later generated from libtorch's schemas ---- */

#define RKB_FN(ret, name, schema, params, ...)                                                     \
    inline ret name params                                                                         \
    {                                                                                              \
        return rkb::op<ret>(schema, {__VA_ARGS__});                                                \
    }
#define RKB_FN_(name, schema, params, ...)                                                         \
    inline Tensor &name params                                                                     \
    {                                                                                              \
        rkb::op<Tensor>(schema, {__VA_ARGS__});                                                    \
        return self;                                                                               \
    }
#define RKB_OUT(name, schema, params, ...)                                                         \
    inline Tensor &name params                                                                     \
    {                                                                                              \
        rkb::op<Tensor>(schema, {__VA_ARGS__});                                                    \
        return out;                                                                                \
    }
#include "rkb_torch/functions.inc"
#undef RKB_FN
#undef RKB_FN_
#undef RKB_OUT

/* ---- operators ---- */

#define RKB_OPERATOR(sign, method)                                                                 \
    inline Tensor operator sign(const Tensor &a, const Tensor &b)                                  \
    {                                                                                              \
        return a.method(b);                                                                        \
    }                                                                                              \
    inline Tensor operator sign(const Tensor &a, const Scalar &b)                                  \
    {                                                                                              \
        return a.method(b);                                                                        \
    }
RKB_OPERATOR(+, add)
RKB_OPERATOR(-, sub)
RKB_OPERATOR(*, mul)
RKB_OPERATOR(/, div)
RKB_OPERATOR(%, remainder)
RKB_OPERATOR(==, eq)
RKB_OPERATOR(!=, ne)
RKB_OPERATOR(<, lt)
RKB_OPERATOR(<=, le)
RKB_OPERATOR(>, gt)
RKB_OPERATOR(>=, ge)
#undef RKB_OPERATOR

inline Tensor operator+(const Scalar &a, const Tensor &b)
{
    return b.add(a);
}
inline Tensor operator-(const Scalar &a, const Tensor &b)
{
    return rkb::op<Tensor>("aten::rsub.Scalar", {b, a});
}
inline Tensor operator*(const Scalar &a, const Tensor &b)
{
    return b.mul(a);
}
inline Tensor operator/(const Scalar &a, const Tensor &b)
{
    return b.reciprocal().mul(a);
}
#define RKB_MIRRORED(sign, method)                                                                 \
    inline Tensor operator sign(const Scalar &a, const Tensor &b)                                  \
    {                                                                                              \
        return b.method(a);                                                                        \
    }
RKB_MIRRORED(==, eq)
RKB_MIRRORED(!=, ne)
RKB_MIRRORED(<, gt)
RKB_MIRRORED(<=, ge)
RKB_MIRRORED(>, lt)
RKB_MIRRORED(>=, le)
#undef RKB_MIRRORED
inline Tensor operator&(const Tensor &a, const Tensor &b)
{
    return rkb::op<Tensor>("aten::__and__.Tensor", {a, b});
}
inline Tensor operator|(const Tensor &a, const Tensor &b)
{
    return rkb::op<Tensor>("aten::__or__.Tensor", {a, b});
}

} // namespace at
