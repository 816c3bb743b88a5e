#include "common/error.h"
#include "common/log.h"
#include "evaluator/candidate/cmd_cache.h"
#include "evaluator/cli/commands.h"
#include "evaluator/task/cmd_tasks.h"
#include "results/cmd_report.h"

#include <stdio.h>
#include <string.h>

/* argv[0] of a command is its own name, for its --help. */
typedef struct {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} command_t;

static const command_t commands[] = {
    {"eval", "judge one kernel at this terminal, without MPI", rkb_cmd_eval},
    {"tasks", "list, show or dump tasks", rkb_cmd_tasks},
    {"report", "show or rebuild the report of a run", rkb_cmd_report},
    {"doctor", "say what works on this machine and what does not", rkb_cmd_doctor},
    {"cache", "show or clear the cache of compiled candidates", rkb_cmd_cache},
    {"serve", "evaluator of one device; started by rkb-mpi", rkb_cmd_serve},
};
static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

static void print_help(FILE *out)
{
    fprintf(out, "usage: rkb COMMAND [options]\n\n"
                 "rkb judges CUDA kernels against libtorch. Sweeps over many devices are run by\n"
                 "`mpirun -np N rkb-mpi`; see `rkb-mpi --help`.\n\ncommands:\n");
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out, "\n`rkb COMMAND --help` tells more; `rkb --version` prints the version.\n");
}

int main(int argc, char **argv)
{
    rkb_log_init("rkb");
    if (argc < 2) {
        print_help(stderr);
        return rkb_status_exit_code(RKB_ERR_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 ||
        strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("rkb %s\n", RKB_VERSION);
        return 0;
    }
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_error_set(&err, RKB_ERR_USAGE, "unknown command \"%s\"; `rkb --help` lists them", argv[1]);
    return rkb_error_print(&err, "rkb");
}
