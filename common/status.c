#include "common/status.h"

#include <string.h>

typedef struct {
    const char *name;
    const char *text;
    int exit_code;
} status_row_t;

static const status_row_t rows[] = {
#define RKB_STATUS_ROW(_name, _exit, _text) {#_name, _text, _exit},
    RKB_STATUS_MAP(RKB_STATUS_ROW)
#undef RKB_STATUS_ROW
};

static const status_row_t *row_of(rkb_status_t status)
{
    return (unsigned)status < RKB_STATUS_LAST ? &rows[status] : NULL;
}

const char *rkb_status_name(rkb_status_t status)
{
    const status_row_t *row = row_of(status);
    return row ? row->name : "UNKNOWN";
}

const char *rkb_status_text(rkb_status_t status)
{
    const status_row_t *row = row_of(status);
    return row ? row->text : "unknown status";
}

int rkb_status_exit_code(rkb_status_t status)
{
    const status_row_t *row = row_of(status);
    return row ? row->exit_code : 4;
}

rkb_status_t rkb_status_from_name(const char *name)
{
    for (unsigned i = 0; i < RKB_STATUS_LAST; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return (rkb_status_t)i;
    }
    return RKB_ERR_INTERNAL;
}
