/**
 * @file caster.h
 * Arguments and results: rkb_value_t to and from C++ types, as strict as pybind11 and torch are. A
 * caster holds its argument in `storage` for the length of the call:
 *   load(v)  false if the value does not fit
 *   get()    what is passed to the function, an lvalue
 *   name(t)  adds the type as a caller sees it
 *   put(v, x) a result
 */
#pragma once

#include "rkb_torch/pyvalue.h"

#include <cmath>

namespace rkb {

template <typename T>
using bare = typename std::remove_cv<typename std::remove_reference<T>::type>::type;

/* ---- numbers, text ---- */

template <typename T>
struct caster<T,
              typename std::enable_if<std::is_integral<T>::value && !std::is_same<T, bool>::value &&
                                      !std::is_same<T, char>::value>::type> {
    T storage = T();
    bool load(const rkb_value_t &v)
    {
        if (v.kind != RKB_VALUE_INT && v.kind != RKB_VALUE_BOOL)
            return false; /* never from a float */
        storage = static_cast<T>(v.i);
        return static_cast<int64_t>(storage) == v.i && (std::is_signed<T>::value || v.i >= 0);
    }
    T &get() { return storage; }
    static void name(type_text &t) { t.add("int"); }
    static void put(rkb_value_t &v, T x)
    {
        v.kind = RKB_VALUE_INT;
        v.i = static_cast<int64_t>(x);
    }
};

template <typename T>
struct caster<T, typename std::enable_if<std::is_floating_point<T>::value>::type> {
    T storage = T();
    bool load(const rkb_value_t &v)
    {
        if (v.kind == RKB_VALUE_DOUBLE)
            storage = static_cast<T>(v.d);
        else if (v.kind == RKB_VALUE_INT || v.kind == RKB_VALUE_BOOL)
            storage = static_cast<T>(v.i);
        else
            return false;
        return true;
    }
    T &get() { return storage; }
    static void name(type_text &t) { t.add("float"); }
    static void put(rkb_value_t &v, T x)
    {
        v.kind = RKB_VALUE_DOUBLE;
        v.d = static_cast<double>(x);
    }
};

template <>
struct caster<bool> {
    bool storage = false;
    bool load(const rkb_value_t &v)
    {
        if (is_none(v))
            storage = false;
        else if (v.kind == RKB_VALUE_BOOL || v.kind == RKB_VALUE_INT)
            storage = v.i != 0;
        else if (v.kind == RKB_VALUE_DOUBLE)
            storage = v.d != 0;
        else
            return false;
        return true;
    }
    bool &get() { return storage; }
    static void name(type_text &t) { t.add("bool"); }
    static void put(rkb_value_t &v, bool x)
    {
        v.kind = RKB_VALUE_BOOL;
        v.i = x;
    }
};

template <>
struct caster<std::string> {
    std::string storage;
    bool load(const rkb_value_t &v)
    {
        if (v.kind != RKB_VALUE_STRING)
            return false;
        storage = v.s;
        return true;
    }
    std::string &get() { return storage; }
    static void name(type_text &t) { t.add("str"); }
    static void put(rkb_value_t &v, const std::string &x) { put_string(v, x.data(), x.size()); }
};

template <>
struct caster<std::string_view> : caster<std::string> {
    std::string_view view;
    std::string_view &get() { return view = storage; }
    static void put(rkb_value_t &v, std::string_view x) { put_string(v, x.data(), x.size()); }
};

template <>
struct caster<const char *> : caster<std::string> {
    const char *text = nullptr;
    bool load(const rkb_value_t &v)
    {
        if (is_none(v))
            return true;
        bool ok = caster<std::string>::load(v);
        text = storage.c_str();
        return ok;
    }
    const char *&get() { return text; }
    static void put(rkb_value_t &v, const char *x) { put_string(v, x, strlen(x)); }
};

template <>
struct caster<char> : caster<std::string> {
    char letter = 0;
    bool load(const rkb_value_t &v)
    {
        bool ok = caster<std::string>::load(v) && storage.size() == 1;
        letter = ok ? storage[0] : '\0';
        return ok;
    }
    char &get() { return letter; }
    static void put(rkb_value_t &v, char x) { put_string(v, &x, 1); }
};

/* ---- torch's own types ---- */

template <>
struct caster<at::Tensor> {
    at::Tensor storage;
    bool load(const rkb_value_t &v)
    {
        if (v.kind != RKB_VALUE_TENSOR || v.tensor == nullptr)
            return false; /* None is no tensor: that takes an optional */
        storage = at::Tensor::borrow(v.tensor);
        return true;
    }
    at::Tensor &get() { return storage; }
    static void name(type_text &t) { t.add("Tensor"); }
    static void put(rkb_value_t &v, const at::Tensor &x)
    {
        if (!x.defined())
            return; /* None */
        rkb_rt_tensor_retain(x.raw());
        v.kind = RKB_VALUE_TENSOR;
        v.tensor = x.raw();
    }
};

template <>
struct caster<c10::Scalar> {
    c10::Scalar storage;
    bool load(const rkb_value_t &v)
    {
        if (v.kind == RKB_VALUE_DOUBLE)
            storage = v.d;
        else if (v.kind == RKB_VALUE_INT)
            storage = v.i;
        else if (v.kind == RKB_VALUE_BOOL)
            storage = v.i != 0;
        else
            return false;
        return true;
    }
    c10::Scalar &get() { return storage; }
    static void name(type_text &t) { t.add("number"); }
    static void put(rkb_value_t &v, const c10::Scalar &x)
    {
        if (x.isFloatingPoint())
            caster<double>::put(v, x.toDouble());
        else
            caster<int64_t>::put(v, x.toLong());
    }
};

template <>
struct caster<c10::ScalarType> {
    c10::ScalarType storage = c10::ScalarType::Undefined;
    bool load(const rkb_value_t &v)
    {
        storage = static_cast<c10::ScalarType>(v.i);
        return v.kind == RKB_VALUE_DTYPE;
    }
    c10::ScalarType &get() { return storage; }
    static void name(type_text &t) { t.add("dtype"); }
    static void put(rkb_value_t &v, c10::ScalarType x)
    {
        v.kind = RKB_VALUE_DTYPE;
        v.i = static_cast<int64_t>(x);
    }
};

template <>
struct caster<c10::Device> {
    c10::Device storage = c10::Device(c10::kCPU);
    bool load(const rkb_value_t &v)
    {
        if (v.kind != RKB_VALUE_STRING)
            return false;
        storage = c10::Device(std::string(v.s));
        return true;
    }
    c10::Device &get() { return storage; }
    static void name(type_text &t) { t.add("device"); }
};

/* ---- containers ---- */

template <typename T, typename A>
struct caster<std::vector<T, A>> {
    std::vector<T, A> storage;
    bool load(const rkb_value_t &v)
    {
        if (!is_sequence(v))
            return false;
        storage.clear();
        storage.reserve(v.count);
        for (size_t i = 0; i < v.count; i++) {
            caster<T> each;
            if (!each.load(rkb_rt_value_item(&v, i)))
                return false;
            storage.push_back(std::move(each.get()));
        }
        return true;
    }
    std::vector<T, A> &get() { return storage; }
    static void name(type_text &t)
    {
        t.add("list[");
        caster<T>::name(t);
        t.add("]");
    }
    static void put(rkb_value_t &v, const std::vector<T, A> &x)
    {
        must(rkb_rt_value_list(&v, x.size()));
        for (size_t i = 0; i < x.size(); i++)
            caster<T>::put(v.list[i], x[i]);
    }
};

template <typename T>
struct caster<c10::ArrayRef<T>> : caster<std::vector<T>> {
    c10::ArrayRef<T> ref;
    c10::ArrayRef<T> &get() { return ref = this->storage; }
    static void put(rkb_value_t &v, c10::ArrayRef<T> x) { caster<std::vector<T>>::put(v, x.vec()); }
};

template <typename T, unsigned N>
struct caster<c10::SmallVector<T, N>> : caster<std::vector<T>> {
    c10::SmallVector<T, N> small;
    c10::SmallVector<T, N> &get()
    {
        small.assign(this->storage.begin(), this->storage.end());
        return small;
    }
};

template <typename T>
struct caster<std::optional<T>> {
    caster<T> inner;
    std::optional<T> storage;
    bool load(const rkb_value_t &v)
    {
        storage.reset();
        if (is_none(v))
            return true;
        if (!inner.load(v))
            return false;
        storage.emplace(inner.get());
        return true;
    }
    std::optional<T> &get() { return storage; }
    static void name(type_text &t)
    {
        caster<T>::name(t);
        t.add(" or None");
    }
    static void put(rkb_value_t &v, const std::optional<T> &x)
    {
        if (x.has_value())
            caster<T>::put(v, *x);
    }
};

template <>
struct caster<std::nullopt_t> {
    static void put(rkb_value_t &, std::nullopt_t) {}
};
template <>
struct caster<std::nullptr_t> {
    static void put(rkb_value_t &, std::nullptr_t) {}
};

template <>
struct caster<c10::OptionalIntArrayRef> : caster<std::optional<std::vector<int64_t>>> {
    c10::OptionalIntArrayRef ref;
    c10::OptionalIntArrayRef &get()
    {
        return ref = this->storage ? c10::OptionalIntArrayRef(*this->storage)
                                   : c10::OptionalIntArrayRef();
    }
};

template <typename T, size_t N>
struct caster<std::array<T, N>> {
    std::array<T, N> storage;
    bool load(const rkb_value_t &v)
    {
        if (!is_sequence(v) || v.count != N)
            return false;
        for (size_t i = 0; i < N; i++) {
            caster<T> each;
            if (!each.load(rkb_rt_value_item(&v, i)))
                return false;
            storage[i] = std::move(each.get());
        }
        return true;
    }
    std::array<T, N> &get() { return storage; }
    static void name(type_text &t)
    {
        t.add("list[");
        caster<T>::name(t);
        t.add("] of fixed length");
    }
    static void put(rkb_value_t &v, const std::array<T, N> &x)
    {
        must(rkb_rt_value_list(&v, N));
        for (size_t i = 0; i < N; i++)
            caster<T>::put(v.list[i], x[i]);
    }
};

/** Tuples and pairs: a sequence of exactly as many. */
template <typename Tuple, typename... T>
struct tuple_caster {
    Tuple storage;
    template <size_t... I>
    bool load_each(const rkb_value_t &v, std::index_sequence<I...>)
    {
        std::tuple<caster<bare<T>>...> each;
        bool ok = true;
        ((ok = ok && std::get<I>(each).load(rkb_rt_value_item(&v, I))), ...);
        if (ok)
            storage = Tuple(std::move(std::get<I>(each).get())...);
        return ok;
    }
    bool load(const rkb_value_t &v)
    {
        return is_sequence(v) && v.count == sizeof...(T) &&
               load_each(v, std::index_sequence_for<T...>());
    }
    Tuple &get() { return storage; }
    static void name(type_text &t)
    {
        const char *separator = "(";
        ((t.add(separator), caster<bare<T>>::name(t), separator = ", "), ...);
        t.add(")");
    }
    template <size_t... I>
    static void put_each(rkb_value_t &v, const Tuple &x, std::index_sequence<I...>)
    {
        (caster<bare<T>>::put(v.list[I], std::get<I>(x)), ...);
    }
    static void put(rkb_value_t &v, const Tuple &x)
    {
        must(rkb_rt_value_list(&v, sizeof...(T)));
        put_each(v, x, std::index_sequence_for<T...>());
    }
};
template <typename... T>
struct caster<std::tuple<T...>> : tuple_caster<std::tuple<T...>, T...> {
};
template <typename A, typename B>
struct caster<std::pair<A, B>> : tuple_caster<std::pair<A, B>, A, B> {
};

/* Maps compile, but no dict crosses the ABI. */
template <typename Map>
struct map_caster {
    Map storage;
    bool load(const rkb_value_t &) { return false; }
    Map &get() { return storage; }
    static void name(type_text &t) { t.add("dict"); }
    static void put(rkb_value_t &, const Map &)
    {
        throw unsupported_error("a dict cannot be returned");
    }
};
template <typename K, typename T>
struct caster<std::map<K, T>> : map_caster<std::map<K, T>> {
};
template <typename K, typename T>
struct caster<std::unordered_map<K, T>> : map_caster<std::unordered_map<K, T>> {
};

/* ---- py::object and kin ---- */

template <typename T>
constexpr const char *py_name = "object";
template <>
inline constexpr const char *py_name<pybind11::int_> = "int";
template <>
inline constexpr const char *py_name<pybind11::float_> = "float";
template <>
inline constexpr const char *py_name<pybind11::bool_> = "bool";
template <>
inline constexpr const char *py_name<pybind11::str> = "str";
template <>
inline constexpr const char *py_name<pybind11::list> = "list";
template <>
inline constexpr const char *py_name<pybind11::tuple> = "tuple";
template <>
inline constexpr const char *py_name<pybind11::sequence> = "sequence";
template <>
inline constexpr const char *py_name<pybind11::dict> = "dict";
template <>
inline constexpr const char *py_name<pybind11::args> = "*args";
template <>
inline constexpr const char *py_name<pybind11::none> = "None";

/** Is a value an instance of this Python type? A list passes for a tuple and the other way. */
template <typename T>
bool py_isinstance(const pybind11::object &o)
{
    namespace py = pybind11;
    rkb_value_kind_t kind = o.value().kind;
    if (std::is_same<T, py::object>::value)
        return true;
    if (std::is_same<T, py::none>::value)
        return o.is_none();
    if (std::is_same<T, py::dict>::value)
        return o.is_dict();
    if (o.is_dict())
        return false;
    if (std::is_same<T, py::int_>::value)
        return kind == RKB_VALUE_INT || kind == RKB_VALUE_BOOL;
    if (std::is_same<T, py::float_>::value)
        return kind == RKB_VALUE_DOUBLE;
    if (std::is_same<T, py::bool_>::value)
        return kind == RKB_VALUE_BOOL;
    if (std::is_same<T, py::str>::value)
        return kind == RKB_VALUE_STRING;
    return is_sequence(o.value());
}

template <typename T>
struct caster<T, typename std::enable_if<std::is_base_of<pybind11::object, T>::value>::type> {
    T storage;
    bool load(const rkb_value_t &v)
    {
        pybind11::object o = pybind11::object::of_value(v);
        if (!py_isinstance<T>(o))
            return false;
        if constexpr (std::is_same<T, pybind11::none>::value)
            return true;
        else
            storage = T(o);
        return true;
    }
    T &get() { return storage; }
    static void name(type_text &t) { t.add(py_name<T>); }
    static void put(rkb_value_t &v, const T &x)
    {
        if (x.is_dict())
            throw unsupported_error("a dict cannot be returned");
        must(rkb_rt_value_copy(&v, &x.value()));
    }
};

template <>
struct caster<pybind11::kwargs> {
    pybind11::kwargs storage;
    bool load(const rkb_value_t &) { return true; }
    pybind11::kwargs &get() { return storage; }
    static void name(type_text &t) { t.add("**kwargs"); }
};

} // namespace rkb

namespace pybind11 {

template <typename T>
T object::cast() const
{
    if constexpr (std::is_void<T>::value) {
        return;
    } else if constexpr (std::is_base_of<object, rkb::bare<T>>::value) {
        return rkb::bare<T>(*this);
    } else {
        rkb::caster<rkb::bare<T>> c;
        if (is_dict() || !c.load(value())) {
            rkb::type_text wanted;
            rkb::caster<rkb::bare<T>>::name(wanted);
            fail_cast(wanted.c_str());
        }
        return std::move(c.get());
    }
}

template <typename T>
object cast(T &&value)
{
    using type = typename std::decay<T>::type;
    if constexpr (std::is_base_of<object, type>::value) {
        return value;
    } else if constexpr (std::is_same<type, item_accessor>::value) {
        return value.get();
    } else {
        object o = object::fresh();
        rkb::caster<type>::put(o.own(), value);
        return o;
    }
}
template <typename T>
T cast(const object &o)
{
    return o.cast<T>();
}

template <typename T>
bool isinstance(const object &o)
{
    if constexpr (std::is_base_of<object, T>::value) {
        return rkb::py_isinstance<T>(o);
    } else {
        rkb::caster<T> c;
        return !o.is_dict() && c.load(o.value());
    }
}

} // namespace pybind11
