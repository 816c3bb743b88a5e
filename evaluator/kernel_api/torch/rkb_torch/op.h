/**
 * @file op.h
 * rkb::op<R>("aten::name.overload", {args…}): a call through the dispatcher of libtorch. Arguments
 * stand in the order of the schema, keyword-only ones included; trailing defaults may be left out.
 * Nothing is copied: the packed values borrow from the arguments for the length of the call.
 */
#pragma once

#include "rkb_torch/tensor.h"

namespace rkb {

inline void op_arg::set_tensor(const at::Tensor &tensor)
{
    v_.kind = tensor.defined() ? RKB_VALUE_TENSOR : RKB_VALUE_NONE;
    v_.tensor = tensor.raw();
}
inline void op_arg::set_tensors(const at::Tensor *list, size_t n)
{
    v_.kind = RKB_VALUE_TENSOR_LIST;
    v_.count = n;
    v_.tensors = reinterpret_cast<rkb_tensor_t **>(const_cast<at::Tensor *>(list));
}
inline op_arg::op_arg(const c10::optional<at::Tensor> &tensor)
{
    if (tensor.has_value())
        set_tensor(*tensor);
}
inline op_arg::op_arg(const std::vector<at::Tensor> &list)
{
    set_tensors(list.data(), list.size());
}

/** Runs the call; the results release themselves. */
class op_call
{
  public:
    enum { MAX_RESULTS = 16 };
    rkb_value_t results[MAX_RESULTS];
    size_t count = MAX_RESULTS;

    RKB_COLD op_call(const char *name, std::initializer_list<op_arg> args)
    {
        int rc = rkb_rt_call_operator(name, reinterpret_cast<const rkb_value_t *>(args.begin()),
                                      args.size(), results, &count);
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
            fail_with("an operator returned fewer values than expected");
        return results[i];
    }
    RKB_COLD at::Tensor tensor(size_t i)
    {
        rkb_value_t &v = at(i);
        if (v.kind == RKB_VALUE_NONE)
            return at::Tensor();
        if (v.kind != RKB_VALUE_TENSOR)
            fail_with("an operator returned no tensor where one was expected");
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

template <typename R>
R op(const char *name, std::initializer_list<op_arg> args)
{
    op_call call(name, args);
    return op_result<R>::get(call);
}

} // namespace rkb
