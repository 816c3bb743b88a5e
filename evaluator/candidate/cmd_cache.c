#include "evaluator/candidate/cmd_cache.h"

#include "common/options.h"
#include "evaluator/candidate/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *cache;
} arguments_t;

static const rkb_option_t options[] = {
    {"cache-dir", 0, RKB_OPT_STRING, offsetof(arguments_t, cache), "DIR",
     "the folder; default RKB_CACHE_DIR, else XDG_CACHE_HOME/rkb, else ~/.cache/rkb", 0, 0},
    {NULL, 0, RKB_OPT_FLAG, 0, NULL, NULL, 0, 0},
};

static const rkb_command_line_t command_line = {
    .program = "rkb cache",
    .synopsis = "[options] info|clear|path",
    .summary = "Shows, empties or locates the cache of compiled candidates. An entry is named by a "
               "hash of everything that it depends on, so none is ever out of date.",
    .options = options,
};

int rkb_cmd_cache(int argc, char **argv)
{
    rkb_error_t err = RKB_ERROR_INIT;
    arguments_t arguments = {NULL};
    int positional = 0;
    rkb_parse_next_t next;
    rkb_cache_info_t info;
    if (rkb_options_parse(&command_line, argc, argv, &arguments, &positional, &next, &err) !=
        RKB_OK)
        return rkb_error_print(&err, command_line.program);
    if (next == RKB_PARSE_EXIT)
        return 0;
    const char *verb = positional == 1 ? argv[1] : "";
    char *dir = rkb_cache_locate(arguments.cache);
    rkb_status_t status = RKB_OK;
    if (strcmp(verb, "path") == 0) {
        puts(dir);
    } else if (strcmp(verb, "info") == 0) {
        status = rkb_cache_info(dir, &info, &err);
        if (status == RKB_OK)
            printf("%s: %zu objects, %" PRIu64 " bytes\n", dir, info.objects, info.bytes);
    } else if (strcmp(verb, "clear") == 0) {
        status = rkb_cache_info(dir, &info, &err);
        if (status == RKB_OK)
            status = rkb_cache_clear(dir, &err);
        if (status == RKB_OK)
            printf("%s: %zu objects, %" PRIu64 " bytes removed\n", dir, info.objects, info.bytes);
    } else {
        status = rkb_error_set(&err, RKB_ERR_USAGE, "say one of info, clear, path");
    }
    free(dir);
    return status == RKB_OK ? 0 : rkb_error_print(&err, command_line.program);
}
