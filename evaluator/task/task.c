#include "evaluator/task/task_internal.h"

#include "common/file.h"
#include "evaluator/task/config.h"
#include "evaluator/task/names.h"

#include <stdlib.h>
#include <string.h>

enum { TASK_FILE_MAX = 4 << 20 };

const char *rkb_direction_name(rkb_direction_t direction)
{
    return direction == RKB_FORWARD ? "forward" : "backward";
}

rkb_status_t rkb_direction_parse(const char *text, rkb_direction_t *out, rkb_error_t *err)
{
    for (int d = 0; d < RKB_DIRECTIONS; d++)
        if (strcmp(text, rkb_direction_name(d)) == 0) {
            *out = d;
            return RKB_OK;
        }
    return rkb_error_set(err, RKB_ERR_INVALID,
                         "\"%.64s\" is no direction; there are forward and backward", text);
}

const char *rkb_role_name(rkb_role_t role)
{
    static const char *const names[] = {"input", "param", "buffer", "grad_output"};
    return names[role];
}

static rkb_status_t parse_path_part(const rkb_json_at_t *root, const char *key, bool slashes,
                                    char **out, rkb_error_t *err)
{
    rkb_json_at_t at;
    const char *text;
    rkb_status_t status = rkb_json_member(root, key, &at, err);
    if (status == RKB_OK)
        status = rkb_json_as_string(&at, &text, err);
    if (status != RKB_OK)
        return status;
    if (!rkb_name_is_path(text, slashes))
        return rkb_complain(&at, err, RKB_ERR_INVALID,
                            "\"%.80s\" is no %s: letters, digits and _ - . are allowed%s", text,
                            key, slashes ? ", '/' between parts" : "");
    *out = rkb_xstrdup(text);
    return RKB_OK;
}

static rkb_status_t parse_notes(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_json_at_t list;
    size_t count;
    rkb_status_t status = rkb_parse_list(root, "notes", false, &list, &count, err);
    if (status != RKB_OK)
        return status;
    task->notes = rkb_xcalloc(count + 1, sizeof *task->notes);
    for (size_t i = 0; i < count; i++) {
        rkb_json_at_t at = rkb_json_element(&list, (int)i);
        const char *text;
        status = rkb_json_as_string(&at, &text, err);
        if (status != RKB_OK)
            return status;
        task->notes[task->note_count++] = rkb_xstrdup(text);
    }
    return RKB_OK;
}

static rkb_status_t parse_heading(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    static const char *const keys[] = {
        "schema",  "name",         "suite",      "description", "origin", "family",  "notes",
        "symbols", "init_methods", "attributes", "inputs",      "params", "buffers", "program",
        "outputs", "forward",      "backward",   "configs",     NULL};
    const char *schema;
    rkb_json_at_t at;
    rkb_status_t status = rkb_json_expect_object(root, err);
    if (status == RKB_OK)
        status = rkb_json_member(root, "schema", &at, err);
    if (status == RKB_OK)
        status = rkb_json_as_string(&at, &schema, err);
    if (status != RKB_OK)
        return status;
    if (strcmp(schema, "rkb-task/1") != 0)
        return rkb_complain(&at, err, RKB_ERR_INVALID,
                            "\"%.64s\" is not read by this version, which reads \"rkb-task/1\"",
                            schema);
    status = rkb_json_only_keys(root, keys, err);
    if (status == RKB_OK)
        status = parse_path_part(root, "name", false, &task->name, err);
    if (status == RKB_OK)
        status = parse_path_part(root, "suite", true, &task->suite, err);
    if (status == RKB_OK)
        status = rkb_copy_optional(root, "description", "", &task->description, err);
    if (status == RKB_OK)
        status = rkb_copy_optional(root, "origin", NULL, &task->origin, err);
    if (status == RKB_OK)
        status = rkb_copy_optional(root, "family", NULL, &task->family, err);
    if (status == RKB_OK)
        status = parse_notes(task, root, err);
    if (status == RKB_OK)
        task->path = rkb_strf("%s/%s", task->suite, task->name);
    return status;
}

static rkb_status_t parse_task(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_status_t status = parse_heading(task, root, err);
    if (status == RKB_OK)
        status = rkb_parse_declarations(task, root, err);
    if (status == RKB_OK)
        status = rkb_parse_program(task, root, err);
    if (status == RKB_OK)
        status = rkb_parse_entries(task, root, err);
    if (status == RKB_OK)
        status = rkb_parse_config_sets(task, root, err);
    return status;
}

rkb_status_t rkb_task_parse(const char *file, const char *text, size_t len, rkb_task_t **out,
                            rkb_error_t *err)
{
    rkb_task_t *task = rkb_xcalloc(1, sizeof *task);
    const char *slash = strrchr(file, '/');
    cJSON *tree = NULL;
    task->folder = slash ? rkb_strf("%.*s", (int)(slash - file), file) : rkb_xstrdup(".");
    rkb_status_t status = rkb_sha256_buffer(text, len, task->sha256, err);
    if (status == RKB_OK)
        status = rkb_json_parse(text, len, &tree, err);
    if (status == RKB_OK) {
        rkb_json_at_t root = rkb_json_root(tree);
        status = parse_task(task, &root, err);
        cJSON_Delete(tree);
    }
    if (status != RKB_OK) {
        rkb_task_destroy(task);
        rkb_error_prefix(err, "%s", file);
        return status;
    }
    *out = task;
    return RKB_OK;
}

rkb_status_t rkb_task_load(const char *file, rkb_task_t **out, rkb_error_t *err)
{
    char *text;
    size_t len;
    rkb_status_t status = rkb_file_read(file, TASK_FILE_MAX, &text, &len, err);
    if (status != RKB_OK)
        return status;
    status = rkb_task_parse(file, text, len, out, err);
    free(text);
    return status;
}

static void release_attribute(rkb_attribute_t *attribute)
{
    for (size_t i = 0; i < attribute->count; i++)
        rkb_expr_destroy(attribute->exprs[i]);
    free(attribute->exprs);
    free(attribute->string);
    free(attribute->name);
    free(attribute->about);
}

static void release_tensor(rkb_tensor_def_t *def)
{
    for (int d = 0; d < def->ndim; d++)
        rkb_expr_destroy(def->shape[d]);
    for (size_t i = 0; i < def->init_count; i++)
        rkb_initialiser_release(&def->inits[i]);
    free(def->inits);
    free(def->name);
    free(def->about);
}

static void release_set(rkb_config_set_t *set)
{
    for (int d = 0; d < RKB_DIRECTIONS; d++) {
        for (size_t i = 0; i < set->counts[d]; i++)
            rkb_config_destroy(set->configs[d][i]);
        free(set->configs[d]);
    }
    free(set->name);
}

void rkb_task_destroy(rkb_task_t *task)
{
    if (!task)
        return;
    for (size_t i = 0; i < task->set_count; i++)
        release_set(&task->sets[i]);
    free(task->sets);
    for (int d = 0; d < RKB_DIRECTIONS; d++) {
        for (size_t i = 0; i < task->entries[d].arg_count; i++)
            free(task->entries[d].args[i].name);
        free(task->entries[d].args);
        for (size_t i = 0; i < task->entries[d].return_count; i++)
            free(task->entries[d].gradient_names[i]);
        free(task->entries[d].gradient_names);
        free(task->entries[d].returns);
    }
    rkb_program_release(&task->program);
    for (size_t i = 0; i < task->tensor_count; i++)
        release_tensor(&task->tensors[i]);
    free(task->tensors);
    for (size_t i = 0; i < task->attribute_count; i++)
        release_attribute(&task->attributes[i]);
    free(task->attributes);
    for (size_t i = 0; i < task->method_count; i++)
        free(task->methods[i]);
    free(task->methods);
    for (size_t i = 0; i < task->symbol_count; i++) {
        free(task->symbols[i].name);
        free(task->symbols[i].about);
    }
    free(task->symbols);
    for (size_t i = 0; i < task->note_count; i++)
        free(task->notes[i]);
    free(task->notes);
    free(task->name);
    free(task->suite);
    free(task->path);
    free(task->folder);
    free(task->description);
    free(task->origin);
    free(task->family);
    free(task);
}
