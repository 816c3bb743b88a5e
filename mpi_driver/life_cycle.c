#include "mpi_driver/life_cycle.h"

#include "common/file.h"

#include <stdlib.h>

const rkb_life_row_t *rkb_life_find(const rkb_life_cycle_t *cycle, int state, int event)
{
    for (size_t i = 0; i < cycle->count; i++) {
        if (cycle->rows[i].state == state && cycle->rows[i].event == event) {
            return &cycle->rows[i];
        }
    }
    return NULL;
}

char *rkb_life_draw(const rkb_life_cycle_t *cycle)
{
    char *text = rkb_strf("digraph %s {\n", cycle->name);
    for (size_t i = 0; i < cycle->count; i++) {
        const rkb_life_row_t *row = &cycle->rows[i];
        char *longer = rkb_strf("%s    %s -> %s [label=\"%s / %s\"];\n", text,
                                cycle->states[row->state], cycle->states[row->next],
                                cycle->events[row->event], cycle->actions[row->action]);
        free(text);
        text = longer;
    }
    char *whole = rkb_strf("%s}\n", text);
    free(text);
    return whole;
}
