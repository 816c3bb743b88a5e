#include "tests/unit/unit.h"

#include "common/json.h"
#include "evaluator/verify/verify.h"
#include "results/format.h"
#include "results/report.h"
#include "results/summary.h"
#include "results/verdicts.h"

#include <math.h>

#define GOLDEN RKB_SOURCE_DIR "/tests/unit/report"

static rkb_error_t err;

static char *read_file(const char *folder, const char *name)
{
    char *path = rkb_strf("%s/%s", folder, name), *text;
    size_t len;
    assert_status(rkb_file_read(path, 1 << 20, &text, &len, &err), RKB_OK, &err);
    free(path);
    return text;
}

static void put_file(const char *folder, const char *name, const char *text)
{
    char *path = rkb_strf("%s/%s", folder, name);
    unit_write_file(path, text);
    free(path);
}

static void copy_golden(const char *folder)
{
    const char *const names[] = {"run.json", "journal.jsonl"};
    for (int i = 0; i < 2; i++) {
        char *text = read_file(GOLDEN, names[i]);
        put_file(folder, names[i], text);
        free(text);
    }
}

/* Names the first line that differs: the files are long. */
static void assert_same_text(const char *name, const char *got, const char *want)
{
    size_t line_start = 0, line = 1, i = 0;
    for (; got[i] && got[i] == want[i]; i++) {
        if (got[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    if (got[i] != want[i])
        fail_msg("%s, line %zu:\n  got  %.*s\n  want %.*s", name, line,
                 (int)strcspn(got + line_start, "\n"), got + line_start,
                 (int)strcspn(want + line_start, "\n"), want + line_start);
}

static void test_files_are_the_expected_ones(void **state)
{
    const char *const names[][2] = {{"report.json", "expected.json"},
                                    {"report.csv", "expected.csv"},
                                    {"report.md", "expected.md"}};
    copy_golden(*state);
    assert_status(rkb_report_write(*state, &err), RKB_OK, &err);
    for (int i = 0; i < 3; i++) {
        char *got = read_file(*state, names[i][0]), *want = read_file(GOLDEN, names[i][1]);
        assert_same_text(names[i][0], got, want);
        free(got);
        free(want);
    }
}

static char *print(const char *folder, int width, int color, int failures)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_status(rkb_report_print(folder, out, width, color, failures, &err), RKB_OK, &err);
    fclose(out);
    return text;
}

static void test_terminal_summary_is_the_expected_one(void **state)
{
    copy_golden(*state);
    char *before = realpath(".", NULL);
    assert_int_equal(chdir(*state), 0); /* the text names the folder */
    char *got = print(".", 90, 0, 10);
    assert_int_equal(chdir(before), 0);
    free(before);
    char *want = read_file(GOLDEN, "expected.txt");
    assert_same_text("summary", got, want);
    free(got);
    free(want);
}

static void test_terminal_summary_obeys_its_arguments(void **state)
{
    copy_golden(*state);
    char *text = print(*state, 90, 0, 2);
    assert_contains(text, "and 4 more: rkb report");
    assert_null(strchr(text, '\033')); /* nothing that a compiler printed reaches the terminal */
    free(text);
    text = print(*state, 90, 1, 10);
    assert_contains(text, "\033[31mmismatch\033[0m");
    assert_null(strstr(text, "\033[31m1")); /* rkb's own colours only */
    free(text);
    text = print(*state, 90, 0, 0);
    assert_null(strstr(text, "failures\n"));
    free(text);
}

/* By hand: 12 keys, 6 ok, 1 ours; of the speed-ups 2, 2, 0.5 and 1 count. */
static void test_numbers(void **state)
{
    copy_golden(*state);
    rkb_summary_t *summary;
    assert_status(rkb_summary_create(*state, &summary, &err), RKB_OK, &err);
    assert_int_equal(summary->items, 12);
    assert_int_equal(summary->ok, 6);
    assert_int_equal(summary->ours, 1);
    assert_int_equal(summary->planned, 15);
    assert_int_equal(summary->timed, 4);
    assert_int_equal(summary->notices, 2);
    assert_int_equal(summary->cut_bytes, 75);
    assert_true(rkb_summary_correct_rate(summary) == 6.0 / 11);
    const int above[RKB_FAST_COUNT] = {4, 3, 3, 2, 2, 2, 0};
    for (int i = 0; i < RKB_FAST_COUNT; i++)
        assert_true(rkb_summary_fast(summary, i) == above[i] / 11.0);
    assert_true(fabs(summary->geomean.value - pow(2, 0.25)) < 1e-12);
    assert_int_equal(summary->group_count, 4);
    assert_string_equal(summary->groups[1]->direction, "forward");
    assert_string_equal(summary->groups[2]->direction, "backward");
    rkb_summary_destroy(summary);
    rkb_summary_destroy(NULL);
}

static void test_emulated_run_has_no_speedups(void **state)
{
    put_file(
        *state, "journal.jsonl",
        "{\"type\":\"run\",\"schema\":\"rkb-journal/1\"}\n"
        "{\"type\":\"result\",\"key\":\"s/t forward c N=1\",\"attempt\":1,\"rank\":0,\"result\":"
        "{\"verdict\":\"ok\",\"flags\":[\"emulated\"],\"speedup\":{\"value\":3,\"lo\":2,\"hi\":4}}}"
        "\n");
    assert_status(rkb_report_write(*state, &err), RKB_OK, &err);
    char *path = rkb_strf("%s/report.json", (char *)*state);
    cJSON *report;
    assert_status(rkb_json_load(path, &report, &err), RKB_OK, &err);
    free(path);
    const cJSON *summary = cJSON_GetObjectItemCaseSensitive(report, "summary");
    const cJSON *fast = cJSON_GetObjectItemCaseSensitive(summary, "fast_p");
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(fast, "1.0")));
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(report, "items")->child;
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(item, "speedup")));
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(item, "task")->valuestring, "s/t");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(item, "config")->valuestring, "N=1");
    cJSON_Delete(report);
    char *text = print(*state, 80, 0, 10);
    assert_contains(text, "emulated");
    free(text);
}

static void test_broken_result_is_refused_with_its_line(void **state)
{
    put_file(*state, "journal.jsonl",
             "{\"type\":\"run\",\"schema\":\"rkb-journal/1\"}\n"
             "{\"type\":\"result\",\"key\":\"s/t forward c N=1\",\"result\":{}}\n");
    assert_status(rkb_report_write(*state, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "line 2: a result without verdict");
    char *path = rkb_strf("%s/report.json", (char *)*state);
    assert_false(rkb_file_exists(path));
    free(path);
}

static void test_wrong_run_schema_is_refused(void **state)
{
    copy_golden(*state);
    put_file(*state, "run.json", "{\"schema\":\"rkb-run/2\"}");
    assert_status(rkb_report_write(*state, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "run.json: schema is rkb-run/2; this rkb reads rkb-run/1");
    put_file(*state, "run.json", "{}");
    assert_status(rkb_report_write(*state, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "run.json: schema: missing");
}

static void test_words_are_those_of_the_evaluator(void **state)
{
    (void)state;
    const struct {
        const char *word;
        int ours;
    } verdicts[] = {
#define ROW(_e, _text, _ours) {_text, _ours},
        RKB_VERDICT_MAP(ROW)
#undef ROW
    };
    const char *const flags[] = {
#define ROW(_e, _text) _text,
        RKB_FLAG_MAP(ROW)
#undef ROW
    };
    size_t count = sizeof verdicts / sizeof *verdicts;
    for (size_t i = 0; i < count; i++) {
        assert_non_null(rkb_verdict_words[i]);
        assert_string_equal(rkb_verdict_words[i], verdicts[i].word);
        assert_int_equal(rkb_verdict_word_is_ours(verdicts[i].word), verdicts[i].ours != 0);
    }
    assert_null(rkb_verdict_words[count]);
    count = sizeof flags / sizeof *flags;
    for (size_t i = 0; i < count; i++) {
        assert_non_null(rkb_flag_words[i]);
        assert_string_equal(rkb_flag_words[i], flags[i]);
    }
    assert_null(rkb_flag_words[count]);
}

static void check_seconds(double seconds, const char *want)
{
    char *text = rkb_format_seconds(seconds);
    assert_string_equal(text, want);
    free(text);
}

static void check_word(const char *word, const char *want)
{
    char *text = rkb_format_shell_word(word);
    assert_string_equal(text, want);
    free(text);
}

static void test_phrases(void **state)
{
    (void)state;
    check_seconds(0.04, "0.0 s");
    check_seconds(99.9, "99.9 s");
    check_seconds(99.96, "1 min 40 s");
    check_seconds(3599.6, "1 h 00 min 00 s");
    check_seconds(NAN, "");
    check_word("a/b-c.cu", "a/b-c.cu");
    check_word("", "''");
    check_word("it's $HOME", "'it'\\''s $HOME'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_in_folder(test_files_are_the_expected_ones),
        unit_test_in_folder(test_terminal_summary_is_the_expected_one),
        unit_test_in_folder(test_terminal_summary_obeys_its_arguments),
        unit_test_in_folder(test_numbers),
        unit_test_in_folder(test_emulated_run_has_no_speedups),
        unit_test_in_folder(test_broken_result_is_refused_with_its_line),
        unit_test_in_folder(test_wrong_run_schema_is_refused),
        cmocka_unit_test(test_words_are_those_of_the_evaluator),
        cmocka_unit_test(test_phrases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
