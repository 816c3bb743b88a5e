/* `rkb tasks`: list, show and dump, called in-process, their files read back. */
#include "common/file.h"
#include "common/json.h"
#include "evaluator/reference/reference.h"
#include "evaluator/task/cmd_tasks.h"
#include "evaluator/task/npy.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define TASKS RKB_SOURCE_DIR "/tasks"
#define CONFIG "B=5,I=37,O=11,init=kaiming"

static char scratch[] = "/tmp/rkb-test-tasks-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rkb_file_remove_tree(scratch, NULL) == RKB_OK ? 0 : -1;
}

typedef struct {
    int code;
    char *out, *err;
} outcome_t;

/* Runs the command with both output streams caught; words end with NULL. */
static outcome_t tasks(const char *const *words)
{
    char *argv[32] = {"tasks"}, *paths[2];
    int argc = 1, saved[2];
    outcome_t outcome;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        paths[i] = rkb_strf("%s/stream-%d", scratch, i);
        int fd = open(paths[i], O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        saved[i] = dup(1 + i);
        dup2(fd, 1 + i);
        close(fd);
    }
    outcome.code = rkb_cmd_tasks(argc, argv);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        size_t len;
        dup2(saved[i], 1 + i);
        close(saved[i]);
        assert_int_equal(
            rkb_file_read(paths[i], 1 << 20, i ? &outcome.err : &outcome.out, &len, NULL), RKB_OK);
        unlink(paths[i]);
        free(paths[i]);
    }
    return outcome;
}
#define TASKS_RUN(...) tasks((const char *const[]){__VA_ARGS__, NULL})

static void release(outcome_t *outcome)
{
    free(outcome->out);
    free(outcome->err);
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

/* Elements below a folder, "." and ".." left out. */
static int entries_of(const char *path)
{
    DIR *dir = opendir(path);
    int count = -2;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void test_list_names_tasks_and_sets(void **state)
{
    (void)state;
    outcome_t outcome = TASKS_RUN("list", "--tasks", TASKS);
    assert_int_equal(outcome.code, 0);
    expect_part(outcome.out, "robust-kbench/layernorm ");
    expect_part(outcome.out, "single:1");
    release(&outcome);

    cJSON *list;
    rkb_error_t err = RKB_ERROR_INIT;
    outcome = TASKS_RUN("list", "--json", "--tasks", TASKS);
    assert_int_equal(outcome.code, 0);
    assert_int_equal(rkb_json_parse(outcome.out, strlen(outcome.out), &list, &err), RKB_OK);
    assert_true(cJSON_GetArraySize(list) >= 4);
    const cJSON *first = cJSON_GetArrayItem(list, 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "task")),
                        "robust-kbench/layernorm");
    const cJSON *multi = cJSON_GetObjectItem(cJSON_GetObjectItem(first, "configs"), "multi");
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(multi, "backward")), 8);
    cJSON_Delete(list);
    release(&outcome);
}

static void test_show_gives_signatures_to_copy(void **state)
{
    (void)state;
    outcome_t outcome = TASKS_RUN("show", "--tasks", TASKS, "layernorm");
    assert_int_equal(outcome.code, 0);
    expect_part(outcome.out, "torch::Tensor forward(torch::Tensor x, torch::Tensor weight, "
                             "torch::Tensor bias, double eps);");
    expect_part(outcome.out, "std::vector<torch::Tensor> backward(torch::Tensor grad_output, "
                             "torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double "
                             "eps, std::vector<int64_t> normalized_shape);");
    expect_part(outcome.out, "returns grad_x, grad_weight, grad_bias");
    expect_part(outcome.out, "x: float32 [B, C, D1, D2]");
    expect_part(outcome.out, "single, backward:\n    B=32,C=64,D1=256,D2=256,init=random");
    expect_part(outcome.out, "eps = 1e-05");
    release(&outcome);

    outcome = TASKS_RUN("show", "mnist_linear", "--tasks", TASKS, "--config", CONFIG);
    assert_int_equal(outcome.code, 0);
    expect_part(outcome.out, "weights: float32 [11, 37], uniform from -0.164399 to below 0.164399");
    expect_part(outcome.out, "y: float32 [5, 11]");
    release(&outcome);
}

static void test_help_and_mistakes(void **state)
{
    static const struct {
        const char *words[8];
        int code;
        const char *out, *err;
    } rows[] = {
        {{"--help"}, 0, "usage: rkb tasks", ""},
        {{"list", "--help"}, 0, "--json", ""},
        {{"show", "--help"}, 0, "--config", ""},
        {{"dump", "--help"}, 0, "--trial", ""},
        {{"lst"}, 2, "", "did you mean \"list\"?"},
        {{"show"}, 2, "", "expected one task"},
        {{"show", "layernrom", "--tasks", TASKS}, 2, "", "did you mean \"layernorm\"?"},
        {{"show", "layernorm", "--tasks", TASKS, "--config", "B=1"}, 2, "", "\"C\" has no value"},
        {{"list", "--tasks", "/nonexistent"}, 2, "", "/nonexistent"},
        {{"list", "extra"}, 2, "", "unexpected argument \"extra\""},
        {{"dump"}, 2, "", "--task is missing"},
        {{"dump", "--task", "layernorm"}, 2, "", "--config is missing"},
        {{"dump", "--task", "layernorm", "--config", "B=1"}, 2, "", "--out is missing"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        outcome_t outcome = tasks(rows[i].words);
        if (outcome.code != rows[i].code)
            fail_msg("row %zu: exit code %d: %s", i, outcome.code, outcome.err);
        expect_part(outcome.out, rows[i].out);
        expect_part(outcome.err, rows[i].err);
        release(&outcome);
    }
}

/* Reads a float32 .npy file: header checked, data returned. */
static float *read_npy(const char *folder, const char *file, const char *shape, size_t *count)
{
    char *path = rkb_strf("%s/%s", folder, file), *bytes, *expected;
    size_t len;
    assert_int_equal(rkb_file_read(path, 1 << 20, &bytes, &len, NULL), RKB_OK);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00", 8);
    size_t header = (unsigned char)bytes[8] + 256u * (unsigned char)bytes[9];
    assert_int_equal((10 + header) % 64, 0);
    assert_int_equal(bytes[9 + header], '\n');
    expected = rkb_strf("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    assert_memory_equal(bytes + 10, expected, strlen(expected));
    size_t size = len - 10 - header;
    float *data = malloc(size);
    assert_non_null(data);
    memcpy(data, bytes + 10 + header, size);
    *count = size / sizeof *data;
    free(expected);
    free(bytes);
    free(path);
    return data;
}

static void test_a_dump_can_be_checked_by_others(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char *out = rkb_strf("%s/below/linear", scratch), *path = rkb_strf("%s/index.json", out);
    cJSON *index;
    (void)state;
    outcome_t outcome = TASKS_RUN("dump", "--task", "mnist_linear", "--config", CONFIG, "--seed",
                                  "42", "--out", out, "--tasks", TASKS);
    if (outcome.code != 0)
        fail_msg("%s", outcome.err);
    release(&outcome);
    assert_int_equal(rkb_json_load(path, &index, &err), RKB_OK);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(index, "task")),
                        "robust-kbench/mnist_linear");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(index, "config")), CONFIG);
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(index, "seed")), 42);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(index, "origin")),
                        "robust-kbench/tasks/mnist_linear");

    static const struct {
        const char *name, *role, *shape;
    } rows[] = {
        {"x", "input", "[5,37]"},
        {"weights", "param", "[11,37]"},
        {"biases", "param", "[11]"},
        {"y", "output", "[5,11]"},
        {"grad_output", "grad", "[5,11]"},
        {"grad_x", "grad", "[5,37]"},
        {"grad_weights", "grad", "[11,37]"},
        {"grad_biases", "grad", "[11]"},
    };
    const cJSON *list = cJSON_GetObjectItem(index, "tensors");
    assert_int_equal(cJSON_GetArraySize(list), sizeof rows / sizeof rows[0]);
    for (int i = 0; i < cJSON_GetArraySize(list); i++) {
        const cJSON *entry = cJSON_GetArrayItem(list, i);
        char *shape = cJSON_PrintUnformatted(cJSON_GetObjectItem(entry, "shape"));
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "name")), rows[i].name);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "role")), rows[i].role);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "dtype")), "float32");
        assert_string_equal(shape, rows[i].shape);
        cJSON_free(shape);
    }
    cJSON_Delete(index);
    assert_int_equal(entries_of(out), 9);

    /* y = x Wᵀ + b from the files alone */
    size_t nx, nw, nb, ny;
    float *x = read_npy(out, "x.npy", "(5, 37)", &nx),
          *w = read_npy(out, "weights.npy", "(11, 37)", &nw);
    float *b = read_npy(out, "biases.npy", "(11,)", &nb),
          *y = read_npy(out, "y.npy", "(5, 11)", &ny);
    assert_int_equal(ny, 55);
    for (int r = 0; r < 5; r++)
        for (int o = 0; o < 11; o++) {
            double sum = b[o];
            for (int i = 0; i < 37; i++)
                sum += (double)x[37 * r + i] * w[37 * o + i];
            assert_true(sum - y[11 * r + o] < 1e-5 && y[11 * r + o] - sum < 1e-5);
        }
    free(x);
    free(w);
    free(b);
    free(y);
    free(path);
    free(out);
}

static void test_a_dump_of_one_direction_has_only_that(void **state)
{
    char *out = rkb_strf("%s/forward", scratch), *other = rkb_strf("%s/backward", scratch);
    size_t count;
    (void)state;
    outcome_t outcome = TASKS_RUN("dump", "-t", "mnist_cross_entropy", "-c", "B=7,C=10", "-s", "1",
                                  "-o", out, "-d", "forward", "--tasks", TASKS);
    assert_int_equal(outcome.code, 0);
    release(&outcome);
    assert_int_equal(entries_of(out), 4); /* predictions, targets, loss, index */
    free(read_npy(out, "loss.npy", "()", &count));
    assert_int_equal(count, 1);

    outcome = TASKS_RUN("dump", "-t", "mnist_cross_entropy", "-c", "B=7,C=10", "-s", "1", "-o",
                        other, "-d", "backward", "--trial", "0", "--tasks", TASKS);
    assert_int_equal(outcome.code, 0);
    release(&outcome);
    assert_int_equal(entries_of(other), 5); /* predictions, targets, two gradients, index */
    float *a = read_npy(out, "predictions.npy", "(7, 10)", &count);
    float *b = read_npy(other, "predictions.npy", "(7, 10)", &count);
    assert_memory_equal(a, b, count * sizeof *a); /* directions share their inputs */
    free(a);
    free(b);
    free(out);
    free(other);
}

static void test_a_failed_dump_leaves_nothing(void **state)
{
    char *out = rkb_strf("%s/taken", scratch), *file = rkb_strf("%s/keep.txt", out);
    int before;
    rkb_error_t err = RKB_ERROR_INIT;
    (void)state;
    assert_int_equal(rkb_file_make_dirs(out, &err), RKB_OK);
    assert_int_equal(rkb_file_write_atomic(file, "mine", 4, &err), RKB_OK);
    before = entries_of(scratch);
    outcome_t outcome = TASKS_RUN("dump", "-t", "mnist_linear", "-c", CONFIG, "-s", "1", "-o", out,
                                  "--tasks", TASKS);
    assert_int_equal(outcome.code, 2);
    expect_part(outcome.err, "is not an empty folder");
    release(&outcome);
    assert_int_equal(entries_of(scratch), before);
    assert_int_equal(entries_of(out), 1);

    /* more bytes than addresses */
    char *huge = rkb_strf("%s/huge", scratch);
    outcome = TASKS_RUN("dump", "-t", "mnist_linear", "-c", "B=1073741824,I=1048576,O=1,init=kaiming",
                        "-s", "1", "-o", huge, "--tasks", TASKS);
    assert_int_equal(outcome.code, 4);
    expect_part(outcome.err, "bytes for \"x\"");
    release(&outcome);
    assert_false(rkb_file_exists(huge));
    assert_int_equal(entries_of(scratch), before);
    free(huge);
    free(file);
    free(out);
}

static void test_npy_headers_for_every_dtype(void **state)
{
    static const struct {
        rkb_dtype_t dtype;
        const char *descr;
    } rows[] = {
        {RKB_U8, "|u1"},  {RKB_I8, "|i1"},  {RKB_I16, "<i2"}, {RKB_I32, "<i4"},  {RKB_I64, "<i8"},
        {RKB_F16, "<f2"}, {RKB_F32, "<f4"}, {RKB_F64, "<f8"}, {RKB_BOOL, "|b1"}, {RKB_BF16, "<u2"},
    };
    char *path = rkb_strf("%s/one.npy", scratch), *bytes;
    unsigned char data[8] = {1};
    int64_t sizes[RKB_MAX_DIMS];
    rkb_error_t err = RKB_ERROR_INIT;
    size_t len;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rkb_npy_write(path, rows[i].dtype, NULL, 0, data, 8, &err), RKB_OK);
        assert_int_equal(rkb_file_read(path, 4096, &bytes, &len, NULL), RKB_OK);
        expect_part(bytes + 10, rows[i].descr);
        expect_part(bytes + 10, "'shape': ()");
        free(bytes);
        unlink(path);
    }
    for (int d = 0; d < RKB_MAX_DIMS; d++)
        sizes[d] = INT64_MAX; /* the longest header there is */
    assert_int_equal(rkb_npy_write(path, RKB_F32, sizes, RKB_MAX_DIMS, data, 8, &err), RKB_OK);
    assert_int_equal(rkb_file_read(path, 4096, &bytes, &len, NULL), RKB_OK);
    assert_int_equal((len - 8) % 64, 0);
    free(bytes);
    assert_int_equal(rkb_npy_write(path, RKB_F32, NULL, 0, data, 4, &err), RKB_ERR_IO); /* exists */
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_names_tasks_and_sets),
        cmocka_unit_test(test_show_gives_signatures_to_copy),
        cmocka_unit_test(test_help_and_mistakes),
        cmocka_unit_test(test_a_dump_can_be_checked_by_others),
        cmocka_unit_test(test_a_dump_of_one_direction_has_only_that),
        cmocka_unit_test(test_a_failed_dump_leaves_nothing),
        cmocka_unit_test(test_npy_headers_for_every_dtype),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
