/* Landlock through raw system calls: the distribution's header may be older than the kernel. */
#include "evaluator/cell/jail_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* linux/landlock.h, version 7 of the interface */
enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)

struct ruleset_attr {
    uint64_t handled_access_fs, handled_access_net, scoped;
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

/* What each version of the interface can forbid; everything known is forbidden. */
typedef struct {
    int version;
    uint64_t fs, net, scoped;
    size_t attr_size;
} version_row_t;

static const version_row_t versions[] = {
    {6, 0xffff, 3, 3, sizeof(struct ruleset_attr)},
    {5, 0xffff, 3, 0, offsetof(struct ruleset_attr, scoped)},
    {4, 0x7fff, 3, 0, offsetof(struct ruleset_attr, scoped)},
    {3, 0x7fff, 0, 0, offsetof(struct ruleset_attr, handled_access_net)},
    {2, 0x3fff, 0, 0, offsetof(struct ruleset_attr, handled_access_net)},
    {1, 0x1fff, 0, 0, offsetof(struct ruleset_attr, handled_access_net)},
};

int rkb_landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

static rkb_status_t allow_reading(int ruleset, const char *path, rkb_error_t *err)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return RKB_OK;
    struct stat info;
    struct path_beneath_attr rule = {.allowed_access = FS_READ_FILE, .parent_fd = fd};
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
        rule.allowed_access |= FS_READ_DIR;
    rkb_status_t status = RKB_OK;
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0)
        status = rkb_error_set(err, RKB_ERR_IO, "landlock_add_rule %s: %s", path, strerror(errno));
    close(fd);
    return status;
}

rkb_status_t rkb_landlock_enter(int version, const char *const *readable, rkb_error_t *err)
{
    const version_row_t *row = versions;
    while (row->version > version)
        row++;
    struct ruleset_attr attr = {row->fs, row->net, row->scoped};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, row->attr_size, 0);
    if (ruleset < 0)
        return rkb_error_set(err, RKB_ERR_IO, "landlock_create_ruleset: %s", strerror(errno));
    rkb_status_t status = RKB_OK;
    for (; *readable && status == RKB_OK; readable++)
        status = allow_reading(ruleset, *readable, err);
    if (status == RKB_OK && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        status = rkb_error_set(err, RKB_ERR_IO, "landlock_restrict_self: %s", strerror(errno));
    close(ruleset);
    return status;
}
