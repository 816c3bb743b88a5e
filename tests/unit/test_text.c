#include "tests/unit/unit.h"

#include "common/clock.h"
#include "common/text.h"

static void check_sanitized(const char *input, const char *want)
{
    char buf[128];
    snprintf(buf, sizeof buf, "%s", input);
    rkb_text_sanitize(buf);
    assert_string_equal(buf, want);
}

static void test_sanitize_keeps_text(void **state)
{
    (void)state;
    check_sanitized("", "");
    check_sanitized("plain\ttext\n", "plain\ttext\n");
    check_sanitized("Grüße 漢字 😀", "Grüße 漢字 😀");
}

static void test_sanitize_defuses_terminal_controls(void **state)
{
    (void)state;
    check_sanitized("\033[31mred\a\r", "?[31mred??");
    check_sanitized("del\x7f", "del?");
    check_sanitized("csi\xc2\x9b"
                    "2J",
                    "csi??2J");
    check_sanitized("nbsp\xc2\xa0", "nbsp\xc2\xa0");
}

static void test_sanitize_replaces_invalid_utf8(void **state)
{
    (void)state;
    check_sanitized("a\xff\xfe", "a??");
    check_sanitized("\xc3", "?");                            /* cut */
    check_sanitized("\xc3(", "?(");                          /* wrong follower */
    check_sanitized("\xc0\xaf", "??");                       /* overlong */
    check_sanitized("\xe0\x80\xaf", "???");                  /* overlong */
    check_sanitized("\xed\xa0\x80", "???");                  /* surrogate */
    check_sanitized("\xf4\x90\x80\x80", "????");             /* beyond U+10FFFF */
    check_sanitized("\xf0\x9f\x98", "???");                  /* cut */
    check_sanitized("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"); /* U+10FFFF */
}

static void test_nearest(void **state)
{
    (void)state;
    const char *const words[] = {"kernels", "tasks", "seed", "device", NULL};
    assert_string_equal(rkb_text_nearest("kernel", words), "kernels");
    assert_string_equal(rkb_text_nearest("kenrels", words), "kernels");
    assert_string_equal(rkb_text_nearest("Tasks", words), "tasks");
    assert_string_equal(rkb_text_nearest("sede", words), "seed");
    assert_null(rkb_text_nearest("consistency", words));
    assert_null(rkb_text_nearest("x", words));
    assert_null(rkb_text_nearest("", words));
    char longest[200];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(rkb_text_nearest(longest, words));
}

static void test_clock(void **state)
{
    (void)state;
    double before = rkb_clock_now();
    rkb_clock_sleep(0.01);
    double passed = rkb_clock_now() - before;
    assert_true(passed >= 0.01);
    rkb_clock_sleep(-1);
    char buf[21];
    rkb_clock_iso8601(buf, sizeof buf);
    int year, month, day, hour, minute, second, used = 0;
    assert_int_equal(sscanf(buf, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day, &hour, &minute,
                            &second, &used),
                     6);
    assert_int_equal(used, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sanitize_keeps_text),
        cmocka_unit_test(test_sanitize_defuses_terminal_controls),
        cmocka_unit_test(test_sanitize_replaces_invalid_utf8),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
