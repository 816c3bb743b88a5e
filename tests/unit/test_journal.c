#include "tests/unit/unit.h"

#include "results/journal.h"
#include "results/keyset.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

static rkb_error_t err;
static const char first_line[] = "{\"type\":\"run\",\"schema\":\"rkb-journal/1\",\"run\":\"x\"}\n";

static char *path_in(const char *folder)
{
    return rkb_strf("%s/journal.jsonl", folder);
}

static void put_journal(const char *folder, const char *text)
{
    char *path = path_in(folder);
    unit_write_file(path, text);
    free(path);
}

static void assert_content(const char *folder, const char *want)
{
    char *path = path_in(folder), *text;
    size_t len;
    assert_status(rkb_file_read(path, 1 << 20, &text, &len, &err), RKB_OK, &err);
    free(path);
    assert_string_equal(text, want);
    free(text);
}

static cJSON *record_of(const char *text)
{
    cJSON *record = cJSON_Parse(text);
    assert_non_null(record);
    return record;
}

static rkb_journal_t *create(const char *folder)
{
    cJSON *run = record_of(first_line);
    rkb_journal_t *journal = NULL;
    assert_status(rkb_journal_create(folder, run, &journal, &err), RKB_OK, &err);
    cJSON_Delete(run);
    return journal;
}

static rkb_status_t append(rkb_journal_t *journal, const char *text)
{
    cJSON *record = record_of(text);
    rkb_status_t status = rkb_journal_append(journal, record, &err);
    cJSON_Delete(record);
    return status;
}

typedef struct {
    int records, stop_after;
    uint64_t last_line;
} visits_t;

static bool count_records(const cJSON *record, uint64_t line, void *context)
{
    visits_t *visits = context;
    assert_true(cJSON_IsObject(record));
    visits->records++;
    visits->last_line = line;
    return visits->records != visits->stop_after;
}

static void test_write_and_read_back(void **state)
{
    rkb_journal_t *journal = create(*state);
    assert_status(append(journal, "{\"type\":\"notice\",\"text\":\"a\\nb\"}"), RKB_OK, &err);
    assert_status(rkb_journal_sync(journal, &err), RKB_OK, &err);
    rkb_journal_close(journal);
    uint64_t cut = 9;
    assert_status(rkb_journal_open(*state, &journal, &cut, &err), RKB_OK, &err);
    assert_int_equal(cut, 0);
    assert_status(append(journal, "{\"type\":\"end\"}"), RKB_OK, &err);
    rkb_journal_close(journal);
    rkb_journal_close(NULL);
    visits_t visits = {0};
    assert_status(rkb_journal_read(*state, count_records, &visits, &cut, &err), RKB_OK, &err);
    assert_int_equal(visits.records, 3);
    assert_int_equal(visits.last_line, 3);
    visits = (visits_t){.stop_after = 2};
    assert_status(rkb_journal_read(*state, count_records, &visits, NULL, &err), RKB_OK, &err);
    assert_int_equal(visits.records, 2);
}

static void test_create_does_not_overwrite(void **state)
{
    rkb_journal_close(create(*state));
    cJSON *run = record_of(first_line);
    rkb_journal_t *journal = NULL;
    assert_status(rkb_journal_create(*state, run, &journal, &err), RKB_ERR_EXISTS, &err);
    assert_contains(err.text, "--resume");
    cJSON_Delete(run);
    assert_content(*state, first_line);
}

static void test_create_wants_a_run_record(void **state)
{
    cJSON *end = record_of("{\"type\":\"end\"}");
    rkb_journal_t *journal = NULL;
    assert_status(rkb_journal_create(*state, end, &journal, &err), RKB_ERR_INVALID, &err);
    cJSON_Delete(end);
    char *path = path_in(*state);
    assert_false(rkb_file_exists(path));
    free(path);
}

static void test_second_writer_is_refused(void **state)
{
    rkb_journal_t *journal = create(*state), *second = NULL;
    assert_status(rkb_journal_open(*state, &second, NULL, &err), RKB_ERR_EXISTS, &err);
    assert_contains(err.text, "another");
    rkb_journal_close(journal);
    assert_status(rkb_journal_open(*state, &second, NULL, &err), RKB_OK, &err);
    rkb_journal_close(second);
}

static void check_tail(const char *folder, const char *tail, size_t len)
{
    char *path = path_in(folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_status(rkb_file_write_all(fd, first_line, strlen(first_line), &err), RKB_OK, &err);
    assert_status(rkb_file_write_all(fd, tail, len, &err), RKB_OK, &err);
    close(fd);
    free(path);
    visits_t visits = {0};
    uint64_t cut = 0;
    assert_status(rkb_journal_read(folder, count_records, &visits, &cut, &err), RKB_OK, &err);
    assert_int_equal(visits.records, 1);
    assert_int_equal(cut, len);
    cut = 0;
    rkb_journal_t *journal;
    assert_status(rkb_journal_open(folder, &journal, &cut, &err), RKB_OK, &err);
    assert_int_equal(cut, len);
    assert_content(folder, first_line);
    assert_status(append(journal, "{\"type\":\"end\"}"), RKB_OK, &err);
    rkb_journal_close(journal);
    visits = (visits_t){0};
    assert_status(rkb_journal_read(folder, count_records, &visits, &cut, &err), RKB_OK, &err);
    assert_int_equal(visits.records, 2);
    assert_int_equal(cut, 0);
}

static void test_cut_tail(void **state)
{
    check_tail(*state, "{\"type\":\"resu", 13);
    check_tail(*state, "{\"type\":\"end\"}", 14); /* whole, but its newline never came */
    check_tail(*state, "garbage\n", 8);
    check_tail(*state, "\0\0\0\0\0\0\0", 7); /* blocks that were never written */
    check_tail(*state, "[1]\n", 4);
}

static void test_broken_middle_is_refused_untouched(void **state)
{
    char *text =
        rkb_strf("%s{\"type\":\"notice\"}\n{\"type\":\"res\n{\"type\":\"end\"}\npart", first_line);
    put_journal(*state, text);
    rkb_journal_t *journal = NULL;
    uint64_t cut = 77;
    assert_status(rkb_journal_open(*state, &journal, &cut, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "journal.jsonl: line 3 is broken");
    assert_null(journal);
    assert_int_equal(cut, 77);
    assert_content(*state, text);
    visits_t visits = {0};
    assert_status(rkb_journal_read(*state, count_records, &visits, NULL, &err), RKB_ERR_INVALID,
                  &err);
    assert_contains(err.text, "line 3");
    free(text);
}

static void check_refused(const char *folder, const char *text, const char *want)
{
    put_journal(folder, text);
    rkb_journal_t *journal = NULL;
    visits_t visits = {0};
    assert_status(rkb_journal_open(folder, &journal, NULL, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, want);
    assert_status(rkb_journal_read(folder, count_records, &visits, NULL, &err), RKB_ERR_INVALID,
                  &err);
    assert_contains(err.text, want);
    assert_int_equal(visits.records, 0);
    assert_content(folder, text);
}

static void test_what_is_no_journal(void **state)
{
    check_refused(*state, "", "no whole line");
    check_refused(*state, "{\"type\":\"run\",\"sche", "no whole line");
    check_refused(*state, "{\"type\":\"end\"}\n", "no run record");
    check_refused(*state, "{\"type\":\"run\",\"schema\":\"rkb-journal/2\"}\n",
                  "schema is rkb-journal/2; this rkb reads rkb-journal/1");
    char *path = path_in(*state);
    unlink(path);
    free(path);
    rkb_journal_t *journal = NULL;
    assert_status(rkb_journal_open(*state, &journal, NULL, &err), RKB_ERR_NOT_FOUND, &err);
}

/* A record that fails part of the way must leave whole lines only, and later ones must fit. */
static void check_full_disk(const char *folder, rkb_journal_t *journal, const char *large)
{
    char *path = path_in(folder);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    assert_status(append(journal, large), RKB_ERR_IO, &err);
    assert_contains(err.text, path);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_status(append(journal, "{\"type\":\"end\"}"), RKB_OK, &err);
    visits_t visits = {0};
    uint64_t cut = 1;
    assert_status(rkb_journal_read(folder, count_records, &visits, &cut, &err), RKB_OK, &err);
    assert_int_equal(visits.records, 2);
    assert_int_equal(cut, 0);
    free(path);
}

static char *large_record(size_t size)
{
    char *filler = malloc(size + 1);
    memset(filler, 'x', size);
    filler[size] = '\0';
    char *text = rkb_strf("{\"type\":\"notice\",\"text\":\"%s\"}", filler);
    free(filler);
    return text;
}

static void test_append_over_the_file_limit(void **state)
{
    rkb_journal_t *journal = create(*state);
    char *large = large_record(100000);
    struct rlimit before, tight;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 50000;
    setrlimit(RLIMIT_FSIZE, &tight);
    check_full_disk(*state, journal, large);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    rkb_journal_close(journal);
    free(large);
}

static void test_append_on_a_full_disk(void **state)
{
    char *disk = rkb_strf("%s/disk", (char *)*state);
    assert_status(rkb_file_make_dirs(disk, &err), RKB_OK, &err);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=64k") != 0) {
        print_message("no file system can be mounted here: %s\n", strerror(errno));
        free(disk);
        skip();
    }
    rkb_journal_t *journal = create(disk);
    char *large = large_record(200000);
    check_full_disk(disk, journal, large);
    rkb_journal_close(journal);
    free(large);
    assert_int_equal(umount(disk), 0);
    free(disk);
}

static void test_keyset(void **state)
{
    (void)state;
    rkb_keyset_t *set = rkb_keyset_create();
    char key[32];
    bool added;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            snprintf(key, sizeof key, "key %d", i);
            assert_status(rkb_keyset_add(set, key, &added, &err), RKB_OK, &err);
            assert_int_equal(added, round == 0);
        }
    }
    rkb_keyset_destroy(set);
    rkb_keyset_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_in_folder(test_write_and_read_back),
        unit_test_in_folder(test_create_does_not_overwrite),
        unit_test_in_folder(test_create_wants_a_run_record),
        unit_test_in_folder(test_second_writer_is_refused),
        unit_test_in_folder(test_cut_tail),
        unit_test_in_folder(test_broken_middle_is_refused_untouched),
        unit_test_in_folder(test_what_is_no_journal),
        unit_test_in_folder(test_append_over_the_file_limit),
        unit_test_in_folder(test_append_on_a_full_disk),
        cmocka_unit_test(test_keyset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
