/**
 * @file rkb_atomic.h
 * Atomic operations. The threads of a grid run one at a time and are not interrupted, so plain
 * loads and stores are atomic.
 */
#ifndef RKB_CUDA_ATOMIC_H
#define RKB_CUDA_ATOMIC_H

#include "host_defines.h"

#define RKB_ATOMIC(_name, _type, _expression)                                                      \
    inline _type _name(_type *address, _type value)                                                \
    {                                                                                              \
        _type old = *address;                                                                      \
        *address = _expression;                                                                    \
        return old;                                                                                \
    }                                                                                              \
    inline _type _name##_block(_type *address, _type value)                                        \
    {                                                                                              \
        return _name(address, value);                                                              \
    }                                                                                              \
    inline _type _name##_system(_type *address, _type value)                                       \
    {                                                                                              \
        return _name(address, value);                                                              \
    }
#define RKB_ATOMIC_INTEGERS(_name, _expression)                                                    \
    RKB_ATOMIC(_name, int, _expression)                                                            \
    RKB_ATOMIC(_name, unsigned, _expression)                                                       \
    RKB_ATOMIC(_name, unsigned long long, _expression)
#define RKB_ATOMIC_COMPARE(_type)                                                                  \
    inline _type atomicCAS(_type *address, _type expected, _type desired)                          \
    {                                                                                              \
        _type old = *address;                                                                      \
        if (old == expected)                                                                       \
            *address = desired;                                                                    \
        return old;                                                                                \
    }                                                                                              \
    inline _type atomicCAS_block(_type *address, _type expected, _type desired)                    \
    {                                                                                              \
        return atomicCAS(address, expected, desired);                                              \
    }                                                                                              \
    inline _type atomicCAS_system(_type *address, _type expected, _type desired)                   \
    {                                                                                              \
        return atomicCAS(address, expected, desired);                                              \
    }

RKB_ATOMIC_INTEGERS(atomicAdd, old + value)
RKB_ATOMIC(atomicAdd, float, old + value)
RKB_ATOMIC(atomicAdd, double, old + value)
RKB_ATOMIC(atomicSub, int, old - value)
RKB_ATOMIC(atomicSub, unsigned, old - value)
RKB_ATOMIC_INTEGERS(atomicExch, value)
RKB_ATOMIC(atomicExch, float, value)
RKB_ATOMIC_INTEGERS(atomicMin, value < old ? value : old)
RKB_ATOMIC(atomicMin, long long, value < old ? value : old)
RKB_ATOMIC_INTEGERS(atomicMax, value > old ? value : old)
RKB_ATOMIC(atomicMax, long long, value > old ? value : old)
RKB_ATOMIC_INTEGERS(atomicAnd, old &value)
RKB_ATOMIC_INTEGERS(atomicOr, old | value)
RKB_ATOMIC_INTEGERS(atomicXor, old ^ value)
RKB_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
RKB_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
RKB_ATOMIC_COMPARE(int)
RKB_ATOMIC_COMPARE(unsigned)
RKB_ATOMIC_COMPARE(unsigned short)
RKB_ATOMIC_COMPARE(unsigned long long)

#endif
