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

/** An argument with its default. The value lives as long as the module. */
struct arg_v : arg {
    rkb_value_t *value = new rkb_value_t();

    template <typename T>
    arg_v(const arg &base, T &&v, const char * = nullptr) : arg(base)
    {
        rkb::caster<typename std::decay<T>::type>::put(*value, v);
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

/** Tells what was thrown; called inside a handler. */
RKB_COLD inline rkb_call_status_t caught(char *error, size_t size)
{
    try {
        throw;
    } catch (const unsupported_error &e) {
        snprintf(error, size, "%s", e.what());
        return RKB_CALL_UNSUPPORTED;
    } catch (const std::exception &e) {
        snprintf(error, size, "%s", e.what());
    } catch (const std::string &e) {
        snprintf(error, size, "%s", e.c_str());
    } catch (const char *e) {
        snprintf(error, size, "%s", e);
    } catch (...) {
        snprintf(error, size, "an exception that is no std::exception");
    }
    return RKB_CALL_EXCEPTION;
}

/** One bound function: its record for the runtime, and the parameters that extras name. */
class bound_function : public rkb_function_t
{
    rkb_param_t *list_;
    uint32_t named_ = 0; /* py::arg seen so far */

  protected:
    RKB_COLD explicit bound_function(rkb_param_t *list) : rkb_function_t(), list_(list)
    {
        params = list;
    }
    RKB_COLD static const char *keep(const char *text)
    {
        const char *copy = strdup(text);
        return copy != nullptr ? copy : "?";
    }
    RKB_COLD void add_param(const type_text &type, bool variadic)
    {
        list_[nparams++] = {nullptr, keep(type.c_str()), nullptr};
        nfixed += !variadic;
    }

  public:
    RKB_COLD void add_named(const char *name, const rkb_value_t *fallback)
    {
        if (named_ < nparams) {
            list_[named_].name = name != nullptr ? keep(name) : nullptr;
            list_[named_].fallback = fallback;
        }
        named_++;
    }
    void add_extra(const pybind11::arg &a) { add_named(a.name, nullptr); }
    void add_extra(const pybind11::arg_v &a) { add_named(a.name, a.value); }
    template <typename T>
    void add_extra(const T &)
    {
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
class function_of : public bound_function
{
    F f_;
    rkb_param_t storage_[sizeof...(A) + 1] = {};

    template <typename T>
    void add()
    {
        type_text type;
        caster<T>::name(type);
        add_param(type, std::is_same<T, pybind11::args>::value ||
                            std::is_same<T, pybind11::kwargs>::value);
    }
    template <size_t... I>
    bool load_and_call([[maybe_unused]] const rkb_value_t *const *values, rkb_value_t *out,
                       [[maybe_unused]] uint32_t *bad, std::index_sequence<I...>)
    {
        std::tuple<caster<bare<A>>...> c;
        if (!((std::get<I>(c).load(*values[I]) || ((void)(*bad = I), false)) && ...))
            return false;
        if constexpr (std::is_void<R>::value)
            f_(pass_argument<A>(std::get<I>(c))...);
        else
            caster<bare<R>>::put(*out, f_(pass_argument<A>(std::get<I>(c))...));
        return true;
    }
    static rkb_call_status_t call(rkb_function_t *self, const rkb_value_t *const *values,
                                  rkb_value_t *out, uint32_t *bad, char *error, size_t size)
    {
        try {
            return static_cast<function_of *>(self)->load_and_call(values, out, bad,
                                                                   std::index_sequence_for<A...>())
                       ? RKB_CALL_OK
                       : RKB_CALL_BAD_SIGNATURE;
        } catch (...) {
            return caught(error, size);
        }
    }

  public:
    explicit function_of(F f) : bound_function(storage_), f_(std::move(f))
    {
        type_text type;
        (add<bare<A>>(), ...);
        if constexpr (std::is_void<R>::value)
            type.add("None");
        else
            caster<bare<R>>::name(type);
        result = keep(type.c_str());
        invoke = &call;
    }
};

template <typename R, typename... A>
bound_function *make_function(R (*f)(A...))
{
    return new function_of<R (*)(A...), R, A...>(f);
}
template <typename F, typename R, typename C, typename... A>
bound_function *make_functor(F f, R (C::*)(A...) const)
{
    return new function_of<F, R, A...>(std::move(f));
}
template <typename F, typename R, typename C, typename... A>
bound_function *make_functor(F f, R (C::*)(A...))
{
    return new function_of<F, R, A...>(std::move(f));
}
template <typename F, typename = decltype(&F::operator())>
bound_function *make_function(F f)
{
    return make_functor(std::move(f), &F::operator());
}

} // namespace rkb

namespace pybind11 {

class module_
{
    rkb_module_t *module_record_;
    std::string doc_;

  public:
    explicit module_(rkb_module_t *record) : module_record_(record) {}

    template <typename F, typename... Extra>
    module_ &def(const char *name, F &&f, const Extra &...extra)
    {
        rkb::bound_function *function = rkb::make_function(std::forward<F>(f));
        (function->add_extra(extra), ...);
        return add(name, function);
    }
    RKB_COLD module_ &add(const char *name, rkb::bound_function *function)
    {
        if (rkb_rt_module_add(module_record_, name, function) != 0)
            rkb::fail_runtime();
        return *this;
    }
    std::string &doc() { return doc_; }
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
        return module_(new rkb_module_t());
    }
    static module_ import(const char *name) { detail::no_python(std::string("import ") + name); }
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

/** A body that this shared object registered; they run in order. */
class register_module
{
    module_body_t body_;
    register_module *next_ = nullptr;

  public:
    static register_module *&first()
    {
        static register_module *head = nullptr;
        return head;
    }
    RKB_COLD explicit register_module(module_body_t body) : body_(body)
    {
        register_module **last = &first();
        while (*last != nullptr)
            last = &(*last)->next_;
        *last = this;
    }
    static void run_all(pybind11::module_ &m)
    {
        for (register_module *each = first(); each != nullptr; each = each->next_)
            each->body_(m);
    }
};

RKB_COLD inline const rkb_module_t *build_module()
{
    static rkb_module_t module = {RKB_ABI_VERSION, 0, nullptr, nullptr};
    static char error[1024];
    static bool built = false;

    if (built)
        return &module;
    built = true;
    try {
        pybind11::module_ m(&module);
        register_module::run_all(m);
    } catch (...) {
        (void)caught(error, sizeof(error));
        module.error = error[0] != '\0' ? error : "the module's body threw an exception";
    }
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
