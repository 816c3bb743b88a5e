#include "results/report.h"

#include "common/file.h"
#include "results/render.h"

#include <stdlib.h>
#include <sys/stat.h>

static const rkb_renderer_t *const renderers[] = {&rkb_render_json, &rkb_render_csv,
                                                  &rkb_render_md};
enum { RENDERERS = sizeof renderers / sizeof *renderers };

typedef struct {
    rkb_render_t render[RENDERERS];
    rkb_atomic_file_t *files[RENDERERS];
} writer_t;

static rkb_status_t write_item(const rkb_item_view_t *view, void *context, bool *stop,
                               rkb_error_t *err)
{
    (void)stop;
    writer_t *writer = context;
    cJSON *item = rkb_item_json(view);
    if (!item)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory");
    rkb_status_t status = RKB_OK;
    for (int i = 0; status == RKB_OK && i < RENDERERS; i++)
        status = renderers[i]->item(&writer->render[i], view, item, err);
    cJSON_Delete(item);
    return status;
}

static rkb_status_t write_all(const rkb_summary_t *summary, writer_t *writer, rkb_error_t *err)
{
    rkb_status_t status = RKB_OK;
    for (int i = 0; status == RKB_OK && i < RENDERERS; i++) {
        char *path = rkb_strf("%s/%s", summary->folder, renderers[i]->file);
        status = rkb_atomic_file_create(path, &writer->files[i], err);
        free(path);
        if (status != RKB_OK)
            break;
        writer->render[i] =
            (rkb_render_t){.summary = summary, .out = rkb_atomic_file_stream(writer->files[i])};
        status = renderers[i]->begin(&writer->render[i], err);
    }
    if (status == RKB_OK)
        status = rkb_summary_items(summary, write_item, writer, err);
    for (int i = 0; status == RKB_OK && i < RENDERERS; i++)
        status = renderers[i]->end(&writer->render[i], err);
    /* report.json goes last: it alone tells whether the files are up to date. */
    for (int i = RENDERERS; status == RKB_OK && i-- > 0;)
        status = rkb_atomic_file_commit(writer->files[i], err);
    return status;
}

rkb_status_t rkb_report_write(const char *folder, rkb_error_t *err)
{
    rkb_summary_t *summary;
    rkb_status_t status = rkb_summary_create(folder, &summary, err);
    if (status != RKB_OK)
        return status;
    writer_t writer = {.files = {NULL}};
    status = write_all(summary, &writer, err);
    for (int i = 0; i < RENDERERS; i++)
        rkb_atomic_file_destroy(writer.files[i]);
    rkb_summary_destroy(summary);
    return status;
}

static bool is_older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

bool rkb_report_is_stale(const char *folder)
{
    static const char *const sources[] = {"journal.jsonl", "run.json"};
    struct stat report, source;
    char *path = rkb_strf("%s/report.json", folder);
    bool stale = stat(path, &report) != 0;
    free(path);
    for (int i = 0; !stale && i < 2; i++) {
        path = rkb_strf("%s/%s", folder, sources[i]);
        /* Equal times prove nothing. */
        stale = stat(path, &source) == 0 && !is_older(&source.st_mtim, &report.st_mtim);
        free(path);
    }
    return stale;
}
