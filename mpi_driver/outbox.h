/**
 * @file outbox.h
 * Results on their way to rank 0, kept and sent again until it has acknowledged them: only then are
 * they in the journal. Not thread-safe.
 */
#ifndef RKB_DRIVER_OUTBOX_H
#define RKB_DRIVER_OUTBOX_H

#include "common/json.h"
#include "mpi_driver/transport.h"

#include <stdbool.h>

typedef struct rkb_outbox rkb_outbox_t;

rkb_outbox_t *rkb_outbox_create(rkb_transport_t *transport); /* borrowed */
void rkb_outbox_destroy(rkb_outbox_t *outbox);               /* NULL allowed */
/** Sends message, which is taken over, and keeps its text. */
void rkb_outbox_add(rkb_outbox_t *outbox, double item, double attempt, cJSON *message, double now);
void rkb_outbox_acknowledge(rkb_outbox_t *outbox, double item, double attempt);
void rkb_outbox_clear(rkb_outbox_t *outbox);
/** Sends again what has been waiting for long. */
void rkb_outbox_resend(rkb_outbox_t *outbox, double now);
bool rkb_outbox_is_empty(const rkb_outbox_t *outbox);

#endif
