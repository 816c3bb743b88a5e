/**
 * @file cache.h
 * The content-addressed store of shared objects: <dir>/objects/<2 hex>/<sha256>.so, and scratch
 * folders under <dir>/tmp. Entries appear by rename, so readers and writers of several processes
 * need no locks.
 */
#ifndef RKB_CANDIDATE_CACHE_H
#define RKB_CANDIDATE_CACHE_H

#include "common/error.h"
#include "common/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** dir, or by RKB_CACHE_DIR, XDG_CACHE_HOME/rkb, ~/.cache/rkb; free() it. */
char *rkb_cache_locate(const char *dir);
/** Makes the folders and removes scratch that was left behind more than a day ago. */
rkb_status_t rkb_cache_open(const char *dir, rkb_error_t *err);
/** Path of the entry of a key, whether or not it is there; free() it. */
char *rkb_cache_entry(const char *dir, const char key[RKB_SHA256_HEX_SIZE]);
/** Is a whole shared object there? */
bool rkb_cache_has(const char *path);
/** A new empty folder under tmp/; free() the path and remove the tree when done. */
rkb_status_t rkb_cache_scratch(const char *dir, char **out, rkb_error_t *err);
/** Moves a finished file to its entry. */
rkb_status_t rkb_cache_publish(const char *file, const char *entry, rkb_error_t *err);

typedef struct {
    size_t objects;
    uint64_t bytes;
} rkb_cache_info_t;
rkb_status_t rkb_cache_info(const char *dir, rkb_cache_info_t *out, rkb_error_t *err);
/**
 * Removes all entries, and scratch folders that killed jobs left; jobs that run keep theirs.
 * RKB_ERR_INVALID, and nothing is removed, when dir has no CACHEDIR.TAG of rkb's.
 */
rkb_status_t rkb_cache_clear(const char *dir, rkb_error_t *err);

#endif
