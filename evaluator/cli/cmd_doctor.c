#include "evaluator/cli/commands.h"

#include "common/file.h"
#include "common/options.h"
#include "evaluator/candidate/compile.h"
#include "evaluator/cell/cell_host.h"
#include "evaluator/device/device.h"
#include "evaluator/reference/torch_api.h"
#include "evaluator/rkb.h"
#include "evaluator/task/task.h"

#include <stdlib.h>
#include <string.h>

typedef enum { LINE_OK, LINE_WARNING, LINE_PROBLEM } level_t;

typedef struct {
    int problems, warnings;
} doctor_t;

static void say(doctor_t *doctor, level_t level, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void say(doctor_t *doctor, level_t level, const char *what, const char *fmt, ...)
{
    static const char *const words[] = {"ok", "warning", "problem"};
    char text[RKB_ERROR_TEXT_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    printf("%-8s %-12s %s\n", words[level], what, text);
    doctor->problems += level == LINE_PROBLEM;
    doctor->warnings += level == LINE_WARNING;
}

/* Returns whether some device can be used. */
static bool check_devices(doctor_t *doctor)
{
    size_t count;
    const rkb_backend_t *backends = rkb_backends(&count);
    bool usable = false;
    for (size_t i = 0; i < count; i++) {
        bool ok = backends[i].ops != NULL;
        usable = usable || ok;
        say(doctor, ok ? LINE_OK : LINE_WARNING, backends[i].name, "%s", backends[i].reason);
    }
    if (!usable) {
        say(doctor, LINE_PROBLEM, "device", "no device is usable: nothing can be judged here");
    }
    return usable;
}

static void check_compiler(doctor_t *doctor)
{
    rkb_compile_options_t options = {0};
    rkb_compiler_t *compiler;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_compiler_create(&options, &compiler, &err) != RKB_OK) {
        bool cache = strncmp(err.text, "compile cache", strlen("compile cache")) == 0;
        say(doctor, LINE_PROBLEM, cache ? "cache" : "compiler", "%s; %s", err.text,
            cache ? "set RKB_CACHE_DIR to a folder of your own" : "install g++ or set RKB_CXX");
        return;
    }
    say(doctor, LINE_OK, "compiler", "%s", rkb_compiler_version(compiler));
    say(doctor, LINE_OK, "cache", "%s", rkb_compiler_cache_dir(compiler));
    rkb_compiler_destroy(compiler);
}

static void check_torch(doctor_t *doctor)
{
    const rkb_torch_api_t *torch;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_torch_load(&torch, &err) == RKB_OK) {
        say(doctor, LINE_OK, "libtorch", "%s", torch->torch_version);
    } else {
        say(doctor, LINE_PROBLEM, "libtorch", "%s", err.text);
    }
}

static void check_cell(doctor_t *doctor)
{
    rkb_cell_pool_t *pool;
    rkb_cell_t *cell;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_cell_pool_create(&pool, &err) != RKB_OK) {
        say(doctor, LINE_PROBLEM, "cell", "%s", err.text);
        return;
    }
    if (rkb_cell_pool_take(pool, &cell, &err) != RKB_OK) {
        say(doctor, LINE_PROBLEM, "cell", "%s", err.text);
    } else {
        static const struct {
            unsigned bit;
            const char *name, *lack;
        } jail[] = {
            {RKB_JAIL_SECCOMP, "seccomp", "system calls of candidates are not filtered"},
            {RKB_JAIL_LANDLOCK, "landlock",
             "candidates can read files and other processes of this user"},
        };
        unsigned bits = rkb_cell_jail_bits(cell);
        for (size_t i = 0; i < sizeof(jail) / sizeof(jail[0]); i++) {
            bool held = (bits & jail[i].bit) != 0;
            say(doctor, held ? LINE_OK : LINE_WARNING, jail[i].name, "%s",
                held ? "in force in every cell" : jail[i].lack);
        }
        rkb_cell_destroy(cell);
    }
    rkb_cell_pool_destroy(pool);
}

static void check_tasks(doctor_t *doctor, const char *folder)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char *installed = NULL;
    if (folder == NULL) {
        folder = installed = rkb_install_path("tasks", &err);
    }
    rkb_task_set_t *tasks;
    if (folder == NULL || rkb_task_set_load(folder, &tasks, &err) != RKB_OK) {
        say(doctor, LINE_PROBLEM, "tasks", "%s", err.text);
    } else {
        say(doctor, LINE_OK, "tasks", "%zu in %s", rkb_task_set_count(tasks), folder);
        rkb_task_set_destroy(tasks);
    }
    free(installed);
}

int rkb_cmd_doctor(int argc, char **argv)
{
    struct {
        const char *tasks;
    } target = {NULL};
    const rkb_option_t options[] = {
        {"tasks", 0, RKB_OPT_STRING, 0, "DIR", "folder of tasks (default: the installed ones)"},
        {NULL},
    };
    const rkb_command_line_t line = {
        .program = "rkb doctor",
        .synopsis = "[options]",
        .summary =
            "Says what works on this machine and what does not: devices, compiler, libtorch, "
            "the jail of candidates, tasks. Each line is ok, a warning or a problem.",
        .epilog = "exit codes: 0 no problem, 3 no usable device, 4 another problem",
        .options = options,
    };
    rkb_error_t err = RKB_ERROR_INIT;
    int positional;
    rkb_parse_next_t next;
    if (rkb_options_parse(&line, argc, argv, &target, &positional, &next, &err) != RKB_OK) {
        return rkb_error_print(&err, "rkb doctor");
    }
    if (next == RKB_PARSE_EXIT) {
        return 0;
    }
    doctor_t doctor = {0};
    printf("rkb %s\n", RKB_VERSION);
    bool usable = check_devices(&doctor);
    check_compiler(&doctor);
    check_torch(&doctor);
    check_cell(&doctor);
    check_tasks(&doctor, target.tasks);
    printf("%d problems, %d warnings\n", doctor.problems, doctor.warnings);
    if (!usable) {
        return rkb_status_exit_code(RKB_ERR_NO_DEVICE);
    }
    return doctor.problems > 0 ? rkb_status_exit_code(RKB_ERR_INTERNAL) : 0;
}
