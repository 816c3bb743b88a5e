#include "common/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a logical name lies below a base folder. Bases differ: installs follow the GNU layout,
 * build trees hold bin/ and lib/rkb/, the source folder holds headers and tasks. */
typedef struct {
    const char *prefix; /* of the logical name */
    const char *folder; /* what takes the prefix's place */
} layout_row_t;

static const layout_row_t built_layout[] = {
    {"bin/", "bin/"},
    {"lib/rkb/", "lib/rkb/"},
    {"lib/rkb/", RKB_LIBDIR "/rkb/"},
    {"include", RKB_INCLUDEDIR "/rkb"},
    {"tasks", RKB_DATADIR "/rkb/tasks"},
    {NULL, NULL},
};

static const layout_row_t source_layout[] = {
    {"include", "evaluator/kernel_api"},
    {"tasks", "tasks"},
    {NULL, NULL},
};

/* What was tried, for the error text. */
typedef struct {
    char text[RKB_ERROR_TEXT_SIZE];
    size_t used;
} tried_t;

static void tried_add(tried_t *tried, const char *path)
{
    size_t len = strlen(path);
    if (strstr(tried->text, path) || tried->used + len + 3 > sizeof tried->text)
        return;
    if (tried->used) {
        memcpy(tried->text + tried->used, ", ", 2);
        tried->used += 2;
    }
    memcpy(tried->text + tried->used, path, len + 1);
    tried->used += len;
}

static char *look_below(const char *base, const layout_row_t *row, const char *what, tried_t *tried)
{
    for (; row->prefix; row++) {
        size_t len = strlen(row->prefix);
        if (strncmp(what, row->prefix, len) != 0)
            continue;
        /* "include" is a whole word or the beginning of a path, never of "included". */
        char next = what[len];
        if (row->prefix[len - 1] != '/' && next != '\0' && next != '/')
            continue;
        char *path = rkb_strf("%s/%s%s", base, row->folder, what + len);
        if (rkb_file_exists(path))
            return path;
        tried_add(tried, path);
        free(path);
    }
    return NULL;
}

/* The folder above the one that holds the running program, or NULL. */
static char *base_of_program(void)
{
    char *program = realpath("/proc/self/exe", NULL);
    for (int up = 0; program && up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    return program;
}

char *rkb_install_path(const char *what, rkb_error_t *err)
{
    tried_t tried = {.used = 0};
    char *found = NULL;
    const char *prefix = getenv("RKB_PREFIX");
    if (prefix && *prefix) {
        found = look_below(prefix, built_layout, what, &tried);
        if (!found)
            found = look_below(prefix, source_layout, what, &tried);
    }
    char *base = found ? NULL : base_of_program();
    if (base)
        found = look_below(base, built_layout, what, &tried);
    free(base);
    if (!found)
        found = look_below(RKB_SOURCE_DIR, source_layout, what, &tried);
    if (!found)
        rkb_error_set(err, RKB_ERR_NOT_FOUND,
                      "this installation has no %s; looked for %s (set RKB_PREFIX to its folder)",
                      what, tried.used ? tried.text : "nothing: no such part is known");
    return found;
}
