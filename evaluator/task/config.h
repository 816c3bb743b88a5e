/**
 * @file config.h
 * Building configs; used by the parser of config sets and by rkb_task_parse_config().
 */
#ifndef RKB_TASK_CONFIG_H
#define RKB_TASK_CONFIG_H

#include "evaluator/task/task_internal.h"

/** An assignment in which nothing is given yet. */
rkb_config_t *rkb_config_create(const rkb_task_t *task);
rkb_config_t *rkb_config_copy(const rkb_config_t *config);

/** What a config may assign. */
typedef enum { RKB_KEY_SYMBOL, RKB_KEY_ATTRIBUTE, RKB_KEY_INIT } rkb_key_kind_t;
typedef struct {
    rkb_key_kind_t kind;
    size_t index; /* of the symbol or attribute */
    size_t slot;  /* in rkb_config_t.given */
} rkb_config_key_t;

/** Finds what a key of a config assigns; RKB_ERR_INVALID names the nearest. */
rkb_status_t rkb_config_find_key(const rkb_task_t *task, const char *name, rkb_config_key_t *out,
                                 rkb_error_t *err);
rkb_status_t rkb_config_set_method(rkb_config_t *config, const char *method, rkb_error_t *err);

/** Names it and checks that everything has a value and that all shapes are sound. */
rkb_status_t rkb_config_finish(rkb_config_t *config, rkb_error_t *err);

#endif
