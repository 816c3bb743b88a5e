#include "common/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_CHUNK = 1 << 16, TREE_DEPTH_MAX = 128, TEMPORARY_TRIES = 100 };

static rkb_status_t io_error(rkb_error_t *err, const char *path)
{
    rkb_status_t status = RKB_ERR_IO;
    if (errno == ENOENT || errno == ENOTDIR)
        status = RKB_ERR_NOT_FOUND;
    else if (errno == EEXIST)
        status = RKB_ERR_EXISTS;
    else if (errno == ENOMEM)
        status = RKB_ERR_NO_MEMORY;
    return rkb_error_set(err, status, "%s: %s", path, strerror(errno));
}

rkb_status_t rkb_file_read(const char *path, size_t limit, char **data, size_t *len,
                           rkb_error_t *err)
{
    /* O_NONBLOCK: opening a FIFO must not wait for a writer before it can be refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return io_error(err, path);
    rkb_status_t status;
    char *buffer = NULL;
    struct stat info;
    if (fstat(fd, &info) != 0) {
        status = io_error(err, path);
        goto err_close;
    }
    if (!S_ISREG(info.st_mode)) {
        status = rkb_error_set(err, RKB_ERR_INVALID, "%s: not a regular file", path);
        goto err_close;
    }
    size_t used = 0, room = 0;
    if (info.st_size > 0 && (uint64_t)info.st_size <= limit)
        room = (size_t)info.st_size;
    for (;;) {
        /* One byte more than the limit is asked for, so that a file that is too long shows. */
        if (!buffer || used == room) {
            room = buffer ? room + room / 2 + READ_CHUNK : room + 1;
            if (room > limit + 1)
                room = limit + 1;
            char *larger = realloc(buffer, room + 1);
            if (!larger) {
                status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "%s: out of memory", path);
                goto err_free;
            }
            buffer = larger;
        }
        ssize_t got = read(fd, buffer + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            status = io_error(err, path);
            goto err_free;
        }
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit) {
            status = rkb_error_set(err, RKB_ERR_INVALID, "%s: larger than %zu bytes", path, limit);
            goto err_free;
        }
    }
    buffer[used] = '\0';
    close(fd);
    *data = buffer;
    *len = used;
    return RKB_OK;

err_free:
    free(buffer);
err_close:
    close(fd);
    return status;
}

rkb_status_t rkb_file_write_all(int fd, const void *data, size_t len, rkb_error_t *err)
{
    const char *bytes = data;
    while (len > 0) {
        ssize_t put = write(fd, bytes, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return rkb_error_set(err, RKB_ERR_IO, "write: %s", strerror(errno));
        bytes += put;
        len -= (size_t)put;
    }
    return RKB_OK;
}

struct rkb_atomic_file {
    char *path;
    char *temporary;
    FILE *stream;
};

rkb_status_t rkb_atomic_file_create(const char *path, rkb_atomic_file_t **out, rkb_error_t *err)
{
    char *temporary = NULL;
    int fd = -1;
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        free(temporary);
        temporary = rkb_strf("%s.tmp.%ld.%d", path, (long)getpid(), i);
        /* Not mkstemp: its mode 0600 would keep others from reading the finished file. */
        fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    if (fd < 0) {
        rkb_status_t status = io_error(err, temporary);
        free(temporary);
        return status;
    }
    rkb_atomic_file_t *file = rkb_xcalloc(1, sizeof *file);
    file->path = rkb_xstrdup(path);
    file->temporary = temporary;
    file->stream = fdopen(fd, "w");
    if (!file->stream) {
        close(fd);
        rkb_atomic_file_destroy(file);
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "%s: out of memory", path);
    }
    *out = file;
    return RKB_OK;
}

FILE *rkb_atomic_file_stream(rkb_atomic_file_t *file)
{
    return file->stream;
}

/* Makes a rename durable. Some file systems cannot sync a folder; that is not worth a failure. */
static void sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? rkb_strf("%.*s", (int)(slash - path + 1), path) : rkb_xstrdup(".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

rkb_status_t rkb_atomic_file_commit(rkb_atomic_file_t *file, rkb_error_t *err)
{
    errno = 0;
    if (fflush(file->stream) != 0 || ferror(file->stream) || fsync(fileno(file->stream)) != 0) {
        /* An earlier write failed and its cause is forgotten. */
        if (errno == 0)
            errno = EIO;
        return io_error(err, file->path);
    }
    int closed = fclose(file->stream);
    file->stream = NULL;
    if (closed != 0 || rename(file->temporary, file->path) != 0)
        return io_error(err, file->path);
    free(file->temporary);
    file->temporary = NULL;
    sync_folder_of(file->path);
    return RKB_OK;
}

void rkb_atomic_file_destroy(rkb_atomic_file_t *file)
{
    if (!file)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    free(file);
}

rkb_status_t rkb_file_write_atomic(const char *path, const void *data, size_t len, rkb_error_t *err)
{
    rkb_atomic_file_t *file;
    rkb_status_t status = rkb_atomic_file_create(path, &file, err);
    if (status != RKB_OK)
        return status;
    if (fwrite(data, 1, len, file->stream) != len)
        status = io_error(err, path);
    else
        status = rkb_atomic_file_commit(file, err);
    rkb_atomic_file_destroy(file);
    return status;
}

rkb_status_t rkb_file_make_dirs(const char *path, rkb_error_t *err)
{
    char *part = rkb_xstrdup(path);
    rkb_status_t status = RKB_OK;
    for (char *c = part; status == RKB_OK; c++) {
        if (*c != '/' && *c != '\0')
            continue;
        char end = *c;
        *c = '\0';
        if (*part && mkdir(part, 0755) != 0) {
            int cause = errno;
            /* EEXIST is not the only answer for a folder that is there: a parent may be read-only.
             */
            if (!rkb_file_is_dir(part)) {
                errno = cause;
                status = cause == EEXIST ? rkb_error_set(err, RKB_ERR_EXISTS,
                                                         "%s: exists and is not a folder", part)
                                         : io_error(err, part);
            }
        }
        *c = end;
        if (end == '\0')
            break;
    }
    free(part);
    return status;
}

static rkb_status_t remove_at(int folder, const char *name, const char *shown, int depth,
                              rkb_error_t *err);

static rkb_status_t empty_folder(int fd, const char *shown, int depth, rkb_error_t *err)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        rkb_status_t failed = io_error(err, shown);
        close(fd);
        return failed;
    }
    rkb_status_t status = RKB_OK;
    for (struct dirent *entry; status == RKB_OK && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *path = rkb_strf("%s/%s", shown, entry->d_name);
        status = remove_at(dirfd(dir), entry->d_name, path, depth + 1, err);
        free(path);
    }
    closedir(dir);
    return status;
}

/* Everything is relative to an open folder: a path that is swapped meanwhile leads nowhere else. */
static rkb_status_t remove_at(int folder, const char *name, const char *shown, int depth,
                              rkb_error_t *err)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return RKB_OK;
    if (errno != EISDIR && errno != EPERM)
        return io_error(err, shown);
    if (depth > TREE_DEPTH_MAX)
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: nested deeper than %d", shown,
                             TREE_DEPTH_MAX);
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return io_error(err, shown);
    rkb_status_t status = empty_folder(fd, shown, depth, err);
    if (status != RKB_OK)
        return status;
    if (unlinkat(folder, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return io_error(err, shown);
    return RKB_OK;
}

rkb_status_t rkb_file_remove_tree(const char *path, rkb_error_t *err)
{
    struct stat info;
    if (lstat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return RKB_OK;
    return remove_at(AT_FDCWD, path, path, 0, err);
}

bool rkb_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool rkb_file_is_dir(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void *check_memory(void *memory)
{
    if (!memory) {
        static const char text[] = "rkb: out of memory\n";
        ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        abort();
    }
    return memory;
}

char *rkb_strf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    return check_memory(text);
}

void *rkb_xcalloc(size_t count, size_t size)
{
    return check_memory(calloc(count ? count : 1, size ? size : 1));
}

void *rkb_xrealloc(void *old, size_t count, size_t size)
{
    return check_memory(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *rkb_xstrdup(const char *text)
{
    return check_memory(strdup(text));
}
