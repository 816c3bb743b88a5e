/**
 * @file line_reader.h
 * Newline-delimited messages over a descriptor, non-blocking on both sides.
 */
#ifndef RKB_COMMON_LINE_READER_H
#define RKB_COMMON_LINE_READER_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { RKB_LINE_MAX = 1 << 20 }; /* a longer line is a protocol error */

typedef struct rkb_line_reader rkb_line_reader_t;

rkb_line_reader_t *rkb_line_reader_create(int fd); /* fd stays the caller's */
void rkb_line_reader_destroy(rkb_line_reader_t *reader);
/**
 * Next complete line without its newline, or NULL in *line when none is there yet. The line is
 * valid until the next call. RKB_ERR_LOST at end of file or reset, RKB_ERR_PROTOCOL for a line that
 * is too long. timeout: seconds to wait for data; 0: do not wait; negative: for ever.
 */
rkb_status_t rkb_line_reader_next(rkb_line_reader_t *reader, double timeout, char **line,
                                  size_t *len, rkb_error_t *err);

typedef struct rkb_line_writer rkb_line_writer_t;
rkb_line_writer_t *rkb_line_writer_create(int fd);
void rkb_line_writer_destroy(rkb_line_writer_t *writer);
/**
 * Queues text (below RKB_LINE_MAX bytes, no newline in it) and a newline and sends what the
 * descriptor takes now. The queue has no limit: whoever produces much watches
 * rkb_line_writer_queued(). RKB_ERR_LOST when nobody reads any more: on a socket without SIGPIPE; a
 * pipe is set to O_NONBLOCK and needs SIGPIPE ignored.
 */
rkb_status_t rkb_line_writer_put(rkb_line_writer_t *writer, const char *text, rkb_error_t *err);
/** Sends more of the queue; *pending tells whether some is left (poll for POLLOUT then); may be
 * NULL. */
rkb_status_t rkb_line_writer_flush(rkb_line_writer_t *writer, bool *pending, rkb_error_t *err);
/** Bytes not yet taken by the descriptor. */
size_t rkb_line_writer_queued(const rkb_line_writer_t *writer);

#endif
