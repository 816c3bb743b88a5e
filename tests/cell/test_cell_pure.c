/** What is decided about a cell from bytes alone: answers, guard bands, fates. */
#include "evaluator/cell/cell_host.h"
#include "evaluator/device/cpu/model.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

enum { ARENA = 1 << 20, HEAP = 1 << 16 };

static rkb_cell_call_t call = {.heap_offset = HEAP, .heap_bytes = ARENA - HEAP};

/* One float32 output [8,4] at 2 × HEAP, one allocation that holds it. */
static rkb_cell_returned_t *good(void)
{
    static rkb_cell_returned_t r;
    memset(&r, 0, sizeof r);
    r.noutputs = r.nallocs = 1;
    r.output_is_tensor[0] = r.output_in_arena[0] = 1;
    r.outputs[0] = (rkb_cell_tensor_t){
        .offset = 2 * HEAP, .dtype = RKB_F32, .ndim = 2, .sizes = {8, 4}, .strides = {4, 1}};
    r.heap_used = 2 * HEAP;
    r.allocs[0] = (rkb_cell_alloc_t){2 * HEAP, 128};
    return &r;
}

static bool accepted(rkb_cell_returned_t *r)
{
    char why[256] = "";
    bool ok = rkb_cell_check_returned(r, &call, ARENA, why, sizeof why);
    assert_int_equal(ok, why[0] == '\0');
    return ok;
}

static void test_good_answer_is_accepted(void **state)
{
    (void)state;
    assert_true(accepted(good()));
    rkb_cell_returned_t *r = good();
    r->outputs[0].offset = ARENA - 128; /* to the last byte */
    assert_true(accepted(r));
    r->outputs[0].offset++;
    assert_false(accepted(r));
    r = good();
    r->outputs[0].strides[0] = 0; /* expanded */
    assert_true(accepted(r));
    r = good();
    r->outputs[0].sizes[0] = 0; /* empty: nothing is addressed */
    r->outputs[0].offset = UINT64_MAX;
    assert_true(accepted(r));
    assert_int_equal(r->outputs[0].offset, 0);
}

static void test_output_bounds_cannot_overflow(void **state)
{
    (void)state;
    const struct {
        uint64_t offset;
        int64_t sizes[2], strides[2];
    } bad[] = {
        {UINT64_MAX, {8, 4}, {4, 1}},
        {UINT64_MAX - 127, {8, 4}, {4, 1}},
        {ARENA, {8, 4}, {4, 1}},
        {0, {INT64_MAX, 2}, {1, 1}},
        {0, {INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}},
        {0, {INT64_C(1) << 32, INT64_C(1) << 32}, {0, 0}},
        {0, {2, 1}, {INT64_MAX, 1}},
        {0, {2, 2}, {INT64_MAX, INT64_MAX}},
        {0, {3, 1}, {INT64_C(1) << 62, 1}},
        {0, {ARENA / 4 + 1, 1}, {1, 1}},
        {0, {2, 1}, {ARENA / 4, 1}},
        {0, {-1, 4}, {4, 1}},
        {0, {8, INT64_MIN}, {4, 1}},
        {0, {8, 4}, {-4, 1}},
        {0, {8, 4}, {4, INT64_MIN}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rkb_cell_returned_t *r = good();
        r->outputs[0].offset = bad[i].offset;
        memcpy(r->outputs[0].sizes, bad[i].sizes, sizeof bad[i].sizes);
        memcpy(r->outputs[0].strides, bad[i].strides, sizeof bad[i].strides);
        if (accepted(r))
            fail_msg("case %zu was accepted", i);
    }
}

static void test_random_answers_never_address_outside(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    int passed = 0;
    for (int round = 0; round < 100000; round++) {
        rkb_cell_returned_t *r = good();
        rkb_cell_tensor_t *t = &r->outputs[0];
        t->ndim = round % (RKB_MAX_DIMS + 1);
        for (int d = 0; d < t->ndim; d++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            t->sizes[d] = (int64_t)(x >> (1 + x % 63));
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            t->strides[d] = (int64_t)(x >> (1 + x % 63));
        }
        t->offset = x >> (x % 64);
        if (!accepted(r))
            continue;
        passed++;
        __uint128_t last = 0;
        bool empty = false;
        for (int d = 0; d < t->ndim; d++) {
            empty = empty || t->sizes[d] == 0;
            last += (__uint128_t)(t->sizes[d] ? t->sizes[d] - 1 : 0) * (__uint128_t)t->strides[d];
        }
        assert_true(empty || t->offset + (last + 1) * 4 <= ARENA);
    }
    assert_true(passed > 100);
}

static void test_counts_and_marks_are_bounded(void **state)
{
    (void)state;
    rkb_cell_returned_t *r = good();
    r->outputs[0].ndim = 99;
    assert_false(accepted(r));
    r->outputs[0].ndim = -1;
    assert_false(accepted(r));
    r = good();
    r->outputs[0].dtype = 8; /* a complex type of torch */
    assert_false(accepted(r));
    r = good();
    r->noutputs = RKB_CELL_MAX_OUTPUTS + 2;
    assert_false(accepted(r));
    r = good();
    r->noutputs = UINT32_MAX;
    assert_false(accepted(r));
    r = good();
    r->output_in_arena[0] = 2;
    assert_false(accepted(r));
    r = good();
    r->status = RKB_CALL_UNSUPPORTED + 1;
    assert_false(accepted(r));
    r = good();
    r->ndelegated = UINT32_MAX;
    assert_false(accepted(r));
    r = good();
    r->noutputs = RKB_CELL_MAX_OUTPUTS + 1; /* too many to describe, which may be told */
    assert_true(accepted(r));
}

static void test_allocations_lie_in_the_heap_in_order(void **state)
{
    (void)state;
    rkb_cell_returned_t *r = good();
    r->heap_used = ARENA;
    assert_false(accepted(r));
    const rkb_cell_alloc_t bad[] = {
        {0, 16},        {HEAP - 1, 16}, {3 * HEAP, 1}, {3 * HEAP - 16, 17}, {2 * HEAP, UINT64_MAX},
        {UINT64_MAX, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        r = good();
        r->allocs[0] = bad[i];
        if (accepted(r))
            fail_msg("case %zu was accepted", i);
    }
    r = good();
    r->nallocs = 2;
    r->allocs[1] = (rkb_cell_alloc_t){2 * HEAP + 127, 1}; /* overlaps the first */
    assert_false(accepted(r));
    r->allocs[1].offset++;
    assert_true(accepted(r));
    r->nallocs = RKB_CELL_MAX_ALLOCS + 2;
    assert_false(accepted(r));
}

static void test_strings_are_terminated_and_cleaned(void **state)
{
    (void)state;
    rkb_cell_returned_t *r = good();
    memset(r->text, '\x1b', sizeof r->text);
    memset(r->kernel, 0xff, sizeof r->kernel);
    memset(r->delegated, 'a', sizeof r->delegated);
    assert_true(accepted(r));
    assert_int_equal(strlen(r->text), RKB_CELL_TEXT - 1);
    assert_null(strchr(r->text, '\x1b'));
    assert_int_equal(r->kernel[0], '?');
    assert_int_equal(strlen(r->delegated[7]), RKB_CELL_NAME - 1);
}

static void test_what_is_no_tensor_is_cleared(void **state)
{
    (void)state;
    rkb_cell_returned_t *r = good();
    r->output_is_tensor[0] = 0;
    r->outputs[0].offset = UINT64_MAX;
    assert_true(accepted(r));
    assert_int_equal(r->outputs[0].offset, 0);
    assert_int_equal(r->output_in_arena[0], 0);
    r = good();
    r->output_in_arena[0] = 0; /* host memory: its shape counts, its place does not */
    r->outputs[0].offset = UINT64_MAX;
    assert_true(accepted(r));
    assert_int_equal(r->outputs[0].offset, 0);
}

/* ---- guard bands ---- */

#define POISON 0x7ffb7ff9u

enum { HEAP_AT = 4096, USED = 4096 };

static unsigned char heap[USED];
static const rkb_cell_alloc_t allocs[] = {{HEAP_AT + 1024, 10}, {HEAP_AT + 2560, 256}};

static void fill_heap(void)
{
    uint32_t poison = POISON;
    for (size_t i = 0; i < USED; i += 4)
        memcpy(heap + i, &poison, 4);
    memset(heap + 1024, 0xaa, 10);
    memset(heap + 2560, 0xbb, 256);
}

static rkb_verdict_t guards(rkb_finding_t *finding)
{
    return rkb_cell_guard_verdict(heap, USED, HEAP_AT, allocs, 2, POISON, finding);
}

static void test_whole_guards_are_ok(void **state)
{
    (void)state;
    rkb_finding_t finding;
    fill_heap();
    assert_int_equal(guards(&finding), RKB_VERDICT_OK);
    assert_int_equal(rkb_cell_guard_verdict(heap, 0, HEAP_AT, NULL, 0, POISON, &finding),
                     RKB_VERDICT_OK);
}

static void test_any_damaged_guard_byte_is_found(void **state)
{
    (void)state;
    rkb_finding_t finding;
    for (int i = 0; i < USED; i++) {
        if ((i >= 1024 && i < 1034) || (i >= 2560 && i < 2816))
            continue;
        fill_heap();
        heap[i] ^= 0x01;
        if (guards(&finding) != RKB_VERDICT_OUT_OF_BOUNDS)
            fail_msg("byte %d", i);
        assert_non_null(strstr(finding.detail, "1 byte outside"));
    }
}

static void test_damage_is_placed(void **state)
{
    (void)state;
    rkb_finding_t finding;
    fill_heap();
    memset(heap + 1034, 0, 6);
    assert_int_equal(guards(&finding), RKB_VERDICT_OUT_OF_BOUNDS);
    assert_non_null(strstr(finding.detail, "6 bytes outside of allocations were written, the first "
                                           "right behind the end of an allocation of 10 bytes"));
    fill_heap();
    memset(heap + 2556, 0, 4);
    assert_int_equal(guards(&finding), RKB_VERDICT_OUT_OF_BOUNDS);
    assert_non_null(strstr(finding.detail, "4 bytes before the start of an allocation of 256"));
}

static void test_guard_check_survives_bad_records(void **state)
{
    (void)state;
    rkb_finding_t finding;
    const rkb_cell_alloc_t bad[] = {{0, 10}, {HEAP_AT + USED - 1, 2}, {UINT64_MAX, UINT64_MAX}};
    fill_heap();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rkb_cell_guard_verdict(heap, i == 0 ? USED : USED, HEAP_AT, &bad[i], 1,
                                                POISON, &finding) == RKB_VERDICT_OK,
                         0);
}

/* ---- fates ---- */

static rkb_finding_t finding_of(rkb_cell_fate_t fate, rkb_cell_during_t during)
{
    rkb_finding_t finding;
    rkb_verdict_t verdict = rkb_cell_fate_verdict(&fate, during, &finding);
    assert_int_equal(verdict, finding.verdict);
    return finding;
}

#define assert_finding(_finding, _verdict, _text)                                                  \
    do {                                                                                           \
        rkb_finding_t _f = (_finding);                                                             \
        if (_f.verdict != (_verdict) || !strstr(_f.detail, _text))                                 \
            fail_msg("%s: %s", rkb_verdict_name(_f.verdict), _f.detail);                           \
    } while (0)

static rkb_cell_fate_t kernel_fate(rkb_fate_kind_t kind, int code)
{
    rkb_cell_fate_t fate = {.kind = kind, .code = code, .seconds = 2.5, .limit = 2};
    fate.status = (rkb_cell_status_t){.phase = RKB_PHASE_KERNEL,
                                      .kernel = "softmax",
                                      .block = {1, 2, 3},
                                      .thread = {4, 5, 6},
                                      .signal = code,
                                      .fault_address = 0x10};
    return fate;
}

static void test_fatal_signals_in_a_kernel(void **state)
{
    (void)state;
    assert_finding(finding_of(kernel_fate(RKB_FATE_SIGNALED, SIGSEGV), RKB_DURING_CALL),
                   RKB_VERDICT_ILLEGAL_ACCESS,
                   "in kernel softmax, block (1,2,3), thread (4,5,6) at address 0x10");
    assert_finding(finding_of(kernel_fate(RKB_FATE_SIGNALED, SIGBUS), RKB_DURING_CALL),
                   RKB_VERDICT_ILLEGAL_ACCESS, "softmax");
    assert_finding(finding_of(kernel_fate(RKB_FATE_SIGNALED, SIGFPE), RKB_DURING_CALL),
                   RKB_VERDICT_LAUNCH_FAILURE, "division by zero");
    assert_finding(finding_of(kernel_fate(RKB_FATE_SIGNALED, SIGABRT), RKB_DURING_CALL),
                   RKB_VERDICT_LAUNCH_FAILURE, "SIGABRT");
}

static void test_fatal_signals_elsewhere(void **state)
{
    (void)state;
    rkb_cell_fate_t fate = kernel_fate(RKB_FATE_SIGNALED, SIGSEGV);
    fate.status.phase = RKB_PHASE_HOST;
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_CRASH, "in its host code");
    fate.status.phase = RKB_PHASE_LOAD;
    assert_finding(finding_of(fate, RKB_DURING_LOAD), RKB_VERDICT_CRASH, "while it was loaded");
    fate.status.phase = 12345;
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_CRASH, "between two calls");
    fate.code = SIGKILL;
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_CRASH, "out of memory");
    fate.code = SIGSYS;
    fate.status.signal = SIGSYS;
    fate.status.fault_address = SYS_socket;
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_TAMPERING, "(socket)");
    fate.status.fault_address = UINT64_MAX;
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_TAMPERING, "forbidden");
}

static void test_exits_and_traps(void **state)
{
    (void)state;
    rkb_cell_fate_t fate = kernel_fate(RKB_FATE_EXITED, 0);
    fate.status.phase = RKB_PHASE_HOST;
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_CRASH, "exit code 0");
    fate.code = RKB_CPU_MODEL_EXIT;
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_CRASH, "exit code 97");
    strcpy(fate.status.text, "barrier deadlock");
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_CRASH, "exit code 97");
    const rkb_verdict_t verdicts[] = {RKB_VERDICT_LAUNCH_FAILURE, RKB_VERDICT_UNSUPPORTED,
                                      RKB_VERDICT_LAUNCH_FAILURE};
    for (uint32_t trap = 1; trap <= 3; trap++) {
        fate.status.trap = trap;
        assert_finding(finding_of(fate, RKB_DURING_CALL), verdicts[trap - 1], "barrier deadlock");
    }
}

static void test_timeout_protocol_and_ours(void **state)
{
    (void)state;
    assert_finding(finding_of(kernel_fate(RKB_FATE_TIMED_OUT, 0), RKB_DURING_CALL),
                   RKB_VERDICT_TIMEOUT, "still running at its limit of 2 s, in kernel softmax");
    rkb_cell_fate_t fate = {.kind = RKB_FATE_PROTOCOL, .text = "it closed its connection"};
    assert_finding(finding_of(fate, RKB_DURING_CALL), RKB_VERDICT_TAMPERING, "closed");
    fate.kind = RKB_FATE_OURS;
    assert_finding(finding_of(fate, RKB_DURING_LOAD), RKB_VERDICT_INFRA_ERROR, "closed");
}

static rkb_finding_t told(uint32_t status, int error, const char *text)
{
    rkb_cell_returned_t *r = good();
    rkb_finding_t finding;
    r->status = status;
    r->cuda_error = error;
    strcpy(r->kernel, "gemm");
    strcpy(r->text, text);
    rkb_cell_returned_verdict(r, &finding);
    return finding;
}

static void test_what_a_call_says_of_itself(void **state)
{
    (void)state;
    assert_finding(told(RKB_CALL_OK, 0, ""), RKB_VERDICT_OK, "");
    assert_finding(told(RKB_CALL_BAD_SIGNATURE, 0, "takes 2"), RKB_VERDICT_BAD_SIGNATURE, "takes");
    assert_finding(told(RKB_CALL_EXCEPTION, 0, "x must be 2D"), RKB_VERDICT_EXCEPTION, "2D");
    assert_finding(told(RKB_CALL_EXCEPTION, 0, ""), RKB_VERDICT_EXCEPTION, "no message");
    assert_finding(told(RKB_CALL_EXCEPTION, 0, "out of CUDA memory: 9 bytes do not fit"),
                   RKB_VERDICT_OUT_OF_MEMORY, "9 bytes");
    assert_finding(told(RKB_CALL_UNSUPPORTED, 0, "wmma"), RKB_VERDICT_UNSUPPORTED, "wmma");
    assert_finding(told(RKB_CALL_OK, 9, ""), RKB_VERDICT_LAUNCH_FAILURE,
                   "kernel gemm failed: error 9, cudaErrorInvalidConfiguration");
    assert_finding(told(RKB_CALL_EXCEPTION, 9, "CUDA error"), RKB_VERDICT_LAUNCH_FAILURE, "gemm");
    assert_finding(told(RKB_CALL_OK, 2, ""), RKB_VERDICT_OUT_OF_MEMORY, "Allocation");
    assert_finding(told(RKB_CALL_OK, -5, ""), RKB_VERDICT_LAUNCH_FAILURE, "error -5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_answer_is_accepted),
        cmocka_unit_test(test_output_bounds_cannot_overflow),
        cmocka_unit_test(test_random_answers_never_address_outside),
        cmocka_unit_test(test_counts_and_marks_are_bounded),
        cmocka_unit_test(test_allocations_lie_in_the_heap_in_order),
        cmocka_unit_test(test_strings_are_terminated_and_cleaned),
        cmocka_unit_test(test_what_is_no_tensor_is_cleared),
        cmocka_unit_test(test_whole_guards_are_ok),
        cmocka_unit_test(test_any_damaged_guard_byte_is_found),
        cmocka_unit_test(test_damage_is_placed),
        cmocka_unit_test(test_guard_check_survives_bad_records),
        cmocka_unit_test(test_fatal_signals_in_a_kernel),
        cmocka_unit_test(test_fatal_signals_elsewhere),
        cmocka_unit_test(test_exits_and_traps),
        cmocka_unit_test(test_timeout_protocol_and_ours),
        cmocka_unit_test(test_what_a_call_says_of_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
