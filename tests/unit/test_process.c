#include "tests/unit/unit.h"

#include "common/clock.h"
#include "common/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#define HELPER RKB_BINARY_DIR "/tests/process_helper"
#define ARGV(...) ((const char *const[]){HELPER, __VA_ARGS__, NULL})

static rkb_error_t err;

/* Runs the helper with its output captured; returns what it printed. */
static const char *output_of(rkb_process_params_t *params, rkb_process_result_t *result)
{
    static char text[4096];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    params->stdout_fd = ends[1];
    assert_status(rkb_process_run(params, 10, result, &err), RKB_OK, &err);
    close(ends[1]);
    ssize_t got = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static rkb_process_result_t run(const char *const *argv)
{
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = argv;
    assert_status(rkb_process_run(&params, 10, &result, &err), RKB_OK, &err);
    return result;
}

static pid_t read_pid(const char *path)
{
    char *text;
    size_t len;
    for (int i = 0; i < 500 && !rkb_file_exists(path); i++)
        rkb_clock_sleep(0.01);
    assert_status(rkb_file_read(path, 100, &text, &len, &err), RKB_OK, &err);
    pid_t pid = (pid_t)atol(text);
    free(text);
    assert_true(pid > 1);
    return pid;
}

/* Gone, or a zombie that its new parent has not collected yet. */
static int is_dead(pid_t pid)
{
    char *path = rkb_strf("/proc/%ld/stat", (long)pid);
    char *text;
    size_t len;
    rkb_status_t status = rkb_file_read(path, 4096, &text, &len, NULL);
    free(path);
    if (status != RKB_OK)
        return 1;
    const char *after_name = strrchr(text, ')');
    int dead = after_name && (after_name[2] == 'Z' || after_name[2] == 'X');
    free(text);
    return dead;
}

static void assert_dies(pid_t pid)
{
    for (int i = 0; i < 500 && !is_dead(pid); i++)
        rkb_clock_sleep(0.01);
    assert_true(is_dead(pid));
}

static void test_exit_code_and_signal(void **state)
{
    (void)state;
    char buf[64];
    rkb_process_result_t result = run(ARGV("exit", "3"));
    assert_true(result.exited);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(rkb_process_describe(&result, buf, sizeof buf), "exit code 3");
    result = run(ARGV("kill-self", "9"));
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGKILL);
    assert_false(result.timed_out);
    assert_string_equal(rkb_process_describe(&result, buf, sizeof buf), "signal 9 (Killed)");
}

static void test_exec_failure_is_a_status(void **state)
{
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_t *process = NULL;
    params.argv = (const char *const[]){"/no/such/program", NULL};
    assert_status(rkb_process_spawn(&params, &process, &err), RKB_ERR_NOT_FOUND, &err);
    assert_contains(err.text, "/no/such/program");
    assert_null(process);
    params.argv = (const char *const[]){"no-such-program-of-rkb", NULL};
    assert_status(rkb_process_spawn(&params, &process, &err), RKB_ERR_NOT_FOUND, &err);
    assert_contains(err.text, "PATH");
    char *path = rkb_strf("%s/text", (char *)*state);
    unit_write_file(path, "no program\n");
    chmod(path, 0755);
    params.argv = (const char *const[]){path, NULL};
    assert_status(rkb_process_spawn(&params, &process, &err), RKB_ERR_IO, &err);
    assert_contains(err.text, "exec: Exec format error");
    free(path);
    params.argv = ARGV("exit", "0");
    params.cwd = "/no/such/folder";
    assert_status(rkb_process_spawn(&params, &process, &err), RKB_ERR_NOT_FOUND, &err);
    assert_contains(err.text, "chdir /no/such/folder");
    params.cwd = NULL;
    params.pass_fds = (const int[]){777};
    params.pass_count = 1;
    assert_status(rkb_process_spawn(&params, &process, &err), RKB_ERR_IO, &err);
    assert_contains(err.text, "descriptors");
}

static void test_program_is_looked_up_in_path(void **state)
{
    (void)state;
    rkb_process_result_t result = run((const char *const[]){"true", NULL});
    assert_true(result.exited && result.exit_code == 0);
}

static void test_timeout_kills_grandchildren(void **state)
{
    char *path = rkb_strf("%s/pid", (char *)*state);
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("grandchild", path, "stay");
    params.new_group = true;
    double before = rkb_clock_now();
    assert_status(rkb_process_run(&params, 0.5, &result, &err), RKB_OK, &err);
    assert_true(rkb_clock_now() - before < 5);
    assert_true(result.timed_out);
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGKILL);
    assert_true(result.wall_seconds >= 0.5);
    char buf[64];
    assert_string_equal(rkb_process_describe(&result, buf, sizeof buf), "killed at its time limit");
    assert_dies(read_pid(path));
    free(path);
}

static void test_left_over_group_is_killed_at_the_end(void **state)
{
    char *path = rkb_strf("%s/pid", (char *)*state);
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("grandchild", path, "leave");
    params.new_group = true;
    assert_status(rkb_process_run(&params, 10, &result, &err), RKB_OK, &err);
    assert_true(result.exited && result.exit_code == 0);
    assert_dies(read_pid(path));
    free(path);
}

static void test_child_dies_with_its_parent(void **state)
{
    char *path = rkb_strf("%s/pid", (char *)*state);
    rkb_process_result_t result = run(ARGV("orphan", path, HELPER));
    assert_true(result.exited && result.exit_code == 0);
    assert_dies(read_pid(path));
    free(path);
}

static void test_only_wanted_descriptors_are_open(void **state)
{
    (void)state;
    int extra = open("/dev/null", O_RDONLY); /* deliberately without O_CLOEXEC */
    assert_true(extra >= 0);
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("descriptors");
    assert_string_equal(output_of(&params, &result), "0 1 2 ");
    params.pass_fds = (const int[]){extra, extra};
    params.pass_count = 2;
    assert_string_equal(output_of(&params, &result), "0 1 2 3 4 ");
    close(extra);
}

/* The sources of the passed descriptors are numbers that are targets too, in the wrong order. */
static void test_passed_descriptors_may_overlap_their_targets(void **state)
{
    (void)state;
    int first[2], second[2], kept[2];
    kept[0] = fcntl(3, F_DUPFD_CLOEXEC, 100);
    kept[1] = fcntl(4, F_DUPFD_CLOEXEC, 100);
    assert_int_equal(pipe2(first, O_CLOEXEC), 0);
    assert_int_equal(pipe2(second, O_CLOEXEC), 0);
    int for_three = fcntl(first[1], F_DUPFD_CLOEXEC, 120);
    int for_four = fcntl(second[1], F_DUPFD_CLOEXEC, 120);
    int first_read = fcntl(first[0], F_DUPFD_CLOEXEC, 120);
    int second_read = fcntl(second[0], F_DUPFD_CLOEXEC, 120);
    dup2(for_three, 4);
    dup2(for_four, 3);
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("write-passed");
    params.pass_fds = (const int[]){4, 3};
    params.pass_count = 2;
    rkb_status_t status = rkb_process_run(&params, 10, &result, &err);
    char three[10] = "", four[10] = "";
    if (status == RKB_OK && result.exited && result.exit_code == 0) {
        assert_true(read(first_read, three, sizeof three - 1) > 0);
        assert_true(read(second_read, four, sizeof four - 1) > 0);
    }
    for (int i = 0; i < 2; i++) {
        if (kept[i] >= 0)
            dup2(kept[i], 3 + i);
        else
            close(3 + i);
    }
    assert_status(status, RKB_OK, &err);
    assert_string_equal(three, "three");
    assert_string_equal(four, "four");
}

static void test_streams(void **state)
{
    char *path = rkb_strf("%s/in", (char *)*state);
    unit_write_file(path, "from stdin");
    int in = open(path, O_RDONLY | O_CLOEXEC);
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("echo");
    params.stdin_fd = in;
    assert_string_equal(output_of(&params, &result), "from stdin");
    params.stdin_fd = -1;
    assert_string_equal(output_of(&params, &result), ""); /* /dev/null ends at once */
    assert_int_equal(result.exit_code, 0);
    close(in);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    params.argv = ARGV("print", "out", "error");
    params.stderr_fd = ends[1];
    assert_string_equal(output_of(&params, &result), "out");
    close(ends[1]);
    char text[16] = "";
    assert_int_equal(read(ends[0], text, sizeof text - 1), 5);
    assert_string_equal(text, "error");
    close(ends[0]);
    free(path);
}

static void test_folder_and_environment(void **state)
{
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("cwd");
    params.cwd = *state;
    char *want = realpath(*state, NULL);
    assert_string_equal(output_of(&params, &result), want);
    free(want);
    setenv("RKB_TEST_VARIABLE", "inherited", 1);
    params.argv = ARGV("env", "RKB_TEST_VARIABLE");
    assert_string_equal(output_of(&params, &result), "inherited");
    params.env = (const char *const[]){"RKB_TEST_VARIABLE=given", NULL};
    assert_string_equal(output_of(&params, &result), "given");
    params.env = (const char *const[]){NULL};
    assert_string_equal(output_of(&params, &result), "(unset)");
}

static void test_limits(void **state)
{
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
#ifndef RKB_SANITIZED /* AddressSanitizer reserves terabytes of addresses */
    params.argv = ARGV("allocate", "400000000");
    assert_status(rkb_process_run(&params, 10, &result, &err), RKB_OK, &err);
    assert_int_equal(result.exit_code, 0);
    params.memory_limit = UINT64_C(200) << 20;
    assert_status(rkb_process_run(&params, 10, &result, &err), RKB_OK, &err);
    assert_int_equal(result.exit_code, 3);
    params.memory_limit = 0;
#endif
    char *path = rkb_strf("%s/file", (char *)*state);
    params.argv = ARGV("grow", path);
    params.file_limit = 100000;
    assert_status(rkb_process_run(&params, 10, &result, &err), RKB_OK, &err);
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGXFSZ);
    free(path);
    params.file_limit = 0;
    params.argv = ARGV("spin");
    params.cpu_limit = 0.2; /* becomes one second */
    assert_status(rkb_process_run(&params, 10, &result, &err), RKB_OK, &err);
    assert_false(result.exited);
    assert_false(result.timed_out);
    assert_true(result.signal == SIGXCPU || result.signal == SIGKILL);
    assert_true(result.cpu_seconds > 0.5 && result.cpu_seconds < 5);
}

static void test_memory_use_is_reported(void **state)
{
    (void)state;
    rkb_process_result_t result = run(ARGV("touch-memory", "50000000"));
    assert_int_equal(result.exit_code, 0);
    assert_true(result.max_rss > 50000000);
}

static void test_privileges(void **state)
{
    (void)state;
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("privileges");
    params.no_new_privs = params.no_core = params.new_group = true;
    assert_string_equal(output_of(&params, &result), "1 1 1");
}

static void on_signal(int signal_number)
{
    (void)signal_number;
}

static void test_child_starts_with_default_signals(void **state)
{
    (void)state;
    sigset_t some, before, after;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, &before);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_signal);
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_result_t result;
    params.argv = ARGV("signals");
    const char *text = output_of(&params, &result);
    sigprocmask(SIG_SETMASK, &before, &after);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    assert_string_equal(text, "0 0");
    assert_int_equal(sigismember(&after, SIGUSR1), 1); /* ours are as they were */
    assert_int_equal(sigismember(&after, SIGCHLD), 0);
}

static void test_wait_poll_and_kill(void **state)
{
    (void)state;
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_t *process;
    rkb_process_result_t result, again;
    params.argv = ARGV("sleep");
    params.new_group = true;
    assert_status(rkb_process_spawn(&params, &process, &err), RKB_OK, &err);
    pid_t pid = rkb_process_pid(process);
    struct pollfd ended = {.fd = rkb_process_pidfd(process), .events = POLLIN};
    assert_int_equal(poll(&ended, 1, 0), 0);
    assert_status(rkb_process_wait(process, rkb_clock_now() + 0.02, &result, &err), RKB_ERR_TIMEOUT,
                  &err);
    rkb_process_signal(process, SIGTERM);
    assert_status(rkb_process_wait(process, INFINITY, &result, &err), RKB_OK, &err);
    assert_int_equal(result.signal, SIGTERM);
    assert_status(rkb_process_wait(process, 0, &again, &err), RKB_OK, &err);
    assert_int_equal(again.signal, SIGTERM);
    assert_true(again.wall_seconds == result.wall_seconds);
    rkb_process_kill(process); /* harmless by now */
    rkb_process_signal(process, SIGKILL);
    rkb_process_destroy(process);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void test_destroy_kills(void **state)
{
    (void)state;
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    rkb_process_t *process;
    params.argv = ARGV("sleep");
    assert_status(rkb_process_spawn(&params, &process, &err), RKB_OK, &err);
    pid_t pid = rkb_process_pid(process);
    rkb_process_destroy(process);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    rkb_process_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_code_and_signal),
        unit_test_in_folder(test_exec_failure_is_a_status),
        cmocka_unit_test(test_program_is_looked_up_in_path),
        unit_test_in_folder(test_timeout_kills_grandchildren),
        unit_test_in_folder(test_left_over_group_is_killed_at_the_end),
        unit_test_in_folder(test_child_dies_with_its_parent),
        cmocka_unit_test(test_only_wanted_descriptors_are_open),
        cmocka_unit_test(test_passed_descriptors_may_overlap_their_targets),
        unit_test_in_folder(test_streams),
        unit_test_in_folder(test_folder_and_environment),
        unit_test_in_folder(test_limits),
        cmocka_unit_test(test_memory_use_is_reported),
        cmocka_unit_test(test_privileges),
        cmocka_unit_test(test_child_starts_with_default_signals),
        cmocka_unit_test(test_wait_poll_and_kill),
        cmocka_unit_test(test_destroy_kills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
