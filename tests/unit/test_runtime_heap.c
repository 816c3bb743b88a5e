#include "evaluator/cell/runtime/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ARENA = 1 << 20, START = 4096, BYTES = 256 * 1024 };
static const uint32_t POISON = 0x7fc0dead;
static unsigned char *arena;

static int make_arena(void **state)
{
    (void)state;
    arena = aligned_alloc(4096, ARENA);
    memset(arena, 0, ARENA);
    rkb_heap_reset(NULL, 0, 0, 0);
    rkb_heap_reset(arena, START, BYTES, POISON);
    return arena == NULL;
}

static int drop_arena(void **state)
{
    (void)state;
    rkb_heap_reset(NULL, 0, 0, 0);
    free(arena);
    return 0;
}

/** What the evaluator does: the pattern wherever no record is. Returns the first broken offset. */
static int64_t first_broken(void)
{
    const rkb_heap_alloc_t *records;
    size_t n = rkb_heap_records(&records), at = 0;
    for (uint64_t i = START; i < START + rkb_heap_used(); i++) {
        while (at < n && i >= records[at].offset + records[at].bytes)
            at++;
        if (at < n && i >= records[at].offset)
            continue;
        if (arena[i] != ((const unsigned char *)&POISON)[i % 4])
            return (int64_t)i;
    }
    return -1;
}

static bool holds_poison(const unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != ((const unsigned char *)&POISON)[(uintptr_t)(p + i) % 4])
            return false;
    return true;
}

static void test_body_is_aligned_and_poisoned_between_guards(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 3, 4, 255, 256, 257, 1000, 4096};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *p = rkb_heap_alloc(sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % RKB_HEAP_ALIGN, 0);
        assert_true(holds_poison(p - RKB_HEAP_GUARD, RKB_HEAP_GUARD));
        assert_true(holds_poison(p, sizes[i]));
        assert_true(holds_poison(p + sizes[i], RKB_HEAP_GUARD));
        memset(p, 0x11, sizes[i]); /* what lies between the records must stay whole */
    }
    assert_int_equal(first_broken(), -1);
}

static void test_guards_are_at_least_256_bytes(void **state)
{
    (void)state;
    const rkb_heap_alloc_t *records;
    for (int i = 0; i < 5; i++)
        assert_non_null(rkb_heap_alloc(100));
    assert_int_equal(rkb_heap_records(&records), 5);
    assert_true(records[0].offset >= START + 256);
    for (int i = 1; i < 5; i++)
        assert_true(records[i].offset >= records[i - 1].offset + records[i - 1].bytes + 512);
    assert_true(START + rkb_heap_used() >= records[4].offset + records[4].bytes + 256);
}

static void test_a_write_past_the_end_is_seen(void **state)
{
    (void)state;
    unsigned char *p = rkb_heap_alloc(10);
    p[10] ^= 1;
    assert_int_equal(first_broken(), p + 10 - arena);
    p[10] ^= 1;
    p[-1] ^= 1;
    assert_int_equal(first_broken(), p - 1 - arena);
}

static void test_freed_memory_is_poisoned_before_reuse(void **state)
{
    (void)state;
    unsigned char *p = rkb_heap_alloc(1000);
    memset(p, 0x22, 1000);
    assert_int_equal(rkb_heap_free(p), 0);
    assert_int_equal(first_broken(), -1); /* the record of the freed block covers it */
    unsigned char *q = rkb_heap_alloc(100);
    assert_ptr_equal(p, q);
    assert_true(holds_poison(q, 1000));
    assert_int_equal(first_broken(), -1);
}

static void test_a_block_with_a_broken_guard_is_not_used_again(void **state)
{
    (void)state;
    unsigned char *p = rkb_heap_alloc(64);
    unsigned char *other = rkb_heap_alloc(64);
    p[64] ^= 1;
    assert_int_equal(rkb_heap_free(p), 0);
    unsigned char *q = rkb_heap_alloc(64);
    assert_ptr_not_equal(p, q);
    assert_ptr_not_equal(other, q);
    assert_int_equal(first_broken(), p + 64 - arena);
}

static void test_neighbours_that_are_free_join(void **state)
{
    (void)state;
    unsigned char *p[3];
    for (int i = 0; i < 3; i++)
        p[i] = rkb_heap_alloc(4096);
    assert_non_null(rkb_heap_alloc(1));
    rkb_heap_free(p[0]);
    rkb_heap_free(p[1]);
    assert_ptr_equal(rkb_heap_alloc(8192), p[0]);
    assert_int_equal(first_broken(), -1);
}

static void test_exhaustion_is_reported_and_recovers(void **state)
{
    (void)state;
    unsigned char *p = rkb_heap_alloc(BYTES / 2);
    assert_non_null(p);
    assert_null(rkb_heap_alloc(BYTES / 2));
    assert_null(rkb_heap_alloc(SIZE_MAX));
    assert_int_equal(rkb_heap_free(p), 0);
    assert_non_null(rkb_heap_alloc(BYTES - 2 * RKB_HEAP_GUARD));
    assert_true(rkb_heap_used() <= BYTES);
}

static void test_only_starts_of_live_blocks_are_freed(void **state)
{
    (void)state;
    unsigned char *p = rkb_heap_alloc(64);
    assert_int_equal(rkb_heap_free(p + 4), -1);
    assert_int_equal(rkb_heap_free(NULL), -1);
    assert_int_equal(rkb_heap_free(p), 0);
    assert_int_equal(rkb_heap_free(p), -1);
}

static void test_live_blocks_survive_a_reset_of_the_same_range(void **state)
{
    (void)state;
    const rkb_heap_alloc_t *records;
    unsigned char *gone = rkb_heap_alloc(64);
    unsigned char *kept = rkb_heap_alloc(64);
    memset(kept, 0x33, 64);
    rkb_heap_free(gone);
    rkb_heap_reset(arena, START, BYTES, POISON);
    assert_int_equal(rkb_heap_records(&records), 1);
    assert_int_equal(kept[63], 0x33);
    assert_int_equal(first_broken(), -1);
    assert_ptr_equal(rkb_heap_alloc(64), gone);
    assert_int_equal(rkb_heap_free(kept), 0);
}

static void test_another_range_forgets(void **state)
{
    (void)state;
    const rkb_heap_alloc_t *records;
    uint64_t generation = rkb_heap_generation();
    unsigned char *old = rkb_heap_alloc(64);
    rkb_heap_reset(arena, START + BYTES, BYTES, POISON);
    assert_int_not_equal(rkb_heap_generation(), generation);
    assert_int_equal(rkb_heap_records(&records), 0);
    assert_int_equal(rkb_heap_free(old), -1);
    assert_false(rkb_heap_contains(old));
    assert_true(rkb_heap_contains(rkb_heap_alloc(1)));
}

static void test_leaks_of_earlier_calls_give_way(void **state)
{
    (void)state;
    for (int call = 0; call < 10; call++) {
        assert_non_null(rkb_heap_alloc(BYTES / 3));
        rkb_heap_reset(arena, START, BYTES, POISON);
    }
    assert_non_null(rkb_heap_alloc(BYTES / 2));
    assert_int_equal(first_broken(), -1);
}

static void test_random_use_keeps_the_layout(void **state)
{
    (void)state;
    unsigned char *live[32] = {0};
    size_t bytes[32] = {0};
    uint32_t random = 12345;
    for (int step = 0; step < 4000; step++) {
        random = random * 1664525u + 1013904223u;
        size_t slot = random >> 27;
        if (live[slot] != NULL) {
            for (size_t i = 0; i < bytes[slot]; i++)
                assert_int_equal(live[slot][i], slot);
            assert_int_equal(rkb_heap_free(live[slot]), 0);
            live[slot] = NULL;
            continue;
        }
        bytes[slot] = (random >> 8) % 3000;
        live[slot] = rkb_heap_alloc(bytes[slot]);
        if (live[slot] != NULL) {
            assert_true(holds_poison(live[slot], bytes[slot]));
            memset(live[slot], (int)slot, bytes[slot]);
        }
    }
    assert_int_equal(first_broken(), -1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_body_is_aligned_and_poisoned_between_guards),
        T(test_guards_are_at_least_256_bytes),
        T(test_a_write_past_the_end_is_seen),
        T(test_freed_memory_is_poisoned_before_reuse),
        T(test_a_block_with_a_broken_guard_is_not_used_again),
        T(test_neighbours_that_are_free_join),
        T(test_exhaustion_is_reported_and_recovers),
        T(test_only_starts_of_live_blocks_are_freed),
        T(test_live_blocks_survive_a_reset_of_the_same_range),
        T(test_another_range_forgets),
        T(test_leaks_of_earlier_calls_give_way),
        T(test_random_use_keeps_the_layout),
    };
    return cmocka_run_group_tests_name("runtime_heap", tests, NULL, NULL);
}
