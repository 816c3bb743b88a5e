#include "common/clock.h"
#include "mpi_driver/transport.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1, WORKER_RECEIVES = 4, MASTER_RECEIVES = 32, COMPLETIONS = 64 };

typedef struct {
    int rank, size, local_rank, local_size;

    /* Receives stay posted for messages from anyone; a finished one waits in `done` to be read. */
    int receives;
    char *buffers; /* receives x (RKB_MESSAGE_MAX + 1) */
    MPI_Request *receive_requests;
    struct done {
        int index, source, len;
    } * done;
    int done_first, done_count;
    int current; /* buffer handed out by the last poll, or -1 */

    /* Sends on their way. One to a dead rank may never complete; it must not hold up the others. */
    MPI_Request *send_requests;
    char **send_texts;
    int sends, send_capacity;

    int *indices; /* scratch for MPI_Testsome: room for every request */
    MPI_Status *statuses;
} state_t;

typedef struct {
    rkb_transport_t base;
    state_t s;
} mpi_t;

static rkb_status_t mpi_error(int code, const char *what, rkb_error_t *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;
    MPI_Error_string(code, text, &len);
    return rkb_error_set(err, RKB_ERR_LOST, "%s: %s", what, text);
}

static int mpi_rank(const rkb_transport_t *transport)
{
    return ((const mpi_t *)transport)->s.rank;
}

static int mpi_size(const rkb_transport_t *transport)
{
    return ((const mpi_t *)transport)->s.size;
}

static int mpi_local_rank(const rkb_transport_t *transport)
{
    return ((const mpi_t *)transport)->s.local_rank;
}

static int mpi_local_size(const rkb_transport_t *transport)
{
    return ((const mpi_t *)transport)->s.local_size;
}

static char *buffer_of(const state_t *s, int index)
{
    return s->buffers + (size_t)index * (RKB_MESSAGE_MAX + 1);
}

static rkb_status_t post_receive(state_t *s, int index, rkb_error_t *err)
{
    int code = MPI_Irecv(buffer_of(s, index), RKB_MESSAGE_MAX, MPI_BYTE, MPI_ANY_SOURCE, TAG,
                         MPI_COMM_WORLD, &s->receive_requests[index]);
    return code == MPI_SUCCESS ? RKB_OK : mpi_error(code, "MPI_Irecv", err);
}

static bool reserve_send(state_t *s)
{
    if (s->sends < s->send_capacity) {
        return true;
    }
    int capacity = s->send_capacity * 2;
    MPI_Request *requests = reallocarray(s->send_requests, (size_t)capacity, sizeof(*requests));
    if (requests == NULL) {
        return false;
    }
    s->send_requests = requests;
    char **texts = reallocarray(s->send_texts, (size_t)capacity, sizeof(*texts));
    if (texts == NULL) {
        return false;
    }
    s->send_texts = texts;
    int *indices = reallocarray(s->indices, (size_t)(capacity + s->receives), sizeof(*indices));
    if (indices == NULL) {
        return false;
    }
    s->indices = indices;
    MPI_Status *statuses =
        reallocarray(s->statuses, (size_t)(capacity + s->receives), sizeof(*statuses));
    if (statuses == NULL) {
        return false;
    }
    s->statuses = statuses;
    s->send_capacity = capacity;
    return true;
}

static rkb_status_t mpi_send(rkb_transport_t *transport, int dest, const char *text, size_t len,
                             rkb_error_t *err)
{
    state_t *s = &((mpi_t *)transport)->s;
    if (dest < 0 || dest >= s->size || len > RKB_MESSAGE_MAX) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL, "a message of %zu bytes to rank %d of %d", len,
                             dest, s->size);
    }
    char *copy = malloc(len + 1);
    if (copy == NULL || !reserve_send(s)) {
        free(copy);
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for a message");
    }
    memcpy(copy, text, len);
    int code =
        MPI_Isend(copy, (int)len, MPI_BYTE, dest, TAG, MPI_COMM_WORLD, &s->send_requests[s->sends]);
    if (code != MPI_SUCCESS) {
        free(copy);
        return mpi_error(code, "MPI_Isend", err);
    }
    s->send_texts[s->sends++] = copy;
    return RKB_OK;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static rkb_status_t progress_sends(state_t *s, rkb_error_t *err)
{
    if (s->sends == 0) {
        return RKB_OK;
    }
    int count = 0;
    int code = MPI_Testsome(s->sends, s->send_requests, &count, s->indices, MPI_STATUSES_IGNORE);
    if (count == MPI_UNDEFINED) {
        count = 0;
    }
    /* From the end, so that the last request can fill each gap. */
    qsort(s->indices, (size_t)count, sizeof(*s->indices), compare_ints);
    for (int i = count - 1; i >= 0; i--) {
        int index = s->indices[i];
        free(s->send_texts[index]);
        s->sends--;
        s->send_texts[index] = s->send_texts[s->sends];
        s->send_requests[index] = s->send_requests[s->sends];
    }
    /* A send to a rank that died may fail; that loss is noticed by its silence. */
    return code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS ? RKB_OK
                                                            : mpi_error(code, "MPI_Testsome", err);
}

static rkb_status_t progress_receives(state_t *s, rkb_error_t *err)
{
    int count = 0;
    int code = MPI_Testsome(s->receives, s->receive_requests, &count, s->indices, s->statuses);
    if (code != MPI_SUCCESS) {
        return mpi_error(code, "MPI_Testsome", err);
    }
    for (int i = 0; count != MPI_UNDEFINED && i < count; i++) {
        int len = 0;
        MPI_Get_count(&s->statuses[i], MPI_BYTE, &len);
        int slot = (s->done_first + s->done_count++) % s->receives;
        s->done[slot] =
            (struct done){.index = s->indices[i], .source = s->statuses[i].MPI_SOURCE, .len = len};
        buffer_of(s, s->indices[i])[len] = '\0';
    }
    return RKB_OK;
}

static rkb_status_t mpi_poll(rkb_transport_t *transport, int *source, char **text, size_t *len,
                             rkb_error_t *err)
{
    state_t *s = &((mpi_t *)transport)->s;
    *text = NULL;
    if (s->current >= 0) {
        int index = s->current;
        s->current = -1;
        rkb_status_t status = post_receive(s, index, err);
        if (status != RKB_OK) {
            return status;
        }
    }
    if (s->done_count == 0) {
        rkb_status_t status = progress_sends(s, err);
        if (status == RKB_OK) {
            status = progress_receives(s, err);
        }
        if (status != RKB_OK || s->done_count == 0) {
            return status;
        }
    }
    const struct done *done = &s->done[s->done_first];
    s->done_first = (s->done_first + 1) % s->receives;
    s->done_count--;
    s->current = done->index;
    *source = done->source;
    *text = buffer_of(s, done->index);
    *len = (size_t)done->len;
    return RKB_OK;
}

static rkb_status_t mpi_flush(rkb_transport_t *transport, double timeout, rkb_error_t *err)
{
    state_t *s = &((mpi_t *)transport)->s;
    double deadline = rkb_clock_now() + timeout;
    for (;;) {
        rkb_status_t status = progress_sends(s, err);
        if (status != RKB_OK || s->sends == 0) {
            return status;
        }
        if (rkb_clock_now() >= deadline) {
            return rkb_error_set(err, RKB_ERR_TIMEOUT, "%d messages could not be delivered",
                                 s->sends);
        }
        rkb_clock_sleep(0.0005);
    }
}

static void mpi_destroy(rkb_transport_t *transport)
{
    if (transport == NULL) {
        return;
    }
    state_t *s = &((mpi_t *)transport)->s;
    bool cancelled = true;
    for (int i = 0; s->receive_requests != NULL && i < s->receives; i++) {
        if (s->receive_requests[i] != MPI_REQUEST_NULL) {
            cancelled = MPI_Cancel(&s->receive_requests[i]) == MPI_SUCCESS &&
                        MPI_Request_free(&s->receive_requests[i]) == MPI_SUCCESS && cancelled;
        }
    }
    /* Buffers that MPI may still read or write are left to the end of the process. */
    if (cancelled) {
        free(s->buffers);
    }
    if (s->sends == 0) {
        free(s->send_texts);
        free(s->send_requests);
    }
    free(s->receive_requests);
    free(s->done);
    free(s->indices);
    free(s->statuses);
    free(transport);
}

static const rkb_transport_ops_t mpi_ops = {
    .name = "mpi",
    .rank = mpi_rank,
    .size = mpi_size,
    .local_rank = mpi_local_rank,
    .local_size = mpi_local_size,
    .send = mpi_send,
    .poll = mpi_poll,
    .flush = mpi_flush,
    .destroy = mpi_destroy,
};

static rkb_status_t find_place(state_t *s, rkb_error_t *err)
{
    MPI_Comm host;
    int code = MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_size(MPI_COMM_WORLD, &s->size);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, s->rank, MPI_INFO_NULL,
                                   &host);
    }
    if (code != MPI_SUCCESS) {
        return mpi_error(code, "MPI start-up", err);
    }
    MPI_Comm_rank(host, &s->local_rank);
    MPI_Comm_size(host, &s->local_size);
    MPI_Comm_free(&host);
    return RKB_OK;
}

rkb_status_t rkb_transport_mpi_create(rkb_transport_t **out, rkb_error_t *err)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    mpi_t *mpi = calloc(1, sizeof(*mpi));
    if (mpi == NULL) {
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for the transport");
    }
    state_t *s = &mpi->s;
    mpi->base.ops = &mpi_ops;
    s->current = -1;
    rkb_status_t status = find_place(s, err);
    if (status != RKB_OK) {
        goto err_destroy;
    }
    int receives = s->rank == 0 ? MASTER_RECEIVES : WORKER_RECEIVES;
    s->send_capacity = COMPLETIONS;
    s->buffers = malloc((size_t)receives * (RKB_MESSAGE_MAX + 1));
    s->receive_requests = calloc((size_t)receives, sizeof(*s->receive_requests));
    s->done = calloc((size_t)receives, sizeof(*s->done));
    s->send_requests = calloc((size_t)s->send_capacity, sizeof(*s->send_requests));
    s->send_texts = calloc((size_t)s->send_capacity, sizeof(*s->send_texts));
    s->indices = calloc((size_t)(s->send_capacity + receives), sizeof(*s->indices));
    s->statuses = calloc((size_t)(s->send_capacity + receives), sizeof(*s->statuses));
    if (s->buffers == NULL || s->receive_requests == NULL || s->done == NULL ||
        s->send_requests == NULL || s->send_texts == NULL || s->indices == NULL ||
        s->statuses == NULL) {
        status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for the transport");
        goto err_destroy;
    }
    for (int i = 0; i < receives; i++) {
        s->receive_requests[i] = MPI_REQUEST_NULL;
    }
    for (; s->receives < receives; s->receives++) {
        status = post_receive(s, s->receives, err);
        if (status != RKB_OK) {
            goto err_destroy;
        }
    }
    *out = &mpi->base;
    return RKB_OK;

err_destroy:
    mpi_destroy(&mpi->base);
    return status;
}
