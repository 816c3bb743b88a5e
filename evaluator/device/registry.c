#include "evaluator/device/device.h"

#include "common/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cuda_plugin[] = "lib/rkb/librkb_device_cuda.so";
static const char cuda_symbol[] = "rkb_device_cuda_ops";

static void judge(rkb_backend_t *backend, const rkb_device_ops_t *ops)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (ops->abi != RKB_DEVICE_ABI) {
        snprintf(backend->reason, sizeof backend->reason,
                 "its interface has version %u, this program needs %d", ops->abi, RKB_DEVICE_ABI);
    } else if (ops->probe(&err) != RKB_OK) {
        snprintf(backend->reason, sizeof backend->reason, "%.500s", err.text);
    } else {
        backend->ops = ops;
        snprintf(backend->reason, sizeof backend->reason, "usable");
    }
}

static void probe_cuda(rkb_backend_t *backend)
{
    rkb_error_t err = RKB_ERROR_INIT;
    backend->name = "cuda";
    snprintf(backend->where, sizeof backend->where, "%s", cuda_plugin);
    char *path = rkb_install_path(cuda_plugin, &err);
    if (!path) {
        snprintf(backend->reason, sizeof backend->reason, "%.500s", err.text);
        return;
    }
    snprintf(backend->where, sizeof backend->where, "%s", path);
    /* Stays loaded: its functions are in the table that is handed out. */
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    const rkb_device_ops_t *ops = plugin ? dlsym(plugin, cuda_symbol) : NULL;
    if (ops)
        judge(backend, ops);
    else
        snprintf(backend->reason, sizeof backend->reason, "%.500s", dlerror());
}

static void probe_cpu(rkb_backend_t *backend)
{
    backend->name = "cpu";
    snprintf(backend->where, sizeof backend->where, "built in");
    judge(backend, &rkb_device_cpu_ops);
}

const rkb_backend_t *rkb_backends(size_t *count)
{
    static rkb_backend_t backends[2];
    static bool probed;
    if (!probed) {
        probe_cuda(&backends[0]);
        probe_cpu(&backends[1]);
        probed = true;
    }
    *count = sizeof backends / sizeof backends[0];
    return backends;
}

rkb_status_t rkb_device_select(const char *name, const rkb_device_ops_t **out, rkb_error_t *err)
{
    size_t count;
    const rkb_backend_t *backends = rkb_backends(&count);
    bool any = strcmp(name, "auto") == 0;
    bool known = any;
    char reasons[RKB_ERROR_TEXT_SIZE] = "";
    for (size_t i = 0; i < count; i++) {
        bool wanted = any || strcmp(name, backends[i].name) == 0;
        known |= wanted;
        if (wanted && backends[i].ops) {
            *out = backends[i].ops;
            return RKB_OK;
        }
        size_t used = strlen(reasons);
        snprintf(reasons + used, sizeof reasons - used, "%s%s: %.400s", used ? "; " : "",
                 backends[i].name, backends[i].reason);
    }
    if (!known)
        return rkb_error_set(err, RKB_ERR_USAGE, "no device is called %s; known: auto, cpu, cuda",
                             name);
    return rkb_error_set(err, RKB_ERR_NO_DEVICE, "device %s cannot be used: %s", name, reasons);
}
