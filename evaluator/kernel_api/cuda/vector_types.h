/**
 * @file vector_types.h
 * CUDA's vector types: plain structs with CUDA's sizes and alignments, and dim3.
 */
#ifndef RKB_CUDA_VECTOR_TYPES_H
#define RKB_CUDA_VECTOR_TYPES_H

#include "host_defines.h"
#include "rkb_abi.h"

#define RKB_VECTORS(_name, _type, _a2, _a4)                                                        \
    struct _name##1                                                                                \
    {                                                                                              \
        _type x;                                                                                   \
    };                                                                                             \
    struct __align__(_a2) _name##2                                                                 \
    {                                                                                              \
        _type x, y;                                                                                \
    };                                                                                             \
    struct _name##3                                                                                \
    {                                                                                              \
        _type x, y, z;                                                                             \
    };                                                                                             \
    struct __align__(_a4) _name##4                                                                 \
    {                                                                                              \
        _type x, y, z, w;                                                                          \
    };

RKB_VECTORS(char, signed char, 2, 4)
RKB_VECTORS(uchar, unsigned char, 2, 4)
RKB_VECTORS(short, short, 4, 8)
RKB_VECTORS(ushort, unsigned short, 4, 8)
RKB_VECTORS(int, int, 8, 16)
RKB_VECTORS(long, long, 16, 16)
RKB_VECTORS(ulong, unsigned long, 16, 16)
RKB_VECTORS(longlong, long long, 16, 16)
RKB_VECTORS(ulonglong, unsigned long long, 16, 16)
RKB_VECTORS(float, float, 8, 16)
RKB_VECTORS(double, double, 16, 16)
#undef RKB_VECTORS

struct uint1 {
    unsigned x;
};
struct __align__(8) uint2
{
    unsigned x, y;
};
typedef rkb_dim3_t uint3; /* so that the runtime's built-in variables are CUDA's */
struct __align__(16) uint4
{
    unsigned x, y, z, w;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
    {
    }
    constexpr operator uint3() const
    {
        return uint3{x, y, z};
    }
};

#endif
