/**
 * @file scalar_type.h
 * Element types: the enum with torch's numbers, its constants, and the maps to and from C++ types.
 * Types that the runtime does not know (complex, quantised, 8-bit floats) exist as names only:
 * a tensor of such a type cannot be made.
 */
#pragma once

#include "rkb_abi.h"
#include "rkb_torch/error.h"
#include "rkb_torch/half.h"

namespace c10 {

/* X(name, number) */
#define RKB_SCALAR_TYPES(X)                                                                        \
    X(Byte, 0)                                                                                     \
    X(Char, 1)                                                                                     \
    X(Short, 2)                                                                                    \
    X(Int, 3)                                                                                      \
    X(Long, 4)                                                                                     \
    X(Half, 5)                                                                                     \
    X(Float, 6)                                                                                    \
    X(Double, 7)                                                                                   \
    X(ComplexHalf, 8)                                                                              \
    X(ComplexFloat, 9)                                                                             \
    X(ComplexDouble, 10)                                                                           \
    X(Bool, 11)                                                                                    \
    X(QInt8, 12)                                                                                   \
    X(QUInt8, 13)                                                                                  \
    X(QInt32, 14)                                                                                  \
    X(BFloat16, 15)                                                                                \
    X(Float8_e5m2, 23)                                                                             \
    X(Float8_e4m3fn, 24)                                                                           \
    X(UInt16, 27)                                                                                  \
    X(UInt32, 28)                                                                                  \
    X(UInt64, 29)

enum class ScalarType : int8_t {
#define RKB_ENUMERATOR(name, number) name = number,
    RKB_SCALAR_TYPES(RKB_ENUMERATOR)
#undef RKB_ENUMERATOR
        Undefined = 45,
    NumOptions
};

#define RKB_CONSTANT(name, number) constexpr ScalarType k##name = ScalarType::name;
RKB_SCALAR_TYPES(RKB_CONSTANT)
#undef RKB_CONSTANT

constexpr ScalarType kUInt8 = ScalarType::Byte;
constexpr ScalarType kInt8 = ScalarType::Char;
constexpr ScalarType kInt16 = ScalarType::Short;
constexpr ScalarType kInt32 = ScalarType::Int;
constexpr ScalarType kInt64 = ScalarType::Long;
constexpr ScalarType kFloat16 = ScalarType::Half;
constexpr ScalarType kFloat32 = ScalarType::Float;
constexpr ScalarType kFloat64 = ScalarType::Double;

inline const char *toString(ScalarType type)
{
    switch (type) {
#define RKB_NAME(name, number)                                                                     \
    case ScalarType::name:                                                                         \
        return #name;
        RKB_SCALAR_TYPES(RKB_NAME)
#undef RKB_NAME
    default:
        return "Undefined";
    }
}

inline size_t elementSize(ScalarType type)
{
    return rkb_rt_dtype_size(static_cast<int32_t>(type));
}

constexpr bool isReducedFloatingType(ScalarType t)
{
    return t == ScalarType::Half || t == ScalarType::BFloat16;
}
constexpr bool isFloatingType(ScalarType t)
{
    return t == ScalarType::Float || t == ScalarType::Double || isReducedFloatingType(t);
}
constexpr bool isComplexType(ScalarType t)
{
    return t == ScalarType::ComplexHalf || t == ScalarType::ComplexFloat ||
           t == ScalarType::ComplexDouble;
}
constexpr bool isIntegralType(ScalarType t, bool include_bool = false)
{
    return t == ScalarType::Byte || t == ScalarType::Char || t == ScalarType::Short ||
           t == ScalarType::Int || t == ScalarType::Long || (include_bool && t == ScalarType::Bool);
}
constexpr bool isSignedType(ScalarType t)
{
    return t != ScalarType::Byte && t != ScalarType::Bool;
}

/** float → Float, …; no `value` for a type that is no element type. */
template <typename T>
struct CppTypeToScalarType {
};
#define RKB_CPP_TYPE(type, name)                                                                   \
    template <>                                                                                    \
    struct CppTypeToScalarType<type> : std::integral_constant<ScalarType, ScalarType::name> {      \
    };
RKB_CPP_TYPE(uint8_t, Byte)
RKB_CPP_TYPE(int8_t, Char)
RKB_CPP_TYPE(char, Char)
RKB_CPP_TYPE(int16_t, Short)
RKB_CPP_TYPE(int, Int)
RKB_CPP_TYPE(long, Long)
RKB_CPP_TYPE(long long, Long)
RKB_CPP_TYPE(uint16_t, UInt16)
RKB_CPP_TYPE(uint32_t, UInt32)
RKB_CPP_TYPE(unsigned long, UInt64)
RKB_CPP_TYPE(unsigned long long, UInt64)
RKB_CPP_TYPE(Half, Half)
RKB_CPP_TYPE(__half, Half)
RKB_CPP_TYPE(float, Float)
RKB_CPP_TYPE(double, Double)
RKB_CPP_TYPE(bool, Bool)
RKB_CPP_TYPE(BFloat16, BFloat16)
RKB_CPP_TYPE(__nv_bfloat16, BFloat16)
#undef RKB_CPP_TYPE

namespace impl {
template <ScalarType N>
struct ScalarTypeToCPPType {
};
#define RKB_TYPE_CPP(name, cpp)                                                                    \
    template <>                                                                                    \
    struct ScalarTypeToCPPType<ScalarType::name> {                                                 \
        using type = cpp;                                                                          \
    };
RKB_TYPE_CPP(Byte, uint8_t)
RKB_TYPE_CPP(Char, int8_t)
RKB_TYPE_CPP(Short, int16_t)
RKB_TYPE_CPP(Int, int)
RKB_TYPE_CPP(Long, int64_t)
RKB_TYPE_CPP(Half, c10::Half)
RKB_TYPE_CPP(Float, float)
RKB_TYPE_CPP(Double, double)
RKB_TYPE_CPP(Bool, bool)
RKB_TYPE_CPP(BFloat16, c10::BFloat16)
RKB_TYPE_CPP(UInt16, uint16_t)
RKB_TYPE_CPP(UInt32, uint32_t)
RKB_TYPE_CPP(UInt64, uint64_t)
#undef RKB_TYPE_CPP
template <ScalarType N>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
} // namespace impl

/** The type of a result of both types, as torch's promotion table has it. */
inline ScalarType promoteTypes(ScalarType a, ScalarType b)
{
    auto rank = [](ScalarType t) {
        switch (t) {
        case ScalarType::Bool:
            return 0;
        case ScalarType::Byte:
        case ScalarType::Char:
            return 1;
        case ScalarType::Short:
            return 2;
        case ScalarType::Int:
            return 3;
        case ScalarType::Long:
            return 4;
        case ScalarType::Half:
        case ScalarType::BFloat16:
            return 5;
        case ScalarType::Float:
            return 6;
        default:
            return 7;
        }
    };
    if (a == b)
        return a;
    if (rank(a) == 5 && rank(b) == 5)
        return ScalarType::Float;
    if (rank(a) == 1 && rank(b) == 1)
        return ScalarType::Short;
    return rank(a) > rank(b) ? a : b;
}

template <typename Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, ScalarType type)
{
    return out << toString(type);
}

} // namespace c10

namespace c10 {

inline void rkb_append(std::string &out, c10::ScalarType type)
{
    out += c10::toString(type);
}

} // namespace c10

namespace caffe2 {

/** What Tensor::dtype() returns: a ScalarType that also compares with one. */
class TypeMeta
{
    c10::ScalarType type_ = c10::ScalarType::Undefined;

  public:
    TypeMeta() = default;
    TypeMeta(c10::ScalarType type) : type_(type) {}
    template <typename T>
    static TypeMeta Make()
    {
        return TypeMeta(c10::CppTypeToScalarType<T>::value);
    }
    static TypeMeta fromScalarType(c10::ScalarType type) { return TypeMeta(type); }
    c10::ScalarType toScalarType() const { return type_; }
    size_t itemsize() const { return c10::elementSize(type_); }
    std::string_view name() const { return c10::toString(type_); }
    template <typename T>
    bool Match() const
    {
        return type_ == c10::CppTypeToScalarType<T>::value;
    }
};

#define RKB_META_COMPARE(op)                                                                       \
    inline bool operator op(TypeMeta a, TypeMeta b)                                                \
    {                                                                                              \
        return a.toScalarType() op b.toScalarType();                                               \
    }                                                                                              \
    inline bool operator op(TypeMeta a, c10::ScalarType b)                                         \
    {                                                                                              \
        return a.toScalarType() op b;                                                              \
    }                                                                                              \
    inline bool operator op(c10::ScalarType a, TypeMeta b)                                         \
    {                                                                                              \
        return a op b.toScalarType();                                                              \
    }
RKB_META_COMPARE(==)
RKB_META_COMPARE(!=)
#undef RKB_META_COMPARE

template <typename Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, TypeMeta type)
{
    return out << c10::toString(type.toScalarType());
}

} // namespace caffe2

namespace caffe2 {

inline void rkb_append(std::string &out, caffe2::TypeMeta type)
{
    out += c10::toString(type.toScalarType());
}

} // namespace caffe2

namespace c10 {

using caffe2::TypeMeta;

inline ScalarType typeMetaToScalarType(TypeMeta meta)
{
    return meta.toScalarType();
}
inline TypeMeta scalarTypeToTypeMeta(ScalarType type)
{
    return TypeMeta(type);
}
inline bool isFloatingType(TypeMeta meta)
{
    return isFloatingType(meta.toScalarType());
}

} // namespace c10
