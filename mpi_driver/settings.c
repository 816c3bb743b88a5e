#include "mpi_driver/settings.h"

#include "common/file.h"
#include "mpi_driver/message.h"
#include "results/report.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { DEFAULT_TRIALS = 5 };
static const double default_timeout = 30;
static const double default_compile_timeout = 120;

#define AT(_field) offsetof(rkb_command_t, _field)
static const rkb_option_t option_table[] = {
    {"tasks", 0, RKB_OPT_STRING, AT(tasks), "DIR", "folder of tasks (default: the installed ones)"},
    {"kernels", 'k', RKB_OPT_LIST, AT(kernels), "DIR",
     "candidates: every DIR/TASK/DIRECTION/**.cu, or one file with --task; may be repeated"},
    {"manifest", 0, RKB_OPT_STRING, AT(manifest), "FILE",
     "candidates, one JSON object a line: task, direction, source, name, meta"},
    {"samples", 0, RKB_OPT_FLAG, AT(samples), NULL, "the tasks' own sample candidates"},
    {"controls", 0, RKB_OPT_FLAG, AT(controls), NULL,
     "@reference, @zeros, @mean and @copy for each task and direction"},
    {"task", 't', RKB_OPT_STRING, AT(task), "TASK", "only this task"},
    {"direction", 'd', RKB_OPT_CHOICE, AT(direction), "forward|backward", "only this direction"},
    {"configs", 0, RKB_OPT_STRING, AT(configs), "SET",
     "config set: smoke, single, multi or another of the tasks (default: single)"},
    {"device", 0, RKB_OPT_CHOICE, AT(device), "auto|cpu|cuda", "device (default: auto)"},
    {"out", 'o', RKB_OPT_STRING, AT(out), "DIR",
     "folder of the run, which must not exist (default: results/runs/TIME-PID)"},
    {"resume", 0, RKB_OPT_FLAG, AT(resume), NULL,
     "go on with the run in --out; its options come from there"},
    {"seed", 's', RKB_OPT_INT, AT(seed), "N", "seed of all inputs (default: a fresh one)", 0,
     INT64_MAX},
    {"trials", 0, RKB_OPT_INT, AT(trials), "N",
     "checks per item, each on data of its own (default: 5)", 1, 1000},
    {"timeout", 0, RKB_OPT_DURATION, AT(timeout), "TIME",
     "limit for one call of a candidate (default: 30s)"},
    {"compile-timeout", 0, RKB_OPT_DURATION, AT(compile_timeout), "TIME",
     "limit for one compile job (default: 120s)"},
    {"cxx-flags", 0, RKB_OPT_STRING, AT(cxx_flags), "FLAGS", "further compiler flags"},
    {"cache-dir", 0, RKB_OPT_STRING, AT(cache_dir), "DIR", "cache of compiled candidates"},
    {"sanitize", 0, RKB_OPT_FLAG, AT(sanitize), NULL,
     "build candidates with ASan and UBSan (CPU device)"},
    {"fail-on", 0, RKB_OPT_LIST, AT(fail_on), "COND",
     "exit 1 when it is met: any, a verdict or flag, or correct_rate<0.9; may be repeated"},
    {"progress", 0, RKB_OPT_CHOICE, AT(progress), "auto|never",
     "progress line on standard error (default: auto)"},
    {"explain-states", 0, RKB_OPT_FLAG, AT(explain_states), NULL,
     "print the driver's life cycles as Graphviz and exit"},
    {NULL},
};

const rkb_command_line_t rkb_driver_command_line = {
    .program = "rkb-mpi",
    .synopsis = "[options]",
    .summary = "Judges CUDA kernels on all ranks of an MPI job, one device per rank. Start it with "
               "mpirun or srun; alone it is a job of one rank.",
    .epilog =
        "examples:\n"
        "  mpirun -np 4 rkb-mpi --samples --configs smoke --device cpu\n"
        "  mpirun -np 64 rkb-mpi --kernels generated/ --configs multi --out runs/gen3\n"
        "  mpirun -np 64 rkb-mpi --out runs/gen3 --resume\n"
        "  rkb-mpi --kernels my.cu --task layernorm --direction forward --fail-on any\n\n"
        "signals: SIGUSR1, SIGTERM and SIGINT drain the run: what runs is finished, nothing new is "
        "begun; a second one stops at once. Nothing that was journalled is lost. (mpirun passes "
        "SIGUSR1 on; at SIGTERM and SIGINT it kills its ranks itself a second later.)\n\n"
        "exit codes: 0 every item judged, whatever the verdicts; 1 a --fail-on condition is met; "
        "2 usage; 3 no usable device; 4 items were left unjudged by a failure; 75 drained, resume",
    .options = option_table,
};

rkb_status_t rkb_command_check(const rkb_command_t *command, rkb_error_t *err)
{
    if (command->resume && command->out == NULL) {
        return rkb_error_set(err, RKB_ERR_USAGE, "--resume needs --out DIR, the run to go on with");
    }
    if (command->out != NULL && command->out[0] == '\0') {
        return rkb_error_set(err, RKB_ERR_USAGE, "--out: the name is empty");
    }
    if (command->timeout == 0 || command->compile_timeout == 0) {
        return rkb_error_set(err, RKB_ERR_USAGE, "--%s: must be more than 0",
                             command->timeout == 0 ? "timeout" : "compile-timeout");
    }
    for (size_t i = 0; i < command->fail_on.count; i++) {
        rkb_status_t status = rkb_fail_on_check(command->fail_on.items[i], err);
        if (status != RKB_OK) {
            return status;
        }
    }
    return RKB_OK;
}

void rkb_command_release(rkb_command_t *command)
{
    rkb_option_list_release(&command->kernels);
    rkb_option_list_release(&command->fail_on);
}

static rkb_status_t existing_path(const char *option, const char *path, char **out,
                                  rkb_error_t *err)
{
    *out = realpath(path, NULL);
    return *out != NULL
               ? RKB_OK
               : rkb_error_set(err, RKB_ERR_USAGE, "--%s %s: %s", option, path, strerror(errno));
}

static rkb_status_t add_path(cJSON *options, const char *key, const char *path, rkb_error_t *err)
{
    char *absolute;
    if (path == NULL) {
        return RKB_OK;
    }
    rkb_status_t status = existing_path(key, path, &absolute, err);
    if (status == RKB_OK) {
        rkb_message_add_text(options, key, absolute);
        free(absolute);
    }
    return status;
}

/* A folder that need not exist yet. */
static void add_new_path(cJSON *options, const char *key, const char *path)
{
    char cwd[PATH_MAX];
    if (path != NULL) {
        bool relative = path[0] != '/' && getcwd(cwd, sizeof(cwd)) != NULL;
        char *absolute = relative ? rkb_strf("%s/%s", cwd, path) : rkb_xstrdup(path);
        rkb_message_add_text(options, key, absolute);
        free(absolute);
    }
}

static void add_text(cJSON *options, const char *key, const char *value)
{
    if (value != NULL) {
        rkb_message_add_text(options, key, value);
    }
}

static void add_number(cJSON *options, const char *key, double value)
{
    if (value >= 0) {
        rkb_message_add_number(options, key, value);
    }
}

static void add_flag(cJSON *options, const char *key, bool value)
{
    if (value) {
        rkb_message_add_bool(options, key, true);
    }
}

static void add_seed(cJSON *options, uint64_t seed)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, seed);
    rkb_message_add_text(options, "seed", digits);
}

rkb_status_t rkb_settings_given(const rkb_command_t *command, cJSON **out, rkb_error_t *err)
{
    cJSON *options = cJSON_CreateObject();
    rkb_status_t status = add_path(options, "tasks", command->tasks, err);
    if (status == RKB_OK) {
        status = add_path(options, "manifest", command->manifest, err);
    }
    cJSON *kernels = cJSON_CreateArray();
    for (size_t i = 0; status == RKB_OK && i < command->kernels.count; i++) {
        char *absolute;
        status = existing_path("kernels", command->kernels.items[i], &absolute, err);
        if (status == RKB_OK) {
            cJSON_AddItemToArray(kernels, cJSON_CreateString(absolute));
            free(absolute);
        }
    }
    if (command->kernels.count > 0) {
        rkb_message_add(options, "kernels", kernels);
    } else {
        cJSON_Delete(kernels);
    }
    if (status != RKB_OK) {
        cJSON_Delete(options);
        return status;
    }
    add_flag(options, "samples", command->samples);
    add_flag(options, "controls", command->controls);
    add_text(options, "task", command->task);
    add_text(options, "direction", command->direction);
    add_text(options, "configs", command->configs);
    add_text(options, "device", command->device);
    if (command->seed >= 0) {
        add_seed(options, (uint64_t)command->seed);
    }
    add_number(options, "trials", (double)command->trials);
    add_number(options, "timeout", command->timeout);
    add_number(options, "compile_timeout", command->compile_timeout);
    add_text(options, "cxx_flags", command->cxx_flags);
    add_new_path(options, "cache_dir", command->cache_dir);
    add_flag(options, "sanitize", command->sanitize);
    *out = options;
    return RKB_OK;
}

static bool lacks(const cJSON *options, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(options, key) == NULL;
}

static rkb_status_t add_default_tasks(cJSON *options, rkb_error_t *err)
{
    if (!lacks(options, "tasks")) {
        return RKB_OK;
    }
    char *path = rkb_install_path("tasks", err);
    if (path == NULL) {
        return rkb_error_set(err, RKB_ERR_USAGE,
                             "no tasks are installed beside this program; give --tasks DIR");
    }
    rkb_status_t status = add_path(options, "tasks", path, err);
    free(path);
    return status;
}

rkb_status_t rkb_settings_complete(cJSON *options, rkb_error_t *err)
{
    static const struct {
        const char *key, *value;
    } texts[] = {{"manifest", NULL},    {"task", NULL},     {"direction", NULL},
                 {"configs", "single"}, {"device", "auto"}, {"cxx_flags", NULL},
                 {"cache_dir", NULL}};
    rkb_status_t status = add_default_tasks(options, err);
    if (status != RKB_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (lacks(options, texts[i].key)) {
            rkb_message_add_text(options, texts[i].key, texts[i].value);
        }
    }
    if (lacks(options, "kernels")) {
        rkb_message_add(options, "kernels", cJSON_CreateArray());
    }
    static const char *const flags[] = {"samples", "controls", "sanitize"};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (lacks(options, flags[i])) {
            rkb_message_add_bool(options, flags[i], false);
        }
    }
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"trials", DEFAULT_TRIALS},
                   {"timeout", default_timeout},
                   {"compile_timeout", default_compile_timeout}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (lacks(options, numbers[i].key)) {
            rkb_message_add_number(options, numbers[i].key, numbers[i].value);
        }
    }
    if (lacks(options, "seed")) {
        uint64_t seed;
        if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
            return rkb_error_set(err, RKB_ERR_IO, "getrandom: %s", strerror(errno));
        }
        add_seed(options, seed >> 11); /* 53 bits: an exact number in every JSON reader */
    }
    return RKB_OK;
}

rkb_status_t rkb_settings_agree(const cJSON *given, const cJSON *stored, rkb_error_t *err)
{
    const cJSON *option;
    cJSON_ArrayForEach(option, given)
    {
        const cJSON *old = cJSON_GetObjectItemCaseSensitive(stored, option->string);
        if (cJSON_Compare(option, old, true)) {
            continue;
        }
        char *now = rkb_json_print_line(option);
        char *then = old != NULL ? rkb_json_print_line(old) : NULL;
        char name[32];
        snprintf(name, sizeof(name), "%s", option->string);
        for (char *c = name; *c != '\0'; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        rkb_error_set(err, RKB_ERR_USAGE,
                      "--%s: is %s now but was %s when the run began; leave it out to go on, or "
                      "start a new run",
                      name, now != NULL ? now : "?", then != NULL ? then : "not known");
        free(now);
        free(then);
        return RKB_ERR_USAGE;
    }
    return RKB_OK;
}

static void copy(cJSON *to, const char *key, const cJSON *from, const char *from_key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, from_key);
    rkb_message_add(to, key, value != NULL ? cJSON_Duplicate(value, true) : cJSON_CreateNull());
}

cJSON *rkb_settings_hello(const cJSON *options, const char *log_folder)
{
    static const char *const keys[] = {"device",  "tasks",     "seed",     "trials",
                                       "timeout", "cxx_flags", "sanitize", "compile_timeout"};
    cJSON *hello = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        copy(hello, keys[i], options, keys[i]);
    }
    copy(hello, "cache", options, "cache_dir");
    rkb_message_add_text(hello, "logs", log_folder);
    return hello;
}

cJSON *rkb_settings_plan(const cJSON *options)
{
    static const char *const keys[] = {"kernels", "manifest", "samples",  "controls",
                                       "configs", "task",     "direction"};
    cJSON *plan = rkb_message_create("plan");
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        copy(plan, keys[i], options, keys[i]);
    }
    return plan;
}

static double number_of(const cJSON *options, const char *key, double fallback)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(options, key);
    return cJSON_IsNumber(node) && node->valuedouble > 0 ? node->valuedouble : fallback;
}

double rkb_settings_item_limit(const cJSON *options)
{
    /* Two calls a trial, each up to its limit; two compile jobs, the second with a longer limit. */
    double calls = 2 * fmax(number_of(options, "trials", DEFAULT_TRIALS), DEFAULT_TRIALS);
    return calls * number_of(options, "timeout", default_timeout) +
           3 * number_of(options, "compile_timeout", default_compile_timeout) + 120;
}
