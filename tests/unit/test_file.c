#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static rkb_error_t err;

static int entries_in(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void test_read_whole_file(void **state)
{
    char *path = rkb_strf("%s/f", (char *)*state);
    char *data = NULL;
    size_t len = 0;
    unit_write_file(path, "hello");
    assert_status(rkb_file_read(path, 5, &data, &len, &err), RKB_OK, &err);
    assert_int_equal(len, 5);
    assert_string_equal(data, "hello");
    free(data);
    data = NULL;
    assert_status(rkb_file_read(path, 4, &data, &len, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "larger than 4 bytes");
    unit_write_file(path, "");
    assert_status(rkb_file_read(path, 0, &data, &len, &err), RKB_OK, &err);
    assert_int_equal(len, 0);
    free(data);
    free(path);
    /* Its size is said to be 0. */
    assert_status(rkb_file_read("/proc/self/status", 1 << 20, &data, &len, &err), RKB_OK, &err);
    assert_contains(data, "Pid:");
    free(data);
}

static void test_read_large_file(void **state)
{
    char *path = rkb_strf("%s/f", (char *)*state);
    size_t size = 300000;
    char *text = malloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\0';
    unit_write_file(path, text);
    char *data = NULL;
    size_t len = 0;
    assert_status(rkb_file_read(path, SIZE_MAX / 2, &data, &len, &err), RKB_OK, &err);
    assert_int_equal(len, size);
    assert_string_equal(data, text);
    free(data);
    free(text);
    free(path);
}

static void test_read_refuses_what_is_no_file(void **state)
{
    char *data;
    size_t len;
    assert_status(rkb_file_read(*state, 10, &data, &len, &err), RKB_ERR_INVALID, &err);
    assert_contains(err.text, "not a regular file");
    char *path = rkb_strf("%s/fifo", (char *)*state);
    assert_status(rkb_file_read(path, 10, &data, &len, &err), RKB_ERR_NOT_FOUND, &err);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_status(rkb_file_read(path, 10, &data, &len, &err), RKB_ERR_INVALID, &err);
    free(path);
}

static void test_atomic_write_replaces(void **state)
{
    char *path = rkb_strf("%s/f", (char *)*state);
    unit_write_file(path, "old and longer");
    assert_status(rkb_file_write_atomic(path, "new", 3, &err), RKB_OK, &err);
    char *data;
    size_t len;
    assert_status(rkb_file_read(path, 100, &data, &len, &err), RKB_OK, &err);
    assert_string_equal(data, "new");
    free(data);
    assert_int_equal(entries_in(*state), 1);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0600, 0600);
    free(path);
    path = rkb_strf("%s/none/f", (char *)*state);
    assert_status(rkb_file_write_atomic(path, "new", 3, &err), RKB_ERR_NOT_FOUND, &err);
    free(path);
}

static void test_failed_atomic_write_leaves_the_old_file(void **state)
{
    char *path = rkb_strf("%s/f", (char *)*state);
    unit_write_file(path, "old");
    char big[20000] = {0};
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &tight);
    rkb_status_t status = rkb_file_write_atomic(path, big, sizeof big, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_status(status, RKB_ERR_IO, &err);
    assert_contains(err.text, path);
    char *data;
    size_t len;
    assert_status(rkb_file_read(path, 100, &data, &len, &err), RKB_OK, &err);
    assert_string_equal(data, "old");
    free(data);
    free(path);
    assert_int_equal(entries_in(*state), 1);
}

static void test_abandoned_atomic_file_vanishes(void **state)
{
    char *path = rkb_strf("%s/f", (char *)*state);
    rkb_atomic_file_t *one, *two;
    assert_status(rkb_atomic_file_create(path, &one, &err), RKB_OK, &err);
    assert_status(rkb_atomic_file_create(path, &two, &err), RKB_OK, &err);
    fputs("one", rkb_atomic_file_stream(one));
    fputs("two", rkb_atomic_file_stream(two));
    assert_false(rkb_file_exists(path));
    assert_status(rkb_atomic_file_commit(two, &err), RKB_OK, &err);
    rkb_atomic_file_destroy(one);
    rkb_atomic_file_destroy(two);
    rkb_atomic_file_destroy(NULL);
    char *data;
    size_t len;
    assert_status(rkb_file_read(path, 100, &data, &len, &err), RKB_OK, &err);
    assert_string_equal(data, "two");
    free(data);
    free(path);
    assert_int_equal(entries_in(*state), 1);
}

static void test_make_dirs(void **state)
{
    char *path = rkb_strf("%s//a/b/c/", (char *)*state);
    assert_status(rkb_file_make_dirs(path, &err), RKB_OK, &err);
    assert_status(rkb_file_make_dirs(path, &err), RKB_OK, &err);
    assert_true(rkb_file_is_dir(path));
    free(path);
    path = rkb_strf("%s/file", (char *)*state);
    unit_write_file(path, "");
    assert_status(rkb_file_make_dirs(path, &err), RKB_ERR_EXISTS, &err);
    assert_contains(err.text, "not a folder");
    free(path);
    assert_status(rkb_file_make_dirs("/", &err), RKB_OK, &err);
}

static void test_remove_tree_does_not_follow_links(void **state)
{
    char *kept = rkb_strf("%s/kept", (char *)*state);
    char *tree = rkb_strf("%s/tree", (char *)*state);
    char *deep = rkb_strf("%s/x/y/z", tree);
    char *link = rkb_strf("%s/x/link", tree);
    char *inside = rkb_strf("%s/precious", kept);
    assert_status(rkb_file_make_dirs(kept, &err), RKB_OK, &err);
    assert_status(rkb_file_make_dirs(deep, &err), RKB_OK, &err);
    unit_write_file(inside, "data");
    assert_int_equal(symlink(kept, link), 0);
    assert_status(rkb_file_remove_tree(tree, &err), RKB_OK, &err);
    assert_false(rkb_file_exists(tree));
    assert_true(rkb_file_exists(inside));
    assert_status(rkb_file_remove_tree(tree, &err), RKB_OK, &err);
    assert_int_equal(symlink(kept, tree), 0);
    assert_status(rkb_file_remove_tree(tree, &err), RKB_OK, &err);
    assert_true(rkb_file_exists(inside));
    assert_status(rkb_file_remove_tree(inside, &err), RKB_OK, &err);
    assert_false(rkb_file_exists(inside));
    free(inside);
    free(link);
    free(deep);
    free(tree);
    free(kept);
}

static void test_install_path_prefers_the_environment(void **state)
{
    char *folder = *state;
    char *tasks = rkb_strf("%s/share/rkb/tasks", folder);
    char *library = rkb_strf("%s/lib/rkb", folder);
    char *plugin = rkb_strf("%s/librkb_x.so", library);
    assert_status(rkb_file_make_dirs(tasks, &err), RKB_OK, &err);
    assert_status(rkb_file_make_dirs(library, &err), RKB_OK, &err);
    unit_write_file(plugin, "");
    setenv("RKB_PREFIX", folder, 1);
    char *found = rkb_install_path("tasks", &err);
    assert_string_equal(found, tasks);
    free(found);
    found = rkb_install_path("lib/rkb/librkb_x.so", &err);
    assert_string_equal(found, plugin);
    free(found);
    assert_null(rkb_install_path("bin/no-such-program", &err));
    assert_int_equal(err.status, RKB_ERR_NOT_FOUND);
    assert_contains(err.text, folder);
    assert_contains(err.text, RKB_BINARY_DIR);
    unsetenv("RKB_PREFIX");
    assert_null(rkb_install_path("lib/rkb/librkb_x.so", &err));
    free(plugin);
    free(library);
    free(tasks);
}

static void test_install_path_in_the_build_tree(void **state)
{
    (void)state;
    unsetenv("RKB_PREFIX");
    char *found = rkb_install_path("include", &err);
    assert_string_equal(found, RKB_SOURCE_DIR "/evaluator/kernel_api");
    free(found);
    found = rkb_install_path("tasks", &err);
    assert_string_equal(found, RKB_SOURCE_DIR "/tasks");
    free(found);
    assert_null(rkb_install_path("unknown", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_in_folder(test_read_whole_file),
        unit_test_in_folder(test_read_large_file),
        unit_test_in_folder(test_read_refuses_what_is_no_file),
        unit_test_in_folder(test_atomic_write_replaces),
        unit_test_in_folder(test_failed_atomic_write_leaves_the_old_file),
        unit_test_in_folder(test_abandoned_atomic_file_vanishes),
        unit_test_in_folder(test_make_dirs),
        unit_test_in_folder(test_remove_tree_does_not_follow_links),
        unit_test_in_folder(test_install_path_prefers_the_environment),
        cmocka_unit_test(test_install_path_in_the_build_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
