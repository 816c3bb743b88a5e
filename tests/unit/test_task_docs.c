/* The examples of docs/tasks.md are real: they load, and run in both directions. */
#include "common/file.h"
#include "evaluator/reference/reference.h"
#include "evaluator/task/task_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *read_text(const char *path)
{
    char *text;
    size_t len;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_file_read(path, 1 << 20, &text, &len, &err) != RKB_OK)
        fail_msg("%s", err.text);
    return text;
}

/* Next block of JSON at or after *at, or NULL; *at moves behind it. */
static char *next_block(const char **at)
{
    static const char fence[] = "```json\n";
    const char *start = strstr(*at, fence);
    if (!start)
        return NULL;
    start += sizeof fence - 1;
    const char *end = strstr(start, "```\n");
    assert_non_null(end);
    *at = end + 4;
    return rkb_strf("%.*s", (int)(end - start), start);
}

static void run_smoke(const rkb_task_t *task)
{
    rkb_error_t err = RKB_ERROR_INIT;
    const rkb_torch_api_t *torch;
    int smoke = rkb_task_find_config_set(task, "smoke");
    assert_true(smoke >= 0);
    assert_int_equal(rkb_torch_load(&torch, &err), RKB_OK);
    for (int d = 0; d < RKB_DIRECTIONS; d++)
        for (size_t c = 0; c < rkb_task_config_count(task, (size_t)smoke, d); c++) {
            const rkb_config_t *config = rkb_task_config(task, (size_t)smoke, d, c);
            rkb_instance_t *instance;
            rkb_trial_data_t *trial;
            rkb_expected_set_t set;
            assert_int_equal(rkb_instance_create(task, config, &instance, &err), RKB_OK);
            if (rkb_trial_create(torch, instance, d, 1, 0, &trial, &err) != RKB_OK ||
                rkb_reference_run(torch, trial, 0, &set, &err) != RKB_OK)
                fail_msg("%s", err.text);
            assert_true(set.count > 0 && set.oracle_float64);
            rkb_expected_release(&set);
            rkb_trial_destroy(trial);
            rkb_instance_destroy(instance);
        }
}

static void test_examples_load_and_run(void **state)
{
    char *page = read_text(RKB_SOURCE_DIR "/docs/tasks.md"), *block;
    const char *at = page;
    int count = 0;
    (void)state;
    for (; (block = next_block(&at)) != NULL; count++) {
        rkb_error_t err = RKB_ERROR_INIT;
        rkb_task_t *task;
        if (rkb_task_parse("docs/tasks.md", block, strlen(block), &task, &err) != RKB_OK)
            fail_msg("%s", err.text);
        run_smoke(task);
        rkb_task_destroy(task);
        free(block);
    }
    assert_int_equal(count, 2);
    free(page);
}

static void test_the_first_example_is_the_shipped_file(void **state)
{
    char *page = read_text(RKB_SOURCE_DIR "/docs/tasks.md");
    char *file = read_text(RKB_SOURCE_DIR "/tasks/robust-kbench/mnist_linear/task.json");
    const char *at = page;
    char *block = next_block(&at);
    (void)state;
    assert_string_equal(block, file);
    free(block);
    free(file);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_load_and_run),
        cmocka_unit_test(test_the_first_example_is_the_shipped_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
