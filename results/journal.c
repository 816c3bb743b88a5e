#include "results/journal.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct rkb_journal {
    char *path;
    int fd;
    off_t end;  /* of the last whole line */
    bool dirty; /* bytes of a failed append may lie beyond `end` */
};

static rkb_status_t io_error(const char *path, rkb_error_t *err)
{
    rkb_status_t status = errno == ENOENT ? RKB_ERR_NOT_FOUND : RKB_ERR_IO;
    return rkb_error_set(err, status, "%s: %s", path, strerror(errno));
}

/* ---- reading ---- */

typedef struct {
    const char *path;
    FILE *file;
    char *line;
    size_t room;
    uint64_t number; /* of the current line, from 1 */
    off_t next;      /* offset behind the last whole line */
    off_t rest;      /* bytes of a broken tail, once the end is reached */
} scan_t;

static rkb_status_t scan_open(const char *path, scan_t *scan, rkb_error_t *err)
{
    *scan = (scan_t){.path = path, .file = fopen(path, "re")};
    return scan->file ? RKB_OK : io_error(path, err);
}

static void scan_close(scan_t *scan)
{
    free(scan->line);
    fclose(scan->file);
}

static rkb_status_t check_first(const scan_t *scan, const cJSON *record, rkb_error_t *err)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(record, "type");
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(record, "schema");
    if (!cJSON_IsString(type) || strcmp(type->valuestring, "run") != 0 || !cJSON_IsString(schema))
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: line 1 is no run record: not a journal",
                             scan->path);
    if (strcmp(schema->valuestring, RKB_JOURNAL_SCHEMA) != 0)
        return rkb_error_set(err, RKB_ERR_INVALID, "%s: schema is %s; this rkb reads %s",
                             scan->path, schema->valuestring, RKB_JOURNAL_SCHEMA);
    return RKB_OK;
}

/*
 * Next record, or NULL in *record at the end. A line that is no record is the broken tail when
 * nothing follows it; otherwise somebody has changed the file and no guess is made.
 */
static rkb_status_t scan_next(scan_t *scan, cJSON **record, rkb_error_t *err)
{
    *record = NULL;
    errno = 0;
    ssize_t len = getline(&scan->line, &scan->room, scan->file);
    if (len < 0)
        return ferror(scan->file) || errno == ENOMEM ? io_error(scan->path, err) : RKB_OK;
    scan->number++;
    if (scan->line[len - 1] != '\n') {
        scan->rest = len;
        return RKB_OK;
    }
    cJSON *parsed = NULL;
    rkb_error_t cause = RKB_ERROR_INIT;
    rkb_status_t status = rkb_json_parse(scan->line, (size_t)len - 1, &parsed, &cause);
    if (status == RKB_OK && !cJSON_IsObject(parsed)) {
        cJSON_Delete(parsed);
        status = rkb_error_set(&cause, RKB_ERR_INVALID, "not an object");
    }
    if (status == RKB_ERR_INVALID && getc(scan->file) == EOF && !ferror(scan->file)) {
        scan->rest = len;
        return RKB_OK;
    }
    if (status != RKB_OK) {
        if (err)
            *err = cause;
        rkb_error_prefix(err, "%s: line %llu is broken, though others follow it", scan->path,
                         (unsigned long long)scan->number);
        return status;
    }
    scan->next += len;
    if (scan->number == 1) {
        status = check_first(scan, parsed, err);
        if (status != RKB_OK) {
            cJSON_Delete(parsed);
            return status;
        }
    }
    *record = parsed;
    return RKB_OK;
}

static rkb_status_t no_record(const char *path, rkb_error_t *err)
{
    return rkb_error_set(err, RKB_ERR_INVALID,
                         "%s: holds no whole line; the run ended before it began", path);
}

static char *journal_path(const char *folder)
{
    return rkb_strf("%s/journal.jsonl", folder);
}

rkb_status_t rkb_journal_read(const char *folder, rkb_journal_visit_fn_t visit, void *context,
                              uint64_t *cut_bytes, rkb_error_t *err)
{
    char *path = journal_path(folder);
    scan_t scan;
    rkb_status_t status = scan_open(path, &scan, err);
    if (status != RKB_OK)
        goto err_free;
    bool go_on = true;
    while (go_on) {
        cJSON *record;
        status = scan_next(&scan, &record, err);
        if (status != RKB_OK || !record)
            break;
        go_on = visit(record, scan.number, context);
        cJSON_Delete(record);
    }
    if (status == RKB_OK && scan.next == 0)
        status = no_record(path, err);
    if (status == RKB_OK && cut_bytes)
        *cut_bytes = (uint64_t)scan.rest;
    scan_close(&scan);
err_free:
    free(path);
    return status;
}

/* ---- writing ---- */

/* Two drivers that resume one run would interleave; the lock goes with the descriptor. */
static rkb_status_t lock(const char *path, int fd, rkb_error_t *err)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return RKB_OK; /* some network file systems know no locks: that stops nobody */
    return rkb_error_set(err, RKB_ERR_EXISTS, "%s: another rkb-mpi is writing it", path);
}

static rkb_journal_t *journal_of(char *path, int fd, off_t end)
{
    rkb_journal_t *journal = rkb_xcalloc(1, sizeof *journal);
    *journal = (rkb_journal_t){.path = path, .fd = fd, .end = end};
    return journal;
}

rkb_status_t rkb_journal_create(const char *folder, const cJSON *run_record, rkb_journal_t **out,
                                rkb_error_t *err)
{
    char *path = journal_path(folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        rkb_status_t failed = errno == EEXIST ? rkb_error_set(err, RKB_ERR_EXISTS,
                                                              "%s: exists already; --resume "
                                                              "continues a run",
                                                              path)
                                              : io_error(path, err);
        free(path);
        return failed;
    }
    rkb_journal_t *journal = journal_of(path, fd, 0);
    scan_t first = {.path = path};
    rkb_status_t status = lock(path, fd, err);
    if (status == RKB_OK)
        status = check_first(&first, run_record, err);
    if (status == RKB_OK)
        status = rkb_journal_append(journal, run_record, err);
    if (status == RKB_OK)
        status = rkb_journal_sync(journal, err);
    if (status != RKB_OK) {
        unlink(path);
        rkb_journal_close(journal);
        return status;
    }
    *out = journal;
    return RKB_OK;
}

/* Reads all of it before anything is changed. */
static rkb_status_t find_end(const char *path, off_t *end, off_t *rest, rkb_error_t *err)
{
    scan_t scan;
    rkb_status_t status = scan_open(path, &scan, err);
    if (status != RKB_OK)
        return status;
    cJSON *record;
    do {
        status = scan_next(&scan, &record, err);
        cJSON_Delete(record);
    } while (status == RKB_OK && record);
    if (status == RKB_OK && scan.next == 0)
        status = no_record(path, err);
    *end = scan.next;
    *rest = scan.rest;
    scan_close(&scan);
    return status;
}

rkb_status_t rkb_journal_open(const char *folder, rkb_journal_t **out, uint64_t *cut_bytes,
                              rkb_error_t *err)
{
    char *path = journal_path(folder);
    rkb_status_t status;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        status = io_error(path, err);
        goto err_free;
    }
    status = lock(path, fd, err);
    if (status != RKB_OK)
        goto err_close;
    off_t end = 0, rest = 0;
    status = find_end(path, &end, &rest, err);
    if (status != RKB_OK)
        goto err_close;
    if (rest > 0 && (ftruncate(fd, end) != 0 || fdatasync(fd) != 0)) {
        status = io_error(path, err);
        goto err_close;
    }
    if (cut_bytes)
        *cut_bytes = (uint64_t)rest;
    *out = journal_of(path, fd, end);
    return RKB_OK;

err_close:
    close(fd);
err_free:
    free(path);
    return status;
}

rkb_status_t rkb_journal_append(rkb_journal_t *journal, const cJSON *record, rkb_error_t *err)
{
    char *text = rkb_json_print_line(record);
    if (!text)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "%s: out of memory", journal->path);
    size_t len = strlen(text);
    text[len++] = '\n'; /* in the place of the NUL: one write for the whole line */
    rkb_status_t status = RKB_OK;
    if (journal->dirty && ftruncate(journal->fd, journal->end) != 0)
        status = rkb_error_set(err, RKB_ERR_IO, "ftruncate: %s", strerror(errno));
    if (status == RKB_OK)
        status = rkb_file_write_all(journal->fd, text, len, err);
    free(text);
    if (status == RKB_OK) {
        journal->end += (off_t)len;
        journal->dirty = false;
        return RKB_OK;
    }
    journal->dirty = ftruncate(journal->fd, journal->end) != 0;
    rkb_error_prefix(err, "%s", journal->path);
    return status;
}

rkb_status_t rkb_journal_sync(rkb_journal_t *journal, rkb_error_t *err)
{
    return fdatasync(journal->fd) == 0 ? RKB_OK : io_error(journal->path, err);
}

void rkb_journal_close(rkb_journal_t *journal)
{
    if (!journal)
        return;
    close(journal->fd);
    free(journal->path);
    free(journal);
}
