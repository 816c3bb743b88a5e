#include "evaluator/cell/cell_host.h"

#include "common/clock.h"
#include "common/file.h"
#include "common/json.h"
#include "common/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const double default_hello_seconds = 30;
static const double jail_seconds = 30;
/* A process that closed its socket by dying is collected within this time. */
static const double death_seconds = 2;
static const uint64_t default_memory = UINT64_C(4) << 30;

/* ---- life cycle ---- */

typedef enum { CELL_STARTED, CELL_SPARE, CELL_LOADING, CELL_IDLE, CELL_CALLING, CELL_DEAD } state_t;

typedef enum {
    EVENT_HELLO,
    EVENT_LOAD,
    EVENT_LOADED,
    EVENT_CALL,
    EVENT_RETURNED,
    EVENT_FATE
} event_t;

typedef struct {
    state_t state;
    event_t event;
    state_t next;
} transition_t;

/* Death is possible in every state and is no row. */
static const transition_t transitions[] = {
    {CELL_STARTED, EVENT_HELLO, CELL_SPARE},   {CELL_SPARE, EVENT_LOAD, CELL_LOADING},
    {CELL_LOADING, EVENT_LOADED, CELL_IDLE},   {CELL_IDLE, EVENT_CALL, CELL_CALLING},
    {CELL_CALLING, EVENT_RETURNED, CELL_IDLE},
};

static const char *const state_names[] = {
    [CELL_STARTED] = "started", [CELL_SPARE] = "spare",     [CELL_LOADING] = "loading",
    [CELL_IDLE] = "idle",       [CELL_CALLING] = "calling", [CELL_DEAD] = "dead",
};

struct rkb_cell {
    state_t state;
    rkb_process_t *process;
    int socket;
    const rkb_cell_status_t *page; /* the cell writes it at any time: copied before it is read */
    unsigned jail;
    uint64_t arena_bytes, memory_bytes;
};

struct rkb_cell_pool {
    char *program;
    char **environment;
    uint64_t memory_bytes;
    double hello_seconds;
    rkb_cell_t *spare;
};

/* False: the caller asked for something that this cell's state does not allow. */
static bool cell_step(rkb_cell_t *cell, event_t event)
{
    if (event == EVENT_FATE) {
        cell->state = CELL_DEAD;
        return true;
    }
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++) {
        if (transitions[i].state == cell->state && transitions[i].event == event) {
            cell->state = transitions[i].next;
            return true;
        }
    }
    return false;
}

void rkb_cell_destroy(rkb_cell_t *cell)
{
    if (!cell)
        return;
    rkb_process_destroy(cell->process);
    close(cell->socket);
    munmap((void *)(uintptr_t)cell->page, sizeof *cell->page);
    free(cell);
}

unsigned rkb_cell_jail_bits(const rkb_cell_t *cell)
{
    return cell->jail;
}

pid_t rkb_cell_pid(const rkb_cell_t *cell)
{
    return rkb_process_pid(cell->process);
}

/* ---- fates ---- */

static void copy_status(const rkb_cell_t *cell, rkb_cell_status_t *status)
{
    memcpy(status, cell->page, sizeof *status);
    status->kernel[sizeof status->kernel - 1] = '\0';
    status->text[sizeof status->text - 1] = '\0';
    rkb_text_sanitize(status->kernel);
    rkb_text_sanitize(status->text);
}

/* Kills what still runs; the page is copied afterwards, when nobody writes it any more. */
static rkb_fate_kind_t set_fate(rkb_cell_t *cell, rkb_cell_fate_t *fate, rkb_fate_kind_t kind,
                                int code, const char *text)
{
    rkb_process_kill(cell->process);
    cell_step(cell, EVENT_FATE);
    fate->kind = kind;
    fate->code = code;
    size_t length = strnlen(text, sizeof fate->text - 1);
    memcpy(fate->text, text, length);
    fate->text[length] = '\0';
    rkb_text_sanitize(fate->text);
    copy_status(cell, &fate->status);
    return kind;
}

/* The cell hung up or its process ended: how? */
static rkb_fate_kind_t fate_of_death(rkb_cell_t *cell, rkb_cell_fate_t *fate)
{
    rkb_process_result_t result;
    rkb_status_t status =
        rkb_process_wait(cell->process, rkb_clock_now() + death_seconds, &result, NULL);
    if (status == RKB_ERR_TIMEOUT)
        return set_fate(cell, fate, RKB_FATE_PROTOCOL, 0, "it closed its connection");
    if (status != RKB_OK)
        return set_fate(cell, fate, RKB_FATE_OURS, 0, "the cell's exit status was lost");
    if (result.exited)
        return set_fate(cell, fate, RKB_FATE_EXITED, result.exit_code, "");
    return set_fate(cell, fate, RKB_FATE_SIGNALED, result.signal, "");
}

/* ---- messages ---- */

typedef struct {
    uint32_t type;
    size_t bytes;
    const char *name;
} message_row_t;

static const message_row_t hello_row = {RKB_CELL_HELLO, sizeof(rkb_cell_hello_t), "hello"};
static const message_row_t jailed_row = {RKB_CELL_JAILED, sizeof(rkb_cell_jailed_t), "jailed"};
static const message_row_t loaded_row = {RKB_CELL_LOADED, sizeof(rkb_cell_loaded_t), "loaded"};
static const message_row_t returned_row = {RKB_CELL_RETURNED, sizeof(rkb_cell_returned_t),
                                           "returned"};

static int milliseconds_until(double deadline)
{
    if (!isfinite(deadline))
        return deadline > 0 ? -1 : 0;
    double left = ceil((deadline - rkb_clock_now()) * 1e3);
    return left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left;
}

/* Reads one packet, which must be this message. Descriptors that a cell sends are discarded by the
 * kernel, because there is no room for them. */
static rkb_fate_kind_t read_message(rkb_cell_t *cell, const message_row_t *row, void *message,
                                    rkb_cell_fate_t *fate)
{
    char text[sizeof fate->text];
    struct iovec part = {message, row->bytes};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got = recvmsg(cell->socket, &msg, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return fate_of_death(cell, fate);
    if (got < 0) {
        snprintf(text, sizeof text, "recvmsg: %s", strerror(errno));
        return set_fate(cell, fate, RKB_FATE_OURS, 0, text);
    }
    rkb_cell_header_t header = {0};
    if ((size_t)got >= sizeof header)
        memcpy(&header, message, sizeof header);
    if (header.magic == RKB_CELL_MAGIC && header.version != RKB_CELL_VERSION) {
        snprintf(text, sizeof text, "the cell speaks version %u of the protocol, this program %u",
                 header.version, RKB_CELL_VERSION);
        return set_fate(cell, fate, RKB_FATE_PROTOCOL, 0, text);
    }
    if (header.magic == RKB_CELL_MAGIC && header.type == row->type && header.bytes == row->bytes &&
        (size_t)got == row->bytes && !(msg.msg_flags & MSG_TRUNC))
        return RKB_FATE_OK;
    snprintf(text, sizeof text, "it sent %zd%s bytes that are no \"%s\" message", got,
             msg.msg_flags & MSG_TRUNC ? " or more" : "", row->name);
    return set_fate(cell, fate, RKB_FATE_PROTOCOL, 0, text);
}

static rkb_fate_kind_t wait_message(rkb_cell_t *cell, const message_row_t *row, double deadline,
                                    void *message, rkb_cell_fate_t *fate)
{
    for (;;) {
        struct pollfd waits[] = {{.fd = cell->socket, .events = POLLIN},
                                 {.fd = rkb_process_pidfd(cell->process), .events = POLLIN}};
        int count = poll(waits, 2, milliseconds_until(deadline));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return set_fate(cell, fate, RKB_FATE_OURS, 0, "poll failed");
        if (waits[0].revents & (POLLIN | POLLHUP | POLLERR))
            return read_message(cell, row, message, fate);
        if (waits[1].revents)
            return fate_of_death(cell, fate);
        if (milliseconds_until(deadline) == 0)
            return set_fate(cell, fate, RKB_FATE_TIMED_OUT, 0, "");
    }
}

static rkb_fate_kind_t send_message(rkb_cell_t *cell, void *message, uint32_t type, size_t bytes,
                                    const int *fds, size_t nfds, rkb_cell_fate_t *fate)
{
    rkb_cell_header_t *header = message;
    *header = (rkb_cell_header_t){RKB_CELL_MAGIC, RKB_CELL_VERSION, type, (uint32_t)bytes};

    struct pollfd early = {.fd = cell->socket, .events = POLLIN};
    if (poll(&early, 1, 0) > 0 && (early.revents & POLLIN)) {
        char byte;
        if (recv(cell->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
            return set_fate(cell, fate, RKB_FATE_PROTOCOL, 0,
                            "it sent a message that nobody had asked for");
        return fate_of_death(cell, fate);
    }
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(RKB_CELL_LOAD_FDS * sizeof(int))];
    } control;
    struct iovec part = {message, bytes};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (nfds > 0) {
        memset(&control, 0, sizeof control);
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(nfds * sizeof *fds);
        struct cmsghdr *extra = CMSG_FIRSTHDR(&msg);
        extra->cmsg_level = SOL_SOCKET;
        extra->cmsg_type = SCM_RIGHTS;
        extra->cmsg_len = CMSG_LEN(nfds * sizeof *fds);
        memcpy(CMSG_DATA(extra), fds, nfds * sizeof *fds);
    }
    ssize_t sent;
    do {
        sent = sendmsg(cell->socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)bytes)
        return RKB_FATE_OK;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
        return fate_of_death(cell, fate);
    char text[sizeof fate->text];
    snprintf(text, sizeof text, "sendmsg: %s", strerror(errno));
    return set_fate(cell, fate, RKB_FATE_OURS, 0, text);
}

/* ---- start ---- */

/* Neither side may change the page's size: reading a page that is gone is SIGBUS. */
static int create_status_page(rkb_error_t *err)
{
    int fd = memfd_create("rkb-cell-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        rkb_error_set(err, RKB_ERR_IO, "memfd_create: %s", strerror(errno));
        return -1;
    }
    if (ftruncate(fd, sizeof(rkb_cell_status_t)) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        rkb_error_set(err, RKB_ERR_IO, "status page of a cell: %s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

static rkb_status_t cell_start(const rkb_cell_pool_t *pool, rkb_cell_t **out, rkb_error_t *err)
{
    rkb_status_t status = RKB_ERR_IO;
    int page_fd = create_status_page(err);
    if (page_fd < 0)
        return RKB_ERR_IO;
    void *page = mmap(NULL, sizeof(rkb_cell_status_t), PROT_READ, MAP_SHARED, page_fd, 0);
    if (page == MAP_FAILED) {
        rkb_error_set(err, RKB_ERR_IO, "mmap: %s", strerror(errno));
        goto err_close_page;
    }
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        rkb_error_set(err, RKB_ERR_IO, "socketpair: %s", strerror(errno));
        goto err_unmap;
    }
    const char *argv[] = {pool->program, NULL};
    int passed[] = {sockets[1], page_fd};
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    params.argv = argv;
    params.env = (const char *const *)pool->environment;
    params.cwd = "/";
    params.pass_fds = passed;
    params.pass_count = 2;
    params.no_core = params.new_group = params.die_with_parent = params.no_new_privs = true;
    rkb_process_t *process;
    status = rkb_process_spawn(&params, &process, err);
    if (status != RKB_OK)
        goto err_close_sockets;
    close(sockets[1]);
    close(page_fd);
    rkb_cell_t *cell = rkb_xcalloc(1, sizeof *cell);
    *cell =
        (rkb_cell_t){.state = CELL_STARTED, .process = process, .socket = sockets[0], .page = page};
    *out = cell;
    return RKB_OK;

err_close_sockets:
    close(sockets[0]);
    close(sockets[1]);
err_unmap:
    munmap(page, sizeof(rkb_cell_status_t));
err_close_page:
    close(page_fd);
    return status;
}

static rkb_status_t cell_greet(rkb_cell_t *cell, double patience, rkb_error_t *err)
{
    rkb_cell_hello_t hello;
    rkb_cell_fate_t fate = {0};
    rkb_finding_t finding;
    if (wait_message(cell, &hello_row, rkb_clock_now() + patience, &hello, &fate) != RKB_FATE_OK) {
        bool told = fate.kind == RKB_FATE_PROTOCOL || fate.kind == RKB_FATE_OURS;
        fate.seconds = fate.limit = patience;
        rkb_cell_fate_verdict(&fate, RKB_DURING_LOAD, &finding);
        return rkb_error_set(err, fate.kind == RKB_FATE_PROTOCOL ? RKB_ERR_PROTOCOL : RKB_ERR_LOST,
                             "a fresh cell did not answer: %s", told ? fate.text : finding.detail);
    }
    if (hello.abi != RKB_ABI_VERSION)
        return rkb_error_set(err, RKB_ERR_PROTOCOL,
                             "the cell has version %u of the candidates' interface, this program "
                             "version %d",
                             hello.abi, RKB_ABI_VERSION);
    cell->jail = hello.jail;
    /* Where the kernel cannot hide other processes' files from a cell, at least the memory of this
     * process must not be readable through them. */
    if (!(hello.jail & RKB_JAIL_LANDLOCK))
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!cell_step(cell, EVENT_HELLO))
        return rkb_error_set(err, RKB_ERR_INTERNAL, "a cell said hello twice");
    return RKB_OK;
}

/* ---- pool ---- */

/* Of the evaluator's environment a cell sees only where libraries are. */
static char **cell_environment(void)
{
    static const char *const kept[] = {"RKB_PREFIX", "RKB_TORCH_PLUGIN", "LD_LIBRARY_PATH"};
    static const char *const fixed[] = {
        "LANG=C",
        "OMP_NUM_THREADS=1",
        "MKL_NUM_THREADS=1",
        /* Faults stay ours to report; the leak check would need ptrace. */
        ("ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:"
         "handle_abort=0:abort_on_error=1"),
        "UBSAN_OPTIONS=abort_on_error=1",
    };
    size_t count = 0;
    char **environment = rkb_xcalloc(sizeof kept / sizeof *kept + sizeof fixed / sizeof *fixed + 1,
                                     sizeof *environment);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = getenv(kept[i]);
        if (value)
            environment[count++] = rkb_strf("%s=%s", kept[i], value);
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        environment[count++] = rkb_xstrdup(fixed[i]);
    return environment;
}

rkb_status_t rkb_cell_pool_create(rkb_cell_pool_t **out, rkb_error_t *err)
{
    char *program = rkb_install_path("bin/rkb-cell", err);
    if (!program)
        return err ? err->status : RKB_ERR_NOT_FOUND;
    rkb_cell_pool_t *pool = rkb_xcalloc(1, sizeof *pool);
    pool->program = program;
    pool->environment = cell_environment();
    pool->memory_bytes = default_memory;
    pool->hello_seconds = default_hello_seconds;
    rkb_status_t status = cell_start(pool, &pool->spare, err);
    if (status != RKB_OK) {
        rkb_cell_pool_destroy(pool);
        return status;
    }
    *out = pool;
    return RKB_OK;
}

void rkb_cell_pool_destroy(rkb_cell_pool_t *pool)
{
    if (!pool)
        return;
    rkb_cell_destroy(pool->spare);
    for (char **entry = pool->environment; *entry; entry++)
        free(*entry);
    free(pool->environment);
    free(pool->program);
    free(pool);
}

void rkb_cell_pool_set_limits(rkb_cell_pool_t *pool, uint64_t memory_bytes, double hello_seconds)
{
    if (memory_bytes)
        pool->memory_bytes = memory_bytes;
    if (hello_seconds > 0)
        pool->hello_seconds = hello_seconds;
}

rkb_status_t rkb_cell_pool_take(rkb_cell_pool_t *pool, rkb_cell_t **out, rkb_error_t *err)
{
    rkb_cell_t *cell = pool->spare;
    pool->spare = NULL;
    /* A spare that was lost while it waited says nothing about a fresh one. */
    rkb_status_t status = cell ? cell_greet(cell, pool->hello_seconds, err) : RKB_ERR_LOST;
    if (status != RKB_OK) {
        rkb_cell_destroy(cell);
        status = cell_start(pool, &cell, err);
        if (status != RKB_OK)
            return status;
        status = cell_greet(cell, pool->hello_seconds, err);
        if (status != RKB_OK) {
            rkb_cell_destroy(cell);
            return status;
        }
    }
    /* Without a spare the next take starts one itself, and tells why if it cannot. */
    if (cell_start(pool, &pool->spare, NULL) != RKB_OK)
        pool->spare = NULL;
    cell->memory_bytes = pool->memory_bytes;
    *out = cell;
    return RKB_OK;
}

/* ---- exchanges ---- */

static rkb_fate_kind_t load(rkb_cell_t *cell, const char *shared_object, const char *entry,
                            int arena_fd, double deadline, rkb_cell_loaded_t *loaded,
                            rkb_cell_fate_t *fate)
{
    rkb_cell_load_t message = {.arena_bytes = cell->arena_bytes,
                               .memory_bytes = cell->memory_bytes};
    char text[sizeof fate->text];
    if (strlen(entry) >= sizeof message.entry)
        return set_fate(cell, fate, RKB_FATE_OURS, 0, "the name of the entry is too long");
    if (!cell_step(cell, EVENT_LOAD)) {
        snprintf(text, sizeof text, "a candidate cannot be loaded: the cell is %s",
                 state_names[cell->state]);
        return set_fate(cell, fate, RKB_FATE_OURS, 0, text);
    }
    strcpy(message.entry, entry);
    /* The arena must keep its size while both sides map it; a backend may have sealed it already.
     */
    fcntl(arena_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    int fds[RKB_CELL_LOAD_FDS] = {arena_fd, open(shared_object, O_RDONLY | O_CLOEXEC)};
    if (fds[1] < 0) {
        snprintf(text, sizeof text, "the compiled candidate cannot be opened: %s", strerror(errno));
        return set_fate(cell, fate, RKB_FATE_OURS, 0, text);
    }
    rkb_fate_kind_t kind =
        send_message(cell, &message, RKB_CELL_LOAD, sizeof message, fds, RKB_CELL_LOAD_FDS, fate);
    close(fds[1]);
    rkb_cell_jailed_t jailed;
    if (kind == RKB_FATE_OK)
        kind = wait_message(cell, &jailed_row, rkb_clock_now() + jail_seconds, &jailed, fate);
    if (kind != RKB_FATE_OK) { /* the candidate had no part in it yet */
        fate->kind = RKB_FATE_OURS;
        snprintf(fate->text, sizeof fate->text, "a cell was lost before it was jailed");
        return RKB_FATE_OURS;
    }
    jailed.text[sizeof fate->text - 1] = '\0';
    if (jailed.text[0])
        return set_fate(cell, fate, RKB_FATE_OURS, 0, jailed.text);
    cell->jail = jailed.jail;

    kind = wait_message(cell, &loaded_row, deadline, loaded, fate);
    if (kind != RKB_FATE_OK)
        return kind;
    loaded->text[sizeof loaded->text - 1] = '\0';
    rkb_text_sanitize(loaded->text);
    if (loaded->status > RKB_LOADED_NO_ENTRY)
        return set_fate(cell, fate, RKB_FATE_PROTOCOL, 0, "it sent an unknown load status");
    cell_step(cell, EVENT_LOADED);
    return RKB_FATE_OK;
}

rkb_fate_kind_t rkb_cell_load(rkb_cell_t *cell, const char *shared_object, const char *entry,
                              int arena_fd, size_t arena_bytes, double deadline,
                              rkb_cell_loaded_t *loaded, rkb_cell_fate_t *fate)
{
    double started = rkb_clock_now();
    memset(fate, 0, sizeof *fate);
    cell->arena_bytes = arena_bytes;
    rkb_fate_kind_t kind = load(cell, shared_object, entry, arena_fd, deadline, loaded, fate);
    fate->seconds = rkb_clock_now() - started;
    fate->limit = deadline - started;
    return kind;
}

rkb_fate_kind_t rkb_cell_call(rkb_cell_t *cell, rkb_cell_call_t *call, double deadline,
                              rkb_cell_returned_t *returned, rkb_cell_fate_t *fate)
{
    char why[sizeof fate->text];
    double started = rkb_clock_now();
    memset(fate, 0, sizeof *fate);
    if (!cell_step(cell, EVENT_CALL)) {
        snprintf(why, sizeof why, "no call is possible: the cell is %s", state_names[cell->state]);
        return set_fate(cell, fate, RKB_FATE_OURS, 0, why);
    }
    rkb_fate_kind_t kind = send_message(cell, call, RKB_CELL_CALL, sizeof *call, NULL, 0, fate);
    if (kind == RKB_FATE_OK)
        kind = wait_message(cell, &returned_row, deadline, returned, fate);
    if (kind == RKB_FATE_OK &&
        !rkb_cell_check_returned(returned, call, cell->arena_bytes, why, sizeof why))
        kind = set_fate(cell, fate, RKB_FATE_PROTOCOL, 0, why);
    if (kind == RKB_FATE_OK)
        cell_step(cell, EVENT_RETURNED);
    fate->seconds = rkb_clock_now() - started;
    fate->limit = deadline - started;
    return kind;
}
