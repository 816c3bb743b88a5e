/**
 * @file model.h
 * The CUDA execution model on a CPU: the launch, barrier and warp half of rkb_abi.h, as the cell's
 * main program sees it. One thread of the process.
 *
 * Blocks run one after another. The threads of a block are fibers, but lazily: each begins as a
 * plain call on the stack that is running; only when it has to wait does the next one get another
 * stack. A kernel without barriers runs as loops.
 */
#ifndef RKB_DEVICE_CPU_MODEL_H
#define RKB_DEVICE_CPU_MODEL_H

#include "evaluator/cell/protocol.h"

#include <stdint.h>

/** Exit code of the process after rkb_rt_trap(), rkb_rt_unsupported() and a deadlock. */
enum { RKB_CPU_MODEL_EXIT = 97 };

/** Where phase, kernel, block and thread are told from now on. NULL: to nobody. */
void rkb_cpu_model_set_status(rkb_cell_status_t *status);
/**
 * Starts a call of the candidate: forgets errors and counts. poison: 32-bit pattern that
 * block-shared memory holds at the start of each block. seed: reserved for the order of blocks.
 */
void rkb_cpu_model_begin(uint32_t poison, uint64_t seed);

typedef struct {
    int error;                  /* of the first launch that failed, cudaError_t; 0: none did */
    char kernel[RKB_CELL_NAME]; /* that it belongs to */
    uint32_t launches;          /* accepted ones */
} rkb_cpu_model_report_t;

/** What happened since rkb_cpu_model_begin(), whether or not the candidate looked at its errors. */
rkb_cpu_model_report_t rkb_cpu_model_report(void);

#endif
