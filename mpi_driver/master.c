#include "mpi_driver/master_internal.h"

#include "common/clock.h"
#include "common/file.h"
#include "mpi_driver/master_report.h"
#include "mpi_driver/message.h"
#include "mpi_driver/terminal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const rkb_life_row_t table[] = {
    {STATE_PLANNING, ON_PLANNED, STATE_JUDGING, DO_BEGIN},
    {STATE_PLANNING, ON_COMPLETE, STATE_CLOSING, DO_DISMISS},
    {STATE_PLANNING, ON_FAILURE, STATE_CLOSING, DO_DISMISS},
    {STATE_PLANNING, ON_DRAIN, STATE_CLOSING, DO_DISMISS},
    {STATE_PLANNING, ON_DRAIN_NOW, STATE_CLOSING, DO_DISMISS},
    {STATE_JUDGING, ON_FINISHED, STATE_CLOSING, DO_AWAIT_GONE},
    {STATE_JUDGING, ON_FAILURE, STATE_CLOSING, DO_DISMISS},
    {STATE_JUDGING, ON_DRAIN, STATE_JUDGING, DO_DRAIN_WORKERS},
    {STATE_JUDGING, ON_DRAIN_NOW, STATE_CLOSING, DO_DISMISS},
    {STATE_CLOSING, ON_FAILURE, STATE_CLOSING, DO_DISMISS},
    {STATE_CLOSING, ON_DRAIN_NOW, STATE_CLOSING, DO_DISMISS},
    {STATE_CLOSING, ON_ALL_GONE, STATE_OVER, DO_CONCLUDE},
};

static const char *const states[] = {STATES(RKB_LIFE_NAME)};
static const char *const events[] = {EVENTS(RKB_LIFE_NAME)};
static const char *const actions[] = {ACTIONS(RKB_LIFE_NAME)};
static const rkb_life_cycle_t life = {"run",  table,  sizeof(table) / sizeof(*table),
                                      states, events, actions};

static const double sync_every = 0.05;
static const double alive_every = 10;
static const double tick_every = 0.25;
static const double closing_limit = 25; /* more than a worker gives its evaluator */
static const double dismissal_limit = 5;

static rkb_progress_state_t progress_state(const rkb_master_t *m)
{
    rkb_scheduler_counts_t counts;
    rkb_scheduler_counts(m->scheduler, &counts);
    uint32_t lost = 0, working = 0;
    for (int i = 0; i < m->size; i++) {
        bool out = m->ranks[i].failed || m->ranks[i].lost;
        lost += out;
        working += m->ranks[i].ready && !out;
    }
    return (rkb_progress_state_t){.done = m->done,
                                  .total = m->total,
                                  .cost_left = counts.cost_left,
                                  .ranks = working,
                                  .lost = lost,
                                  .draining = m->draining};
}

void __attribute__((format(printf, 2, 3))) rkb_master_say(rkb_master_t *m, const char *fmt, ...)
{
    va_list ap;
    rkb_progress_clear(m->progress);
    fputs("rkb-mpi: ", m->params.err);
    va_start(ap, fmt);
    vfprintf(m->params.err, fmt, ap);
    va_end(ap);
    fputc('\n', m->params.err);
}

void rkb_master_fail(rkb_master_t *m, const rkb_error_t *cause, double now)
{
    if (m->error.status == RKB_OK) {
        m->error = *cause;
    }
    rkb_master_raise(m, ON_FAILURE, now);
}

/* ---- the plan ---- */

static rkb_status_t plan_item(void *context, const char *key, const rkb_item_info_t *info,
                              const cJSON *payload, rkb_error_t *err)
{
    rkb_master_t *m = context;
    bool added, done;
    rkb_status_t status = rkb_keyset_add(m->planned, key, &added, err);
    if (status != RKB_OK || !added) {
        return status; /* two items with one key are one item */
    }
    m->total++;
    status = rkb_run_is_done(m->run, key, &done, err);
    if (status != RKB_OK || done) {
        m->done += status == RKB_OK;
        return status;
    }
    char *text = rkb_json_print_line(payload);
    uint32_t item;
    status = text != NULL ? rkb_item_store_add(m->items, key, text, err)
                          : rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for the plan");
    free(text);
    return status == RKB_OK ? rkb_scheduler_add_item(m->scheduler, info, &item, err) : status;
}

static rkb_status_t plan_notice(void *context, const cJSON *notice, rkb_error_t *err)
{
    (void)err;
    rkb_master_t *m = context;
    cJSON_AddItemToArray(m->notices, cJSON_Duplicate(notice, true));
    return RKB_OK;
}

/* The plan is whole. Only now may anybody work: a resumed run has to be the same run first. */
static void begin(rkb_master_t *m, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (m->total == 0) {
        rkb_error_set(&err, RKB_ERR_NOT_FOUND, "there is nothing to judge");
        rkb_master_fail(m, &err, now);
        return;
    }
    if (rkb_run_begin(m->run, rkb_planner_result(m->planner), rkb_planner_facts(m->planner),
                      (uint32_t)m->total, &err) != RKB_OK) {
        rkb_master_fail(m, &err, now);
        return;
    }
    m->begun = true;
    rkb_planner_destroy(m->planner);
    m->planner = NULL;
    const cJSON *notice;
    cJSON_ArrayForEach(notice, m->notices)
    {
        rkb_master_write_notice(m, notice, now);
    }
    rkb_master_say(m, "%" PRIu64 " items into %s, seed %s%s", m->total, rkb_run_folder(m->run),
                   rkb_message_text(rkb_run_options(m->run), "seed"),
                   rkb_run_is_resumed(m->run) ? ", resumed" : "");
    if (m->done > 0) {
        rkb_master_say(m, "%" PRIu64 " of them are done already", m->done);
    }
    for (int i = 0; i < m->size && m->state == STATE_JUDGING; i++) {
        if (m->ranks[i].ready && !m->ranks[i].lost && !m->ranks[i].failed) {
            rkb_master_enlist(m, i, now);
        }
    }
    rkb_scheduler_plan_done(m->scheduler);
    rkb_master_act(m, now);
}

/* ---- the end ---- */

static void dismiss(rkb_master_t *m, double now)
{
    rkb_planner_destroy(m->planner);
    m->planner = NULL;
    rkb_master_flush_acks(m, now);
    for (int i = 0; i < m->size; i++) {
        rkb_master_send_stop(m, i, true, now);
    }
    m->closing_deadline = now + dismissal_limit;
}

static void await_gone(rkb_master_t *m, double now)
{
    rkb_master_flush_acks(m, now);
    for (int i = 0; i < m->size; i++) {
        /* The scheduler has told the others. */
        if (m->ranks[i].failed && !m->ranks[i].gone) {
            rkb_master_send_stop(m, i, false, now);
        }
    }
    m->closing_deadline = now + closing_limit;
}

static void conclude(rkb_master_t *m)
{
    bool healthy = true;
    for (int i = 0; i < m->size; i++) {
        healthy = healthy && m->ranks[i].gone;
    }
    rkb_progress_state_t state = progress_state(m);
    if (m->begun && strcmp(m->params.command->progress, "never") != 0) {
        rkb_progress_end(m->progress, &state, rkb_clock_now());
    }
    rkb_conclusion_t conclusion = {.run = m->run,
                                   .command = m->params.command,
                                   .error = &m->error,
                                   .begun = m->begun,
                                   .complete = m->complete,
                                   .draining = m->draining,
                                   .done = m->done,
                                   .total = m->total,
                                   .wall = rkb_clock_now() - m->started,
                                   .out = m->params.out,
                                   .err = m->params.err};
    int code = rkb_conclude(&conclusion);
    for (int i = 0; i < m->size; i++) {
        cJSON *message = rkb_message_create("exit");
        rkb_message_add_number(message, "code", code);
        rkb_message_add_bool(message, "finalize", healthy);
        if (rkb_master_can_reach(m, i)) {
            (void)rkb_message_send(m->params.transport, i, message, NULL);
        } else {
            cJSON_Delete(message);
        }
    }
}

void rkb_master_raise(rkb_master_t *m, event_t event, double now)
{
    const rkb_life_row_t *row = rkb_life_find(&life, (int)m->state, (int)event);
    if (row == NULL) {
        return;
    }
    m->state = (state_t)row->next;
    switch ((action_t)row->action) {
    case DO_BEGIN:
        begin(m, now);
        break;
    case DO_DISMISS:
        dismiss(m, now);
        break;
    case DO_AWAIT_GONE:
        await_gone(m, now);
        break;
    case DO_DRAIN_WORKERS:
        rkb_scheduler_drain(m->scheduler);
        rkb_master_act(m, now);
        break;
    case DO_CONCLUDE:
        conclude(m);
        break;
    case ACTION_COUNT:
        break;
    }
}

void rkb_master_drain(rkb_master_t *m, bool at_once, double now)
{
    if (m->state == STATE_OVER || m->stopping || (m->draining && !at_once)) {
        return; /* a launcher tells all ranks, and each of them tells us */
    }
    m->draining = true;
    m->stopping = at_once;
    if (at_once) {
        rkb_master_say(m, "stopping at once");
        rkb_master_raise(m, ON_DRAIN_NOW, now);
    } else {
        rkb_master_say(m, "draining: what runs is finished; a second signal stops at once");
        rkb_master_raise(m, ON_DRAIN, now);
    }
}

static bool all_gone(const rkb_master_t *m)
{
    for (int i = 0; i < m->size; i++) {
        if (!m->ranks[i].gone && rkb_master_can_reach(m, i)) {
            return false;
        }
    }
    return true;
}

static void keep_alive(rkb_master_t *m, double now)
{
    if (now >= m->next_alive) {
        m->next_alive = now + alive_every;
        for (int i = 1; i < m->size; i++) {
            rkb_master_send(m, i, rkb_message_create("alive"), now);
        }
    }
    if (now >= m->next_tick) {
        m->next_tick = now + tick_every;
        (void)rkb_scheduler_heartbeat(m->scheduler, 0, now, NULL);
        rkb_scheduler_tick(m->scheduler, now);
        rkb_master_act(m, now);
    }
}

static bool step_plan(rkb_master_t *m, double now)
{
    bool busy = false;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_planner_step(m->planner, now, &busy, &err) != RKB_OK) {
        rkb_master_fail(m, &err, now);
        return true;
    }
    if (rkb_planner_result(m->planner) != NULL) {
        rkb_master_raise(m, ON_PLANNED, now);
        return true;
    }
    return busy;
}

bool rkb_master_step(rkb_master_t *m, double now)
{
    bool busy = false;
    if (m->state == STATE_OVER) {
        return false;
    }
    keep_alive(m, now);
    if (m->state == STATE_PLANNING) {
        busy = step_plan(m, now);
    }
    if (m->ack_count > 0 && now - m->acks_since >= sync_every) {
        rkb_master_flush_acks(m, now);
        busy = true;
    }
    if (m->state == STATE_JUDGING && strcmp(m->params.command->progress, "never") != 0 &&
        rkb_progress_is_due(m->progress, rkb_clock_now())) {
        rkb_progress_state_t state = progress_state(m);
        rkb_progress_show(m->progress, &state, rkb_clock_now());
    }
    if (m->state == STATE_CLOSING && (all_gone(m) || now > m->closing_deadline)) {
        rkb_master_raise(m, ON_ALL_GONE, now);
        busy = true;
    }
    return busy;
}

int rkb_master_watch(const rkb_master_t *m, struct pollfd *fds)
{
    return m->planner != NULL ? rkb_planner_watch(m->planner, fds) : 0;
}

/* ---- the beginning ---- */

static void count_earlier(void *context, const char *verdict)
{
    rkb_master_t *m = context;
    rkb_progress_count(m->progress, verdict, true);
    m->done++;
}

static rkb_status_t open_run(rkb_master_t *m, double now, rkb_error_t *err)
{
    const rkb_master_params_t *p = &m->params;
    rkb_run_params_t run = {.command = p->command,
                            .argc = p->argc,
                            .argv = p->argv,
                            .mpi_version = p->mpi_version,
                            .evaluator = p->evaluator_replaced ? p->evaluator : NULL,
                            .verdict = count_earlier,
                            .context = m,
                            .err = p->err};
    rkb_status_t status = rkb_run_open(&run, &m->run, err);
    if (status != RKB_OK) {
        return status;
    }
    m->complete = rkb_run_is_complete(m->run);
    if (m->complete) {
        m->total = m->done;
        return RKB_OK;
    }
    m->done = 0; /* counted by the plan: only keys that it has */
    status = rkb_item_store_create(rkb_run_folder(m->run), &m->items, err);
    if (status != RKB_OK) {
        return status;
    }
    char *logs = rkb_strf("%s/logs", rkb_run_folder(m->run));
    cJSON *hello = rkb_settings_hello(rkb_run_options(m->run), logs);
    free(logs);
    rkb_plan_sink_t sink = {.item = plan_item, .notice = plan_notice, .context = m};
    status = rkb_planner_create(p->evaluator, cJSON_Duplicate(hello, true),
                                rkb_settings_plan(rkb_run_options(m->run)), now, &sink, &m->planner,
                                err);
    for (int i = 0; status == RKB_OK && i < m->size; i++) {
        cJSON *message = rkb_message_create("start");
        rkb_message_add_number(message, "protocol", RKB_DRIVER_PROTOCOL);
        rkb_message_add_text(message, "version", RKB_VERSION);
        rkb_message_add_number(message, "item_limit",
                               rkb_settings_item_limit(rkb_run_options(m->run)));
        rkb_message_add(message, "hello", cJSON_Duplicate(hello, true));
        status = rkb_message_send(p->transport, i, message, err);
    }
    cJSON_Delete(hello);
    return status;
}

rkb_master_t *rkb_master_create(const rkb_master_params_t *params, const rkb_error_t *problem,
                                double now)
{
    rkb_master_t *m = rkb_xcalloc(1, sizeof(*m));
    m->params = *params;
    m->state = STATE_PLANNING;
    m->size = params->transport->ops->size(params->transport);
    m->ranks = rkb_xcalloc((size_t)m->size, sizeof(*m->ranks));
    m->planned = rkb_keyset_create();
    m->notices = cJSON_CreateArray();
    m->started = rkb_clock_now();
    m->next_alive = now + alive_every;
    m->progress = rkb_progress_create(params->err, rkb_terminal_width(params->err) > 0);
    rkb_scheduler_params_t schedule = {.workers = m->size, .lease_grace = params->lease_grace};
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_status_t status = rkb_scheduler_create(&schedule, &m->scheduler, &err);
    if (status != RKB_OK) {
        fputs("rkb-mpi: out of memory\n", stderr);
        abort(); /* before anything was done */
    }
    if (problem != NULL) {
        err = *problem;
        status = problem->status;
    } else {
        if (params->evaluator_replaced) {
            rkb_master_say(m, "RKB_EVALUATOR is set: verdicts come from %s, not from rkb",
                           params->evaluator[0]);
        }
        status = open_run(m, now, &err);
    }
    if (status != RKB_OK) {
        rkb_master_fail(m, &err, now);
    } else if (m->complete) {
        rkb_master_raise(m, ON_COMPLETE, now);
    }
    return m;
}

void rkb_master_destroy(rkb_master_t *m)
{
    if (m == NULL) {
        return;
    }
    rkb_planner_destroy(m->planner);
    rkb_scheduler_destroy(m->scheduler);
    rkb_item_store_destroy(m->items);
    rkb_run_close(m->run);
    rkb_keyset_destroy(m->planned);
    rkb_progress_destroy(m->progress);
    cJSON_Delete(m->notices);
    for (int i = 0; i < m->size; i++) {
        free(m->ranks[i].host);
        cJSON_Delete(m->ranks[i].facts);
    }
    free(m->ranks);
    free(m->first_failure);
    free(m);
}

char *rkb_master_explain(void)
{
    return rkb_life_draw(&life);
}
