/* What every cmocka program includes, in the order that cmocka wants. */
#ifndef RKB_TESTS_UNIT_H
#define RKB_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"

/* The status with its text when it is not the wanted one. */
#define assert_status(_got, _want, _err)                                                           \
    do {                                                                                           \
        rkb_status_t got_ = (_got);                                                                \
        if (got_ != (_want))                                                                       \
            fail_msg("%s instead of %s: %s", rkb_status_name(got_), rkb_status_name(_want),        \
                     (_err)->text);                                                                \
    } while (0)

#define assert_contains(_text, _part)                                                              \
    do {                                                                                           \
        if (!strstr((_text), (_part)))                                                             \
            fail_msg("\"%s\" lacks \"%s\"", (_text), (_part));                                     \
    } while (0)

/* Setup and teardown for tests that need a folder of their own: *state is its path. */
static inline int unit_folder_create(void **state)
{
    char *path = rkb_strf("/tmp/rkb-unit-XXXXXX");
    *state = mkdtemp(path);
    return *state ? 0 : -1;
}

static inline int unit_folder_remove(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    int failed = rkb_file_remove_tree(*state, &err) != RKB_OK;
    free(*state);
    return failed;
}

#define unit_test_in_folder(_test)                                                                 \
    cmocka_unit_test_setup_teardown(_test, unit_folder_create, unit_folder_remove)

static inline void unit_write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

#endif
