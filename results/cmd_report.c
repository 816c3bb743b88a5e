#include "results/cmd_report.h"

#include "common/file.h"
#include "common/log.h"
#include "common/options.h"
#include "results/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { EXIT_CONDITION_MET = 1, DEFAULT_FAILURES = 20, DEFAULT_WIDTH = 100 };

typedef struct {
    const char *format;
    bool rewrite;
    int64_t failures;
    rkb_option_list_t fail_on;
} report_options_t;

#define OPT(_field) offsetof(report_options_t, _field)
static const rkb_option_t report_option_table[] = {
    {"format", 'f', RKB_OPT_CHOICE, OPT(format), "summary|json|csv|md",
     "what to print (default: summary)"},
    {"rewrite", 0, RKB_OPT_FLAG, OPT(rewrite), NULL,
     "make report.json, report.csv and report.md anew even if they are up to date"},
    {"failures", 'n', RKB_OPT_INT, OPT(failures), "N",
     "failures that the summary shows (default: 20)", 0, INT32_MAX},
    {"fail-on", 0, RKB_OPT_LIST, OPT(fail_on), "CONDITION",
     "exit 1 when it is met: any, a verdict or flag, or a comparison such as correct_rate<0.9, "
     "fast_p[1.0]<=0.5, geomean_speedup<1, unjudged>0; repeatable"},
    {NULL},
};

static const rkb_command_line_t report_line = {
    .program = "rkb report",
    .synopsis = "RUN_DIR [options]",
    .summary =
        "Shows the report of a run. It is made from the journal where it is missing or older, "
        "after an interrupted run for instance.",
    .epilog = "examples:\n"
              "  rkb report results/runs/20261201-143046\n"
              "  rkb report RUN_DIR --format csv > items.csv\n"
              "  rkb report RUN_DIR --fail-on tampering --fail-on 'correct_rate<0.9'\n",
    .options = report_option_table,
};

static int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    return width > 0 ? width : DEFAULT_WIDTH;
}

static bool wants_color(void)
{
    const char *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(none && *none);
}

static rkb_status_t copy_file(const char *folder, const char *extension, rkb_error_t *err)
{
    char *path = rkb_strf("%s/report.%s", folder, extension);
    FILE *in = fopen(path, "re");
    rkb_status_t status = RKB_OK;
    if (!in)
        status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", path, strerror(errno));
    char chunk[1 << 16];
    size_t got;
    while (in && (got = fread(chunk, 1, sizeof chunk, in)) > 0)
        fwrite(chunk, 1, got, stdout);
    if (in && ferror(in))
        status = rkb_error_set(err, RKB_ERR_IO, "%s: cannot be read", path);
    if (in)
        fclose(in);
    free(path);
    return status;
}

static rkb_status_t show(const char *folder, const report_options_t *options, rkb_error_t *err)
{
    bool is_summary = strcmp(options->format, "summary") == 0;
    rkb_status_t status = RKB_OK;
    if (options->rewrite || rkb_report_is_stale(folder)) {
        status = rkb_report_write(folder, err);
        /* The summary needs the journal only: a folder of somebody else's may be read-only. */
        if (status == RKB_ERR_IO && is_summary && !options->rewrite) {
            rkb_warn("the report files were not written: %s", err->text);
            status = RKB_OK;
        }
    }
    if (status != RKB_OK)
        return status;
    if (is_summary)
        status = rkb_report_print(folder, stdout, terminal_width(), wants_color(),
                                  (int)options->failures, err);
    else
        status = copy_file(folder, options->format, err);
    if (status == RKB_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = rkb_error_set(err, RKB_ERR_IO, "standard output: %s", strerror(errno));
    return status;
}

int rkb_cmd_report(int argc, char **argv)
{
    report_options_t options = {.format = "summary", .failures = DEFAULT_FAILURES};
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_parse_next_t next = RKB_PARSE_RUN;
    int positional = 0;
    const char *met = NULL;
    rkb_status_t status =
        rkb_options_parse(&report_line, argc, argv, &options, &positional, &next, &err);
    if (status == RKB_OK && next == RKB_PARSE_EXIT) {
        rkb_option_list_release(&options.fail_on);
        return 0;
    }
    if (status == RKB_OK && positional != 1)
        status = rkb_error_set(&err, RKB_ERR_USAGE, "give one RUN_DIR; see rkb report --help");
    for (size_t i = 0; status == RKB_OK && i < options.fail_on.count; i++)
        status = rkb_fail_on_check(options.fail_on.items[i], &err);
    if (status == RKB_OK)
        status = show(argv[1], &options, &err);
    if (status == RKB_OK && options.fail_on.count > 0)
        status =
            rkb_report_fail_on(argv[1], options.fail_on.items, options.fail_on.count, &met, &err);
    rkb_option_list_release(&options.fail_on);
    if (status != RKB_OK)
        return rkb_error_print(&err, report_line.program);
    if (met) {
        fprintf(stderr, "rkb report: condition met: %s\n", met);
        return EXIT_CONDITION_MET;
    }
    return 0;
}
