/**
 * @file queue.h
 * The items that wait, in order: those that never lost a worker first, then longest expected, then
 * oldest. The same order holds within each candidate and each task, so that the best item of any
 * of them is known at once. All operations are O(log n) or better. Not thread-safe.
 */
#ifndef RKB_DRIVER_QUEUE_H
#define RKB_DRIVER_QUEUE_H

#include "common/error.h"

#include <stdint.h>

#define RKB_QUEUE_NONE UINT32_MAX

typedef struct rkb_queue rkb_queue_t;

rkb_queue_t *rkb_queue_create(void);        /* NULL when memory ran out */
void rkb_queue_destroy(rkb_queue_t *queue); /* NULL allowed */

/**
 * Makes an item known, numbered from 0; it does not wait yet. Memory for it is taken here, so
 * nothing below can fail. A candidate or task of 0 belongs to no group.
 */
rkb_status_t rkb_queue_register(rkb_queue_t *queue, uint64_t candidate, uint64_t task, double cost,
                                uint32_t *item, rkb_error_t *err);
/** Lets a registered item wait; it must not be waiting already. */
void rkb_queue_push(rkb_queue_t *queue, uint32_t item, unsigned losses);
/** Takes out an item that waits. */
void rkb_queue_remove(rkb_queue_t *queue, uint32_t item);

uint32_t rkb_queue_count(const rkb_queue_t *queue);
/** Expected seconds of all that wait. */
double rkb_queue_cost(const rkb_queue_t *queue);
double rkb_queue_item_cost(const rkb_queue_t *queue, uint32_t item);
unsigned rkb_queue_item_losses(const rkb_queue_t *queue, uint32_t item);

/** The best item of all, of the same candidate or of the same task as `like`, or RKB_QUEUE_NONE. */
uint32_t rkb_queue_top(const rkb_queue_t *queue);
uint32_t rkb_queue_top_of_candidate(const rkb_queue_t *queue, uint32_t like);
uint32_t rkb_queue_top_of_task(const rkb_queue_t *queue, uint32_t like);

#endif
