#include "results/render.h"
#include "results/report.h"

#include <stdlib.h>
#include <string.h>

/* One object a line where there may be many, so that line tools and diffs work on the file. */

rkb_status_t rkb_render_node(FILE *out, const cJSON *node, rkb_error_t *err)
{
    char *text = rkb_json_print_line(node);
    if (!text)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory");
    fputs(text, out);
    free(text);
    return RKB_OK;
}

/* `"name": {` with a member a line. */
static rkb_status_t write_section(FILE *out, const char *name, const cJSON *object,
                                  rkb_error_t *err)
{
    rkb_status_t status = RKB_OK;
    fprintf(out, "\"%s\": {", name);
    for (const cJSON *member = object->child; status == RKB_OK && member; member = member->next) {
        cJSON *key = cJSON_CreateStringReference(member->string);
        fputs(member == object->child ? "\n  " : ",\n  ", out);
        status = rkb_render_node(out, key, err);
        fputs(": ", out);
        cJSON_Delete(key);
        if (status == RKB_OK)
            status = rkb_render_node(out, member, err);
    }
    fputs("\n},\n", out);
    return status;
}

static rkb_status_t write_notice(const cJSON *record, void *context, rkb_error_t *err)
{
    rkb_render_t *render = context;
    cJSON *notice = cJSON_Duplicate(record, true);
    if (!notice)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory");
    cJSON_DeleteItemFromObjectCaseSensitive(notice, "type");
    fputs(render->items++ ? ",\n  " : "\n  ", render->out);
    rkb_status_t status = rkb_render_node(render->out, notice, err);
    cJSON_Delete(notice);
    return status;
}

static rkb_status_t begin(rkb_render_t *render, rkb_error_t *err)
{
    fprintf(render->out, "{\n\"schema\": \"%s\",\n", RKB_REPORT_SCHEMA);
    rkb_status_t status = write_section(render->out, "context", render->summary->context, err);
    if (status != RKB_OK)
        return status;
    cJSON *summary = rkb_summary_json(render->summary);
    if (!summary)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory");
    status = write_section(render->out, "summary", summary, err);
    cJSON_Delete(summary);
    if (status != RKB_OK)
        return status;
    fputs("\"notices\": [", render->out);
    status = rkb_summary_notices(render->summary, write_notice, render, err);
    fputs(render->items ? "\n],\n\"items\": [" : "],\n\"items\": [", render->out);
    render->items = 0;
    return status;
}

static rkb_status_t add_item(rkb_render_t *render, const rkb_item_view_t *view, const cJSON *item,
                             rkb_error_t *err)
{
    (void)view;
    fputs(render->items++ ? ",\n  " : "\n  ", render->out);
    return rkb_render_node(render->out, item, err);
}

static rkb_status_t end(rkb_render_t *render, rkb_error_t *err)
{
    (void)err;
    fputs(render->items ? "\n]\n}\n" : "]\n}\n", render->out);
    return RKB_OK;
}

const rkb_renderer_t rkb_render_json = {"report.json", begin, add_item, end};
