/**
 * @file scene.h
 * A cell with an arena and one input, and what is expected of it. For cmocka tests.
 */
#ifndef RKB_TESTS_SCENE_H
#define RKB_TESTS_SCENE_H

#include "evaluator/cell/cell_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

enum { ARENA = 8 << 20, HEAP = 1 << 20, X_AT = 4096, X_COUNT = 4 };
#define POISON 0x7ffb7ffbu

extern rkb_cell_pool_t *scene_pool;

typedef struct {
    rkb_cell_t *cell;
    int arena_fd;
    unsigned char *arena;
    pid_t pid;
    rkb_cell_loaded_t loaded;
    rkb_cell_call_t call;
    rkb_cell_returned_t returned;
    rkb_cell_fate_t fate;
    rkb_finding_t finding;
} scene_t;

const char *module_path(const char *name);
bool process_exists(pid_t pid);
void scene_open(scene_t *s);
void scene_close(scene_t *s);
rkb_fate_kind_t scene_load(scene_t *s, const char *module, const char *entry, double limit);
rkb_fate_kind_t scene_call(scene_t *s, double limit);
void load_entry(scene_t *s, const char *entry);
void expect_output(const scene_t *s);
void expect_next_works(void);
void expect_fate(const char *entry, double limit, rkb_verdict_t verdict, const char *text);
void expect_denied(const char *entry);
int scene_open_pool(void **state);
int scene_close_pool(void **state);

#endif
