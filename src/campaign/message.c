/* See message.h. Numbers have eight bytes, the lowest first; bytes follow their number and have a
 * NUL behind them. */
#include "campaign/message.h"

#include "base/alloc.h"
#include "campaign/mpi.h"

#include <stdio.h>
#include <string.h>

#define NONE UINT64_MAX /* in place of a number of bytes */

struct message message_new(enum message_kind kind) {
    struct message message = {.bytes = {0}};
    message_put_number(&message, (uint64_t)kind);
    return message;
}

static void put(struct message *message, const void *bytes, size_t count) {
    hd_vector_reserve(&message->bytes, count);
    if (count > 0) memcpy(message->bytes.data + message->bytes.size, bytes, count);
    message->bytes.size += count;
}

void message_put_number(struct message *message, uint64_t number) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++) bytes[i] = (unsigned char)(number >> 8 * i);
    put(message, bytes, sizeof bytes);
}

void message_put_bytes(struct message *message, const void *bytes, size_t count) {
    message_put_number(message, bytes != NULL ? count : NONE);
    if (bytes == NULL) return;
    put(message, bytes, count);
    put(message, "", 1);
}

void message_put_text(struct message *message, const char *text) {
    message_put_bytes(message, text, text != NULL ? strlen(text) : 0);
}

void message_send(struct message *message, unsigned to) {
    hd_mpi_send(to, message->bytes.data, message->bytes.size);
    *message = (struct message){.bytes = {0}};
}

uint64_t message_number(struct message_in *in) {
    uint64_t number = 0;
    if (!in->good || in->end - in->at < 8) {
        in->good = false;
        return 0;
    }
    for (unsigned i = 0; i < 8; i++) number |= (uint64_t)(unsigned char)in->at[i] << 8 * i;
    in->at += 8;
    return number;
}

const char *message_bytes(struct message_in *in, size_t *count) {
    uint64_t bytes = message_number(in);
    *count = 0;
    if (!in->good || bytes == NONE) return NULL;
    size_t left = (size_t)(in->end - in->at);
    if (bytes >= left || in->at[bytes] != '\0') {
        in->good = false;
        return NULL;
    }
    const char *here = in->at;
    in->at += bytes + 1;
    *count = (size_t)bytes;
    return here;
}

const char *message_text(struct message_in *in) {
    size_t count;
    const char *text = message_bytes(in, &count);
    return text != NULL ? text : "";
}

void message_put_task(struct message *message, const struct campaign_task *task) {
    message_put_number(message, task->number);
    message_put_number(message, task->program);
    message_put_number(message, task->limit_ms);
    message_put_number(message, task->patience_ms);
    message_put_text(message, task->text);
}

bool message_task(struct message_in *in, struct campaign_task *task) {
    task->number = (uint32_t)message_number(in);
    task->program = (uint32_t)message_number(in);
    task->limit_ms = message_number(in);
    task->patience_ms = (uint32_t)message_number(in);
    const char *text = message_text(in);
    task->text = in->good ? hd_strdup(text) : NULL;
    return in->good;
}

void message_put_result(struct message *message, const struct campaign_result *result) {
    message_put_bytes(message, result->text, result->text_bytes);
    message_put_bytes(message, result->trace, result->trace_bytes);
    message_put_bytes(message, result->output, result->output_bytes);
    message_put_bytes(message, result->error, result->error_bytes);
    message_put_text(message, result->outcome);
    message_put_number(message, result->limit_ms);
}

static char *copy(struct message_in *in, size_t *count) {
    const char *bytes = message_bytes(in, count);
    if (bytes == NULL) return NULL;
    char *own = hd_alloc(*count + 1, 1);
    memcpy(own, bytes, *count + 1);
    return own;
}

bool message_result(struct message_in *in, struct campaign_result *result) {
    *result = (struct campaign_result){.text = NULL};
    result->text = copy(in, &result->text_bytes);
    result->trace = copy(in, &result->trace_bytes);
    result->output = copy(in, &result->output_bytes);
    result->error = copy(in, &result->error_bytes);
    snprintf(result->outcome, sizeof result->outcome, "%.15s", message_text(in));
    result->limit_ms = message_number(in);
    if (in->good) return true;
    campaign_result_free(result);
    return false;
}
