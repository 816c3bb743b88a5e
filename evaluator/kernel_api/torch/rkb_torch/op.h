/**
 * @file op.h
 * rkb::op<R>("aten::name.overload", args…): a call through the dispatcher of libtorch. Arguments
 * stand in the order of the schema, keyword-only ones included; trailing defaults may be left out.
 * Nothing is copied: the packed values borrow from the arguments for the length of the call.
 */
#pragma once

#include "rkb_torch/tensor.h"

namespace rkb {

inline void put(rkb_value_t &v, const at::Tensor &tensor)
{
    v.kind = tensor.defined() ? RKB_VALUE_TENSOR : RKB_VALUE_NONE;
    v.tensor = tensor.raw();
}
inline void put(rkb_value_t &v, c10::nullopt_t)
{
    v.kind = RKB_VALUE_NONE;
}
inline void put(rkb_value_t &v, bool value)
{
    v.kind = RKB_VALUE_BOOL;
    v.i = value;
}
inline void put(rkb_value_t &v, int value)
{
    v.kind = RKB_VALUE_INT;
    v.i = value;
}
inline void put(rkb_value_t &v, int64_t value)
{
    v.kind = RKB_VALUE_INT;
    v.i = value;
}
inline void put(rkb_value_t &v, double value)
{
    v.kind = RKB_VALUE_DOUBLE;
    v.d = value;
}
inline void put(rkb_value_t &v, const c10::Scalar &value)
{
    if (value.isFloatingPoint())
        put(v, value.toDouble());
    else if (value.isBoolean())
        put(v, value.toBool());
    else
        put(v, value.toLong());
}
inline void put(rkb_value_t &v, c10::ScalarType type)
{
    v.kind = RKB_VALUE_DTYPE;
    v.i = static_cast<int64_t>(type);
}
inline void put(rkb_value_t &v, c10::string_view text)
{
    v.kind = RKB_VALUE_STRING;
    v.s = const_cast<char *>(text.data()); /* all of ours end in NUL */
}
inline void put(rkb_value_t &v, const char *text)
{
    v.kind = RKB_VALUE_STRING;
    v.s = const_cast<char *>(text);
}
inline void put(rkb_value_t &v, c10::IntArrayRef list)
{
    v.kind = RKB_VALUE_INT_LIST;
    v.count = list.size();
    v.ints = const_cast<int64_t *>(list.data());
}
inline void put(rkb_value_t &v, const std::vector<int64_t> &list)
{
    put(v, c10::IntArrayRef(list));
}
inline void put(rkb_value_t &v, const c10::OptionalIntArrayRef &list)
{
    if (list.has_value())
        put(v, *list);
    else
        put(v, c10::nullopt);
}
inline void put(rkb_value_t &v, c10::ArrayRef<double> list)
{
    v.kind = RKB_VALUE_DOUBLE_LIST;
    v.count = list.size();
    v.doubles = const_cast<double *>(list.data());
}
inline void put(rkb_value_t &v, at::TensorList list)
{
    v.kind = RKB_VALUE_TENSOR_LIST;
    v.count = list.size();
    v.tensors = reinterpret_cast<rkb_tensor_t **>(const_cast<at::Tensor *>(list.data()));
}
inline void put(rkb_value_t &v, const std::vector<at::Tensor> &list)
{
    put(v, at::TensorList(list));
}
template <typename T>
void put(rkb_value_t &v, const c10::optional<T> &value)
{
    if (value.has_value())
        put(v, *value);
    else
        put(v, c10::nullopt);
}

/** Runs the call; the results release themselves. */
class op_call
{
  public:
    enum { MAX_RESULTS = 16 };
    rkb_value_t results[MAX_RESULTS];
    size_t count = MAX_RESULTS;

    RKB_COLD op_call(const char *name, const rkb_value_t *args, size_t nargs)
    {
        int rc = rkb_rt_call_operator(name, args, nargs, results, &count);
        if (rc == 0)
            return;
        count = 0;
        if (rc == RKB_RT_UNSUPPORTED)
            throw unsupported_error(rkb_rt_last_error());
        throw c10::Error(rkb_rt_last_error());
    }
    op_call(const op_call &) = delete;
    op_call &operator=(const op_call &) = delete;
    RKB_COLD ~op_call()
    {
        for (size_t i = 0; i < count; i++)
            rkb_rt_value_release(&results[i]);
    }
    rkb_value_t &at(size_t i)
    {
        if (i >= count)
            fail("an operator returned fewer values than expected");
        return results[i];
    }
    RKB_COLD at::Tensor tensor(size_t i)
    {
        rkb_value_t &v = at(i);
        if (v.kind == RKB_VALUE_NONE)
            return at::Tensor();
        if (v.kind != RKB_VALUE_TENSOR)
            fail("an operator returned no tensor where one was expected");
        return at::Tensor::borrow(v.tensor);
    }
};

template <typename R>
struct op_result;
template <>
struct op_result<void> {
    static void get(op_call &) {}
};
template <>
struct op_result<at::Tensor> {
    static at::Tensor get(op_call &call) { return call.tensor(0); }
};
template <>
struct op_result<bool> {
    static bool get(op_call &call) { return call.at(0).i != 0; }
};
template <>
struct op_result<int64_t> {
    static int64_t get(op_call &call) { return call.at(0).i; }
};
template <>
struct op_result<double> {
    static double get(op_call &call)
    {
        const rkb_value_t &v = call.at(0);
        return v.kind == RKB_VALUE_DOUBLE ? v.d : static_cast<double>(v.i);
    }
};
template <>
struct op_result<std::vector<at::Tensor>> {
    static std::vector<at::Tensor> get(op_call &call)
    {
        std::vector<at::Tensor> list;
        rkb_value_t &v = call.at(0);
        if (v.kind == RKB_VALUE_TENSOR_LIST)
            for (size_t i = 0; i < v.count; i++)
                list.push_back(at::Tensor::borrow(v.tensors[i]));
        return list;
    }
};
template <typename... T>
struct op_result<std::tuple<T...>> {
    template <size_t... I>
    static std::tuple<T...> get(op_call &call, std::index_sequence<I...>)
    {
        return std::tuple<T...>(call.tensor(I)...);
    }
    static std::tuple<T...> get(op_call &call)
    {
        return get(call, std::index_sequence_for<T...>());
    }
};

template <typename R, typename... A>
R op(const char *name, const A &...args)
{
    rkb_value_t values[sizeof...(A) + 1] = {};
    size_t n = 0;
    (put(values[n++], args), ...);
    op_call call(name, values, n);
    return op_result<R>::get(call);
}

} // namespace rkb
