#include "mpi_driver/planner.h"

#include "common/file.h"
#include "mpi_driver/evaluator_link.h"
#include "mpi_driver/message.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_PER_STEP = 512 };
static const double silence_limit = 300; /* a folder of many thousands of files on a slow server */

struct rkb_planner {
    rkb_evaluator_link_t *link;
    cJSON *plan; /* until it is sent */
    rkb_plan_sink_t sink;
    double deadline;
    double items;
    cJSON *facts, *result;
};

rkb_status_t rkb_planner_create(char *const *evaluator, cJSON *hello, cJSON *plan, double now,
                                const rkb_plan_sink_t *sink, rkb_planner_t **out, rkb_error_t *err)
{
    rkb_evaluator_link_t *link;
    rkb_status_t status = rkb_evaluator_link_create(evaluator, &link, err);
    if (status != RKB_OK) {
        goto err_free;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(hello, "device");
    rkb_message_add_text(hello, "device", "cpu");
    rkb_message_add_text(hello, "op", "hello");
    rkb_message_add_number(hello, "protocol", RKB_SERVE_PROTOCOL_SPOKEN);
    rkb_message_add_number(hello, "rank", 0);
    rkb_message_add_number(hello, "local_rank", 0);
    rkb_message_add_number(hello, "local_size", 1);
    status = rkb_evaluator_link_send(link, hello, err);
    hello = NULL;
    if (status != RKB_OK) {
        goto err_destroy;
    }
    rkb_planner_t *planner = rkb_xcalloc(1, sizeof(*planner));
    planner->link = link;
    planner->plan = plan;
    planner->sink = *sink;
    planner->deadline = now + silence_limit;
    *out = planner;
    return RKB_OK;

err_destroy:
    rkb_evaluator_link_destroy(link);
err_free:
    cJSON_Delete(hello);
    cJSON_Delete(plan);
    return status;
}

void rkb_planner_destroy(rkb_planner_t *planner)
{
    if (planner == NULL) {
        return;
    }
    rkb_evaluator_link_destroy(planner->link);
    cJSON_Delete(planner->plan);
    cJSON_Delete(planner->facts);
    cJSON_Delete(planner->result);
    free(planner);
}

static rkb_status_t broken(const cJSON *line, const char *what, rkb_error_t *err)
{
    return rkb_error_set(err, RKB_ERR_PROTOCOL, "the evaluator's \"%.32s\" %s",
                         rkb_message_op(line), what);
}

static rkb_status_t on_hello(rkb_planner_t *planner, cJSON *line, rkb_error_t *err)
{
    const cJSON *protocol = cJSON_GetObjectItemCaseSensitive(line, "protocol");
    double spoken = cJSON_IsNumber(protocol) ? protocol->valuedouble : NAN;
    if (spoken != RKB_SERVE_PROTOCOL_SPOKEN) {
        const char *version = rkb_message_text(line, "version");
        return rkb_error_set(err, RKB_ERR_PROTOCOL,
                             "the evaluator (rkb %s) speaks protocol %g, this driver (rkb %s) %d: "
                             "they come from different installations",
                             version != NULL ? version : "?", spoken, RKB_VERSION,
                             RKB_SERVE_PROTOCOL_SPOKEN);
    }
    planner->facts = cJSON_Duplicate(line, true);
    cJSON *plan = planner->plan;
    planner->plan = NULL;
    return rkb_evaluator_link_send(planner->link, plan, err);
}

/* 16 hexadecimal digits; anything else is no affinity at all. */
static uint64_t affinity_of(const cJSON *line, const char *key)
{
    const char *text = rkb_message_text(line, key);
    char *end = NULL;
    errno = 0;
    uint64_t value = text != NULL ? strtoull(text, &end, 16) : 0;
    return text != NULL && *end == '\0' && errno == 0 ? value : 0;
}

static rkb_status_t on_item(rkb_planner_t *planner, const cJSON *line, rkb_error_t *err)
{
    const char *key = rkb_message_text(line, "key");
    const cJSON *cost = cJSON_GetObjectItemCaseSensitive(line, "cost");
    const cJSON *payload = cJSON_GetObjectItemCaseSensitive(line, "payload");
    if (key == NULL || key[0] == '\0' || !cJSON_IsObject(payload)) {
        return broken(line, "lacks key or payload", err);
    }
    rkb_item_info_t info = {.candidate = affinity_of(line, "candidate"),
                            .task = affinity_of(line, "task"),
                            .cost = cJSON_IsNumber(cost) ? cost->valuedouble : 0};
    planner->items++;
    return planner->sink.item(planner->sink.context, key, &info, payload, err);
}

static rkb_status_t on_done(rkb_planner_t *planner, const cJSON *line, rkb_error_t *err)
{
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(line, "items");
    if (!cJSON_IsNumber(items) || rkb_message_text(line, "tasks_sha256") == NULL ||
        rkb_message_text(line, "plan_sha256") == NULL) {
        return broken(line, "lacks items or a hash", err);
    }
    if (items->valuedouble != planner->items) {
        return rkb_error_set(err, RKB_ERR_PROTOCOL,
                             "the evaluator counts %.0f items in its plan but sent %.0f",
                             items->valuedouble, planner->items);
    }
    planner->result = cJSON_Duplicate(line, true);
    return rkb_evaluator_link_send(planner->link, rkb_message_create("bye"), err);
}

static rkb_status_t on_line(rkb_planner_t *planner, cJSON *line, rkb_error_t *err)
{
    const char *op = rkb_message_op(line);
    bool planning = planner->facts != NULL;
    if (strcmp(op, "error") == 0) {
        const char *name = rkb_message_text(line, "status");
        const char *text = rkb_message_text(line, "text");
        rkb_status_t status = name != NULL ? rkb_status_from_name(name) : RKB_ERR_INTERNAL;
        return rkb_error_set(err, status == RKB_OK ? RKB_ERR_INTERNAL : status, "%s",
                             text != NULL ? text : "the evaluator refused without a reason");
    }
    if (!planning && strcmp(op, "hello") == 0) {
        return on_hello(planner, line, err);
    }
    if (planning && strcmp(op, "item") == 0) {
        return on_item(planner, line, err);
    }
    if (planning && strcmp(op, "notice") == 0) {
        return planner->sink.notice(planner->sink.context, line, err);
    }
    if (planning && strcmp(op, "plan_done") == 0) {
        return on_done(planner, line, err);
    }
    return broken(line, "was not expected while planning", err);
}

rkb_status_t rkb_planner_step(rkb_planner_t *planner, double now, bool *busy, rkb_error_t *err)
{
    for (int i = 0; i < LINES_PER_STEP && planner->result == NULL; i++) {
        cJSON *line;
        rkb_status_t status = rkb_evaluator_link_receive(planner->link, &line, err);
        if (status != RKB_OK) {
            return rkb_error_prefix(err, "while planning");
        }
        if (line == NULL) {
            if (now > planner->deadline) {
                return rkb_error_set(err, RKB_ERR_TIMEOUT,
                                     "the evaluator that plans is silent for %.0f s",
                                     silence_limit);
            }
            return RKB_OK;
        }
        *busy = true;
        planner->deadline = now + silence_limit;
        status = on_line(planner, line, err);
        cJSON_Delete(line);
        if (status != RKB_OK) {
            return status;
        }
    }
    return RKB_OK;
}

const cJSON *rkb_planner_result(const rkb_planner_t *planner)
{
    return planner->result;
}

const cJSON *rkb_planner_facts(const rkb_planner_t *planner)
{
    return planner->facts;
}

int rkb_planner_watch(const rkb_planner_t *planner, struct pollfd *fds)
{
    if (planner->result != NULL) {
        return 0;
    }
    short events = rkb_evaluator_link_pending(planner->link) ? POLLIN | POLLOUT : POLLIN;
    fds[0] = (struct pollfd){.fd = rkb_evaluator_link_fd(planner->link), .events = events};
    return 1;
}
