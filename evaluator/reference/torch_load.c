/* Loads the libtorch plugin. */
#include "evaluator/reference/torch_api.h"

#include "common/file.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The plugin at path, or NULL with the reason in err. It is never unloaded: libtorch cannot be. */
static const rkb_torch_api_t *open_plugin(const char *path, rkb_error_t *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        rkb_error_set(err, RKB_ERR_NOT_FOUND, "%s", dlerror());
        return NULL;
    }
    rkb_torch_query_fn_t query;
    void *symbol = dlsym(library, RKB_TORCH_QUERY_SYMBOL);
    memcpy(&query, &symbol, sizeof query); /* ISO C has no cast from object to function pointer */
    if (!query) {
        rkb_error_set(err, RKB_ERR_NOT_FOUND, "%s is no libtorch plugin of rkb: it lacks %s", path,
                      RKB_TORCH_QUERY_SYMBOL);
        return NULL;
    }
    const rkb_torch_api_t *api = query(RKB_TORCH_API_VERSION);
    if (!api || api->version != RKB_TORCH_API_VERSION) {
        rkb_error_set(err, RKB_ERR_UNSUPPORTED,
                      "%s does not start or does not speak version %d of the interface", path,
                      RKB_TORCH_API_VERSION);
        return NULL;
    }
    return api;
}

rkb_status_t rkb_torch_load(const rkb_torch_api_t **out, rkb_error_t *err)
{
    static const rkb_torch_api_t *loaded;
    if (!loaded) {
        const char *chosen = getenv("RKB_TORCH_PLUGIN");
        char *path = chosen && *chosen ? rkb_xstrdup(chosen)
                                       : rkb_install_path("lib/rkb/librkb_torch.so", err);
        if (path) {
            loaded = open_plugin(path, err);
            free(path);
        }
    }
    if (!loaded) {
        rkb_status_t status = err ? err->status : RKB_ERR_NOT_FOUND;
        rkb_error_prefix(err, "the libtorch plugin cannot be loaded");
        return status;
    }
    *out = loaded;
    return RKB_OK;
}
