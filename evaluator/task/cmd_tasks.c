#include "evaluator/task/cmd_tasks.h"

#include "common/file.h"
#include "common/json.h"
#include "common/options.h"
#include "evaluator/task/cmd_internal.h"
#include "evaluator/task/names.h"
#include "evaluator/task/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    rkb_status_t (*run)(int argc, char **argv, rkb_error_t *err);
} commands[] = {
    {"list", "the tasks there are, with their config sets", rkb_tasks_list},
    {"show", "one task: signatures, shapes, configs, tolerances", rkb_tasks_show},
    {"dump", "inputs, outputs and gradients of one config as .npy files", rkb_tasks_dump},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

rkb_status_t rkb_tasks_open(const char *folder, rkb_task_set_t **out, rkb_error_t *err)
{
    char *found = folder ? rkb_xstrdup(folder) : rkb_install_path("tasks", err);
    if (!found)
        return err->status;
    rkb_status_t status = rkb_task_set_load(found, out, err);
    free(found);
    return status;
}

/* ---- list ---------------------------------------------------------------------------------------
 */

typedef struct {
    const char *tasks;
    bool json;
} list_options_t;

static const rkb_option_t list_table[] = {
    {"tasks", 0, RKB_OPT_STRING, offsetof(list_options_t, tasks), "DIR",
     "folder of tasks (default: the installed ones)", 0, 0},
    {"json", 'j', RKB_OPT_FLAG, offsetof(list_options_t, json), NULL, "print a JSON array", 0, 0},
    {NULL},
};

static const rkb_command_line_t list_line = {
    .program = "rkb tasks list",
    .synopsis = "[options]",
    .summary = "Lists the tasks with their directions and the sizes of their config sets.",
    .epilog = "examples:\n  rkb tasks list\n  rkb tasks list --tasks my-tasks --json",
    .options = list_table,
};

static cJSON *describe(const rkb_task_t *task)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *directions = cJSON_AddArrayToObject(object, "directions");
    cJSON *sets = cJSON_AddObjectToObject(object, "configs");
    bool ok = rkb_json_add_string(object, "task", rkb_task_path(task)) &&
              rkb_json_add_string(object, "name", rkb_task_name(task)) &&
              rkb_json_add_string(object, "suite", rkb_task_suite(task)) &&
              rkb_json_add_string(object, "description", rkb_task_description(task)) &&
              rkb_json_add_string(object, "folder", rkb_task_folder(task)) &&
              rkb_json_add_string(object, "sha256", rkb_task_sha256(task));
    if (ok && rkb_task_family(task))
        ok = rkb_json_add_string(object, "family", rkb_task_family(task));
    if (ok && rkb_task_origin(task))
        ok = rkb_json_add_string(object, "origin", rkb_task_origin(task));
    for (int d = 0; ok && d < RKB_DIRECTIONS; d++)
        if (rkb_task_has_direction(task, d))
            ok = cJSON_AddItemToArray(directions, cJSON_CreateString(rkb_direction_name(d)));
    for (size_t s = 0; ok && s < rkb_task_config_set_count(task); s++) {
        cJSON *counts = cJSON_AddObjectToObject(sets, rkb_task_config_set_name(task, s));
        for (int d = 0; ok && d < RKB_DIRECTIONS; d++)
            if (rkb_task_has_direction(task, d))
                ok = rkb_json_add_int64(counts, rkb_direction_name(d),
                                        (int64_t)rkb_task_config_count(task, s, d));
    }
    if (!ok) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

static rkb_status_t print_json(const rkb_task_set_t *set, rkb_error_t *err)
{
    cJSON *list = cJSON_CreateArray();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < rkb_task_set_count(set); i++) {
        cJSON *object = describe(rkb_task_set_get(set, i));
        ok = object && cJSON_AddItemToArray(list, object);
    }
    char *text = ok ? cJSON_Print(list) : NULL;
    cJSON_Delete(list);
    if (!text)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for the list");
    puts(text);
    free(text);
    return RKB_OK;
}

static void print_table(const rkb_task_set_t *set)
{
    int width = 0;
    for (size_t i = 0; i < rkb_task_set_count(set); i++) {
        int len = (int)strlen(rkb_task_path(rkb_task_set_get(set, i)));
        width = len > width ? len : width;
    }
    for (size_t i = 0; i < rkb_task_set_count(set); i++) {
        const rkb_task_t *task = rkb_task_set_get(set, i);
        bool forward = rkb_task_has_direction(task, RKB_FORWARD);
        bool backward = rkb_task_has_direction(task, RKB_BACKWARD);
        printf("%-*s  %-16s", width, rkb_task_path(task),
               forward ? backward ? "forward,backward" : "forward" : "backward");
        for (size_t s = 0; s < rkb_task_config_set_count(task); s++) {
            size_t most = 0;
            for (int d = 0; d < RKB_DIRECTIONS; d++)
                if (rkb_task_config_count(task, s, d) > most)
                    most = rkb_task_config_count(task, s, d);
            printf("  %s:%zu", rkb_task_config_set_name(task, s), most);
        }
        printf("\n%-*s    %s\n", width, "", rkb_task_description(task));
    }
}

rkb_status_t rkb_tasks_list(int argc, char **argv, rkb_error_t *err)
{
    list_options_t options = {0};
    int positional;
    rkb_parse_next_t next;
    rkb_task_set_t *set;
    rkb_status_t status =
        rkb_options_parse(&list_line, argc, argv, &options, &positional, &next, err);
    if (status != RKB_OK || next == RKB_PARSE_EXIT)
        return status;
    if (positional > 0)
        return rkb_error_set(err, RKB_ERR_USAGE, "unexpected argument \"%s\"", argv[1]);
    status = rkb_tasks_open(options.tasks, &set, err);
    if (status != RKB_OK)
        return status;
    if (options.json)
        status = print_json(set, err);
    else
        print_table(set);
    rkb_task_set_destroy(set);
    return status;
}

/* ---- choice of the sub-command
 * -------------------------------------------------------------------- */

static void print_help(FILE *out)
{
    fputs("usage: rkb tasks COMMAND [options]\n\n"
          "Tasks are data: a reference computation with named inputs, parameters and configs.\n\n"
          "commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`rkb tasks COMMAND --help` tells more.\n", out);
}

static rkb_status_t unknown_command(const char *name, rkb_error_t *err)
{
    rkb_nearest_t nearest = rkb_nearest_init(name, strlen(name));
    char hint[RKB_NAME_MAX + 32];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        rkb_nearest_offer(&nearest, commands[i].name);
    return rkb_error_set(err, RKB_ERR_USAGE,
                         "unknown command \"%.64s\"%s; `rkb tasks --help` lists them", name,
                         rkb_nearest_hint(&nearest, hint, sizeof hint));
}

int rkb_cmd_tasks(int argc, char **argv)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (argc < 2) {
        print_help(stderr);
        return rkb_status_exit_code(RKB_ERR_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("rkb tasks %s\n", RKB_VERSION);
        return 0;
    }
    rkb_status_t status = RKB_ERR_USAGE;
    size_t i = 0;
    while (i < COMMAND_COUNT && strcmp(commands[i].name, argv[1]) != 0)
        i++;
    if (i == COMMAND_COUNT)
        status = unknown_command(argv[1], &err);
    else
        status = commands[i].run(argc - 1, argv + 1, &err);
    if (status == RKB_OK && fflush(stdout) != 0)
        status = rkb_error_set(&err, RKB_ERR_IO, "standard output cannot be written");
    return status == RKB_OK ? 0 : rkb_error_print(&err, "rkb tasks");
}
