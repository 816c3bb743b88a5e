#include "mpi_driver/rank.h"

#include "common/clock.h"
#include "common/file.h"
#include "common/log.h"
#include "mpi_driver/message.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_PER_STEP = 256 };
/* MPI has no descriptor to wait for, so idle ranks look again and again, less and less often. */
static const double shortest_nap = 20e-6;
static const double longest_nap = 1e-3;
static const double longest_nap_at_work = 5e-3; /* a measurement should have the cores */

struct rkb_rank {
    rkb_transport_t *transport;
    rkb_worker_t *worker;
    rkb_master_t *master; /* rank 0 only */
    int index;
    double now; /* seconds in which this rank was not stopped */
    bool stopped;
    rkb_departure_t departure; /* when stopped */
};

rkb_rank_t *rkb_rank_create(const rkb_master_params_t *master, const char *no_evaluator,
                            const rkb_error_t *problem)
{
    rkb_rank_t *rank = rkb_xcalloc(1, sizeof(*rank));
    rank->transport = master->transport;
    rank->index = rank->transport->ops->rank(rank->transport);
    rank->worker = rkb_worker_create(rank->transport, master->evaluator, no_evaluator, 0);
    if (rank->index == 0) {
        rank->master = rkb_master_create(master, problem, 0);
    }
    return rank;
}

void rkb_rank_destroy(rkb_rank_t *rank)
{
    if (rank == NULL) {
        return;
    }
    rkb_worker_destroy(rank->worker);
    rkb_master_destroy(rank->master);
    free(rank);
}

static bool is_for_worker(const char *op)
{
    static const char *const ops[] = {"start", "assign", "ack", "alive", "stop", "exit", NULL};
    for (const char *const *known = ops; *known != NULL; known++) {
        if (strcmp(op, *known) == 0) {
            return true;
        }
    }
    return false;
}

static void dispatch(rkb_rank_t *rank, int source, const char *text, size_t len)
{
    cJSON *message = NULL;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_json_parse(text, len, &message, &err) != RKB_OK || !cJSON_IsObject(message)) {
        rkb_error("a message from rank %d cannot be read: %s", source, err.text);
    } else if (is_for_worker(rkb_message_op(message))) {
        if (source == 0) {
            rkb_worker_message(rank->worker, message, rank->now);
        } else {
            rkb_error("rank %d gives orders; only rank 0 may", source);
        }
    } else if (rank->master != NULL) {
        rkb_master_message(rank->master, source, message, rank->now);
    } else {
        rkb_error("rank %d sent a message for rank 0 here", source);
    }
    cJSON_Delete(message);
}

rkb_status_t rkb_rank_step(rkb_rank_t *rank, double elapsed, bool *busy, rkb_error_t *err)
{
    rank->now += fmin(fmax(elapsed, 0), 1);
    *busy = false;
    for (int i = 0; i < MESSAGES_PER_STEP; i++) {
        int source;
        char *text;
        size_t len;
        rkb_status_t status =
            rank->transport->ops->poll(rank->transport, &source, &text, &len, err);
        if (status != RKB_OK) {
            return status;
        }
        if (text == NULL) {
            break;
        }
        *busy = true;
        dispatch(rank, source, text, len);
    }
    if (rkb_worker_step(rank->worker, rank->now)) {
        *busy = true;
    }
    if (rank->master != NULL && rkb_master_step(rank->master, rank->now)) {
        *busy = true;
    }
    return RKB_OK;
}

void rkb_rank_signal(rkb_rank_t *rank, int nth)
{
    if (rank->master != NULL) {
        rkb_master_drain(rank->master, nth > 1, rank->now);
    } else if (nth <= 2) {
        rkb_worker_ask_drain(rank->worker, nth == 2);
    } else {
        rank->stopped = true;
        rank->departure =
            (rkb_departure_t){.code = rkb_status_exit_code(RKB_ERR_DRAINED), .finalize = false};
    }
}

bool rkb_rank_departs(const rkb_rank_t *rank, rkb_departure_t *out)
{
    if (rank->stopped) {
        *out = rank->departure;
        return true;
    }
    return rkb_worker_departs(rank->worker, out);
}

/* Waits for an evaluator, but not long: messages do not wake us. */
static void nap(const rkb_rank_t *rank, double seconds)
{
    struct pollfd fds[2];
    int count = rkb_worker_watch(rank->worker, fds);
    if (rank->master != NULL) {
        count += rkb_master_watch(rank->master, fds + count);
    }
    struct timespec limit = {.tv_nsec = (long)(seconds * 1e9)};
    (void)ppoll(fds, (nfds_t)count, &limit, NULL);
}

rkb_departure_t rkb_rank_run(rkb_rank_t *rank, const volatile int *signals)
{
    rkb_departure_t departure;
    double last = rkb_clock_now(), pause = shortest_nap;
    int seen = 0;
    while (!rkb_rank_departs(rank, &departure)) {
        bool busy;
        rkb_error_t err = RKB_ERROR_INIT;
        double now = rkb_clock_now();
        if (rkb_rank_step(rank, now - last, &busy, &err) != RKB_OK) {
            rkb_error("rank %d has lost its connection: %s", rank->index, err.text);
            return (rkb_departure_t){.code = rkb_status_exit_code(RKB_ERR_LOST)};
        }
        last = now;
        while (seen < *signals) {
            rkb_rank_signal(rank, ++seen);
        }
        bool works = rkb_worker_is_judging(rank->worker) && rank->master == NULL;
        pause = busy ? shortest_nap : fmin(pause * 2, works ? longest_nap_at_work : longest_nap);
        if (!busy) {
            nap(rank, pause);
        }
    }
    return departure;
}
