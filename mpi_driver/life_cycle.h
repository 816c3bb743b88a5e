/**
 * @file life_cycle.h
 * A life cycle as a table of {state, event, next, action}: what is not in the table does not
 * happen.
 */
#ifndef RKB_DRIVER_LIFE_CYCLE_H
#define RKB_DRIVER_LIFE_CYCLE_H

#include <stddef.h>

typedef struct {
    int state, event, next, action; /* indices into the names below */
} rkb_life_row_t;

typedef struct {
    const char *name;
    const rkb_life_row_t *rows;
    size_t count;
    const char *const *states, *const *events, *const *actions;
} rkb_life_cycle_t;

/** The row of this pair, or NULL. */
const rkb_life_row_t *rkb_life_find(const rkb_life_cycle_t *cycle, int state, int event);
/** As a Graphviz graph. Caller frees. */
char *rkb_life_draw(const rkb_life_cycle_t *cycle);

/*
 * Names and numbers from one list: LIST is a macro that takes X and applies it to each name.
 *   enum { LIST(RKB_LIFE_STATE) };            STATE_<name>
 *   static const char *const names[] = {LIST(RKB_LIFE_NAME)};
 */
#define RKB_LIFE_STATE(_name) STATE_##_name,
#define RKB_LIFE_EVENT(_name) ON_##_name,
#define RKB_LIFE_ACTION(_name) DO_##_name,
#define RKB_LIFE_NAME(_name) #_name,

#endif
