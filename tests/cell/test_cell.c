/**
 * Real cells and hostile candidates: each ends with its own verdict, the next cell works, and no
 * process is left over.
 */
#include "common/clock.h"
#include "common/file.h"
#include "common/process.h"
#include "evaluator/cell/cell_host.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARENA = 8 << 20, HEAP = 1 << 20, X_AT = 4096, X_COUNT = 4 };
#define POISON 0x7ffb7ffbu

static rkb_cell_pool_t *pool;

typedef struct {
    rkb_cell_t *cell;
    int arena_fd;
    unsigned char *arena;
    pid_t pid;
    rkb_cell_loaded_t loaded;
    rkb_cell_call_t call;
    rkb_cell_returned_t returned;
    rkb_cell_fate_t fate;
    rkb_finding_t finding;
} scene_t;

static const char *module_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/cell/modules/%s.so", RKB_BINARY_DIR, name);
    return path;
}

static bool process_exists(pid_t pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    const char *state = strrchr(line, ')');
    return state && state[2] != 'Z';
}

static void scene_open(scene_t *s)
{
    rkb_error_t err = RKB_ERROR_INIT;
    memset(s, 0, sizeof *s);
    if (rkb_cell_pool_take(pool, &s->cell, &err) != RKB_OK)
        fail_msg("%s", err.text);
    s->pid = rkb_cell_pid(s->cell);
    s->arena_fd = memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(s->arena_fd, ARENA), 0);
    s->arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, s->arena_fd, 0);
    assert_true(s->arena != MAP_FAILED);
    const float x[X_COUNT] = {1, 2, 3, 4};
    memcpy(s->arena + X_AT, x, sizeof x);
    s->call = (rkb_cell_call_t){
        .heap_offset = HEAP, .heap_bytes = ARENA - HEAP, .poison = POISON, .nargs = 1};
    s->call.args[0].kind = RKB_VALUE_TENSOR;
    s->call.args[0].tensor = (rkb_cell_tensor_t){
        .offset = X_AT, .dtype = RKB_F32, .ndim = 1, .sizes = {X_COUNT}, .strides = {1}};
}

static void scene_close(scene_t *s)
{
    rkb_cell_destroy(s->cell);
    munmap(s->arena, ARENA);
    close(s->arena_fd);
    assert_false(process_exists(s->pid));
}

static rkb_fate_kind_t scene_load(scene_t *s, const char *module, const char *entry, double limit)
{
    return rkb_cell_load(s->cell, module_path(module), entry, s->arena_fd, ARENA,
                         rkb_clock_now() + limit, &s->loaded, &s->fate);
}

static rkb_fate_kind_t scene_call(scene_t *s, double limit)
{
    return rkb_cell_call(s->cell, &s->call, rkb_clock_now() + limit, &s->returned, &s->fate);
}

static void load_entry(scene_t *s, const char *entry)
{
    scene_open(s);
    if (scene_load(s, "hostile", entry, 10) != RKB_FATE_OK || s->loaded.status != RKB_LOADED_OK) {
        rkb_cell_fate_verdict(&s->fate, RKB_DURING_LOAD, &s->finding);
        fail_msg("%s: load: %s %s", entry, s->finding.detail, s->loaded.text);
    }
}

static void expect_output(const scene_t *s)
{
    assert_int_equal(s->returned.noutputs, 1);
    assert_int_equal(s->returned.output_is_tensor[0], 1);
    assert_int_equal(s->returned.output_in_arena[0], 1);
    const rkb_cell_tensor_t *y = &s->returned.outputs[0];
    assert_int_equal(y->dtype, RKB_F32);
    assert_int_equal(y->ndim, 1);
    assert_int_equal(y->sizes[0], X_COUNT);
    for (int i = 0; i < X_COUNT; i++) {
        float value;
        memcpy(&value, s->arena + y->offset + (size_t)i * 4, 4);
        assert_true(value == 2 * (float)(i + 1));
    }
}

/* A fresh cell does its work whatever the one before did. */
static void expect_next_works(void)
{
    scene_t s;
    load_entry(&s, "twice");
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    expect_output(&s);
    scene_close(&s);
}

static void expect_fate(const char *entry, double limit, rkb_verdict_t verdict, const char *text)
{
    scene_t s;
    load_entry(&s, entry);
    double started = rkb_clock_now();
    rkb_fate_kind_t kind = scene_call(&s, limit);
    assert_int_equal(kind, s.fate.kind);
    rkb_verdict_t got = kind == RKB_FATE_OK
                            ? rkb_cell_returned_verdict(&s.returned, &s.finding)
                            : rkb_cell_fate_verdict(&s.fate, RKB_DURING_CALL, &s.finding);
    if (got != verdict || !strstr(s.finding.detail, text))
        fail_msg("%s: %s: %s; expected %s with \"%s\"", entry, rkb_verdict_name(got),
                 s.finding.detail, rkb_verdict_name(verdict), text);
    assert_true(rkb_clock_now() - started < limit + 5);
    if (kind != RKB_FATE_OK) {
        assert_false(process_exists(s.pid));
        assert_int_equal(scene_call(&s, 1), RKB_FATE_OURS); /* a dead cell takes no call */
    }
    scene_close(&s);
    expect_next_works();
}

static void expect_denied(const char *entry)
{
    expect_fate(entry, 10, RKB_VERDICT_EXCEPTION, "denied");
}

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

static void test_load_errors_are_told(void **state)
{
    (void)state;
    expect_load("hostile", "nowhere_to_be_found", RKB_LOADED_NO_ENTRY, "twice(Tensor) -> Tensor");
    expect_load("does_not_exist", "twice", RKB_LOADED_LOAD_ERROR, "does_not_exist");
    expect_load("plain", "twice", RKB_LOADED_LOAD_ERROR, RKB_MODULE_SYMBOL);
    expect_load("throwing_module", "twice", RKB_LOADED_LOAD_ERROR, "the body threw");
    expect_load("other_abi", "twice", RKB_LOADED_LOAD_ERROR, "version 99");
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
    rkb_cell_pool_set_limits(pool, 256 << 20, 0);
    expect_fate("eats_memory", 20, RKB_VERDICT_EXCEPTION, "refused after 2");
    rkb_cell_pool_set_limits(pool, UINT64_C(4) << 30, 0);
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
    rkb_cell_pool_t *own, *before = pool;
    rkb_error_t err = RKB_ERROR_INIT;
    snprintf(prefix, sizeof prefix, "%s/tests/cell/fake_overtakes", RKB_BINARY_DIR);
    setenv("RKB_PREFIX", prefix, 1);
    assert_int_equal(rkb_cell_pool_create(&own, &err), RKB_OK);
    unsetenv("RKB_PREFIX");
    pool = own;
    scene_t s;
    scene_open(&s);
    pool = before;
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

static int open_pool(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_cell_pool_create(&pool, &err) == RKB_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int close_pool(void **state)
{
    (void)state;
    rkb_cell_pool_destroy(pool);
    errno = 0;
    if (waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD)
        return 0;
    print_error("a process is left over\n");
    return -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_candidate_is_called_again_and_again),
        cmocka_unit_test(test_jail_is_in_force),
        cmocka_unit_test(test_threads_are_allowed),
        cmocka_unit_test(test_scalars_and_lists_arrive),
        cmocka_unit_test(test_mixed_lists_are_described),
        cmocka_unit_test(test_operators_are_delegated_inside_the_jail),
        cmocka_unit_test(test_torch_opened_by_the_candidate_is_delegation),
        cmocka_unit_test(test_write_past_the_end_is_found),
        cmocka_unit_test(test_what_a_candidate_says),
        cmocka_unit_test(test_load_errors_are_told),
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
        cmocka_unit_test(test_broken_cells_are_named),
        cmocka_unit_test(test_cell_that_speaks_early_is_ours),
        cmocka_unit_test(test_order_of_requests_is_kept),
        cmocka_unit_test(test_cells_die_with_their_evaluator),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
