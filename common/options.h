/**
 * @file options.h
 * Command-line options from one table that parses them and generates --help.
 * `--name value`, `--name=value`, `-x value`; `--` ends the options. `--help` and `--version` are
 * understood everywhere and need no row. An unknown option names the nearest known one.
 */
#ifndef RKB_COMMON_OPTIONS_H
#define RKB_COMMON_OPTIONS_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum {
    RKB_OPT_FLAG,     /* bool: present or not */
    RKB_OPT_STRING,   /* const char *, points into argv */
    RKB_OPT_INT,      /* int64_t, with bounds min..max */
    RKB_OPT_UINT64,   /* uint64_t, decimal or 0x */
    RKB_OPT_DOUBLE,   /* double, finite */
    RKB_OPT_DURATION, /* double seconds: "10", "1.5s", "250ms", "5m", "2h" */
    RKB_OPT_CHOICE,   /* const char *, one of `arg` split at '|' */
    RKB_OPT_LIST      /* rkb_option_list_t, may be given repeatedly */
} rkb_option_kind_t;

typedef struct {
    const char **items; /* owned by the list; strings point into argv */
    size_t count;
} rkb_option_list_t;

typedef struct {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* 0: none */
    rkb_option_kind_t kind;
    size_t offset;    /* of the target field in the caller's struct */
    const char *arg;  /* "DIR"; for a choice "auto|cpu|cuda" */
    const char *help; /* one line, no full stop needed; defaults are named here */
    int64_t min, max; /* RKB_OPT_INT only; both 0: unbounded */
} rkb_option_t;

typedef struct {
    const char *program;  /* "rkb eval" */
    const char *synopsis; /* "[options] FILE.cu" */
    const char *summary;  /* a sentence or a short paragraph */
    const char *epilog;   /* examples; may be NULL */
    const rkb_option_t *options;
} rkb_command_line_t;

typedef enum { RKB_PARSE_RUN, RKB_PARSE_EXIT } rkb_parse_next_t;

/**
 * Parses argv[1..]. Positional arguments are moved to the front of argv[1..] and counted in
 * *positional. *next is RKB_PARSE_EXIT when --help or --version was printed to stdout.
 * Targets keep their defaults where an option is not given. RKB_ERR_USAGE names the option.
 */
rkb_status_t rkb_options_parse(const rkb_command_line_t *line, int argc, char **argv, void *target,
                               int *positional, rkb_parse_next_t *next, rkb_error_t *err);
void rkb_options_help(const rkb_command_line_t *line, FILE *out);
void rkb_option_list_release(rkb_option_list_t *list);

#endif
