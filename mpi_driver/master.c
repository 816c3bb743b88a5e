#include "mpi_driver/master.h"

#include "common/clock.h"
#include "common/file.h"
#include "mpi_driver/item_store.h"
#include "mpi_driver/master_report.h"
#include "mpi_driver/message.h"
#include "mpi_driver/planner.h"
#include "mpi_driver/progress.h"
#include "mpi_driver/scheduler.h"
#include "results/keyset.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The life of a run. A pair without a row is ignored. */
#define STATES(X) X(PLANNING) X(JUDGING) X(CLOSING) X(OVER)
#define EVENTS(X) X(PLANNED) X(COMPLETE) X(FINISHED) X(FAILURE) X(DRAIN) X(DRAIN_NOW) X(ALL_GONE)
#define ACTIONS(X) X(BEGIN) X(DISMISS) X(AWAIT_GONE) X(DRAIN_WORKERS) X(CONCLUDE)

#define STATE_NAME(_name) STATE_##_name,
#define ON_NAME(_name) ON_##_name,
#define DO_NAME(_name) DO_##_name,
typedef enum { STATES(STATE_NAME) STATE_COUNT } state_t;
typedef enum { EVENTS(ON_NAME) EVENT_COUNT } event_t;
typedef enum { ACTIONS(DO_NAME) ACTION_COUNT } action_t;

static const struct row {
    state_t state;
    event_t event;
    state_t next;
    action_t action;
} table[] = {
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

enum { ACKS_PER_SYNC = 64, MESSAGES_SHOWN = 10, PAYLOAD_MAX = RKB_MESSAGE_MAX - 256 };
static const double sync_every = 0.05;
static const double alive_every = 10;
static const double tick_every = 0.25;
static const double closing_limit = 25; /* more than a worker gives its evaluator */
static const double dismissal_limit = 5;

typedef struct {
    char *host;
    cJSON *facts; /* until the journal has them */
    bool ready, failed, lost, returned, gone;
} rank_t;

typedef struct {
    int rank;
    uint32_t item, attempt;
} ack_t;

struct rkb_master {
    rkb_master_params_t params;
    state_t state;
    rkb_run_t *run;
    rkb_planner_t *planner;
    rkb_scheduler_t *scheduler;
    rkb_item_store_t *items;
    rkb_keyset_t *planned; /* keys met in the plan */
    rkb_progress_t *progress;
    cJSON *notices; /* that wait for the journal */
    rank_t *ranks;
    int size;
    uint64_t total, done;  /* items, those of earlier sittings included */
    const cJSON *incoming; /* result that the scheduler is asked about */
    uint32_t incoming_item;
    ack_t acks[ACKS_PER_SYNC];
    int ack_count;
    double acks_since;
    bool begun, draining, complete;
    int messages_shown;
    rkb_error_t error;   /* what ended the run, if anything did */
    char *first_failure; /* of a rank that could not start */
    double started;      /* rkb_clock_now() */
    double next_alive, next_tick, closing_deadline;
};

static void raise_event(rkb_master_t *m, event_t event, double now);
static void perform_actions(rkb_master_t *m, double now);

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

static void __attribute__((format(printf, 2, 3))) say(rkb_master_t *m, const char *fmt, ...)
{
    va_list ap;
    rkb_progress_clear(m->progress);
    fputs("rkb-mpi: ", m->params.err);
    va_start(ap, fmt);
    vfprintf(m->params.err, fmt, ap);
    va_end(ap);
    fputc('\n', m->params.err);
}

/* The first cause counts; what follows from it is not news. */
static void fail(rkb_master_t *m, const rkb_error_t *cause, double now)
{
    if (m->error.status == RKB_OK) {
        m->error = *cause;
    }
    raise_event(m, ON_FAILURE, now);
}

static bool reachable(const rkb_master_t *m, int rank)
{
    return !m->ranks[rank].lost || m->ranks[rank].returned;
}

static void send_to(rkb_master_t *m, int rank, cJSON *message, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (!reachable(m, rank)) {
        cJSON_Delete(message);
    } else if (rkb_message_send(m->params.transport, rank, message, &err) != RKB_OK) {
        fail(m, &err, now);
    }
}

static void send_stop(rkb_master_t *m, int rank, bool at_once, double now)
{
    cJSON *message = rkb_message_create("stop");
    rkb_message_add_bool(message, "now", at_once);
    send_to(m, rank, message, now);
}

/* ---- what the report and the person should know ---- */

static void write_notice(rkb_master_t *m, const cJSON *notice, double now)
{
    const char *text = rkb_message_text(notice, "text");
    rkb_error_t err = RKB_ERROR_INIT;
    if (text != NULL &&
        rkb_run_add_notice(m->run, rkb_message_text(notice, "kind"),
                           rkb_message_text(notice, "path"), text, &err) != RKB_OK) {
        fail(m, &err, now);
    }
}

/* Takes notice over; before the journal is there it waits. */
static void add_notice(rkb_master_t *m, cJSON *notice, double now)
{
    if (m->begun) {
        write_notice(m, notice, now);
        cJSON_Delete(notice);
    } else {
        cJSON_AddItemToArray(m->notices, notice);
    }
}

static void report_rank(rkb_master_t *m, int rank, const char *kind, const char *text, double now)
{
    char *whole = rkb_strf("rank %d%s%s: %s", rank, m->ranks[rank].host != NULL ? " on " : "",
                           m->ranks[rank].host != NULL ? m->ranks[rank].host : "", text);
    cJSON *notice = rkb_message_create("notice");
    rkb_message_add_text(notice, "kind", kind);
    rkb_message_add_text(notice, "path", NULL);
    rkb_message_add_text(notice, "text", whole);
    add_notice(m, notice, now);
    if (m->messages_shown++ < MESSAGES_SHOWN) {
        say(m, "%s", whole);
    } else if (m->messages_shown == MESSAGES_SHOWN + 1) {
        say(m, "further messages about ranks are in the journal");
    }
    free(whole);
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

static void enlist(rkb_master_t *m, int rank, double now)
{
    rank_t *r = &m->ranks[rank];
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_run_add_rank(m->run, rank, r->host, r->facts, &err) != RKB_OK) {
        fail(m, &err, now);
        return;
    }
    cJSON_Delete(r->facts);
    r->facts = NULL;
    if (rkb_scheduler_worker_ready(m->scheduler, rank, now, &err) != RKB_OK) {
        say(m, "%s", err.text);
    }
    perform_actions(m, now);
}

/* The plan is whole. Only now may anybody work: a resumed run has to be the same run first. */
static void begin(rkb_master_t *m, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (m->total == 0) {
        rkb_error_set(&err, RKB_ERR_NOT_FOUND, "there is nothing to judge");
        fail(m, &err, now);
        return;
    }
    if (m->total > UINT32_MAX ||
        rkb_run_begin(m->run, rkb_planner_result(m->planner), rkb_planner_facts(m->planner),
                      (uint32_t)m->total, &err) != RKB_OK) {
        fail(m, &err, now);
        return;
    }
    m->begun = true;
    rkb_planner_destroy(m->planner);
    m->planner = NULL;
    const cJSON *notice;
    cJSON_ArrayForEach(notice, m->notices)
    {
        write_notice(m, notice, now);
    }
    say(m, "%" PRIu64 " items into %s, seed %s%s", m->total, rkb_run_folder(m->run),
        rkb_message_text(rkb_run_options(m->run), "seed"),
        rkb_run_is_resumed(m->run) ? ", resumed" : "");
    if (m->done > 0) {
        say(m, "%" PRIu64 " of them are done already", m->done);
    }
    for (int i = 0; i < m->size && m->state == STATE_JUDGING; i++) {
        if (m->ranks[i].ready && !m->ranks[i].lost && !m->ranks[i].failed) {
            enlist(m, i, now);
        }
    }
    rkb_scheduler_plan_done(m->scheduler);
    perform_actions(m, now);
}

/* ---- results ---- */

static void flush_acks(rkb_master_t *m, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (m->ack_count == 0) {
        return;
    }
    int count = m->ack_count;
    m->ack_count = 0;
    if (rkb_run_sync(m->run, &err) != RKB_OK) {
        fail(m, &err, now);
        return;
    }
    for (int i = 0; i < count; i++) {
        cJSON *message = rkb_message_create("ack");
        rkb_message_add_number(message, "item", m->acks[i].item);
        rkb_message_add_number(message, "attempt", m->acks[i].attempt);
        send_to(m, m->acks[i].rank, message, now);
    }
}

/* An ack follows when the journal is on the disk; many share one sync. */
static void ack_later(rkb_master_t *m, const rkb_action_t *action, double now)
{
    if (m->ack_count == 0) {
        m->acks_since = now;
    }
    m->acks[m->ack_count++] =
        (ack_t){.rank = action->worker, .item = action->item, .attempt = action->attempt};
    if (m->ack_count == ACKS_PER_SYNC) {
        flush_acks(m, now);
    }
}

/* result: NULL for one that the driver itself has to write. */
static bool record(rkb_master_t *m, const rkb_action_t *action, const cJSON *result,
                   const char *verdict, const char *detail, double now)
{
    const char *key, *payload;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_status_t status = rkb_item_store_get(m->items, action->item, &key, &payload, &err);
    cJSON *own = NULL;
    if (status == RKB_OK && result == NULL) {
        cJSON *parsed = cJSON_Parse(payload);
        result = own = rkb_result_create(parsed, verdict, detail);
        cJSON_Delete(parsed);
    }
    if (status == RKB_OK) {
        verdict = rkb_result_verdict(result);
        status = rkb_run_add_result(m->run, key, action->attempt, action->worker, result, &err);
    }
    if (status == RKB_OK) {
        m->done++;
        rkb_progress_count(m->progress, verdict, false);
    } else {
        fail(m, &err, now);
    }
    cJSON_Delete(own);
    return status == RKB_OK;
}

static void on_record(rkb_master_t *m, const rkb_action_t *action, double now)
{
    bool mine = m->incoming == NULL || m->incoming_item != action->item;
    bool valid = !mine && rkb_result_verdict(m->incoming) != NULL;
    const char *detail = mine ? "its description is longer than the driver can send to a rank"
                              : "the rank sent a result without a verdict";
    if (record(m, action, valid ? m->incoming : NULL, "infra_error", detail, now)) {
        ack_later(m, action, now);
    }
}

static void on_crashed(rkb_master_t *m, const rkb_action_t *action, double now)
{
    char *detail = rkb_strf("each of the ranks that judged it was lost meanwhile, the last of them "
                            "rank %d in attempt %u; it is not tried again",
                            action->worker, action->attempt);
    (void)record(m, action, NULL, "crash", detail, now);
    free(detail);
}

static void on_assign(rkb_master_t *m, const rkb_action_t *action, double now)
{
    const char *key, *payload;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_item_store_get(m->items, action->item, &key, &payload, &err) != RKB_OK) {
        fail(m, &err, now);
        return;
    }
    if (strlen(payload) > PAYLOAD_MAX) {
        (void)rkb_scheduler_result(m->scheduler, action->worker, action->item, action->attempt, now,
                                   NULL);
        return;
    }
    cJSON *message = rkb_message_create("assign");
    rkb_message_add_number(message, "item", action->item);
    rkb_message_add_number(message, "attempt", action->attempt);
    rkb_message_add(message, "payload", cJSON_CreateRaw(payload));
    send_to(m, action->worker, message, now);
}

static void on_drop(rkb_master_t *m, const rkb_action_t *action, double now)
{
    if (m->messages_shown++ < MESSAGES_SHOWN) {
        say(m, "a late result of item %u, attempt %u, from rank %d is dropped", action->item,
            action->attempt, action->worker);
    }
    ack_later(m, action, now); /* else the rank would send it for ever */
}

static void on_lost(rkb_master_t *m, int rank, double now)
{
    if (!m->ranks[rank].gone) {
        m->ranks[rank].lost = true;
        report_rank(m, rank, "rank_lost", "lost: it has been silent for too long", now);
    }
}

/* Without any rank the run is over, too. */
static void on_finished(rkb_master_t *m, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    bool any = false;
    for (int i = 0; i < m->size; i++) {
        any = any || m->ranks[i].ready;
    }
    bool done = m->begun && m->done == m->total;
    if (!done && !m->draining && !any) {
        rkb_error_set(&err, RKB_ERR_NO_DEVICE, "none of %d rank%s can work: %s", m->size,
                      m->size == 1 ? "" : "s",
                      m->first_failure != NULL ? m->first_failure : "all were lost");
        fail(m, &err, now);
    } else if (!done && !m->draining) {
        rkb_error_set(&err, RKB_ERR_LOST, "no rank is left that can work");
        fail(m, &err, now);
    }
    raise_event(m, ON_FINISHED, now);
}

static void perform_actions(rkb_master_t *m, double now)
{
    rkb_action_t action;
    while ((m->state == STATE_JUDGING || m->state == STATE_PLANNING) &&
           rkb_scheduler_next_action(m->scheduler, &action)) {
        switch (action.kind) {
        case RKB_ACT_ASSIGN:
            on_assign(m, &action, now);
            break;
        case RKB_ACT_RECORD:
            on_record(m, &action, now);
            break;
        case RKB_ACT_DROP:
            on_drop(m, &action, now);
            break;
        case RKB_ACT_CRASHED:
            on_crashed(m, &action, now);
            break;
        case RKB_ACT_STOP:
            send_stop(m, action.worker, false, now);
            break;
        case RKB_ACT_LOST:
            on_lost(m, action.worker, now);
            break;
        case RKB_ACT_FINISHED:
            on_finished(m, now);
            break;
        }
    }
}

/* ---- messages ---- */

static void on_ready(rkb_master_t *m, int rank, const cJSON *message, double now)
{
    rank_t *r = &m->ranks[rank];
    const char *host = rkb_message_text(message, "host");
    const cJSON *facts = cJSON_GetObjectItemCaseSensitive(message, "facts");
    if (r->ready || r->failed || r->lost) {
        return;
    }
    r->host = rkb_xstrdup(host != NULL ? host : "?");
    r->facts = cJSON_IsObject(facts) ? cJSON_Duplicate(facts, true) : NULL;
    r->ready = true;
    if (m->state == STATE_JUDGING) {
        enlist(m, rank, now);
    }
}

static void on_failed(rkb_master_t *m, int rank, const cJSON *message, double now)
{
    const char *text = rkb_message_text(message, "text");
    if (m->ranks[rank].failed || m->ranks[rank].lost) {
        return;
    }
    m->ranks[rank].failed = true;
    if (m->first_failure == NULL) {
        m->first_failure = rkb_xstrdup(text != NULL ? text : "no reason was given");
    }
    report_rank(m, rank, "rank_failed", text != NULL ? text : "its evaluator cannot start", now);
    (void)rkb_scheduler_worker_lost(m->scheduler, rank, now, NULL);
    perform_actions(m, now);
}

static void on_result(rkb_master_t *m, int rank, const cJSON *message, double now)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(message, "item");
    const cJSON *attempt = cJSON_GetObjectItemCaseSensitive(message, "attempt");
    rkb_error_t err = RKB_ERROR_INIT;
    if (m->state != STATE_JUDGING) {
        return; /* the run has ended without it */
    }
    if (!cJSON_IsNumber(item) || !cJSON_IsNumber(attempt) || item->valuedouble < 0 ||
        item->valuedouble >= UINT32_MAX || attempt->valuedouble < 1 ||
        attempt->valuedouble >= UINT32_MAX) {
        say(m, "rank %d sent a result without item and attempt; it is ignored", rank);
        return;
    }
    m->incoming = cJSON_GetObjectItemCaseSensitive(message, "result");
    m->incoming_item = (uint32_t)item->valuedouble;
    if (rkb_scheduler_result(m->scheduler, rank, m->incoming_item, (uint32_t)attempt->valuedouble,
                             now, &err) != RKB_OK) {
        say(m, "%s; it is ignored", err.text);
    }
    perform_actions(m, now);
    m->incoming = NULL;
}

static void on_gone(rkb_master_t *m, int rank, double now)
{
    m->ranks[rank].gone = true;
    if (m->state == STATE_JUDGING) {
        /* Told to stop, it has finished what ran and gives back what it had prefetched. */
        (void)rkb_scheduler_worker_lost(m->scheduler, rank, now, NULL);
        perform_actions(m, now);
    }
}

void rkb_master_message(rkb_master_t *m, int source, const cJSON *message, double now)
{
    const char *op = rkb_message_op(message);
    rank_t *rank = &m->ranks[source];
    if (rank->lost && !rank->returned) {
        rank->returned = true;
        report_rank(m, source, "rank_returned", "is back; it was given up and gets no more work",
                    now);
        send_stop(m, source, true, now);
    }
    (void)rkb_scheduler_heartbeat(m->scheduler, source, now, NULL);
    if (strcmp(op, "ready") == 0) {
        on_ready(m, source, message, now);
    } else if (strcmp(op, "failed") == 0) {
        on_failed(m, source, message, now);
    } else if (strcmp(op, "result") == 0) {
        on_result(m, source, message, now);
    } else if (strcmp(op, "gone") == 0) {
        on_gone(m, source, now);
    } else if (strcmp(op, "drain") == 0) {
        if (!m->draining) {
            rkb_master_drain(m, false, now);
        }
    } else if (strcmp(op, "beat") != 0) {
        say(m, "rank %d sent an unknown message \"%.32s\"", source, op);
    }
}

/* ---- the end ---- */

static void dismiss(rkb_master_t *m, double now)
{
    rkb_planner_destroy(m->planner);
    m->planner = NULL;
    flush_acks(m, now);
    for (int i = 0; i < m->size; i++) {
        send_stop(m, i, true, now);
    }
    m->closing_deadline = now + dismissal_limit;
}

static void await_gone(rkb_master_t *m, double now)
{
    flush_acks(m, now);
    for (int i = 0; i < m->size; i++) {
        /* The scheduler has told the others. */
        if (m->ranks[i].failed && !m->ranks[i].gone) {
            send_stop(m, i, false, now);
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
        if (reachable(m, i)) {
            (void)rkb_message_send(m->params.transport, i, message, NULL);
        } else {
            cJSON_Delete(message);
        }
    }
}

static void raise_event(rkb_master_t *m, event_t event, double now)
{
    const struct row *row = NULL;
    for (size_t i = 0; row == NULL && i < sizeof(table) / sizeof(*table); i++) {
        if (table[i].state == m->state && table[i].event == event) {
            row = &table[i];
        }
    }
    if (row == NULL) {
        return;
    }
    m->state = row->next;
    switch (row->action) {
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
        perform_actions(m, now);
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
    m->draining = true;
    if (m->state == STATE_OVER) {
        return;
    }
    if (at_once) {
        say(m, "stopping at once");
        raise_event(m, ON_DRAIN_NOW, now);
    } else {
        say(m, "draining: what runs is finished; a second signal stops at once");
        raise_event(m, ON_DRAIN, now);
    }
}

static bool all_gone(const rkb_master_t *m)
{
    for (int i = 0; i < m->size; i++) {
        if (!m->ranks[i].gone && reachable(m, i)) {
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
            send_to(m, i, rkb_message_create("alive"), now);
        }
    }
    if (now >= m->next_tick) {
        m->next_tick = now + tick_every;
        (void)rkb_scheduler_heartbeat(m->scheduler, 0, now, NULL);
        rkb_scheduler_tick(m->scheduler, now);
        perform_actions(m, now);
    }
}

static bool step_plan(rkb_master_t *m, double now)
{
    bool busy = false;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_planner_step(m->planner, now, &busy, &err) != RKB_OK) {
        fail(m, &err, now);
        return true;
    }
    if (rkb_planner_result(m->planner) != NULL) {
        raise_event(m, ON_PLANNED, now);
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
        flush_acks(m, now);
        busy = true;
    }
    if (m->state == STATE_JUDGING && strcmp(m->params.command->progress, "never") != 0) {
        rkb_progress_state_t state = progress_state(m);
        rkb_progress_show(m->progress, &state, rkb_clock_now());
    }
    if (m->state == STATE_CLOSING && (all_gone(m) || now > m->closing_deadline)) {
        raise_event(m, ON_ALL_GONE, now);
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
    m->progress = rkb_progress_create(params->err, isatty(fileno(params->err)));
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
            say(m, "RKB_EVALUATOR is set: verdicts come from %s, not from rkb",
                params->evaluator[0]);
        }
        status = open_run(m, now, &err);
    }
    if (status != RKB_OK) {
        fail(m, &err, now);
    } else if (m->complete) {
        raise_event(m, ON_COMPLETE, now);
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
#define QUOTED(_name) #_name,
    static const char *const states[] = {STATES(QUOTED)};
    static const char *const events[] = {EVENTS(QUOTED)};
    static const char *const actions[] = {ACTIONS(QUOTED)};
    char *text = rkb_xstrdup("digraph run {\n");
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        char *longer =
            rkb_strf("%s    %s -> %s [label=\"%s / %s\"];\n", text, states[table[i].state],
                     states[table[i].next], events[table[i].event], actions[table[i].action]);
        free(text);
        text = longer;
    }
    char *whole = rkb_strf("%s}\n", text);
    free(text);
    return whole;
}
