#include "evaluator/cell/cell_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The guard bands between allocations of one call. */
typedef struct {
    const unsigned char *heap;
    uint64_t heap_offset;
    unsigned char pattern[4];
} guards_t;

/* Bytes of [from, to), relative to the heap, that do not hold the pattern; *first is the first. */
static uint64_t count_damage(const guards_t *guards, uint64_t from, uint64_t to, uint64_t *first)
{
    uint64_t damaged = 0;
    for (uint64_t at = from; at < to; at++) {
        if ((guards->heap_offset + at) % 4 == 0) {
            while (to - at >= 4 && memcmp(guards->heap + at, guards->pattern, 4) == 0)
                at += 4;
            if (at == to)
                break;
        }
        if (guards->heap[at] == guards->pattern[(guards->heap_offset + at) % 4])
            continue;
        if (damaged++ == 0)
            *first = at;
    }
    return damaged;
}

static rkb_verdict_t describe(const rkb_cell_alloc_t *before, const rkb_cell_alloc_t *after,
                              uint64_t first, uint64_t damaged, rkb_finding_t *finding)
{
    char bytes[64];
    snprintf(bytes, sizeof bytes, "%" PRIu64 " byte%s", damaged, damaged == 1 ? "" : "s");
    uint64_t behind = before ? first - (before->offset + before->bytes) : UINT64_MAX;
    uint64_t ahead = after ? after->offset - first : UINT64_MAX;
    if (!before && !after)
        return rkb_finding_set(finding, RKB_VERDICT_OUT_OF_BOUNDS,
                               "%s of the heap were written outside of any allocation", bytes);
    char place[64] = "right";
    uint64_t distance = behind <= ahead ? behind : ahead;
    if (distance > (behind <= ahead ? 0 : 1))
        snprintf(place, sizeof place, "%" PRIu64 " bytes", distance);
    if (behind <= ahead)
        return rkb_finding_set(
            finding, RKB_VERDICT_OUT_OF_BOUNDS,
            "%s outside of allocations were written, the first %s behind the end "
            "of an allocation of %" PRIu64 " bytes",
            bytes, place, before->bytes);
    return rkb_finding_set(finding, RKB_VERDICT_OUT_OF_BOUNDS,
                           "%s outside of allocations were written, the first %s before the start "
                           "of an allocation of %" PRIu64 " bytes",
                           bytes, place, after->bytes);
}

rkb_verdict_t rkb_cell_guard_verdict(const void *heap, uint64_t heap_used, uint64_t heap_offset,
                                     const rkb_cell_alloc_t *allocs, size_t count, uint32_t poison,
                                     rkb_finding_t *finding)
{
    guards_t guards = {.heap = heap, .heap_offset = heap_offset};
    memcpy(guards.pattern, &poison, sizeof guards.pattern);
    uint64_t at = 0;
    for (size_t i = 0; i <= count; i++) {
        uint64_t start = heap_used, end = heap_used;
        if (i < count) {
            start = allocs[i].offset - heap_offset;
            end = start + allocs[i].bytes;
        }
        /* Callers pass checked allocations; a record that is not still must not lead astray. */
        if (start < at || start > heap_used || end < start || end > heap_used)
            return rkb_finding_set(finding, RKB_VERDICT_TAMPERING,
                                   "allocation %zu lies outside the heap", i);
        uint64_t first = 0;
        uint64_t damaged = count_damage(&guards, at, start, &first);
        if (damaged)
            return describe(i > 0 ? &allocs[i - 1] : NULL, i < count ? &allocs[i] : NULL,
                            first + heap_offset, damaged, finding);
        at = end;
    }
    return rkb_finding_set(finding, RKB_VERDICT_OK, "%s", "");
}
