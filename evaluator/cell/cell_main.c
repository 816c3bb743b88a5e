/**
 * @file cell_main.c
 * rkb-cell: the jailed process that loads one candidate and runs it on tensors that it is lent.
 * Started by the evaluator only; descriptors as protocol.h says. From the moment the candidate is
 * loaded nothing that this process says can be believed.
 */
#include "evaluator/cell/cell_internal.h"

#include "common/file.h"
#include "evaluator/cell/jail.h"
#include "evaluator/cell/runtime/runtime.h"
#include "evaluator/device/cpu/model.h"

#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Exit codes that only a broken evaluator or machine causes. */
enum { EXIT_NO_EVALUATOR = 0, EXIT_BROKEN = 70 };

typedef struct {
    rkb_cell_status_t *page;
    rkb_lent_arena_t arena;
    const rkb_entry_t *entry;
    rkb_cell_load_t load;
    int library_fd;
    char library_path[32]; /* by descriptor: no name of the cache reaches a candidate */
    rkb_cell_call_t call;
    rkb_cell_returned_t returned;
    rkb_value_t result; /* lives until the next call, as a caller's would */
} cell_t;

static cell_t cell;

/* ---- messages ---- */

static void send_message(void *message, uint32_t type, size_t bytes)
{
    rkb_cell_header_t *header = message;
    *header = (rkb_cell_header_t){RKB_CELL_MAGIC, RKB_CELL_VERSION, type, (uint32_t)bytes};
    ssize_t sent;
    do {
        sent = send(RKB_CELL_FD_SOCKET, message, bytes, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent != (ssize_t)bytes)
        _exit(EXIT_BROKEN);
}

/* Waits for one message of this type and the descriptors that must come with it. */
static void receive_message(void *message, uint32_t type, size_t bytes, int *fds, size_t nfds)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(RKB_CELL_LOAD_FDS * sizeof(int))];
    } control;
    struct iovec part = {message, bytes};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t got;
    do {
        got = recvmsg(RKB_CELL_FD_SOCKET, &msg, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got == 0)
        _exit(EXIT_NO_EVALUATOR);
    const rkb_cell_header_t *header = message;
    if (got != (ssize_t)bytes || header->magic != RKB_CELL_MAGIC ||
        header->version != RKB_CELL_VERSION || header->type != type)
        _exit(EXIT_BROKEN);
    struct cmsghdr *extra = CMSG_FIRSTHDR(&msg);
    size_t size = nfds * sizeof *fds;
    if (nfds == 0)
        return;
    if (!extra || extra->cmsg_level != SOL_SOCKET || extra->cmsg_type != SCM_RIGHTS ||
        extra->cmsg_len != CMSG_LEN(size))
        _exit(EXIT_BROKEN);
    memcpy(fds, CMSG_DATA(extra), size);
}

/* ---- before the candidate ---- */

static void map_status_page(void)
{
    void *page =
        mmap(NULL, sizeof *cell.page, PROT_READ | PROT_WRITE, MAP_SHARED, RKB_CELL_FD_STATUS, 0);
    if (page == MAP_FAILED)
        _exit(EXIT_BROKEN);
    close(RKB_CELL_FD_STATUS);
    cell.page = page;
    cell.page->phase = RKB_PHASE_START;
}

static void map_arena(int fd)
{
    void *base = mmap(NULL, cell.load.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        _exit(EXIT_BROKEN);
    close(fd);
    cell.arena = (rkb_lent_arena_t){base, cell.load.arena_bytes};
}

enum { MAX_READABLE = 64 };

typedef struct {
    const char *paths[MAX_READABLE + 1];
    size_t count;
} readable_t;

static void add_readable(readable_t *readable, const char *path)
{
    if (path && *path && readable->count < MAX_READABLE)
        readable->paths[readable->count++] = path;
}

/* Everything here lives until the jail is closed, which is soon; nothing is freed. */
static void collect_readable(readable_t *readable)
{
    static const char *const system_paths[] = {
        "/lib",
        "/lib64",
        "/usr/lib",
        "/usr/lib64",
        "/usr/local/lib",
        "/etc/ld.so.cache",
        "/dev/null",
        "/dev/urandom",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/sys/devices/system/cpu",
#ifdef RKB_SANITIZED
        "/proc/self",
#endif
    };
    for (size_t i = 0; i < sizeof system_paths / sizeof *system_paths; i++)
        add_readable(readable, system_paths[i]);
    add_readable(readable, cell.library_path);

    /* Delegated operators load the plugin later, when its folder cannot be searched for any more.
     */
    const char *plugin = getenv("RKB_TORCH_PLUGIN");
    if (!plugin || !*plugin) {
        plugin = rkb_install_path("lib/rkb/librkb_torch.so", NULL);
        if (plugin)
            setenv("RKB_TORCH_PLUGIN", plugin, 1);
    }
    if (plugin)
        add_readable(readable, dirname(rkb_xstrdup(plugin)));
    add_readable(readable, RKB_TORCH_LIBDIR);
    /* Libraries that a Python wheel of torch needs lie beside its own folder. */
    if (strstr(RKB_TORCH_LIBDIR, "-packages/"))
        add_readable(readable, rkb_strf("%s/../..", RKB_TORCH_LIBDIR));
    const char *library_path = getenv("LD_LIBRARY_PATH");
    char *rest = library_path ? rkb_xstrdup(library_path) : NULL;
    for (char *folder; rest && (folder = strsep(&rest, ":"));)
        add_readable(readable, folder);
    readable->paths[readable->count] = NULL;
}

static void close_jail(void)
{
    readable_t readable = {.count = 0};
    collect_readable(&readable);
    rkb_jail_params_t params = {.readable = readable.paths, .memory_bytes = cell.load.memory_bytes};
    rkb_cell_jailed_t jailed = {.jail = 0};
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_jail_enter(&params, &jailed.jail, &err) != RKB_OK)
        snprintf(jailed.text, sizeof jailed.text, "%s", err.text);
    send_message(&jailed, RKB_CELL_JAILED, sizeof jailed);
    if (err.status != RKB_OK)
        _exit(EXIT_BROKEN);
}

/* ---- loading ---- */

static uint32_t fail_load(rkb_cell_loaded_t *loaded, const char *text)
{
    snprintf(loaded->text, sizeof loaded->text, "%s", text ? text : "unknown error");
    return RKB_LOADED_LOAD_ERROR;
}

static void list_entries(const rkb_module_t *module, rkb_cell_loaded_t *loaded)
{
    size_t size = sizeof loaded->text;
    snprintf(loaded->text, size, "there is no function \"%s\"; %s", cell.load.entry,
             module->count ? "bound are:" : "nothing is bound");
    for (uint32_t i = 0; i < module->count; i++) {
        size_t used = strlen(loaded->text);
        snprintf(loaded->text + used, size - used, "%s %s%s", i ? "," : "", module->entries[i].name,
                 module->entries[i].signature ? module->entries[i].signature : "");
    }
}

static uint32_t load_candidate(rkb_cell_loaded_t *loaded)
{
    void *library = dlopen(cell.library_path, RTLD_NOW | RTLD_LOCAL);
    close(cell.library_fd);
    if (!library)
        return fail_load(loaded, dlerror());
    void *symbol = dlsym(library, RKB_MODULE_SYMBOL);
    if (!symbol)
        return fail_load(loaded, "the shared object lacks " RKB_MODULE_SYMBOL
                                 ": the source has no PYBIND11_MODULE");
    rkb_module_fn_t function;
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast from object to function */
    const rkb_module_t *module = function();
    if (!module)
        return fail_load(loaded, "the module is empty");
    if (module->abi != RKB_ABI_VERSION) {
        snprintf(loaded->text, sizeof loaded->text,
                 "it was compiled for version %u of the interface, this cell has version %d",
                 module->abi, RKB_ABI_VERSION);
        return RKB_LOADED_LOAD_ERROR;
    }
    if (module->error)
        return fail_load(loaded, module->error);
    for (uint32_t i = 0; i < module->count; i++) {
        if (strcmp(module->entries[i].name, cell.load.entry) == 0)
            cell.entry = &module->entries[i];
    }
    if (cell.entry)
        return RKB_LOADED_OK;
    list_entries(module, loaded);
    return RKB_LOADED_NO_ENTRY;
}

/* ---- calls ---- */

static void run_call(void)
{
    rkb_cell_returned_t *returned = &cell.returned;
    rkb_value_t values[RKB_CELL_MAX_ARGS];
    const char *why = NULL;

    rkb_rt_value_release(&cell.result);
    memset(returned, 0, sizeof *returned);
    rkb_runtime_begin(cell.arena.base, cell.call.heap_offset, cell.call.heap_bytes,
                      cell.call.poison);
    rkb_cpu_model_begin(cell.call.poison, cell.call.seed);
    if (cell.call.nargs > RKB_CELL_MAX_ARGS || cell.call.heap_offset > cell.arena.bytes ||
        cell.call.heap_bytes > cell.arena.bytes - cell.call.heap_offset ||
        !rkb_cell_arguments_make(&cell.call, &cell.arena, values, &why))
        _exit(EXIT_BROKEN);

    cell.page->phase = RKB_PHASE_HOST;
    returned->status =
        (uint32_t)cell.entry->call(cell.entry->self, values, cell.call.nargs, &cell.result,
                                   returned->text, sizeof returned->text);
    cell.page->phase = RKB_PHASE_IDLE;

    if (returned->status == RKB_CALL_OK)
        rkb_cell_describe_result(&cell.result, &cell.arena, returned);
    else
        cell.result = (rkb_value_t){.kind = RKB_VALUE_NONE};
    rkb_cell_describe_work(returned);
    rkb_cell_arguments_release(values, cell.call.nargs);
    send_message(returned, RKB_CELL_RETURNED, sizeof *returned);
}

int main(void)
{
    int fds[RKB_CELL_LOAD_FDS];
    map_status_page();
    rkb_cell_hello_t hello = {.abi = RKB_ABI_VERSION, .jail = rkb_jail_probe()};
    send_message(&hello, RKB_CELL_HELLO, sizeof hello);

    receive_message(&cell.load, RKB_CELL_LOAD, sizeof cell.load, fds, RKB_CELL_LOAD_FDS);
    map_arena(fds[0]);
    cell.library_fd = fds[1];
    snprintf(cell.library_path, sizeof cell.library_path, "/proc/self/fd/%d", cell.library_fd);
    rkb_cell_watch_signals(cell.page);
    rkb_cpu_model_set_status(cell.page);
    cell.load.entry[sizeof cell.load.entry - 1] = '\0';
    close_jail();

    rkb_cell_loaded_t loaded = {.status = RKB_LOADED_OK};
    cell.page->phase = RKB_PHASE_LOAD;
    loaded.status = load_candidate(&loaded);
    cell.page->phase = RKB_PHASE_IDLE;
    send_message(&loaded, RKB_CELL_LOADED, sizeof loaded);

    for (;;) {
        receive_message(&cell.call, RKB_CELL_CALL, sizeof cell.call, NULL, 0);
        if (!cell.entry)
            _exit(EXIT_BROKEN);
        run_call();
    }
}
