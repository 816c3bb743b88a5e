/**
 * @file heap.h
 * The device heap of a cell: first fit inside the range of the arena that was lent for one call.
 *
 * Each allocation is 256-byte aligned and lies between two guard bands of RKB_HEAP_GUARD bytes that
 * belong to it alone. Body and guards are filled with the call's 32-bit pattern, so every byte of
 * [heap offset, heap offset + used) that no record covers still holds the pattern at its 4-byte
 * aligned arena position unless somebody wrote out of bounds; the evaluator checks that afterwards.
 *
 * Freed memory is used again only after body and guards were filled anew, and only if its guards
 * were whole: otherwise the evidence stays. One heap per process; not thread-safe.
 */
#ifndef RKB_CELL_RUNTIME_HEAP_H
#define RKB_CELL_RUNTIME_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RKB_HEAP_ALIGN = 256, RKB_HEAP_GUARD = 1024 };

typedef struct {
    uint64_t offset; /* of the body, from the arena's base; multiple of RKB_HEAP_ALIGN */
    uint64_t bytes;  /* as asked for: [offset, offset + bytes) may be written */
    bool live;       /* false: freed in this call, not used again */
} rkb_heap_alloc_t;

/**
 * Starts a call: the heap is [base + offset, base + offset + bytes), `poison` the pattern (little
 * endian, first byte at offsets divisible by 4). base must be RKB_HEAP_ALIGN aligned. Allocations
 * that are still live and lie in the same range are carried over with their contents and fresh
 * guards (static workspaces of a candidate); in another range they are forgotten.
 */
void rkb_heap_reset(void *base, uint64_t offset, uint64_t bytes, uint32_t poison);

/** NULL when the range has no room. 0 bytes: a unique pointer that must not be written. */
void *rkb_heap_alloc(size_t bytes);
/** 0 on success; -1 when the pointer is not the start of a live allocation. */
int rkb_heap_free(void *pointer);

/** Identifies the calls between two changes of range: a pointer of an older one is dangling. */
uint64_t rkb_heap_generation(void);
/** True if the pointer lies in the present range. */
bool rkb_heap_contains(const void *pointer);
uint32_t rkb_heap_poison(void);
/** High-water mark of this call, in bytes from the heap's start, guards included. */
uint64_t rkb_heap_used(void);

/** Records of this call in address order; valid until the next heap call. */
size_t rkb_heap_records(const rkb_heap_alloc_t **out);

/** Fills [pointer, pointer + bytes) with the pattern; its phase is that of the address. */
void rkb_heap_fill(void *pointer, size_t bytes, uint32_t pattern);

#endif
