#include "mpi_driver/transport.h"

#include <stdlib.h>
#include <string.h>

typedef struct message {
    struct message *next;
    int source;
    size_t len;
    char text[];
} message_t;

typedef struct local local_t;

/* Shared by all endpoints; goes with the last of them. */
typedef struct {
    int size, references;
    local_t **ends; /* NULL once destroyed: messages to it vanish, as to a dead rank */
} room_t;

struct local {
    rkb_transport_t base;
    room_t *room;
    int rank;
    message_t *first, *last;
    message_t *current; /* handed out by the last poll */
};

static int local_rank(const rkb_transport_t *transport)
{
    return ((const local_t *)transport)->rank;
}

static int local_size(const rkb_transport_t *transport)
{
    return ((const local_t *)transport)->room->size;
}

static rkb_status_t local_send(rkb_transport_t *transport, int dest, const char *text, size_t len,
                               rkb_error_t *err)
{
    const local_t *local = (const local_t *)transport;
    if (dest < 0 || dest >= local->room->size || len > RKB_MESSAGE_MAX) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL, "a message of %zu bytes to rank %d of %d", len,
                             dest, local->room->size);
    }
    local_t *to = local->room->ends[dest];
    if (to == NULL) {
        return RKB_OK;
    }
    message_t *message = malloc(sizeof(*message) + len + 1);
    if (message == NULL) {
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for a message");
    }
    *message = (message_t){.source = local->rank, .len = len};
    memcpy(message->text, text, len);
    message->text[len] = '\0';
    if (to->last == NULL) {
        to->first = message;
    } else {
        to->last->next = message;
    }
    to->last = message;
    return RKB_OK;
}

static rkb_status_t local_poll(rkb_transport_t *transport, int *source, char **text, size_t *len,
                               rkb_error_t *err)
{
    (void)err;
    local_t *local = (local_t *)transport;
    free(local->current);
    local->current = local->first;
    *text = NULL;
    if (local->current != NULL) {
        local->first = local->current->next;
        if (local->first == NULL) {
            local->last = NULL;
        }
        *source = local->current->source;
        *text = local->current->text;
        *len = local->current->len;
    }
    return RKB_OK;
}

static rkb_status_t local_flush(rkb_transport_t *transport, double timeout, rkb_error_t *err)
{
    (void)transport;
    (void)timeout;
    (void)err;
    return RKB_OK;
}

static void local_destroy(rkb_transport_t *transport)
{
    if (transport == NULL) {
        return;
    }
    local_t *local = (local_t *)transport;
    free(local->current);
    while (local->first != NULL) {
        message_t *next = local->first->next;
        free(local->first);
        local->first = next;
    }
    local->room->ends[local->rank] = NULL;
    if (--local->room->references == 0) {
        free(local->room->ends);
        free(local->room);
    }
    free(local);
}

static const rkb_transport_ops_t local_ops = {
    .name = "local",
    .rank = local_rank,
    .size = local_size,
    .local_rank = local_rank,
    .local_size = local_size,
    .send = local_send,
    .poll = local_poll,
    .flush = local_flush,
    .destroy = local_destroy,
};

rkb_status_t rkb_transport_local_create(int size, rkb_transport_t **out, rkb_error_t *err)
{
    if (size < 1) {
        return rkb_error_set(err, RKB_ERR_INVALID, "a local transport of %d ranks", size);
    }
    room_t *room = calloc(1, sizeof(*room));
    if (room == NULL) {
        goto err_memory;
    }
    room->size = room->references = size;
    room->ends = calloc((size_t)size, sizeof(local_t *));
    if (room->ends == NULL) {
        goto err_free_room;
    }
    for (int i = 0; i < size; i++) {
        room->ends[i] = calloc(1, sizeof(local_t));
        if (room->ends[i] == NULL) {
            goto err_free_ends;
        }
        *room->ends[i] = (local_t){.base.ops = &local_ops, .room = room, .rank = i};
    }
    for (int i = 0; i < size; i++) {
        out[i] = &room->ends[i]->base;
    }
    return RKB_OK;

err_free_ends:
    for (int i = 0; i < size; i++) {
        free(room->ends[i]);
    }
    free(room->ends);
err_free_room:
    free(room);
err_memory:
    return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for %d local ranks", size);
}
