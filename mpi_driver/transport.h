/**
 * @file transport.h
 * Messages between ranks as a vtable: `mpi` (transport_mpi.c, the only file with mpi.h beside
 * main) and `local` (in one process, for tests). A message is one line of JSON text of at most
 * RKB_MESSAGE_MAX bytes. Nothing blocks: send queues, poll moves.
 */
#ifndef RKB_DRIVER_TRANSPORT_H
#define RKB_DRIVER_TRANSPORT_H

#include "common/error.h"

#include <stddef.h>

enum { RKB_MESSAGE_MAX = 64 * 1024 };

typedef struct rkb_transport rkb_transport_t;
typedef struct {
    const char *name;
    int (*rank)(const rkb_transport_t *transport);
    int (*size)(const rkb_transport_t *transport);
    /** Index of this rank among the ranks of its host, and their number. */
    int (*local_rank)(const rkb_transport_t *transport);
    int (*local_size)(const rkb_transport_t *transport);
    /** Copies and queues; a message to oneself is delivered by the next poll. */
    rkb_status_t (*send)(rkb_transport_t *transport, int dest, const char *text, size_t len,
                         rkb_error_t *err);
    /**
     * Progresses sends; *text is the next received message (NUL-terminated, valid until the next
     * poll) or NULL when there is none.
     */
    rkb_status_t (*poll)(rkb_transport_t *transport, int *source, char **text, size_t *len,
                         rkb_error_t *err);
    /** Waits up to `timeout` seconds until all queued sends are out. */
    rkb_status_t (*flush)(rkb_transport_t *transport, double timeout, rkb_error_t *err);
    void (*destroy)(rkb_transport_t *transport); /* NULL allowed */
} rkb_transport_ops_t;

struct rkb_transport {
    const rkb_transport_ops_t *ops;
};

/** MPI_COMM_WORLD after MPI_Init. */
rkb_status_t rkb_transport_mpi_create(rkb_transport_t **out, rkb_error_t *err);
/** `size` endpoints in this process; out has room for them. */
rkb_status_t rkb_transport_local_create(int size, rkb_transport_t **out, rkb_error_t *err);

#endif
