/**
 * @file pyvalue.h
 * py::object and kin without Python: a shared value of the kinds that cross the ABI. Only a dict is
 * more than that: it is a list of keys and values, and cannot be passed in or returned. Attributes,
 * calls and imports do not exist; asking for them ends the call as `unsupported`.
 */
#pragma once

#include "rkb_torch/tensor.h"

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rkb {

/** Failures of the ABI's value functions are failures to allocate. */
inline void must(int rc)
{
    if (C10_UNLIKELY(rc != 0))
        fail_runtime();
}

RKB_COLD inline void put_string(rkb_value_t &v, const char *text, size_t len)
{
    v = rkb_value_t();
    v.s = static_cast<char *>(malloc(len + 1));
    if (v.s == nullptr)
        throw std::bad_alloc();
    memcpy(v.s, text, len);
    v.s[len] = '\0';
    v.kind = RKB_VALUE_STRING;
}

inline bool is_sequence(const rkb_value_t &v)
{
    return v.kind == RKB_VALUE_LIST || v.kind == RKB_VALUE_INT_LIST ||
           v.kind == RKB_VALUE_BOOL_LIST || v.kind == RKB_VALUE_DOUBLE_LIST ||
           v.kind == RKB_VALUE_TENSOR_LIST;
}

inline bool is_none(const rkb_value_t &v)
{
    return v.kind == RKB_VALUE_NONE || (v.kind == RKB_VALUE_TENSOR && v.tensor == nullptr);
}

/** What a value is, for messages. */
RKB_COLD inline std::string describe_value(const rkb_value_t &v)
{
    char text[256];
    rkb_rt_value_describe(&v, text, sizeof(text));
    return text;
}

/** The name of a type, put together without std::string. */
class type_text
{
    char text_[256] = "";

  public:
    RKB_COLD void add(const char *more)
    {
        size_t used = strlen(text_);
        snprintf(text_ + used, sizeof(text_) - used, "%s", more);
    }
    const char *c_str() const { return text_; }
};

/** Conversion between values and C++ types: caster.h. */
template <typename T, typename = void>
struct caster;

} // namespace rkb

namespace pybind11 {

class error_already_set : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};
class cast_error : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};
class type_error : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};
class value_error : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};
class index_error : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};
class key_error : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};

namespace detail {

struct node {
    rkb_value_t value = rkb_value_t();
    bool dict = false; /* value is a LIST of key, value, key, value, … */

    node() = default;
    node(const node &) = delete;
    node &operator=(const node &) = delete;
    ~node() { rkb_rt_value_release(&value); }
};

[[noreturn]] RKB_COLD inline void no_python(const std::string &what)
{
    throw rkb::unsupported_error("there is no Python here: " + what);
}

} // namespace detail

class object;
class iterator;
class item_accessor;

class object
{
  protected:
    std::shared_ptr<detail::node> node_;

    const rkb_value_t &list_value() const
    {
        if (!rkb::is_sequence(value()))
            throw type_error("a " + rkb::describe_value(value()) + " is no sequence");
        return value();
    }

  public:
    object() = default; /* no object at all, not None */

    static object of_value(const rkb_value_t &v)
    {
        object o = fresh();
        rkb::must(rkb_rt_value_copy(&o.node_->value, &v));
        return o;
    }
    static object fresh()
    {
        object o;
        o.node_ = std::make_shared<detail::node>();
        return o;
    }
    const rkb_value_t &value() const
    {
        static const rkb_value_t none = rkb_value_t();
        return node_ ? node_->value : none;
    }
    rkb_value_t &own() const { return node_->value; }
    bool is_dict() const { return node_ && node_->dict; }

    bool is_none() const { return !is_dict() && rkb::is_none(value()); }
    explicit operator bool() const { return node_ != nullptr; }
    const void *ptr() const { return node_.get(); }
    bool is(const object &other) const
    {
        return node_ == other.node_ || (is_none() && other.is_none());
    }
    template <typename T>
    T cast() const;
    [[noreturn]] RKB_COLD void fail_cast(const char *wanted) const
    {
        throw cast_error("a " + (is_dict() ? "dict" : rkb::describe_value(value())) +
                         " cannot be cast to " + wanted);
    }

    object attr(const std::string &name) const { detail::no_python("attribute '" + name + "'"); }
    template <typename... A>
    object operator()(A &&...) const
    {
        detail::no_python("a call of an object");
    }
    item_accessor operator[](const object &key) const;
    item_accessor operator[](const char *key) const;
    item_accessor operator[](const std::string &key) const;
    item_accessor operator[](size_t i) const;
    item_accessor operator[](int i) const;
    size_t size() const { return is_dict() ? value().count / 2 : list_value().count; }
    bool empty() const { return size() == 0; }
    bool contains(const std::string &key) const { return is_dict() && find_key(key) >= 0; }
    iterator begin() const;
    iterator end() const;

    object item(size_t i) const
    {
        const rkb_value_t &v = list_value();
        if (i >= v.count)
            throw index_error("index " + std::to_string(i) + " is out of range");
        return of_value(rkb_rt_value_item(&v, i));
    }
    int64_t find_key(const std::string &key) const
    {
        for (size_t i = 0; is_dict() && i + 1 < value().count; i += 2)
            if (value().list[i].kind == RKB_VALUE_STRING && key == value().list[i].s)
                return static_cast<int64_t>(i);
        return -1;
    }
    object find(const std::string &key) const
    {
        int64_t at = find_key(key);
        if (at < 0)
            throw key_error("key '" + key + "' was not found");
        return of_value(value().list[at + 1]);
    }
    void grow(const rkb_value_t &v) const
    {
        rkb_value_t &mine = own();
        rkb_value_t copy = rkb_value_t();
        void *list = realloc(mine.list, (mine.count + 1) * sizeof(rkb_value_t));
        if (list == nullptr)
            throw std::bad_alloc();
        mine.list = static_cast<rkb_value_t *>(list);
        rkb::must(rkb_rt_value_copy(&copy, &v));
        mine.list[mine.count++] = copy;
    }
    void set(const std::string &key, const object &to) const
    {
        int64_t at = find_key(key);
        if (at < 0) {
            rkb_value_t name = rkb_value_t();
            name.kind = RKB_VALUE_STRING;
            name.s = const_cast<char *>(key.c_str());
            grow(name);
            grow(to.value());
            return;
        }
        rkb_value_release_into(own().list[at + 1], to.value());
    }
    void set(size_t i, const object &to) const
    {
        if (i >= list_value().count)
            throw index_error("index " + std::to_string(i) + " is out of range");
        rkb_value_release_into(own().list[i], to.value());
    }

  private:
    static void rkb_value_release_into(rkb_value_t &slot, const rkb_value_t &v)
    {
        rkb_value_t copy = rkb_value_t();
        rkb::must(rkb_rt_value_copy(&copy, &v));
        rkb_rt_value_release(&slot);
        slot = copy;
    }
};

using handle = object;

template <typename T>
object cast(T &&value);

/** obj[key]: reads as an object, writes with =. */
class item_accessor
{
    object owner_;
    std::string key_;
    size_t index_ = 0;
    bool named_;

  public:
    item_accessor(object owner, std::string key)
        : owner_(std::move(owner)), key_(std::move(key)), named_(true)
    {
    }
    item_accessor(object owner, size_t index)
        : owner_(std::move(owner)), index_(index), named_(false)
    {
    }
    object get() const { return named_ ? owner_.find(key_) : owner_.item(index_); }
    operator object() const { return get(); }
    template <typename T>
    T cast() const
    {
        return get().cast<T>();
    }
    bool is_none() const { return get().is_none(); }
    object attr(const std::string &name) const { return get().attr(name); }
    item_accessor operator[](const char *key) const { return get()[key]; }
    item_accessor operator[](size_t i) const { return get()[i]; }
    item_accessor operator[](int i) const { return get()[i]; }
    template <typename T>
    item_accessor &operator=(T &&value)
    {
        object o = pybind11::cast(std::forward<T>(value));
        if (named_)
            owner_.set(key_, o);
        else
            owner_.set(index_, o);
        return *this;
    }
};

inline item_accessor object::operator[](const object &key) const
{
    const rkb_value_t &v = key.value();
    if (v.kind == RKB_VALUE_STRING)
        return item_accessor(*this, std::string(v.s));
    return item_accessor(*this, static_cast<size_t>(v.i));
}
inline item_accessor object::operator[](const char *key) const
{
    return item_accessor(*this, std::string(key));
}
inline item_accessor object::operator[](const std::string &key) const
{
    return item_accessor(*this, key);
}
inline item_accessor object::operator[](size_t i) const
{
    return item_accessor(*this, i);
}
inline item_accessor object::operator[](int i) const
{
    size_t n = size();
    return item_accessor(*this, i < 0 ? n - static_cast<size_t>(-i) : static_cast<size_t>(i));
}

/** Walks a sequence; over a dict it yields (key, value) pairs. */
class iterator
{
    object owner_;
    size_t at_;

  public:
    iterator(object owner, size_t at) : owner_(std::move(owner)), at_(at) {}
    struct pair_or_object : object {
        object first, second;
    };
    pair_or_object operator*() const
    {
        pair_or_object r;
        if (owner_.is_dict()) {
            r.first = object::of_value(owner_.value().list[2 * at_]);
            r.second = object::of_value(owner_.value().list[2 * at_ + 1]);
            static_cast<object &>(r) = r.first;
        } else {
            static_cast<object &>(r) = owner_.item(at_);
        }
        return r;
    }
    iterator &operator++()
    {
        at_++;
        return *this;
    }
    bool operator==(const iterator &o) const { return at_ == o.at_; }
    bool operator!=(const iterator &o) const { return at_ != o.at_; }
};

inline iterator object::begin() const
{
    return iterator(*this, 0);
}
inline iterator object::end() const
{
    return iterator(*this, size());
}

class none : public object
{
  public:
    none() : object(fresh()) {}
};

#define RKB_PY_NUMBER(name, cpp, kind_, field)                                                     \
    class name : public object                                                                     \
    {                                                                                              \
      public:                                                                                      \
        name() : name(cpp()) {}                                                                    \
        name(cpp v) : object(fresh())                                                              \
        {                                                                                          \
            own().kind = kind_;                                                                    \
            own().field = v;                                                                       \
        }                                                                                          \
        name(const object &o) : name(o.cast<cpp>()) {}                                             \
        operator cpp() const { return static_cast<cpp>(value().field); }                           \
    };
RKB_PY_NUMBER(int_, int64_t, RKB_VALUE_INT, i)
RKB_PY_NUMBER(float_, double, RKB_VALUE_DOUBLE, d)
RKB_PY_NUMBER(bool_, bool, RKB_VALUE_BOOL, i)
#undef RKB_PY_NUMBER

class str : public object
{
  public:
    str(const std::string &text = std::string()) : object(fresh())
    {
        rkb::put_string(own(), text.data(), text.size());
    }
    str(const char *text) : str(std::string(text)) {}
    str(const object &o) : str(o.cast<std::string>()) {}
    operator std::string() const { return value().s; }
};
using bytes = str;

class sequence : public object
{
  public:
    sequence() : object(fresh()) { rkb::must(rkb_rt_value_list(&own(), 0)); }
    sequence(const object &o) : object(o) { (void)list_value(); }
};
class list : public sequence
{
  public:
    list() = default;
    explicit list(size_t n) { rkb::must(rkb_rt_value_list(&own(), n)); }
    list(const object &o) : sequence(o) {}
    template <typename T>
    void append(T &&v)
    {
        grow(pybind11::cast(std::forward<T>(v)).value());
    }
};
class tuple : public sequence
{
  public:
    tuple() = default;
    explicit tuple(size_t n) { rkb::must(rkb_rt_value_list(&own(), n)); }
    tuple(const object &o) : sequence(o) {}
};
class dict : public object
{
  public:
    dict() : object(fresh())
    {
        rkb::must(rkb_rt_value_list(&own(), 0));
        node_->dict = true;
    }
    dict(const object &o) : object(o)
    {
        if (!is_dict())
            throw type_error("a " + rkb::describe_value(value()) + " is no dict");
    }
};
/** The remaining positional arguments. */
class args : public tuple
{
    using tuple::tuple;
};
/** Always empty: keywords do not cross the ABI. */
class kwargs : public dict
{
};

template <typename... A>
tuple make_tuple(A &&...values)
{
    list all;
    (all.append(std::forward<A>(values)), ...);
    return tuple(static_cast<const object &>(all));
}

inline bool hasattr(const object &, const char *)
{
    return false;
}
inline object getattr(const object &o, const char *name)
{
    return o.attr(name);
}
template <typename D>
object getattr(const object &, const char *, D &&fallback)
{
    return pybind11::cast(std::forward<D>(fallback));
}
inline size_t len(const object &o)
{
    return o.size();
}
template <typename... A>
void print(A &&...)
{
}

} // namespace pybind11
