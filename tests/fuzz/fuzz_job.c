/* Any bytes as a job or a result: refused with a message, or read as one that is written, read and
 * written again as the same text. */
#include "run/job.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_job(const char *text, size_t size) {
    struct hd_job job, again;
    struct hd_error error = {.message = ""};
    if (!hd_job_read(text, size, "input", &job, &error)) {
        if (error.message[0] == '\0') abort();
        return;
    }
    char *first = hd_job_write(&job);
    hd_job_free(&job);
    if (!hd_job_read(first, strlen(first), "written", &again, &error)) abort();
    char *second = hd_job_write(&again);
    if (strcmp(first, second) != 0) abort();
    size_t bytes;
    free(hd_steering_plan(&again.steering, &bytes));
    free(first);
    free(second);
    hd_job_free(&again);
}

static void try_result(const char *text, size_t size) {
    struct hd_result result;
    struct hd_error error = {.message = ""};
    if (!hd_result_read(text, size, "input", &result, &error)) {
        if (error.message[0] == '\0') abort();
        return;
    }
    char *first = hd_result_write(&result);
    if (!hd_result_read(first, strlen(first), "written", &result, &error)) abort();
    char *second = hd_result_write(&result);
    if (strcmp(first, second) != 0) abort();
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_job((const char *)data, size);
    try_result((const char *)data, size);
    return 0;
}
