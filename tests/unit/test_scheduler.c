#include "mpi_driver/scheduler.h"

#include "common/clock.h"
#include "common/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rkb_scheduler_t *create(int workers)
{
    rkb_scheduler_params_t params = {.workers = workers, .lease_grace = 10};
    rkb_scheduler_t *scheduler;
    assert_int_equal(rkb_scheduler_create(&params, &scheduler, NULL), RKB_OK);
    return scheduler;
}

static uint32_t add(rkb_scheduler_t *s, uint64_t candidate, uint64_t task, double cost)
{
    rkb_item_info_t info = {.candidate = candidate, .task = task, .cost = cost};
    uint32_t item;
    assert_int_equal(rkb_scheduler_add_item(s, &info, &item, NULL), RKB_OK);
    return item;
}

/* All waiting actions as text: "assign 0:2/1" is worker 0, item 2, attempt 1. */
static const char *actions(rkb_scheduler_t *s)
{
    static char text[4096];
    static const char *const names[] = {
        [RKB_ACT_ASSIGN] = "assign",    [RKB_ACT_RECORD] = "record", [RKB_ACT_DROP] = "drop",
        [RKB_ACT_CRASHED] = "crashed",  [RKB_ACT_STOP] = "stop",     [RKB_ACT_LOST] = "lost",
        [RKB_ACT_FINISHED] = "finished"};
    rkb_action_t action;
    size_t used = 0;
    text[0] = '\0';
    while (rkb_scheduler_next_action(s, &action)) {
        const char *space = used > 0 ? " " : "";
        if (action.kind == RKB_ACT_FINISHED) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%sfinished", space);
        } else if (action.kind == RKB_ACT_STOP || action.kind == RKB_ACT_LOST) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %d", space,
                                     names[action.kind], action.worker);
        } else {
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %d:%u/%u", space,
                                 names[action.kind], action.worker, action.item, action.attempt);
        }
        assert_true(used < sizeof(text));
    }
    return text;
}

static rkb_scheduler_counts_t counts(const rkb_scheduler_t *s)
{
    rkb_scheduler_counts_t out;
    rkb_scheduler_counts(s, &out);
    return out;
}

/* ---- every event in every state of a worker ---- */

typedef enum {
    ABSENT,
    IDLE,
    RUNNING,
    PREFETCHED,
    STOPPED,
    STOPPED_BUSY,
    GONE,
    LOST,
    STATES
} state_t;
typedef enum {
    READY,
    BEAT,
    NEW_ITEM,
    RESULT,
    RESULT_OF_SECOND,
    OLD_RESULT,
    LOSE,
    EXPIRE,
    DRAIN,
    PLAN_DONE,
    EVENTS
} event_t;

/*
 * Worker 0 is brought into the state; worker 1 is idle for good and takes what comes free, unless
 * the state needs it out of the way. Items 0 and 1 are what worker 0 may hold.
 */
static rkb_scheduler_t *in_state(state_t state)
{
    rkb_scheduler_t *s = create(1);
    if (state == ABSENT) {
        return s;
    }
    assert_int_equal(rkb_scheduler_worker_ready(s, 0, 0, NULL), RKB_OK);
    if (state != IDLE && state != STOPPED) {
        add(s, 1, 1, 5);
        if (state == PREFETCHED) {
            add(s, 1, 1, 5);
        }
    }
    if (state == STOPPED || state == STOPPED_BUSY || state == GONE) {
        rkb_scheduler_drain(s);
    }
    if (state == GONE || state == LOST) {
        assert_int_equal(rkb_scheduler_worker_lost(s, 0, 0, NULL), RKB_OK);
    }
    actions(s);
    return s;
}

static rkb_status_t raise_event(rkb_scheduler_t *s, event_t event)
{
    switch (event) {
    case READY:
        return rkb_scheduler_worker_ready(s, 0, 1, NULL);
    case BEAT:
        return rkb_scheduler_heartbeat(s, 0, 1, NULL);
    case NEW_ITEM:
        add(s, 9, 9, 1);
        return RKB_OK;
    case RESULT:
        return rkb_scheduler_result(s, 0, 0, 1, 1, NULL);
    case RESULT_OF_SECOND:
        return rkb_scheduler_result(s, 0, 1, 1, 1, NULL);
    case OLD_RESULT:
        return rkb_scheduler_result(s, 0, 0, 0, 1, NULL); /* no attempt has number 0 */
    case LOSE:
        return rkb_scheduler_worker_lost(s, 0, 1, NULL);
    case EXPIRE:
        rkb_scheduler_tick(s, 1);
        rkb_scheduler_tick(s, 100);
        return RKB_OK;
    case DRAIN:
        rkb_scheduler_drain(s);
        return RKB_OK;
    case PLAN_DONE:
        rkb_scheduler_plan_done(s);
        return RKB_OK;
    case EVENTS:
        break;
    }
    return RKB_ERR_INTERNAL;
}

#define REFUSED "refused"

static const char *const expected[STATES][EVENTS] = {
    [ABSENT] = {[READY] = "",
                [BEAT] = "",
                [NEW_ITEM] = "",
                [RESULT] = REFUSED,
                [RESULT_OF_SECOND] = REFUSED,
                [OLD_RESULT] = REFUSED,
                [LOSE] = "finished",
                [EXPIRE] = "lost 0 finished",
                [DRAIN] = "stop 0 finished",
                [PLAN_DONE] = "stop 0 finished"},
    [IDLE] = {[READY] = REFUSED,
              [BEAT] = "",
              [NEW_ITEM] = "assign 0:0/1",
              [RESULT] = REFUSED,
              [RESULT_OF_SECOND] = REFUSED,
              [OLD_RESULT] = REFUSED,
              [LOSE] = "finished",
              [EXPIRE] = "lost 0 finished",
              [DRAIN] = "stop 0 finished",
              [PLAN_DONE] = "stop 0 finished"},
    [RUNNING] = {[READY] = REFUSED,
                 [BEAT] = "",
                 [NEW_ITEM] = "assign 0:1/1",
                 [RESULT] = "record 0:0/1",
                 [RESULT_OF_SECOND] = REFUSED,
                 [OLD_RESULT] = REFUSED,
                 [LOSE] = "finished",
                 [EXPIRE] = "lost 0 finished",
                 [DRAIN] = "stop 0",
                 [PLAN_DONE] = ""},
    [PREFETCHED] = {[READY] = REFUSED,
                    [BEAT] = "",
                    [NEW_ITEM] = "",
                    [RESULT] = "record 0:0/1",
                    [RESULT_OF_SECOND] = "record 0:1/1",
                    [OLD_RESULT] = REFUSED,
                    [LOSE] = "finished",
                    [EXPIRE] = "lost 0 finished",
                    [DRAIN] = "stop 0",
                    [PLAN_DONE] = ""},
    [STOPPED] = {[READY] = "",
                 [BEAT] = "",
                 [NEW_ITEM] = "",
                 [RESULT] = REFUSED,
                 [RESULT_OF_SECOND] = REFUSED,
                 [OLD_RESULT] = REFUSED,
                 [LOSE] = "",
                 [EXPIRE] = "lost 0",
                 [DRAIN] = "",
                 [PLAN_DONE] = ""},
    [STOPPED_BUSY] = {[READY] = "",
                      [BEAT] = "",
                      [NEW_ITEM] = "",
                      [RESULT] = "record 0:0/1 finished",
                      [RESULT_OF_SECOND] = REFUSED,
                      [OLD_RESULT] = REFUSED,
                      [LOSE] = "finished",
                      [EXPIRE] = "lost 0 finished",
                      [DRAIN] = "",
                      [PLAN_DONE] = ""},
    [GONE] = {[READY] = "",
              [BEAT] = "",
              [NEW_ITEM] = "",
              [RESULT] = "drop 0:0/1",
              [RESULT_OF_SECOND] = REFUSED,
              [OLD_RESULT] = REFUSED,
              [LOSE] = "",
              [EXPIRE] = "",
              [DRAIN] = "",
              [PLAN_DONE] = ""},
    [LOST] = {[READY] = "",
              [BEAT] = "",
              [NEW_ITEM] = "",
              [RESULT] = "drop 0:0/1",
              [RESULT_OF_SECOND] = REFUSED,
              [OLD_RESULT] = REFUSED,
              [LOSE] = "",
              [EXPIRE] = "",
              [DRAIN] = "",
              [PLAN_DONE] = ""},
};

static void test_every_event_in_every_worker_state(void **state)
{
    (void)state;
    for (int from = 0; from < STATES; from++) {
        for (int event = 0; event < EVENTS; event++) {
            rkb_scheduler_t *s = in_state((state_t)from);
            rkb_scheduler_counts_t before = counts(s);
            rkb_status_t status = raise_event(s, (event_t)event);
            const char *got = status == RKB_ERR_PROTOCOL ? REFUSED : actions(s);
            assert_non_null(expected[from][event]);
            if (strcmp(got, expected[from][event]) != 0) {
                fail_msg("state %d, event %d: got \"%s\", want \"%s\"", from, event, got,
                         expected[from][event]);
            }
            if (status != RKB_OK) {
                rkb_scheduler_counts_t after = counts(s);
                assert_int_equal(status, RKB_ERR_PROTOCOL);
                assert_string_equal(actions(s), "");
                assert_memory_equal(&before, &after, sizeof(before));
            }
            rkb_scheduler_destroy(s);
        }
    }
}

static void test_strangers_are_refused(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(2);
    add(s, 1, 1, 1);
    static const int workers[] = {-1, 2, 1000000};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rkb_scheduler_worker_ready(s, workers[i], 0, NULL), RKB_ERR_PROTOCOL);
        assert_int_equal(rkb_scheduler_heartbeat(s, workers[i], 0, NULL), RKB_ERR_PROTOCOL);
        assert_int_equal(rkb_scheduler_worker_lost(s, workers[i], 0, NULL), RKB_ERR_PROTOCOL);
        assert_int_equal(rkb_scheduler_result(s, workers[i], 0, 1, 0, NULL), RKB_ERR_PROTOCOL);
    }
    assert_int_equal(rkb_scheduler_result(s, 0, 1, 1, 0, NULL), RKB_ERR_PROTOCOL);
    assert_int_equal(rkb_scheduler_result(s, 0, UINT32_MAX, 1, 0, NULL), RKB_ERR_PROTOCOL);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    /* Attempt 1 is worker 0's: another one cannot have its result. */
    assert_int_equal(rkb_scheduler_result(s, 1, 0, 1, 0, NULL), RKB_ERR_PROTOCOL);
    assert_string_equal(actions(s), "assign 0:0/1");
    rkb_scheduler_plan_done(s);
    rkb_item_info_t info = {.cost = 1};
    uint32_t item;
    assert_int_equal(rkb_scheduler_add_item(s, &info, &item, NULL), RKB_ERR_PROTOCOL);
    rkb_scheduler_destroy(s);
}

static void test_parameters_are_checked(void **state)
{
    (void)state;
    rkb_scheduler_t *s = NULL;
    const rkb_scheduler_params_t bad[] = {{.workers = 0},
                                          {.workers = -3},
                                          {.workers = 1, .crash_limit = -1},
                                          {.workers = 1, .crash_limit = 101},
                                          {.workers = 1, .lease_grace = -1}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(rkb_scheduler_create(&bad[i], &s, NULL), RKB_ERR_INVALID);
        assert_null(s);
    }
    rkb_scheduler_destroy(NULL);
}

/* ---- the order ---- */

static void test_longest_expected_goes_first(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(1);
    add(s, 1, 1, 1);
    add(s, 2, 2, 8);
    add(s, 3, 3, 3);
    rkb_scheduler_plan_done(s);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    assert_string_equal(actions(s), "assign 0:1/1 assign 0:2/1");
    rkb_scheduler_result(s, 0, 1, 1, 0, NULL);
    assert_string_equal(actions(s), "record 0:1/1 assign 0:0/1");
    rkb_scheduler_destroy(s);
}

static void test_costs_that_are_no_numbers_go_last(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(1);
    add(s, 0, 0, -1);
    add(s, 0, 0, 0.0 / 0.0);
    add(s, 0, 0, 1e300);
    add(s, 0, 0, 0.5);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    assert_string_equal(actions(s), "assign 0:3/1 assign 0:0/1");
    rkb_scheduler_destroy(s);
}

static void test_candidate_then_task_are_preferred(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(1);
    add(s, 10, 1, 9); /* first: longest */
    add(s, 20, 2, 8);
    add(s, 30, 1, 2); /* third: same task */
    add(s, 10, 3, 1); /* second: same candidate */
    rkb_scheduler_plan_done(s);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    assert_string_equal(actions(s), "assign 0:0/1 assign 0:3/1");
    rkb_scheduler_result(s, 0, 0, 1, 0, NULL);
    /* Item 3's task has no other; its candidate neither: longest. */
    assert_string_equal(actions(s), "record 0:0/1 assign 0:1/1");
    rkb_scheduler_destroy(s);
}

static void test_affinity_to_the_task(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(1);
    add(s, 10, 1, 9);
    add(s, 20, 2, 8);
    add(s, 30, 1, 2);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    assert_string_equal(actions(s), "assign 0:0/1 assign 0:2/1");
    rkb_scheduler_destroy(s);
}

static void test_near_the_end_the_longest_beats_affinity(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(2);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    rkb_scheduler_worker_ready(s, 1, 0, NULL);
    add(s, 10, 1, 9);
    add(s, 20, 2, 9);
    assert_string_equal(actions(s), "assign 0:0/1 assign 1:1/1");
    add(s, 10, 1, 1);
    assert_string_equal(actions(s), ""); /* one for two workers: not prefetched */
    add(s, 30, 3, 8); /* too long to be left for last, with so little else to do */
    assert_string_equal(actions(s), "assign 0:3/1");
    rkb_scheduler_destroy(s);
}

static void test_prefetch_is_one_and_not_of_the_last_items(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(3);
    for (int i = 0; i < 8; i++) {
        add(s, 0, 0, 1);
    }
    rkb_scheduler_plan_done(s);
    for (int i = 0; i < 3; i++) {
        rkb_scheduler_worker_ready(s, i, 0, NULL);
    }
    assert_string_equal(actions(s), "assign 0:0/1 assign 0:1/1 assign 1:2/1 assign 1:3/1 "
                                    "assign 2:4/1 assign 2:5/1");
    assert_int_equal(counts(s).queued, 2);
    rkb_scheduler_result(s, 0, 0, 1, 0, NULL);
    assert_string_equal(actions(s), "record 0:0/1"); /* 2 wait for 3 workers: whoever is free */
    rkb_scheduler_result(s, 0, 1, 1, 0, NULL);
    assert_string_equal(actions(s), "record 0:1/1 assign 0:6/1");
    rkb_scheduler_destroy(s);
}

static void test_workers_wait_while_the_plan_is_streaming(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(1);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    assert_string_equal(actions(s), "");
    add(s, 1, 1, 1);
    assert_string_equal(actions(s), "assign 0:0/1");
    rkb_scheduler_result(s, 0, 0, 1, 0, NULL);
    assert_string_equal(actions(s), "record 0:0/1");
    rkb_scheduler_plan_done(s);
    assert_string_equal(actions(s), "stop 0 finished");
    rkb_scheduler_destroy(s);
}

static void test_an_empty_plan_is_finished(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(2);
    rkb_scheduler_plan_done(s);
    assert_string_equal(actions(s), "stop 0 stop 1 finished");
    rkb_scheduler_worker_ready(s, 1, 0, NULL); /* it was late */
    assert_string_equal(actions(s), "");
    rkb_scheduler_destroy(s);
}

/* ---- losses ---- */

static void test_items_of_a_lost_worker_go_to_others(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(2);
    add(s, 0, 0, 3);
    add(s, 0, 0, 2);
    add(s, 0, 0, 1);
    rkb_scheduler_plan_done(s); /* two wait when the first is running: prefetched */
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    assert_string_equal(actions(s), "assign 0:0/1 assign 0:1/1");
    rkb_scheduler_worker_lost(s, 0, 1, NULL);
    assert_string_equal(actions(s), "");
    rkb_scheduler_worker_ready(s, 1, 2, NULL);
    /* What has cost a worker goes last; what was only prefetched keeps its place. */
    assert_string_equal(actions(s), "assign 1:1/2 assign 1:2/1");
    rkb_scheduler_result(s, 1, 1, 2, 3, NULL);
    assert_string_equal(actions(s), "record 1:1/2 assign 1:0/2");
    rkb_scheduler_result(s, 0, 0, 1, 4, NULL); /* the first worker was alive after all */
    assert_string_equal(actions(s), "drop 0:0/1");
    rkb_scheduler_result(s, 1, 0, 2, 4, NULL);
    rkb_scheduler_result(s, 1, 2, 1, 4, NULL);
    assert_string_equal(actions(s), "record 1:0/2 record 1:2/1 stop 1 finished");
    rkb_scheduler_counts_t c = counts(s);
    assert_int_equal(c.done, 3);
    assert_int_equal(c.workers_lost, 1);
    assert_true(c.cost_left == 0);
    rkb_scheduler_destroy(s);
}

static void test_an_item_that_loses_two_workers_is_a_crash(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(3);
    add(s, 0, 0, 9);
    rkb_scheduler_plan_done(s);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    rkb_scheduler_worker_lost(s, 0, 0, NULL);
    rkb_scheduler_worker_ready(s, 1, 0, NULL);
    assert_string_equal(actions(s), "assign 0:0/1 assign 1:0/2");
    rkb_scheduler_worker_lost(s, 1, 0, NULL);
    assert_string_equal(actions(s), "crashed 1:0/2 stop 2 finished");
    assert_int_equal(rkb_scheduler_result(s, 1, 0, 2, 0, NULL), RKB_OK);
    assert_string_equal(actions(s), "drop 1:0/2");
    assert_int_equal(counts(s).crashed, 1);
    assert_int_equal(counts(s).done, 0);
    rkb_scheduler_destroy(s);
}

static void test_a_prefetched_item_is_not_to_blame(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(2);
    add(s, 0, 0, 9);
    add(s, 0, 0, 5);
    add(s, 0, 0, 1);
    rkb_scheduler_plan_done(s);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    assert_string_equal(actions(s), "assign 0:0/1 assign 0:1/1");
    rkb_scheduler_worker_lost(s, 0, 0, NULL);
    rkb_scheduler_worker_ready(s, 1, 0, NULL);
    assert_string_equal(actions(s), "assign 1:1/2 assign 1:2/1");
    rkb_scheduler_worker_lost(s, 1, 0, NULL);
    /* Both of item 1's workers were lost, but only over the second did it run. */
    assert_string_equal(actions(s), "finished");
    assert_int_equal(counts(s).crashed, 0);
    assert_int_equal(counts(s).queued, 3);
    rkb_scheduler_destroy(s);
}

static void test_leases_end_in_silence_only(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(3);
    add(s, 0, 0, 1);
    rkb_scheduler_tick(s, 100); /* leases begin now */
    rkb_scheduler_worker_ready(s, 0, 101, NULL);
    rkb_scheduler_worker_ready(s, 1, 101, NULL);
    actions(s);
    rkb_scheduler_tick(s, 109);
    assert_string_equal(actions(s), "");
    rkb_scheduler_heartbeat(s, 0, 110, NULL);
    rkb_scheduler_tick(s, 110.5);
    assert_string_equal(actions(s), "lost 2"); /* was never heard of */
    rkb_scheduler_tick(s, 112);
    assert_string_equal(actions(s), "lost 1");
    rkb_scheduler_tick(s, 120);
    assert_string_equal(actions(s), "");
    rkb_scheduler_tick(s, 120.5);
    assert_string_equal(actions(s), "lost 0 finished"); /* nobody is left for item 0 */
    assert_int_equal(counts(s).queued, 1);
    assert_int_equal(counts(s).workers_lost, 3);
    rkb_scheduler_destroy(s);
}

static void test_drain_finishes_what_runs_and_returns_the_rest(void **state)
{
    (void)state;
    rkb_scheduler_t *s = create(2);
    for (int i = 0; i < 6; i++) {
        add(s, 0, 0, 1);
    }
    rkb_scheduler_plan_done(s);
    rkb_scheduler_worker_ready(s, 0, 0, NULL);
    actions(s);
    rkb_scheduler_drain(s);
    assert_string_equal(actions(s), "stop 0 stop 1");
    rkb_scheduler_worker_ready(s, 1, 0, NULL);
    assert_string_equal(actions(s), "");
    rkb_scheduler_result(s, 0, 0, 1, 0, NULL);
    assert_string_equal(actions(s), "record 0:0/1");
    rkb_scheduler_worker_lost(s, 0, 0, NULL); /* has gone, with one only prefetched */
    assert_string_equal(actions(s), "finished");
    rkb_scheduler_counts_t c = counts(s);
    assert_int_equal(c.done, 1);
    assert_int_equal(c.queued, 5);
    assert_int_equal(c.crashed, 0);
    assert_int_equal(c.workers_lost, 0);
    rkb_scheduler_destroy(s);
}

/* ---- anything may happen ---- */

typedef struct {
    uint64_t state;
} random_t;

static uint64_t draw(random_t *random, uint64_t below)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return rkb_mix64(random->state) % below;
}

enum { MAX_WORKERS = 12, MAX_ITEMS = 60 };

typedef struct {
    uint32_t item[2], attempt[2];
    int held;
    bool ready, dead, stopped;
} sim_worker_t;

typedef struct {
    rkb_scheduler_t *s;
    random_t random;
    sim_worker_t workers[MAX_WORKERS];
    int worker_count;
    uint32_t item_count;
    int ended[MAX_ITEMS];         /* recorded or crashed: once at most */
    int deaths[MAX_ITEMS];        /* workers that died with it running */
    uint32_t attempts[MAX_ITEMS]; /* latest assignment */
    int holder[MAX_ITEMS];        /* live worker that has the latest attempt, or -1 */
    int crashed;
    bool finished, drained;
} sim_t;

static void sim_take_actions(sim_t *sim)
{
    rkb_action_t a;
    while (rkb_scheduler_next_action(sim->s, &a)) {
        assert_false(sim->finished && a.kind == RKB_ACT_ASSIGN);
        switch (a.kind) {
        case RKB_ACT_ASSIGN: {
            sim_worker_t *w = &sim->workers[a.worker];
            assert_true(w->ready && !w->dead && !w->stopped && w->held < 2);
            assert_int_equal(sim->ended[a.item], 0);
            assert_int_equal(sim->holder[a.item], -1); /* never two live attempts */
            assert_int_equal(a.attempt, sim->attempts[a.item] + 1);
            sim->attempts[a.item] = a.attempt;
            sim->holder[a.item] = a.worker;
            w->item[w->held] = a.item;
            w->attempt[w->held++] = a.attempt;
            break;
        }
        case RKB_ACT_RECORD:
            assert_int_equal(a.attempt, sim->attempts[a.item]);
            assert_int_equal(sim->ended[a.item]++, 0);
            break;
        case RKB_ACT_CRASHED:
            assert_int_equal(sim->ended[a.item]++, 0);
            assert_int_equal(sim->deaths[a.item], 2);
            sim->crashed++;
            break;
        case RKB_ACT_STOP:
            sim->workers[a.worker].stopped = true;
            break;
        case RKB_ACT_FINISHED:
            assert_false(sim->finished);
            sim->finished = true;
            break;
        case RKB_ACT_DROP:
        case RKB_ACT_LOST:
            break;
        }
    }
}

static void sim_finish_one(sim_t *sim, int index)
{
    sim_worker_t *w = &sim->workers[index];
    uint32_t item = w->item[0], attempt = w->attempt[0];
    w->item[0] = w->item[1];
    w->attempt[0] = w->attempt[1];
    w->held--;
    sim->holder[item] = -1;
    assert_int_equal(rkb_scheduler_result(sim->s, index, item, attempt, 0, NULL), RKB_OK);
    sim_take_actions(sim);
    if (draw(&sim->random, 4) == 0) { /* sent again before the ack came */
        assert_int_equal(rkb_scheduler_result(sim->s, index, item, attempt, 0, NULL), RKB_OK);
        sim_take_actions(sim);
    }
}

static void sim_kill(sim_t *sim, int index)
{
    sim_worker_t *w = &sim->workers[index];
    w->dead = true;
    for (int i = 0; i < w->held; i++) {
        sim->holder[w->item[i]] = -1;
        sim->deaths[w->item[i]] += i == 0 && !w->stopped;
    }
    assert_int_equal(rkb_scheduler_worker_lost(sim->s, index, 0, NULL), RKB_OK);
    sim_take_actions(sim);
    if (w->held > 0 && draw(&sim->random, 2) == 0) { /* it was alive: its result comes late */
        assert_int_equal(rkb_scheduler_result(sim->s, index, w->item[0], w->attempt[0], 0, NULL),
                         RKB_OK);
        sim_take_actions(sim);
    }
}

static void sim_step(sim_t *sim, bool may_kill)
{
    int index = (int)draw(&sim->random, (uint64_t)sim->worker_count);
    sim_worker_t *w = &sim->workers[index];
    uint64_t what = draw(&sim->random, 100);
    if (w->dead) {
        return;
    }
    if (!w->ready) {
        w->ready = true;
        assert_int_equal(rkb_scheduler_worker_ready(sim->s, index, 0, NULL), RKB_OK);
        sim_take_actions(sim);
    } else if (what < 8 && may_kill) {
        sim_kill(sim, index);
    } else if (w->held > 0) {
        sim_finish_one(sim, index);
    } else if (w->stopped) {
        w->dead = true;
        assert_int_equal(rkb_scheduler_worker_lost(sim->s, index, 0, NULL), RKB_OK);
        sim_take_actions(sim);
    }
    rkb_scheduler_counts_t c = counts(sim->s);
    assert_int_equal(c.items, c.queued + c.assigned + c.done + c.crashed);
}

static void simulate(uint64_t seed)
{
    sim_t sim = {.random = {seed}};
    sim.worker_count = 1 + (int)draw(&sim.random, MAX_WORKERS);
    uint32_t items = (uint32_t)draw(&sim.random, MAX_ITEMS + 1);
    bool drains = draw(&sim.random, 5) == 0;
    sim.s = create(sim.worker_count);
    for (int i = 0; i < MAX_ITEMS; i++) {
        sim.holder[i] = -1;
    }
    for (int step = 0; step < 20000 && !sim.finished; step++) {
        if (sim.item_count < items && draw(&sim.random, 3) > 0) {
            add(sim.s, draw(&sim.random, 8), draw(&sim.random, 4), (double)draw(&sim.random, 5));
            sim.item_count++;
            sim_take_actions(&sim);
        } else if (sim.item_count == items && step > 0) {
            rkb_scheduler_plan_done(sim.s);
            sim_take_actions(&sim);
        }
        if (drains && !sim.drained && draw(&sim.random, 100) == 0) {
            sim.drained = true;
            rkb_scheduler_drain(sim.s);
            sim_take_actions(&sim);
        }
        sim_step(&sim, true);
    }
    assert_true(sim.finished);
    rkb_scheduler_counts_t c = counts(sim.s);
    uint32_t ended = 0, alive = 0;
    for (uint32_t i = 0; i < sim.item_count; i++) {
        ended += (uint32_t)sim.ended[i];
    }
    for (int i = 0; i < sim.worker_count; i++) {
        alive += !sim.workers[i].dead;
    }
    assert_int_equal(c.done + c.crashed, ended);
    assert_int_equal(c.crashed, sim.crashed);
    if (!sim.drained && alive > 0) {
        assert_int_equal(ended, items); /* each item ends, exactly once */
    }
    rkb_scheduler_destroy(sim.s);
}

static void test_each_item_ends_once_whatever_dies(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        simulate(seed * 7919);
    }
}

static void test_many_items_cost_little_each(void **state)
{
    (void)state;
    enum { ITEMS = 200000, WORKERS = 256 };
    rkb_scheduler_t *s = create(WORKERS);
    double start = rkb_clock_now();
    for (uint32_t i = 0; i < ITEMS; i++) {
        add(s, 1 + i / 8, 1 + i % 250, (double)(rkb_mix64(i) % 100));
    }
    rkb_scheduler_plan_done(s);
    for (int i = 0; i < WORKERS; i++) {
        rkb_scheduler_worker_ready(s, i, 0, NULL);
    }
    rkb_action_t a;
    bool finished = false;
    while (rkb_scheduler_next_action(s, &a)) {
        if (a.kind == RKB_ACT_ASSIGN) {
            assert_int_equal(rkb_scheduler_result(s, a.worker, a.item, a.attempt, 0, NULL), RKB_OK);
        }
        finished = finished || a.kind == RKB_ACT_FINISHED;
    }
    assert_true(finished);
    assert_int_equal(counts(s).done, ITEMS);
    double each = (rkb_clock_now() - start) / ITEMS;
    /* A scan over items or workers would take 100 times this bound, which itself is generous. */
    print_message("%.2f us per item\n", each * 1e6);
    assert_true(each < 50e-6);
    rkb_scheduler_destroy(s);
}

static void test_the_tables_can_be_drawn(void **state)
{
    (void)state;
    char *text = rkb_scheduler_explain();
    assert_non_null(strstr(text, "QUEUED -> ASSIGNED [label=\"ASSIGN / SEND\"]"));
    assert_non_null(strstr(text, "PREFETCHED -> LOST [label=\"LOSE / MOURN\"]"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_event_in_every_worker_state),
        cmocka_unit_test(test_strangers_are_refused),
        cmocka_unit_test(test_parameters_are_checked),
        cmocka_unit_test(test_longest_expected_goes_first),
        cmocka_unit_test(test_costs_that_are_no_numbers_go_last),
        cmocka_unit_test(test_candidate_then_task_are_preferred),
        cmocka_unit_test(test_affinity_to_the_task),
        cmocka_unit_test(test_near_the_end_the_longest_beats_affinity),
        cmocka_unit_test(test_prefetch_is_one_and_not_of_the_last_items),
        cmocka_unit_test(test_workers_wait_while_the_plan_is_streaming),
        cmocka_unit_test(test_an_empty_plan_is_finished),
        cmocka_unit_test(test_items_of_a_lost_worker_go_to_others),
        cmocka_unit_test(test_an_item_that_loses_two_workers_is_a_crash),
        cmocka_unit_test(test_a_prefetched_item_is_not_to_blame),
        cmocka_unit_test(test_leases_end_in_silence_only),
        cmocka_unit_test(test_drain_finishes_what_runs_and_returns_the_rest),
        cmocka_unit_test(test_each_item_ends_once_whatever_dies),
        cmocka_unit_test(test_many_items_cost_little_each),
        cmocka_unit_test(test_the_tables_can_be_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
