/** Cells that work, what loading tells, and the pool. */
#include "scene.h"

#include "common/clock.h"
#include "common/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- cells that work ---- */

static void test_candidate_is_called_again_and_again(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "twice");
    for (int i = 0; i < 3; i++) {
        s.call.poison = POISON + (uint32_t)i;
        assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
        expect_output(&s);
        assert_int_equal(s.returned.status, RKB_CALL_OK);
        assert_true(s.returned.heap_used > 0 && s.returned.nallocs >= 1);
        assert_int_equal(s.returned.outputs[0].offset, s.returned.allocs[0].offset);
        assert_int_equal(s.returned.allocs[0].bytes, 16);
        assert_int_equal(rkb_cell_guard_verdict(s.arena + HEAP, s.returned.heap_used, HEAP,
                                                s.returned.allocs, s.returned.nallocs,
                                                s.call.poison, &s.finding),
                         RKB_VERDICT_OK);
        assert_true(s.fate.seconds > 0 && s.fate.seconds < 10);
    }
    scene_close(&s);
}

static void test_jail_is_in_force(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "twice");
    assert_true(rkb_cell_jail_bits(s.cell) & RKB_JAIL_SECCOMP);
    scene_close(&s);
}

static void test_threads_are_allowed(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "with_thread");
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    expect_output(&s);
    scene_close(&s);
}

/* Two ranks that compile one candidate publish it under one name, one after the other. */
static void test_replaced_files_still_load(void **state)
{
    (void)state;
    char folder[] = "/tmp/rkb-replaced-XXXXXX", name[64], next[64], command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/candidate.so", folder);
    snprintf(next, sizeof next, "%s/next.so", folder);
    snprintf(command, sizeof command, "cp %s %s", module_path("hostile"), name);
    assert_int_equal(system(command), 0);
    pid_t replacer = fork();
    if (replacer == 0) {
        snprintf(command, sizeof command, "while :; do cp %s %s && mv %s %s; done",
                 module_path("hostile"), next, next, name);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 30; i++) {
        scene_t s;
        scene_open(&s);
        rkb_fate_kind_t kind = rkb_cell_load(s.cell, name, "twice", s.arena_fd, ARENA,
                                             rkb_clock_now() + 10, &s.loaded, &s.fate);
        assert_int_equal(kind, RKB_FATE_OK);
        if (s.loaded.status != RKB_LOADED_OK)
            fail_msg("load %d: %s", i, s.loaded.text);
        scene_close(&s);
    }
    kill(replacer, SIGKILL);
    waitpid(replacer, NULL, 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_missing_file_is_ours(void **state)
{
    (void)state;
    scene_t s;
    scene_open(&s);
    assert_int_equal(scene_load(&s, "no_such_module", "twice", 10), RKB_FATE_OURS);
    assert_non_null(strstr(s.fate.text, "No such file"));
    scene_close(&s);
}

static void test_scalars_and_lists_arrive(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "scalars");
    s.call.nargs = 5;
    s.call.args[1] = (rkb_cell_argument_t){.kind = RKB_VALUE_INT, .i = -3};
    s.call.args[2] = (rkb_cell_argument_t){.kind = RKB_VALUE_DOUBLE, .d = 0.5};
    s.call.args[3] = (rkb_cell_argument_t){.kind = RKB_VALUE_INT_LIST, .count = 2, .ints = {8, 9}};
    s.call.args[4] = (rkb_cell_argument_t){.kind = RKB_VALUE_NONE};
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    if (s.returned.status != RKB_CALL_OK)
        fail_msg("%s", s.returned.text);
    assert_int_equal(s.returned.noutputs, 0);
    scene_close(&s);
}

static void test_mixed_lists_are_described(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "pair");
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    assert_int_equal(s.returned.noutputs, 3);
    assert_int_equal(s.returned.output_is_tensor[0], 1);
    assert_int_equal(s.returned.output_is_tensor[1], 0);
    assert_int_equal(s.returned.output_is_tensor[2], 1);
    assert_int_equal(s.returned.output_in_arena[2], 0); /* host memory */
    assert_int_equal(s.returned.outputs[2].sizes[0], 3);
    scene_close(&s);
}

/* libtorch is loaded inside the jail, at the first delegated operator. */
static void test_operators_are_delegated_inside_the_jail(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "delegates");
    for (int i = 0; i < 2; i++) {
        if (scene_call(&s, 60) != RKB_FATE_OK) {
            rkb_cell_fate_verdict(&s.fate, RKB_DURING_CALL, &s.finding);
            fail_msg("%s", s.finding.detail);
        }
        if (s.returned.status != RKB_CALL_OK)
            fail_msg("%s", s.returned.text);
        expect_output(&s);
        assert_int_equal(s.returned.ndelegated, 1);
        assert_string_equal(s.returned.delegated[0], "aten::add");
    }
    scene_close(&s);
}

static void test_torch_opened_by_the_candidate_is_delegation(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "opens_torch");
    assert_int_equal(scene_call(&s, 60), RKB_FATE_OK);
    if (s.returned.status != RKB_CALL_OK)
        fail_msg("%s", s.returned.text);
    assert_int_equal(s.returned.ndelegated, 1);
    assert_non_null(strstr(s.returned.delegated[0], "opened by the candidate"));
    scene_close(&s);
}

static void test_write_past_the_end_is_found(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "overrun");
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    assert_int_equal(rkb_cell_guard_verdict(s.arena + HEAP, s.returned.heap_used, HEAP,
                                            s.returned.allocs, s.returned.nallocs, POISON,
                                            &s.finding),
                     RKB_VERDICT_OUT_OF_BOUNDS);
    assert_non_null(
        strstr(s.finding.detail, "4 bytes behind the end of an allocation of 16 bytes"));
    scene_close(&s);
}

static void test_what_a_candidate_says(void **state)
{
    (void)state;
    expect_fate("throws", 10, RKB_VERDICT_EXCEPTION, "bad? ? thing?[31m");
    expect_fate("bad_launch", 10, RKB_VERDICT_LAUNCH_FAILURE, "wide_kernel");
    expect_fate("too_much_device_memory", 10, RKB_VERDICT_OUT_OF_MEMORY, "memory");
}

/* ---- loading ---- */

static void expect_load(const char *module, const char *entry, uint32_t status, const char *text)
{
    scene_t s;
    scene_open(&s);
    assert_int_equal(scene_load(&s, module, entry, 10), RKB_FATE_OK);
    if (s.loaded.status != status || !strstr(s.loaded.text, text))
        fail_msg("%s: status %u: %s", module, s.loaded.status, s.loaded.text);
    scene_close(&s);
}

static void test_load_errors_are_told(void **state)
{
    (void)state;
    expect_load("hostile", "nowhere_to_be_found", RKB_LOADED_NO_ENTRY, "twice(Tensor) -> Tensor");
    expect_load("plain", "twice", RKB_LOADED_LOAD_ERROR, RKB_MODULE_SYMBOL);
    expect_load("throwing_module", "twice", RKB_LOADED_LOAD_ERROR, "the body threw");
    expect_load("other_abi", "twice", RKB_LOADED_LOAD_ERROR, "version 99");
}

/* ---- pool ---- */

static void expect_no_cell(const char *fake, rkb_status_t status, const char *text)
{
    char prefix[4096];
    rkb_cell_pool_t *own;
    rkb_cell_t *cell;
    rkb_error_t err = RKB_ERROR_INIT;
    snprintf(prefix, sizeof prefix, "%s/tests/cell/%s", RKB_BINARY_DIR, fake);
    setenv("RKB_PREFIX", prefix, 1);
    assert_int_equal(rkb_cell_pool_create(&own, &err), RKB_OK);
    unsetenv("RKB_PREFIX");
    rkb_cell_pool_set_limits(own, 0, 0.3);
    rkb_status_t got = rkb_cell_pool_take(own, &cell, &err);
    if (got != status || !strstr(err.text, text))
        fail_msg("%s: %s: %s", fake, rkb_status_name(got), err.text);
    rkb_cell_pool_destroy(own);
}

static void test_broken_cells_are_named(void **state)
{
    (void)state;
    expect_no_cell("fake_hangs", RKB_ERR_LOST, "still running");
    expect_no_cell("fake_leaves", RKB_ERR_LOST, "exit code 3");
    expect_no_cell("fake_other_version", RKB_ERR_PROTOCOL, "version 2 of the protocol");
    expect_no_cell("fake_other_abi", RKB_ERR_PROTOCOL, "version 2 of the candidates'");
}

static void test_cell_that_speaks_early_is_ours(void **state)
{
    (void)state;
    char prefix[4096];
    rkb_cell_pool_t *own, *before = scene_pool;
    rkb_error_t err = RKB_ERROR_INIT;
    snprintf(prefix, sizeof prefix, "%s/tests/cell/fake_overtakes", RKB_BINARY_DIR);
    setenv("RKB_PREFIX", prefix, 1);
    assert_int_equal(rkb_cell_pool_create(&own, &err), RKB_OK);
    unsetenv("RKB_PREFIX");
    scene_pool = own;
    scene_t s;
    scene_open(&s);
    scene_pool = before;
    assert_int_not_equal(scene_load(&s, "hostile", "twice", 5), RKB_FATE_OK);
    assert_int_equal(s.fate.kind, RKB_FATE_OURS); /* no candidate was there to blame */
    scene_close(&s);
    rkb_cell_pool_destroy(own);
}

static void test_order_of_requests_is_kept(void **state)
{
    (void)state;
    scene_t s;
    scene_open(&s);
    assert_int_equal(scene_call(&s, 1), RKB_FATE_OURS);
    assert_non_null(strstr(s.fate.text, "the cell is spare"));
    scene_close(&s);
    load_entry(&s, "twice");
    assert_int_equal(scene_load(&s, "hostile", "twice", 1), RKB_FATE_OURS);
    scene_close(&s);
    rkb_cell_destroy(NULL);
    rkb_cell_pool_destroy(NULL);
}

static void test_cells_die_with_their_evaluator(void **state)
{
    (void)state;
    char program[4096], module[4096];
    int out[2];
    snprintf(program, sizeof program, "%s/tests/cell_orphan", RKB_BINARY_DIR);
    snprintf(module, sizeof module, "%s", module_path("at_load_hangs"));
    const char *argv[] = {program, module, NULL};
    assert_int_equal(pipe(out), 0);
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    params.argv = argv;
    params.stdout_fd = out[1];
    params.stderr_fd = -2;
    rkb_process_result_t result;
    rkb_error_t err = RKB_ERROR_INIT;
    assert_int_equal(rkb_process_run(&params, 20, &result, &err), RKB_OK);
    assert_int_equal(result.signal, SIGALRM);
    char text[32] = "";
    assert_true(read(out[0], text, sizeof text - 1) > 0);
    pid_t pid = (pid_t)atoi(text);
    assert_true(pid > 1);
    for (int i = 0; i < 50 && process_exists(pid); i++)
        rkb_clock_sleep(0.05);
    assert_false(process_exists(pid));
    close(out[0]);
    close(out[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_candidate_is_called_again_and_again),
        cmocka_unit_test(test_jail_is_in_force),
        cmocka_unit_test(test_threads_are_allowed),
        cmocka_unit_test(test_replaced_files_still_load),
        cmocka_unit_test(test_missing_file_is_ours),
        cmocka_unit_test(test_scalars_and_lists_arrive),
        cmocka_unit_test(test_mixed_lists_are_described),
        cmocka_unit_test(test_operators_are_delegated_inside_the_jail),
        cmocka_unit_test(test_torch_opened_by_the_candidate_is_delegation),
        cmocka_unit_test(test_write_past_the_end_is_found),
        cmocka_unit_test(test_what_a_candidate_says),
        cmocka_unit_test(test_load_errors_are_told),
        cmocka_unit_test(test_broken_cells_are_named),
        cmocka_unit_test(test_cell_that_speaks_early_is_ours),
        cmocka_unit_test(test_order_of_requests_is_kept),
        cmocka_unit_test(test_cells_die_with_their_evaluator),
    };
    return cmocka_run_group_tests(tests, scene_open_pool, scene_close_pool);
}
