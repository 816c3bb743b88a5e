#include "mpi_driver/worker.h"

#include "common/file.h"
#include "common/log.h"
#include "mpi_driver/evaluator_link.h"
#include "mpi_driver/life_cycle.h"
#include "mpi_driver/message.h"
#include "mpi_driver/outbox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The life of a rank's evaluator. A pair without a row is ignored. */
#define STATES(X) X(WAITING) X(STARTING) X(READY) X(JUDGING) X(CLOSING) X(FAILED) X(CLOSED)
#define EVENTS(X) X(START) X(HELLO) X(WORK) X(ANSWER) X(FAULT) X(LAST_FAULT) X(STOP) X(ENDED)
#define ACTIONS(X)                                                                                 \
    X(SPAWN)                                                                                       \
    X(ANNOUNCE)                                                                                    \
    X(GIVE_UP) X(SEND_ITEM) X(RELAY) X(RESPAWN) X(BLAME) X(REMEMBER_STOP) X(SAY_BYE) X(LEAVE)

typedef enum { STATES(RKB_LIFE_STATE) STATE_COUNT } state_t;
typedef enum { EVENTS(RKB_LIFE_EVENT) EVENT_COUNT } event_t;
typedef enum { ACTIONS(RKB_LIFE_ACTION) ACTION_COUNT } action_t;

static const rkb_life_row_t table[] = {
    {STATE_WAITING, ON_START, STATE_STARTING, DO_SPAWN},
    {STATE_WAITING, ON_STOP, STATE_CLOSED, DO_LEAVE},
    {STATE_STARTING, ON_HELLO, STATE_READY, DO_ANNOUNCE},
    {STATE_STARTING, ON_FAULT, STATE_FAILED, DO_GIVE_UP},
    {STATE_STARTING, ON_LAST_FAULT, STATE_FAILED, DO_GIVE_UP},
    {STATE_STARTING, ON_STOP, STATE_CLOSING, DO_SAY_BYE},
    {STATE_READY, ON_WORK, STATE_JUDGING, DO_SEND_ITEM},
    {STATE_READY, ON_FAULT, STATE_STARTING, DO_RESPAWN},
    {STATE_READY, ON_LAST_FAULT, STATE_FAILED, DO_GIVE_UP},
    {STATE_READY, ON_STOP, STATE_CLOSING, DO_SAY_BYE},
    {STATE_JUDGING, ON_ANSWER, STATE_READY, DO_RELAY},
    {STATE_JUDGING, ON_FAULT, STATE_STARTING, DO_BLAME},
    {STATE_JUDGING, ON_LAST_FAULT, STATE_FAILED, DO_GIVE_UP},
    {STATE_JUDGING, ON_STOP, STATE_JUDGING, DO_REMEMBER_STOP},
    {STATE_CLOSING, ON_FAULT, STATE_CLOSED, DO_LEAVE},
    {STATE_CLOSING, ON_LAST_FAULT, STATE_CLOSED, DO_LEAVE},
    {STATE_CLOSING, ON_ENDED, STATE_CLOSED, DO_LEAVE},
    {STATE_FAILED, ON_STOP, STATE_CLOSED, DO_LEAVE},
};

static const char *const states[] = {STATES(RKB_LIFE_NAME)};
static const char *const events[] = {EVENTS(RKB_LIFE_NAME)};
static const char *const actions[] = {ACTIONS(RKB_LIFE_NAME)};
static const rkb_life_cycle_t life = {"evaluator", table,  sizeof(table) / sizeof(*table),
                                      states,      events, actions};

enum {
    OPEN_ITEMS = 2,
    TRIES_PER_ITEM = 2,
    FAULTS_IN_A_ROW = 4 /* then the rank is of no use: it must not eat the items of the others */
};
static const double beat_every = 2;
static const double start_limit = 300; /* libtorch from a busy file server, by a thousand ranks */
static const double bye_limit = 10;
static const double silence_limit = 60;
/* Rank 0 reads the journal of a resumed run before it starts us, and writes the report at the end.
 */
static const double silence_limit_when_idle = 1800;

typedef struct {
    double item, attempt; /* JSON numbers, handed back as they came */
    cJSON *payload;
    int tries;
} open_item_t;

struct rkb_worker {
    rkb_transport_t *transport;
    char *const *evaluator;
    const char *why; /* there is no evaluator */
    int rank;
    state_t state;
    cJSON *hello;      /* what rank 0 wants evaluators to be told */
    double item_limit; /* seconds */
    rkb_evaluator_link_t *link;
    double deadline; /* of the answer that the state waits for */
    open_item_t open[OPEN_ITEMS];
    int open_count;
    double request_id;
    int faults;           /* in a row */
    rkb_outbox_t *outbox; /* results that rank 0 has not acknowledged */
    bool announced, stop_wanted, gone_said, departs;
    rkb_departure_t departure;
    double heard, next_beat;
};

static void raise_event(rkb_worker_t *w, event_t event, const cJSON *answer, const char *why,
                        double now);

static void send_to_master(rkb_worker_t *w, cJSON *message)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_message_send(w->transport, 0, message, &err) != RKB_OK) {
        rkb_error("cannot reach rank 0: %s", err.text);
    }
}

static void send_result(rkb_worker_t *w, const open_item_t *item, cJSON *result, double now)
{
    cJSON *message = rkb_message_create("result");
    rkb_message_add_number(message, "item", item->item);
    rkb_message_add_number(message, "attempt", item->attempt);
    rkb_message_add(message, "result", rkb_result_fit(result, item->payload));
    rkb_outbox_add(w->outbox, item->item, item->attempt, message, now);
}

static void close_first_item(rkb_worker_t *w)
{
    cJSON_Delete(w->open[0].payload);
    w->open[0] = w->open[1];
    w->open[1] = (open_item_t){0};
    w->open_count--;
}

static void drop_items(rkb_worker_t *w)
{
    while (w->open_count > 0) {
        close_first_item(w);
    }
}

static void kill_evaluator(rkb_worker_t *w)
{
    rkb_evaluator_link_destroy(w->link);
    w->link = NULL;
    w->deadline = INFINITY;
}

static void request(rkb_worker_t *w, cJSON *message, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_evaluator_link_send(w->link, message, &err) != RKB_OK) {
        raise_event(w, ON_FAULT, NULL, err.text, now);
    }
}

static void spawn(rkb_worker_t *w, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (w->evaluator == NULL) {
        raise_event(w, ON_LAST_FAULT, NULL, w->why, now);
        return;
    }
    if (rkb_evaluator_link_create(w->evaluator, &w->link, &err) != RKB_OK) {
        raise_event(w, ON_LAST_FAULT, NULL, err.text, now);
        return;
    }
    w->deadline = now + start_limit;
    cJSON *hello = cJSON_Duplicate(w->hello, true);
    cJSON_DeleteItemFromObjectCaseSensitive(hello, "op");
    rkb_message_add_text(hello, "op", "hello");
    rkb_message_add_number(hello, "protocol", RKB_SERVE_PROTOCOL_SPOKEN);
    rkb_message_add_number(hello, "rank", w->rank);
    rkb_message_add_number(hello, "local_rank", w->transport->ops->local_rank(w->transport));
    rkb_message_add_number(hello, "local_size", w->transport->ops->local_size(w->transport));
    request(w, hello, now);
}

static void announce(rkb_worker_t *w, const cJSON *answer)
{
    w->deadline = INFINITY;
    if (w->announced) {
        return; /* a replacement goes on where the last one stopped */
    }
    w->announced = true;
    char host[256] = "localhost";
    gethostname(host, sizeof(host) - 1);
    cJSON *message = rkb_message_create("ready");
    cJSON *facts = cJSON_Duplicate(answer, true);
    cJSON_DeleteItemFromObjectCaseSensitive(facts, "op");
    rkb_message_add_number(message, "protocol", RKB_DRIVER_PROTOCOL);
    rkb_message_add_text(message, "version", RKB_VERSION);
    rkb_message_add_text(message, "host", host);
    rkb_message_add_number(message, "pid", getpid());
    rkb_message_add(message, "facts", facts);
    send_to_master(w, message);
}

static void prepare_next(rkb_worker_t *w, double now)
{
    if (w->open_count == OPEN_ITEMS) {
        cJSON *message = rkb_message_create("prepare");
        rkb_message_add(message, "payload", cJSON_Duplicate(w->open[1].payload, true));
        request(w, message, now);
    }
}

static void send_item(rkb_worker_t *w, double now)
{
    w->open[0].tries++;
    w->deadline = now + w->item_limit;
    cJSON *message = rkb_message_create("eval");
    rkb_message_add_number(message, "id", ++w->request_id);
    rkb_message_add(message, "payload", cJSON_Duplicate(w->open[0].payload, true));
    request(w, message, now);
    if (w->state == STATE_JUDGING) {
        prepare_next(w, now);
    }
}

/* The evaluator died over an item, which has no say in that: it is ours to explain. */
static void blame(rkb_worker_t *w, const char *why, double now)
{
    rkb_warn("%s; it is replaced", why);
    if (w->open[0].tries < TRIES_PER_ITEM) {
        return;
    }
    char *detail = rkb_strf("the evaluator failed %d times while judging this item; last: %s",
                            w->open[0].tries, why);
    send_result(w, &w->open[0], rkb_result_create(w->open[0].payload, "infra_error", detail), now);
    free(detail);
    close_first_item(w);
}

static void give_up(rkb_worker_t *w, const char *why)
{
    kill_evaluator(w);
    drop_items(w);
    cJSON *message = rkb_message_create("failed");
    char *text = w->faults >= FAULTS_IN_A_ROW
                     ? rkb_strf("its evaluator failed %d times in a row; last: %s", w->faults, why)
                     : rkb_xstrdup(why);
    rkb_message_add_text(message, "text", text);
    free(text);
    send_to_master(w, message);
}

static void raise_event(rkb_worker_t *w, event_t event, const cJSON *answer, const char *why,
                        double now)
{
    const rkb_life_row_t *row = rkb_life_find(&life, (int)w->state, (int)event);
    if (row == NULL) {
        return;
    }
    w->state = (state_t)row->next;
    switch ((action_t)row->action) {
    case DO_BLAME:
        blame(w, why, now);
        kill_evaluator(w);
        spawn(w, now);
        break;
    case DO_RESPAWN:
        rkb_warn("%s; it is replaced", why);
        kill_evaluator(w);
        spawn(w, now);
        break;
    case DO_SPAWN:
        spawn(w, now);
        break;
    case DO_ANNOUNCE:
        announce(w, answer);
        break;
    case DO_SEND_ITEM:
        send_item(w, now);
        break;
    case DO_RELAY:
        w->faults = 0;
        w->deadline = INFINITY;
        send_result(w, &w->open[0],
                    cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(answer, "result"), true), now);
        close_first_item(w);
        break;
    case DO_GIVE_UP:
        give_up(w, why);
        break;
    case DO_REMEMBER_STOP:
        w->stop_wanted = true;
        break;
    case DO_SAY_BYE:
        drop_items(w);
        w->deadline = now + bye_limit;
        request(w, rkb_message_create("bye"), now);
        break;
    case DO_LEAVE:
        kill_evaluator(w);
        drop_items(w);
        break;
    case ACTION_COUNT:
        break;
    }
}

static void fault(rkb_worker_t *w, const char *why, double now)
{
    w->faults++;
    raise_event(w, w->faults >= FAULTS_IN_A_ROW ? ON_LAST_FAULT : ON_FAULT, NULL, why, now);
}

/* {"op":"hello"} is checked here, so that a foreign evaluator is named for what it is. */
static void on_hello(rkb_worker_t *w, const cJSON *answer, double now)
{
    const cJSON *protocol = cJSON_GetObjectItemCaseSensitive(answer, "protocol");
    double spoken = cJSON_IsNumber(protocol) ? protocol->valuedouble : NAN;
    if (spoken != RKB_SERVE_PROTOCOL_SPOKEN) {
        const char *version = rkb_message_text(answer, "version");
        char *why = rkb_strf("the evaluator (rkb %s) speaks protocol %g, this driver (rkb %s) %d: "
                             "they come from different installations",
                             version != NULL ? version : "?", spoken, RKB_VERSION,
                             RKB_SERVE_PROTOCOL_SPOKEN);
        fault(w, why, now);
        free(why);
        return;
    }
    raise_event(w, ON_HELLO, answer, NULL, now);
}

static void on_answer(rkb_worker_t *w, const cJSON *answer, double now)
{
    const char *op = rkb_message_op(answer);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(answer, "id");
    const char *text = rkb_message_text(answer, "text");
    if (w->state == STATE_CLOSING) {
        return;
    }
    if (strcmp(op, "hello") == 0 && w->state == STATE_STARTING) {
        on_hello(w, answer, now);
    } else if (strcmp(op, "result") == 0 && w->state == STATE_JUDGING && cJSON_IsNumber(id) &&
               id->valuedouble == w->request_id &&
               rkb_result_verdict(cJSON_GetObjectItemCaseSensitive(answer, "result")) != NULL) {
        raise_event(w, ON_ANSWER, answer, NULL, now);
    } else if (strcmp(op, "error") == 0 && text != NULL) {
        fault(w, text, now);
    } else {
        char *why = rkb_strf("the evaluator broke the protocol: an answer \"%.32s\" that was not "
                             "asked for, or without its members",
                             op);
        fault(w, why, now);
        free(why);
    }
}

static void on_assign(rkb_worker_t *w, const cJSON *message, double now)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(message, "item");
    const cJSON *attempt = cJSON_GetObjectItemCaseSensitive(message, "attempt");
    const cJSON *payload = cJSON_GetObjectItemCaseSensitive(message, "payload");
    bool working =
        w->state == STATE_READY || w->state == STATE_JUDGING || w->state == STATE_STARTING;
    if (!working || w->stop_wanted) {
        return; /* rank 0 learns of this from `failed` or `gone` and gives the item to another */
    }
    if (!cJSON_IsNumber(item) || !cJSON_IsNumber(attempt) || payload == NULL ||
        w->open_count == OPEN_ITEMS) {
        rkb_error("rank 0 sent an assignment that makes no sense; it is ignored");
        return;
    }
    w->open[w->open_count++] = (open_item_t){.item = item->valuedouble,
                                             .attempt = attempt->valuedouble,
                                             .payload = cJSON_Duplicate(payload, true)};
    if (w->state == STATE_JUDGING) {
        prepare_next(w, now);
    }
}

static void on_ack(rkb_worker_t *w, const cJSON *message)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(message, "item");
    const cJSON *attempt = cJSON_GetObjectItemCaseSensitive(message, "attempt");
    if (cJSON_IsNumber(item) && cJSON_IsNumber(attempt)) {
        rkb_outbox_acknowledge(w->outbox, item->valuedouble, attempt->valuedouble);
    }
}

static void on_start(rkb_worker_t *w, const cJSON *message, double now)
{
    const cJSON *protocol = cJSON_GetObjectItemCaseSensitive(message, "protocol");
    const cJSON *limit = cJSON_GetObjectItemCaseSensitive(message, "item_limit");
    const cJSON *hello = cJSON_GetObjectItemCaseSensitive(message, "hello");
    if (w->state != STATE_WAITING) {
        return;
    }
    if (!cJSON_IsNumber(protocol) || protocol->valuedouble != RKB_DRIVER_PROTOCOL ||
        !cJSON_IsNumber(limit) || !cJSON_IsObject(hello)) {
        const char *version = rkb_message_text(message, "version");
        char *why = rkb_strf("rank 0 (rkb %s) speaks protocol %g, this rank (rkb %s) %d: they come "
                             "from different installations",
                             version != NULL ? version : "?",
                             cJSON_IsNumber(protocol) ? protocol->valuedouble : NAN, RKB_VERSION,
                             RKB_DRIVER_PROTOCOL);
        w->state = STATE_FAILED;
        give_up(w, why);
        free(why);
        return;
    }
    w->item_limit = limit->valuedouble;
    w->hello = cJSON_Duplicate(hello, true);
    raise_event(w, ON_START, NULL, NULL, now);
}

static void on_stop(rkb_worker_t *w, bool at_once, double now)
{
    if (at_once) {
        rkb_outbox_clear(w->outbox);
        kill_evaluator(w);
        drop_items(w);
        w->state = STATE_CLOSED;
        return;
    }
    raise_event(w, ON_STOP, NULL, NULL, now);
}

void rkb_worker_message(rkb_worker_t *w, const cJSON *message, double now)
{
    const char *op = rkb_message_op(message);
    w->heard = now;
    if (strcmp(op, "start") == 0) {
        on_start(w, message, now);
    } else if (strcmp(op, "assign") == 0) {
        on_assign(w, message, now);
    } else if (strcmp(op, "ack") == 0) {
        on_ack(w, message);
    } else if (strcmp(op, "stop") == 0) {
        on_stop(w, cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "now")), now);
    } else if (strcmp(op, "exit") == 0) {
        const cJSON *code = cJSON_GetObjectItemCaseSensitive(message, "code");
        w->departs = true;
        w->departure = (rkb_departure_t){
            .code = cJSON_IsNumber(code) ? code->valueint : 4,
            .finalize = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "finalize"))};
        kill_evaluator(w);
    } else if (strcmp(op, "alive") != 0) {
        rkb_warn("rank 0 sent an unknown message \"%.32s\"", op);
    }
}

static bool receive(rkb_worker_t *w, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    cJSON *answer;
    if (w->link == NULL) {
        return false;
    }
    if (rkb_evaluator_link_receive(w->link, &answer, &err) != RKB_OK) {
        if (w->state == STATE_CLOSING) {
            raise_event(w, ON_ENDED, NULL, NULL, now);
        } else {
            fault(w, err.text, now);
        }
        return true;
    }
    if (answer != NULL) {
        on_answer(w, answer, now);
        cJSON_Delete(answer);
        return true;
    }
    if (now > w->deadline) {
        char *why = rkb_strf("the evaluator gave no answer within %.0f s",
                             w->state == STATE_JUDGING ? w->item_limit : start_limit);
        fault(w, why, now);
        free(why);
        return true;
    }
    return false;
}

static void listen_for_master(rkb_worker_t *w, double now)
{
    bool idle = w->gone_said || w->state == STATE_WAITING;
    double limit = idle ? silence_limit_when_idle : silence_limit;
    if (w->rank != 0 && !w->departs && now - w->heard > limit) {
        rkb_error("rank 0 is silent for %.0f s; this rank ends", limit);
        kill_evaluator(w);
        w->departs = true;
        w->departure = (rkb_departure_t){.code = 4, .finalize = false};
    }
    if (w->rank != 0 && !w->gone_said && now >= w->next_beat) {
        w->next_beat = now + beat_every;
        send_to_master(w, rkb_message_create("beat"));
    }
}

bool rkb_worker_step(rkb_worker_t *w, double now)
{
    if (w->departs) {
        return false;
    }
    bool busy = receive(w, now);
    if (w->state == STATE_READY && w->stop_wanted) {
        raise_event(w, ON_STOP, NULL, NULL, now);
        busy = true;
    }
    if (w->state == STATE_READY && w->open_count > 0) {
        raise_event(w, ON_WORK, NULL, NULL, now);
        busy = true;
    }
    /* `gone` may overtake a large result on its way, so it waits until all are acknowledged. */
    if (w->state == STATE_CLOSED && rkb_outbox_is_empty(w->outbox) && !w->gone_said) {
        w->gone_said = true;
        send_to_master(w, rkb_message_create("gone"));
        busy = true;
    }
    rkb_outbox_resend(w->outbox, now);
    listen_for_master(w, now);
    return busy;
}

int rkb_worker_watch(const rkb_worker_t *w, struct pollfd *fds)
{
    if (w->link == NULL) {
        return 0;
    }
    short wanted = rkb_evaluator_link_pending(w->link) ? POLLIN | POLLOUT : POLLIN;
    fds[0] = (struct pollfd){.fd = rkb_evaluator_link_fd(w->link), .events = wanted};
    return 1;
}

bool rkb_worker_departs(const rkb_worker_t *w, rkb_departure_t *out)
{
    if (w->departs) {
        *out = w->departure;
    }
    return w->departs;
}

void rkb_worker_ask_drain(rkb_worker_t *w, bool at_once)
{
    cJSON *message = rkb_message_create("drain");
    rkb_message_add_bool(message, "now", at_once);
    send_to_master(w, message);
}

rkb_worker_t *rkb_worker_create(rkb_transport_t *transport, char *const *evaluator, const char *why,
                                double now)
{
    rkb_worker_t *w = rkb_xcalloc(1, sizeof(*w));
    w->transport = transport;
    w->evaluator = evaluator;
    w->why = why;
    w->rank = transport->ops->rank(transport);
    w->outbox = rkb_outbox_create(transport);
    w->state = STATE_WAITING;
    w->deadline = INFINITY;
    w->heard = now;
    w->next_beat = now;
    return w;
}

void rkb_worker_destroy(rkb_worker_t *w)
{
    if (w == NULL) {
        return;
    }
    kill_evaluator(w);
    drop_items(w);
    rkb_outbox_destroy(w->outbox);
    cJSON_Delete(w->hello);
    free(w);
}

char *rkb_worker_explain(void)
{
    return rkb_life_draw(&life);
}

bool rkb_worker_is_judging(const rkb_worker_t *w)
{
    return w->state == STATE_JUDGING;
}
