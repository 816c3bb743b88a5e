#include "mpi_driver/master_internal.h"

#include "common/file.h"
#include "mpi_driver/message.h"

#include <stdlib.h>
#include <string.h>

enum { PAYLOAD_MAX = RKB_MESSAGE_MAX - 256 };

void rkb_master_flush_acks(rkb_master_t *m, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (m->ack_count == 0) {
        return;
    }
    int count = m->ack_count;
    m->ack_count = 0;
    if (rkb_run_sync(m->run, &err) != RKB_OK) {
        rkb_master_fail(m, &err, now);
        return;
    }
    for (int i = 0; i < count; i++) {
        cJSON *message = rkb_message_create("ack");
        rkb_message_add_number(message, "item", m->acks[i].item);
        rkb_message_add_number(message, "attempt", m->acks[i].attempt);
        rkb_master_send(m, m->acks[i].rank, message, now);
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
        rkb_master_flush_acks(m, now);
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
        rkb_master_fail(m, &err, now);
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
        rkb_master_fail(m, &err, now);
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
    rkb_master_send(m, action->worker, message, now);
}

static void on_drop(rkb_master_t *m, const rkb_action_t *action, double now)
{
    if (m->messages_shown++ < MESSAGES_SHOWN) {
        rkb_master_say(m, "a late result of item %u, attempt %u, from rank %d is dropped",
                       action->item, action->attempt, action->worker);
    }
    ack_later(m, action, now); /* else the rank would send it for ever */
}

static void on_lost(rkb_master_t *m, int rank, double now)
{
    if (!m->ranks[rank].gone) {
        m->ranks[rank].lost = true;
        rkb_master_report_rank(m, rank, "rank_lost", "lost: it has been silent for too long", now);
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
        rkb_master_fail(m, &err, now);
    } else if (!done && !m->draining) {
        rkb_error_set(&err, RKB_ERR_LOST, "no rank is left that can work");
        rkb_master_fail(m, &err, now);
    }
    rkb_master_raise(m, ON_FINISHED, now);
}

void rkb_master_act(rkb_master_t *m, double now)
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
            rkb_master_send_stop(m, action.worker, false, now);
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
