#include "evaluator/device/device.h"

#include "common/file.h"
#include "common/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct rkb_device {
    int index;
    char *model;
    int cores, threads;
    uint64_t memory_bytes;
    char uuid[64];
};

struct rkb_arena {
    int fd;
    unsigned char *map;
    size_t bytes;
};

static rkb_status_t cpu_probe(rkb_error_t *err)
{
    int fd = memfd_create("rkb-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return rkb_error_set(err, RKB_ERR_NO_DEVICE, "no sealed memory: memfd_create: %s",
                             strerror(errno));
    close(fd);
    return RKB_OK;
}

/* Facts of the host; a topology that cannot be read leaves them unknown. */
static void read_topology(rkb_device_t *device)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0) {
        hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
        hwloc_obj_t root = hwloc_get_root_obj(topology);
        const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
        if (model)
            device->model = rkb_xstrdup(model);
        device->cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        device->threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
        device->memory_bytes = root->total_memory;
    }
    hwloc_topology_destroy(topology);
}

static rkb_status_t cpu_open(int index, rkb_device_t **out, rkb_error_t *err)
{
    char host[256] = "";
    char hex[RKB_SHA256_HEX_SIZE];
    gethostname(host, sizeof host - 1);
    char *id = rkb_strf("%s/cpu/%d", host, index);
    rkb_status_t status = rkb_sha256_buffer(id, strlen(id), hex, err);
    free(id);
    if (status != RKB_OK)
        return status;
    rkb_device_t *device = rkb_xcalloc(1, sizeof *device);
    device->index = index;
    snprintf(device->uuid, sizeof device->uuid, "CPU-%.32s", hex);
    read_topology(device);
    *out = device;
    return RKB_OK;
}

static void cpu_close(rkb_device_t *device)
{
    if (!device)
        return;
    free(device->model);
    free(device);
}

static cJSON *cpu_describe(const rkb_device_t *device)
{
    cJSON *facts = cJSON_CreateObject();
    if (!facts || !cJSON_AddStringToObject(facts, "name", "cpu") ||
        !cJSON_AddStringToObject(facts, "kind", "cpu") ||
        !cJSON_AddNumberToObject(facts, "index", device->index) ||
        !cJSON_AddStringToObject(facts, "uuid", device->uuid) ||
        !cJSON_AddStringToObject(facts, "model", device->model ? device->model : "unknown") ||
        !cJSON_AddNumberToObject(facts, "cores", device->cores) ||
        !cJSON_AddNumberToObject(facts, "threads", device->threads) ||
        !cJSON_AddNumberToObject(facts, "memory_bytes", (double)device->memory_bytes) ||
        !cJSON_AddTrueToObject(facts, "emulated")) {
        cJSON_Delete(facts);
        return NULL;
    }
    return facts;
}

static void arena_destroy(rkb_arena_t *arena)
{
    if (!arena)
        return;
    munmap(arena->map, arena->bytes);
    close(arena->fd);
    free(arena);
}

static rkb_status_t arena_create(rkb_device_t *device, size_t bytes, rkb_arena_t **out,
                                 rkb_error_t *err)
{
    (void)device;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return rkb_error_set(err, RKB_ERR_INVALID, "an arena of %zu bytes", bytes);
    bytes = (bytes + page - 1) / page * page;
    int fd = memfd_create("rkb-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return rkb_error_set(err, RKB_ERR_IO, "memfd_create: %s", strerror(errno));
    /* A cell holds this descriptor too: it must not be able to cut the memory off under us. */
    void *map = MAP_FAILED;
    if (ftruncate(fd, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        rkb_error_set(err, RKB_ERR_NO_MEMORY, "an arena of %zu bytes: %s", bytes, strerror(errno));
        close(fd);
        return RKB_ERR_NO_MEMORY;
    }
    rkb_arena_t *arena = rkb_xcalloc(1, sizeof *arena);
    *arena = (rkb_arena_t){fd, map, bytes};
    *out = arena;
    return RKB_OK;
}

static size_t arena_size(const rkb_arena_t *arena)
{
    return arena->bytes;
}

static int arena_fd(const rkb_arena_t *arena)
{
    return arena->fd;
}

static rkb_status_t check_range(const rkb_arena_t *arena, size_t offset, size_t bytes, size_t unit,
                                rkb_error_t *err)
{
    if (offset > arena->bytes || bytes > arena->bytes - offset || offset % unit || bytes % unit)
        return rkb_error_set(err, RKB_ERR_INVALID,
                             "%zu bytes at %zu are no range of an arena of %zu bytes", bytes,
                             offset, arena->bytes);
    return RKB_OK;
}

static rkb_status_t arena_write(rkb_arena_t *arena, size_t offset, const void *src, size_t bytes,
                                rkb_error_t *err)
{
    rkb_status_t status = check_range(arena, offset, bytes, 1, err);
    if (status == RKB_OK && bytes)
        memcpy(arena->map + offset, src, bytes);
    return status;
}

static rkb_status_t arena_read(rkb_arena_t *arena, size_t offset, void *dst, size_t bytes,
                               rkb_error_t *err)
{
    rkb_status_t status = check_range(arena, offset, bytes, 1, err);
    if (status == RKB_OK && bytes)
        memcpy(dst, arena->map + offset, bytes);
    return status;
}

static rkb_status_t arena_fill(rkb_arena_t *arena, size_t offset, uint32_t pattern, size_t bytes,
                               rkb_error_t *err)
{
    rkb_status_t status = check_range(arena, offset, bytes, sizeof pattern, err);
    if (status != RKB_OK)
        return status;
    uint32_t *words = (uint32_t *)(void *)(arena->map + offset);
    for (size_t i = 0; i < bytes / sizeof pattern; i++)
        words[i] = pattern;
    return RKB_OK;
}

static rkb_status_t arena_discard(rkb_arena_t *arena, size_t offset, size_t bytes, rkb_error_t *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    rkb_status_t status = check_range(arena, offset, bytes, page, err);
    if (status != RKB_OK || bytes == 0)
        return status;
    if (fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)bytes) != 0)
        return rkb_error_set(err, RKB_ERR_IO, "giving back %zu bytes of an arena: %s", bytes,
                             strerror(errno));
    return RKB_OK;
}

const rkb_device_ops_t rkb_device_cpu_ops = {
    .abi = RKB_DEVICE_ABI,
    .name = "cpu",
    .probe = cpu_probe,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .emulated = true,
    .arena_create = arena_create,
    .arena_destroy = arena_destroy,
    .arena_size = arena_size,
    .arena_fd = arena_fd,
    .arena_write = arena_write,
    .arena_read = arena_read,
    .arena_fill = arena_fill,
    .arena_discard = arena_discard,
};
