/* How many results a second a coordinator takes into its file, of jobs that cost nothing:
 * coordinator RESULTS TRACE-BYTES FILE. Each comes as the message that a worker sends, is read,
 * looked up and added, as rank 0 does it, with a commit four times a second; every tenth has an
 * output of its own, each has a trace of its own (0: none). One line: processor seconds, results
 * for each. */
#include "base/alloc.h"
#include "base/clock.h"
#include "campaign/file.h"
#include "campaign/message.h"
#include "run/job.h"
#include "store/sql.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMIT_NS 250000000u

/* By the clock, with the disk's part; and of the processor, whatever else the machine does. */
struct spent {
    double wall, processor;
};

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void start(struct spent *spent) {
    spent->wall -= seconds(CLOCK_MONOTONIC);
    spent->processor -= seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void stop(struct spent *spent) {
    spent->wall += seconds(CLOCK_MONOTONIC);
    spent->processor += seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static struct hd_packed message_of(unsigned number, size_t trace_bytes) {
    struct hd_result run = {.output = -1,
                            .error = -1,
                            .trace = -1,
                            .recorded = true,
                            .wire_events = 62,
                            .threads = 4,
                            .nanoseconds = 5000000,
                            .output_hash = number};
    char output[32];
    snprintf(output, sizeof output, "total %u\n", number % 10 == 0 ? number : 0);
    struct campaign_result result = {
        .text = hd_result_write(&run), .outcome = "passed", .limit_ms = 1000};
    result.text_bytes = strlen(result.text);
    result.output = hd_strdup(output);
    result.output_bytes = strlen(output);
    if (trace_bytes > 0) {
        result.trace = hd_zalloc(trace_bytes, 1);
        result.trace_bytes = trace_bytes;
        memcpy(result.trace, &number, sizeof number < trace_bytes ? sizeof number : trace_bytes);
    }
    struct hd_packed message = message_new(MESSAGE_RESULT);
    message_put_result(&message, &result);
    campaign_result_free(&result);
    return message;
}

static bool take(struct hd_store *file, unsigned number, const struct hd_packed *message,
                 int64_t program, int64_t machine, struct hd_error *error) {
    struct campaign_key key = {.nth = 0};
    struct campaign_result result;
    int64_t row;
    struct hd_unpack in = hd_unpack_begin(message->bytes.data, message->bytes.size);
    hd_unpack_number(&in);
    if (!message_result(&in, &result)) return false;
    campaign_hash(&number, sizeof number, 0, key.job);
    bool good = campaign_file_find(file, &key, 1000, &row, error) &&
                campaign_file_add(file, &key, program, 0, machine, &result, &row, error);
    campaign_result_free(&result);
    return good;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    unsigned results = (unsigned)strtoul(argv[1], NULL, 10);
    size_t trace_bytes = strtoul(argv[2], NULL, 10);
    struct hd_error error = {.message = ""};
    unlink(argv[3]);
    struct hd_store *file = campaign_file_open(argv[3], true, &error);
    int64_t program = 0, machine = 0;
    bool good = file != NULL && campaign_file_program(file, "p", "./p", "b", &program, &error) &&
                campaign_file_machine(file, "m", &machine, &error) && hd_sql_begin(file, &error);
    struct spent spent = {0};
    uint64_t next = hd_now_ns() + COMMIT_NS;
    for (unsigned i = 0; good && i < results; i++) {
        struct hd_packed message = message_of(i, trace_bytes); /* the worker's time, not counted */
        start(&spent);
        good = take(file, i, &message, program, machine, &error);
        if (good && hd_now_ns() > next) {
            good = hd_sql_commit(file, &error) && hd_sql_begin(file, &error);
            next = hd_now_ns() + COMMIT_NS;
        }
        stop(&spent);
        hd_vector_free(&message.bytes);
    }
    start(&spent);
    good = good && hd_sql_commit(file, &error);
    stop(&spent);
    if (good)
        printf("%.0f %.0f\n", results / spent.wall, results / spent.processor);
    else
        fprintf(stderr, "%s\n", error.message);
    hd_store_close(file);
    return good ? 0 : 2;
}
