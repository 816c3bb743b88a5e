/**
 * @file dispatch.h
 * AT_DISPATCH_*: runs a lambda with `scalar_t` set to the C++ type of a tensor's elements. The type
 * is given as a ScalarType, a TypeMeta or by Tensor::type(). Complex types do not exist here; the
 * macros that name them dispatch over the rest.
 */
#pragma once

#include "rkb_torch/tensor.h"

namespace rkb {

inline c10::ScalarType dispatch_type(c10::ScalarType type)
{
    return type;
}
inline c10::ScalarType dispatch_type(caffe2::TypeMeta type)
{
    return type.toScalarType();
}
inline c10::ScalarType dispatch_type(const at::DeprecatedTypeProperties &type)
{
    return type.scalarType();
}

[[noreturn]] RKB_COLD inline void dispatch_failed(const char *name, c10::ScalarType type)
{
    fail_with(std::string("\"") + name + "\" not implemented for '" + c10::toString(type) + "'");
}
[[noreturn]] RKB_COLD inline void dispatch_failed(const std::string &name, c10::ScalarType type)
{
    dispatch_failed(name.c_str(), type);
}

} // namespace rkb

namespace at {
namespace detail {
inline ScalarType scalar_type(ScalarType type)
{
    return type;
}
inline ScalarType scalar_type(const DeprecatedTypeProperties &type)
{
    return type.scalarType();
}
} // namespace detail
} // namespace at

#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, HINT, ...)                                      \
    case enum_type: {                                                                              \
        using HINT C10_UNUSED = ::c10::impl::ScalarTypeToCPPTypeT<enum_type>;                      \
        return __VA_ARGS__();                                                                      \
    }
#define AT_PRIVATE_CASE_TYPE(NAME, enum_type, ...)                                                 \
    AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                        \
    [&] {                                                                                          \
        const auto &the_type C10_UNUSED = TYPE;                                                    \
        const ::c10::ScalarType _st C10_UNUSED = ::rkb::dispatch_type(the_type);                   \
        switch (_st) {                                                                             \
            __VA_ARGS__                                                                            \
        default:                                                                                   \
            ::rkb::dispatch_failed(NAME, _st);                                                     \
        }                                                                                          \
    }()
#define AT_DISPATCH_CASE(enum_type, ...)                                                           \
    AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_CASE_TMPL(CASE, enum_type, ...) CASE(enum_type, __VA_ARGS__)

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                                                       \
    AT_DISPATCH_CASE(::c10::ScalarType::Double, __VA_ARGS__)                                       \
    AT_DISPATCH_CASE(::c10::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)                                               \
    AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__)                                         \
    AT_DISPATCH_CASE(::c10::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                                                       \
    AT_DISPATCH_CASE(::c10::ScalarType::Byte, __VA_ARGS__)                                         \
    AT_DISPATCH_CASE(::c10::ScalarType::Char, __VA_ARGS__)                                         \
    AT_DISPATCH_CASE(::c10::ScalarType::Int, __VA_ARGS__)                                          \
    AT_DISPATCH_CASE(::c10::ScalarType::Long, __VA_ARGS__)                                         \
    AT_DISPATCH_CASE(::c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)                                                            \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__)                                                   \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

/* Case lists with one to four more types. */
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...)                                              \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)                                                   \
    AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(T1, ...)                                               \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(T1, T2, ...)                                          \
    AT_DISPATCH_CASE_FLOATING_TYPES_AND(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(T1, T2, T3, ...)                                      \
    AT_DISPATCH_CASE_FLOATING_TYPES_AND2(T1, T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(T1, T2, T3, T4, ...)                                  \
    AT_DISPATCH_CASE_FLOATING_TYPES_AND3(T1, T2, T3, __VA_ARGS__) AT_DISPATCH_CASE(T4, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(T1, ...)                                               \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(T1, ...)                                                    \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(T1, T2, ...)                                               \
    AT_DISPATCH_CASE_ALL_TYPES_AND(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(T1, T2, T3, ...)                                           \
    AT_DISPATCH_CASE_ALL_TYPES_AND2(T1, T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND4(T1, T2, T3, T4, ...)                                       \
    AT_DISPATCH_CASE_ALL_TYPES_AND3(T1, T2, T3, __VA_ARGS__) AT_DISPATCH_CASE(T4, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...)                                                \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...)                                       \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...)                                        \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(T1, TYPE, NAME, ...)                                        \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(T1, T2, TYPE, NAME, ...)                                   \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(T1, T2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...)                               \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND3(T1, T2, T3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(T1, T2, T3, T4, TYPE, NAME, ...)                           \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                                 \
                       AT_DISPATCH_CASE_FLOATING_TYPES_AND4(T1, T2, T3, T4, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...)                                                \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(T1, TYPE, NAME, ...)                                        \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...)                                                     \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...)                                            \
    AT_DISPATCH_ALL_TYPES_AND(::c10::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(T1, TYPE, NAME, ...)                                             \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(T1, T2, TYPE, NAME, ...)                                        \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND2(T1, T2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...)                                    \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND3(T1, T2, T3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND4(T1, T2, T3, T4, TYPE, NAME, ...)                                \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND4(T1, T2, T3, T4, __VA_ARGS__))

#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES AT_DISPATCH_FLOATING_TYPES
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1 AT_DISPATCH_FLOATING_TYPES_AND
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2 AT_DISPATCH_FLOATING_TYPES_AND2
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3 AT_DISPATCH_FLOATING_TYPES_AND3
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX AT_DISPATCH_ALL_TYPES
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND AT_DISPATCH_ALL_TYPES_AND
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2 AT_DISPATCH_ALL_TYPES_AND2
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3 AT_DISPATCH_ALL_TYPES_AND3
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4 AT_DISPATCH_ALL_TYPES_AND4

#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                   \
    AT_DISPATCH_SWITCH(                                                                            \
        TYPE, NAME,                                                                                \
        AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Int, index_t, __VA_ARGS__)              \
            AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Long, index_t, __VA_ARGS__))

namespace at {

/* The type that sums of T are kept in: float for 16-bit types; for float, double on the host only.
 */
template <typename T, bool is_cuda>
struct AccumulateType {
    using type = typename std::conditional<
        std::is_same<T, bool>::value, bool,
        typename std::conditional<std::is_integral<T>::value, int64_t, double>::type>::type;
};
template <>
struct AccumulateType<c10::Half, true> {
    using type = float;
};
template <>
struct AccumulateType<c10::BFloat16, true> {
    using type = float;
};
template <>
struct AccumulateType<float, true> {
    using type = float;
};
template <>
struct AccumulateType<c10::Half, false> {
    using type = float;
};
template <>
struct AccumulateType<c10::BFloat16, false> {
    using type = float;
};
template <typename T, bool is_cuda>
using acc_type = typename AccumulateType<T, is_cuda>::type;

template <typename T>
struct OpMathType {
    using type = T;
};
template <>
struct OpMathType<c10::Half> {
    using type = float;
};
template <>
struct OpMathType<c10::BFloat16> {
    using type = float;
};
template <typename T>
using opmath_type = typename OpMathType<T>::type;

} // namespace at
