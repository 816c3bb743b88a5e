#include "mpi_driver/item_store.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rkb_item_store {
    FILE *file;
    bool dirty;        /* the stream holds bytes that a pread would miss */
    uint64_t *offsets; /* of each key; one more than items: the end */
    uint32_t count, capacity;
    char *record;
    size_t room;
};

rkb_status_t rkb_item_store_create(const char *folder, rkb_item_store_t **out, rkb_error_t *err)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w+") : tmpfile();
    if (file == NULL) {
        rkb_error_set(err, RKB_ERR_IO, "no temporary file for the plan: %s", strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return RKB_ERR_IO;
    }
    fcntl(fileno(file), F_SETFD, FD_CLOEXEC);
    rkb_item_store_t *store = rkb_xcalloc(1, sizeof(*store));
    store->file = file;
    *out = store;
    return RKB_OK;
}

void rkb_item_store_destroy(rkb_item_store_t *store)
{
    if (store == NULL) {
        return;
    }
    fclose(store->file);
    free(store->offsets);
    free(store->record);
    free(store);
}

rkb_status_t rkb_item_store_add(rkb_item_store_t *store, const char *key, const char *payload,
                                rkb_error_t *err)
{
    if (store->count + 2 > store->capacity) {
        uint32_t capacity = store->capacity == 0 ? 256 : store->capacity * 2;
        uint64_t *larger = reallocarray(store->offsets, capacity, sizeof(*larger));
        if (larger == NULL) {
            return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for %u items", capacity);
        }
        if (store->capacity == 0) {
            larger[0] = 0;
        }
        store->offsets = larger;
        store->capacity = capacity;
    }
    size_t key_size = strlen(key) + 1, payload_size = strlen(payload) + 1;
    if (fwrite(key, 1, key_size, store->file) != key_size ||
        fwrite(payload, 1, payload_size, store->file) != payload_size) {
        return rkb_error_set(err, RKB_ERR_IO, "the plan cannot be kept: %s", strerror(errno));
    }
    store->dirty = true;
    store->offsets[store->count + 1] = store->offsets[store->count] + key_size + payload_size;
    store->count++;
    return RKB_OK;
}

rkb_status_t rkb_item_store_get(rkb_item_store_t *store, uint32_t item, const char **key,
                                const char **payload, rkb_error_t *err)
{
    if (item >= store->count) {
        return rkb_error_set(err, RKB_ERR_INTERNAL, "no item %u", item);
    }
    if (store->dirty && fflush(store->file) != 0) {
        return rkb_error_set(err, RKB_ERR_IO, "the plan cannot be kept: %s", strerror(errno));
    }
    store->dirty = false;
    size_t size = (size_t)(store->offsets[item + 1] - store->offsets[item]);
    if (size > store->room) {
        store->record = rkb_xrealloc(store->record, size, 1);
        store->room = size;
    }
    ssize_t got = pread(fileno(store->file), store->record, size, (off_t)store->offsets[item]);
    if (got != (ssize_t)size) {
        return rkb_error_set(err, RKB_ERR_IO, "the plan cannot be read back: %s",
                             got < 0 ? strerror(errno) : "it is too short");
    }
    *key = store->record;
    *payload = store->record + strlen(store->record) + 1;
    return RKB_OK;
}

uint32_t rkb_item_store_count(const rkb_item_store_t *store)
{
    return store->count;
}
