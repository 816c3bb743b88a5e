#include "evaluator/task/config.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t slot_count(const rkb_task_t *task)
{
    return task->symbol_count + task->attribute_count + 1;
}

rkb_config_t *rkb_config_create(const rkb_task_t *task)
{
    rkb_config_t *config = rkb_xcalloc(1, sizeof *config);
    config->task = task;
    config->given = rkb_xcalloc(slot_count(task), sizeof *config->given);
    config->symbols = rkb_xcalloc(task->symbol_count + 1, sizeof *config->symbols);
    config->numbers = rkb_xcalloc(task->attribute_count + 1, sizeof *config->numbers);
    return config;
}

rkb_config_t *rkb_config_copy(const rkb_config_t *config)
{
    const rkb_task_t *task = config->task;
    rkb_config_t *copy = rkb_config_create(task);
    memcpy(copy->given, config->given, slot_count(task) * sizeof *copy->given);
    memcpy(copy->symbols, config->symbols, task->symbol_count * sizeof *copy->symbols);
    memcpy(copy->numbers, config->numbers, task->attribute_count * sizeof *copy->numbers);
    copy->init = config->init;
    copy->name = config->name ? rkb_xstrdup(config->name) : NULL;
    return copy;
}

void rkb_config_destroy(rkb_config_t *config)
{
    if (!config)
        return;
    free(config->name);
    free(config->given);
    free(config->symbols);
    free(config->numbers);
    free(config);
}

const char *rkb_config_name(const rkb_config_t *config)
{
    return config->name;
}

rkb_status_t rkb_config_find_key(const rkb_task_t *task, const char *name, rkb_config_key_t *out,
                                 rkb_error_t *err)
{
    rkb_nearest_t nearest = rkb_nearest_init(name, strlen(name));
    for (size_t i = 0; i < task->symbol_count; i++) {
        if (strcmp(task->symbols[i].name, name) == 0) {
            *out = (rkb_config_key_t){RKB_KEY_SYMBOL, i, i};
            return RKB_OK;
        }
        rkb_nearest_offer(&nearest, task->symbols[i].name);
    }
    for (size_t i = 0; i < task->attribute_count; i++) {
        if (!task->attributes[i].per_config)
            continue;
        if (strcmp(task->attributes[i].name, name) == 0) {
            *out = (rkb_config_key_t){RKB_KEY_ATTRIBUTE, i, task->symbol_count + i};
            return RKB_OK;
        }
        rkb_nearest_offer(&nearest, task->attributes[i].name);
    }
    if (task->method_count > 0) {
        if (strcmp(name, "init") == 0) {
            *out = (rkb_config_key_t){RKB_KEY_INIT, 0, slot_count(task) - 1};
            return RKB_OK;
        }
        rkb_nearest_offer(&nearest, "init");
    }
    char hint[RKB_NAME_MAX + 32];
    return rkb_error_set(err, RKB_ERR_INVALID, "a config of this task assigns no \"%.64s\"%s", name,
                         rkb_nearest_hint(&nearest, hint, sizeof hint));
}

rkb_status_t rkb_config_set_method(rkb_config_t *config, const char *method, rkb_error_t *err)
{
    const rkb_task_t *task = config->task;
    int index = rkb_task_find_method(task, method);
    if (index < 0) {
        rkb_nearest_t nearest = rkb_nearest_init(method, strlen(method));
        char hint[RKB_NAME_MAX + 32];
        for (size_t i = 0; i < task->method_count; i++)
            rkb_nearest_offer(&nearest, task->methods[i]);
        return rkb_error_set(err, RKB_ERR_INVALID, "undeclared init method \"%.64s\"%s", method,
                             rkb_nearest_hint(&nearest, hint, sizeof hint));
    }
    config->init = (size_t)index;
    return RKB_OK;
}

const char *rkb_print_double(double value, char *buf, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, size, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    return buf;
}

static char *compose_name(const rkb_config_t *config)
{
    const rkb_task_t *task = config->task;
    const char *comma = "";
    char *text = NULL, number[40];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return rkb_xstrdup("");
    for (size_t i = 0; i < task->symbol_count; i++, comma = ",")
        fprintf(out, "%s%s=%lld", comma, task->symbols[i].name, (long long)config->symbols[i]);
    for (size_t i = 0; i < task->attribute_count; i++) {
        const rkb_attribute_t *attribute = &task->attributes[i];
        if (!attribute->per_config)
            continue;
        fprintf(out, "%s%s=", comma, attribute->name);
        if (attribute->kind == RKB_ATTRIBUTE_BOOL)
            fputs(config->numbers[i] != 0 ? "true" : "false", out);
        else
            fputs(rkb_print_double(config->numbers[i], number, sizeof number), out);
        comma = ",";
    }
    if (task->method_count > 0)
        fprintf(out, "%sinit=%s", comma, task->methods[config->init]);
    if (fclose(out) != 0) {
        free(text);
        return rkb_xstrdup("");
    }
    return text;
}

rkb_status_t rkb_config_finish(rkb_config_t *config, rkb_error_t *err)
{
    const rkb_task_t *task = config->task;
    for (size_t i = 0; i < task->symbol_count; i++)
        if (!config->given[i])
            return rkb_error_set(err, RKB_ERR_INVALID, "symbol \"%s\" has no value",
                                 task->symbols[i].name);
    for (size_t i = 0; i < task->attribute_count; i++)
        if (task->attributes[i].per_config && !config->given[task->symbol_count + i])
            return rkb_error_set(err, RKB_ERR_INVALID, "attribute \"%s\" has no value",
                                 task->attributes[i].name);
    if (task->method_count > 0 && !config->given[slot_count(task) - 1])
        return rkb_error_set(err, RKB_ERR_INVALID, "no \"init\" method is chosen");
    free(config->name);
    config->name = compose_name(config);

    rkb_instance_t *instance;
    rkb_status_t status = rkb_instance_create(task, config, &instance, err);
    if (status != RKB_OK)
        return status;
    rkb_instance_destroy(instance);
    return RKB_OK;
}

/* One "key=value" of a config's name. */
static rkb_status_t assign_text(rkb_config_t *config, const char *key, const char *value,
                                rkb_error_t *err)
{
    const rkb_task_t *task = config->task;
    rkb_config_key_t found;
    rkb_status_t status = rkb_config_find_key(task, key, &found, err);
    if (status != RKB_OK)
        return status;
    if (config->given[found.slot])
        return rkb_error_set(err, RKB_ERR_INVALID, "\"%s\" is given twice", key);
    config->given[found.slot] = true;
    if (found.kind == RKB_KEY_INIT)
        return rkb_config_set_method(config, value, err);
    char *end;
    errno = 0;
    if (found.kind == RKB_KEY_SYMBOL) {
        config->symbols[found.index] = strtoll(value, &end, 10);
    } else if (task->attributes[found.index].kind == RKB_ATTRIBUTE_BOOL) {
        bool truth = strcmp(value, "true") == 0;
        if (!truth && strcmp(value, "false") != 0)
            return rkb_error_set(err, RKB_ERR_INVALID, "%s is \"%.64s\", expected true or false",
                                 key, value);
        config->numbers[found.index] = truth;
        return RKB_OK;
    } else {
        config->numbers[found.index] = strtod(value, &end);
        if (!isfinite(config->numbers[found.index]))
            errno = ERANGE;
    }
    if (errno != 0 || end == value || *end != '\0')
        return rkb_error_set(err, RKB_ERR_INVALID, "%s is \"%.64s\", expected %s", key, value,
                             found.kind == RKB_KEY_SYMBOL ? "an integer" : "a number");
    return RKB_OK;
}

rkb_status_t rkb_task_parse_config(const rkb_task_t *task, const char *name, rkb_config_t **out,
                                   rkb_error_t *err)
{
    rkb_config_t *config = rkb_config_create(task);
    char *text = rkb_xstrdup(name), *rest = text, *item;
    rkb_status_t status = RKB_OK;
    while (status == RKB_OK && *name != '\0' && (item = strsep(&rest, ",")) != NULL) {
        char *equals = strchr(item, '=');
        if (!equals) {
            status = rkb_error_set(err, RKB_ERR_INVALID,
                                   "\"%.64s\" is no assignment; expected \"name=value\"", item);
            break;
        }
        *equals = '\0';
        status = assign_text(config, item, equals + 1, err);
    }
    free(text);
    if (status == RKB_OK)
        status = rkb_config_finish(config, err);
    if (status != RKB_OK) {
        rkb_config_destroy(config);
        rkb_error_prefix(err, "config \"%.200s\" of %s", name, task->path);
        return status;
    }
    *out = config;
    return RKB_OK;
}
