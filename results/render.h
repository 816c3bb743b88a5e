/**
 * @file render.h
 * The files of a report, written side by side in one pass over the items.
 */
#ifndef RKB_RESULTS_RENDER_H
#define RKB_RESULTS_RENDER_H

#include "results/summary.h"

#include <stdio.h>

/** Life of a renderer: begin, item for each item, end. `state` starts zeroed. */
typedef struct {
    const rkb_summary_t *summary;
    FILE *out;
    uint64_t items, failures;
} rkb_render_t;

typedef struct {
    const char *file; /* "report.json" */
    rkb_status_t (*begin)(rkb_render_t *render, rkb_error_t *err);
    /** item: as of rkb_item_json(). */
    rkb_status_t (*item)(rkb_render_t *render, const rkb_item_view_t *view, const cJSON *item,
                         rkb_error_t *err);
    rkb_status_t (*end)(rkb_render_t *render, rkb_error_t *err);
} rkb_renderer_t;

extern const rkb_renderer_t rkb_render_json;
extern const rkb_renderer_t rkb_render_csv;
extern const rkb_renderer_t rkb_render_md;

/** Prints a node on one line; RKB_ERR_NO_MEMORY. */
rkb_status_t rkb_render_node(FILE *out, const cJSON *node, rkb_error_t *err);

#endif
