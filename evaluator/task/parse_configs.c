/*
 * Config sets: a list of assignments, {"product": [[…], […]]}, or one of these per direction:
 * {"forward": …, "backward": …}.
 */
#include "evaluator/task/config.h"

#include "common/file.h"
#include "evaluator/task/names.h"

#include <stdlib.h>
#include <string.h>

/* Where a config is gathered, and the list that it joins. */
typedef struct {
    rkb_task_t *task;
    rkb_config_set_t *set;
    rkb_direction_t direction;
    rkb_error_t *err;
} gather_t;

static rkb_status_t assign(gather_t *gather, const rkb_json_at_t *at, rkb_config_t *config)
{
    rkb_task_t *task = gather->task;
    rkb_error_t *err = gather->err;
    rkb_status_t status = rkb_json_expect_object(at, err);
    if (status != RKB_OK)
        return status;
    for (const cJSON *child = at->node->child; child; child = child->next) {
        rkb_config_key_t key;
        rkb_json_at_t value = {child, at, child->string, 0};
        status = rkb_config_find_key(task, child->string, &key, err);
        if (status != RKB_OK)
            return rkb_complain_prefix(at, err), status;
        if (config->given[key.slot])
            return rkb_complain(&value, err, RKB_ERR_INVALID,
                                "another factor of the product gives it too");
        config->given[key.slot] = true;
        const char *method;
        bool truth;
        if (key.kind == RKB_KEY_SYMBOL) {
            status = rkb_json_as_int64(&value, &config->symbols[key.index], err);
        } else if (key.kind == RKB_KEY_INIT) {
            status = rkb_json_as_string(&value, &method, err);
            if (status == RKB_OK && (status = rkb_config_set_method(config, method, err)))
                rkb_complain_prefix(&value, err);
        } else if (task->attributes[key.index].kind == RKB_ATTRIBUTE_BOOL) {
            status = rkb_json_as_bool(&value, &truth, err);
            if (status == RKB_OK)
                config->numbers[key.index] = truth;
        } else {
            status = rkb_json_as_double(&value, &config->numbers[key.index], err);
        }
        if (status != RKB_OK)
            return status;
    }
    return RKB_OK;
}

/* Takes the config, whatever happens. */
static rkb_status_t add_config(gather_t *gather, const rkb_json_at_t *at, rkb_config_t *config)
{
    rkb_config_set_t *set = gather->set;
    rkb_direction_t direction = gather->direction;
    rkb_error_t *err = gather->err;
    rkb_status_t status = rkb_config_finish(config, err);
    if (status != RKB_OK) {
        if (config->name)
            rkb_error_prefix(err, "config \"%.200s\"", config->name);
        rkb_complain_prefix(at, err);
        goto err_config;
    }
    size_t count = set->counts[direction];
    for (size_t i = 0; i < count; i++)
        if (strcmp(set->configs[direction][i]->name, config->name) == 0) {
            status = rkb_complain(at, err, RKB_ERR_INVALID, "config \"%.200s\" is listed twice",
                                  config->name);
            goto err_config;
        }
    if (count == RKB_TASK_MAX_CONFIGS) {
        status =
            rkb_complain(at, err, RKB_ERR_INVALID, "more than %d configs", RKB_TASK_MAX_CONFIGS);
        goto err_config;
    }
    set->configs[direction] =
        rkb_xrealloc(set->configs[direction], count + 1, sizeof(rkb_config_t *));
    set->configs[direction][count] = config;
    set->counts[direction] = count + 1;
    return RKB_OK;

err_config:
    rkb_config_destroy(config);
    return status;
}

/* Assignments of the factors from number `factor` on; the first factor varies slowest. */
static rkb_status_t expand_product(gather_t *gather, const rkb_json_at_t *product, int factor,
                                   const rkb_config_t *sofar)
{
    if (factor == cJSON_GetArraySize(product->node))
        return add_config(gather, product, rkb_config_copy(sofar));
    rkb_json_at_t list = rkb_json_element(product, factor);
    rkb_status_t status = rkb_json_expect_array(&list, gather->err);
    if (status != RKB_OK)
        return status;
    int count = cJSON_GetArraySize(list.node);
    if (count == 0)
        return rkb_complain(&list, gather->err, RKB_ERR_INVALID, "the factor is empty");
    for (int i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t item = rkb_json_element(&list, i);
        rkb_config_t *config = rkb_config_copy(sofar);
        status = assign(gather, &item, config);
        if (status == RKB_OK)
            status = expand_product(gather, product, factor + 1, config);
        rkb_config_destroy(config);
    }
    return status;
}

static rkb_status_t parse_product(gather_t *gather, const rkb_json_at_t *at)
{
    enum { MAX_FACTORS = 16 };
    static const char *const keys[] = {"product", NULL};
    rkb_json_at_t product;
    size_t count;
    rkb_status_t status = rkb_json_only_keys(at, keys, gather->err);
    if (status == RKB_OK)
        status = rkb_parse_list(at, "product", true, &product, &count, gather->err);
    if (status == RKB_OK && (count == 0 || count > MAX_FACTORS))
        status = rkb_complain(&product, gather->err, RKB_ERR_INVALID, "expected 1 to %d factors",
                              MAX_FACTORS);
    if (status != RKB_OK)
        return status;
    rkb_config_t *empty = rkb_config_create(gather->task);
    status = expand_product(gather, &product, 0, empty);
    rkb_config_destroy(empty);
    return status;
}

static rkb_status_t parse_configs(gather_t *gather, const rkb_json_at_t *at)
{
    if (cJSON_IsObject(at->node))
        return parse_product(gather, at);
    if (!cJSON_IsArray(at->node))
        return rkb_complain(at, gather->err, RKB_ERR_INVALID,
                            "expected a list of configs or {\"product\": …}");
    int count = cJSON_GetArraySize(at->node);
    if (count == 0)
        return rkb_complain(at, gather->err, RKB_ERR_INVALID, "the set is empty");
    rkb_status_t status = RKB_OK;
    for (int i = 0; i < count && status == RKB_OK; i++) {
        rkb_json_at_t item = rkb_json_element(at, i);
        rkb_config_t *config = rkb_config_create(gather->task);
        status = assign(gather, &item, config);
        if (status == RKB_OK)
            status = add_config(gather, &item, config);
        else
            rkb_config_destroy(config);
    }
    return status;
}

static bool is_per_direction(const rkb_json_at_t *at)
{
    return cJSON_IsObject(at->node) && !cJSON_GetObjectItemCaseSensitive(at->node, "product");
}

static rkb_status_t parse_set(rkb_task_t *task, const rkb_json_at_t *at, rkb_config_set_t *set,
                              rkb_error_t *err)
{
    static const char *const keys[] = {"forward", "backward", NULL};
    bool split = is_per_direction(at);
    rkb_status_t status = split ? rkb_json_only_keys(at, keys, err) : RKB_OK;
    for (int d = 0; d < RKB_DIRECTIONS && status == RKB_OK; d++) {
        gather_t gather = {task, set, d, err};
        rkb_json_at_t part = *at;
        if (!task->entries[d].present) {
            if (split && cJSON_GetObjectItemCaseSensitive(at->node, rkb_direction_name(d)))
                return rkb_complain(at, err, RKB_ERR_INVALID, "the task has no \"%s\"",
                                    rkb_direction_name(d));
            continue;
        }
        if (split)
            status = rkb_json_member(at, rkb_direction_name(d), &part, err);
        if (status == RKB_OK)
            status = parse_configs(&gather, &part);
    }
    return status;
}

rkb_status_t rkb_parse_config_sets(rkb_task_t *task, const rkb_json_at_t *root, rkb_error_t *err)
{
    rkb_json_at_t sets;
    rkb_status_t status = rkb_json_member(root, "configs", &sets, err);
    if (status == RKB_OK)
        status = rkb_json_expect_object(&sets, err);
    if (status != RKB_OK)
        return status;
    int count = cJSON_GetArraySize(sets.node);
    if (count == 0 || count > RKB_TASK_MAX_ITEMS)
        return rkb_complain(&sets, err, RKB_ERR_INVALID, "expected 1 to %d config sets",
                            RKB_TASK_MAX_ITEMS);
    task->sets = rkb_xcalloc((size_t)count, sizeof *task->sets);
    for (const cJSON *child = sets.node->child; child && status == RKB_OK; child = child->next) {
        rkb_json_at_t at = {child, &sets, child->string, 0};
        if (!rkb_name_is_identifier(child->string, strlen(child->string)))
            return rkb_complain(&sets, err, RKB_ERR_INVALID, "\"%.80s\" is no name", child->string);
        rkb_config_set_t *set = &task->sets[task->set_count++];
        set->name = rkb_xstrdup(child->string);
        status = parse_set(task, &at, set, err);
    }
    return status;
}
