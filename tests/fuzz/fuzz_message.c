/* Any bytes as what ranks say to each other, and as what other ranks or a campaign file say came of
 * a job: a task, a result, a program with its files, a unit, a lesson, a witness. Refused, or read
 * as one that is written and read again as the same. */
#include "base/alloc.h"
#include "campaign/message.h"
#include "cli/training.h"
#include "engine/asker.h"
#include "source/unit.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return a_bytes == b_bytes && (a_bytes == 0 || memcmp(a, b, a_bytes) == 0);
}

static void try_task(const char *bytes, size_t size) {
    struct hd_unpack in = hd_unpack_begin(bytes, size);
    struct campaign_task task, again;
    if (!message_task(&in, &task)) return;
    struct hd_packed packed = {.bytes = {0}};
    message_put_task(&packed, &task);
    struct hd_unpack written = hd_unpack_begin(packed.bytes.data, packed.bytes.size);
    if (!message_task(&written, &again) || !hd_unpack_whole(&written) ||
        again.number != task.number || again.program != task.program ||
        again.limit_ms != task.limit_ms || again.patience_ms != task.patience_ms ||
        !same(task.text, task.text_bytes + 1, again.text, again.text_bytes + 1))
        abort();
    hd_vector_free(&packed.bytes);
    free(task.text);
    free(again.text);
}

static void try_end(const char *bytes, size_t size) {
    struct hd_unpack in = hd_unpack_begin(bytes, size);
    struct message_end end, again;
    if (!message_read_end(&in, &end)) return;
    struct hd_packed packed = {.bytes = {0}};
    message_put_end(&packed, end.number, end.end, &end.result, &end.error);
    struct hd_unpack written = hd_unpack_begin(packed.bytes.data, packed.bytes.size);
    if (!message_read_end(&written, &again) || !hd_unpack_whole(&written) ||
        again.number != end.number || again.end != end.end ||
        !same(end.result.text, end.result.text_bytes, again.result.text, again.result.text_bytes) ||
        !same(end.result.output, end.result.output_bytes, again.result.output,
              again.result.output_bytes) ||
        strcmp(end.result.outcome, again.result.outcome) != 0)
        abort();
    hd_vector_free(&packed.bytes);
    campaign_result_free(&end.result);
    campaign_result_free(&again.result);
}

static void try_program(const char *bytes, size_t size) {
    struct hd_unpack in = hd_unpack_begin(bytes, size);
    struct message_program program;
    if (!message_program(&in, &program)) return;
    for (size_t i = 0; i < program.file.size; i++)
        if (strchr(program.file.data[i].name, '/') != NULL || program.file.data[i].word < -2)
            abort();
    hd_vector_free(&program.file);
}

static void try_unit(const char *bytes, size_t size) {
    struct hd_source_cache cache = {.directory = NULL};
    struct hd_packed depends = {.bytes = {0}};
    size_t length;
    char *text = hd_unit_take(&cache, bytes, size, &length, &depends);
    if (text != NULL && text[length] != '\0') abort();
    free(text);
    hd_vector_free(&depends.bytes);
    hd_source_cache_close(&cache);
}

static void try_lesson(const char *bytes, size_t size) {
    struct hd_invariants set = {.runs = 0};
    struct hd_learner learner = {.invariants = &set};
    struct hd_trained trained;
    struct hd_error error = {.message = ""};
    if (hd_training_take(&learner, "input", bytes, size, &trained, &error))
        hd_learner_end_run(&learner, true);
    else if (error.message[0] == '\0')
        abort();
    hd_learner_free(&learner);
    hd_invariants_free(&set);
}

static void try_witness(const char *bytes, size_t size) {
    struct hd_unpack in = hd_unpack_begin(bytes, size);
    struct hd_model model = {.events = 1000};
    struct hd_kept_witness kept;
    if (!hd_kept_witness_restore(&kept, &model, &in)) return;
    uint64_t events = 0;
    for (uint32_t i = 0; i < kept.runs; i++) {
        if (kept.run[i].first >= 1000 || kept.run[i].count > 1000 - kept.run[i].first) abort();
        events += kept.run[i].count;
    }
    if (events > 1000 || kept.next > events) abort();
    hd_kept_witness_free(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const tries[])(const char *, size_t) = {try_task, try_end,    try_program,
                                                          try_unit, try_lesson, try_witness};
    if (size == 0) return 0;
    /* A copy of its own size, as who receives it has: a NUL behind it. */
    char *bytes = hd_alloc(size, 1);
    memcpy(bytes, data + 1, size - 1);
    bytes[size - 1] = '\0';
    tries[data[0] % (sizeof tries / sizeof *tries)](bytes, size - 1);
    free(bytes);
    return 0;
}
