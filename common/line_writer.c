#include "common/line_reader.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct rkb_line_writer {
    int fd;
    bool is_pipe; /* no socket: send() does not serve */
    char *buffer; /* bytes [start, end) are still to be sent */
    size_t room, start, end;
};

rkb_line_writer_t *rkb_line_writer_create(int fd)
{
    rkb_line_writer_t *writer = rkb_xcalloc(1, sizeof *writer);
    writer->fd = fd;
    return writer;
}

void rkb_line_writer_destroy(rkb_line_writer_t *writer)
{
    if (!writer)
        return;
    free(writer->buffer);
    free(writer);
}

static ssize_t send_some(rkb_line_writer_t *writer)
{
    const char *data = writer->buffer + writer->start;
    size_t len = writer->end - writer->start;
    if (!writer->is_pipe) {
        ssize_t sent = send(writer->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0 || errno != ENOTSOCK)
            return sent;
        int flags = fcntl(writer->fd, F_GETFL);
        if (flags < 0 || fcntl(writer->fd, F_SETFL, flags | O_NONBLOCK) < 0)
            return -1;
        writer->is_pipe = true;
    }
    return write(writer->fd, data, len);
}

rkb_status_t rkb_line_writer_flush(rkb_line_writer_t *writer, bool *pending, rkb_error_t *err)
{
    while (writer->start < writer->end) {
        ssize_t sent = send_some(writer);
        if (sent > 0) {
            writer->start += (size_t)sent;
            continue;
        }
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return rkb_error_set(err,
                                 errno == EPIPE || errno == ECONNRESET ? RKB_ERR_LOST : RKB_ERR_IO,
                                 "the other side is gone: %s", strerror(errno));
        break;
    }
    if (writer->start == writer->end)
        writer->start = writer->end = 0;
    if (pending)
        *pending = writer->end > 0;
    return RKB_OK;
}

rkb_status_t rkb_line_writer_put(rkb_line_writer_t *writer, const char *text, rkb_error_t *err)
{
    size_t len = strlen(text);
    if (len >= RKB_LINE_MAX)
        return rkb_error_set(err, RKB_ERR_PROTOCOL, "a line of %zu bytes is longer than %d", len,
                             RKB_LINE_MAX - 1);
    if (memchr(text, '\n', len))
        return rkb_error_set(err, RKB_ERR_INTERNAL, "a message holds a line break");
    if (writer->end + len + 1 > writer->room) {
        size_t used = writer->end - writer->start;
        if (writer->start > 0)
            memmove(writer->buffer, writer->buffer + writer->start, used);
        writer->start = 0;
        writer->end = used;
        if (used + len + 1 > writer->room) {
            writer->room = 2 * (used + len + 1);
            writer->buffer = rkb_xrealloc(writer->buffer, writer->room, 1);
        }
    }
    memcpy(writer->buffer + writer->end, text, len);
    writer->buffer[writer->end + len] = '\n';
    writer->end += len + 1;
    return rkb_line_writer_flush(writer, NULL, err);
}

size_t rkb_line_writer_queued(const rkb_line_writer_t *writer)
{
    return writer->end - writer->start;
}
