#include "tests/unit/unit.h"

#include "common/log.h"

#include <fcntl.h>

static char captured[8192];

/* Runs one rkb_log with stderr turned into a file. */
static const char *capture(const char *folder, rkb_log_level_t level, const char *text)
{
    char *path = rkb_strf("%s/log", folder);
    int kept = dup(STDERR_FILENO);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDERR_FILENO);
    rkb_log(level, "%s", text);
    dup2(kept, STDERR_FILENO);
    close(kept);
    ssize_t got = pread(fd, captured, sizeof captured - 1, 0);
    close(fd);
    free(path);
    captured[got > 0 ? got : 0] = '\0';
    return captured;
}

static void test_tag_and_level(void **state)
{
    setenv("RKB_LOG", "warn", 1);
    rkb_log_init("rkb-mpi[3]");
    assert_int_equal(rkb_log_level(), RKB_LOG_WARN);
    assert_string_equal(capture(*state, RKB_LOG_WARN, "text"), "rkb-mpi[3]: warn: text\n");
    assert_string_equal(capture(*state, RKB_LOG_ERROR, "bad"), "rkb-mpi[3]: error: bad\n");
    assert_string_equal(capture(*state, RKB_LOG_INFO, "quiet"), "");
    setenv("RKB_LOG", "debug", 1);
    rkb_log_init("rkb serve");
    assert_string_equal(capture(*state, RKB_LOG_DEBUG, "x"), "rkb serve: debug: x\n");
    setenv("RKB_LOG", "nonsense", 1);
    rkb_log_init("rkb");
    assert_int_equal(rkb_log_level(), RKB_LOG_WARN);
}

static void test_foreign_text_stays_one_line(void **state)
{
    setenv("RKB_LOG", "warn", 1);
    rkb_log_init("rkb");
    assert_string_equal(capture(*state, RKB_LOG_WARN, "a\nrkb: error: fake\033[2J"),
                        "rkb: warn: a rkb: error: fake?[2J\n");
}

static void test_long_text_is_cut_and_ends_its_line(void **state)
{
    char text[6000];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *line = capture(*state, RKB_LOG_WARN, text);
    size_t len = strlen(line);
    assert_in_range(len, 4000, 4096);
    assert_int_equal(line[len - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_in_folder(test_tag_and_level),
        unit_test_in_folder(test_foreign_text_stays_one_line),
        unit_test_in_folder(test_long_text_is_cut_and_ends_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
