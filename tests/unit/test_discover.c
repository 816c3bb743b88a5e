#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/file.h"
#include "evaluator/judge/discover.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    rkb_task_set_t *tasks;
    char folder[64];
} fixture_t;

static int setup(void **state)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_task_set_load(RKB_SOURCE_DIR "/tasks", &fixture->tasks, &err) != RKB_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    strcpy(fixture->folder, "/tmp/rkb-discover-XXXXXX");
    *state = fixture;
    return mkdtemp(fixture->folder) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    fixture_t *fixture = *state;
    rkb_file_remove_tree(fixture->folder, NULL);
    rkb_task_set_destroy(fixture->tasks);
    free(fixture);
    return 0;
}

static void put(const fixture_t *fixture, const char *name, const char *text)
{
    char *path = rkb_strf("%s/%s", fixture->folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(rkb_file_make_dirs(path, NULL), RKB_OK);
    *slash = '/';
    assert_int_equal(rkb_file_write_atomic(path, text, strlen(text), NULL), RKB_OK);
    free(path);
}

static rkb_discovery_t discover(const fixture_t *fixture, const rkb_plan_params_t *params)
{
    rkb_discovery_t found;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_status_t status = rkb_discover(fixture->tasks, params, &found, &err);
    if (status != RKB_OK) {
        fail_msg("%s", err.text);
    }
    return found;
}

static void assert_candidate(const rkb_candidate_t *candidate, const char *task,
                             rkb_direction_t direction, const char *name)
{
    assert_string_equal(rkb_task_name(candidate->task), task);
    assert_int_equal(candidate->direction, direction);
    assert_string_equal(candidate->name, name);
}

static void test_folder_layouts(void **state)
{
    fixture_t *fixture = *state;
    put(fixture, "k/layernorm/forward/a.cu", "");
    put(fixture, "k/layernorm/forward/deep/er/b.cu", "");
    put(fixture, "k/robust-kbench/mnist_linear/backward/c d.cu", "");
    put(fixture, "k/layernorm/forward/notes.txt", "");
    put(fixture, "k/layernorm/forward/.hidden/x.cu", "");
    put(fixture, "k/nosuchtask/forward/lost.cu", "");
    put(fixture, "k/layernorm/sideways/lost.cu", "");
    char *folder = rkb_strf("%s/k/", fixture->folder);
    const char *kernels[] = {folder};
    rkb_plan_params_t params = {.kernels = kernels, .kernel_count = 1};
    rkb_discovery_t found = discover(fixture, &params);
    assert_int_equal(found.count, 3);
    assert_candidate(&found.candidates[0], "layernorm", RKB_FORWARD, "a");
    assert_candidate(&found.candidates[1], "layernorm", RKB_FORWARD, "deep/er/b");
    assert_candidate(&found.candidates[2], "mnist_linear", RKB_BACKWARD, "c_d");
    assert_int_equal(found.notice_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(found.notices[i].kind, "unknown_task");
        assert_non_null(strstr(found.notices[i].path, "lost.cu"));
    }
    rkb_discovery_release(&found);
    params.task = "mnist_linear";
    found = discover(fixture, &params);
    assert_int_equal(found.count, 1);
    rkb_discovery_release(&found);
    params.direction = "forward";
    found = discover(fixture, &params);
    assert_int_equal(found.count, 0);
    rkb_discovery_release(&found);
    free(folder);
}

static void test_equal_names_stay_apart(void **state)
{
    fixture_t *fixture = *state;
    put(fixture, "one/layernorm/forward/a.cu", "1");
    put(fixture, "two/layernorm/forward/a.cu", "2");
    char *one = rkb_strf("%s/one", fixture->folder), *two = rkb_strf("%s/two", fixture->folder);
    const char *kernels[] = {two, one};
    rkb_plan_params_t params = {.kernels = kernels, .kernel_count = 2};
    rkb_discovery_t found = discover(fixture, &params);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.candidates[0].name, "a");
    assert_non_null(strstr(found.candidates[0].source, "/one/"));
    assert_string_equal(found.candidates[1].name, "a#2");
    rkb_discovery_release(&found);
    free(one);
    free(two);
}

static void test_manifest(void **state)
{
    fixture_t *fixture = *state;
    put(fixture, "m.jsonl",
        "{\"task\":\"layernorm\",\"direction\":\"forward\",\"source\":\"x.cu\","
        "\"name\":\"gpt 1\",\"meta\":{\"model\":\"m\",\"claim\":2.5}}\n"
        "\n"
        "{\"task\":\"layernorm\",\"direction\":\"forward\"}\n"
        "{\"task\":\"nosuch\",\"direction\":\"forward\",\"source\":\"x.cu\"}\n"
        "not json\n"
        "{\"task\":\"mnist_linear\",\"direction\":\"backward\",\"source\":\"/abs/y.cu\"}");
    char *manifest = rkb_strf("%s/m.jsonl", fixture->folder);
    rkb_plan_params_t params = {.manifest = manifest};
    rkb_discovery_t found = discover(fixture, &params);
    assert_int_equal(found.count, 2);
    assert_candidate(&found.candidates[0], "layernorm", RKB_FORWARD, "gpt_1");
    char *source = rkb_strf("%s/x.cu", fixture->folder);
    assert_string_equal(found.candidates[0].source, source);
    assert_string_equal(
        cJSON_GetObjectItemCaseSensitive(found.candidates[0].meta, "model")->valuestring, "m");
    assert_string_equal(found.candidates[1].source, "/abs/y.cu");
    assert_int_equal(found.notice_count, 3);
    assert_string_equal(found.notices[0].kind, "bad_manifest_line");
    assert_non_null(strstr(found.notices[0].path, "m.jsonl:3"));
    assert_non_null(strstr(found.notices[0].text, "source"));
    assert_string_equal(found.notices[1].kind, "unknown_task");
    assert_non_null(strstr(found.notices[1].path, "m.jsonl:4"));
    assert_non_null(strstr(found.notices[2].path, "m.jsonl:5"));
    rkb_discovery_release(&found);
    free(source);
    free(manifest);
}

static void test_controls(void **state)
{
    fixture_t *fixture = *state;
    rkb_plan_params_t params = {
        .controls = true, .task = "robust-kbench/layernorm", .direction = "backward"};
    rkb_discovery_t found = discover(fixture, &params);
    assert_int_equal(found.count, 4);
    assert_candidate(&found.candidates[2], "layernorm", RKB_BACKWARD, "@reference");
    assert_null(found.candidates[2].source);
    rkb_discovery_release(&found);
}

static void test_errors_name_the_cause(void **state)
{
    fixture_t *fixture = *state;
    put(fixture, "one.cu", "");
    char *file = rkb_strf("%s/one.cu", fixture->folder);
    const char *kernels[] = {file};
    const struct {
        const char *kernel, *manifest, *task, *direction;
        rkb_status_t status;
        const char *text;
    } cases[] = {
        {"/nonexistent/kernels", NULL, NULL, NULL, RKB_ERR_NOT_FOUND, "/nonexistent/kernels"},
        {file, NULL, NULL, NULL, RKB_ERR_USAGE, "--task"},
        {NULL, "/nonexistent/m.jsonl", NULL, NULL, RKB_ERR_NOT_FOUND, "/nonexistent/m.jsonl"},
        {file, NULL, "layernrm", NULL, RKB_ERR_NOT_FOUND, "layernorm"},
        {file, NULL, "layernorm", "upward", RKB_ERR_INVALID, "upward"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kernels[0] = cases[i].kernel;
        rkb_plan_params_t params = {.kernels = kernels,
                                    .kernel_count = cases[i].kernel != NULL,
                                    .manifest = cases[i].manifest,
                                    .task = cases[i].task,
                                    .direction = cases[i].direction};
        rkb_discovery_t found;
        rkb_error_t err = RKB_ERROR_INIT;
        rkb_status_t status = rkb_discover(fixture->tasks, &params, &found, &err);
        if (status != cases[i].status && status != RKB_ERR_IO) {
            fail_msg("case %zu: %s: %s", i, rkb_status_name(status), err.text);
        }
        if (strstr(err.text, cases[i].text) == NULL) {
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].text);
        }
    }
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folder_layouts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_names_stay_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_manifest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_controls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors_name_the_cause, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
