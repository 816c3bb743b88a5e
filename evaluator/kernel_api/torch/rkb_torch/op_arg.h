/**
 * @file op_arg.h
 * An argument of an operator call, packed for the ABI. Borrows what it was made from.
 */
#pragma once

#include "rkb_torch/options.h"
#include "rkb_torch/scalar.h"

namespace at {
class Tensor;
}

namespace rkb {

/** One packed argument: implicit from every type that a schema can ask for. */
class op_arg
{
    rkb_value_t v_ = rkb_value_t();

    void set(rkb_value_kind_t kind, int64_t i)
    {
        v_.kind = kind;
        v_.i = i;
    }
    void set_real(double d)
    {
        v_.kind = RKB_VALUE_DOUBLE;
        v_.d = d;
    }
    void set_tensor(const at::Tensor &tensor);
    void set_scalar(const c10::Scalar &value)
    {
        if (value.isFloatingPoint())
            set_real(value.toDouble());
        else
            set(value.isBoolean() ? RKB_VALUE_BOOL : RKB_VALUE_INT, value.toLong());
    }
    void set_ints(c10::IntArrayRef list)
    {
        v_.kind = RKB_VALUE_INT_LIST;
        v_.count = list.size();
        v_.ints = const_cast<int64_t *>(list.data());
    }
    void set_tensors(const at::Tensor *list, size_t n);
    void set_text(const char *text)
    {
        v_.kind = RKB_VALUE_STRING;
        v_.s = const_cast<char *>(text);
    }

  public:
    op_arg(c10::nullopt_t) {}
    op_arg(const at::Tensor &tensor) { set_tensor(tensor); }
    op_arg(const c10::optional<at::Tensor> &tensor);
    op_arg(const c10::Scalar &value) { set_scalar(value); }
    op_arg(const c10::optional<c10::Scalar> &value)
    {
        if (value.has_value())
            set_scalar(*value);
    }
    op_arg(bool value) { set(RKB_VALUE_BOOL, value); }
    op_arg(int value) { set(RKB_VALUE_INT, value); }
    op_arg(int64_t value) { set(RKB_VALUE_INT, value); }
    op_arg(const c10::optional<int64_t> &value)
    {
        if (value.has_value())
            set(RKB_VALUE_INT, *value);
    }
    op_arg(double value) { set_real(value); }
    op_arg(const c10::optional<double> &value)
    {
        if (value.has_value())
            set_real(*value);
    }
    op_arg(c10::ScalarType type) { set(RKB_VALUE_DTYPE, static_cast<int64_t>(type)); }
    op_arg(const c10::optional<c10::ScalarType> &type)
    {
        if (type.has_value())
            set(RKB_VALUE_DTYPE, static_cast<int64_t>(*type));
    }
    op_arg(c10::IntArrayRef list) { set_ints(list); }
    op_arg(const std::vector<int64_t> &list) { set_ints(list); }
    op_arg(const c10::OptionalIntArrayRef &list)
    {
        if (list.has_value())
            set_ints(*list);
    }
    op_arg(c10::ArrayRef<at::Tensor> list) { set_tensors(list.data(), list.size()); }
    op_arg(const std::vector<at::Tensor> &list);
    op_arg(const char *text) { set_text(text); }
    op_arg(c10::string_view text) { set_text(text.data()); } /* all of ours end in NUL */
};

static_assert(sizeof(op_arg) == sizeof(rkb_value_t), "an array of arguments is one of values");

/** Calls an operator by schema name and converts its result (op.h). */
template <typename R>
R op(const char *name, std::initializer_list<op_arg> args);

} // namespace rkb
