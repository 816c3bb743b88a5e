#include "mpi_driver/message.h"

#include "common/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RESULT_MAX = RKB_MESSAGE_MAX - 1024, /* room for what the message adds around a result */
    STRING_MAX = 2000
};

static void need(bool ok)
{
    if (!ok) {
        fputs("rkb-mpi: out of memory\n", stderr);
        abort();
    }
}

cJSON *rkb_message_create(const char *op)
{
    cJSON *message = cJSON_CreateObject();
    need(message != NULL && cJSON_AddStringToObject(message, "op", op) != NULL);
    return message;
}

void rkb_message_add_text(cJSON *message, const char *key, const char *value)
{
    need(value != NULL ? rkb_json_add_string(message, key, value)
                       : cJSON_AddNullToObject(message, key) != NULL);
}

void rkb_message_add_number(cJSON *message, const char *key, double value)
{
    need(rkb_json_add_double(message, key, value));
}

void rkb_message_add_bool(cJSON *message, const char *key, bool value)
{
    need(cJSON_AddBoolToObject(message, key, value) != NULL);
}

void rkb_message_add(cJSON *message, const char *key, cJSON *value)
{
    need(value != NULL && cJSON_AddItemToObject(message, key, value));
}

const char *rkb_message_text(const cJSON *message, const char *key)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(message, key);
    return cJSON_IsString(node) ? node->valuestring : NULL;
}

const char *rkb_message_op(const cJSON *message)
{
    const char *op = rkb_message_text(message, "op");
    return op != NULL ? op : "";
}

rkb_status_t rkb_message_send(rkb_transport_t *transport, int dest, cJSON *message,
                              rkb_error_t *err)
{
    char *text = rkb_json_print_line(message);
    need(text != NULL);
    cJSON_Delete(message);
    rkb_status_t status = transport->ops->send(transport, dest, text, strlen(text), err);
    free(text);
    return status;
}

cJSON *rkb_result_create(const cJSON *payload, const char *verdict, const char *detail)
{
    cJSON *result = cJSON_IsObject(payload) ? cJSON_Duplicate(payload, true) : cJSON_CreateObject();
    need(result != NULL);
    cJSON_DeleteItemFromObjectCaseSensitive(result, "verdict");
    cJSON_DeleteItemFromObjectCaseSensitive(result, "detail");
    rkb_message_add_text(result, "verdict", verdict);
    rkb_message_add_text(result, "detail", detail);
    if (!cJSON_HasObjectItem(result, "flags")) {
        rkb_message_add(result, "flags", cJSON_CreateArray());
    }
    return result;
}

const char *rkb_result_verdict(const cJSON *result)
{
    const char *verdict = cJSON_IsObject(result) ? rkb_message_text(result, "verdict") : NULL;
    if (verdict == NULL || verdict[0] == '\0' || strlen(verdict) > 32 ||
        strspn(verdict, "abcdefghijklmnopqrstuvwxyz_") != strlen(verdict)) {
        return NULL;
    }
    return verdict;
}

static size_t printed_size(const cJSON *node)
{
    char *text = rkb_json_print_line(node);
    need(text != NULL);
    size_t len = strlen(text);
    free(text);
    return len;
}

static void cut_strings(cJSON *node)
{
    for (cJSON *child = node->child; child != NULL; child = child->next) {
        if (cJSON_IsString(child) && strlen(child->valuestring) > STRING_MAX) {
            char *text = child->valuestring;
            text[STRING_MAX - 4] = '\0';
            strcat(text, " ...");
            rkb_text_sanitize(text); /* the cut may have split a character */
        }
        cut_strings(child);
    }
}

cJSON *rkb_result_fit(cJSON *result, const cJSON *payload)
{
    size_t size = printed_size(result);
    if (size <= RESULT_MAX) {
        return result;
    }
    cut_strings(result);
    if (printed_size(result) <= RESULT_MAX) {
        return result;
    }
    cJSON_Delete(result);
    char *detail = rkb_strf("the evaluator's result has %zu bytes; the driver carries %d", size,
                            (int)RESULT_MAX);
    result = rkb_result_create(payload, "infra_error", detail);
    free(detail);
    return result;
}
