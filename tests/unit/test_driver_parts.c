#include "unit.h"

#include "common/hash.h"
#include "mpi_driver/item_store.h"
#include "mpi_driver/message.h"
#include "mpi_driver/progress.h"
#include "mpi_driver/queue.h"
#include "mpi_driver/settings.h"
#include "mpi_driver/transport.h"

#include <sys/stat.h>

/* ---- queue ---- */

enum { QUEUE_ITEMS = 300, GROUPS = 7 };

typedef struct {
    double cost;
    unsigned losses;
    uint64_t candidate, task;
    bool waits;
} model_t;

static uint32_t best(const model_t *items, const model_t *like, bool by_task)
{
    uint32_t found = RKB_QUEUE_NONE;
    for (uint32_t i = 0; i < QUEUE_ITEMS; i++) {
        bool alike = like == NULL ||
                     (by_task ? like->task != 0 && items[i].task == like->task
                              : like->candidate != 0 && items[i].candidate == like->candidate);
        if (!items[i].waits || !alike) {
            continue;
        }
        const model_t *old = found == RKB_QUEUE_NONE ? NULL : &items[found];
        if (old == NULL || items[i].losses < old->losses ||
            (items[i].losses == old->losses && items[i].cost > old->cost)) {
            found = i;
        }
    }
    return found;
}

static void test_queue_agrees_with_a_search(void **state)
{
    (void)state;
    static model_t items[QUEUE_ITEMS];
    rkb_queue_t *queue = rkb_queue_create();
    uint64_t random = 1;
    double cost = 0;
    for (uint32_t i = 0; i < QUEUE_ITEMS; i++) {
        random = rkb_mix64(random + i);
        items[i] = (model_t){.cost = (double)(random % 10),
                             .candidate = random / 16 % GROUPS, /* 0 among them: no group */
                             .task = random / 1024 % GROUPS};
        uint32_t item;
        assert_int_equal(rkb_queue_register(queue, items[i].candidate, items[i].task, items[i].cost,
                                            &item, NULL),
                         RKB_OK);
        assert_int_equal(item, i);
    }
    for (int step = 0; step < 4000; step++) {
        random = rkb_mix64(random + (uint64_t)step);
        uint32_t i = (uint32_t)(random % QUEUE_ITEMS);
        if (items[i].waits) {
            rkb_queue_remove(queue, i);
            cost -= items[i].cost;
        } else {
            items[i].losses = (unsigned)(random / QUEUE_ITEMS % 3);
            rkb_queue_push(queue, i, items[i].losses);
            cost += items[i].cost;
        }
        items[i].waits = !items[i].waits;
        uint32_t like = (uint32_t)(random / 7 % QUEUE_ITEMS);
        assert_int_equal(rkb_queue_top(queue), best(items, NULL, false));
        assert_int_equal(rkb_queue_top_of_candidate(queue, like), best(items, &items[like], false));
        assert_int_equal(rkb_queue_top_of_task(queue, like), best(items, &items[like], true));
        assert_true(rkb_queue_cost(queue) == cost);
    }
    rkb_queue_destroy(queue);
    rkb_queue_destroy(NULL);
}

/* ---- store ---- */

static void test_store_gives_back_what_it_took(void **state)
{
    rkb_item_store_t *store;
    const char *key, *payload;
    char wanted[64];
    assert_int_equal(rkb_item_store_create(*state, &store, NULL), RKB_OK);
    for (uint32_t i = 0; i < 3000; i++) {
        snprintf(wanted, sizeof(wanted), "{\"n\":%u}", i);
        assert_int_equal(rkb_item_store_add(store, wanted + 1, wanted, NULL), RKB_OK);
        if (i % 500 == 3) { /* reading in between, as a streaming plan does */
            assert_int_equal(rkb_item_store_get(store, i / 2, &key, &payload, NULL), RKB_OK);
        }
    }
    for (uint32_t i = 0; i < 3000; i += 7) {
        snprintf(wanted, sizeof(wanted), "{\"n\":%u}", i);
        assert_int_equal(rkb_item_store_get(store, i, &key, &payload, NULL), RKB_OK);
        assert_string_equal(payload, wanted);
        assert_string_equal(key, wanted + 1);
    }
    assert_int_equal(rkb_item_store_count(store), 3000);
    assert_int_equal(rkb_item_store_get(store, 3000, &key, &payload, NULL), RKB_ERR_INTERNAL);
    rkb_item_store_destroy(store);
    assert_int_equal(rkb_item_store_create("/nonexistent", &store, NULL), RKB_OK); /* elsewhere */
    rkb_item_store_destroy(store);
}

/* ---- transport ---- */

static void test_local_messages_arrive_in_order(void **state)
{
    (void)state;
    rkb_transport_t *ends[3];
    int source;
    char *text;
    size_t len;
    assert_int_equal(rkb_transport_local_create(3, ends, NULL), RKB_OK);
    assert_int_equal(ends[2]->ops->rank(ends[2]), 2);
    assert_int_equal(ends[2]->ops->size(ends[2]), 3);
    assert_int_equal(ends[1]->ops->send(ends[1], 0, "one", 3, NULL), RKB_OK);
    assert_int_equal(ends[2]->ops->send(ends[2], 0, "two", 3, NULL), RKB_OK);
    assert_int_equal(ends[0]->ops->send(ends[0], 0, "self", 4, NULL), RKB_OK);
    static const char *const texts[] = {"one", "two", "self"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ends[0]->ops->poll(ends[0], &source, &text, &len, NULL), RKB_OK);
        assert_string_equal(text, texts[i]);
        assert_int_equal(source, (i + 1) % 3);
    }
    ends[0]->ops->poll(ends[0], &source, &text, &len, NULL);
    assert_null(text);
    char *big = rkb_xcalloc(RKB_MESSAGE_MAX + 1, 1);
    assert_int_equal(ends[0]->ops->send(ends[0], 1, big, RKB_MESSAGE_MAX + 1, NULL),
                     RKB_ERR_PROTOCOL);
    assert_int_equal(ends[0]->ops->send(ends[0], 1, big, RKB_MESSAGE_MAX, NULL), RKB_OK);
    assert_int_equal(ends[0]->ops->send(ends[0], 3, "x", 1, NULL), RKB_ERR_PROTOCOL);
    free(big);
    ends[1]->ops->destroy(ends[1]);
    assert_int_equal(ends[0]->ops->send(ends[0], 1, "to the dead", 11, NULL), RKB_OK);
    ends[0]->ops->destroy(ends[0]);
    ends[2]->ops->destroy(ends[2]);
}

/* ---- results of the driver's own ---- */

static void test_own_results_carry_the_payload(void **state)
{
    (void)state;
    cJSON *payload = cJSON_Parse("{\"task\":\"a/b\",\"config\":\"c\",\"verdict\":\"ok\"}");
    cJSON *result = rkb_result_create(payload, "crash", "two ranks");
    assert_string_equal(rkb_result_verdict(result), "crash"); /* a payload cannot bring its own */
    assert_string_equal(rkb_message_text(result, "task"), "a/b");
    assert_string_equal(rkb_message_text(result, "detail"), "two ranks");
    assert_int_equal(cJSON_GetArraySize(result), 5);
    cJSON_Delete(result);
    cJSON_Delete(payload);
    result = rkb_result_create(NULL, "infra_error", "nothing is known");
    assert_string_equal(rkb_result_verdict(result), "infra_error");
    cJSON_Delete(result);
}

static void test_verdicts_are_words(void **state)
{
    (void)state;
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "null",
                                      "{\"verdict\":7}",
                                      "{\"verdict\":\"\"}",
                                      "{\"verdict\":\"OK\"}",
                                      "{\"verdict\":\"ok ok\"}",
                                      "{\"verdict\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        cJSON *result = cJSON_Parse(bad[i]);
        assert_null(rkb_result_verdict(result));
        cJSON_Delete(result);
    }
}

static void test_results_are_made_to_fit(void **state)
{
    (void)state;
    char *much = rkb_xcalloc(100001, 1);
    memset(much, 'x', 100000);
    cJSON *result = rkb_result_create(NULL, "ok", much);
    result = rkb_result_fit(result, NULL);
    assert_string_equal(rkb_result_verdict(result), "ok"); /* a long text is cut */
    assert_in_range(strlen(rkb_message_text(result, "detail")), 1000, 2000);
    for (int i = 0; i < 100; i++) {
        cJSON_AddItemToArray(cJSON_GetObjectItem(result, "flags"),
                             cJSON_CreateString(much + 98500));
    }
    cJSON *payload = cJSON_Parse("{\"task\":\"a/b\"}");
    result = rkb_result_fit(result, payload);
    assert_string_equal(rkb_result_verdict(result), "infra_error"); /* many cannot be */
    assert_string_equal(rkb_message_text(result, "task"), "a/b");
    cJSON_Delete(payload);
    cJSON_Delete(result);
    free(much);
}

/* ---- settings ---- */

static cJSON *given(const rkb_command_t *command)
{
    cJSON *options;
    rkb_error_t err = RKB_ERROR_INIT;
    assert_status(rkb_settings_given(command, &options, &err), RKB_OK, &err);
    return options;
}

static void test_only_what_is_given_is_compared(void **state)
{
    rkb_command_t command = RKB_COMMAND_INIT;
    rkb_error_t err = RKB_ERROR_INIT;
    command.tasks = *state;
    cJSON *stored = given(&command);
    assert_int_equal(cJSON_GetArraySize(stored), 1);
    assert_status(rkb_settings_complete(stored, &err), RKB_OK, &err);
    command.trials = 5; /* the default, given: no contradiction */
    cJSON *again = given(&command);
    assert_status(rkb_settings_agree(again, stored, &err), RKB_OK, &err);
    cJSON_Delete(again);
    command.controls = true;
    again = given(&command);
    assert_int_equal(rkb_settings_agree(again, stored, &err), RKB_ERR_USAGE);
    assert_contains(err.text, "--controls");
    cJSON_Delete(again);
    cJSON_Delete(stored);
}

static void test_seeds_are_fresh_and_exact(void **state)
{
    rkb_command_t command = RKB_COMMAND_INIT;
    command.tasks = *state;
    cJSON *a = given(&command), *b = given(&command);
    assert_int_equal(rkb_settings_complete(a, NULL), RKB_OK);
    assert_int_equal(rkb_settings_complete(b, NULL), RKB_OK);
    const char *x = rkb_message_text(a, "seed"), *y = rkb_message_text(b, "seed");
    assert_string_not_equal(x, y);
    assert_true(strtoull(x, NULL, 10) < UINT64_C(1) << 53);
    cJSON_Delete(a);
    cJSON_Delete(b);
    command.seed = INT64_MAX;
    a = given(&command);
    assert_string_equal(rkb_message_text(a, "seed"), "9223372036854775807");
    cJSON_Delete(a);
}

static void test_missing_paths_are_named(void **state)
{
    rkb_command_t command = RKB_COMMAND_INIT;
    rkb_error_t err = RKB_ERROR_INIT;
    cJSON *options = NULL;
    static const char *paths[] = {"/nonexistent/kernels"};
    command.tasks = *state;
    command.kernels = (rkb_option_list_t){.items = paths, .count = 1};
    assert_int_equal(rkb_settings_given(&command, &options, &err), RKB_ERR_USAGE);
    assert_contains(err.text, "--kernels /nonexistent/kernels");
    assert_null(options);
}

static void test_evaluators_are_told_what_they_need(void **state)
{
    rkb_command_t command = RKB_COMMAND_INIT;
    command.tasks = *state;
    command.timeout = 2;
    command.compile_timeout = 10;
    command.trials = 20;
    command.cxx_flags = "-O1";
    command.samples = true;
    cJSON *options = given(&command);
    assert_int_equal(rkb_settings_complete(options, NULL), RKB_OK);
    cJSON *hello = rkb_settings_hello(options, "/run/logs"), *plan = rkb_settings_plan(options);
    static const char *const said[] = {"device",  "tasks",           "seed",  "trials",
                                       "timeout", "compile_timeout", "cache", "cxx_flags",
                                       "logs",    "sanitize"};
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
        assert_non_null(cJSON_GetObjectItemCaseSensitive(hello, said[i]));
    }
    assert_string_equal(rkb_message_text(hello, "cxx_flags"), "-O1");
    assert_string_equal(rkb_message_text(plan, "configs"), "single");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(plan, "samples")));
    /* 20 trials of two calls, three compile jobs at most, and grace. */
    assert_true(rkb_settings_item_limit(options) == 40 * 2 + 3 * 10 + 120);
    cJSON_Delete(hello);
    cJSON_Delete(plan);
    cJSON_Delete(options);
}

/* ---- progress ---- */

static void test_progress_tells_rate_time_and_verdicts(void **state)
{
    (void)state;
    char line[512];
    FILE *out = tmpfile();
    rkb_progress_t *progress = rkb_progress_create(out, false);
    rkb_progress_state_t at = {.done = 10, .total = 110, .cost_left = 100, .ranks = 4};
    rkb_progress_format(progress, &at, 5, line, sizeof(line));
    assert_string_equal(line, "10/110 (9%), ? left, 4 ranks"); /* nothing is known yet */
    rkb_progress_show(progress, &at, 1000);
    for (int i = 0; i < 10; i++) {
        rkb_progress_count(progress, "mismatch", true);
    }
    rkb_progress_count(progress, "timeout", false);
    for (int i = 0; i < 5; i++) {
        rkb_progress_count(progress, "ok", false);
    }
    at.done = 16;
    at.cost_left = 80; /* a fifth of the expected work took 10 s */
    at.lost = 1;
    rkb_progress_format(progress, &at, 1010, line, sizeof(line));
    assert_string_equal(line, "16/110 (14%) 0.6/s, 40 s left, 4 ranks, 1 lost | ok 5, mismatch 10, "
                              "timeout 1");
    rkb_progress_show(progress, &at, 1010); /* a minute has not passed */
    assert_int_equal(ftell(out), 0);
    rkb_progress_show(progress, &at, 1061);
    long first = ftell(out);
    assert_true(first > 0);
    rkb_progress_show(progress, &at, 1062);
    assert_int_equal(ftell(out), first);
    rkb_progress_end(progress, &at, 1063);
    assert_true(ftell(out) > first);
    rkb_progress_destroy(progress);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_agrees_with_a_search),
        unit_test_in_folder(test_store_gives_back_what_it_took),
        cmocka_unit_test(test_local_messages_arrive_in_order),
        cmocka_unit_test(test_own_results_carry_the_payload),
        cmocka_unit_test(test_verdicts_are_words),
        cmocka_unit_test(test_results_are_made_to_fit),
        unit_test_in_folder(test_only_what_is_given_is_compared),
        unit_test_in_folder(test_seeds_are_fresh_and_exact),
        unit_test_in_folder(test_missing_paths_are_named),
        unit_test_in_folder(test_evaluators_are_told_what_they_need),
        cmocka_unit_test(test_progress_tells_rate_time_and_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
