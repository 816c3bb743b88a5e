#include "tests/unit/unit.h"

#include "results/geomean.h"

#include <math.h>

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("%.17g instead of %.17g", got, want);
}

static void test_nothing_is_timed(void **state)
{
    (void)state;
    const rkb_speedup_cluster_t none = {0, 0};
    rkb_geomean_t result = rkb_geomean(&none, 0);
    assert_true(isnan(result.value) && isnan(result.lo) && isnan(result.hi));
    result = rkb_geomean(&none, 1);
    assert_true(isnan(result.value) && isnan(result.lo) && isnan(result.hi));
}

static void test_one_task_gives_no_interval(void **state)
{
    (void)state;
    const rkb_speedup_cluster_t tasks[] = {{log(2) + log(8), 2}, {0, 0}};
    rkb_geomean_t result = rkb_geomean(tasks, 2);
    assert_near(result.value, 4);
    assert_true(isnan(result.lo) && isnan(result.hi));
}

/* Of two tasks, a quarter of the draws takes one twice and a quarter the other. */
static void test_two_tasks_bound_the_interval(void **state)
{
    (void)state;
    const rkb_speedup_cluster_t tasks[] = {{3 * log(2), 3}, {log(0.5), 1}};
    rkb_geomean_t result = rkb_geomean(tasks, 2);
    assert_near(result.value, sqrt(2));
    assert_near(result.lo, 0.5);
    assert_near(result.hi, 2);
}

/* The interval of the mean of many independent values is about ± 1.96 standard errors. */
static void test_interval_has_the_right_width(void **state)
{
    (void)state;
    enum { TASKS = 400 };
    rkb_speedup_cluster_t tasks[TASKS];
    for (int i = 0; i < TASKS; i++)
        tasks[i] = (rkb_speedup_cluster_t){i % 2 ? 0.2 : -0.2, 1};
    rkb_geomean_t result = rkb_geomean(tasks, TASKS);
    double half = 1.96 * 0.2 / sqrt(TASKS);
    assert_near(result.value, 1);
    assert_true(fabs(log(result.hi) / half - 1) < 0.1);
    assert_true(fabs(log(result.lo) / -half - 1) < 0.1);
    rkb_geomean_t again = rkb_geomean(tasks, TASKS);
    assert_memory_equal(&again, &result, sizeof result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_timed),
        cmocka_unit_test(test_one_task_gives_no_interval),
        cmocka_unit_test(test_two_tasks_bound_the_interval),
        cmocka_unit_test(test_interval_has_the_right_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
