/*
 * The functions of one 16-bit floating type and its pair, included once for each type by
 * cuda_fp16.h and cuda_bf16.h with these macros:
 * RKB_N  its name inside function names (half, bfloat16)
 * RKB_S  the type, RKB_V the pair, RKB_MAX its largest finite value's bits
 * Arithmetic is done in float and rounded once, which is exact rounding for + - * / and sqrt.
 */
#define RKB_PASTE3_(_a, _b, _c) _a##_b##_c
#define RKB_PASTE3(_a, _b, _c) RKB_PASTE3_(_a, _b, _c)
#define RKB_PASTE5_(_a, _b, _c, _d, _e) _a##_b##_c##_d##_e
#define RKB_PASTE5(_a, _b, _c, _d, _e) RKB_PASTE5_(_a, _b, _c, _d, _e)

/* ---- conversions ------------------------------------------------------------------------------
 */

inline float RKB_PASTE3(__, RKB_N, 2float)(RKB_S a)
{
    return a.to_float();
}
inline RKB_S RKB_PASTE3(__float2, RKB_N, )(float a)
{
    return RKB_S(a);
}
inline RKB_S RKB_PASTE3(__float2, RKB_N, _rn)(float a)
{
    return RKB_S(a);
}
inline RKB_S RKB_PASTE3(__double2, RKB_N, )(double a)
{
    return RKB_S(a);
}
/* Directed rounding: one step from the nearest value where that lies on the wrong side. */
inline RKB_S RKB_PASTE3(__float2, RKB_N, _rz)(float a)
{
    RKB_S nearest(a);
    if (a == a && fabsf(nearest.to_float()) > fabsf(a))
        nearest.__x--;
    return nearest;
}
inline RKB_S RKB_PASTE3(__float2, RKB_N, _ru)(float a)
{
    RKB_S nearest(a);
    if (nearest.to_float() < a)
        nearest.__x = static_cast<unsigned short>(nearest.__x == 0x8000  ? 1
                                                  : nearest.__x & 0x8000 ? nearest.__x - 1
                                                                         : nearest.__x + 1);
    return nearest;
}
inline RKB_S RKB_PASTE3(__float2, RKB_N, _rd)(float a)
{
    RKB_S nearest(a);
    if (nearest.to_float() > a)
        nearest.__x = static_cast<unsigned short>(nearest.__x == 0       ? 0x8001
                                                  : nearest.__x & 0x8000 ? nearest.__x + 1
                                                                         : nearest.__x - 1);
    return nearest;
}
#define RKB_HALF_TO_INTEGER(_type, _name)                                                          \
    inline _type RKB_PASTE5(__, RKB_N, 2, _name, _rn)(RKB_S a)                                     \
    {                                                                                              \
        return rkb::to_integer<_type>(nearbyintf(a.to_float()));                                   \
    }                                                                                              \
    inline _type RKB_PASTE5(__, RKB_N, 2, _name, _rz)(RKB_S a)                                     \
    {                                                                                              \
        return rkb::to_integer<_type>(truncf(a.to_float()));                                       \
    }                                                                                              \
    inline _type RKB_PASTE5(__, RKB_N, 2, _name, _ru)(RKB_S a)                                     \
    {                                                                                              \
        return rkb::to_integer<_type>(ceilf(a.to_float()));                                        \
    }                                                                                              \
    inline _type RKB_PASTE5(__, RKB_N, 2, _name, _rd)(RKB_S a)                                     \
    {                                                                                              \
        return rkb::to_integer<_type>(floorf(a.to_float()));                                       \
    }                                                                                              \
    inline RKB_S RKB_PASTE5(__, _name, 2, RKB_N, _rn)(_type a)                                     \
    {                                                                                              \
        return RKB_S(a);                                                                           \
    }
RKB_HALF_TO_INTEGER(int, int)
RKB_HALF_TO_INTEGER(unsigned, uint)
RKB_HALF_TO_INTEGER(short, short)
RKB_HALF_TO_INTEGER(unsigned short, ushort)
RKB_HALF_TO_INTEGER(long long, ll)
RKB_HALF_TO_INTEGER(unsigned long long, ull)
#undef RKB_HALF_TO_INTEGER

inline short RKB_PASTE3(__, RKB_N, _as_short)(RKB_S a)
{
    return static_cast<short>(a.__x);
}
inline unsigned short RKB_PASTE3(__, RKB_N, _as_ushort)(RKB_S a)
{
    return a.__x;
}
inline RKB_S RKB_PASTE3(__short_as_, RKB_N, )(short bits)
{
    return RKB_S::from_bits(static_cast<unsigned short>(bits));
}
inline RKB_S RKB_PASTE3(__ushort_as_, RKB_N, )(unsigned short bits)
{
    return RKB_S::from_bits(bits);
}

inline float2 RKB_PASTE3(__, RKB_N, 22float2)(RKB_V a)
{
    return make_float2(a.x.to_float(), a.y.to_float());
}
inline RKB_V RKB_PASTE3(__float22, RKB_N, 2_rn)(float2 a)
{
    return RKB_V(RKB_S(a.x), RKB_S(a.y));
}
inline RKB_V RKB_PASTE3(__floats2, RKB_N, 2_rn)(float a, float b)
{
    return RKB_V(RKB_S(a), RKB_S(b));
}
inline RKB_V RKB_PASTE3(__float2, RKB_N, 2_rn)(float a)
{
    return RKB_V(RKB_S(a), RKB_S(a));
}
inline RKB_V RKB_PASTE5(__, RKB_N, 2, RKB_N, 2)(RKB_S a)
{
    return RKB_V(a, a);
}
inline RKB_V RKB_PASTE3(__halves2, RKB_N, 2)(RKB_S a, RKB_S b)
{
    return RKB_V(a, b);
}
inline RKB_S RKB_PASTE3(__low2, RKB_N, )(RKB_V a)
{
    return a.x;
}
inline RKB_S RKB_PASTE3(__high2, RKB_N, )(RKB_V a)
{
    return a.y;
}
inline RKB_V RKB_PASTE3(__low2, RKB_N, 2)(RKB_V a)
{
    return RKB_V(a.x, a.x);
}
inline RKB_V RKB_PASTE3(__high2, RKB_N, 2)(RKB_V a)
{
    return RKB_V(a.y, a.y);
}
inline RKB_V RKB_PASTE3(__lows2, RKB_N, 2)(RKB_V a, RKB_V b)
{
    return RKB_V(a.x, b.x);
}
inline RKB_V RKB_PASTE3(__highs2, RKB_N, 2)(RKB_V a, RKB_V b)
{
    return RKB_V(a.y, b.y);
}
inline float __low2float(RKB_V a)
{
    return a.x.to_float();
}
inline float __high2float(RKB_V a)
{
    return a.y.to_float();
}
inline RKB_V __lowhigh2highlow(RKB_V a)
{
    return RKB_V(a.y, a.x);
}

/* ---- arithmetic -------------------------------------------------------------------------------
 */

namespace rkb
{
inline RKB_S saturate(RKB_S a)
{
    return RKB_S(__saturatef(a.to_float()));
}
} // namespace rkb

#define RKB_HALF_BINARY(_name, _v_name, _op)                                                       \
    inline RKB_S _name(RKB_S a, RKB_S b)                                                           \
    {                                                                                              \
        return RKB_S(a.to_float() _op b.to_float());                                               \
    }                                                                                              \
    inline RKB_S _name##_rn(RKB_S a, RKB_S b)                                                      \
    {                                                                                              \
        return _name(a, b);                                                                        \
    }                                                                                              \
    inline RKB_S _name##_sat(RKB_S a, RKB_S b)                                                     \
    {                                                                                              \
        return rkb::saturate(_name(a, b));                                                         \
    }                                                                                              \
    inline RKB_V _v_name(RKB_V a, RKB_V b)                                                         \
    {                                                                                              \
        return RKB_V(_name(a.x, b.x), _name(a.y, b.y));                                            \
    }                                                                                              \
    inline RKB_V _v_name##_rn(RKB_V a, RKB_V b)                                                    \
    {                                                                                              \
        return _v_name(a, b);                                                                      \
    }                                                                                              \
    inline RKB_V _v_name##_sat(RKB_V a, RKB_V b)                                                   \
    {                                                                                              \
        return RKB_V(_name##_sat(a.x, b.x), _name##_sat(a.y, b.y));                                \
    }                                                                                              \
    inline RKB_S operator _op(const RKB_S &a, const RKB_S &b)                                      \
    {                                                                                              \
        return _name(a, b);                                                                        \
    }                                                                                              \
    inline RKB_S &operator _op##=(RKB_S &a, const RKB_S &b)                                        \
    {                                                                                              \
        return a = _name(a, b);                                                                    \
    }                                                                                              \
    inline RKB_V operator _op(const RKB_V &a, const RKB_V &b)                                      \
    {                                                                                              \
        return _v_name(a, b);                                                                      \
    }                                                                                              \
    inline RKB_V &operator _op##=(RKB_V &a, const RKB_V &b)                                        \
    {                                                                                              \
        return a = _v_name(a, b);                                                                  \
    }
RKB_HALF_BINARY(__hadd, __hadd2, +)
RKB_HALF_BINARY(__hsub, __hsub2, -)
RKB_HALF_BINARY(__hmul, __hmul2, *)
RKB_HALF_BINARY(__hdiv, __h2div, /)
#undef RKB_HALF_BINARY

inline RKB_S __hfma(RKB_S a, RKB_S b, RKB_S c)
{
    double exact = fma(static_cast<double>(a.to_float()), static_cast<double>(b.to_float()),
                       static_cast<double>(c.to_float()));
    return RKB_S(rkb_double_to_float_odd(exact));
}
inline RKB_S __hfma_sat(RKB_S a, RKB_S b, RKB_S c)
{
    return rkb::saturate(__hfma(a, b, c));
}
inline RKB_S __hfma_relu(RKB_S a, RKB_S b, RKB_S c)
{
    RKB_S r = __hfma(a, b, c);
    return r.to_float() < 0 ? RKB_S(0.0f) : r;
}
inline RKB_V __hfma2(RKB_V a, RKB_V b, RKB_V c)
{
    return RKB_V(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
inline RKB_V __hfma2_sat(RKB_V a, RKB_V b, RKB_V c)
{
    return RKB_V(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
inline RKB_V __hfma2_relu(RKB_V a, RKB_V b, RKB_V c)
{
    return RKB_V(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
inline RKB_S __hneg(RKB_S a)
{
    return RKB_S::from_bits(static_cast<unsigned short>(a.__x ^ 0x8000));
}
inline RKB_S __habs(RKB_S a)
{
    return RKB_S::from_bits(a.__x & 0x7fff);
}
inline RKB_V __hneg2(RKB_V a)
{
    return RKB_V(__hneg(a.x), __hneg(a.y));
}
inline RKB_V __habs2(RKB_V a)
{
    return RKB_V(__habs(a.x), __habs(a.y));
}
inline RKB_S operator-(const RKB_S &a)
{
    return __hneg(a);
}
inline RKB_S operator+(const RKB_S &a)
{
    return a;
}
inline RKB_V operator-(const RKB_V &a)
{
    return __hneg2(a);
}
inline RKB_S &operator++(RKB_S &a)
{
    return a = a + RKB_S(1.0f);
}
inline RKB_S &operator--(RKB_S &a)
{
    return a = a - RKB_S(1.0f);
}

/* ---- comparison -------------------------------------------------------------------------------
 */

#define RKB_HALF_COMPARE(_name, _op)                                                               \
    inline bool __h##_name(RKB_S a, RKB_S b)                                                       \
    {                                                                                              \
        return a.to_float() _op b.to_float();                                                      \
    }                                                                                              \
    inline bool __h##_name##u(RKB_S a, RKB_S b)                                                    \
    {                                                                                              \
        float x = a.to_float(), y = b.to_float();                                                  \
        return x != x || y != y || x _op y;                                                        \
    }                                                                                              \
    inline RKB_V __h##_name##2(RKB_V a, RKB_V b)                                                   \
    {                                                                                              \
        return RKB_V(RKB_S(__h##_name(a.x, b.x)), RKB_S(__h##_name(a.y, b.y)));                    \
    }                                                                                              \
    inline bool __hb##_name##2(RKB_V a, RKB_V b)                                                   \
    {                                                                                              \
        return __h##_name(a.x, b.x) && __h##_name(a.y, b.y);                                       \
    }                                                                                              \
    inline bool operator _op(const RKB_S &a, const RKB_S &b)                                       \
    {                                                                                              \
        return __h##_name(a, b);                                                                   \
    }                                                                                              \
    inline bool operator _op(const RKB_V &a, const RKB_V &b)                                       \
    {                                                                                              \
        return __hb##_name##2(a, b);                                                               \
    }
RKB_HALF_COMPARE(eq, ==)
RKB_HALF_COMPARE(ne, !=)
RKB_HALF_COMPARE(lt, <)
RKB_HALF_COMPARE(le, <=)
RKB_HALF_COMPARE(gt, >)
RKB_HALF_COMPARE(ge, >=)
#undef RKB_HALF_COMPARE

inline bool __hisnan(RKB_S a)
{
    return a.to_float() != a.to_float();
}
inline int __hisinf(RKB_S a)
{
    float x = a.to_float();
    return isinf(x) ? (x > 0 ? 1 : -1) : 0;
}
inline RKB_V __hisnan2(RKB_V a)
{
    return RKB_V(RKB_S(__hisnan(a.x)), RKB_S(__hisnan(a.y)));
}
inline RKB_S __hmax(RKB_S a, RKB_S b)
{
    return RKB_S(rkb::larger(a.to_float(), b.to_float()));
}
inline RKB_S __hmin(RKB_S a, RKB_S b)
{
    return RKB_S(rkb::smaller(a.to_float(), b.to_float()));
}
inline RKB_S __hmax_nan(RKB_S a, RKB_S b)
{
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);
}
inline RKB_S __hmin_nan(RKB_S a, RKB_S b)
{
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);
}
inline RKB_V __hmax2(RKB_V a, RKB_V b)
{
    return RKB_V(__hmax(a.x, b.x), __hmax(a.y, b.y));
}
inline RKB_V __hmin2(RKB_V a, RKB_V b)
{
    return RKB_V(__hmin(a.x, b.x), __hmin(a.y, b.y));
}

/* ---- functions --------------------------------------------------------------------------------
 */

#define RKB_HALF_FUNCTION(_name, _expression)                                                      \
    inline RKB_S h##_name(RKB_S a)                                                                 \
    {                                                                                              \
        float x = a.to_float();                                                                    \
        return RKB_S(static_cast<float>(_expression));                                             \
    }                                                                                              \
    inline RKB_V h2##_name(RKB_V a)                                                                \
    {                                                                                              \
        return RKB_V(h##_name(a.x), h##_name(a.y));                                                \
    }
RKB_HALF_FUNCTION(exp, expf(x))
RKB_HALF_FUNCTION(exp2, exp2f(x))
RKB_HALF_FUNCTION(exp10, exp10f(x))
RKB_HALF_FUNCTION(log, logf(x))
RKB_HALF_FUNCTION(log2, log2f(x))
RKB_HALF_FUNCTION(log10, log10f(x))
RKB_HALF_FUNCTION(sqrt, sqrtf(x))
RKB_HALF_FUNCTION(rsqrt, rsqrtf(x))
RKB_HALF_FUNCTION(rcp, 1 / x)
RKB_HALF_FUNCTION(sin, sinf(x))
RKB_HALF_FUNCTION(cos, cosf(x))
RKB_HALF_FUNCTION(tanh, tanhf(x))
RKB_HALF_FUNCTION(floor, floorf(x))
RKB_HALF_FUNCTION(ceil, ceilf(x))
RKB_HALF_FUNCTION(trunc, truncf(x))
RKB_HALF_FUNCTION(rint, rintf(x))
#undef RKB_HALF_FUNCTION

inline RKB_S atomicAdd(RKB_S *address, RKB_S value)
{
    RKB_S old = *address;
    *address = __hadd(old, value);
    return old;
}
inline RKB_V atomicAdd(RKB_V *address, RKB_V value)
{
    RKB_V old = *address;
    *address = __hadd2(old, value);
    return old;
}

#undef RKB_PASTE3
#undef RKB_PASTE3_
#undef RKB_PASTE5
#undef RKB_PASTE5_
