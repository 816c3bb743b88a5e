#include "mpi_driver/outbox.h"

#include "common/file.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

static const double resend_after = 10;

typedef struct letter {
    struct letter *next;
    double item, attempt, sent;
    char *text;
} letter_t;

struct rkb_outbox {
    rkb_transport_t *transport;
    letter_t *letters;
};

rkb_outbox_t *rkb_outbox_create(rkb_transport_t *transport)
{
    rkb_outbox_t *outbox = rkb_xcalloc(1, sizeof(*outbox));
    outbox->transport = transport;
    return outbox;
}

static void drop(letter_t **at)
{
    letter_t *dead = *at;
    *at = dead->next;
    free(dead->text);
    free(dead);
}

void rkb_outbox_clear(rkb_outbox_t *outbox)
{
    while (outbox->letters != NULL) {
        drop(&outbox->letters);
    }
}

void rkb_outbox_destroy(rkb_outbox_t *outbox)
{
    if (outbox != NULL) {
        rkb_outbox_clear(outbox);
        free(outbox);
    }
}

static void post(rkb_outbox_t *outbox, letter_t *letter, double now)
{
    rkb_error_t err = RKB_ERROR_INIT;
    letter->sent = now;
    if (outbox->transport->ops->send(outbox->transport, 0, letter->text, strlen(letter->text),
                                     &err) != RKB_OK) {
        rkb_error("cannot reach rank 0: %s", err.text);
    }
}

void rkb_outbox_add(rkb_outbox_t *outbox, double item, double attempt, cJSON *message, double now)
{
    letter_t *letter = rkb_xcalloc(1, sizeof(*letter));
    char *text = rkb_json_print_line(message);
    letter->text = text != NULL ? text : rkb_xstrdup("{}");
    letter->item = item;
    letter->attempt = attempt;
    letter->next = outbox->letters;
    outbox->letters = letter;
    cJSON_Delete(message);
    post(outbox, letter, now);
}

void rkb_outbox_acknowledge(rkb_outbox_t *outbox, double item, double attempt)
{
    for (letter_t **at = &outbox->letters; *at != NULL;) {
        if ((*at)->item == item && (*at)->attempt == attempt) {
            drop(at);
        } else {
            at = &(*at)->next;
        }
    }
}

void rkb_outbox_resend(rkb_outbox_t *outbox, double now)
{
    for (letter_t *letter = outbox->letters; letter != NULL; letter = letter->next) {
        if (now - letter->sent >= resend_after) {
            post(outbox, letter, now);
        }
    }
}

bool rkb_outbox_is_empty(const rkb_outbox_t *outbox)
{
    return outbox->letters == NULL;
}
