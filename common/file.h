/**
 * @file file.h
 * Files and folders: whole-file reads, atomic writes, and paths of the installation.
 */
#ifndef RKB_COMMON_FILE_H
#define RKB_COMMON_FILE_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Reads a whole regular file of at most `limit` bytes; *data is NUL-terminated beyond *len; free()
 * it. */
rkb_status_t rkb_file_read(const char *path, size_t limit, char **data, size_t *len,
                           rkb_error_t *err);
/** Writes under a temporary name in the same folder, fsyncs, renames: readers see all or nothing.
 */
rkb_status_t rkb_file_write_atomic(const char *path, const void *data, size_t len,
                                   rkb_error_t *err);
/** The same for content that is written piece by piece. */
typedef struct rkb_atomic_file rkb_atomic_file_t;
rkb_status_t rkb_atomic_file_create(const char *path, rkb_atomic_file_t **out, rkb_error_t *err);
FILE *rkb_atomic_file_stream(rkb_atomic_file_t *file);
/** Puts the file in place. Errors of earlier writes to the stream come to light here. */
rkb_status_t rkb_atomic_file_commit(rkb_atomic_file_t *file, rkb_error_t *err);
/** Removes what was not committed, and frees. NULL allowed. */
void rkb_atomic_file_destroy(rkb_atomic_file_t *file);
/** Writes all bytes, through EINTR and short writes. */
rkb_status_t rkb_file_write_all(int fd, const void *data, size_t len, rkb_error_t *err);
/** mkdir -p, mode 0755. */
rkb_status_t rkb_file_make_dirs(const char *path, rkb_error_t *err);
/** rm -rf; does not follow links. A missing path is success. */
rkb_status_t rkb_file_remove_tree(const char *path, rkb_error_t *err);
bool rkb_file_exists(const char *path);
bool rkb_file_is_dir(const char *path);

/** asprintf that never returns NULL (aborts when memory ran out); free() it. */
char *rkb_strf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** malloc/realloc/strdup that abort with a message when memory ran out: for small, bounded objects.
 */
void *rkb_xcalloc(size_t count, size_t size);
void *rkb_xrealloc(void *old, size_t count, size_t size);
char *rkb_xstrdup(const char *text);

/**
 * Finds a part of the installation: what is "bin/rkb-cell", "lib/rkb/librkb_torch.so",
 * "include" (kernel headers) or "tasks". Looked for, in order: the environment variable
 * RKB_PREFIX; beside the running binary (its folder/..), which serves build trees and installs;
 * the compiled-in source folder. Returns a malloc'ed path, or NULL with the places looked in err.
 */
char *rkb_install_path(const char *what, rkb_error_t *err);

#endif
