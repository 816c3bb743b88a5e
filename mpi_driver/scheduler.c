#include "mpi_driver/scheduler.h"

#include "common/file.h"
#include "mpi_driver/life_cycle.h"
#include "mpi_driver/queue.h"

#include <stdlib.h>
#include <string.h>

/*
 * The two life cycles. A pair of state and event without a row is refused with RKB_ERR_PROTOCOL and
 * changes nothing.
 */
#define ITEM_STATES(X) X(QUEUED) X(ASSIGNED) X(DONE) X(CRASHED)
#define ITEM_EVENTS(X) X(ASSIGN) X(RESULT) X(STALE_RESULT) X(GIVEN_BACK) X(LOST) X(LOST_TOO_OFTEN)
#define ITEM_ACTIONS(X) X(SEND) X(RECORD) X(DROP) X(REQUEUE) X(CHARGE) X(GIVE_UP)

#define WORKER_STATES(X) X(ABSENT) X(IDLE) X(RUNNING) X(PREFETCHED) X(STOPPED) X(GONE) X(LOST)
#define WORKER_EVENTS(X) X(READY) X(ASSIGN) X(RESULT) X(BEAT) X(STOP) X(LOSE)
#define WORKER_ACTIONS(X)                                                                          \
    X(NOTHING) X(RENEW) X(ENLIST) X(TAKE) X(RELEASE) X(DISMISS) X(RETURN) X(MOURN)

#define ITEM_NAME(_name) ITEM_##_name,
#define ON_ITEM_NAME(_name) ON_ITEM_##_name,
#define DO_ITEM_NAME(_name) DO_ITEM_##_name,
#define WORKER_NAME(_name) WORKER_##_name,
#define ON_WORKER_NAME(_name) ON_WORKER_##_name,
#define DO_WORKER_NAME(_name) DO_WORKER_##_name,
typedef enum { ITEM_STATES(ITEM_NAME) ITEM_STATE_COUNT } item_state_t;
typedef enum { ITEM_EVENTS(ON_ITEM_NAME) ITEM_EVENT_COUNT } item_event_t;
typedef enum { ITEM_ACTIONS(DO_ITEM_NAME) ITEM_ACTION_COUNT } item_action_t;
typedef enum { WORKER_STATES(WORKER_NAME) WORKER_STATE_COUNT } worker_state_t;
typedef enum { WORKER_EVENTS(ON_WORKER_NAME) WORKER_EVENT_COUNT } worker_event_t;
typedef enum { WORKER_ACTIONS(DO_WORKER_NAME) WORKER_ACTION_COUNT } worker_action_t;

static const rkb_life_row_t item_table[] = {
    {ITEM_QUEUED, ON_ITEM_ASSIGN, ITEM_ASSIGNED, DO_ITEM_SEND},
    {ITEM_QUEUED, ON_ITEM_STALE_RESULT, ITEM_QUEUED, DO_ITEM_DROP},
    {ITEM_ASSIGNED, ON_ITEM_RESULT, ITEM_DONE, DO_ITEM_RECORD},
    {ITEM_ASSIGNED, ON_ITEM_STALE_RESULT, ITEM_ASSIGNED, DO_ITEM_DROP},
    {ITEM_ASSIGNED, ON_ITEM_GIVEN_BACK, ITEM_QUEUED, DO_ITEM_REQUEUE},
    {ITEM_ASSIGNED, ON_ITEM_LOST, ITEM_QUEUED, DO_ITEM_CHARGE},
    {ITEM_ASSIGNED, ON_ITEM_LOST_TOO_OFTEN, ITEM_CRASHED, DO_ITEM_GIVE_UP},
    {ITEM_DONE, ON_ITEM_STALE_RESULT, ITEM_DONE, DO_ITEM_DROP},
    {ITEM_CRASHED, ON_ITEM_STALE_RESULT, ITEM_CRASHED, DO_ITEM_DROP},
};

static const rkb_life_row_t worker_table[] = {
    {WORKER_ABSENT, ON_WORKER_READY, WORKER_IDLE, DO_WORKER_ENLIST},
    {WORKER_ABSENT, ON_WORKER_BEAT, WORKER_ABSENT, DO_WORKER_RENEW},
    {WORKER_ABSENT, ON_WORKER_STOP, WORKER_STOPPED, DO_WORKER_DISMISS},
    {WORKER_ABSENT, ON_WORKER_LOSE, WORKER_LOST, DO_WORKER_MOURN},
    {WORKER_IDLE, ON_WORKER_ASSIGN, WORKER_RUNNING, DO_WORKER_TAKE},
    {WORKER_IDLE, ON_WORKER_BEAT, WORKER_IDLE, DO_WORKER_RENEW},
    {WORKER_IDLE, ON_WORKER_STOP, WORKER_STOPPED, DO_WORKER_DISMISS},
    {WORKER_IDLE, ON_WORKER_LOSE, WORKER_LOST, DO_WORKER_MOURN},
    {WORKER_RUNNING, ON_WORKER_ASSIGN, WORKER_PREFETCHED, DO_WORKER_TAKE},
    {WORKER_RUNNING, ON_WORKER_RESULT, WORKER_IDLE, DO_WORKER_RELEASE},
    {WORKER_RUNNING, ON_WORKER_BEAT, WORKER_RUNNING, DO_WORKER_RENEW},
    {WORKER_RUNNING, ON_WORKER_STOP, WORKER_STOPPED, DO_WORKER_DISMISS},
    {WORKER_RUNNING, ON_WORKER_LOSE, WORKER_LOST, DO_WORKER_MOURN},
    {WORKER_PREFETCHED, ON_WORKER_RESULT, WORKER_RUNNING, DO_WORKER_RELEASE},
    {WORKER_PREFETCHED, ON_WORKER_BEAT, WORKER_PREFETCHED, DO_WORKER_RENEW},
    {WORKER_PREFETCHED, ON_WORKER_STOP, WORKER_STOPPED, DO_WORKER_DISMISS},
    {WORKER_PREFETCHED, ON_WORKER_LOSE, WORKER_LOST, DO_WORKER_MOURN},
    /* Told to stop, a worker finishes what runs and gives back what was only prefetched. */
    {WORKER_STOPPED, ON_WORKER_READY, WORKER_STOPPED, DO_WORKER_RENEW},
    {WORKER_STOPPED, ON_WORKER_RESULT, WORKER_STOPPED, DO_WORKER_RELEASE},
    {WORKER_STOPPED, ON_WORKER_BEAT, WORKER_STOPPED, DO_WORKER_RENEW},
    {WORKER_STOPPED, ON_WORKER_LOSE, WORKER_GONE, DO_WORKER_RETURN},
    /* Signs of life after the end change nothing: its items are with others. */
    {WORKER_GONE, ON_WORKER_READY, WORKER_GONE, DO_WORKER_NOTHING},
    {WORKER_GONE, ON_WORKER_BEAT, WORKER_GONE, DO_WORKER_NOTHING},
    {WORKER_GONE, ON_WORKER_LOSE, WORKER_GONE, DO_WORKER_NOTHING},
    {WORKER_LOST, ON_WORKER_READY, WORKER_LOST, DO_WORKER_NOTHING},
    {WORKER_LOST, ON_WORKER_BEAT, WORKER_LOST, DO_WORKER_NOTHING},
    {WORKER_LOST, ON_WORKER_LOSE, WORKER_LOST, DO_WORKER_NOTHING},
};

static const char *const item_states[] = {ITEM_STATES(RKB_LIFE_NAME)};
static const char *const item_events[] = {ITEM_EVENTS(RKB_LIFE_NAME)};
static const char *const item_actions[] = {ITEM_ACTIONS(RKB_LIFE_NAME)};
static const char *const worker_states[] = {WORKER_STATES(RKB_LIFE_NAME)};
static const char *const worker_events[] = {WORKER_EVENTS(RKB_LIFE_NAME)};
static const char *const worker_actions[] = {WORKER_ACTIONS(RKB_LIFE_NAME)};
static const rkb_life_cycle_t item_life = {
    "item",      item_table,  sizeof(item_table) / sizeof(*item_table),
    item_states, item_events, item_actions};
static const rkb_life_cycle_t worker_life = {
    "worker",      worker_table,  sizeof(worker_table) / sizeof(*worker_table),
    worker_states, worker_events, worker_actions};

enum { SLOTS = 2, NO_WORKER = -1 };
#define NO_ITEM RKB_QUEUE_NONE

typedef struct {
    int prev, next;
} links_t;
typedef struct {
    int first, last;
} list_t;

typedef struct {
    uint32_t attempt; /* of the last assignment; 0: never assigned */
    int worker;       /* of the last assignment */
    uint8_t state, losses;
} item_t;

typedef struct {
    worker_state_t state;
    uint32_t slots[SLOTS]; /* oldest first: the first runs, the second is prefetched */
    int used;
    uint32_t last_item; /* for affinity */
    double heard;
    links_t lease, room; /* in leases while alive; in idle or running while a slot is free */
} worker_t;

struct rkb_scheduler {
    rkb_scheduler_params_t params;
    rkb_queue_t *queue;
    item_t *items;
    uint32_t item_count, item_capacity;
    worker_t *workers;
    list_t leases; /* longest silent first */
    list_t idle, running;
    int alive; /* workers that are neither gone nor lost */
    int ready; /* workers that are idle, running or prefetched */
    bool plan_done, draining, finished;
    rkb_scheduler_counts_t counts;
    rkb_action_t *actions; /* ring */
    uint32_t action_first, action_count, action_capacity;
};

static const rkb_life_row_t *worker_row(worker_state_t state, worker_event_t event)
{
    return rkb_life_find(&worker_life, (int)state, (int)event);
}

/* Lists of workers; `at` is the offset of the links within worker_t. */
static links_t *links_of(rkb_scheduler_t *s, int worker, size_t at)
{
    return (links_t *)((char *)&s->workers[worker] + at);
}

static void list_append(rkb_scheduler_t *s, list_t *list, int worker, size_t at)
{
    links_t *links = links_of(s, worker, at);
    *links = (links_t){.prev = list->last, .next = NO_WORKER};
    if (list->last == NO_WORKER) {
        list->first = worker;
    } else {
        links_of(s, list->last, at)->next = worker;
    }
    list->last = worker;
}

static void list_remove(rkb_scheduler_t *s, list_t *list, int worker, size_t at)
{
    links_t *links = links_of(s, worker, at);
    if (links->prev == NO_WORKER) {
        list->first = links->next;
    } else {
        links_of(s, links->prev, at)->next = links->next;
    }
    if (links->next == NO_WORKER) {
        list->last = links->prev;
    } else {
        links_of(s, links->next, at)->prev = links->prev;
    }
}

#define IN_LEASES offsetof(worker_t, lease)
#define IN_ROOM offsetof(worker_t, room)

static list_t *room_of(rkb_scheduler_t *s, worker_state_t state)
{
    return state == WORKER_IDLE ? &s->idle : state == WORKER_RUNNING ? &s->running : NULL;
}

static bool is_ready(worker_state_t state)
{
    return state == WORKER_IDLE || state == WORKER_RUNNING || state == WORKER_PREFETCHED;
}

static void act(rkb_scheduler_t *s, rkb_action_kind_t kind, int worker, uint32_t item,
                uint32_t attempt)
{
    if (s->action_count == s->action_capacity) {
        uint32_t capacity = s->action_capacity == 0 ? 64 : s->action_capacity * 2;
        rkb_action_t *larger = rkb_xcalloc(capacity, sizeof(*larger));
        for (uint32_t i = 0; i < s->action_count; i++) {
            larger[i] = s->actions[(s->action_first + i) % s->action_capacity];
        }
        free(s->actions);
        s->actions = larger;
        s->action_capacity = capacity;
        s->action_first = 0;
    }
    s->actions[(s->action_first + s->action_count++) % s->action_capacity] =
        (rkb_action_t){.kind = kind, .worker = worker, .item = item, .attempt = attempt};
}

static void item_event(rkb_scheduler_t *s, uint32_t index, item_event_t event, int worker,
                       uint32_t attempt)
{
    item_t *item = &s->items[index];
    const rkb_life_row_t *row = rkb_life_find(&item_life, item->state, (int)event);
    if (row == NULL) {
        abort(); /* callers raise only events that the state knows */
    }
    double cost = rkb_queue_item_cost(s->queue, index);
    item->state = (uint8_t)row->next;
    switch ((item_action_t)row->action) {
    case DO_ITEM_SEND:
        rkb_queue_remove(s->queue, index);
        item->worker = worker;
        item->attempt++;
        s->counts.assigned++;
        act(s, RKB_ACT_ASSIGN, worker, index, item->attempt);
        break;
    case DO_ITEM_RECORD:
        s->counts.assigned--;
        s->counts.done++;
        s->counts.cost_left -= cost;
        act(s, RKB_ACT_RECORD, worker, index, attempt);
        break;
    case DO_ITEM_DROP:
        act(s, RKB_ACT_DROP, worker, index, attempt);
        break;
    case DO_ITEM_CHARGE:
        item->losses++;
        /* fall through */
    case DO_ITEM_REQUEUE:
        s->counts.assigned--;
        rkb_queue_push(s->queue, index, item->losses);
        break;
    case DO_ITEM_GIVE_UP:
        item->losses++;
        s->counts.assigned--;
        s->counts.crashed++;
        s->counts.cost_left -= cost;
        act(s, RKB_ACT_CRASHED, worker, index, item->attempt);
        break;
    case ITEM_ACTION_COUNT:
        break;
    }
}

/* What a lost worker held. Only the item that ran can be to blame; a prefetched one goes free. */
static void return_items(rkb_scheduler_t *s, worker_t *worker, bool charge)
{
    int index = (int)(worker - s->workers);
    for (int slot = 0; slot < worker->used; slot++) {
        item_event_t event = ON_ITEM_GIVEN_BACK;
        if (charge && slot == 0) {
            bool over = s->items[worker->slots[slot]].losses + 1 >= s->params.crash_limit;
            event = over ? ON_ITEM_LOST_TOO_OFTEN : ON_ITEM_LOST;
        }
        item_event(s, worker->slots[slot], event, index, 0);
    }
    worker->used = 0;
}

/* item: of ASSIGN and RESULT. */
static rkb_status_t worker_event(rkb_scheduler_t *s, int index, worker_event_t event, uint32_t item,
                                 double now, rkb_error_t *err)
{
    worker_t *worker = &s->workers[index];
    const rkb_life_row_t *row = worker_row(worker->state, event);
    if (row == NULL) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL, "rank %d is %s and cannot be told %s", index,
                             worker_states[worker->state], worker_events[event]);
    }
    worker_state_t old = worker->state;
    worker->state = (worker_state_t)row->next;
    if (room_of(s, old) != NULL) {
        list_remove(s, room_of(s, old), index, IN_ROOM);
    }
    if (room_of(s, worker->state) != NULL) {
        list_append(s, room_of(s, worker->state), index, IN_ROOM);
    }
    s->ready += (int)is_ready(worker->state) - (int)is_ready(old);

    switch ((worker_action_t)row->action) {
    case DO_WORKER_NOTHING:
        break;
    case DO_WORKER_RELEASE:
        if (worker->slots[0] == item) {
            worker->slots[0] = worker->slots[1];
        }
        worker->used--;
        /* fall through */
    case DO_WORKER_ENLIST:
    case DO_WORKER_RENEW:
        list_remove(s, &s->leases, index, IN_LEASES);
        list_append(s, &s->leases, index, IN_LEASES);
        worker->heard = now;
        break;
    case DO_WORKER_TAKE:
        worker->slots[worker->used++] = item;
        worker->last_item = item;
        break;
    case DO_WORKER_DISMISS:
        act(s, RKB_ACT_STOP, index, 0, 0);
        break;
    case DO_WORKER_MOURN:
        s->counts.workers_lost++;
        /* fall through */
    case DO_WORKER_RETURN:
        list_remove(s, &s->leases, index, IN_LEASES);
        s->alive--;
        return_items(s, worker, row->action == DO_WORKER_MOURN);
        break;
    case WORKER_ACTION_COUNT:
        break;
    }
    return RKB_OK;
}

/*
 * Affinity saves compiles and references; longest first keeps the end short. Affinity wins while
 * the queue holds so much work that the longest item can still be hidden behind it.
 */
static uint32_t choose_item(const rkb_scheduler_t *s, const worker_t *worker)
{
    uint32_t top = rkb_queue_top(s->queue);
    if (top == NO_ITEM || worker->last_item == NO_ITEM) {
        return top;
    }
    double top_cost = rkb_queue_item_cost(s->queue, top);
    bool plenty = s->ready <= 1 || rkb_queue_cost(s->queue) >= 2 * top_cost * s->ready;
    uint32_t alike[] = {rkb_queue_top_of_candidate(s->queue, worker->last_item),
                        rkb_queue_top_of_task(s->queue, worker->last_item)};
    for (int i = 0; i < 2; i++) {
        if (alike[i] != NO_ITEM && rkb_queue_item_losses(s->queue, alike[i]) == 0 &&
            (plenty || rkb_queue_item_cost(s->queue, alike[i]) >= top_cost)) {
            return alike[i];
        }
    }
    return top;
}

static void assign_to(rkb_scheduler_t *s, int worker)
{
    uint32_t item = choose_item(s, &s->workers[worker]);
    item_event(s, item, ON_ITEM_ASSIGN, worker, 0);
    (void)worker_event(s, worker, ON_WORKER_ASSIGN, item, 0, NULL);
}

static void finish_if_over(rkb_scheduler_t *s)
{
    if (s->finished) {
        return;
    }
    bool all_done = s->plan_done && rkb_queue_count(s->queue) == 0;
    bool over = s->counts.assigned == 0 && (all_done || s->draining);
    if (!over && s->alive > 0) {
        return;
    }
    s->finished = true;
    for (int i = 0; i < s->params.workers; i++) {
        if (worker_row(s->workers[i].state, ON_WORKER_STOP) != NULL) {
            (void)worker_event(s, i, ON_WORKER_STOP, 0, 0, NULL);
        }
    }
    act(s, RKB_ACT_FINISHED, NO_WORKER, 0, 0);
}

/* After every event: hand out what can be handed out, and see whether all is over. */
static void settle(rkb_scheduler_t *s)
{
    if (!s->draining && !s->finished) {
        while (s->idle.first != NO_WORKER && rkb_queue_count(s->queue) > 0) {
            assign_to(s, s->idle.first);
        }
        /* The last items are not prefetched: whoever is free, or just starting, takes them. */
        while (s->running.first != NO_WORKER && rkb_queue_count(s->queue) > 0 &&
               rkb_queue_count(s->queue) >= (uint32_t)s->alive) {
            assign_to(s, s->running.first);
        }
    }
    finish_if_over(s);
}

rkb_status_t rkb_scheduler_create(const rkb_scheduler_params_t *params, rkb_scheduler_t **out,
                                  rkb_error_t *err)
{
    if (params->workers < 1 || params->crash_limit < 0 || params->crash_limit > 100 ||
        !(params->lease_grace >= 0)) {
        return rkb_error_set(err, RKB_ERR_INVALID, "a schedule needs a worker and sane limits");
    }
    rkb_scheduler_t *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        goto err_memory;
    }
    s->params = *params;
    s->params.crash_limit = params->crash_limit > 0 ? params->crash_limit : 2;
    s->params.lease_grace = params->lease_grace > 0 ? params->lease_grace : 60;
    s->queue = rkb_queue_create();
    s->workers = calloc((size_t)params->workers, sizeof(*s->workers));
    if (s->queue == NULL || s->workers == NULL) {
        goto err_destroy;
    }
    s->leases = s->idle = s->running = (list_t){NO_WORKER, NO_WORKER};
    s->alive = params->workers;
    for (int i = 0; i < params->workers; i++) {
        s->workers[i].last_item = NO_ITEM;
        s->workers[i].heard = -1; /* its lease begins with its first sign of life */
        list_append(s, &s->leases, i, IN_LEASES);
    }
    *out = s;
    return RKB_OK;

err_destroy:
    rkb_scheduler_destroy(s);
err_memory:
    return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for %d workers", params->workers);
}

void rkb_scheduler_destroy(rkb_scheduler_t *s)
{
    if (s == NULL) {
        return;
    }
    rkb_queue_destroy(s->queue);
    free(s->items);
    free(s->workers);
    free(s->actions);
    free(s);
}

rkb_status_t rkb_scheduler_add_item(rkb_scheduler_t *s, const rkb_item_info_t *info, uint32_t *item,
                                    rkb_error_t *err)
{
    if (s->plan_done) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL, "an item was added after the end of the plan");
    }
    if (s->item_count == s->item_capacity) {
        uint32_t capacity = s->item_capacity == 0 ? 64 : s->item_capacity * 2;
        item_t *larger = reallocarray(s->items, capacity, sizeof(*larger));
        if (larger == NULL) {
            return rkb_error_set(err, RKB_ERR_NO_MEMORY, "no memory for %u items", capacity);
        }
        s->items = larger;
        s->item_capacity = capacity;
    }
    uint32_t index;
    rkb_status_t status =
        rkb_queue_register(s->queue, info->candidate, info->task, info->cost, &index, err);
    if (status != RKB_OK) {
        return status;
    }
    s->items[index] = (item_t){.state = ITEM_QUEUED, .worker = NO_WORKER};
    s->item_count = index + 1;
    s->counts.cost_left += rkb_queue_item_cost(s->queue, index);
    rkb_queue_push(s->queue, index, 0);
    *item = index;
    settle(s);
    return RKB_OK;
}

void rkb_scheduler_plan_done(rkb_scheduler_t *s)
{
    s->plan_done = true;
    settle(s);
}

static rkb_status_t check_worker(const rkb_scheduler_t *s, int worker, rkb_error_t *err)
{
    if (worker < 0 || worker >= s->params.workers) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL, "there is no rank %d among %d", worker,
                             s->params.workers);
    }
    return RKB_OK;
}

static rkb_status_t plain_event(rkb_scheduler_t *s, int worker, worker_event_t event, double now,
                                rkb_error_t *err)
{
    rkb_status_t status = check_worker(s, worker, err);
    if (status == RKB_OK) {
        status = worker_event(s, worker, event, 0, now, err);
    }
    if (status == RKB_OK) {
        settle(s);
    }
    return status;
}

rkb_status_t rkb_scheduler_worker_ready(rkb_scheduler_t *s, int worker, double now,
                                        rkb_error_t *err)
{
    return plain_event(s, worker, ON_WORKER_READY, now, err);
}

rkb_status_t rkb_scheduler_heartbeat(rkb_scheduler_t *s, int worker, double now, rkb_error_t *err)
{
    return plain_event(s, worker, ON_WORKER_BEAT, now, err);
}

rkb_status_t rkb_scheduler_worker_lost(rkb_scheduler_t *s, int worker, double now, rkb_error_t *err)
{
    return plain_event(s, worker, ON_WORKER_LOSE, now, err);
}

rkb_status_t rkb_scheduler_result(rkb_scheduler_t *s, int worker, uint32_t index, uint32_t attempt,
                                  double now, rkb_error_t *err)
{
    rkb_status_t status = check_worker(s, worker, err);
    if (status != RKB_OK) {
        return status;
    }
    if (index >= s->item_count || attempt == 0 || attempt > s->items[index].attempt) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL,
                             "rank %d sent a result of item %u, attempt %u, which was never given",
                             worker, index, attempt);
    }
    const item_t *item = &s->items[index];
    bool latest = attempt == item->attempt;
    if (latest && item->worker != worker) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL,
                             "rank %d sent a result of item %u, attempt %u, which rank %d has",
                             worker, index, attempt, item->worker);
    }
    if (latest && item->state == ITEM_ASSIGNED) {
        status = worker_event(s, worker, ON_WORKER_RESULT, index, now, err);
        if (status != RKB_OK) {
            return status;
        }
        item_event(s, index, ON_ITEM_RESULT, worker, attempt);
    } else {
        item_event(s, index, ON_ITEM_STALE_RESULT, worker, attempt);
        (void)worker_event(s, worker, ON_WORKER_BEAT, 0, now, NULL);
    }
    settle(s);
    return RKB_OK;
}

void rkb_scheduler_drain(rkb_scheduler_t *s)
{
    s->draining = true;
    for (int i = 0; i < s->params.workers; i++) {
        if (worker_row(s->workers[i].state, ON_WORKER_STOP) != NULL) {
            (void)worker_event(s, i, ON_WORKER_STOP, 0, 0, NULL);
        }
    }
    settle(s);
}

void rkb_scheduler_tick(rkb_scheduler_t *s, double now)
{
    /* Those never heard of stand in front of the list and start their lease now. */
    while (s->leases.first != NO_WORKER && s->workers[s->leases.first].heard < 0) {
        int worker = s->leases.first;
        list_remove(s, &s->leases, worker, IN_LEASES);
        list_append(s, &s->leases, worker, IN_LEASES);
        s->workers[worker].heard = now;
    }
    while (s->leases.first != NO_WORKER &&
           now - s->workers[s->leases.first].heard > s->params.lease_grace) {
        act(s, RKB_ACT_LOST, s->leases.first, 0, 0);
        (void)worker_event(s, s->leases.first, ON_WORKER_LOSE, 0, now, NULL);
    }
    settle(s);
}

bool rkb_scheduler_next_action(rkb_scheduler_t *s, rkb_action_t *out)
{
    if (s->action_count == 0) {
        return false;
    }
    *out = s->actions[s->action_first];
    s->action_first = (s->action_first + 1) % s->action_capacity;
    s->action_count--;
    return true;
}

void rkb_scheduler_counts(const rkb_scheduler_t *s, rkb_scheduler_counts_t *out)
{
    *out = s->counts;
    out->items = s->item_count;
    out->queued = rkb_queue_count(s->queue);
    out->workers_ready = (uint32_t)s->ready;
    if (out->cost_left < 0 || out->queued + out->assigned == 0) {
        out->cost_left = 0;
    }
}

char *rkb_scheduler_explain(void)
{
    char *item = rkb_life_draw(&item_life), *worker = rkb_life_draw(&worker_life);
    char *both = rkb_strf("%s%s", item, worker);
    free(item);
    free(worker);
    return both;
}
