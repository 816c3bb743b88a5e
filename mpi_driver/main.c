#include "common/log.h"
#include "common/status.h"
#include "mpi_driver/evaluator_link.h"
#include "mpi_driver/rank.h"
#include "mpi_driver/scheduler.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile int signals;

static void on_signal(int number)
{
    (void)number;
    signals = signals + 1;
}

/* Before MPI_Init: what launchers tell about this process. */
static long from_environment(const char *const *names, long fallback)
{
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        char *end;
        long value = text != NULL ? strtol(text, &end, 10) : -1;
        if (text != NULL && *text != '\0' && *end == '\0' && value >= 0) {
            return value;
        }
    }
    return fallback;
}

static long launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK",  "SLURM_PROCID", NULL};
    return from_environment(names, 0);
}

static long launcher_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                        "SLURM_STEP_NUM_TASKS", NULL};
    return from_environment(names, 1);
}

static int explain_states(void)
{
    char *texts[] = {rkb_master_explain(), rkb_scheduler_explain(), rkb_worker_explain()};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        fputs(texts[i], stdout);
        free(texts[i]);
    }
    return 0;
}

/* All ranks find the same fault; one of them says it. No MPI yet, so nobody waits for anybody. */
static bool leaves_early(int argc, char **argv, rkb_command_t *command, int *code)
{
    rkb_error_t err = RKB_ERROR_INIT;
    int positional = 0;
    rkb_parse_next_t next = RKB_PARSE_RUN;
    bool speaks = launcher_rank() == 0;
    if (!speaks) {
        /* --help and --version print; the others keep quiet. */
        for (int i = 1; i < argc; i++) {
            if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--version") == 0) {
                *code = 0;
                return true;
            }
        }
    }
    rkb_status_t status =
        rkb_options_parse(&rkb_driver_command_line, argc, argv, command, &positional, &next, &err);
    if (status == RKB_OK && next == RKB_PARSE_EXIT) {
        *code = 0;
        return true;
    }
    if (status == RKB_OK && positional > 0) {
        status = rkb_error_set(&err, RKB_ERR_USAGE,
                               "%s: candidates are given by --kernels, not by name alone", argv[1]);
    }
    if (status == RKB_OK) {
        status = rkb_command_check(command, &err);
    }
    if (status == RKB_OK && command->explain_states) {
        *code = speaks ? explain_states() : 0;
        return true;
    }
    if (status != RKB_OK) {
        *code = speaks ? rkb_error_print(&err, "rkb-mpi") : rkb_status_exit_code(status);
    }
    return status != RKB_OK;
}

/* A launcher of another MPI starts N processes that know nothing of each other. */
static bool are_strangers(int size)
{
    long told = launcher_size();
    if (size > 1 || told <= 1) {
        return false;
    }
    if (launcher_rank() == 0) {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int len;
        MPI_Get_library_version(version, &len);
        version[strcspn(version, ",\n")] = '\0';
        fprintf(stderr,
                "rkb-mpi: the launcher started %ld processes, but each is alone in its MPI job: "
                "the launcher belongs to another MPI than this program (%s). Use that MPI's own "
                "mpirun, or under Slurm srun --mpi=pmix\n",
                told, version);
    }
    return true;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static rkb_departure_t run(int argc, char **argv, const rkb_command_t *command,
                           rkb_transport_t *transport)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", tag[32];
    int len, index = transport->ops->rank(transport);
    MPI_Get_library_version(version, &len);
    version[strcspn(version, ",\n")] = '\0';
    snprintf(tag, sizeof(tag), "rkb-mpi[%d]", index);
    rkb_log_init(tag);

    rkb_error_t problem = RKB_ERROR_INIT;
    char **evaluator = NULL;
    bool replaced = false;
    bool unusable = rkb_evaluator_command(&evaluator, &replaced, &problem) != RKB_OK;
    rkb_master_params_t params = {.transport = transport,
                                  .command = command,
                                  .argc = argc,
                                  .argv = argv,
                                  .mpi_version = version,
                                  .evaluator = evaluator,
                                  .evaluator_replaced = replaced,
                                  .out = stdout,
                                  .err = stderr};
    rkb_rank_t *rank = rkb_rank_create(&params, problem.text, unusable ? &problem : NULL);
    rkb_departure_t departure = rkb_rank_run(rank, &signals);
    rkb_rank_destroy(rank);
    rkb_evaluator_command_free(evaluator);
    return departure;
}

int main(int argc, char **argv)
{
    rkb_command_t command = RKB_COMMAND_INIT;
    int code, size = 1;
    if (leaves_early(argc, argv, &command, &code)) {
        rkb_command_release(&command);
        return code;
    }
    if (getenv("OMPI_COMM_WORLD_SIZE") != NULL) {
        /* A rank whose mpirun was killed has nobody left to report to, or to be stopped by. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    catch_signals();
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        fputs("rkb-mpi: MPI_Init failed\n", stderr);
        return rkb_status_exit_code(RKB_ERR_LOST);
    }
    catch_signals(); /* MPI may have put handlers of its own in their place */
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (are_strangers(size)) {
        MPI_Finalize();
        return rkb_status_exit_code(RKB_ERR_USAGE);
    }
    rkb_transport_t *transport;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_transport_mpi_create(&transport, &err) != RKB_OK) {
        code = rkb_error_print(&err, "rkb-mpi");
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    rkb_departure_t departure = run(argc, argv, &command, transport);
    bool sent = transport->ops->flush(transport, 5, &err) == RKB_OK;
    fflush(stdout);
    if (!departure.finalize || !sent) {
        /* With a rank lost, MPI_Finalize would wait for it for ever. */
        _exit(departure.code);
    }
    transport->ops->destroy(transport);
    rkb_command_release(&command);
    MPI_Finalize();
    return departure.code;
}
