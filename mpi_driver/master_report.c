#include "mpi_driver/master_report.h"

#include "mpi_driver/terminal.h"
#include "results/report.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FAILURES_SHOWN = 20, DEFAULT_WIDTH = 100 };

static bool wants_color(FILE *out)
{
    const char *none = getenv("NO_COLOR");
    return rkb_terminal_width(out) > 0 && (none == NULL || none[0] == '\0');
}

/* What became of the run, before the report and --fail-on have a say. */
static rkb_status_t outcome_of(const rkb_conclusion_t *c)
{
    if (c->error->status != RKB_OK) {
        return c->error->status;
    }
    if (c->done < c->total || (!c->begun && !c->complete)) {
        return c->draining ? RKB_ERR_DRAINED : RKB_ERR_LOST;
    }
    return RKB_OK;
}

static rkb_status_t write_end(const rkb_conclusion_t *c, rkb_status_t outcome, int code,
                              rkb_error_t *err)
{
    const char *word = outcome == RKB_OK            ? "done"
                       : outcome == RKB_ERR_DRAINED ? "drained"
                                                    : "failed";
    rkb_status_t status = rkb_run_add_end(c->run, word, code, c->wall, err);
    return status == RKB_OK ? rkb_run_sync(c->run, err) : status;
}

/* Items whose verdict is ours were left unjudged, whatever else went well. */
static rkb_status_t count_undecided(const rkb_conclusion_t *c, int *code, rkb_error_t *err)
{
    static const char *const ours[] = {"infra_error", "reference_error"};
    const char *met = NULL;
    rkb_status_t status = rkb_report_fail_on(rkb_run_folder(c->run), ours, 2, &met, err);
    if (status == RKB_OK && met != NULL) {
        fprintf(c->err, "rkb-mpi: some items could not be judged (%s): see the report\n", met);
        *code = *code == 0 ? rkb_status_exit_code(RKB_ERR_INTERNAL) : *code;
    }
    return status;
}

/* The report of what is known; a run that failed half-way has one, too. */
static rkb_status_t write_report(const rkb_conclusion_t *c, int *code, rkb_error_t *err)
{
    const char *folder = rkb_run_folder(c->run);
    rkb_status_t status = rkb_report_write(folder, err);
    int width = rkb_terminal_width(c->out);
    if (status == RKB_OK) {
        status = rkb_report_print(folder, c->out, width > 0 ? width : DEFAULT_WIDTH,
                                  wants_color(c->out), FAILURES_SHOWN, err);
        fflush(c->out);
    }
    const char *met = NULL;
    if (status == RKB_OK && c->command->fail_on.count > 0) {
        status = rkb_report_fail_on(folder, c->command->fail_on.items, c->command->fail_on.count,
                                    &met, err);
    }
    if (status == RKB_OK && met != NULL) {
        fprintf(c->err, "rkb-mpi: --fail-on %s is met\n", met);
        *code = *code == 0 ? 1 : *code;
    }
    return status;
}

int rkb_conclude(const rkb_conclusion_t *c)
{
    rkb_status_t outcome = outcome_of(c);
    int code = rkb_status_exit_code(outcome);
    rkb_error_t err = RKB_ERROR_INIT;
    if (c->error->status != RKB_OK) {
        fprintf(c->err, "rkb-mpi: %s\n", c->error->text);
    }
    bool known = c->run != NULL && (c->begun || c->complete);
    if (known) {
        rkb_status_t status = count_undecided(c, &code, &err);
        if (status == RKB_OK && c->begun) {
            status = write_end(c, outcome, code, &err);
        }
        if (status == RKB_OK) {
            status = write_report(c, &code, &err);
        }
        if (status != RKB_OK) {
            fprintf(c->err, "rkb-mpi: the report is not up to date: %s\n", err.text);
            code = code <= 1 ? rkb_status_exit_code(RKB_ERR_IO) : code;
        }
    }
    if (outcome == RKB_OK) {
        return code;
    }
    if (known) {
        fprintf(c->err,
                "rkb-mpi: %s: %" PRIu64 " of %" PRIu64 " items are judged; go on with --out %s "
                "--resume\n",
                outcome == RKB_ERR_DRAINED ? "drained" : "ended early", c->done, c->total,
                rkb_run_folder(c->run));
    } else if (outcome == RKB_ERR_DRAINED) {
        fprintf(c->err, "rkb-mpi: drained before anything was begun\n");
    }
    return code;
}
