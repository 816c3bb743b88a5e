#include "mpi_driver/master_internal.h"

#include "common/file.h"
#include "mpi_driver/message.h"

#include <stdlib.h>
#include <string.h>

bool rkb_master_can_reach(const rkb_master_t *m, int rank)
{
    return !m->ranks[rank].lost || m->ranks[rank].returned;
}

void rkb_master_send(rkb_master_t *m, int rank, cJSON *message, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (!rkb_master_can_reach(m, rank)) {
        cJSON_Delete(message);
    } else if (rkb_message_send(m->params.transport, rank, message, &err) != RKB_OK) {
        rkb_master_fail(m, &err, now);
    }
}

void rkb_master_send_stop(rkb_master_t *m, int rank, bool at_once, double now)
{
    cJSON *message = rkb_message_create("stop");
    rkb_message_add_bool(message, "now", at_once);
    rkb_master_send(m, rank, message, now);
}

/* ---- what the report and the person should know ---- */

void rkb_master_write_notice(rkb_master_t *m, const cJSON *notice, double now)
{
    const char *text = rkb_message_text(notice, "text");
    rkb_error_t err = RKB_ERROR_INIT;
    if (text != NULL &&
        rkb_run_add_notice(m->run, rkb_message_text(notice, "kind"),
                           rkb_message_text(notice, "path"), text, &err) != RKB_OK) {
        rkb_master_fail(m, &err, now);
    }
}

/* Takes notice over; before the journal is there it waits. */
static void add_notice(rkb_master_t *m, cJSON *notice, double now)
{
    if (m->begun) {
        rkb_master_write_notice(m, notice, now);
        cJSON_Delete(notice);
    } else {
        cJSON_AddItemToArray(m->notices, notice);
    }
}

void rkb_master_report_rank(rkb_master_t *m, int rank, const char *kind, const char *text,
                            double now)
{
    char *whole = rkb_strf("rank %d%s%s: %s", rank, m->ranks[rank].host != NULL ? " on " : "",
                           m->ranks[rank].host != NULL ? m->ranks[rank].host : "", text);
    cJSON *notice = rkb_message_create("notice");
    rkb_message_add_text(notice, "kind", kind);
    rkb_message_add_text(notice, "path", NULL);
    rkb_message_add_text(notice, "text", whole);
    add_notice(m, notice, now);
    if (m->messages_shown++ < MESSAGES_SHOWN) {
        rkb_master_say(m, "%s", whole);
    } else if (m->messages_shown == MESSAGES_SHOWN + 1) {
        rkb_master_say(m, "further messages about ranks are in the journal");
    }
    free(whole);
}

void rkb_master_enlist(rkb_master_t *m, int rank, double now)
{
    rank_t *r = &m->ranks[rank];
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_run_add_rank(m->run, rank, r->host, r->facts, &err) != RKB_OK) {
        rkb_master_fail(m, &err, now);
        return;
    }
    cJSON_Delete(r->facts);
    r->facts = NULL;
    if (rkb_scheduler_worker_ready(m->scheduler, rank, now, &err) != RKB_OK) {
        rkb_master_say(m, "%s", err.text);
    }
    rkb_master_act(m, now);
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
        rkb_master_enlist(m, rank, now);
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
    rkb_master_report_rank(m, rank, "rank_failed",
                           text != NULL ? text : "its evaluator cannot start", now);
    (void)rkb_scheduler_worker_lost(m->scheduler, rank, now, NULL);
    rkb_master_act(m, now);
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
        rkb_master_say(m, "rank %d sent a result without item and attempt; it is ignored", rank);
        return;
    }
    m->incoming = cJSON_GetObjectItemCaseSensitive(message, "result");
    m->incoming_item = (uint32_t)item->valuedouble;
    if (rkb_scheduler_result(m->scheduler, rank, m->incoming_item, (uint32_t)attempt->valuedouble,
                             now, &err) != RKB_OK) {
        rkb_master_say(m, "%s; it is ignored", err.text);
    }
    rkb_master_act(m, now);
    m->incoming = NULL;
}

static void on_gone(rkb_master_t *m, int rank, double now)
{
    m->ranks[rank].gone = true;
    if (m->state == STATE_JUDGING) {
        /* Told to stop, it has finished what ran and gives back what it had prefetched. */
        (void)rkb_scheduler_worker_lost(m->scheduler, rank, now, NULL);
        rkb_master_act(m, now);
    }
}

void rkb_master_message(rkb_master_t *m, int source, const cJSON *message, double now)
{
    const char *op = rkb_message_op(message);
    rank_t *rank = &m->ranks[source];
    if (rank->lost && !rank->returned) {
        rank->returned = true;
        rkb_master_report_rank(m, source, "rank_returned",
                               "is back; it was given up and gets no more work", now);
        rkb_master_send_stop(m, source, true, now);
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
        rkb_master_drain(m, cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "now")), now);
    } else if (strcmp(op, "beat") != 0) {
        rkb_master_say(m, "rank %d sent an unknown message \"%.32s\"", source, op);
    }
}
