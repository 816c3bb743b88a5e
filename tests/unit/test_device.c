#include "tests/unit/unit.h"

#include "evaluator/device/device.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { PAGE = 4096 };

static int open_device(void **state)
{
    rkb_device_t *device;
    if (rkb_device_cpu_ops.open(0, &device, NULL) != RKB_OK)
        return -1;
    *state = device;
    return 0;
}

static int close_device(void **state)
{
    rkb_device_cpu_ops.close(*state);
    return 0;
}

static void test_arena_reads_what_was_written(void **state)
{
    const rkb_device_ops_t *ops = &rkb_device_cpu_ops;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_arena_t *arena;
    assert_status(ops->arena_create(*state, 10 * PAGE - 5, &arena, &err), RKB_OK, &err);
    assert_int_equal(ops->arena_size(arena), 10 * PAGE);
    uint32_t words[4] = {1, 2, 3, 4}, back[4];
    assert_status(ops->arena_read(arena, PAGE, back, sizeof back, &err), RKB_OK, &err);
    assert_int_equal(back[0] | back[3], 0);
    assert_status(ops->arena_write(arena, PAGE, words, sizeof words, &err), RKB_OK, &err);
    assert_status(ops->arena_fill(arena, PAGE + 4, 0x7fc0dead, 8, &err), RKB_OK, &err);
    assert_status(ops->arena_read(arena, PAGE, back, sizeof back, &err), RKB_OK, &err);
    assert_int_equal(back[0], 1);
    assert_int_equal(back[1], 0x7fc0dead);
    assert_int_equal(back[2], 0x7fc0dead);
    assert_int_equal(back[3], 4);
    assert_status(ops->arena_discard(arena, PAGE, PAGE, &err), RKB_OK, &err);
    assert_status(ops->arena_read(arena, PAGE, back, sizeof back, &err), RKB_OK, &err);
    assert_int_equal(back[0] | back[3], 0);
    ops->arena_destroy(arena);
}

static void test_arena_refuses_ranges_outside(void **state)
{
    const rkb_device_ops_t *ops = &rkb_device_cpu_ops;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_arena_t *arena;
    char byte[8] = "";
    assert_status(ops->arena_create(*state, PAGE, &arena, &err), RKB_OK, &err);
    assert_status(ops->arena_write(arena, PAGE - 4, byte, 8, &err), RKB_ERR_INVALID, &err);
    assert_status(ops->arena_read(arena, SIZE_MAX, byte, 2, &err), RKB_ERR_INVALID, &err);
    assert_status(ops->arena_fill(arena, 2, 0, 4, &err), RKB_ERR_INVALID, &err);
    assert_status(ops->arena_discard(arena, 0, 5, &err), RKB_ERR_INVALID, &err);
    ops->arena_destroy(arena);
    assert_status(ops->arena_create(*state, 0, &arena, &err), RKB_ERR_INVALID, &err);
    ops->arena_destroy(NULL);
}

static void test_arena_cannot_be_cut_by_who_shares_it(void **state)
{
    const rkb_device_ops_t *ops = &rkb_device_cpu_ops;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_arena_t *arena;
    assert_status(ops->arena_create(*state, 4 * PAGE, &arena, &err), RKB_OK, &err);
    int fd = ops->arena_fd(arena);
    assert_int_equal(ftruncate(fd, PAGE), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 100 * PAGE), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    ops->arena_destroy(arena);
}

static void test_large_arena_costs_nothing_until_used(void **state)
{
    const rkb_device_ops_t *ops = &rkb_device_cpu_ops;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_arena_t *arena;
    struct stat st;
    assert_status(ops->arena_create(*state, (size_t)1 << 36, &arena, &err), RKB_OK, &err);
    assert_int_equal(fstat(ops->arena_fd(arena), &st), 0);
    assert_int_equal(st.st_blocks, 0);
    ops->arena_destroy(arena);
}

static void test_facts(void **state)
{
    cJSON *facts = rkb_device_cpu_ops.describe(*state);
    assert_non_null(facts);
    assert_string_equal(cJSON_GetObjectItem(facts, "name")->valuestring, "cpu");
    assert_string_equal(cJSON_GetObjectItem(facts, "kind")->valuestring, "cpu");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(facts, "emulated")));
    assert_true(cJSON_GetObjectItem(facts, "memory_bytes")->valuedouble > 0);
    char *uuid = rkb_xstrdup(cJSON_GetObjectItem(facts, "uuid")->valuestring);
    cJSON_Delete(facts);

    rkb_device_t *other;
    assert_int_equal(rkb_device_cpu_ops.open(1, &other, NULL), RKB_OK);
    facts = rkb_device_cpu_ops.describe(other);
    assert_string_not_equal(cJSON_GetObjectItem(facts, "uuid")->valuestring, uuid);
    cJSON_Delete(facts);
    rkb_device_cpu_ops.close(other);
    free(uuid);
}

static void test_registry_says_why(void **state)
{
    (void)state;
    size_t count;
    const rkb_backend_t *backends = rkb_backends(&count);
    assert_int_equal(count, 2);
    assert_string_equal(backends[0].name, "cuda");
    assert_string_equal(backends[1].name, "cpu");
    assert_ptr_equal(backends[1].ops, &rkb_device_cpu_ops);
    for (size_t i = 0; i < count; i++) {
        assert_true(backends[i].where[0] && backends[i].reason[0]);
        assert_int_equal(backends[i].ops != NULL, strcmp(backends[i].reason, "usable") == 0);
    }
    rkb_error_t err = RKB_ERROR_INIT;
    const rkb_device_ops_t *ops = NULL;
    assert_status(rkb_device_select("cpu", &ops, &err), RKB_OK, &err);
    assert_ptr_equal(ops, &rkb_device_cpu_ops);
    assert_status(rkb_device_select("tpu", &ops, &err), RKB_ERR_USAGE, &err);
    assert_contains(err.text, "tpu");
    if (!backends[0].ops) {
        assert_status(rkb_device_select("cuda", &ops, &err), RKB_ERR_NO_DEVICE, &err);
        assert_contains(err.text, "librkb_device_cuda.so");
        assert_status(rkb_device_select("auto", &ops, &err), RKB_OK, &err);
        assert_ptr_equal(ops, &rkb_device_cpu_ops);
    }
}

int main(void)
{
#define ON_DEVICE(_test) cmocka_unit_test_setup_teardown(_test, open_device, close_device)
    const struct CMUnitTest tests[] = {
        ON_DEVICE(test_arena_reads_what_was_written),
        ON_DEVICE(test_arena_refuses_ranges_outside),
        ON_DEVICE(test_arena_cannot_be_cut_by_who_shares_it),
        ON_DEVICE(test_large_arena_costs_nothing_until_used),
        ON_DEVICE(test_facts),
        cmocka_unit_test(test_registry_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
