/**
 * @file module.h
 * PYBIND11_MODULE without Python: bound functions become the entries of the candidate's module
 * (rkb_abi.h). Functions of one name are overloads, tried in order.
 */
#pragma once

#include "rkb_torch/caster.h"

#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME rkb_candidate
#endif

namespace pybind11 {

struct arg_v;

/** py::arg("name") and its flags. */
struct arg {
    const char *name;
    constexpr explicit arg(const char *n = nullptr) : name(n) {}
    template <typename T>
    arg_v operator=(T &&value) const;
    arg &noconvert(bool = true) { return *this; }
    arg &none(bool = true) { return *this; }
};

struct arg_v : arg {
    object value;
    template <typename T>
    arg_v(const arg &base, T &&v, const char * = nullptr)
        : arg(base), value(pybind11::cast(std::forward<T>(v)))
    {
    }
    template <typename T>
    arg_v(const char *n, T &&v, const char * = nullptr) : arg_v(arg(n), std::forward<T>(v))
    {
    }
    arg_v &noconvert(bool = true) { return *this; }
    arg_v &none(bool = true) { return *this; }
};

template <typename T>
arg_v arg::operator=(T &&value) const
{
    return arg_v(*this, std::forward<T>(value));
}

inline namespace literals {
constexpr arg operator"" _a(const char *name, size_t)
{
    return arg(name);
}
} // namespace literals

struct kw_only {
};
struct pos_only {
};
struct doc {
    const char *value;
    explicit doc(const char *v) : value(v) {}
};
struct name {
    explicit name(const char *) {}
};
enum class return_value_policy {
    automatic,
    automatic_reference,
    take_ownership,
    copy,
    move,
    reference,
    reference_internal
};
template <typename... T>
struct call_guard {
};
template <size_t A, size_t B>
struct keep_alive {
};
struct gil_scoped_release {
    gil_scoped_release() {}
    ~gil_scoped_release() {}
};
struct gil_scoped_acquire {
    gil_scoped_acquire() {}
    ~gil_scoped_acquire() {}
};
struct module_local {
};
struct buffer_protocol {
};

} // namespace pybind11

namespace rkb {

struct param_t {
    std::string name; /* empty: not given */
    std::string type;
    bool has_default = false;
    pybind11::object fallback;
};

/** One bound C++ function. */
struct function_base {
    std::vector<param_t> params;
    std::string result;
    bool variadic = false; /* the last parameters are py::args, py::kwargs */
    size_t fixed = 0;      /* parameters before them */
    size_t named = 0;      /* py::arg seen so far */

    virtual ~function_base() = default;
    /** Calls with one value per parameter. Returns -1, or the index of an argument that does not fit. */
    virtual int invoke(const rkb_value_t *const *values, rkb_value_t *result) = 0;

    RKB_COLD void name_param(const char *name)
    {
        if (named < params.size() && name != nullptr)
            params[named].name = name;
        named++;
    }
    RKB_COLD void add_extra(const pybind11::arg &a) { name_param(a.name); }
    RKB_COLD void add_extra(const pybind11::arg_v &a)
    {
        if (named < params.size()) {
            params[named].has_default = true;
            params[named].fallback = a.value;
        }
        name_param(a.name);
    }
    template <typename T>
    void add_extra(const T &)
    {
    }

    /** "(Tensor x, Tensor weight, float eps = 1e-05) -> Tensor" */
    RKB_COLD std::string signature() const
    {
        std::string text = "(";
        for (size_t i = 0; i < params.size(); i++) {
            const param_t &p = params[i];
            text += i > 0 ? ", " : "";
            text += p.type + (p.name.empty() ? "" : " " + p.name);
            if (p.has_default)
                text += " = " + default_text(p.fallback.value());
        }
        return text + ") -> " + result;
    }
    RKB_COLD static std::string default_text(const rkb_value_t &v)
    {
        std::string text = describe_value(v);
        bool number = v.kind == RKB_VALUE_INT || v.kind == RKB_VALUE_DOUBLE ||
                      v.kind == RKB_VALUE_BOOL || v.kind == RKB_VALUE_STRING;
        return number ? text.substr(text.find(' ') + 1) : text;
    }
    RKB_COLD std::string label(size_t i) const
    {
        std::string text = "argument " + std::to_string(i + 1);
        return params[i].name.empty() ? text : text + " (" + params[i].name + ")";
    }
    RKB_COLD std::string count_text() const
    {
        size_t least = 0;
        for (size_t i = 0; i < fixed; i++)
            least += !params[i].has_default;
        std::string text = least == fixed && !variadic
                               ? std::to_string(fixed)
                               : "at least " + std::to_string(least);
        if (least != fixed && !variadic)
            text = std::to_string(least) + " to " + std::to_string(fixed);
        return text + (text == "1" ? " argument" : " arguments");
    }

    /** False, with the reason in *why, if these arguments do not fit. */
    RKB_COLD bool call(const rkb_value_t *args, size_t nargs, rkb_value_t *out, std::string *why)
    {
        std::vector<const rkb_value_t *> values(params.size() + 1);
        pybind11::object rest, keywords;
        if (nargs > fixed && !variadic) {
            *why = "takes " + count_text() + ", but " + std::to_string(nargs) + " were passed";
            return false;
        }
        for (size_t i = 0; i < fixed; i++) {
            values[i] = i < nargs ? &args[i] : &params[i].fallback.value();
            if (i >= nargs && !params[i].has_default) {
                *why = "takes " + count_text() + ", but " + std::to_string(nargs) +
                       (nargs == 1 ? " was" : " were") + " passed; " + label(i) + " is missing";
                return false;
            }
        }
        if (variadic) { /* py::args takes the rest; py::kwargs stays empty */
            rest = pybind11::list();
            for (size_t i = fixed; i < nargs; i++)
                rest.grow(args[i]);
            for (size_t i = fixed; i < params.size(); i++)
                values[i] = &rest.value();
        }
        int bad = invoke(values.data(), out);
        if (bad < 0)
            return true;
        size_t i = static_cast<size_t>(bad);
        *why = label(i) + " takes " + params[i].type + ", but " + describe_value(*values[i]) +
               " was passed";
        return false;
    }
};

/* How a loaded value is handed on as the declared parameter type. */
template <typename A, typename C>
decltype(auto) pass_argument(C &c)
{
    if constexpr (std::is_lvalue_reference<A>::value)
        return (c.get());
    else
        return std::move(c.get());
}

template <typename F, typename R, typename... A>
struct function_of : function_base {
    F f;

    explicit function_of(F fn) : f(std::move(fn))
    {
        (add_param<bare<A>>(), ...);
        result = result_name();
    }
    template <typename T>
    void add_param()
    {
        param_t p;
        p.type = caster<T>::name();
        if (std::is_same<T, pybind11::args>::value || std::is_same<T, pybind11::kwargs>::value)
            variadic = true;
        else
            fixed++;
        params.push_back(std::move(p));
    }
    static std::string result_name()
    {
        if constexpr (std::is_void<R>::value)
            return "None";
        else
            return caster<bare<R>>::name();
    }
    int invoke(const rkb_value_t *const *values, rkb_value_t *out) override
    {
        return invoke_with(values, out, std::index_sequence_for<A...>());
    }
    template <size_t... I>
    int invoke_with([[maybe_unused]] const rkb_value_t *const *values, rkb_value_t *out,
                    std::index_sequence<I...>)
    {
        std::tuple<caster<bare<A>>...> c;
        int bad = -1;
        ((bad = bad < 0 && !load_one(std::get<I>(c), *values[I]) ? static_cast<int>(I) : bad), ...);
        if (bad >= 0)
            return bad;
        if constexpr (std::is_void<R>::value) {
            f(pass_argument<A>(std::get<I>(c))...);
            *out = rkb_value_t();
        } else {
            *out = rkb_value_t();
            caster<bare<R>>::put(*out, f(pass_argument<A>(std::get<I>(c))...));
        }
        return -1;
    }
    template <typename C>
    static bool load_one(C &c, const rkb_value_t &v)
    {
        return c.load(v);
    }
    static bool load_one(caster<pybind11::kwargs> &, const rkb_value_t &) { return true; }
    static bool load_one(caster<pybind11::args> &c, const rkb_value_t &v)
    {
        c.storage = pybind11::args(pybind11::object::of_value(v));
        return true;
    }
};

template <typename R, typename... A>
function_base *make_function(R (*f)(A...))
{
    return new function_of<R (*)(A...), R, A...>(f);
}
template <typename F, typename R, typename C, typename... A>
function_base *make_functor(F f, R (C::*)(A...) const)
{
    return new function_of<F, R, A...>(std::move(f));
}
template <typename F, typename R, typename C, typename... A>
function_base *make_functor(F f, R (C::*)(A...))
{
    return new function_of<F, R, A...>(std::move(f));
}
template <typename F, typename = decltype(&F::operator())>
function_base *make_function(F f)
{
    return make_functor(std::move(f), &F::operator());
}

/** All functions of one name. */
struct entry_t {
    std::string name, signature;
    std::vector<function_base *> overloads;

    RKB_COLD static void set_error(char *error, size_t size, const std::string &text)
    {
        snprintf(error, size, "%s", text.c_str());
    }
    RKB_COLD rkb_call_status_t run(const rkb_value_t *args, size_t nargs, rkb_value_t *result,
                                   std::string *text)
    {
        std::string why;
        for (function_base *f : overloads) {
            why.clear();
            if (f->call(args, nargs, result, &why))
                return RKB_CALL_OK;
        }
        *text = name + signature + ": " +
                (overloads.size() > 1 ? "no overload fits; the last one " : "") + why;
        return RKB_CALL_BAD_SIGNATURE;
    }
    RKB_COLD static rkb_call_status_t call(void *self, const rkb_value_t *args, size_t nargs,
                                           rkb_value_t *result, char *error, size_t size)
    {
        rkb_value_t value = rkb_value_t();
        rkb_call_status_t status = RKB_CALL_EXCEPTION;
        try {
            std::string text;
            status = static_cast<entry_t *>(self)->run(args, nargs, &value, &text);
            if (status == RKB_CALL_OK) {
                *result = value;
                return status;
            }
            set_error(error, size, text);
        } catch (const unsupported_error &e) {
            status = RKB_CALL_UNSUPPORTED;
            set_error(error, size, e.what());
        } catch (const std::exception &e) {
            set_error(error, size, e.what());
        } catch (const std::string &e) {
            set_error(error, size, e);
        } catch (const char *e) {
            set_error(error, size, e);
        } catch (...) {
            set_error(error, size, "an exception that is no std::exception");
        }
        rkb_rt_value_release(&value);
        return status;
    }
};

} // namespace rkb

namespace pybind11 {

class module_ : public object
{
    std::vector<rkb::entry_t *> *entries_;

  public:
    explicit module_(std::vector<rkb::entry_t *> *entries) : object(fresh()), entries_(entries) {}

    template <typename F, typename... Extra>
    module_ &def(const char *name, F &&f, const Extra &...extra)
    {
        rkb::function_base *function = rkb::make_function(std::forward<F>(f));
        (function->add_extra(extra), ...);
        add(name, function);
        return *this;
    }
    RKB_COLD void add(const std::string &name, rkb::function_base *function)
    {
        rkb::entry_t *entry = nullptr;
        for (rkb::entry_t *each : *entries_)
            if (each->name == name)
                entry = each;
        if (entry == nullptr) {
            entry = new rkb::entry_t();
            entry->name = name;
            entry->signature = function->signature();
            entries_->push_back(entry);
        } else {
            entry->signature += " or " + function->signature();
        }
        entry->overloads.push_back(function);
    }
    object &doc()
    {
        static object text;
        return text = fresh();
    }
    class attribute
    {
      public:
        template <typename T>
        attribute &operator=(T &&)
        {
            return *this;
        }
    };
    attribute attr(const char *) { return attribute(); }
    module_ def_submodule(const char *, const char * = nullptr)
    {
        return module_(new std::vector<rkb::entry_t *>());
    }
    static module_ import(const char *name)
    {
        detail::no_python(std::string("import ") + name);
    }
};
using module = module_;

/* Classes cannot be passed to an entry; binding one is accepted and changes nothing. */
template <typename... A>
struct init_t {
};
template <typename... A>
init_t<A...> init(A &&...)
{
    return {};
}
template <typename... A>
init_t<A...> init()
{
    return {};
}
template <typename T, typename... Options>
class class_
{
  public:
    template <typename... Extra>
    class_(const module_ &, const char *, const Extra &...)
    {
    }
#define RKB_PY_MEMBER(name)                                                                        \
    template <typename... A>                                                                       \
    class_ &name(const A &...)                                                                     \
    {                                                                                              \
        return *this;                                                                              \
    }
    RKB_PY_MEMBER(def)
    RKB_PY_MEMBER(def_static)
    RKB_PY_MEMBER(def_readwrite)
    RKB_PY_MEMBER(def_readonly)
    RKB_PY_MEMBER(def_property)
    RKB_PY_MEMBER(def_property_readonly)
#undef RKB_PY_MEMBER
};

template <typename... A>
struct overload_cast_impl {
    template <typename R>
    constexpr auto operator()(R (*f)(A...)) const
    {
        return f;
    }
};
template <typename... A>
constexpr overload_cast_impl<A...> overload_cast{};

} // namespace pybind11

namespace py = pybind11;

namespace rkb {

typedef void (*module_body_t)(pybind11::module_ &);

/** The bodies that this shared object registered, in order. */
inline std::vector<module_body_t> &module_bodies()
{
    static std::vector<module_body_t> bodies;
    return bodies;
}

struct register_module {
    RKB_COLD explicit register_module(module_body_t body) { module_bodies().push_back(body); }
};

RKB_COLD inline const rkb_module_t *build_module()
{
    static std::vector<entry_t *> entries;
    static std::vector<rkb_entry_t> table;
    static std::string error;
    static rkb_module_t module;
    static bool built = false;

    if (built)
        return &module;
    built = true;
    try {
        pybind11::module_ m(&entries);
        for (module_body_t body : module_bodies())
            body(m);
    } catch (const std::exception &e) {
        error = *e.what() != '\0' ? e.what() : "the module's body threw an exception";
    } catch (...) {
        error = "the module's body threw an exception that is no std::exception";
    }
    for (entry_t *entry : entries)
        table.push_back({entry->name.c_str(), entry->signature.c_str(), &entry_t::call, entry});
    module.abi = RKB_ABI_VERSION;
    module.count = static_cast<uint32_t>(table.size());
    module.entries = table.data();
    module.error = error.empty() ? nullptr : error.c_str();
    return &module;
}

} // namespace rkb

/* In every candidate, also one that binds nothing: then the message can say so. */
extern "C" __attribute__((used, visibility("default"))) inline const rkb_module_t *
rkb_candidate_module_v1(void)
{
    return ::rkb::build_module();
}

#define RKB_MODULE_BODY_(name) rkb_module_body_##name
#define RKB_MODULE_BODY(name) RKB_MODULE_BODY_(name)
#define PYBIND11_MODULE(name, variable, ...)                                                       \
    static void RKB_MODULE_BODY(name)(::pybind11::module_ &);                                      \
    static ::rkb::register_module C10_CONCATENATE(rkb_register_module_,                            \
                                                  name)(&RKB_MODULE_BODY(name));                   \
    static void RKB_MODULE_BODY(name)(::pybind11::module_ & variable)
