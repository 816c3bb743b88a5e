/**
 * @file json_scan.h
 * Strict RFC 8259 check that runs before cJSON builds the tree. cJSON alone takes 1e999 for
 * infinity, "\u0000" for the end of a string, 01 for a number, and any bytes for UTF-8.
 */
#ifndef RKB_COMMON_JSON_SCAN_H
#define RKB_COMMON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { RKB_JSON_DEPTH_MAX = 64 };

/* cJSON may print a larger double with 15 digits, which round up to infinity when read again. */
#define RKB_JSON_NUMBER_MAX 1.79769313486231e308

typedef struct {
    const char *text;
    size_t len;
    size_t at;          /* offset: of the fault afterwards */
    const char *fault;  /* what is wrong there */
    size_t keys;        /* member names met so far, in the order of the text */
    size_t stop_at_key; /* stop when the member name of this number begins; SIZE_MAX: never */
} rkb_json_scan_t;

/** false: fault and at are set, or the scan stopped at the key (fault NULL). */
bool rkb_json_scan(rkb_json_scan_t *scan);
/** Line and column (in bytes, both from 1) of an offset. */
void rkb_json_locate(const char *text, size_t offset, size_t *line, size_t *column);

#endif
