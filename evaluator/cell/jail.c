#include "evaluator/cell/jail_internal.h"

#include "evaluator/cell/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned rkb_jail_probe(void)
{
    unsigned bits = 0;
    uint32_t action = SECCOMP_RET_TRAP;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
        bits |= RKB_JAIL_SECCOMP;
    if (rkb_landlock_version() > 0)
        bits |= RKB_JAIL_LANDLOCK;
    return bits;
}

typedef struct {
    int resource;
    rlim_t value;
} limit_row_t;

static const limit_row_t limits[] = {
    {RLIMIT_CORE, 0},    {RLIMIT_FSIZE, 0}, /* does not bound shared mappings */
    {RLIMIT_NOFILE, 64}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_MSGQUEUE, 0}, {RLIMIT_RTPRIO, 0},
};

static rkb_status_t set_limits(uint64_t memory_bytes, rkb_error_t *err)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit = {limits[i].value, limits[i].value};
        if (setrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0)
            return rkb_error_set(err, RKB_ERR_IO, "setrlimit: %s", strerror(errno));
    }
#ifndef RKB_SANITIZED /* AddressSanitizer's shadow counts as private memory */
    struct rlimit memory = {memory_bytes, memory_bytes};
    if (memory_bytes && setrlimit(RLIMIT_DATA, &memory) != 0)
        return rkb_error_set(err, RKB_ERR_IO, "setrlimit: %s", strerror(errno));
#else
    (void)memory_bytes;
#endif
    return RKB_OK;
}

/* Of root's powers none is left; for other users this changes nothing. */
static rkb_status_t drop_capabilities(rkb_error_t *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    memset(none, 0, sizeof none);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &header, none) != 0)
        return rkb_error_set(err, RKB_ERR_IO, "capset: %s", strerror(errno));
    return RKB_OK;
}

/* When memory runs short the kernel shall end a cell, not an evaluator. Best effort. */
static void volunteer_for_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, "1000", 4);
    (void)ignored;
    close(fd);
}

rkb_status_t rkb_jail_enter(const rkb_jail_params_t *params, unsigned *bits, rkb_error_t *err)
{
    volunteer_for_oom();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return rkb_error_set(err, RKB_ERR_IO, "prctl(PR_SET_NO_NEW_PRIVS): %s", strerror(errno));
    rkb_status_t status = set_limits(params->memory_bytes, err);
    if (status != RKB_OK)
        return status;
    unsigned offered = rkb_jail_probe();
    if (offered & RKB_JAIL_LANDLOCK) {
        status = rkb_landlock_enter(rkb_landlock_version(), params->readable, err);
        if (status != RKB_OK)
            return status;
    }
    status = drop_capabilities(err);
    if (status != RKB_OK)
        return status;
    if (offered & RKB_JAIL_SECCOMP) {
        status = rkb_seccomp_enter(err);
        if (status != RKB_OK)
            return status;
    }
    *bits = offered;
    return RKB_OK;
}
