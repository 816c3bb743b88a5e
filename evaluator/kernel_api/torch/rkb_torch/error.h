/**
 * @file error.h
 * Exceptions, the text of their messages, and the checking macros. A candidate's exception ends the
 * call as `exception` with what() as its text.
 */
#pragma once

#include "rkb_torch/macros.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <iosfwd>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace c10 {

template <typename T>
class ArrayRef;

using string_view = std::string_view;

struct SourceLocation {
    const char *function;
    const char *file;
    uint32_t line;
};

class Error : public std::exception
{
    std::string text_;

  public:
    explicit Error(std::string text) : text_(std::move(text)) {}
    Error(SourceLocation, std::string text) : text_(std::move(text)) {}
    Error(std::string text, std::string) : text_(std::move(text)) {}
    const char *what() const noexcept override { return text_.c_str(); }
    const std::string &msg() const { return text_; }
    const char *what_without_backtrace() const noexcept { return text_.c_str(); }
};

class IndexError : public Error
{
    using Error::Error;
};
class ValueError : public Error
{
    using Error::Error;
};
class TypeError : public Error
{
    using Error::Error;
};
class NotImplementedError : public Error
{
    using Error::Error;
};

} // namespace c10

namespace rkb {

/** What this runtime or device lacks: ends the call as `unsupported`, not as wrong. */
class unsupported_error : public c10::Error
{
    using c10::Error::Error;
};

[[noreturn]] RKB_COLD inline void fail_with(const std::string &text)
{
    throw c10::Error(text);
}

[[noreturn]] RKB_COLD inline void fail_index(int64_t index, int64_t size)
{
    throw c10::IndexError("index " + std::to_string(index) + " is out of range for size " +
                          std::to_string(size));
}

} // namespace rkb

namespace c10 {

/*
 * Text of one message part. Common types avoid the stream; anything else that has << uses it. Types
 * of c10, at and caffe2 bring their own overload, found by argument-dependent lookup.
 */
inline void rkb_append(std::string &out, const char *text)
{
    out += text;
}
inline void rkb_append(std::string &out, const std::string &text)
{
    out += text;
}
inline void rkb_append(std::string &out, bool value)
{
    out += value ? '1' : '0';
}
inline void rkb_append(std::string &out, char value)
{
    out += value;
}

RKB_COLD inline void rkb_append_double(std::string &out, double value)
{
    char text[40];
    snprintf(text, sizeof(text), "%g", value);
    out += text;
}

template <typename T>
RKB_COLD void rkb_append_streamed(std::string &out, const T &value)
{
    std::ostringstream stream;
    stream << value;
    out += stream.str();
}

template <typename T>
typename std::enable_if<std::is_integral<T>::value>::type rkb_append(std::string &out, T value)
{
    out += std::to_string(value);
}
template <typename T>
typename std::enable_if<std::is_floating_point<T>::value>::type rkb_append(std::string &out,
                                                                           T value)
{
    rkb_append_double(out, static_cast<double>(value));
}
template <typename T>
typename std::enable_if<!std::is_arithmetic<T>::value &&
                        !std::is_convertible<T, const char *>::value>::type
rkb_append(std::string &out, const T &value)
{
    rkb_append_streamed(out, value);
}
template <typename T>
void rkb_append(std::string &out, const c10::ArrayRef<T> &list)
{
    out += '[';
    bool first = true;
    for (const T &each : list) {
        if (!first)
            out += ", ";
        first = false;
        rkb_append(out, each);
    }
    out += ']';
}

} // namespace c10

namespace rkb {

/** Says what failed; an empty user message is replaced by the condition. */
[[noreturn]] RKB_COLD inline void check_failed(const char *condition, const char *file, int line,
                                               const std::string &text)
{
    if (!text.empty())
        throw c10::Error(text);
    throw c10::Error(std::string("check failed: ") + condition + " (" + file + ":" +
                     std::to_string(line) + ")");
}

RKB_COLD inline void warn(const char *file, int line, const std::string &text)
{
    fprintf(stderr, "warning: %s:%d: %s\n", file, line, text.c_str());
}

/** Collects what is streamed into a failed comparison and throws at the end of the statement. */
class check_stream
{
    std::string text_;

  public:
    RKB_COLD explicit check_stream(const char *what) : text_(what) {}
    template <typename T>
    check_stream &operator<<(const T &value)
    {
        using c10::rkb_append;
        rkb_append(text_, value);
        return *this;
    }
    RKB_COLD ~check_stream() noexcept(false) { throw c10::Error(text_); }
};

} // namespace rkb

namespace c10 {

inline std::string str()
{
    return std::string();
}
inline std::string str(const char *text)
{
    return text;
}
inline std::string str(const std::string &text)
{
    return text;
}
template <typename... A>
RKB_COLD std::string str(const A &...args)
{
    std::string out;
    (rkb_append(out, args), ...);
    return out;
}

} // namespace c10

#define TORCH_CHECK(cond, ...)                                                                     \
    do {                                                                                           \
        if (C10_UNLIKELY(!(cond)))                                                                 \
            ::rkb::check_failed(#cond, __FILE__, __LINE__, ::c10::str(__VA_ARGS__));               \
    } while (0)
#define TORCH_CHECK_WITH(error, cond, ...)                                                         \
    do {                                                                                           \
        if (C10_UNLIKELY(!(cond)))                                                                 \
            throw ::c10::error(::c10::str(__VA_ARGS__));                                           \
    } while (0)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK_WITH(IndexError, cond, __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK_WITH(ValueError, cond, __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK_WITH(TypeError, cond, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...)                                                     \
    TORCH_CHECK_WITH(NotImplementedError, cond, __VA_ARGS__)
#define TORCH_CHECK_ARG(cond, argN, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_ASSERT(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_CHECK(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_ERROR(...) ::rkb::fail_with(::c10::str(__VA_ARGS__))
#define TORCH_CHECK_OP(a, b, op)                                                                   \
    for (bool rkb_check_ = static_cast<bool>((a)op(b)); C10_UNLIKELY(!rkb_check_);                 \
         rkb_check_ = true)                                                                        \
    ::rkb::check_stream("check failed: " #a " " #op " " #b " ")
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK_OP(a, b, ==)
#define TORCH_CHECK_NE(a, b) TORCH_CHECK_OP(a, b, !=)
#define TORCH_CHECK_LT(a, b) TORCH_CHECK_OP(a, b, <)
#define TORCH_CHECK_LE(a, b) TORCH_CHECK_OP(a, b, <=)
#define TORCH_CHECK_GT(a, b) TORCH_CHECK_OP(a, b, >)
#define TORCH_CHECK_GE(a, b) TORCH_CHECK_OP(a, b, >=)
#define TORCH_WARN(...) ::rkb::warn(__FILE__, __LINE__, ::c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...)                                                                       \
    do {                                                                                           \
        static bool rkb_warned_ = false;                                                           \
        if (!rkb_warned_)                                                                          \
            TORCH_WARN(__VA_ARGS__);                                                               \
        rkb_warned_ = true;                                                                        \
    } while (0)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
#define C10_THROW_ERROR(error, ...) throw ::c10::error(::c10::str(__VA_ARGS__))
