/**
 * @file item_store.h
 * Keys and payloads of the planned items, numbered from 0. A million of them would fill rank 0's
 * memory, so they lie in a file without a name and only their offsets are kept. Not thread-safe.
 */
#ifndef RKB_DRIVER_ITEM_STORE_H
#define RKB_DRIVER_ITEM_STORE_H

#include "common/error.h"

#include <stdint.h>

typedef struct rkb_item_store rkb_item_store_t;

/** The file goes into `folder` where that can be, else into the system's temporary folder. */
rkb_status_t rkb_item_store_create(const char *folder, rkb_item_store_t **out, rkb_error_t *err);
void rkb_item_store_destroy(rkb_item_store_t *store); /* NULL allowed */

rkb_status_t rkb_item_store_add(rkb_item_store_t *store, const char *key, const char *payload,
                                rkb_error_t *err);
/** Both are the store's and valid until the next call. */
rkb_status_t rkb_item_store_get(rkb_item_store_t *store, uint32_t item, const char **key,
                                const char **payload, rkb_error_t *err);
uint32_t rkb_item_store_count(const rkb_item_store_t *store);

#endif
