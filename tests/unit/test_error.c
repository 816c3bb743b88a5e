#include "tests/unit/unit.h"

#include <errno.h>

static void test_status_names_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < RKB_STATUS_LAST; i++) {
        rkb_status_t status = (rkb_status_t)i;
        assert_int_equal(rkb_status_from_name(rkb_status_name(status)), status);
        assert_true(rkb_status_text(status)[0] != '\0');
    }
    assert_string_equal(rkb_status_name(RKB_ERR_IO), "ERR_IO");
    assert_int_equal(rkb_status_from_name("ERR_NOTHING"), RKB_ERR_INTERNAL);
}

static void test_status_outside_the_enum(void **state)
{
    (void)state;
    assert_string_equal(rkb_status_name((rkb_status_t)999), "UNKNOWN");
    assert_string_equal(rkb_status_name((rkb_status_t)-1), "UNKNOWN");
    assert_int_equal(rkb_status_exit_code((rkb_status_t)999), 4);
}

static void test_exit_codes_are_the_documented_ones(void **state)
{
    (void)state;
    assert_int_equal(rkb_status_exit_code(RKB_OK), 0);
    assert_int_equal(rkb_status_exit_code(RKB_ERR_USAGE), 2);
    assert_int_equal(rkb_status_exit_code(RKB_ERR_NO_DEVICE), 3);
    assert_int_equal(rkb_status_exit_code(RKB_ERR_IO), 4);
    assert_int_equal(rkb_status_exit_code(RKB_ERR_DRAINED), 75);
}

static void test_set_records_and_keeps_errno(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    errno = EBADF;
    assert_int_equal(rkb_error_set(&err, RKB_ERR_IO, "%s: %d", "here", 7), RKB_ERR_IO);
    assert_int_equal(errno, EBADF);
    assert_int_equal(err.status, RKB_ERR_IO);
    assert_string_equal(err.text, "here: 7");
    assert_int_equal(rkb_error_set(NULL, RKB_ERR_IO, "nobody listens"), RKB_ERR_IO);
}

static void test_own_text_may_be_an_argument(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_error_set(&err, RKB_ERR_IO, "inner");
    rkb_error_set(&err, RKB_ERR_LOST, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
}

static void test_prefix(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_error_set(&err, RKB_ERR_INVALID, "no symbol B");
    assert_int_equal(rkb_error_prefix(&err, "task %s", "x"), RKB_ERR_INVALID);
    assert_string_equal(err.text, "task x: no symbol B");
    assert_int_equal(rkb_error_prefix(NULL, "x"), RKB_ERR_INTERNAL);
}

static void test_cut_text_is_marked(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    char exact[RKB_ERROR_TEXT_SIZE], longer[RKB_ERROR_TEXT_SIZE + 1];
    memset(exact, 'x', sizeof exact);
    exact[sizeof exact - 1] = '\0';
    rkb_error_set(&err, RKB_ERR_IO, "%s", exact);
    assert_string_equal(err.text, exact);
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    rkb_error_set(&err, RKB_ERR_IO, "%s", longer);
    assert_int_equal(strlen(err.text), RKB_ERROR_TEXT_SIZE - 1);
    assert_int_equal(err.text[RKB_ERROR_TEXT_SIZE - 2], '+');

    rkb_error_set(&err, RKB_ERR_IO, "%s", exact);
    rkb_error_prefix(&err, "prefix");
    assert_int_equal(strlen(err.text), RKB_ERROR_TEXT_SIZE - 1);
    assert_int_equal(err.text[RKB_ERROR_TEXT_SIZE - 2], '+');
    assert_memory_equal(err.text, "prefix: xxx", 11);
    rkb_error_prefix(&err, "%s", longer);
    assert_int_equal(strlen(err.text), RKB_ERROR_TEXT_SIZE - 1);
    assert_int_equal(err.text[RKB_ERROR_TEXT_SIZE - 2], '+');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names_round_trip),
        cmocka_unit_test(test_status_outside_the_enum),
        cmocka_unit_test(test_exit_codes_are_the_documented_ones),
        cmocka_unit_test(test_set_records_and_keeps_errno),
        cmocka_unit_test(test_own_text_may_be_an_argument),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_cut_text_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
