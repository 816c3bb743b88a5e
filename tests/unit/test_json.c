#include "tests/unit/unit.h"

#include "common/json.h"

#include <float.h>
#include <math.h>

static rkb_error_t err;

static cJSON *parse(const char *text)
{
    cJSON *tree = NULL;
    err = (rkb_error_t)RKB_ERROR_INIT;
    assert_status(rkb_json_parse(text, strlen(text), &tree, &err), RKB_OK, &err);
    return tree;
}

static void refuse(const char *text, size_t len, const char *want)
{
    cJSON *tree = NULL;
    err = (rkb_error_t)RKB_ERROR_INIT;
    rkb_status_t status = rkb_json_parse(text, len, &tree, &err);
    if (status != RKB_ERR_INVALID)
        fail_msg("%s for: %s", rkb_status_name(status), text);
    assert_null(tree);
    assert_contains(err.text, want);
}

static void refuse_text(const char *text, const char *want)
{
    refuse(text, strlen(text), want);
}

static void test_accepts_json(void **state)
{
    (void)state;
    const char *const texts[] = {"{}",
                                 " [ ] ",
                                 "null",
                                 "true",
                                 "-0",
                                 "0.5e-3",
                                 "1E+2",
                                 "\"\"",
                                 "[1,2]",
                                 "{\"a\":{\"b\":[{}]}}",
                                 "\"\\u00e9\\ud83d\\ude00 \xc3\xa9\"",
                                 "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                 "1e-999",
                                 "\r\n\t[\n]\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cJSON_Delete(parse(texts[i]));
}

static void test_refuses_with_line_and_column(void **state)
{
    (void)state;
    refuse_text("{\n  \"a\": 1,\n  \"b\": ?\n}", "line 3, column 8");
    refuse_text("", "line 1, column 1");
    refuse_text("[1,]", "column 4");
    refuse_text("{\"a\":1,}", "column 8");
    refuse_text("{\"a\" 1}", "expected ':'");
    refuse_text("[1 2]", "expected ',' or ']'");
    refuse_text("{\"a\":1 2}", "expected ',' or '}'");
    refuse_text("{a:1}", "member name");
    refuse_text("[", "ends");
    refuse_text("{} x", "column 4: unexpected text");
    refuse_text("{}{}", "unexpected text");
    refuse_text("nul", "expected a value");
}

static void test_refuses_numbers_that_json_lacks(void **state)
{
    (void)state;
    const char *const texts[] = {"NaN", "Infinity", "-Infinity", "+1",   "01", "-01", "1.",
                                 ".5",  "1e",       "1e+",       "0x10", "-",  "1.e1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refuse_text(texts[i], "line 1, column");
    refuse_text("[1e999]", "infinity");
    refuse_text("[-1e999]", "column 2");
    refuse_text("1.7976931348623157e308", "infinity");
    cJSON_Delete(parse("1.79769313486231e308"));
    char digits[100];
    memset(digits, '1', 99);
    digits[99] = '\0';
    refuse_text(digits, "too many digits");
}

static void test_refuses_bad_strings(void **state)
{
    (void)state;
    refuse_text("\"abc", "string without end");
    refuse_text("\"a\nb\"", "control character");
    refuse_text("\"\\x\"", "unknown escape");
    refuse_text("\"\\u12g4\"", "hexadecimal");
    refuse_text("\"\\u0000\"", "\\u0000");
    refuse_text("\"\\ud800\"", "surrogate");
    refuse_text("\"\\ud800\\u0041\"", "surrogate");
    refuse_text("\"\\udc00\"", "surrogate");
    refuse_text("\"\xff\"", "UTF-8");
    refuse_text("\"\xc3\"", "UTF-8");
    refuse("\"a\0b\"", 5, "control character");
    refuse("{}\0", 3, "unexpected text");
    refuse("\"\\\0\"", 4, "unknown escape");
}

static void test_reads_only_len_bytes(void **state)
{
    (void)state;
    cJSON *tree = NULL;
    assert_status(rkb_json_parse("{\"a\":1}garbage", 7, &tree, &err), RKB_OK, &err);
    cJSON_Delete(tree);
}

static void test_refuses_duplicate_keys(void **state)
{
    (void)state;
    refuse_text("{\"a\":1,\n \"b\":2, \"a\":3}", "line 2, column 9: duplicate key \"a\"");
    refuse_text("[{\"x\":{\"q\":1}},{\"x\":{\"q\":1,\"q\":2}}]", "column 28: duplicate key \"q\"");
    refuse_text("{\"a\":1,\"\\u0061\":2}", "duplicate key \"a\""); /* the same name, escaped */
    cJSON_Delete(parse("{\"a\":1,\"A\":2}"));

    /* A large object takes the other way of finding them. */
    char text[2000] = "{";
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), 20, "\"k%d\":%d,", i, i);
    size_t len = strlen(text);
    snprintf(text + len, 20, "\"last\":0}");
    cJSON_Delete(parse(text));
    snprintf(text + len, 20, "\"k7\":0}");
    refuse_text(text, "duplicate key \"k7\"");
}

static void test_bounds_nesting(void **state)
{
    (void)state;
    char text[200];
    for (int depth = 64; depth <= 65; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        if (depth == 64)
            cJSON_Delete(parse(text));
        else
            refuse_text(text, "nested too deeply");
    }
    char *deep = malloc(1000000);
    memset(deep, '[', 1000000);
    refuse(deep, 1000000, "nested too deeply");
    free(deep);
}

static void test_paths(void **state)
{
    (void)state;
    cJSON *tree = parse("{\"configs\":{\"multi\":[{},{},{\"B\":\"x\"}]}}");
    char buf[64];
    rkb_json_at_t root = rkb_json_root(tree), configs, multi, b;
    assert_string_equal(rkb_json_path(&root, buf, sizeof buf), "(top level)");
    assert_status(rkb_json_member(&root, "configs", &configs, &err), RKB_OK, &err);
    assert_status(rkb_json_member(&configs, "multi", &multi, &err), RKB_OK, &err);
    rkb_json_at_t second = rkb_json_element(&multi, 2);
    assert_status(rkb_json_member(&second, "B", &b, &err), RKB_OK, &err);
    assert_string_equal(rkb_json_path(&b, buf, sizeof buf), "configs.multi[2].B");
    bool flag = true;
    assert_status(rkb_json_as_bool(&b, &flag, &err), RKB_ERR_INVALID, &err);
    assert_string_equal(err.text, "configs.multi[2].B: expected true or false, found a string");
    assert_true(flag);
    char small[8];
    assert_string_equal(rkb_json_path(&b, small, sizeof small), "configs");
    rkb_json_at_t beyond = rkb_json_element(&multi, 3);
    assert_status(rkb_json_expect_object(&beyond, &err), RKB_ERR_INVALID, &err);
    assert_string_equal(err.text, "configs.multi[3]: missing");
    cJSON_Delete(tree);
}

static void test_members(void **state)
{
    (void)state;
    cJSON *tree = parse("{\"name\":\"x\",\"none\":null,\"list\":[]}");
    rkb_json_at_t root = rkb_json_root(tree), at;
    const char *text = NULL;
    assert_status(rkb_json_get_string(&root, "name", &text, &err), RKB_OK, &err);
    assert_string_equal(text, "x");
    assert_status(rkb_json_get_string(&root, "nam", &text, &err), RKB_ERR_INVALID, &err);
    assert_string_equal(err.text, "nam: missing");
    assert_status(rkb_json_get_string(&root, "none", &text, &err), RKB_ERR_INVALID, &err);
    assert_string_equal(err.text, "none: expected a string, found null");
    assert_status(rkb_json_get_string(&root, "list", &text, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "found an array");
    assert_status(rkb_json_optional(&root, "Name", &at, &err), RKB_OK, &err);
    assert_null(at.node);
    assert_status(rkb_json_member(&root, "list", &at, &err), RKB_OK, &err);
    assert_status(rkb_json_expect_array(&at, &err), RKB_OK, &err);
    assert_status(rkb_json_optional(&at, "x", &at, &err), RKB_ERR_INVALID, &err);
    assert_string_equal(err.text, "list: expected an object, found an array");
    cJSON_Delete(tree);
}

static void test_unknown_keys(void **state)
{
    (void)state;
    const char *const keys[] = {"schema", "inputs", "outputs", NULL};
    cJSON *tree =
        parse("{\"t\":{\"inputs\":1,\"ouputs\":2},\"u\":{\"zzzz\":1},\"v\":{\"schema\":1}}");
    rkb_json_at_t root = rkb_json_root(tree), at;
    rkb_json_member(&root, "t", &at, &err);
    assert_status(rkb_json_only_keys(&at, keys, &err), RKB_ERR_INVALID, &err);
    assert_string_equal(err.text, "t.ouputs: unknown key; did you mean \"outputs\"?");
    rkb_json_member(&root, "u", &at, &err);
    assert_status(rkb_json_only_keys(&at, keys, &err), RKB_ERR_INVALID, &err);
    assert_string_equal(err.text, "u.zzzz: unknown key");
    rkb_json_member(&root, "v", &at, &err);
    assert_status(rkb_json_only_keys(&at, keys, &err), RKB_OK, &err);
    cJSON_Delete(tree);
}

static void test_integers(void **state)
{
    (void)state;
    cJSON *tree = parse("[9007199254740992, -9007199254740992, \"9223372036854775807\","
                        "\"-9223372036854775808\", \"18446744073709551615\", 1e3,"
                        "9007199254740994, 1.5, \"9223372036854775808\", -1,"
                        "\"+1\", \" 1\", \"\", \"-\", \"1x\", \"18446744073709551616\", \"-1\"]");
    rkb_json_at_t root = rkb_json_root(tree);
    int64_t i = 7;
    uint64_t u = 7;
    rkb_json_at_t at[17];
    for (int k = 0; k < 17; k++)
        at[k] = rkb_json_element(&root, k);
    assert_status(rkb_json_as_int64(&at[0], &i, &err), RKB_OK, &err);
    assert_true(i == INT64_C(9007199254740992));
    assert_status(rkb_json_as_int64(&at[1], &i, &err), RKB_OK, &err);
    assert_true(i == -INT64_C(9007199254740992));
    assert_status(rkb_json_as_int64(&at[2], &i, &err), RKB_OK, &err);
    assert_true(i == INT64_MAX);
    assert_status(rkb_json_as_int64(&at[3], &i, &err), RKB_OK, &err);
    assert_true(i == INT64_MIN);
    assert_status(rkb_json_as_uint64(&at[4], &u, &err), RKB_OK, &err);
    assert_true(u == UINT64_MAX);
    assert_status(rkb_json_as_int64(&at[5], &i, &err), RKB_OK, &err);
    assert_true(i == 1000);
    i = 7;
    u = 7;
    assert_status(rkb_json_as_int64(&at[6], &i, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "2^53");
    assert_status(rkb_json_as_int64(&at[7], &i, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "fraction");
    assert_status(rkb_json_as_int64(&at[8], &i, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "64 bits");
    assert_status(rkb_json_as_uint64(&at[9], &u, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "negative");
    for (int k = 10; k < 15; k++) {
        assert_status(rkb_json_as_int64(&at[k], &i, &err), RKB_ERR_INVALID, &err);
        assert_status(rkb_json_as_uint64(&at[k], &u, &err), RKB_ERR_INVALID, &err);
    }
    assert_status(rkb_json_as_uint64(&at[15], &u, &err), RKB_ERR_INVALID, &err);
    assert_status(rkb_json_as_uint64(&at[16], &u, &err), RKB_ERR_INVALID, &err);
    assert_true(i == 7 && u == 7);
    cJSON_Delete(tree);
}

static void check_round_trip(int64_t signed_value, uint64_t unsigned_value)
{
    cJSON *tree = cJSON_CreateObject();
    assert_true(rkb_json_add_int64(tree, "i", signed_value));
    assert_true(rkb_json_add_uint64(tree, "u", unsigned_value));
    char *line = rkb_json_print_line(tree);
    cJSON_Delete(tree);
    assert_null(strchr(line, '\n'));
    tree = parse(line);
    free(line);
    rkb_json_at_t root = rkb_json_root(tree);
    int64_t i;
    uint64_t u;
    assert_status(rkb_json_get_int64(&root, "i", &i, &err), RKB_OK, &err);
    assert_status(rkb_json_get_uint64(&root, "u", &u, &err), RKB_OK, &err);
    cJSON_Delete(tree);
    assert_true(i == signed_value);
    assert_true(u == unsigned_value);
}

static void test_written_integers_come_back(void **state)
{
    (void)state;
    check_round_trip(0, 0);
    check_round_trip(INT64_MIN, UINT64_MAX);
    check_round_trip(INT64_MAX, (uint64_t)INT64_MAX + 1);
    const int64_t around[] = {INT64_C(2147483648), INT64_C(999999999999999),
                              INT64_C(1000000000000000), INT64_C(9007199254740991),
                              INT64_C(9007199254740993)};
    for (size_t k = 0; k < sizeof around / sizeof *around; k++) {
        for (int64_t d = -2; d <= 2; d++)
            check_round_trip(-(around[k] + d), (uint64_t)(around[k] + d));
    }
}

static void test_written_doubles_and_strings(void **state)
{
    (void)state;
    cJSON *tree = cJSON_CreateObject();
    assert_true(rkb_json_add_double(tree, "nan", NAN));
    assert_true(rkb_json_add_double(tree, "inf", -INFINITY));
    assert_true(rkb_json_add_double(tree, "half", 0.5));
    assert_true(rkb_json_add_string(tree, "esc", "\033[1m\xff ok\n"));
    assert_true(rkb_json_add_string(tree, "none", NULL));
    char *line = rkb_json_print_line(tree);
    assert_string_equal(
        line, "{\"nan\":null,\"inf\":null,\"half\":0.5,\"esc\":\"?[1m? ok\\n\",\"none\":null}");
    free(line);
    rkb_json_at_t nan_node = {.node = cJSON_CreateNumber(NAN)};
    double value = 1;
    assert_status(rkb_json_as_double(&nan_node, &value, &err), RKB_ERR_INVALID, &err);
    cJSON_Delete((cJSON *)nan_node.node);
    cJSON_Delete(tree);
}

/* What cJSON prints with 15 digits must not become infinity on the way back. */
static void test_largest_doubles_come_back(void **state)
{
    (void)state;
    const double values[] = {DBL_MAX, -DBL_MAX, 1.79769313486231e308, FLT_MAX, DBL_MIN, 5e-324};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        cJSON *tree = cJSON_CreateObject();
        assert_true(rkb_json_add_double(tree, "x", values[k]));
        char *line = rkb_json_print_line(tree);
        cJSON_Delete(tree);
        tree = parse(line);
        free(line);
        rkb_json_at_t root = rkb_json_root(tree);
        double value;
        assert_status(rkb_json_get_double(&root, "x", &value, &err), RKB_OK, &err);
        assert_true(fabs(value / values[k] - 1) < 1e-14);
        cJSON_Delete(tree);
    }
}

static void test_load_names_the_file(void **state)
{
    char *path = rkb_strf("%s/x.json", (char *)*state);
    cJSON *tree = NULL;
    unit_write_file(path, "{\"a\":\n1 1}");
    assert_status(rkb_json_load(path, &tree, &err), RKB_ERR_INVALID, &err);
    char *want = rkb_strf("%s: line 2, column 3: expected", path);
    assert_contains(err.text, want);
    free(want);
    unit_write_file(path, "{\"a\":1}");
    assert_status(rkb_json_load(path, &tree, &err), RKB_OK, &err);
    cJSON_Delete(tree);
    unlink(path);
    assert_status(rkb_json_load(path, &tree, &err), RKB_ERR_NOT_FOUND, &err);
    assert_contains(err.text, path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_json),
        cmocka_unit_test(test_refuses_with_line_and_column),
        cmocka_unit_test(test_refuses_numbers_that_json_lacks),
        cmocka_unit_test(test_refuses_bad_strings),
        cmocka_unit_test(test_reads_only_len_bytes),
        cmocka_unit_test(test_refuses_duplicate_keys),
        cmocka_unit_test(test_bounds_nesting),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_written_integers_come_back),
        cmocka_unit_test(test_written_doubles_and_strings),
        cmocka_unit_test(test_largest_doubles_come_back),
        unit_test_in_folder(test_load_names_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
