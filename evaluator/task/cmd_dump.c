/* `rkb tasks dump`: one trial of one config as .npy files, for a check by other tools. */
#include "evaluator/task/cmd_internal.h"

#include "common/file.h"
#include "common/options.h"
#include "evaluator/reference/reference.h"
#include "evaluator/task/npy.h"
#include "evaluator/task/task_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *tasks, *task, *config, *out, *direction;
    uint64_t seed;
    int64_t trial;
} dump_options_t;

static const rkb_option_t dump_table[] = {
    {"task", 't', RKB_OPT_STRING, offsetof(dump_options_t, task), "TASK",
     "task, by name or suite/name; required", 0, 0},
    {"config", 'c', RKB_OPT_STRING, offsetof(dump_options_t, config), "CONFIG",
     "config, B=64,I=128,O=10,init=kaiming; required", 0, 0},
    {"out", 'o', RKB_OPT_STRING, offsetof(dump_options_t, out), "DIR",
     "folder to make; it must not exist or be empty; required", 0, 0},
    {"seed", 's', RKB_OPT_UINT64, offsetof(dump_options_t, seed), "N",
     "seed of the run (default: a fresh one, printed)", 0, 0},
    {"trial", 0, RKB_OPT_INT, offsetof(dump_options_t, trial), "N",
     "number of the trial (default: 0)", 0, INT32_MAX},
    {"direction", 'd', RKB_OPT_CHOICE, offsetof(dump_options_t, direction), "forward|backward|both",
     "forward: outputs; backward: gradients (default: both, as far as the task has them)", 0, 0},
    {"tasks", 0, RKB_OPT_STRING, offsetof(dump_options_t, tasks), "DIR",
     "folder of tasks (default: the installed ones)", 0, 0},
    {NULL},
};

static const rkb_command_line_t dump_line = {
    .program = "rkb tasks dump",
    .synopsis = "--task TASK --config CONFIG --out DIR [options]",
    .summary = "Writes inputs, parameters, reference outputs and gradients of one trial as .npy "
               "files beside index.json.",
    .epilog = "examples:\n"
              "  rkb tasks dump --task layernorm --config B=3,C=5,D1=7,D2=11,init=random \\\n"
              "      --seed 42 --out /tmp/layernorm",
    .options = dump_table,
};

/* A folder that appears under its name only when it is complete. */
typedef struct {
    char *folder; /* temporary name */
    cJSON *tensors;
} dump_t;

static rkb_status_t write_tensor(dump_t *dump, const char *name, const char *role,
                                 rkb_dtype_t dtype, const int64_t *sizes, int ndim,
                                 const void *data, size_t bytes, rkb_error_t *err)
{
    char *file = rkb_strf("%s.npy", name);
    char *path = rkb_strf("%s/%s", dump->folder, file);
    rkb_status_t status = rkb_npy_write(path, dtype, sizes, ndim, data, bytes, err);
    free(path);
    if (status == RKB_OK) {
        cJSON *entry = cJSON_CreateObject();
        cJSON *shape = cJSON_CreateArray();
        bool ok = rkb_json_add_string(entry, "name", name) &&
                  rkb_json_add_string(entry, "role", role) &&
                  rkb_json_add_string(entry, "file", file) &&
                  rkb_json_add_string(entry, "dtype", rkb_dtype_text(dtype));
        for (int d = 0; ok && d < ndim; d++)
            ok = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)sizes[d]));
        ok = cJSON_AddItemToObject(entry, "shape", shape) && ok;
        ok = cJSON_AddItemToArray(dump->tensors, entry) && ok;
        if (!ok)
            status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for index.json");
    }
    free(file);
    return status;
}

static rkb_status_t write_inputs(dump_t *dump, const rkb_trial_data_t *trial, rkb_error_t *err)
{
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; i < trial->tensor_count && status == RKB_OK; i++) {
        const rkb_tensor_spec_t *spec = rkb_instance_tensor(trial->instance, i);
        status = write_tensor(dump, spec->name, rkb_role_name(spec->role), spec->dtype, spec->sizes,
                              spec->ndim, trial->tensors[i], spec->bytes, err);
    }
    return status;
}

/* Upstream gradients, under the name that the backward entry gives them. */
static rkb_status_t write_upstream(dump_t *dump, const rkb_trial_data_t *trial, rkb_error_t *err)
{
    const rkb_instance_t *instance = trial->instance;
    const rkb_output_spec_t *specs = rkb_instance_forward_specs(instance);
    rkb_status_t status = RKB_OK;
    for (size_t i = 0; i < trial->grad_count && status == RKB_OK; i++) {
        if (!trial->grad_outputs[i])
            continue;
        char *name = trial->grad_count == 1 ? rkb_xstrdup("grad_output")
                                            : rkb_strf("grad_%s", specs[i].name);
        status = write_tensor(dump, name, "grad", specs[i].dtype, specs[i].sizes, specs[i].ndim,
                              trial->grad_outputs[i], specs[i].bytes, err);
        free(name);
    }
    return status;
}

static rkb_status_t write_expected(dump_t *dump, const rkb_torch_api_t *torch,
                                   const rkb_trial_data_t *trial, const char *role,
                                   rkb_error_t *err)
{
    rkb_expected_set_t set;
    rkb_status_t status = rkb_reference_run(torch, trial, 0, &set, err);
    if (status != RKB_OK)
        return status;
    for (size_t i = 0; i < set.count && status == RKB_OK; i++) {
        const rkb_output_spec_t *spec = &set.outputs[i].spec;
        status = write_tensor(dump, spec->name, role, spec->dtype, spec->sizes, spec->ndim,
                              set.outputs[i].reference, spec->bytes, err);
    }
    rkb_expected_release(&set);
    return status;
}

static bool add_attribute(cJSON *object, const char *name, const rkb_value_t *value)
{
    cJSON *list;
    switch (value->kind) {
    case RKB_VALUE_DOUBLE:
        return rkb_json_add_double(object, name, value->d);
    case RKB_VALUE_INT:
        return rkb_json_add_int64(object, name, value->i);
    case RKB_VALUE_BOOL:
        return cJSON_AddBoolToObject(object, name, value->i != 0) != NULL;
    case RKB_VALUE_STRING:
        return rkb_json_add_string(object, name, value->s);
    case RKB_VALUE_INT_LIST:
        list = cJSON_AddArrayToObject(object, name);
        for (size_t i = 0; i < value->count; i++)
            if (!cJSON_AddItemToArray(list, cJSON_CreateNumber((double)value->ints[i])))
                return false;
        return list != NULL;
    default:
        return cJSON_AddNullToObject(object, name) != NULL;
    }
}

static cJSON *compose_index(const dump_options_t *options, const rkb_instance_t *instance,
                            const rkb_torch_api_t *torch)
{
    const rkb_task_t *task = rkb_instance_task(instance);
    const char *method = rkb_instance_init_method(instance);
    cJSON *index = cJSON_CreateObject();
    bool ok = rkb_json_add_string(index, "task", rkb_task_path(task)) &&
              rkb_json_add_string(index, "config", rkb_instance_config_name(instance)) &&
              rkb_json_add_uint64(index, "seed", options->seed) &&
              (rkb_task_origin(task) ? rkb_json_add_string(index, "origin", rkb_task_origin(task))
                                     : cJSON_AddNullToObject(index, "origin") != NULL) &&
              rkb_json_add_int64(index, "trial", options->trial) &&
              rkb_json_add_string(index, "direction", options->direction) &&
              rkb_json_add_string(index, "task_sha256", rkb_task_sha256(task)) &&
              rkb_json_add_string(index, "rkb", RKB_VERSION) &&
              rkb_json_add_string(index, "torch", torch->torch_version);
    cJSON *symbols = cJSON_AddObjectToObject(index, "symbols");
    for (size_t i = 0; ok && i < rkb_task_symbol_count(task); i++)
        ok = rkb_json_add_int64(symbols, rkb_task_symbol(task, i),
                                rkb_instance_symbols(instance)[i]);
    cJSON *attributes = cJSON_AddObjectToObject(index, "attributes");
    for (size_t i = 0; ok && i < rkb_task_attribute_count(task); i++)
        ok = add_attribute(attributes, rkb_task_attribute(task, i),
                           rkb_instance_attribute(instance, i));
    if (ok && method)
        ok = rkb_json_add_string(index, "init", method);
    if (!ok) {
        cJSON_Delete(index);
        return NULL;
    }
    return index;
}

static rkb_status_t write_index(dump_t *dump, cJSON *index, rkb_error_t *err)
{
    if (!cJSON_AddItemToObject(index, "tensors", dump->tensors))
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for index.json");
    dump->tensors = NULL; /* owned by the index now */
    char *text = cJSON_Print(index);
    if (!text)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for index.json");
    char *path = rkb_strf("%s/index.json", dump->folder);
    char *lines = rkb_strf("%s\n", text);
    rkb_status_t status = rkb_file_write_atomic(path, lines, strlen(lines), err);
    free(lines);
    free(path);
    free(text);
    return status;
}

/* Both directions of a trial have the same inputs; backward has upstream gradients as well. */
static rkb_status_t write_trial(dump_t *dump, const dump_options_t *options,
                                const rkb_torch_api_t *torch, const rkb_instance_t *instance,
                                rkb_error_t *err)
{
    const rkb_task_t *task = rkb_instance_task(instance);
    bool backward =
        rkb_task_has_direction(task, RKB_BACKWARD) && strcmp(options->direction, "forward") != 0;
    bool forward = strcmp(options->direction, "backward") != 0;
    rkb_trial_data_t *trial;
    rkb_status_t status = rkb_trial_create(torch, instance, backward ? RKB_BACKWARD : RKB_FORWARD,
                                           options->seed, (unsigned)options->trial, &trial, err);
    if (status != RKB_OK)
        return status;
    rkb_trial_data_t view = *trial;
    view.direction = RKB_FORWARD;
    status = write_inputs(dump, trial, err);
    if (status == RKB_OK && forward)
        status = write_expected(dump, torch, &view, "output", err);
    if (status == RKB_OK && backward)
        status = write_upstream(dump, trial, err);
    if (status == RKB_OK && backward)
        status = write_expected(dump, torch, trial, "grad", err);
    rkb_trial_destroy(trial);
    return status;
}

static rkb_status_t publish(const dump_t *dump, const char *out, rkb_error_t *err)
{
    if (chmod(dump->folder, 0755) != 0 || rename(dump->folder, out) != 0) {
        if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
            return rkb_error_set(err, RKB_ERR_EXISTS,
                                 "%s exists and is not an empty folder; choose another --out", out);
        return rkb_error_set(err, RKB_ERR_IO, "%s: %s", out, strerror(errno));
    }
    return RKB_OK;
}

/* A refusal before the work; the rename at its end is what decides. */
static rkb_status_t check_target(const char *out, rkb_error_t *err)
{
    struct stat st;
    if (lstat(out, &st) != 0)
        return RKB_OK;
    if (!S_ISDIR(st.st_mode))
        return rkb_error_set(err, RKB_ERR_EXISTS, "%s exists and is no folder", out);
    char *probe = rkb_strf("%s/index.json", out);
    bool taken = rkb_file_exists(probe);
    free(probe);
    if (taken)
        return rkb_error_set(err, RKB_ERR_EXISTS, "%s holds a dump already; choose another --out",
                             out);
    return RKB_OK;
}

static rkb_status_t make_folder(const char *out, char **folder, rkb_error_t *err)
{
    char *parent = rkb_xstrdup(out);
    char *slash = strrchr(parent, '/');
    rkb_status_t status = RKB_OK;
    if (slash && slash != parent) {
        *slash = '\0';
        status = rkb_file_make_dirs(parent, err);
    }
    free(parent);
    if (status != RKB_OK)
        return status;
    char *template = rkb_strf("%s.partial-XXXXXX", out);
    if (!mkdtemp(template)) {
        status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", template, strerror(errno));
        free(template);
        return status;
    }
    *folder = template;
    return RKB_OK;
}

static rkb_status_t dump_instance(const dump_options_t *options, const rkb_instance_t *instance,
                                  rkb_error_t *err)
{
    const rkb_torch_api_t *torch;
    char *out = rkb_xstrdup(options->out);
    for (size_t len = strlen(out); len > 1 && out[len - 1] == '/'; len--)
        out[len - 1] = '\0';
    dump_t dump = {.tensors = cJSON_CreateArray()};
    cJSON *index = NULL;
    rkb_status_t status = check_target(out, err);
    if (status == RKB_OK)
        status = rkb_torch_load(&torch, err);
    if (status == RKB_OK)
        status = make_folder(out, &dump.folder, err);
    if (status == RKB_OK)
        status = write_trial(&dump, options, torch, instance, err);
    if (status == RKB_OK) {
        index = compose_index(options, instance, torch);
        status = index ? write_index(&dump, index, err)
                       : rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for index.json");
    }
    if (status == RKB_OK)
        status = publish(&dump, out, err);
    if (status != RKB_OK && dump.folder)
        rkb_file_remove_tree(dump.folder, NULL);
    cJSON_Delete(index);
    cJSON_Delete(dump.tensors);
    free(dump.folder);
    free(out);
    return status;
}

static rkb_status_t dump_task(const dump_options_t *options, const rkb_task_t *task,
                              rkb_error_t *err)
{
    rkb_config_t *config;
    rkb_instance_t *instance;
    rkb_direction_t direction;
    rkb_status_t status = RKB_OK;
    if (strcmp(options->direction, "both") != 0) {
        status = rkb_direction_parse(options->direction, &direction, err);
        if (status == RKB_OK && !rkb_task_has_direction(task, direction))
            status = rkb_error_set(err, RKB_ERR_USAGE, "task %s has no %s direction",
                                   rkb_task_path(task), options->direction);
    }
    if (status == RKB_OK)
        status = rkb_task_parse_config(task, options->config, &config, err);
    if (status != RKB_OK)
        return status;
    status = rkb_instance_create(task, config, &instance, err);
    if (status == RKB_OK) {
        status = dump_instance(options, instance, err);
        rkb_instance_destroy(instance);
    }
    rkb_config_destroy(config);
    return status;
}

static rkb_status_t check_options(const dump_options_t *options, int positional, char **argv,
                                  rkb_error_t *err)
{
    const struct {
        const char *value, *name;
    } required[] = {
        {options->task, "--task"}, {options->config, "--config"}, {options->out, "--out"}};
    if (positional > 0)
        return rkb_error_set(err, RKB_ERR_USAGE, "unexpected argument \"%s\"", argv[1]);
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (!required[i].value || !*required[i].value)
            return rkb_error_set(err, RKB_ERR_USAGE, "%s is missing; see `rkb tasks dump --help`",
                                 required[i].name);
    return RKB_OK;
}

static bool seed_given(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--seed", 6) == 0 || strncmp(argv[i], "-s", 2) == 0)
            return true;
    return false;
}

rkb_status_t rkb_tasks_dump(int argc, char **argv, rkb_error_t *err)
{
    dump_options_t options = {.direction = "both"};
    int positional;
    rkb_parse_next_t next;
    rkb_task_set_t *set;
    const rkb_task_t *task;
    bool fresh = !seed_given(argc, argv);
    rkb_status_t status =
        rkb_options_parse(&dump_line, argc, argv, &options, &positional, &next, err);
    if (status != RKB_OK || next == RKB_PARSE_EXIT)
        return status;
    status = check_options(&options, positional, argv, err);
    if (status != RKB_OK)
        return status;
    if (fresh && getrandom(&options.seed, sizeof options.seed, 0) != sizeof options.seed)
        return rkb_error_set(err, RKB_ERR_IO, "no random seed: %s", strerror(errno));
    options.seed &= fresh ? UINT64_C(0x1ffffffffffff) : UINT64_MAX; /* prints as a JSON number */
    status = rkb_tasks_open(options.tasks, &set, err);
    if (status != RKB_OK)
        return status;
    status = rkb_task_set_find(set, options.task, &task, err);
    if (status == RKB_OK)
        status = dump_task(&options, task, err);
    rkb_task_set_destroy(set);
    if (status == RKB_OK && fresh)
        printf("seed %llu\n", (unsigned long long)options.seed);
    return status;
}
