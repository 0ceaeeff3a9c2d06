/* See dead_ends.h. */
#include "explore/dead_ends.h"

#include "trace/wire.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The turns before, and the thread whose turn it is. */
static uint64_t key_of(uint64_t before, const struct hd_wire_turn *turn) {
    return XXH3_64bits_withSeed(&turn->thread, sizeof turn->thread, before);
}

static uint64_t after(uint64_t before, const struct hd_wire_turn *turn) {
    return XXH3_64bits_withSeed(turn, sizeof *turn, before);
}

/* The least mark that a thread which is stuck like this does not reach; 0: all. */
static uint64_t least_mark(const struct hd_wire_replay_answer *answer) {
    switch (answer->reason) {
    case HD_REPLAY_NO_THREAD:
        return 0;
    case HD_REPLAY_ENDED:
        return answer->calls + 1;
    case HD_REPLAY_BLOCKED:
    case HD_REPLAY_AWAY:
        return answer->calls;
    default:
        return UINT64_MAX;
    }
}

void hd_dead_ends_add(struct hd_dead_ends *ends, const struct hd_schedule *schedule,
                      const struct hd_result *run) {
    struct hd_wire_replay_answer answer;
    memcpy(&answer, run->answer, sizeof answer);
    uint64_t mark = least_mark(&answer), before = 0;
    if (answer.state != HD_REPLAY_DIVERGED || mark >= UINT32_MAX) return;
    size_t bytes;
    struct hd_wire_replay *plan = hd_schedule_plan(schedule, 0, &bytes);
    if (answer.turn < plan->then && plan->turn[answer.turn].mark >= mark) {
        for (uint32_t i = 0; i < answer.turn; i++) before = after(before, &plan->turn[i]);
        uint32_t *least =
            hd_map_slot(&ends->stuck, key_of(before, &plan->turn[answer.turn]), UINT32_MAX);
        if (mark < *least) *least = (uint32_t)mark;
    }
    free(plan);
}

bool hd_dead_ends_has(const struct hd_dead_ends *ends, const struct hd_schedule *schedule) {
    size_t bytes;
    if (ends->stuck.count == 0) return false;
    struct hd_wire_replay *plan = hd_schedule_plan(schedule, 0, &bytes);
    bool found = false;
    uint64_t before = 0;
    for (uint32_t i = 0; i < plan->then && !found; i++) {
        const struct hd_wire_turn *turn = &plan->turn[i];
        uint32_t least = hd_map_get(&ends->stuck, key_of(before, turn), UINT32_MAX);
        found = least != UINT32_MAX && turn->mark >= least;
        before = after(before, turn);
    }
    free(plan);
    return found;
}

void hd_dead_ends_free(struct hd_dead_ends *ends) { hd_map_free(&ends->stuck); }
