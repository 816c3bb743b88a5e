/**
 * Hostile candidates: each ends with its own verdict, the next cell works, and no process is left
 * over.
 */
#include "scene.h"

#include "common/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_load_fate(const char *module, double limit, rkb_verdict_t verdict,
                             const char *text)
{
    scene_t s;
    scene_open(&s);
    assert_int_not_equal(scene_load(&s, module, "twice", limit), RKB_FATE_OK);
    rkb_cell_fate_verdict(&s.fate, RKB_DURING_LOAD, &s.finding);
    if (s.finding.verdict != verdict || !strstr(s.finding.detail, text))
        fail_msg("%s: %s: %s", module, rkb_verdict_name(s.finding.verdict), s.finding.detail);
    scene_close(&s);
    expect_next_works();
}

static void test_deeds_at_load_time(void **state)
{
    (void)state;
    expect_load_fate("at_load_exits", 10, RKB_VERDICT_CRASH, "exit code 0 while it was loaded");
    expect_load_fate("at_load_segfault", 10, RKB_VERDICT_CRASH, "while it was loaded");
    expect_load_fate("at_load_hangs", 0.5, RKB_VERDICT_TIMEOUT, "while it was loaded");
    expect_load_fate("at_load_floods", 10, RKB_VERDICT_TAMPERING, "interfered");
    expect_load_fate("at_load_forks", 10, RKB_VERDICT_TAMPERING, "while it was loaded");
    expect_load_fate("at_load_closes_everything", 10, RKB_VERDICT_TAMPERING, "closed");
}

/* ---- deaths ---- */

static void test_crashes(void **state)
{
    (void)state;
    expect_fate("segfault", 10, RKB_VERDICT_CRASH, "at address 0x10 in its host code");
    expect_fate("kernel_segfault", 10, RKB_VERDICT_ILLEGAL_ACCESS,
                "in kernel hostile_kernel, block (1,0,0), thread (3,0,0) at address 0x10");
    expect_fate("kernel_trap", 10, RKB_VERDICT_LAUNCH_FAILURE, "assertion `i < n' failed");
    expect_fate("kernel_division", 10, RKB_VERDICT_LAUNCH_FAILURE, "division by zero");
    expect_fate("kernel_unsupported", 10, RKB_VERDICT_UNSUPPORTED, "inline PTX");
    expect_fate("aborts", 10, RKB_VERDICT_CRASH, "in its host code");
    expect_fate("exits", 10, RKB_VERDICT_CRASH, "exit code 0");
    expect_fate("exits_like_runtime", 10, RKB_VERDICT_CRASH, "exit code 97");
    expect_fate("overflows_stack", 10, RKB_VERDICT_CRASH, "in its host code");
    expect_fate("kills_itself", 10, RKB_VERDICT_CRASH, "killed");
}

static void test_sanitizer_reports_become_verdicts(void **state)
{
    (void)state;
#ifdef RKB_SANITIZED
    expect_fate("kernel_smash", 10, RKB_VERDICT_ILLEGAL_ACCESS, "heap-buffer-overflow");
#else
    skip(); /* nobody watches the heap in this build */
#endif
}

static void test_hangs_end_at_the_deadline(void **state)
{
    (void)state;
    expect_fate("hangs", 0.3, RKB_VERDICT_TIMEOUT, "in its host code");
    expect_fate("kernel_hang", 0.3, RKB_VERDICT_TIMEOUT, "in kernel hostile_kernel");
}

static void test_crash_between_calls_is_seen_at_the_next(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "crashes_later");
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    rkb_clock_sleep(0.3);
    assert_int_equal(scene_call(&s, 10), RKB_FATE_SIGNALED);
    rkb_cell_fate_verdict(&s.fate, RKB_DURING_CALL, &s.finding);
    assert_int_equal(s.finding.verdict, RKB_VERDICT_CRASH);
    assert_non_null(strstr(s.finding.detail, "between two calls"));
    scene_close(&s);
}

static void test_memory_is_limited(void **state)
{
    (void)state;
#ifdef RKB_SANITIZED
    skip(); /* AddressSanitizer's shadow needs more than any limit */
#endif
    rkb_cell_pool_set_limits(scene_pool, 256 << 20, 0);
    expect_fate("eats_memory", 20, RKB_VERDICT_EXCEPTION, "refused after 2");
    rkb_cell_pool_set_limits(scene_pool, UINT64_C(4) << 30, 0);
}

/* ---- attacks ---- */

static void test_attacks_that_end_the_cell(void **state)
{
    (void)state;
    expect_fate("forks", 10, RKB_VERDICT_TAMPERING, "in its host code");
    expect_fate("executes", 10, RKB_VERDICT_TAMPERING, "(execve)");
    expect_fate("kills_parent", 10, RKB_VERDICT_TAMPERING, "(kill)");
    expect_fate("kills_group", 10, RKB_VERDICT_TAMPERING, "(kill)");
    expect_fate("traces_parent", 10, RKB_VERDICT_TAMPERING, "(ptrace)");
    expect_fate("reads_parent", 10, RKB_VERDICT_TAMPERING, "(process_vm_readv)");
    expect_fate("opens_socket", 10, RKB_VERDICT_TAMPERING, "(socket)");
    expect_fate("masks_sigsys", 10, RKB_VERDICT_TAMPERING, "(socket)");
    expect_fate("starts_namespace", 10, RKB_VERDICT_TAMPERING, "(unshare)");
}

static void test_attacks_that_are_denied(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "twice");
    bool landlock = rkb_cell_jail_bits(s.cell) & RKB_JAIL_LANDLOCK;
    print_message("Landlock: %s\n", landlock ? "yes" : "no");
    scene_close(&s);
    static const char *const always[] = {"creates_file",        "writes_null",       "removes_file",
                                         "makes_folder",        "changes_mode",      "makes_memfd",
                                         "outlives_parent",     "leaves_group",      "raises_limit",
                                         "opens_parent_memory", "opens_local_socket"};
    static const char *const by_landlock[] = {"lists_proc", "reads_passwd"};
    int victim = open("/tmp/rkb-hostile-victim", O_WRONLY | O_CREAT, 0600);
    assert_true(victim >= 0);
    close(victim);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        expect_denied(always[i]);
    for (size_t i = 0; landlock && i < sizeof by_landlock / sizeof *by_landlock; i++)
        expect_denied(by_landlock[i]);
    assert_int_equal(unlink("/tmp/rkb-hostile-victim"), 0);
    assert_int_not_equal(access("/tmp/rkb-hostile", F_OK), 0);
    assert_int_not_equal(access("/tmp/rkb-hostile-folder", F_OK), 0);
}

static void test_lies_are_tampering(void **state)
{
    (void)state;
    expect_fate("odd_status", 10, RKB_VERDICT_TAMPERING, "unknown call status 77");
    expect_fate("forges_enormous", 10, RKB_VERDICT_TAMPERING, "beyond all memory");
    expect_fate("forges_outside", 10, RKB_VERDICT_TAMPERING, "of an arena of");
    expect_fate("floods", 10, RKB_VERDICT_TAMPERING, "no \"returned\" message");
    expect_fate("closes_everything", 10, RKB_VERDICT_TAMPERING, "closed its connection");
    expect_fate("closes_and_returns", 10, RKB_VERDICT_CRASH, "exit code 70");
}

static void test_forged_answer_is_noticed_at_the_next_call(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "forges");
    /* What it says is believed as far as it goes: the output lies at offset 0, where no y is. */
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    assert_int_equal(s.returned.outputs[0].offset, 0);
    rkb_clock_sleep(0.1);
    assert_int_equal(scene_call(&s, 10), RKB_FATE_PROTOCOL);
    assert_non_null(strstr(s.fate.text, "nobody had asked for"));
    scene_close(&s);
    expect_next_works();
}

static void test_rubbish_on_the_status_page_is_harmless(void **state)
{
    (void)state;
    scene_t s;
    load_entry(&s, "scribbles");
    assert_int_equal(scene_call(&s, 20), RKB_FATE_SIGNALED);
    rkb_cell_fate_verdict(&s.fate, RKB_DURING_CALL, &s.finding);
    if (s.finding.verdict != RKB_VERDICT_ILLEGAL_ACCESS)
        fail_msg("%s", s.finding.detail);
    assert_int_equal(s.finding.verdict, RKB_VERDICT_ILLEGAL_ACCESS);
    for (const char *c = s.finding.detail; *c; c++)
        assert_true(*c >= ' ' && *c <= '~');
    assert_int_equal(strlen(s.fate.status.text), RKB_CELL_TEXT - 1);
    scene_close(&s);
    expect_next_works();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deeds_at_load_time),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_sanitizer_reports_become_verdicts),
        cmocka_unit_test(test_hangs_end_at_the_deadline),
        cmocka_unit_test(test_crash_between_calls_is_seen_at_the_next),
        cmocka_unit_test(test_memory_is_limited),
        cmocka_unit_test(test_attacks_that_end_the_cell),
        cmocka_unit_test(test_attacks_that_are_denied),
        cmocka_unit_test(test_lies_are_tampering),
        cmocka_unit_test(test_forged_answer_is_noticed_at_the_next_call),
        cmocka_unit_test(test_rubbish_on_the_status_page_is_harmless),
    };
    return cmocka_run_group_tests(tests, scene_open_pool, scene_close_pool);
}
