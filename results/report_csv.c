#include "results/render.h"

#include <stdlib.h>
#include <string.h>

/* RFC 4180: CRLF ends a row, and a field with a comma, quote or line break is quoted. */

/* A column is a path into the item: "speedup.value". Lists become words joined by ';'. */
static const struct {
    const char *title, *key, *member;
} columns[] = {
    {"task", "task", NULL},
    {"direction", "direction", NULL},
    {"candidate", "candidate", NULL},
    {"config", "config", NULL},
    {"verdict", "verdict", NULL},
    {"flags", "flags", NULL},
    {"detail", "detail", NULL},
    {"max_abs_error", "max_abs_error", NULL},
    {"error_ratio", "error_ratio", NULL},
    {"baseline_ms", "baseline_ms", NULL},
    {"candidate_ms", "candidate_ms", NULL},
    {"speedup", "speedup", "value"},
    {"speedup_lo", "speedup", "lo"},
    {"speedup_hi", "speedup", "hi"},
    {"consistency", "consistency", "class"},
    {"delegated", "delegated", NULL},
    {"rank", "rank", NULL},
    {"device", "device", NULL},
    {"compile_s", "compile_s", NULL},
    {"eval_s", "eval_s", NULL},
    {"seed", "seed", NULL},
    {"trials", "trials", NULL},
    {"oracle", "oracle", NULL},
    {"dialect", "dialect", NULL},
    {"source", "source", NULL},
    {"source_sha256", "source_sha256", NULL},
    {"log", "log", NULL},
    {"meta", "meta", NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void write_field(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static bool is_word_list(const cJSON *node)
{
    if (!cJSON_IsArray(node))
        return false;
    for (const cJSON *word = node->child; word; word = word->next) {
        if (!cJSON_IsString(word))
            return false;
    }
    return true;
}

static rkb_status_t write_node(FILE *out, const cJSON *node, rkb_error_t *err)
{
    if (!node || cJSON_IsNull(node))
        return RKB_OK;
    char *text = NULL;
    size_t len;
    FILE *field = open_memstream(&text, &len);
    if (!field)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory");
    rkb_status_t status = RKB_OK;
    if (cJSON_IsString(node)) {
        fputs(node->valuestring, field);
    } else if (is_word_list(node)) {
        for (const cJSON *word = node->child; word; word = word->next)
            fprintf(field, "%s%s", word == node->child ? "" : ";", word->valuestring);
    } else {
        status = rkb_render_node(field, node, err);
    }
    if (fclose(field) != 0)
        status = rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory");
    if (status == RKB_OK)
        write_field(out, text);
    free(text);
    return status;
}

static rkb_status_t begin(rkb_render_t *render, rkb_error_t *err)
{
    (void)err;
    for (int i = 0; i < COLUMNS; i++)
        fprintf(render->out, "%s%s", i ? "," : "", columns[i].title);
    fputs("\r\n", render->out);
    return RKB_OK;
}

static rkb_status_t add_item(rkb_render_t *render, const rkb_item_view_t *view, const cJSON *item,
                             rkb_error_t *err)
{
    (void)view;
    rkb_status_t status = RKB_OK;
    for (int i = 0; status == RKB_OK && i < COLUMNS; i++) {
        const cJSON *node = cJSON_GetObjectItemCaseSensitive(item, columns[i].key);
        if (columns[i].member)
            node = cJSON_GetObjectItemCaseSensitive(node, columns[i].member);
        if (i)
            fputc(',', render->out);
        status = write_node(render->out, node, err);
    }
    fputs("\r\n", render->out);
    return status;
}

static rkb_status_t end(rkb_render_t *render, rkb_error_t *err)
{
    (void)render;
    (void)err;
    return RKB_OK;
}

const rkb_renderer_t rkb_render_csv = {"report.csv", begin, add_item, end};
