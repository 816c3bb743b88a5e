#include "tests/unit/unit.h"

#include "common/options.h"

typedef struct {
    bool samples;
    const char *out;
    int64_t ranks;
    int64_t any;
    uint64_t seed;
    double bound;
    double timeout;
    const char *device;
    rkb_option_list_t kernels;
} target_t;

#define ROW(_field) .offset = offsetof(target_t, _field)
static const rkb_option_t rows[] = {
    {"samples", 's', RKB_OPT_FLAG, ROW(samples), NULL, "judge the tasks' own samples"},
    {"out", 'o', RKB_OPT_STRING, ROW(out), "DIR", "where the run goes"},
    {"ranks", 0, RKB_OPT_INT, ROW(ranks), "N", "number of ranks", 1, 64},
    {"any", 0, RKB_OPT_INT, ROW(any), "N", "any integer"},
    {"seed", 0, RKB_OPT_UINT64, ROW(seed), "S", "run seed"},
    {"bound", 0, RKB_OPT_DOUBLE, ROW(bound), "X", "bound"},
    {"timeout", 't', RKB_OPT_DURATION, ROW(timeout), "TIME",
     "limit of one item; a hang is killed then and never tried again, default 60 s"},
    {"device", 0, RKB_OPT_CHOICE, ROW(device), "auto|cpu|cuda", "device to use"},
    {"kernels", 'k', RKB_OPT_LIST, ROW(kernels), "DIR", "folder of candidates, repeatable"},
    {NULL},
};
static const rkb_command_line_t command = {"rkb eval", "[options] FILE.cu", "Judges one candidate.",
                                           "example:\n  rkb eval --task relu my.cu", rows};

typedef struct {
    target_t target;
    char *argv[16];
    int argc, positional;
    rkb_parse_next_t next;
    rkb_error_t err;
} call_t;

/* Parses a command line that is given as words split at blanks. */
static rkb_status_t parse(call_t *call, const char *words)
{
    static char copy[256];
    *call = (call_t){.target = {.out = "default", .device = "auto"}, .next = RKB_PARSE_EXIT};
    snprintf(copy, sizeof copy, "%s", words);
    call->argv[call->argc++] = (char *)"rkb";
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        call->argv[call->argc++] = word;
    return rkb_options_parse(&command, call->argc, call->argv, &call->target, &call->positional,
                             &call->next, &call->err);
}

static void refuse(const char *words, const char *want)
{
    call_t call;
    assert_status(parse(&call, words), RKB_ERR_USAGE, &call.err);
    assert_contains(call.err.text, want);
    rkb_option_list_release(&call.target.kernels);
}

static void test_every_kind(void **state)
{
    (void)state;
    call_t call;
    assert_status(parse(&call, "--samples --out=here --ranks 64 --any -5 --seed 0xffffffffffffffff "
                               "--bound 1e-3 --timeout 250ms --device cpu"),
                  RKB_OK, &call.err);
    assert_int_equal(call.next, RKB_PARSE_RUN);
    assert_int_equal(call.positional, 0);
    assert_true(call.target.samples);
    assert_string_equal(call.target.out, "here");
    assert_int_equal(call.target.ranks, 64);
    assert_int_equal(call.target.any, -5);
    assert_true(call.target.seed == UINT64_MAX);
    assert_true(call.target.bound == 1e-3);
    assert_true(call.target.timeout == 0.25);
    assert_string_equal(call.target.device, "cpu");
}

static void test_defaults_stay(void **state)
{
    (void)state;
    call_t call;
    assert_status(parse(&call, ""), RKB_OK, &call.err);
    assert_string_equal(call.target.out, "default");
    assert_false(call.target.samples);
    assert_int_equal(call.target.kernels.count, 0);
}

static void test_letters_lists_and_positionals(void **state)
{
    (void)state;
    call_t call;
    assert_status(parse(&call, "one -k a two -s --kernels=b - -- --three -k"), RKB_OK, &call.err);
    assert_int_equal(call.positional, 5);
    assert_string_equal(call.argv[1], "one");
    assert_string_equal(call.argv[2], "two");
    assert_string_equal(call.argv[3], "-");
    assert_string_equal(call.argv[4], "--three");
    assert_string_equal(call.argv[5], "-k");
    assert_true(call.target.samples);
    assert_int_equal(call.target.kernels.count, 2);
    assert_string_equal(call.target.kernels.items[0], "a");
    assert_string_equal(call.target.kernels.items[1], "b");
    rkb_option_list_release(&call.target.kernels);
    assert_null(call.target.kernels.items);
}

static void test_durations(void **state)
{
    (void)state;
    const struct {
        const char *words;
        double seconds;
    } cases[] = {{"-t 10", 10}, {"-t 1.5s", 1.5}, {"-t 5m", 300}, {"-t 2h", 7200}, {"-t 0", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_t call;
        assert_status(parse(&call, cases[i].words), RKB_OK, &call.err);
        assert_true(call.target.timeout == cases[i].seconds);
    }
    refuse("-t 5x", "duration");
    refuse("-t -5", "duration");
    refuse("-t s", "duration");
    refuse("-t inf", "duration");
}

static void test_bad_values(void **state)
{
    (void)state;
    refuse("--ranks 0", "--ranks: 0 is not within 1 to 64");
    refuse("--ranks 65", "within");
    refuse("--ranks 1x", "\"1x\" is not an integer");
    refuse("--ranks=", "not an integer");
    refuse("--any 9223372036854775808", "integer");
    refuse("--seed -1", "unsigned");
    refuse("--seed 0x", "unsigned");
    refuse("--seed 18446744073709551616", "unsigned");
    refuse("--bound nan", "finite");
    refuse("--bound 1e999", "finite");
    refuse("--device gpu", "none of auto|cpu|cuda");
    refuse("--device cud", "did you mean cuda?");
    refuse("--samples=yes", "takes no value");
    refuse("--out", "--out needs a value: DIR");
}

static void test_unknown_options_get_a_hint(void **state)
{
    (void)state;
    refuse("--kernel x", "unknown option --kernel; did you mean --kernels?");
    refuse("--deviec=cpu", "unknown option --deviec; did you mean --device?");
    refuse("--hlep", "did you mean --help?");
    refuse("--consistency 3", "see rkb eval --help");
    refuse("-z", "unknown option -z");
    refuse("-so x", "unknown option -so");
}

static void test_help_lists_every_row(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    rkb_options_help(&command, out);
    fclose(out);
    assert_contains(text, "usage: rkb eval [options] FILE.cu\n");
    assert_contains(text, "Judges one candidate.");
    assert_contains(text, "  -s, --samples");
    assert_contains(text, "      --device auto|cpu|cuda");
    assert_contains(text, "--help");
    assert_contains(text, "--version");
    assert_contains(text, "rkb eval --task relu my.cu\n");
    for (const rkb_option_t *row = rows; row->name; row++)
        assert_contains(text, row->name);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_in_range(strlen(line), 1, 80);
    free(text);
}

static void test_help_and_version_end_the_program(void **state)
{
    (void)state;
    const char *const words[] = {"--version", "--samples -h", "--help --nonsense"};
    for (size_t i = 0; i < 3; i++) {
        call_t call;
        assert_status(parse(&call, words[i]), RKB_OK, &call.err);
        assert_int_equal(call.next, RKB_PARSE_EXIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_defaults_stay),
        cmocka_unit_test(test_letters_lists_and_positionals),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_unknown_options_get_a_hint),
        cmocka_unit_test(test_help_lists_every_row),
        cmocka_unit_test(test_help_and_version_end_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
