#include "tests/unit/unit.h"

#include "common/clock.h"
#include "common/line_reader.h"

#include <fcntl.h>
#include <sys/socket.h>

typedef struct {
    int ends[2]; /* [0] is read, [1] is written */
    rkb_line_reader_t *reader;
    char *line;
    size_t len;
    rkb_error_t err;
} pair_t;

static int pair_create(void **state)
{
    pair_t *pair = rkb_xcalloc(1, sizeof *pair);
    *state = pair;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair->ends) != 0)
        return -1;
    pair->reader = rkb_line_reader_create(pair->ends[0]);
    return 0;
}

static int pair_destroy(void **state)
{
    pair_t *pair = *state;
    rkb_line_reader_destroy(pair->reader);
    close(pair->ends[0]);
    if (pair->ends[1] >= 0)
        close(pair->ends[1]);
    free(pair);
    return 0;
}

static void send_text(pair_t *pair, const char *text)
{
    assert_int_equal(write(pair->ends[1], text, strlen(text)), strlen(text));
}

static void end_sending(pair_t *pair)
{
    close(pair->ends[1]);
    pair->ends[1] = -1;
}

static rkb_status_t next(pair_t *pair, double timeout)
{
    return rkb_line_reader_next(pair->reader, timeout, &pair->line, &pair->len, &pair->err);
}

static void expect_line(pair_t *pair, const char *want)
{
    assert_status(next(pair, 0), RKB_OK, &pair->err);
    if (!want) {
        assert_null(pair->line);
    } else {
        assert_non_null(pair->line);
        assert_string_equal(pair->line, want);
        assert_int_equal(pair->len, strlen(want));
    }
}

static void test_split_lines_are_joined(void **state)
{
    pair_t *pair = *state;
    expect_line(pair, NULL);
    send_text(pair, "{\"a\"");
    expect_line(pair, NULL);
    send_text(pair, ":1}");
    expect_line(pair, NULL);
    send_text(pair, "\nsecond\n\nfou");
    expect_line(pair, "{\"a\":1}");
    expect_line(pair, "second");
    expect_line(pair, "");
    expect_line(pair, NULL);
    send_text(pair, "rth\n");
    expect_line(pair, "fourth");
}

static void test_end_of_file(void **state)
{
    pair_t *pair = *state;
    send_text(pair, "whole\npart");
    end_sending(pair);
    expect_line(pair, "whole");
    assert_status(next(pair, 1), RKB_ERR_LOST, &pair->err);
    assert_contains(pair->err.text, "middle of a line");
    assert_status(next(pair, 1), RKB_ERR_LOST, &pair->err);
}

static void test_timeout(void **state)
{
    pair_t *pair = *state;
    send_text(pair, "half");
    double before = rkb_clock_now();
    assert_status(next(pair, 0.03), RKB_OK, &pair->err);
    assert_null(pair->line);
    assert_true(rkb_clock_now() - before >= 0.03);
}

/* Feeds a line of `len` bytes piece by piece, since the socket holds less; stops at its end. */
static rkb_status_t feed_long_line(pair_t *pair, size_t len)
{
    char piece[1024];
    memset(piece, 'z', sizeof piece);
    rkb_status_t status = RKB_OK;
    while (len > 0 && status == RKB_OK) {
        size_t part = len < sizeof piece ? len : sizeof piece;
        assert_int_equal(write(pair->ends[1], piece, part), part);
        len -= part;
        if (len > 0)
            status = next(pair, 0);
    }
    return status;
}

static void test_longest_line(void **state)
{
    pair_t *pair = *state;
    assert_status(feed_long_line(pair, RKB_LINE_MAX - 1), RKB_OK, &pair->err);
    send_text(pair, "\nafter\n");
    assert_status(next(pair, 0), RKB_OK, &pair->err);
    assert_non_null(pair->line);
    assert_int_equal(pair->len, RKB_LINE_MAX - 1);
    expect_line(pair, "after");
}

static void test_overlong_line_is_refused_for_good(void **state)
{
    pair_t *pair = *state;
    assert_status(feed_long_line(pair, RKB_LINE_MAX + 5000), RKB_ERR_PROTOCOL, &pair->err);
    send_text(pair, "\nafter\n");
    assert_status(next(pair, 0), RKB_ERR_PROTOCOL, &pair->err);
}

static void test_many_lines_in_one_read(void **state)
{
    pair_t *pair = *state;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++) {
            char text[32];
            snprintf(text, sizeof text, "%d:%d\n", round, i);
            send_text(pair, text);
        }
        for (int i = 0; i < 100; i++) {
            char want[32];
            snprintf(want, sizeof want, "%d:%d", round, i);
            expect_line(pair, want);
        }
    }
}

static void test_writer_queues_what_does_not_fit(void **state)
{
    pair_t *pair = *state;
    rkb_line_writer_t *writer = rkb_line_writer_create(pair->ends[1]);
    char text[10001];
    bool pending = false;
    int lines = 200;
    for (int i = 0; i < lines; i++) {
        memset(text, 'a' + i % 26, sizeof text - 1);
        text[sizeof text - 1] = '\0';
        assert_status(rkb_line_writer_put(writer, text, &pair->err), RKB_OK, &pair->err);
    }
    assert_true(rkb_line_writer_queued(writer) > 0);
    int got = 0;
    while (got < lines) {
        assert_status(rkb_line_writer_flush(writer, &pending, &pair->err), RKB_OK, &pair->err);
        assert_status(next(pair, 1), RKB_OK, &pair->err);
        assert_non_null(pair->line);
        assert_int_equal(pair->len, 10000);
        assert_int_equal(pair->line[0], 'a' + got % 26);
        assert_int_equal(pair->line[9999], 'a' + got % 26);
        got++;
    }
    assert_status(rkb_line_writer_flush(writer, &pending, &pair->err), RKB_OK, &pair->err);
    assert_false(pending);
    assert_int_equal(rkb_line_writer_queued(writer), 0);
    rkb_line_writer_destroy(writer);
    rkb_line_writer_destroy(NULL);
}

static void test_writer_without_reader_is_lost(void **state)
{
    pair_t *pair = *state;
    rkb_line_writer_t *writer = rkb_line_writer_create(pair->ends[1]);
    shutdown(pair->ends[0], SHUT_RDWR);
    assert_status(rkb_line_writer_put(writer, "x", &pair->err), RKB_ERR_LOST, &pair->err);
    rkb_line_writer_destroy(writer);
}

static void test_writer_refuses_broken_messages(void **state)
{
    pair_t *pair = *state;
    rkb_line_writer_t *writer = rkb_line_writer_create(pair->ends[1]);
    assert_status(rkb_line_writer_put(writer, "a\nb", &pair->err), RKB_ERR_INTERNAL, &pair->err);
    char *text = malloc(RKB_LINE_MAX + 1);
    memset(text, 'x', RKB_LINE_MAX);
    text[RKB_LINE_MAX] = '\0';
    assert_status(rkb_line_writer_put(writer, text, &pair->err), RKB_ERR_PROTOCOL, &pair->err);
    free(text);
    assert_int_equal(rkb_line_writer_queued(writer), 0);
    rkb_line_writer_destroy(writer);
}

static void test_writer_on_a_pipe(void **state)
{
    pair_t *pair = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    rkb_line_writer_t *writer = rkb_line_writer_create(ends[1]);
    char text[5000];
    memset(text, 'p', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 100; i++)
        assert_status(rkb_line_writer_put(writer, text, &pair->err), RKB_OK, &pair->err);
    assert_true(rkb_line_writer_queued(writer) > 0);
    rkb_line_writer_destroy(writer);
    close(ends[0]);
    close(ends[1]);
}

#define test_on_pair(_test) cmocka_unit_test_setup_teardown(_test, pair_create, pair_destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_on_pair(test_split_lines_are_joined),
        test_on_pair(test_end_of_file),
        test_on_pair(test_timeout),
        test_on_pair(test_longest_line),
        test_on_pair(test_overlong_line_is_refused_for_good),
        test_on_pair(test_many_lines_in_one_read),
        test_on_pair(test_writer_queues_what_does_not_fit),
        test_on_pair(test_writer_without_reader_is_lost),
        test_on_pair(test_writer_refuses_broken_messages),
        test_on_pair(test_writer_on_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
