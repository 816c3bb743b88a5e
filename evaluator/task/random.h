/**
 * @file random.h
 * Numbers of a stream by index. Only integer operations and IEEE + - * / sqrt enter, so the bits
 * are the same on every machine (compiled without contraction of a*b+c).
 */
#ifndef RKB_TASK_RANDOM_H
#define RKB_TASK_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/** 128 bits that name a stream; different names give independent streams. */
typedef struct {
    uint64_t key, high;
} rkb_stream_t;

/** 64 random bits for each of `count` elements from number `first`, which is even, on. */
void rkb_stream_fill(const rkb_stream_t *stream, uint64_t first, size_t count, uint64_t *out);

/** (0, 1), never an end: the middle of one of 2^52 equal parts. */
double rkb_bits_to_unit(uint64_t bits);
/** Inverse of the standard normal distribution function; 0 < p < 1. Relative error about 1e-15. */
double rkb_normal_quantile(double p);
/** Natural logarithm of a positive normal number. */
double rkb_portable_log(double x);
/** 0 to range-1; range of at least 1. */
uint64_t rkb_bits_below(uint64_t bits, uint64_t range);

/** Nearest even, as the hardware rounds; an overflow gives infinity. Bits of the result. */
uint16_t rkb_double_to_f16(double x);
uint16_t rkb_double_to_bf16(double x);

#endif
