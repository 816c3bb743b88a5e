/**
 * @file message.h
 * The driver's own messages between ranks (docs/protocol.md), and results that the driver has to
 * write itself. Payloads and results stay opaque but for `verdict`.
 */
#ifndef RKB_DRIVER_MESSAGE_H
#define RKB_DRIVER_MESSAGE_H

#include "common/error.h"
#include "common/json.h"
#include "mpi_driver/transport.h"

#include <stdbool.h>
#include <stdint.h>

enum { RKB_DRIVER_PROTOCOL = 1, RKB_SERVE_PROTOCOL_SPOKEN = 1 };

/** {"op": op}; never NULL (ends the process when memory ran out, as the helpers below do). */
cJSON *rkb_message_create(const char *op);
void rkb_message_add_text(cJSON *message, const char *key, const char *value); /* NULL: null */
void rkb_message_add_number(cJSON *message, const char *key, double value);
void rkb_message_add_bool(cJSON *message, const char *key, bool value);
/** Takes `value` over. */
void rkb_message_add(cJSON *message, const char *key, cJSON *value);

/** The text of a string member, or NULL. */
const char *rkb_message_text(const cJSON *message, const char *key);
/** The op of a message, "" when it has none. */
const char *rkb_message_op(const cJSON *message);

/** Prints, sends and frees message; one that is too long is RKB_ERR_PROTOCOL. */
rkb_status_t rkb_message_send(rkb_transport_t *transport, int dest, cJSON *message,
                              rkb_error_t *err);

/** A result with the members of the payload and this verdict and sentence. */
cJSON *rkb_result_create(const cJSON *payload, const char *verdict, const char *detail);
/** The verdict of a result, or NULL when it has none that could be one. */
const char *rkb_result_verdict(const cJSON *result);
/**
 * Makes a result fit into a message: long strings are cut, and what is still too long becomes an
 * `infra_error` that says so. Takes `result` over and returns what to send.
 */
cJSON *rkb_result_fit(cJSON *result, const cJSON *payload);

#endif
