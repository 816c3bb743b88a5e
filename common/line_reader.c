#include "common/line_reader.h"

#include "common/clock.h"
#include "common/file.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_ROOM = 1 << 14 };

struct rkb_line_reader {
    int fd;
    char *buffer; /* bytes [start, end) are unread; before `scanned` there is no newline */
    size_t room, start, scanned, end;
    bool too_long;
};

rkb_line_reader_t *rkb_line_reader_create(int fd)
{
    rkb_line_reader_t *reader = rkb_xcalloc(1, sizeof *reader);
    reader->fd = fd;
    reader->room = FIRST_ROOM;
    reader->buffer = rkb_xcalloc(reader->room, 1);
    return reader;
}

void rkb_line_reader_destroy(rkb_line_reader_t *reader)
{
    if (!reader)
        return;
    free(reader->buffer);
    free(reader);
}

static bool take_line(rkb_line_reader_t *reader, char **line, size_t *len)
{
    char *newline = memchr(reader->buffer + reader->scanned, '\n', reader->end - reader->scanned);
    if (!newline) {
        reader->scanned = reader->end;
        return false;
    }
    *newline = '\0';
    *line = reader->buffer + reader->start;
    *len = (size_t)(newline - *line);
    reader->start = reader->scanned = (size_t)(newline - reader->buffer) + 1;
    return true;
}

/* Only called between lines handed out: moves bytes, so the last line is gone afterwards. */
static void make_room(rkb_line_reader_t *reader)
{
    if (reader->start > 0) {
        memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->scanned -= reader->start;
        reader->start = 0;
    }
    if (reader->end == reader->room) {
        reader->room *= 2;
        reader->buffer = rkb_xrealloc(reader->buffer, reader->room, 1);
    }
}

/* Milliseconds for poll(), rounded up so that a wait never ends a hair before its deadline. */
static int poll_timeout(double timeout, double deadline)
{
    if (timeout < 0)
        return -1;
    if (timeout == 0)
        return 0;
    double left = ceil((deadline - rkb_clock_now()) * 1e3);
    return left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left;
}

rkb_status_t rkb_line_reader_next(rkb_line_reader_t *reader, double timeout, char **line,
                                  size_t *len, rkb_error_t *err)
{
    double deadline = timeout > 0 ? rkb_clock_now() + timeout : 0;
    for (;;) {
        if (take_line(reader, line, len))
            return RKB_OK;
        if (reader->too_long || reader->end - reader->start >= RKB_LINE_MAX) {
            reader->too_long = true;
            return rkb_error_set(err, RKB_ERR_PROTOCOL, "a line is longer than %d bytes",
                                 RKB_LINE_MAX);
        }
        struct pollfd ready = {.fd = reader->fd, .events = POLLIN};
        int count = poll(&ready, 1, poll_timeout(timeout, deadline));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return rkb_error_set(err, RKB_ERR_IO, "poll: %s", strerror(errno));
        if (count == 0) {
            *line = NULL;
            *len = 0;
            return RKB_OK;
        }
        make_room(reader);
        ssize_t got = read(reader->fd, reader->buffer + reader->end, reader->room - reader->end);
        if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
            continue;
        if (got < 0)
            return rkb_error_set(err, errno == ECONNRESET ? RKB_ERR_LOST : RKB_ERR_IO,
                                 "the other side is gone: %s", strerror(errno));
        if (got == 0)
            return rkb_error_set(err, RKB_ERR_LOST, "the other side has closed%s",
                                 reader->end > reader->start ? " in the middle of a line" : "");
        reader->end += (size_t)got;
    }
}
