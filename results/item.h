/**
 * @file item.h
 * One "result" record of the journal, seen as an item of the report.
 */
#ifndef RKB_RESULTS_ITEM_H
#define RKB_RESULTS_ITEM_H

#include "common/json.h"

#include <stdbool.h>
#include <stdint.h>

/** Texts are borrowed from the record (or from `names`) and never NULL. */
typedef struct {
    const cJSON *record, *result;
    const char *key, *task, *direction, *candidate, *config, *verdict, *detail;
    bool ok, ours;
    /* A sample's manifest says what it must get (meta.expected {verdict, flags}). */
    bool expected, as_expected;
    bool emulated;
    double speedup; /* that counts: of an ok item, not emulated, not impossible; else NAN */
    char *names;    /* copy of the key, split; NULL when the result has all names itself */
} rkb_item_view_t;

/** RKB_ERR_INVALID with the line for a record that has no key or verdict. */
rkb_status_t rkb_item_view_open(const cJSON *record, uint64_t line, rkb_item_view_t *out,
                                rkb_error_t *err);
void rkb_item_view_close(rkb_item_view_t *view);

/** A member of the result, or NULL. */
const cJSON *rkb_item_get(const rkb_item_view_t *view, const char *key);
bool rkb_item_has_flag(const rkb_item_view_t *view, const char *flag);
/**
 * The item as it stands in report.json: every documented key in a fixed order (null where the
 * result lacks it), then what else the result has. cJSON_Delete() it; NULL without memory.
 */
cJSON *rkb_item_json(const rkb_item_view_t *view);
/** The command line that judges this item again; run: context of the report. free() it. */
char *rkb_item_reproduce(const rkb_item_view_t *view, const cJSON *run);

/** Copy of a text that fits a line of a terminal or table: no controls, no line breaks. */
char *rkb_one_line(const char *text);

#endif
