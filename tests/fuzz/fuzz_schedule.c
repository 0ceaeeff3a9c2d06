/* Any bytes as a schedule file: refused with a message, or read as a schedule that is written, read
 * and written again as the same text, and that becomes a sound plan. */
#include "run/schedule.h"
#include "trace/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plan(const struct hd_schedule *schedule) {
    size_t bytes;
    struct hd_wire_replay *plan = hd_schedule_plan(schedule, 1, &bytes);
    if (plan == NULL) return;
    if (bytes != sizeof *plan + plan->turns * sizeof plan->turn[0] || plan->then > plan->turns)
        abort();
    for (uint32_t i = 0; i < plan->turns; i++)
        if (plan->turn[i].end < plan->turn[i].mark || plan->turn[i].end >> 62) abort();
    free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_schedule schedule, again;
    struct hd_error error;
    error.message[0] = '\0';
    if (!hd_schedule_read((const char *)data, size, "input", &schedule, &error)) {
        if (error.message[0] == '\0') abort();
        return 0;
    }
    check_plan(&schedule);
    char *first = hd_schedule_write(&schedule);
    hd_schedule_free(&schedule);
    if (first == NULL) return 0;
    if (!hd_schedule_read(first, strlen(first), "written", &again, &error)) abort();
    char *second = hd_schedule_write(&again);
    if (second != NULL && strcmp(first, second) != 0) abort();
    free(first);
    free(second);
    hd_schedule_free(&again);
    return 0;
}
