#include "tests/unit/unit.h"

#include "evaluator/device/cpu/fiber.h"

#include <fenv.h>

static rkb_fiber_t *here, *there;
static int steps;
static uintptr_t misalignment;

static void entry(void)
{
    for (;;) {
        _Alignas(32) volatile char aligned[32];
        aligned[0] = 1;
        misalignment = (uintptr_t)aligned % 32;
        steps++;
        rkb_fiber_switch(there, here);
    }
}

static void test_switches_there_and_back(void **state)
{
    (void)state;
    here = rkb_fiber_adopt();
    there = rkb_fiber_create(entry);
    assert_non_null(here);
    assert_non_null(there);
    steps = 0;
    volatile double kept = 1.5; /* callee-saved and not, across the switch */
    for (int i = 1; i <= 1000; i++) {
        rkb_fiber_switch(here, there);
        assert_int_equal(steps, i);
    }
    assert_true(kept == 1.5);
    assert_int_equal(misalignment, 0);
    rkb_fiber_destroy(there);
    rkb_fiber_destroy(here);
}

static void change_rounding(void)
{
    fesetround(FE_UPWARD);
    rkb_fiber_switch(there, here);
    for (;;) {
        steps = fegetround();
        rkb_fiber_switch(there, here);
    }
}

static void test_rounding_mode_belongs_to_the_fiber(void **state)
{
    (void)state;
    here = rkb_fiber_adopt();
    there = rkb_fiber_create(change_rounding);
    rkb_fiber_switch(here, there);
    assert_int_equal(fegetround(), FE_TONEAREST);
    rkb_fiber_switch(here, there);
    assert_int_equal(steps, FE_UPWARD);
    assert_int_equal(fegetround(), FE_TONEAREST);
    rkb_fiber_destroy(there);
    rkb_fiber_destroy(here);
    rkb_fiber_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switches_there_and_back),
        cmocka_unit_test(test_rounding_mode_belongs_to_the_fiber),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
