/* The tasks that ship with rkb: config sets of the seed benchmark, and rules for all tasks. */
#include "evaluator/task/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static rkb_task_set_t *tasks;

static int setup(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    (void)state;
    if (rkb_task_set_load(RKB_SOURCE_DIR "/tasks", &tasks, &err) == RKB_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int teardown(void **state)
{
    (void)state;
    rkb_task_set_destroy(tasks);
    return 0;
}

static const rkb_task_t *find(const char *name)
{
    rkb_error_t err = RKB_ERROR_INIT;
    const rkb_task_t *task;
    if (rkb_task_set_find(tasks, name, &task, &err) != RKB_OK)
        fail_msg("%s", err.text);
    return task;
}

static void test_config_sets_are_those_of_the_seed_benchmark(void **state)
{
    static const struct {
        const char *task;
        size_t single, multi;
        const char *first[RKB_DIRECTIONS], *last[RKB_DIRECTIONS]; /* of single and multi */
    } rows[] = {
        {"layernorm",
         1,
         8,
         {"B=1,C=64,D1=256,D2=256,init=random", "B=32,C=64,D1=256,D2=256,init=random"},
         {"B=8,C=64,D1=256,D2=256,init=standard", "B=64,C=32,D1=512,D2=256,init=standard"}},
        {"llama_rmsnorm",
         1,
         4,
         {"B=16,T=1024,F=4096", "B=16,T=1024,F=4096"},
         {"B=64,T=1024,F=4096", "B=64,T=1024,F=4096"}},
        {"mnist_cross_entropy", 1, 2, {"B=64,C=10", "B=64,C=10"}, {"B=4096,C=100", "B=4096,C=100"}},
        {"mnist_linear",
         1,
         8,
         {"B=64,I=128,O=10,init=kaiming", "B=64,I=128,O=10,init=kaiming"},
         {"B=4,I=4096,O=4096,init=xavier", "B=4,I=4096,O=4096,init=xavier"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const rkb_task_t *task = find(rows[i].task);
        size_t single = (size_t)rkb_task_find_config_set(task, "single");
        size_t multi = (size_t)rkb_task_find_config_set(task, "multi");
        for (int d = 0; d < RKB_DIRECTIONS; d++) {
            assert_int_equal(rkb_task_config_count(task, single, d), rows[i].single);
            assert_int_equal(rkb_task_config_count(task, multi, d), rows[i].multi);
            assert_string_equal(rkb_config_name(rkb_task_config(task, single, d, 0)),
                                rows[i].first[d]);
            assert_string_equal(rkb_config_name(rkb_task_config(task, multi, d, rows[i].multi - 1)),
                                rows[i].last[d]);
        }
    }
}

static void test_argument_orders_are_those_of_the_seed_benchmark(void **state)
{
    static const struct {
        const char *task, *args[RKB_DIRECTIONS], *returns;
    } rows[] = {
        {"layernorm",
         {"x weight bias eps", "grad_output x weight bias eps normalized_shape"},
         "grad_x grad_weight grad_bias"},
        {"llama_rmsnorm", {"x w eps", "grad_output x w eps"}, "grad_x grad_w"},
        {"mnist_cross_entropy",
         {"predictions targets", "grad_output predictions targets"},
         "grad_predictions"},
        {"mnist_linear",
         {"x weights biases", "grad_output x weights"},
         "grad_x grad_weights grad_biases"},
    };
    rkb_error_t err = RKB_ERROR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const rkb_task_t *task = find(rows[i].task);
        rkb_instance_t *instance;
        char text[256];
        assert_int_equal(
            rkb_instance_create(task, rkb_task_config(task, 0, RKB_FORWARD, 0), &instance, &err),
            RKB_OK);
        for (int d = 0; d < RKB_DIRECTIONS; d++) {
            text[0] = '\0';
            for (size_t k = 0; k < rkb_instance_argument_count(instance, d); k++) {
                strcat(text, k ? " " : "");
                strcat(text, rkb_instance_argument(instance, d, k)->name);
            }
            assert_string_equal(text, rows[i].args[d]);
        }
        text[0] = '\0';
        for (size_t k = 0; k < rkb_task_backward_return_count(task); k++) {
            strcat(text, k ? " " : "");
            strcat(text, rkb_task_gradient_name(task, k));
        }
        assert_string_equal(text, rows[i].returns);
        rkb_instance_destroy(instance);
    }
}

/* Runs check on every config of every set, task and direction. */
static void for_each_config(void (*check)(const rkb_task_t *, size_t, int, const rkb_config_t *))
{
    for (size_t t = 0; t < rkb_task_set_count(tasks); t++) {
        const rkb_task_t *task = rkb_task_set_get(tasks, t);
        for (size_t s = 0; s < rkb_task_config_set_count(task); s++)
            for (int d = 0; d < RKB_DIRECTIONS; d++)
                for (size_t c = 0; c < rkb_task_config_count(task, s, d); c++)
                    check(task, s, d, rkb_task_config(task, s, d, c));
    }
}

static void check_round_trip(const rkb_task_t *task, size_t set, int direction,
                             const rkb_config_t *config)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_config_t *parsed;
    (void)set;
    (void)direction;
    assert_int_equal(rkb_task_parse_config(task, rkb_config_name(config), &parsed, &err), RKB_OK);
    assert_string_equal(rkb_config_name(parsed), rkb_config_name(config));
    rkb_config_destroy(parsed);
}

static void test_every_config_comes_back_from_its_name(void **state)
{
    (void)state;
    for_each_config(check_round_trip);
}

static void check_smoke_size(const rkb_task_t *task, size_t set, int direction,
                             const rkb_config_t *config)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_instance_t *instance;
    int64_t elements = 0;
    (void)direction;
    if (strcmp(rkb_task_config_set_name(task, set), "smoke") != 0)
        return;
    assert_int_equal(rkb_instance_create(task, config, &instance, &err), RKB_OK);
    for (size_t i = 0; i < rkb_instance_tensor_count(instance); i++)
        elements += rkb_instance_tensor(instance, i)->numel;
    if (elements > 100000)
        fail_msg("%s %s has %lld elements", rkb_task_path(task), rkb_config_name(config),
                 (long long)elements);
    rkb_instance_destroy(instance);
}

static void test_smoke_configs_are_small(void **state)
{
    (void)state;
    for (size_t t = 0; t < rkb_task_set_count(tasks); t++)
        assert_true(rkb_task_find_config_set(rkb_task_set_get(tasks, t), "smoke") >= 0);
    for_each_config(check_smoke_size);
}

/* A weight of ones or a bias of zeros hides a kernel that ignores it. */
static void test_no_param_is_degenerate_in_every_config(void **state)
{
    (void)state;
    for (size_t t = 0; t < rkb_task_set_count(tasks); t++) {
        const rkb_task_t *task = rkb_task_set_get(tasks, t);
        for (size_t s = 0; s < rkb_task_config_set_count(task); s++)
            for (int d = 0; d < RKB_DIRECTIONS; d++) {
                bool varied[64] = {false};
                size_t tensors = 0, configs = rkb_task_config_count(task, s, d);
                for (size_t c = 0; c < configs; c++) {
                    rkb_error_t err = RKB_ERROR_INIT;
                    rkb_instance_t *instance;
                    assert_int_equal(
                        rkb_instance_create(task, rkb_task_config(task, s, d, c), &instance, &err),
                        RKB_OK);
                    tensors = rkb_instance_tensor_count(instance);
                    assert_true(tensors <= 64);
                    for (size_t i = 0; i < tensors; i++)
                        if (rkb_instance_tensor(instance, i)->init.kind != RKB_INIT_CONSTANT)
                            varied[i] = true;
                    rkb_instance_destroy(instance);
                }
                for (size_t i = 0; i < tensors && configs > 0; i++)
                    if (!varied[i])
                        fail_msg("%s, %s: tensor %zu is constant in every config",
                                 rkb_task_path(task), rkb_task_config_set_name(task, s), i);
            }
    }
}

static void test_tasks_are_found_by_name_and_path(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    const rkb_task_t *task;
    (void)state;
    assert_ptr_equal(find("layernorm"), find("robust-kbench/layernorm"));
    assert_int_equal(rkb_task_set_find(tasks, "layernrom", &task, &err), RKB_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "did you mean \"layernorm\"?"));
}

static void test_a_broken_or_missing_folder_is_named(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_set_t *set = NULL;
    (void)state;
    assert_int_equal(rkb_task_set_load("/nonexistent/tasks", &set, &err), RKB_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/tasks"));
    assert_int_equal(rkb_task_set_load(RKB_SOURCE_DIR "/tasks/schema", &set, &err),
                     RKB_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "no task.json"));
    assert_null(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_sets_are_those_of_the_seed_benchmark),
        cmocka_unit_test(test_argument_orders_are_those_of_the_seed_benchmark),
        cmocka_unit_test(test_every_config_comes_back_from_its_name),
        cmocka_unit_test(test_smoke_configs_are_small),
        cmocka_unit_test(test_no_param_is_degenerate_in_every_config),
        cmocka_unit_test(test_tasks_are_found_by_name_and_path),
        cmocka_unit_test(test_a_broken_or_missing_folder_is_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
