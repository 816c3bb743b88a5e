/* Integer expressions of the task language. */
#include "evaluator/task/expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const char *const names[] = {"B", "H", "width_2", NULL};
static const int64_t values[] = {4, 7, -3};

static const char *scope(const void *context, size_t index)
{
    (void)context;
    return names[index];
}

static void test_values_follow_python(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"0", 0},
        {"  12 ", 12},
        {"B", 4},
        {"width_2", -3},
        {"B + H*2", 18},
        {"(B + H) * 2", 22},
        {"B - H - 1", -4},
        {"B*H//3", 9},
        {"2*(H//2)", 6},
        {"H % B", 3},
        {"-H // 2", -4},
        {"H // -2", -4},
        {"-H % 2", 1},
        {"H % -2", -1},
        {"H % width_2", -2},
        {"--B", 4},
        {"-(B-H)", 3},
        {"B--H", 11},
        {"(H + 2*1 - 3) // 2 + 1", 4},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
        {"(-9223372036854775807 - 1) % -1", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        rkb_expr_t *expr;
        int64_t value = 0;
        if (rkb_expr_parse(rows[i].text, scope, NULL, &expr, &err) != RKB_OK ||
            rkb_expr_eval(expr, values, &value, &err) != RKB_OK)
            fail_msg("%s: %s", rows[i].text, err.text);
        if (value != rows[i].value)
            fail_msg("%s is %lld", rows[i].text, (long long)value);
        assert_string_equal(rkb_expr_text(expr), rows[i].text);
        rkb_expr_destroy(expr);
    }
}

static void test_errors_name_the_column(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "ends too early, at column 1"},
        {"B +", "ends too early, at column 4"},
        {"(B", "ends too early, at column 3"},
        {"B H", "unexpected 'H' at column 3"},
        {"B)", "unexpected ')' at column 2"},
        {"*B", "unexpected '*' at column 1"},
        {"B / 2", "'/' at column 3"},
        {"1.5", "unexpected '.' at column 2"},
        {"2B", "unexpected 'B' at column 2"},
        {"B + I", "undeclared symbol \"I\" at column 5"},
        {"B + widht_2", "did you mean \"width_2\"?"},
        {"9223372036854775808", "too large"},
        {"B # 2", "unexpected '#' at column 3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        rkb_expr_t *expr = NULL;
        assert_int_equal(rkb_expr_parse(rows[i].text, scope, NULL, &expr, &err), RKB_ERR_INVALID);
        assert_null(expr);
        if (!strstr(err.text, rows[i].message))
            fail_msg("\"%s\": %s", rows[i].text, err.text);
    }
}

static void test_evaluation_refuses_what_wraps(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"B // (H - 7)", "division by zero at column 3"},
        {"B % 0", "division by zero at column 3"},
        {"9223372036854775807 + B", "overflow at column 21"},
        {"9223372036854775807 * 2", "overflow at column 21"},
        {"-9223372036854775807 - 2", "overflow at column 22"},
        {"-(-9223372036854775807 - 1)", "overflow at column 1"},
        {"(-9223372036854775807 - 1) // -1", "overflow at column 28"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        rkb_expr_t *expr;
        int64_t value = 99;
        assert_int_equal(rkb_expr_parse(rows[i].text, scope, NULL, &expr, &err), RKB_OK);
        assert_int_equal(rkb_expr_eval(expr, values, &value, &err), RKB_ERR_INVALID);
        assert_int_equal(value, 99);
        if (!strstr(err.text, rows[i].message))
            fail_msg("\"%s\": %s", rows[i].text, err.text);
        rkb_expr_destroy(expr);
    }
}

static void test_nesting_and_length_are_bounded(void **state)
{
    char text[8192];
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_expr_t *expr;
    int64_t value;
    (void)state;

    /* The deepest that is allowed holds an operand back on each level. */
    size_t len = 0;
    for (int i = 0; i < 64; i++)
        len += (size_t)sprintf(text + len, "1+1*(");
    text[len++] = '1';
    memset(text + len, ')', 64);
    text[len + 64] = '\0';
    assert_int_equal(rkb_expr_parse(text, scope, NULL, &expr, &err), RKB_OK);
    assert_int_equal(rkb_expr_eval(expr, values, &value, &err), RKB_OK);
    assert_int_equal(value, 65);
    rkb_expr_destroy(expr);

    memset(text, '(', 65);
    strcpy(text + 65, "1");
    assert_int_equal(rkb_expr_parse(text, scope, NULL, &expr, &err), RKB_ERR_INVALID);
    assert_non_null(strstr(err.text, "deeper than 64"));

    memset(text, '-', 3000);
    strcpy(text + 3000, "1");
    assert_int_equal(rkb_expr_parse(text, scope, NULL, &expr, &err), RKB_ERR_INVALID);

    strcpy(text, "1");
    for (int i = 0; i < 2000; i++)
        strcat(text, "+1");
    assert_int_equal(rkb_expr_parse(text, scope, NULL, &expr, &err), RKB_ERR_INVALID);
    assert_non_null(strstr(err.text, "longer than"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_follow_python),
        cmocka_unit_test(test_errors_name_the_column),
        cmocka_unit_test(test_evaluation_refuses_what_wraps),
        cmocka_unit_test(test_nesting_and_length_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
