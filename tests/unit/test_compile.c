#include "tests/unit/unit.h"

#include "evaluator/candidate/cache.h"
#include "evaluator/candidate/compile.h"

#include <dirent.h>
#include <poll.h>

static rkb_compiler_t *make(const char *dir, double timeout, uint64_t memory)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_compile_options_t options = {.cache_dir = dir, .timeout = timeout, .memory_limit = memory};
    rkb_compiler_t *compiler;
    assert_status(rkb_compiler_create(&options, &compiler, &err), RKB_OK, &err);
    return compiler;
}

static rkb_compile_job_t *start(rkb_compiler_t *compiler, const char *source)
{
    return rkb_compiler_start(compiler, "k.cu", source, strlen(source));
}

/* Files in a folder, "." and ".." aside. */
static int count_entries(const char *dir, const char *sub)
{
    char path[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", dir, sub);
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count - 2;
}

static void test_object_is_found_again(void **state)
{
    const char *source = "int f() { return 1; }";
    rkb_compiler_t *compiler = make(*state, 0, 0);
    rkb_compile_job_t *job = start(compiler, source);
    struct pollfd ready = {.fd = rkb_compile_job_fd(job), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 60000), 1);
    assert_int_equal(rkb_compile_job_wait(job), RKB_COMPILE_DONE);
    assert_int_equal(rkb_compile_job_fd(job), -1);
    assert_false(rkb_compile_job_cached(job));
    assert_true(rkb_compile_job_take_seconds(job) > 0);
    assert_true(rkb_compile_job_take_seconds(job) == 0);
    assert_true(rkb_cache_has(rkb_compile_job_path(job)));
    assert_ptr_equal(start(compiler, source), job);
    rkb_compiler_destroy(compiler);

    compiler = make(*state, 0, 0);
    job = start(compiler, source);
    assert_int_equal(rkb_compile_job_poll(job), RKB_COMPILE_DONE);
    assert_true(rkb_compile_job_cached(job));
    assert_true(rkb_compile_job_take_seconds(job) == 0);
    assert_int_equal(count_entries(*state, "tmp"), 0);

    rkb_error_t err = RKB_ERROR_INIT;
    rkb_cache_info_t info;
    assert_status(rkb_cache_info(*state, &info, &err), RKB_OK, &err);
    assert_int_equal(info.objects, 1);
    assert_status(rkb_cache_clear(*state, &err), RKB_OK, &err);
    assert_false(rkb_cache_has(rkb_compile_job_path(job)));
    rkb_compiler_destroy(compiler);
}

static void test_flags_are_part_of_the_key(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_compile_options_t options = {.cache_dir = *state, .flags = "-DN=2  --use_fast_math"};
    rkb_compiler_t *with;
    assert_status(rkb_compiler_create(&options, &with, &err), RKB_OK, &err);
    rkb_compiler_t *without = make(*state, 0, 0);
    const char *source = "int x[N];";
    rkb_compile_job_t *a = start(with, source);
    rkb_compile_job_t *b = start(without, source);
    assert_string_not_equal(rkb_compile_job_path(a), rkb_compile_job_path(b));
    assert_int_equal(rkb_compile_job_wait(a), RKB_COMPILE_DONE);
    assert_int_equal(rkb_compile_job_wait(b), RKB_COMPILE_FAILED);
    assert_contains(rkb_compile_job_message(b), "line 1: 'N' was not declared");
    assert_contains(rkb_compiler_flags(with), "-DN=2");
    assert_true(strlen(rkb_compiler_version(with)) > 0);
    rkb_compiler_destroy(with);
    rkb_compiler_destroy(without);
}

static void test_failures_are_remembered_by_one_compiler(void **state)
{
    rkb_compiler_t *compiler = make(*state, 0, 0);
    rkb_compile_job_t *job = start(compiler, "int f( {");
    assert_int_equal(rkb_compile_job_wait(job), RKB_COMPILE_FAILED);
    assert_ptr_equal(start(compiler, "int f( {"), job);
    assert_int_equal(rkb_compile_job_poll(job), RKB_COMPILE_FAILED);
    assert_contains(rkb_compile_job_log(job), "k.cu:1");
    rkb_compiler_destroy(compiler);
}

static void test_concurrent_writers_of_one_object(void **state)
{
    enum { WRITERS = 3 };
    const char *source = "int g() { return 3; }";
    rkb_compiler_t *compilers[WRITERS];
    rkb_compile_job_t *jobs[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        compilers[i] = make(*state, 0, 0);
        jobs[i] = start(compilers[i], source);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(rkb_compile_job_wait(jobs[i]), RKB_COMPILE_DONE);
        assert_string_equal(rkb_compile_job_path(jobs[i]), rkb_compile_job_path(jobs[0]));
        assert_true(rkb_cache_has(rkb_compile_job_path(jobs[i])));
    }
    for (int i = 0; i < WRITERS; i++)
        rkb_compiler_destroy(compilers[i]);
}

static void test_messages_quote_no_file_of_the_host(void **state)
{
    unit_write_file("/tmp/rkb-unit-secret", "very_secret\n");
    rkb_compiler_t *compiler = make(*state, 0, 0);
    rkb_compile_job_t *job = start(compiler, "#line 1 \"/tmp/rkb-unit-secret\"\nx y;\n");
    assert_int_equal(rkb_compile_job_wait(job), RKB_COMPILE_FAILED);
    assert_null(strstr(rkb_compile_job_log(job), "very_secret"));
    assert_null(strstr(rkb_compile_job_log(job), *state)); /* nor our paths */
    job = start(compiler, "#include \"/tmp/rkb-unit-secret\"\n");
    assert_int_equal(rkb_compile_job_wait(job), RKB_COMPILE_FAILED);
    assert_null(strstr(rkb_compile_job_log(job), "very_secret"));
    rkb_compiler_destroy(compiler);
    unlink("/tmp/rkb-unit-secret");
}

/* 2^24 instantiations. */
static const char bomb[] =
    "template <int N, unsigned M> struct s {\n"
    "    static constexpr unsigned v = s<N - 1, M * 2>::v + s<N - 1, M * 2 + 1>::v;\n"
    "};\n"
    "template <unsigned M> struct s<0, M> { static constexpr unsigned v = M; };\n"
    "unsigned x = s<24, 1>::v;";

static void test_endless_compilation_is_stopped(void **state)
{
    rkb_compiler_t *compiler = make(*state, 0.5, 0);
    rkb_compile_job_t *job = start(compiler, bomb);
    assert_int_equal(rkb_compile_job_wait(job), RKB_COMPILE_TIMED_OUT);
    assert_contains(rkb_compile_job_message(job), "limit of 0.5 s");
    rkb_compiler_destroy(compiler);
    assert_int_equal(count_entries(*state, "tmp"), 0);
}

static void test_memory_bomb_is_stopped(void **state)
{
    rkb_compiler_t *compiler = make(*state, 60, UINT64_C(256) << 20);
    rkb_compile_job_t *job = start(compiler, bomb);
    assert_int_equal(rkb_compile_job_wait(job), RKB_COMPILE_FAILED);
    assert_contains(rkb_compile_job_message(job), "memory limit");
    rkb_compiler_destroy(compiler);
}

static void test_running_jobs_end_with_their_compiler(void **state)
{
    rkb_compiler_t *compiler = make(*state, 60, 0);
    start(compiler, "#include <regex>\nstd::regex r(\"a\");");
    rkb_compiler_destroy(compiler);
    assert_int_equal(count_entries(*state, "tmp"), 0);
}

static void test_missing_compiler_is_ours(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_compile_options_t options = {.cache_dir = *state, .compiler = "/nowhere/c++"};
    rkb_compiler_t *compiler = NULL;
    assert_int_not_equal(rkb_compiler_create(&options, &compiler, &err), RKB_OK);
    assert_contains(err.text, "/nowhere/c++");
    assert_null(compiler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_in_folder(test_object_is_found_again),
        unit_test_in_folder(test_flags_are_part_of_the_key),
        unit_test_in_folder(test_failures_are_remembered_by_one_compiler),
        unit_test_in_folder(test_concurrent_writers_of_one_object),
        unit_test_in_folder(test_messages_quote_no_file_of_the_host),
        unit_test_in_folder(test_endless_compilation_is_stopped),
        unit_test_in_folder(test_memory_bomb_is_stopped),
        unit_test_in_folder(test_running_jobs_end_with_their_compiler),
        unit_test_in_folder(test_missing_compiler_is_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
