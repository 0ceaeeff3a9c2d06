/* See message.h. */
#include "campaign/message.h"

#include "base/alloc.h"
#include "campaign/mpi.h"
#include "campaign/programs.h"

#include <stdio.h>
#include <string.h>

#define MOST_FILES 100000u

struct hd_packed message_new(enum message_kind kind) {
    struct hd_packed message = {.bytes = {0}};
    hd_pack_number(&message, (uint64_t)kind);
    return message;
}

void message_send(struct hd_packed *message, unsigned to) {
    hd_mpi_send(to, message->bytes.data, message->bytes.size);
    *message = (struct hd_packed){.bytes = {0}};
}

/* ---- tasks and results ----------------------------------------------------------------------- */

void message_put_task(struct hd_packed *message, const struct campaign_task *task) {
    hd_pack_number(message, task->number);
    hd_pack_number(message, task->program);
    hd_pack_number(message, task->limit_ms);
    hd_pack_number(message, task->patience_ms);
    hd_pack_bytes(message, task->text, task->text_bytes);
}

bool message_task(struct hd_unpack *in, struct campaign_task *task) {
    task->number = (uint32_t)hd_unpack_most(in, UINT32_MAX);
    task->program = (uint32_t)hd_unpack_most(in, MESSAGE_MOST_PROGRAMS - 1);
    task->limit_ms = hd_unpack_number(in);
    task->patience_ms = (uint32_t)hd_unpack_most(in, UINT32_MAX);
    task->text = hd_unpack_copy(in, &task->text_bytes);
    if (in->good && task->text != NULL) return true;
    free(task->text);
    task->text = NULL;
    return in->good = false;
}

void message_put_result(struct hd_packed *message, const struct campaign_result *result) {
    hd_pack_bytes(message, result->text, result->text_bytes);
    hd_pack_bytes(message, result->trace, result->trace_bytes);
    hd_pack_bytes(message, result->output, result->output_bytes);
    hd_pack_bytes(message, result->error, result->error_bytes);
    hd_pack_text(message, result->outcome);
    hd_pack_number(message, result->limit_ms);
}

bool message_result(struct hd_unpack *in, struct campaign_result *result) {
    *result = (struct campaign_result){.text = NULL};
    result->text = hd_unpack_copy(in, &result->text_bytes);
    result->trace = hd_unpack_copy(in, &result->trace_bytes);
    result->output = hd_unpack_copy(in, &result->output_bytes);
    result->error = hd_unpack_copy(in, &result->error_bytes);
    snprintf(result->outcome, sizeof result->outcome, "%.15s", hd_unpack_text(in));
    result->limit_ms = hd_unpack_number(in);
    if (in->good) return true;
    campaign_result_free(result);
    return false;
}

void message_put_end(struct hd_packed *message, uint32_t number, enum campaign_end end,
                     const struct campaign_result *result, const struct hd_error *error) {
    hd_pack_number(message, number);
    hd_pack_number(message, (uint64_t)end);
    hd_pack_text(message, end == CAMPAIGN_BROKEN ? error->message : "");
    message_put_result(message, result);
}

bool message_read_end(struct hd_unpack *in, struct message_end *end) {
    *end = (struct message_end){.error = {.code = HD_ERR_IO}};
    end->number = (uint32_t)hd_unpack_most(in, UINT32_MAX);
    end->end = (enum campaign_end)hd_unpack_most(in, CAMPAIGN_STOPPED);
    snprintf(end->error.message, sizeof end->error.message, "%.700s", hd_unpack_text(in));
    if (!message_result(in, &end->result)) return false;
    if (end->end != CAMPAIGN_RAN || end->result.text != NULL) return true;
    campaign_result_free(&end->result);
    return false;
}

/* ---- programs -------------------------------------------------------------------------------- */

bool message_program(struct hd_unpack *in, struct message_program *program) {
    *program = (struct message_program){.number = 0};
    program->number = (uint32_t)hd_unpack_most(in, MESSAGE_MOST_PROGRAMS - 1);
    program->text = hd_unpack_text(in);
    uint64_t files = hd_unpack_most(in, MOST_FILES);
    for (uint64_t i = 0; in->good && i < files; i++) {
        struct message_file file = {.word = (int)hd_unpack_most(in, INT32_MAX) + CAMPAIGN_LEAST};
        snprintf(file.hash, sizeof file.hash, "%.32s", hd_unpack_text(in));
        file.name = hd_unpack_text(in);
        /* It becomes the name of a file. */
        if (*file.name == '\0' || strchr(file.name, '/') != NULL || strcmp(file.name, ".") == 0 ||
            strcmp(file.name, "..") == 0)
            in->good = false;
        hd_vector_push(&program->file, file);
    }
    if (in->good) return true;
    hd_vector_free(&program->file);
    return false;
}
