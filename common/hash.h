/**
 * @file hash.h
 * SHA-256 (FIPS 180-4, by libcrypto) as lower-case hex, and a 64-bit mixer for seeds.
 */
#ifndef RKB_COMMON_HASH_H
#define RKB_COMMON_HASH_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { RKB_SHA256_HEX_SIZE = 65 }; /* with NUL */

typedef struct rkb_sha256 rkb_sha256_t;
rkb_status_t rkb_sha256_create(rkb_sha256_t **out, rkb_error_t *err);
void rkb_sha256_update(rkb_sha256_t *hash, const void *data, size_t len);
/** Adds the string and its terminating NUL, so that neighbouring fields cannot run together. */
void rkb_sha256_update_field(rkb_sha256_t *hash, const char *text);
void rkb_sha256_finish(rkb_sha256_t *hash, char hex[RKB_SHA256_HEX_SIZE]);
void rkb_sha256_destroy(rkb_sha256_t *hash);

rkb_status_t rkb_sha256_buffer(const void *data, size_t len, char hex[RKB_SHA256_HEX_SIZE],
                               rkb_error_t *err);
rkb_status_t rkb_sha256_file(const char *path, char hex[RKB_SHA256_HEX_SIZE], rkb_error_t *err);

/** FNV-1a, 64 bit: names to stream numbers. */
uint64_t rkb_fnv1a(const void *data, size_t len, uint64_t basis);
#define RKB_FNV1A_BASIS UINT64_C(0xcbf29ce484222325)
/** splitmix64 finaliser (Steele, Lea, Flood 2014). */
uint64_t rkb_mix64(uint64_t x);

#endif
