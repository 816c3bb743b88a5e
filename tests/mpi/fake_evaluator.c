/*
 * A stand-in for `rkb serve` (docs/protocol.md) with scripted faults, for tests of the driver:
 * RKB_EVALUATOR="…/fake_evaluator items=40 seconds=0.01 crash=5". Results follow from the key and
 * the seed alone, so that runs can be compared.
 *
 *   items=N seconds=S       the plan: N items of S seconds each (every fourth takes three times
 * that) start=S                 the hello takes that long          protocol=V version=V   what it
 * claims refuse=TEXT             answers hello with ERR_NO_DEVICE (_ for blanks) for a device other
 * than refuse_rank=R           cpu, or on rank R only, or on all ranks but R: refuse_but=R
 *   plan_error=TEXT         answers plan with ERR_INVALID      sha=TEXT  makes other hashes
 *   notices=N               notices in the plan                same=K    item K has the key of item
 * 0 miscount=1              counts an item too many crash=K                 dies over item K,
 * always           crash_once=K  the first time only hang=K                  never answers item K
 * hang_once=K   the first time only garbage=K wrong_id=K no_verdict=K   breaks the protocol over
 * item K big=K                   a result of 300 KiB                huge=K    a payload of 80 KiB
 *   kill_rank=K             kills the rank over item K         kill_rank_once=K
 *   stop_rank_once=K        stops the rank (SIGSTOP) over item K for pause=S seconds
 *   die_after=K             answers item K, then dies while idle
 *   log=FILE                appends a line for each eval: pid, item
 *   state=FOLDER            where the _once faults remember that they happened
 *   child=1                 keeps a child process that must die with it
 */
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/json.h"
#include "common/line_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int script_count;
static char **script;
static rkb_line_reader_t *reader;
static rkb_line_writer_t *writer;
static uint64_t seed;
static int rank = -1;

static const char *text_of(const char *key, const char *fallback)
{
    size_t len = strlen(key);
    for (int i = 0; i < script_count; i++) {
        if (strncmp(script[i], key, len) == 0 && script[i][len] == '=') {
            return script[i] + len + 1;
        }
    }
    return fallback;
}

static double number_of(const char *key, double fallback)
{
    const char *text = text_of(key, NULL);
    return text != NULL ? atof(text) : fallback;
}

/* A fault may be given for several items. */
static bool is_item(const char *key, int item)
{
    size_t len = strlen(key);
    for (int i = 0; i < script_count; i++) {
        if (strncmp(script[i], key, len) == 0 && script[i][len] == '=' &&
            atoi(script[i] + len + 1) == item) {
            return true;
        }
    }
    return false;
}

/* True the first time in all processes that share the state folder. */
static bool first_time(const char *key)
{
    char *path = rkb_strf("%s/%s", text_of("state", "/nonexistent"), key);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    free(path);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static bool happens(const char *fault, int item)
{
    char *once = rkb_strf("%s_once", fault);
    bool yes = is_item(fault, item) || (is_item(once, item) && first_time(once));
    free(once);
    return yes;
}

static void send_text(const char *text)
{
    bool pending = true;
    if (rkb_line_writer_put(writer, text, NULL) != RKB_OK) {
        exit(0);
    }
    while (pending) {
        if (rkb_line_writer_flush(writer, &pending, NULL) != RKB_OK) {
            exit(0);
        }
        if (pending) {
            usleep(200);
        }
    }
}

static void send_json(cJSON *line)
{
    char *text = rkb_json_print_line(line);
    cJSON_Delete(line);
    send_text(text);
    free(text);
}

static void send_error(const char *status, const char *text)
{
    cJSON *line = cJSON_CreateObject();
    char *copy = rkb_xstrdup(text);
    for (char *c = copy; *c != '\0'; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    cJSON_AddStringToObject(line, "op", "error");
    cJSON_AddStringToObject(line, "status", status);
    cJSON_AddStringToObject(line, "text", copy);
    free(copy);
    send_json(line);
}

static uint64_t hash_of(const char *text, uint64_t more)
{
    return rkb_mix64(rkb_fnv1a(text, strlen(text), RKB_FNV1A_BASIS) ^ more);
}

static bool refuses(const char *device)
{
    if (text_of("refuse", NULL) == NULL || strcmp(device, "cpu") == 0) {
        return false; /* planning is done on the CPU device */
    }
    if (text_of("refuse_but", NULL) != NULL) {
        return !is_item("refuse_but", rank);
    }
    return text_of("refuse_rank", NULL) == NULL || is_item("refuse_rank", rank);
}

static void on_hello(const cJSON *request)
{
    rkb_json_at_t root = rkb_json_root(request);
    int64_t number = -1;
    const char *device = "";
    if (rkb_json_get_uint64(&root, "seed", &seed, NULL) != RKB_OK ||
        rkb_json_get_int64(&root, "rank", &number, NULL) != RKB_OK ||
        rkb_json_get_string(&root, "device", &device, NULL) != RKB_OK) {
        send_error("ERR_INVALID", "hello lacks members");
        return;
    }
    rank = (int)number;
    rkb_clock_sleep(number_of("start", 0));
    if (refuses(device)) {
        send_error("ERR_NO_DEVICE", text_of("refuse", "none"));
        return;
    }
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "op", "hello");
    cJSON_AddNumberToObject(line, "protocol", number_of("protocol", 1));
    cJSON_AddStringToObject(line, "version", text_of("version", RKB_VERSION));
    cJSON_AddStringToObject(line, "host", "fakehost");
    cJSON_AddStringToObject(line, "compiler", "none");
    cJSON_AddStringToObject(line, "torch", "none");
    cJSON *facts = cJSON_AddObjectToObject(line, "device");
    cJSON_AddStringToObject(facts, "name", "fake");
    cJSON_AddStringToObject(facts, "kind", "cpu");
    send_json(line);
}

static void on_plan(void)
{
    if (text_of("plan_error", NULL) != NULL) {
        send_error("ERR_INVALID", text_of("plan_error", ""));
        return;
    }
    int items = (int)number_of("items", 12);
    char text[128];
    for (int i = 0; i < items; i++) {
        int shown = is_item("same", i) ? 0 : i;
        cJSON *line = cJSON_CreateObject();
        snprintf(text, sizeof(text), "fake/task%d forward kernel%d n=%d", shown % 3, shown / 4,
                 shown);
        cJSON_AddStringToObject(line, "op", "item");
        cJSON_AddStringToObject(line, "key", text);
        snprintf(text, sizeof(text), "%016llx",
                 (unsigned long long)hash_of("candidate", (uint64_t)shown / 4));
        cJSON_AddStringToObject(line, "candidate", text);
        snprintf(text, sizeof(text), "%016llx",
                 (unsigned long long)hash_of("task", (uint64_t)shown % 3));
        cJSON_AddStringToObject(line, "task", text);
        cJSON_AddNumberToObject(line, "cost", i % 4 == 0 ? 3 : 1);
        cJSON *payload = cJSON_AddObjectToObject(line, "payload");
        snprintf(text, sizeof(text), "fake/task%d", shown % 3);
        cJSON_AddStringToObject(payload, "task", text);
        cJSON_AddStringToObject(payload, "direction", "forward");
        snprintf(text, sizeof(text), "kernel%d", shown / 4);
        cJSON_AddStringToObject(payload, "candidate", text);
        cJSON_AddNullToObject(payload, "source");
        cJSON_AddNullToObject(payload, "source_sha256");
        snprintf(text, sizeof(text), "n=%d", shown);
        cJSON_AddStringToObject(payload, "config", text);
        if (is_item("huge", i)) {
            char *much = rkb_xcalloc(80 * 1024 + 1, 1);
            memset(much, 'x', 80 * 1024);
            cJSON_AddStringToObject(payload, "meta", much);
            free(much);
        }
        send_json(line);
    }
    for (int i = 0; i < (int)number_of("notices", 0); i++) {
        cJSON *line = cJSON_CreateObject();
        cJSON_AddStringToObject(line, "op", "notice");
        cJSON_AddStringToObject(line, "kind", "unknown_task");
        snprintf(text, sizeof(text), "/kernels/odd%d.cu", i);
        cJSON_AddStringToObject(line, "path", text);
        cJSON_AddStringToObject(line, "text", "no such task");
        send_json(line);
    }
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "op", "plan_done");
    cJSON_AddNumberToObject(line, "items", items + number_of("miscount", 0));
    snprintf(text, sizeof(text), "%064llx",
             (unsigned long long)hash_of(text_of("sha", "tasks"), 0));
    cJSON_AddStringToObject(line, "tasks_sha256", text);
    snprintf(text, sizeof(text), "%064llx",
             (unsigned long long)hash_of(text_of("sha", "plan"), (uint64_t)items));
    cJSON_AddStringToObject(line, "plan_sha256", text);
    send_json(line);
}

static void note_eval(int item)
{
    const char *path = text_of("log", NULL);
    if (path != NULL) {
        char line[64];
        int fd = open(path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
        int len = snprintf(line, sizeof(line), "%d %d\n", rank, item);
        if (fd < 0 || write(fd, line, (size_t)len) != len) {
            exit(9);
        }
        close(fd);
    }
}

/* The rank's process is this one's parent. */
static void break_rank(int item)
{
    if (happens("kill_rank", item)) {
        kill(getppid(), SIGKILL);
        pause();
    }
    if (happens("stop_rank", item)) {
        pid_t parent = getppid();
        kill(parent, SIGSTOP);
        rkb_clock_sleep(number_of("pause", 1));
        kill(parent, SIGCONT);
    }
}

static void on_eval(const cJSON *request)
{
    const cJSON *payload = cJSON_GetObjectItemCaseSensitive(request, "payload");
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(payload, "config");
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(request, "id");
    int item = cJSON_IsString(config) ? atoi(config->valuestring + 2) : -1;
    note_eval(item);
    break_rank(item);
    if (happens("crash", item) || is_item("crash_rank", rank)) {
        abort();
    }
    if (happens("hang", item)) {
        for (;;) {
            pause();
        }
    }
    if (is_item("garbage", item)) {
        send_text("this is {no JSON");
        return;
    }
    rkb_clock_sleep(number_of("seconds", 0) * (item % 4 == 0 ? 3 : 1));
    static const char *const verdicts[] = {"ok",      "ok", "ok",           "mismatch",
                                           "timeout", "ok", "compile_error"};
    uint64_t value = hash_of(config->valuestring, seed);
    cJSON *result = cJSON_Duplicate(payload, true);
    if (!is_item("no_verdict", item)) {
        cJSON_AddStringToObject(result, "verdict", verdicts[(size_t)item % 7]);
    }
    cJSON_AddStringToObject(result, "detail", item % 7 == 3 ? "element 3 is 1, should be 2" : "");
    cJSON_AddItemToObject(result, "flags", cJSON_CreateArray());
    cJSON_AddNumberToObject(result, "max_abs_error", (double)(value % 1000));
    cJSON_AddNumberToObject(result, "error_ratio", 1);
    cJSON_AddStringToObject(result, "device", "fakehost:fake");
    cJSON_AddNumberToObject(result, "compile_s", 0);
    cJSON_AddNumberToObject(result, "eval_s", number_of("seconds", 0));
    if (is_item("big", item)) {
        char *much = rkb_xcalloc(300 * 1024 + 1, 1);
        memset(much, 'y', 300 * 1024);
        cJSON_AddStringToObject(result, "log", much);
        free(much);
    }
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "op", "result");
    cJSON_AddNumberToObject(line, "id", is_item("wrong_id", item) ? -7 : id->valuedouble);
    cJSON_AddItemToObject(line, "result", result);
    send_json(line);
    if (happens("die_after", item)) {
        exit(3);
    }
}

int main(int argc, char **argv)
{
    script_count = argc;
    script = argv;
    reader = rkb_line_reader_create(STDIN_FILENO);
    writer = rkb_line_writer_create(STDIN_FILENO);
    if (number_of("child", 0) != 0 && fork() == 0) {
        pid_t parent = getppid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) {
            usleep(100000);
        }
        _exit(0);
    }
    for (;;) {
        char *text;
        size_t len;
        if (rkb_line_reader_next(reader, -1, &text, &len, NULL) != RKB_OK) {
            break;
        }
        cJSON *request;
        if (rkb_json_parse(text, len, &request, NULL) != RKB_OK) {
            return 8;
        }
        const cJSON *op_node = cJSON_GetObjectItemCaseSensitive(request, "op");
        const char *op = cJSON_IsString(op_node) ? op_node->valuestring : "";
        bool bye = strcmp(op, "bye") == 0;
        if (strcmp(op, "hello") == 0) {
            on_hello(request);
        } else if (strcmp(op, "plan") == 0) {
            on_plan();
        } else if (strcmp(op, "eval") == 0) {
            on_eval(request);
        } else if (!bye && strcmp(op, "prepare") != 0) {
            return 8;
        }
        cJSON_Delete(request);
        if (bye) {
            break;
        }
    }
    rkb_line_writer_destroy(writer);
    rkb_line_reader_destroy(reader);
    return 0;
}
