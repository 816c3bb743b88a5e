/**
 * @file keyset.h
 * A set of strings that keeps 16 bytes of each one's SHA-256: 24 to 48 bytes a string, whatever
 * its length. Not thread-safe.
 */
#ifndef RKB_RESULTS_KEYSET_H
#define RKB_RESULTS_KEYSET_H

#include "common/error.h"

#include <stdbool.h>

typedef struct rkb_keyset rkb_keyset_t;

rkb_keyset_t *rkb_keyset_create(void);
void rkb_keyset_destroy(rkb_keyset_t *set); /* NULL allowed */
/** *added is false when the key was there already. */
rkb_status_t rkb_keyset_add(rkb_keyset_t *set, const char *key, bool *added, rkb_error_t *err);

#endif
