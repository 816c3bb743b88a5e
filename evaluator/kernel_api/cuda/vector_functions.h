/**
 * @file vector_functions.h
 * make_float4() and its kin.
 */
#ifndef RKB_CUDA_VECTOR_FUNCTIONS_H
#define RKB_CUDA_VECTOR_FUNCTIONS_H

#include "vector_types.h"

#define RKB_MAKE(_name, _type)                                                                     \
    constexpr _name##1 make_##_name##1(_type x)                                                    \
    {                                                                                              \
        return _name##1 {x};                                                                       \
    }                                                                                              \
    constexpr _name##2 make_##_name##2(_type x, _type y)                                           \
    {                                                                                              \
        return _name##2 {x, y};                                                                    \
    }                                                                                              \
    constexpr _name##3 make_##_name##3(_type x, _type y, _type z)                                  \
    {                                                                                              \
        return _name##3 {x, y, z};                                                                 \
    }                                                                                              \
    constexpr _name##4 make_##_name##4(_type x, _type y, _type z, _type w)                         \
    {                                                                                              \
        return _name##4 {x, y, z, w};                                                              \
    }

RKB_MAKE(char, signed char)
RKB_MAKE(uchar, unsigned char)
RKB_MAKE(short, short)
RKB_MAKE(ushort, unsigned short)
RKB_MAKE(int, int)
RKB_MAKE(uint, unsigned)
RKB_MAKE(long, long)
RKB_MAKE(ulong, unsigned long)
RKB_MAKE(longlong, long long)
RKB_MAKE(ulonglong, unsigned long long)
RKB_MAKE(float, float)
RKB_MAKE(double, double)
#undef RKB_MAKE

#endif
