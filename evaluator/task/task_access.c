/* Readers of a loaded task. */
#include "evaluator/task/task_internal.h"

#include <string.h>

const char *rkb_task_name(const rkb_task_t *task)
{
    return task->name;
}

const char *rkb_task_suite(const rkb_task_t *task)
{
    return task->suite;
}

const char *rkb_task_path(const rkb_task_t *task)
{
    return task->path;
}

const char *rkb_task_folder(const rkb_task_t *task)
{
    return task->folder;
}

const char *rkb_task_sha256(const rkb_task_t *task)
{
    return task->sha256;
}

const char *rkb_task_description(const rkb_task_t *task)
{
    return task->description;
}

const char *rkb_task_origin(const rkb_task_t *task)
{
    return task->origin;
}

const char *rkb_task_family(const rkb_task_t *task)
{
    return task->family;
}

size_t rkb_task_note_count(const rkb_task_t *task)
{
    return task->note_count;
}

const char *rkb_task_note(const rkb_task_t *task, size_t index)
{
    return task->notes[index];
}

bool rkb_task_has_direction(const rkb_task_t *task, rkb_direction_t direction)
{
    return task->entries[direction].present;
}

size_t rkb_task_config_set_count(const rkb_task_t *task)
{
    return task->set_count;
}

const char *rkb_task_config_set_name(const rkb_task_t *task, size_t set)
{
    return task->sets[set].name;
}

int rkb_task_find_config_set(const rkb_task_t *task, const char *name)
{
    for (size_t i = 0; i < task->set_count; i++)
        if (strcmp(task->sets[i].name, name) == 0)
            return (int)i;
    return -1;
}

size_t rkb_task_config_count(const rkb_task_t *task, size_t set, rkb_direction_t direction)
{
    return task->sets[set].counts[direction];
}

const rkb_config_t *rkb_task_config(const rkb_task_t *task, size_t set, rkb_direction_t direction,
                                    size_t index)
{
    return task->sets[set].configs[direction][index];
}

const rkb_program_t *rkb_task_program(const rkb_task_t *task)
{
    return &task->program;
}

size_t rkb_task_backward_return_count(const rkb_task_t *task)
{
    return task->entries[RKB_BACKWARD].return_count;
}

size_t rkb_task_backward_return(const rkb_task_t *task, size_t index)
{
    return task->entries[RKB_BACKWARD].returns[index];
}

const char *rkb_task_gradient_name(const rkb_task_t *task, size_t index)
{
    return task->entries[RKB_BACKWARD].gradient_names[index];
}

size_t rkb_task_symbol_count(const rkb_task_t *task)
{
    return task->symbol_count;
}

const char *rkb_task_symbol(const rkb_task_t *task, size_t index)
{
    return task->symbols[index].name;
}

const char *rkb_task_symbol_about(const rkb_task_t *task, size_t index)
{
    return task->symbols[index].about;
}

size_t rkb_task_attribute_count(const rkb_task_t *task)
{
    return task->attribute_count;
}

const char *rkb_task_attribute(const rkb_task_t *task, size_t index)
{
    return task->attributes[index].name;
}

const char *rkb_task_tensor_dim(const rkb_task_t *task, size_t index, int dim)
{
    const rkb_tensor_def_t *def = &task->tensors[index];
    return dim < def->ndim ? rkb_expr_text(def->shape[dim]) : NULL;
}

const char *rkb_task_tensor_about(const rkb_task_t *task, size_t index)
{
    return task->tensors[index].about;
}
