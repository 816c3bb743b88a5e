/**
 * @file philox.h
 * Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC'11, doi:10.1145/2063384.2063405. Multipliers and Weyl constants from there.
 */
#ifndef RKB_TASK_PHILOX_H
#define RKB_TASK_PHILOX_H

#include <stdint.h>

typedef struct {
    uint32_t word[4];
} rkb_philox_block_t;

static inline rkb_philox_block_t rkb_philox4x32_10(rkb_philox_block_t counter, uint32_t key0,
                                                   uint32_t key1)
{
    uint32_t *x = counter.word;
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)UINT32_C(0xD2511F53) * x[0];
        uint64_t product1 = (uint64_t)UINT32_C(0xCD9E8D57) * x[2];
        uint32_t y0 = (uint32_t)(product1 >> 32) ^ x[1] ^ key0;
        uint32_t y2 = (uint32_t)(product0 >> 32) ^ x[3] ^ key1;
        x[1] = (uint32_t)product1;
        x[3] = (uint32_t)product0;
        x[0] = y0;
        x[2] = y2;
        key0 += UINT32_C(0x9E3779B9);
        key1 += UINT32_C(0xBB67AE85);
    }
    return counter;
}

#endif
