/**
 * @file device.h
 * A device as a table of functions. Backends: `cpu` (built in) and `cuda` (plugin, dlopen).
 * The evaluator owns arenas of device memory and lends them to a cell; the cell's runtime
 * allocates inside. Offsets and sizes that come back from a cell are checked by the evaluator,
 * never by the backend. Not thread-safe: one evaluator thread per device.
 */
#ifndef RKB_DEVICE_DEVICE_H
#define RKB_DEVICE_DEVICE_H

#include "common/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RKB_DEVICE_ABI 1

typedef struct rkb_device rkb_device_t;
typedef struct rkb_arena rkb_arena_t;

typedef struct {
    unsigned abi; /* RKB_DEVICE_ABI */
    const char *name;

    /** Is the backend usable here? Otherwise RKB_ERR_NO_DEVICE with the reason for `rkb doctor`. */
    rkb_status_t (*probe)(rkb_error_t *err);
    /** index: which device of this host (the local rank). */
    rkb_status_t (*open)(int index, rkb_device_t **out, rkb_error_t *err);
    void (*close)(rkb_device_t *device); /* NULL allowed */
    /**
     * Facts for the report: {"name", "kind", "index", "uuid", "memory_bytes", "emulated", …}.
     * Owned by the caller. NULL when memory ran out.
     */
    cJSON *(*describe)(const rkb_device_t *device);
    bool emulated; /* times are not comparable with a GPU's */

    /** Memory of at least `bytes`, zero filled, lazily backed where the device can. */
    rkb_status_t (*arena_create)(rkb_device_t *device, size_t bytes, rkb_arena_t **out,
                                 rkb_error_t *err);
    void (*arena_destroy)(rkb_arena_t *arena); /* NULL allowed */
    size_t (*arena_size)(const rkb_arena_t *arena);
    /** What a cell needs to map it: a descriptor to pass over the socket (-1: none). */
    int (*arena_fd)(const rkb_arena_t *arena);
    rkb_status_t (*arena_write)(rkb_arena_t *arena, size_t offset, const void *src, size_t bytes,
                                rkb_error_t *err);
    rkb_status_t (*arena_read)(rkb_arena_t *arena, size_t offset, void *dst, size_t bytes,
                               rkb_error_t *err);
    /** Fills with a repeated 32-bit pattern; offset and bytes are multiples of 4. */
    rkb_status_t (*arena_fill)(rkb_arena_t *arena, size_t offset, uint32_t pattern, size_t bytes,
                               rkb_error_t *err);
    /** Forgets the contents of a page-aligned range and gives its memory back; it reads as zeros. */
    rkb_status_t (*arena_discard)(rkb_arena_t *arena, size_t offset, size_t bytes,
                                  rkb_error_t *err);
} rkb_device_ops_t;

/** One line of `rkb doctor`: a backend, where it was looked for, and why it is (not) usable. */
typedef struct {
    const char *name;
    const rkb_device_ops_t *ops; /* NULL when not usable */
    char where[256];
    char reason[512];
} rkb_backend_t;

/** All known backends in order of preference (cuda, cpu), probed once. *count entries. */
const rkb_backend_t *rkb_backends(size_t *count);
/** name: "auto", "cpu", "cuda". RKB_ERR_NO_DEVICE lists every backend and its reason. */
rkb_status_t rkb_device_select(const char *name, const rkb_device_ops_t **out, rkb_error_t *err);

extern const rkb_device_ops_t rkb_device_cpu_ops;

#endif
