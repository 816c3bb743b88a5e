#include "evaluator/candidate/cache.h"

#include "common/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *rkb_cache_locate(const char *dir)
{
    if (dir && *dir)
        return rkb_xstrdup(dir);
    const char *own = getenv("RKB_CACHE_DIR");
    if (own && *own)
        return rkb_xstrdup(own);
    const char *xdg = getenv("XDG_CACHE_HOME");
    if (xdg && *xdg == '/')
        return rkb_strf("%s/rkb", xdg);
    const char *home = getenv("HOME");
    if (!home || !*home) {
        /* Never a folder that others can write: they would plant shared objects there. */
        const struct passwd *user = getpwuid(getuid());
        home = user ? user->pw_dir : "/nonexistent";
    }
    return rkb_strf("%s/.cache/rkb", home);
}

/* Jobs end within minutes: a day-old scratch folder belongs to a process that was killed. */
static void remove_stale_scratch(const char *dir)
{
    char *tmp = rkb_strf("%s/tmp", dir);
    DIR *folder = opendir(tmp);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct stat st;
        if (strncmp(entry->d_name, "job-", 4) != 0)
            continue;
        char *path = rkb_strf("%s/%s", tmp, entry->d_name);
        if (lstat(path, &st) == 0 && st.st_mtime + 24 * 3600 < time(NULL))
            rkb_file_remove_tree(path, NULL);
        free(path);
    }
    if (folder)
        closedir(folder);
    free(tmp);
}

/* The sign of a cache folder (bford.info/cachedir): backups skip it, and only such a one is
 * cleared. */
static const char tag_text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# Compiled candidates of rkb; `rkb cache clear` empties it.\n";

static rkb_status_t mark(const char *dir, rkb_error_t *err)
{
    char *tag = rkb_strf("%s/CACHEDIR.TAG", dir);
    rkb_status_t status =
        rkb_file_exists(tag) ? RKB_OK : rkb_file_write_atomic(tag, tag_text, strlen(tag_text), err);
    free(tag);
    return status;
}

static bool is_marked(const char *dir)
{
    char *tag = rkb_strf("%s/CACHEDIR.TAG", dir), *text = NULL;
    size_t len;
    bool marked = rkb_file_read(tag, 4096, &text, &len, NULL) == RKB_OK &&
                  len == strlen(tag_text) && memcmp(text, tag_text, len) == 0;
    free(text);
    free(tag);
    return marked;
}

rkb_status_t rkb_cache_open(const char *dir, rkb_error_t *err)
{
    static const char *const parts[] = {"objects", "tmp"};
    for (int i = 0; i < 2; i++) {
        char *path = rkb_strf("%s/%s", dir, parts[i]);
        rkb_status_t status = rkb_file_make_dirs(path, err);
        if (status == RKB_OK && access(path, W_OK | X_OK) != 0)
            status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", path, strerror(errno));
        free(path);
        if (status != RKB_OK)
            return rkb_error_prefix(err, "compile cache");
    }
    rkb_status_t status = mark(dir, err);
    if (status != RKB_OK)
        return rkb_error_prefix(err, "compile cache");
    remove_stale_scratch(dir);
    return RKB_OK;
}

char *rkb_cache_entry(const char *dir, const char key[RKB_SHA256_HEX_SIZE])
{
    return rkb_strf("%s/objects/%.2s/%s.so", dir, key, key);
}

bool rkb_cache_has(const char *path)
{
    char magic[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool whole =
        read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
    close(fd);
    return whole;
}

rkb_status_t rkb_cache_scratch(const char *dir, char **out, rkb_error_t *err)
{
    char *path = rkb_strf("%s/tmp/job-XXXXXX", dir);
    if (!mkdtemp(path)) {
        rkb_error_set(err, RKB_ERR_IO, "%s: %s", path, strerror(errno));
        free(path);
        return RKB_ERR_IO;
    }
    *out = path;
    return RKB_OK;
}

rkb_status_t rkb_cache_publish(const char *file, const char *entry, rkb_error_t *err)
{
    char *folder = rkb_xstrdup(entry);
    *strrchr(folder, '/') = '\0';
    rkb_status_t status = rkb_file_make_dirs(folder, err);
    free(folder);
    if (status != RKB_OK)
        return status;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0 || rename(file, entry) != 0)
        status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", entry, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

rkb_status_t rkb_cache_info(const char *dir, rkb_cache_info_t *out, rkb_error_t *err)
{
    rkb_cache_info_t info = {0, 0};
    char *objects = rkb_strf("%s/objects", dir);
    DIR *top = opendir(objects);
    if (!top && errno != ENOENT) {
        rkb_error_set(err, RKB_ERR_IO, "%s: %s", objects, strerror(errno));
        free(objects);
        return RKB_ERR_IO;
    }
    struct dirent *entry;
    while (top && (entry = readdir(top))) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = rkb_strf("%s/%s", objects, entry->d_name);
        DIR *folder = opendir(path);
        struct dirent *object;
        while (folder && (object = readdir(folder))) {
            struct stat st;
            if (fstatat(dirfd(folder), object->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(st.st_mode)) {
                info.objects++;
                info.bytes += (uint64_t)st.st_size;
            }
        }
        if (folder)
            closedir(folder);
        free(path);
    }
    if (top)
        closedir(top);
    free(objects);
    *out = info;
    return RKB_OK;
}

rkb_status_t rkb_cache_clear(const char *dir, rkb_error_t *err)
{
    if (!rkb_file_is_dir(dir))
        return RKB_OK;
    if (!is_marked(dir))
        return rkb_error_set(
            err, RKB_ERR_INVALID,
            "%s holds no cache of rkb (no CACHEDIR.TAG of ours): nothing is removed", dir);
    /* Jobs that run now keep their scratch folders, and only these are below tmp/. */
    remove_stale_scratch(dir);
    char *objects = rkb_strf("%s/objects", dir);
    rkb_status_t status = rkb_file_remove_tree(objects, err);
    free(objects);
    return status;
}
