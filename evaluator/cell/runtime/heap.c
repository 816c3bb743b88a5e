#include "evaluator/cell/runtime/heap.h"

#include <stdlib.h>
#include <string.h>

typedef enum {
    BLOCK_LIVE,
    BLOCK_FREED,  /* the record stays for the guard check */
    BLOCK_GAP,    /* filled with the pattern, no record */
    BLOCK_DAMAGED /* freed with a broken guard: never used again */
} block_state_t;

/** A stretch of the heap: guard, body rounded up to the alignment, guard. Blocks leave no holes. */
typedef struct {
    uint64_t start, size; /* from the arena's base, guards included */
    uint64_t bytes;       /* of the body, as asked for */
    block_state_t state;
    bool carried; /* from an earlier call */
} block_t;

static struct {
    unsigned char *base;
    uint64_t start, end; /* from base, aligned */
    uint64_t top;        /* end of the last block */
    uint64_t high;
    uint64_t generation;
    uint32_t poison;
    block_t *blocks; /* in address order, covering [start, top) */
    size_t count, capacity;
    rkb_heap_alloc_t *records;
    size_t records_capacity;
} heap;

static uint64_t round_up(uint64_t value)
{
    return (value + RKB_HEAP_ALIGN - 1) / RKB_HEAP_ALIGN * RKB_HEAP_ALIGN;
}

void rkb_heap_fill(void *pointer, size_t bytes, uint32_t pattern)
{
    unsigned char *p = pointer;
    unsigned char lane[4];
    memcpy(lane, &pattern, sizeof(lane));

    while (bytes > 0 && (uintptr_t)p % 4 != 0) {
        *p = lane[(uintptr_t)p % 4];
        p++;
        bytes--;
    }
    for (size_t i = 0; i < bytes / 4; i++)
        memcpy(p + 4 * i, &pattern, sizeof(pattern));
    p += bytes / 4 * 4;
    for (size_t i = 0; i < bytes % 4; i++)
        p[i] = lane[i];
}

static bool is_poison(const unsigned char *p, const unsigned char *end)
{
    unsigned char lane[4];
    memcpy(lane, &heap.poison, sizeof(lane));
    for (; p < end && (uintptr_t)p % 4 != 0; p++)
        if (*p != lane[(uintptr_t)p % 4])
            return false;
    for (; p < end; p += 4) /* blocks end at a multiple of 4 */
        if (memcmp(p, lane, 4) != 0)
            return false;
    return true;
}

/** All of a block but its body. */
static bool guards_whole(const block_t *block)
{
    const unsigned char *start = heap.base + block->start;
    const unsigned char *body = start + RKB_HEAP_GUARD;
    return is_poison(start, body) && is_poison(body + block->bytes, start + block->size);
}

static void fill_guards(const block_t *block)
{
    unsigned char *start = heap.base + block->start;
    unsigned char *body_end = start + RKB_HEAP_GUARD + block->bytes;
    rkb_heap_fill(start, RKB_HEAP_GUARD, heap.poison);
    rkb_heap_fill(body_end, (size_t)(start + block->size - body_end), heap.poison);
}

static bool reserve(size_t extra)
{
    if (heap.count + extra <= heap.capacity)
        return true;
    size_t capacity = heap.capacity ? heap.capacity * 2 : 64;
    block_t *blocks = realloc(heap.blocks, capacity * sizeof(*blocks));
    if (blocks == NULL)
        return false;
    heap.blocks = blocks;
    heap.capacity = capacity;
    return true;
}

static void insert_block(size_t at, block_t block)
{
    memmove(heap.blocks + at + 1, heap.blocks + at, (heap.count - at) * sizeof(block));
    heap.blocks[at] = block;
    heap.count++;
}

/** Keeps live blocks of an unchanged range; the space between them becomes gaps. */
static void carry_blocks(void)
{
    size_t live = 0;
    for (size_t i = 0; i < heap.count; i++)
        if (heap.blocks[i].state == BLOCK_LIVE)
            heap.blocks[live++] = heap.blocks[i];
    heap.count = live;
    heap.top = heap.start;
    for (size_t i = 0; i < heap.count; i++) {
        block_t *block = &heap.blocks[i];
        block->carried = true;
        fill_guards(block);
        if (block->start > heap.top) {
            block_t gap = {heap.top, block->start - heap.top, 0, BLOCK_GAP, false};
            rkb_heap_fill(heap.base + gap.start, gap.size, heap.poison);
            if (reserve(1))
                insert_block(i++, gap);
        }
        heap.top = heap.blocks[i].start + heap.blocks[i].size;
    }
}

void rkb_heap_reset(void *base, uint64_t offset, uint64_t bytes, uint32_t poison)
{
    uint64_t start = round_up(offset);
    uint64_t end = (offset + bytes) / RKB_HEAP_ALIGN * RKB_HEAP_ALIGN;
    if (end < start)
        end = start;
    bool same = base == heap.base && start == heap.start && end == heap.end;

    heap.base = base;
    heap.start = start;
    heap.end = end;
    heap.poison = poison;
    if (same) {
        carry_blocks();
    } else {
        heap.count = 0;
        heap.top = start;
        heap.generation++;
    }
    heap.high = heap.top;
}

/** Joins the unused blocks from `first` on; returns how many, and their size. */
static size_t unused_run(size_t first, uint64_t *size)
{
    size_t n = 0;
    *size = 0;
    for (size_t i = first; i < heap.count; i++, n++) {
        block_t *block = &heap.blocks[i];
        if (block->state == BLOCK_FREED && !guards_whole(block))
            block->state = BLOCK_DAMAGED;
        if (block->state != BLOCK_FREED && block->state != BLOCK_GAP)
            break;
        *size += block->size;
    }
    return n;
}

/** Puts a block of `need` bytes at the front of a run of unused ones. */
static block_t *reuse_run(size_t first, size_t n, uint64_t size, uint64_t need, uint64_t bytes)
{
    uint64_t start = heap.blocks[first].start;
    for (size_t i = first; i < first + n; i++)
        if (heap.blocks[i].state == BLOCK_FREED)
            rkb_heap_fill(heap.base + heap.blocks[i].start, heap.blocks[i].size, heap.poison);
    memmove(heap.blocks + first + 1, heap.blocks + first + n,
            (heap.count - first - n) * sizeof(block_t));
    heap.count -= n - 1;
    heap.blocks[first] = (block_t){start, need, bytes, BLOCK_LIVE, false};
    if (size > need)
        insert_block(first + 1, (block_t){start + need, size - need, 0, BLOCK_GAP, false});
    return &heap.blocks[first];
}

static block_t *find_block(uint64_t need, uint64_t bytes)
{
    if (!reserve(2))
        return NULL;
    for (size_t i = 0; i < heap.count; i++) {
        uint64_t size;
        size_t n = unused_run(i, &size);
        if (n > 0 && size >= need)
            return reuse_run(i, n, size, need, bytes);
        if (n > 0 && i + n == heap.count) { /* the last ones: take them back into the free end */
            heap.top = heap.blocks[i].start;
            heap.count = i;
            break;
        }
        i += n; /* the block that ended the run is in use */
    }
    if (need > heap.end - heap.top)
        return NULL;
    block_t *block = &heap.blocks[heap.count++];
    *block = (block_t){heap.top, need, bytes, BLOCK_LIVE, false};
    rkb_heap_fill(heap.base + block->start, need, heap.poison);
    heap.top += need;
    if (heap.top > heap.high)
        heap.high = heap.top;
    return block;
}

/** What a candidate leaked in earlier calls gives way before this call runs out of memory. */
static bool evict_carried(void)
{
    bool any = false;
    for (size_t i = 0; i < heap.count; i++) {
        block_t *block = &heap.blocks[i];
        if (block->carried && block->state == BLOCK_LIVE) {
            block->state = BLOCK_FREED;
            any = true;
        }
    }
    if (any)
        heap.generation++; /* their owners must not free what will lie there */
    return any;
}

void *rkb_heap_alloc(size_t bytes)
{
    if (heap.base == NULL || bytes > heap.end - heap.start)
        return NULL;
    uint64_t need = 2 * (uint64_t)RKB_HEAP_GUARD + round_up(bytes);
    block_t *block = find_block(need, bytes);
    if (block == NULL && evict_carried())
        block = find_block(need, bytes);
    return block != NULL ? heap.base + block->start + RKB_HEAP_GUARD : NULL;
}

int rkb_heap_free(void *pointer)
{
    for (size_t i = 0; i < heap.count; i++) {
        block_t *block = &heap.blocks[i];
        if (block->state == BLOCK_LIVE && heap.base + block->start + RKB_HEAP_GUARD == pointer) {
            block->state = BLOCK_FREED;
            return 0;
        }
    }
    return -1;
}

uint64_t rkb_heap_generation(void)
{
    return heap.generation;
}

bool rkb_heap_contains(const void *pointer)
{
    const unsigned char *p = pointer;
    return heap.base != NULL && p >= heap.base + heap.start && p < heap.base + heap.end;
}

uint32_t rkb_heap_poison(void)
{
    return heap.poison;
}

uint64_t rkb_heap_used(void)
{
    return heap.high - heap.start;
}

size_t rkb_heap_records(const rkb_heap_alloc_t **out)
{
    size_t n = 0;
    if (heap.count > heap.records_capacity) {
        rkb_heap_alloc_t *records = realloc(heap.records, heap.count * sizeof(*records));
        if (records == NULL) {
            *out = NULL;
            return 0;
        }
        heap.records = records;
        heap.records_capacity = heap.count;
    }
    for (size_t i = 0; i < heap.count; i++) {
        const block_t *block = &heap.blocks[i];
        if (block->state != BLOCK_GAP)
            heap.records[n++] = (rkb_heap_alloc_t){block->start + RKB_HEAP_GUARD, block->bytes,
                                                   block->state == BLOCK_LIVE};
    }
    *out = heap.records;
    return n;
}
