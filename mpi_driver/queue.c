#include "mpi_driver/queue.h"

#include "common/hash.h"

#include <stdbool.h>
#include <stdlib.h>

/* An item is in up to three heaps at a time and knows its place in each. */
typedef enum { BY_ALL, BY_CANDIDATE, BY_TASK, ORDERS } order_t;

typedef struct {
    double cost;
    uint32_t heap[ORDERS];  /* index into heaps, or RKB_QUEUE_NONE */
    uint32_t place[ORDERS]; /* index into that heap while the item waits */
    unsigned losses;
} entry_t;

typedef struct {
    uint32_t *items;
    uint32_t count, members, capacity; /* members: registered items; capacity >= members */
} heap_t;

/* Affinity key to heap, by open addressing; a key of 0 marks an empty slot. */
typedef struct {
    uint64_t *keys;
    uint32_t *heaps;
    uint32_t count, size; /* size: a power of two */
} map_t;

struct rkb_queue {
    entry_t *entries;
    uint32_t count, capacity;
    heap_t *heaps;
    uint32_t heap_count, heap_capacity;
    map_t maps[ORDERS]; /* BY_ALL unused */
    double waiting_cost;
};

static bool grow(void **array, uint32_t *capacity, size_t element)
{
    uint32_t wanted = *capacity == 0 ? 8 : *capacity * 2;
    if (wanted <= *capacity) {
        return false;
    }
    void *larger = reallocarray(*array, wanted, element);
    if (larger == NULL) {
        return false;
    }
    *array = larger;
    *capacity = wanted;
    return true;
}

static uint32_t map_slot(const map_t *map, uint64_t key)
{
    uint32_t slot = (uint32_t)rkb_mix64(key) & (map->size - 1);
    while (map->keys[slot] != 0 && map->keys[slot] != key) {
        slot = (slot + 1) & (map->size - 1);
    }
    return slot;
}

static bool map_reserve(map_t *map)
{
    if (map->size != 0 && map->count < map->size / 2) {
        return true;
    }
    map_t larger = {.count = map->count, .size = map->size == 0 ? 64 : map->size * 2};
    larger.keys = calloc(larger.size, sizeof(*larger.keys));
    larger.heaps = calloc(larger.size, sizeof(*larger.heaps));
    if (larger.keys == NULL || larger.heaps == NULL) {
        free(larger.keys);
        free(larger.heaps);
        return false;
    }
    for (uint32_t i = 0; i < map->size; i++) {
        if (map->keys[i] != 0) {
            uint32_t slot = map_slot(&larger, map->keys[i]);
            larger.keys[slot] = map->keys[i];
            larger.heaps[slot] = map->heaps[i];
        }
    }
    free(map->keys);
    free(map->heaps);
    *map = larger;
    return true;
}

static bool add_heap(rkb_queue_t *queue, uint32_t *out)
{
    if (queue->heap_count == queue->heap_capacity &&
        !grow((void **)&queue->heaps, &queue->heap_capacity, sizeof(*queue->heaps))) {
        return false;
    }
    queue->heaps[queue->heap_count] = (heap_t){0};
    *out = queue->heap_count++;
    return true;
}

/* The heap of a key, made when new; RKB_QUEUE_NONE for key 0. */
static bool find_heap(rkb_queue_t *queue, order_t order, uint64_t key, uint32_t *out)
{
    *out = RKB_QUEUE_NONE;
    if (key == 0) {
        return true;
    }
    map_t *map = &queue->maps[order];
    if (!map_reserve(map)) {
        return false;
    }
    uint32_t slot = map_slot(map, key);
    if (map->keys[slot] == 0) {
        if (!add_heap(queue, &map->heaps[slot])) {
            return false;
        }
        map->keys[slot] = key;
        map->count++;
    }
    *out = map->heaps[slot];
    return true;
}

static bool reserve_member(rkb_queue_t *queue, uint32_t index)
{
    if (index == RKB_QUEUE_NONE) {
        return true;
    }
    heap_t *heap = &queue->heaps[index];
    return heap->members < heap->capacity ||
           grow((void **)&heap->items, &heap->capacity, sizeof(*heap->items));
}

rkb_queue_t *rkb_queue_create(void)
{
    rkb_queue_t *queue = calloc(1, sizeof(*queue));
    uint32_t all;
    if (queue != NULL && !add_heap(queue, &all)) {
        free(queue);
        return NULL;
    }
    return queue;
}

void rkb_queue_destroy(rkb_queue_t *queue)
{
    if (queue == NULL) {
        return;
    }
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        free(queue->heaps[i].items);
    }
    free(queue->heaps);
    for (int order = 0; order < ORDERS; order++) {
        free(queue->maps[order].keys);
        free(queue->maps[order].heaps);
    }
    free(queue->entries);
    free(queue);
}

rkb_status_t rkb_queue_register(rkb_queue_t *queue, uint64_t candidate, uint64_t task, double cost,
                                uint32_t *item, rkb_error_t *err)
{
    if (queue->count == RKB_QUEUE_NONE) {
        return rkb_error_set(err, RKB_ERR_INVALID, "more than %u items", RKB_QUEUE_NONE);
    }
    entry_t entry = {.cost = cost >= 0 && cost < 1e12 ? cost : 0};
    bool ok = queue->count < queue->capacity ||
              grow((void **)&queue->entries, &queue->capacity, sizeof(*queue->entries));
    ok = ok && find_heap(queue, BY_CANDIDATE, candidate, &entry.heap[BY_CANDIDATE]) &&
         find_heap(queue, BY_TASK, task, &entry.heap[BY_TASK]);
    for (int order = 0; ok && order < ORDERS; order++) {
        ok = reserve_member(queue, entry.heap[order]);
    }
    if (!ok) {
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for item %u of the queue",
                             queue->count);
    }
    for (int order = 0; order < ORDERS; order++) {
        if (entry.heap[order] != RKB_QUEUE_NONE) {
            queue->heaps[entry.heap[order]].members++;
        }
    }
    queue->entries[queue->count] = entry;
    *item = queue->count++;
    return RKB_OK;
}

static bool before(const rkb_queue_t *queue, uint32_t a, uint32_t b)
{
    const entry_t *x = &queue->entries[a];
    const entry_t *y = &queue->entries[b];
    if (x->losses != y->losses) {
        return x->losses < y->losses;
    }
    if (x->cost != y->cost) {
        return x->cost > y->cost;
    }
    return a < b;
}

static void put(rkb_queue_t *queue, heap_t *heap, order_t order, uint32_t place, uint32_t item)
{
    heap->items[place] = item;
    queue->entries[item].place[order] = place;
}

static void sift_up(rkb_queue_t *queue, heap_t *heap, order_t order, uint32_t place, uint32_t item)
{
    while (place > 0 && before(queue, item, heap->items[(place - 1) / 2])) {
        put(queue, heap, order, place, heap->items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(queue, heap, order, place, item);
}

static void sift_down(rkb_queue_t *queue, heap_t *heap, order_t order, uint32_t place,
                      uint32_t item)
{
    for (;;) {
        uint64_t child = (uint64_t)place * 2 + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && before(queue, heap->items[child + 1], heap->items[child])) {
            child++;
        }
        if (!before(queue, heap->items[child], item)) {
            break;
        }
        put(queue, heap, order, place, heap->items[child]);
        place = (uint32_t)child;
    }
    put(queue, heap, order, place, item);
}

void rkb_queue_push(rkb_queue_t *queue, uint32_t item, unsigned losses)
{
    entry_t *entry = &queue->entries[item];
    entry->losses = losses;
    for (int order = 0; order < ORDERS; order++) {
        if (entry->heap[order] != RKB_QUEUE_NONE) {
            heap_t *heap = &queue->heaps[entry->heap[order]];
            sift_up(queue, heap, (order_t)order, heap->count++, item);
        }
    }
    queue->waiting_cost += entry->cost;
}

void rkb_queue_remove(rkb_queue_t *queue, uint32_t item)
{
    entry_t *entry = &queue->entries[item];
    for (int order = 0; order < ORDERS; order++) {
        if (entry->heap[order] == RKB_QUEUE_NONE) {
            continue;
        }
        heap_t *heap = &queue->heaps[entry->heap[order]];
        uint32_t place = entry->place[order];
        uint32_t last = heap->items[--heap->count];
        if (last == item) {
            continue;
        }
        if (before(queue, last, item)) {
            sift_up(queue, heap, (order_t)order, place, last);
        } else {
            sift_down(queue, heap, (order_t)order, place, last);
        }
    }
    queue->waiting_cost -= entry->cost;
    if (queue->heaps[0].count == 0) {
        queue->waiting_cost = 0; /* rounding does not pile up over a long run */
    }
}

uint32_t rkb_queue_count(const rkb_queue_t *queue)
{
    return queue->heaps[0].count;
}

double rkb_queue_cost(const rkb_queue_t *queue)
{
    return queue->waiting_cost;
}

double rkb_queue_item_cost(const rkb_queue_t *queue, uint32_t item)
{
    return queue->entries[item].cost;
}

unsigned rkb_queue_item_losses(const rkb_queue_t *queue, uint32_t item)
{
    return queue->entries[item].losses;
}

static uint32_t top_of(const rkb_queue_t *queue, uint32_t heap)
{
    if (heap == RKB_QUEUE_NONE || queue->heaps[heap].count == 0) {
        return RKB_QUEUE_NONE;
    }
    return queue->heaps[heap].items[0];
}

uint32_t rkb_queue_top(const rkb_queue_t *queue)
{
    return top_of(queue, 0);
}

uint32_t rkb_queue_top_of_candidate(const rkb_queue_t *queue, uint32_t like)
{
    return top_of(queue, queue->entries[like].heap[BY_CANDIDATE]);
}

uint32_t rkb_queue_top_of_task(const rkb_queue_t *queue, uint32_t like)
{
    return top_of(queue, queue->entries[like].heap[BY_TASK]);
}
