/**
 * @file scalar.h
 * c10::Scalar: a number whose type is known at run time.
 */
#pragma once

#include "rkb_torch/scalar_type.h"

namespace c10 {

class Scalar
{
    enum class Kind : int8_t { Int, Double, Bool };
    Kind kind_ = Kind::Int;
    union {
        int64_t i_;
        double d_;
    };

  public:
    Scalar() : i_(0) {}
    Scalar(bool value) : kind_(Kind::Bool), i_(value) {}
    Scalar(double value) : kind_(Kind::Double), d_(value) {}
    Scalar(float value) : kind_(Kind::Double), d_(static_cast<double>(value)) {}
    Scalar(const Half &value) : Scalar(static_cast<float>(value)) {}
    Scalar(const BFloat16 &value) : Scalar(static_cast<float>(value)) {}
    Scalar(int value) : i_(value) {}
    Scalar(long value) : i_(value) {}
    Scalar(long long value) : i_(value) {}
    Scalar(unsigned value) : i_(value) {}
    Scalar(unsigned long value) : i_(static_cast<int64_t>(value)) {}
    Scalar(unsigned char value) : i_(value) {}
    Scalar(signed char value) : i_(value) {}
    Scalar(short value) : i_(value) {}

    bool isFloatingPoint() const { return kind_ == Kind::Double; }
    bool isBoolean() const { return kind_ == Kind::Bool; }
    bool isComplex() const { return false; }
    bool isIntegral(bool include_bool) const
    {
        return kind_ == Kind::Int || (include_bool && kind_ == Kind::Bool);
    }
    ScalarType type() const
    {
        return isFloatingPoint() ? ScalarType::Double
                                 : (isBoolean() ? ScalarType::Bool : ScalarType::Long);
    }
    template <typename T>
    T to() const
    {
        return isFloatingPoint() ? static_cast<T>(d_) : static_cast<T>(i_);
    }
    float toFloat() const { return to<float>(); }
    double toDouble() const { return to<double>(); }
    int toInt() const { return to<int>(); }
    int64_t toLong() const { return to<int64_t>(); }
    bool toBool() const { return to<bool>(); }
    Half toHalf() const { return Half(to<float>()); }
    BFloat16 toBFloat16() const { return BFloat16(to<float>()); }
    Scalar operator-() const { return isFloatingPoint() ? Scalar(-d_) : Scalar(-i_); }
    bool equal(const Scalar &o) const { return toDouble() == o.toDouble(); }
};

template <>
inline Half Scalar::to<Half>() const
{
    return toHalf();
}
template <>
inline BFloat16 Scalar::to<BFloat16>() const
{
    return toBFloat16();
}

} // namespace c10

namespace c10 {

inline void rkb_append(std::string &out, const c10::Scalar &value)
{
    if (value.isFloatingPoint())
        rkb_append_double(out, value.toDouble());
    else
        out += std::to_string(value.toLong());
}

} // namespace c10
