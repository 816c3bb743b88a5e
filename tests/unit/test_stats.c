#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "evaluator/timing/stats.h"

#include <math.h>

static void test_median(void **state)
{
    (void)state;
    double odd[] = {3, -1, 7}, even[] = {4, 1, 3, 2}, one[] = {5};
    assert_true(rkb_median(odd, 3) == 3);
    assert_true(rkb_median(even, 4) == 2.5);
    assert_true(rkb_median(one, 1) == 5);
    assert_true(isnan(rkb_median(one, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_median)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
