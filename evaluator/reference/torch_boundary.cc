// The plugin behind torch_api.h: the only file of rkb that includes ATen. Every entry catches
// everything; no exception and no C++ type leaves it. Written against what libtorch 1.13 and 2.x
// have in common.
extern "C" {
#include "evaluator/reference/torch_api.h"
}

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/api/include/torch/version.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <vector>

struct rkb_torch_tensor {
    at::Tensor value;
};

namespace
{

rkb_status_t fail(rkb_error_t *err, rkb_status_t status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Own copy of rkb_error_set(): the plugin needs no symbol of its host.
rkb_status_t fail(rkb_error_t *err, rkb_status_t status, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->status = status;
        if (std::vsnprintf(err->text, sizeof err->text, fmt, ap) >= (int)sizeof err->text)
            err->text[sizeof err->text - 2] = '+';
        va_end(ap);
    }
    return status;
}

// A complaint of this file, told apart from those of libtorch.
struct bad_argument {
    std::string text;
};

std::string first_line(const char *text)
{
    return std::string(text, std::strcspn(text, "\n"));
}

// libtorch's allocators throw a plain Error whose text alone tells that memory ran out.
rkb_status_t classify(const std::string &text)
{
    bool memory = text.find("can't allocate memory") != std::string::npos ||
                  text.find("not enough memory") != std::string::npos ||
                  text.find("out of memory") != std::string::npos;
    return memory ? RKB_ERR_NO_MEMORY : RKB_ERR_INVALID;
}

// Runs body() and turns whatever it throws into a status and the first line of its text.
template <typename Body>
rkb_status_t guarded(rkb_error_t *err, const char *what, Body body)
{
    try {
        return body();
    } catch (const bad_argument &e) {
        return fail(err, RKB_ERR_INVALID, "%s: %s", what, e.text.c_str());
    } catch (const c10::Error &e) {
        std::string text = first_line(e.what_without_backtrace());
        return fail(err, classify(text), "%s: %s", what, text.c_str());
    } catch (const std::bad_alloc &) {
        return fail(err, RKB_ERR_NO_MEMORY, "%s: out of memory", what);
    } catch (const std::exception &e) {
        std::string text = first_line(e.what());
        return fail(err, classify(text), "%s: %s", what, text.c_str());
    } catch (...) {
        return fail(err, RKB_ERR_INTERNAL, "%s: unknown exception", what);
    }
}

bool known_dtype(at::ScalarType type)
{
    switch (static_cast<int>(type)) {
#define DTYPE_CASE(_e, _name, _size, _torch) case _torch:
        RKB_DTYPE_MAP(DTYPE_CASE)
#undef DTYPE_CASE
        return true;
    default:
        return false;
    }
}

rkb_torch_tensor_t *own(at::Tensor value)
{
    if (value.defined() && value.dim() > RKB_MAX_DIMS)
        throw bad_argument{c10::str("a tensor of ", value.dim(), " dimensions is beyond ",
                                    static_cast<int>(RKB_MAX_DIMS))};
    if (value.defined() && !known_dtype(value.scalar_type()))
        throw bad_argument{
            c10::str("a tensor of dtype ", value.scalar_type(), " is not supported")};
    return new rkb_torch_tensor{std::move(value)};
}

// ---- tensors --------------------------------------------------------------------------------

rkb_status_t api_wrap(void *data, rkb_dtype_t dtype, const int64_t *sizes, const int64_t *strides,
                      int ndim, rkb_torch_tensor_t **out, rkb_error_t *err)
{
    return guarded(err, "wrap", [&] {
        auto type = static_cast<at::ScalarType>(dtype);
        if (!known_dtype(type))
            throw bad_argument{c10::str("unknown dtype ", static_cast<int>(dtype))};
        at::TensorOptions options = at::TensorOptions().dtype(type);
        at::IntArrayRef shape(sizes, static_cast<size_t>(ndim));
        at::Tensor value =
            strides ? at::from_blob(data, shape, at::IntArrayRef(strides, shape.size()), options)
                    : at::from_blob(data, shape, options);
        *out = own(std::move(value));
        return RKB_OK;
    });
}

rkb_status_t api_copy(const rkb_torch_tensor_t *src, rkb_dtype_t dtype, bool requires_grad,
                      rkb_torch_tensor_t **out, rkb_error_t *err)
{
    return guarded(err, "copy", [&] {
        c10::AutoGradMode no_grad(false);
        auto type = static_cast<at::ScalarType>(dtype);
        if (!known_dtype(type))
            throw bad_argument{c10::str("unknown dtype ", static_cast<int>(dtype))};
        at::Tensor value = at::empty(src->value.sizes(), src->value.options().dtype(type));
        value.copy_(src->value);
        value.requires_grad_(requires_grad);
        *out = own(std::move(value));
        return RKB_OK;
    });
}

void api_release(rkb_torch_tensor_t *tensor)
{
    try {
        delete tensor;
    } catch (...) { // a destructor that throws has already let go of the handle
    }
}

rkb_torch_tensor_t *api_retain(const rkb_torch_tensor_t *tensor)
{
    return new (std::nothrow) rkb_torch_tensor{tensor->value};
}

void api_describe(const rkb_torch_tensor_t *tensor, rkb_tensor_t *out)
{
    std::memset(out, 0, sizeof *out);
    out->dtype = RKB_DTYPE_NONE;
    const at::Tensor &value = tensor->value;
    guarded(nullptr, "describe", [&] {
        if (!value.defined())
            return RKB_OK;
        out->dtype = static_cast<int32_t>(value.scalar_type());
        out->device = value.is_cuda() ? RKB_DEVICE_CUDA : RKB_DEVICE_CPU;
        out->device_index = value.is_cuda() ? value.get_device() : 0;
        out->requires_grad = value.requires_grad();
        out->ndim = static_cast<int32_t>(value.dim());
        out->numel = value.numel();
        for (int d = 0; d < out->ndim; d++) {
            out->sizes[d] = value.size(d);
            out->strides[d] = value.stride(d);
        }
        out->data = value.data_ptr();
        return RKB_OK;
    });
}

rkb_status_t api_read(const rkb_torch_tensor_t *tensor, void *dst, size_t bytes, rkb_error_t *err)
{
    return guarded(err, "read", [&] {
        if (!tensor->value.defined())
            throw bad_argument{"the tensor is undefined"};
        at::Tensor value = tensor->value.detach().to(at::kCPU).contiguous();
        size_t size = static_cast<size_t>(value.numel()) * value.element_size();
        if (size != bytes)
            throw bad_argument{c10::str("the tensor has ", size, " bytes, ", bytes, " were asked")};
        if (size > 0)
            std::memcpy(dst, value.data_ptr(), size);
        return RKB_OK;
    });
}

// ---- arguments ------------------------------------------------------------------------------

const char *kind_text(rkb_value_kind_t kind)
{
    static const char *const texts[] = {
        "None",     "a tensor",       "an int",           "a float",         "a bool",
        "a string", "a list of ints", "a list of floats", "a list of bools", "a list of tensors",
        "a dtype",  "a list"};
    return kind <= RKB_VALUE_LIST ? texts[kind] : "an unknown kind";
}

[[noreturn]] void refuse(const rkb_torch_value_t &value, const c10::Argument &argument)
{
    throw bad_argument{c10::str("argument \"", argument.name(), "\" takes ",
                                argument.real_type()->str(), ", not ", kind_text(value.kind))};
}

at::Tensor tensor_of(const rkb_torch_tensor_t *handle)
{
    return handle ? handle->value : at::Tensor();
}

// As Python's binding does: a number given for a tensor does not take part in type promotion.
at::Tensor number_tensor(const at::Scalar &scalar)
{
    at::Tensor value = c10::scalar_to_tensor(scalar);
    value.unsafeGetTensorImpl()->set_wrapped_number(true);
    return value;
}

bool is_integral(rkb_value_kind_t kind)
{
    return kind == RKB_VALUE_INT || kind == RKB_VALUE_BOOL;
}

c10::IValue convert_scalar(const rkb_torch_value_t &value, c10::TypeKind kind,
                           const c10::Argument &argument)
{
    switch (kind) {
    case c10::TypeKind::TensorType:
        if (value.kind == RKB_VALUE_TENSOR)
            return tensor_of(value.tensor);
        if (value.kind == RKB_VALUE_DOUBLE)
            return number_tensor(value.d);
        if (value.kind == RKB_VALUE_INT)
            return number_tensor(value.i);
        if (value.kind == RKB_VALUE_BOOL)
            return number_tensor(value.i != 0);
        break;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::ScalarTypeType:
        if (is_integral(value.kind) || value.kind == RKB_VALUE_DTYPE)
            return value.i;
        break;
    case c10::TypeKind::FloatType:
        if (value.kind == RKB_VALUE_DOUBLE)
            return value.d;
        if (is_integral(value.kind))
            return static_cast<double>(value.i);
        break;
    case c10::TypeKind::NumberType:
        if (value.kind == RKB_VALUE_DOUBLE)
            return value.d;
        if (value.kind == RKB_VALUE_INT)
            return value.i;
        if (value.kind == RKB_VALUE_BOOL)
            return value.i != 0;
        break;
    case c10::TypeKind::BoolType:
        if (value.kind == RKB_VALUE_BOOL || (value.kind == RKB_VALUE_INT && (value.i | 1) == 1))
            return value.i != 0;
        break;
    case c10::TypeKind::StringType:
        if (value.kind == RKB_VALUE_STRING)
            return std::string(value.s);
        break;
    default:
        break;
    }
    refuse(value, argument);
}

template <typename T>
c10::IValue list_of_numbers(const rkb_torch_value_t &value, const c10::Argument &argument)
{
    c10::List<T> list;
    if (is_integral(value.kind) || value.kind == RKB_VALUE_DOUBLE) {
        // "int[2] stride" takes one int for all
        bool real = value.kind == RKB_VALUE_DOUBLE;
        if (!argument.N() || (real && !std::is_same<T, double>::value))
            refuse(value, argument);
        for (int i = 0; i < *argument.N(); i++)
            list.push_back(real ? static_cast<T>(value.d) : static_cast<T>(value.i));
        return list;
    }
    bool doubles = value.kind == RKB_VALUE_DOUBLE_LIST;
    bool ints = value.kind == RKB_VALUE_INT_LIST || value.kind == RKB_VALUE_BOOL_LIST;
    // An empty list has no kind of its own.
    bool empty = value.count == 0 && value.kind == RKB_VALUE_TENSOR_LIST;
    if (!ints && !empty && !(doubles && std::is_same<T, double>::value))
        refuse(value, argument);
    for (size_t i = 0; i < value.count; i++)
        list.push_back(doubles ? static_cast<T>(value.doubles[i]) : static_cast<T>(value.ints[i]));
    return list;
}

c10::IValue convert_list(const rkb_torch_value_t &value, const c10::TypePtr &element,
                         const c10::Argument &argument)
{
    bool tensors = value.kind == RKB_VALUE_TENSOR_LIST;
    // Like numbers, an empty list fits any element type.
    bool empty = value.count == 0 && value.kind >= RKB_VALUE_INT_LIST;
    switch (element->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
        return list_of_numbers<int64_t>(value, argument);
    case c10::TypeKind::FloatType:
        return list_of_numbers<double>(value, argument);
    case c10::TypeKind::BoolType:
        return list_of_numbers<bool>(value, argument);
    case c10::TypeKind::TensorType: {
        if (!tensors && !empty)
            refuse(value, argument);
        c10::List<at::Tensor> list;
        for (size_t i = 0; tensors && i < value.count; i++)
            list.push_back(tensor_of(value.tensors[i]));
        return list;
    }
    case c10::TypeKind::OptionalType: { // Tensor?[] of aten::index
        if (!tensors && !empty)
            refuse(value, argument);
        c10::List<c10::optional<at::Tensor>> list;
        for (size_t i = 0; tensors && i < value.count; i++)
            list.push_back(value.tensors[i] ? c10::optional<at::Tensor>(value.tensors[i]->value)
                                            : c10::optional<at::Tensor>());
        return list;
    }
    default:
        refuse(value, argument);
    }
}

c10::IValue convert(const rkb_torch_value_t &value, const c10::Argument &argument)
{
    c10::TypePtr type = argument.type();
    if (type->kind() == c10::TypeKind::OptionalType) {
        if (value.kind == RKB_VALUE_NONE || (value.kind == RKB_VALUE_TENSOR && !value.tensor))
            return c10::IValue();
        type = type->castRaw<c10::OptionalType>()->getElementType();
    }
    if (type->kind() == c10::TypeKind::ListType)
        return convert_list(value, type->castRaw<c10::ListType>()->getElementType(), argument);
    return convert_scalar(value, type->kind(), argument);
}

// ---- calls ----------------------------------------------------------------------------------

c10::OperatorHandle find_operator(const char *name)
{
    const char *dot = std::strchr(name, '.');
    std::string base = dot ? std::string(name, static_cast<size_t>(dot - name)) : name;
    std::string overload = dot ? dot + 1 : "";
    auto found = c10::Dispatcher::singleton().findSchema({base, overload});
    if (found)
        return *found;
    std::string others;
    for (const auto &known : c10::Dispatcher::singleton().getAllOpNames())
        if (known.name == base && others.size() < 300)
            others += (others.empty() ? "" : ", ") + base +
                      (known.overload_name.empty() ? "" : "." + known.overload_name);
    throw bad_argument{"libtorch " TORCH_VERSION " has no such operator" +
                       (others.empty() ? "" : "; it has " + others)};
}

// Lists that results point to live here until the thread's next call.
struct result_lists {
    std::vector<std::vector<int64_t>> ints;
    std::vector<std::vector<double>> doubles;
    std::vector<std::vector<rkb_torch_tensor_t *>> tensors;
    std::vector<std::string> strings;
};
thread_local result_lists lists;

rkb_torch_value_t export_result(const c10::IValue &from)
{
    rkb_torch_value_t to;
    std::memset(&to, 0, sizeof to);
    if (from.isTensor()) {
        to.kind = RKB_VALUE_TENSOR;
        to.tensor = from.toTensor().defined() ? own(from.toTensor()) : nullptr;
    } else if (from.isInt()) {
        to.kind = RKB_VALUE_INT;
        to.i = from.toInt();
    } else if (from.isDouble()) {
        to.kind = RKB_VALUE_DOUBLE;
        to.d = from.toDouble();
    } else if (from.isBool()) {
        to.kind = RKB_VALUE_BOOL;
        to.i = from.toBool();
    } else if (from.isString()) {
        lists.strings.push_back(from.toStringRef());
        to.kind = RKB_VALUE_STRING;
        to.s = lists.strings.back().c_str();
    } else if (from.isTensorList()) {
        std::vector<rkb_torch_tensor_t *> handles;
        for (const at::Tensor &tensor : from.toTensorVector())
            handles.push_back(tensor.defined() ? own(tensor) : nullptr);
        lists.tensors.push_back(std::move(handles));
        to.kind = RKB_VALUE_TENSOR_LIST;
        to.count = lists.tensors.back().size();
        to.tensors = lists.tensors.back().data();
    } else if (from.isIntList()) {
        lists.ints.push_back(from.toIntVector());
        to.kind = RKB_VALUE_INT_LIST;
        to.count = lists.ints.back().size();
        to.ints = lists.ints.back().data();
    } else if (from.isBoolList()) {
        std::vector<int64_t> flags;
        for (bool flag : from.toBoolList())
            flags.push_back(flag);
        lists.ints.push_back(std::move(flags));
        to.kind = RKB_VALUE_BOOL_LIST;
        to.count = lists.ints.back().size();
        to.ints = lists.ints.back().data();
    } else if (from.isDoubleList()) {
        lists.doubles.push_back(from.toDoubleVector());
        to.kind = RKB_VALUE_DOUBLE_LIST;
        to.count = lists.doubles.back().size();
        to.doubles = lists.doubles.back().data();
    } else if (!from.isNone()) {
        throw bad_argument{"returns a " + from.tagKind() + ", which is not supported"};
    }
    return to;
}

void release_value(rkb_torch_value_t &value)
{
    if (value.kind == RKB_VALUE_TENSOR)
        api_release(value.tensor);
    for (size_t i = 0; value.kind == RKB_VALUE_TENSOR_LIST && i < value.count; i++)
        api_release(value.tensors[i]);
}

void push_arguments(const c10::FunctionSchema &schema, const rkb_torch_value_t *args, size_t nargs,
                    std::vector<c10::IValue> &stack)
{
    const std::vector<c10::Argument> &declared = schema.arguments();
    if (nargs > declared.size())
        throw bad_argument{
            c10::str(nargs, " arguments are given, it takes at most ", declared.size())};
    stack.reserve(declared.size());
    for (size_t i = 0; i < declared.size(); i++) {
        if (i < nargs && !args[i].use_default)
            stack.push_back(convert(args[i], declared[i]));
        else if (declared[i].default_value())
            stack.push_back(*declared[i].default_value());
        else
            throw bad_argument{"argument \"" + declared[i].name() + "\" is missing"};
    }
}

rkb_status_t api_call(const char *name, const rkb_torch_value_t *args, size_t nargs, bool grad,
                      rkb_torch_value_t *results, size_t *nresults, rkb_error_t *err)
{
    size_t made = 0;
    rkb_status_t status = guarded(err, name, [&] {
        c10::AutoGradMode grad_mode(grad);
        c10::OperatorHandle op = find_operator(name);
        std::vector<c10::IValue> stack;
        push_arguments(op.schema(), args, nargs, stack);
        op.callBoxed(stack);
        if (stack.size() > *nresults)
            throw bad_argument{
                c10::str("returns ", stack.size(), " values, there is room for ", *nresults)};
        lists = result_lists();
        lists.strings.reserve(stack.size()); // moving a short string would move its characters
        for (; made < stack.size(); made++)
            results[made] = export_result(stack[made]);
        return RKB_OK;
    });
    if (status == RKB_OK)
        *nresults = made;
    else
        while (made > 0)
            release_value(results[--made]);
    return status;
}

rkb_status_t api_schema(const char *name, char *buf, size_t size, rkb_error_t *err)
{
    return guarded(err, name, [&] {
        std::ostringstream text;
        text << find_operator(name).schema();
        if (text.str().size() >= size)
            throw bad_argument{c10::str("its schema has ", text.str().size(), " characters")};
        std::memcpy(buf, text.str().c_str(), text.str().size() + 1);
        return RKB_OK;
    });
}

rkb_status_t api_argument(const char *name, const char *argument, size_t *index, rkb_error_t *err)
{
    return guarded(err, name, [&] {
        c10::OperatorHandle op = find_operator(name);
        std::string known;
        const std::vector<c10::Argument> &declared = op.schema().arguments();
        for (size_t i = 0; i < declared.size(); i++) {
            if (declared[i].name() == argument) {
                *index = i;
                return RKB_OK;
            }
            known += (i ? ", " : "") + declared[i].name();
        }
        throw bad_argument{c10::str("has no argument \"", argument, "\"; it takes ", known)};
    });
}

rkb_status_t api_grad(rkb_torch_tensor_t *const *outputs, rkb_torch_tensor_t *const *grad_outputs,
                      size_t noutputs, rkb_torch_tensor_t *const *inputs, size_t ninputs,
                      rkb_torch_tensor_t **results, rkb_error_t *err)
{
    std::vector<rkb_torch_tensor_t *> made;
    rkb_status_t status = guarded(err, "autograd", [&] {
        std::vector<at::Tensor> from, upstream, to, found;
        for (size_t i = 0; i < noutputs; i++)
            if (outputs[i]->value.requires_grad()) {
                from.push_back(outputs[i]->value);
                upstream.push_back(grad_outputs[i]->value);
            }
        for (size_t i = 0; i < ninputs; i++)
            to.push_back(inputs[i]->value);
        found.resize(ninputs);
        if (!from.empty())
            found = torch::autograd::grad(from, to, upstream, /*retain_graph=*/false,
                                          /*create_graph=*/false, /*allow_unused=*/true);
        for (size_t i = 0; i < ninputs; i++)
            made.push_back(own(found[i].defined() ? found[i].detach() : at::zeros_like(to[i])));
        return RKB_OK;
    });
    if (status == RKB_OK)
        std::copy(made.begin(), made.end(), results);
    else
        for (rkb_torch_tensor_t *tensor : made)
            api_release(tensor);
    return status;
}

const rkb_torch_api_t api = {
    RKB_TORCH_API_VERSION, TORCH_VERSION, api_wrap, api_copy,   api_release, api_retain,
    api_describe,          api_read,      api_call, api_schema, api_grad,    api_argument,
};

// The reference must give the same bits each time, and no arithmetic below the task's dtype.
void make_deterministic()
{
    at::set_num_threads(1);
    at::Context &context = at::globalContext();
    context.setDeterministicAlgorithms(true, /*warn_only=*/true);
    context.setBenchmarkCuDNN(false);
    context.setDeterministicCuDNN(true);
    context.setAllowTF32CuDNN(false);
    context.setAllowTF32CuBLAS(false);
}

} // namespace

extern "C" __attribute__((visibility("default"))) const rkb_torch_api_t *
rkb_torch_query(unsigned version)
{
    if (version != RKB_TORCH_API_VERSION)
        return nullptr;
    rkb_status_t status = guarded(nullptr, "start", [] {
        make_deterministic();
        return RKB_OK;
    });
    return status == RKB_OK ? &api : nullptr;
}
