/*
 * Bytes behind a good first line: opening the journal either cuts a tail, after which all of it
 * can be read and more can be appended, or refuses and changes nothing. A report of it may be
 * refused too, but must not fall over.
 */
#include "common/file.h"
#include "results/journal.h"
#include "results/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char first[] = "{\"type\":\"run\",\"schema\":\"rkb-journal/1\"}\n";
static char folder[] = "/dev/shm/rkb-fuzz-XXXXXX";

static void check(bool condition)
{
    if (!condition)
        abort();
}

static void remove_folder(void)
{
    rkb_file_remove_tree(folder, NULL);
}

static bool count(const cJSON *record, uint64_t line, void *context)
{
    (void)record;
    (void)line;
    ++*(uint64_t *)context;
    return true;
}

static void check_appended(const char *path, rkb_journal_t *journal, size_t before, uint64_t cut)
{
    uint64_t records = 0, records_now = 0, cut_now = 1;
    char *text;
    size_t len;
    check(rkb_file_read(path, 1 << 30, &text, &len, NULL) == RKB_OK && len == before - cut);
    check(len > 0 && text[len - 1] == '\n');
    free(text);
    check(rkb_journal_read(folder, count, &records, &cut_now, NULL) == RKB_OK && cut_now == 0);
    cJSON *end = cJSON_Parse("{\"type\":\"end\",\"status\":\"done\"}");
    check(rkb_journal_append(journal, end, NULL) == RKB_OK);
    cJSON_Delete(end);
    check(rkb_journal_read(folder, count, &records_now, &cut_now, NULL) == RKB_OK);
    check(records_now == records + 1 && cut_now == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    if (!ready) {
        check(mkdtemp(folder) != NULL);
        atexit(remove_folder);
        ready = true;
    }
    char *path = rkb_strf("%s/journal.jsonl", folder);
    size_t head = strlen(first), before = head + size;
    char *content = rkb_xcalloc(before, 1);
    memcpy(content, first, head);
    memcpy(content + head, data, size);
    FILE *file = fopen(path, "w");
    check(file && fwrite(content, 1, before, file) == before && fclose(file) == 0);

    rkb_journal_t *journal = NULL;
    uint64_t cut = 0;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_status_t status = rkb_journal_open(folder, &journal, &cut, &err);
    if (status == RKB_OK) {
        check_appended(path, journal, before, cut);
        rkb_journal_close(journal);
    } else {
        char *text;
        size_t len;
        check(status == RKB_ERR_INVALID && strstr(err.text, "line "));
        check(rkb_file_read(path, 1 << 30, &text, &len, NULL) == RKB_OK);
        check(len == before && memcmp(text, content, len) == 0);
        free(text);
    }
    FILE *out = fopen("/dev/null", "w");
    status = rkb_report_write(folder, &err);
    check(status == RKB_OK || status == RKB_ERR_INVALID);
    check(rkb_report_print(folder, out, 80, 1, 5, &err) == status);
    fclose(out);
    free(content);
    free(path);
    return 0;
}
