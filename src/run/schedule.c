/* Schedules in memory, and as the runtime takes them. See schedule.h. */
#include "run/schedule.h"

#include "trace/wire.h"

#include <stdlib.h>
#include <string.h>

void hd_schedule_free(struct hd_schedule *schedule) {
    hd_vector_free(&schedule->turn);
    hd_vector_free(&schedule->then);
    hd_vector_free(&schedule->made);
    hd_arena_free(&schedule->arena);
    memset(schedule, 0, sizeof *schedule);
}

const char *hd_schedule_text(struct hd_schedule *schedule, const char *text) {
    if (text == NULL || *text == '\0') return "";
    size_t bytes = strlen(text) + 1;
    char *copy = hd_arena_alloc(&schedule->arena, bytes);
    if (copy == NULL) return "";
    memcpy(copy, text, bytes);
    return copy;
}

bool hd_schedule_copy(struct hd_schedule *to, const struct hd_schedule *from) {
    memset(to, 0, sizeof *to);
    to->kind = hd_schedule_text(to, from->kind);
    to->variable = hd_schedule_text(to, from->variable);
    to->fingerprint = hd_schedule_text(to, from->fingerprint);
    to->about = hd_schedule_text(to, from->about);
    to->command = hd_schedule_text(to, from->command);
    to->good_output = hd_schedule_text(to, from->good_output);
    bool good = true;
    for (size_t i = 0; good && i < from->turn.size; i++) {
        struct hd_turn turn = from->turn.data[i];
        turn.to = hd_schedule_text(to, turn.to);
        good = hd_vector_push(&to->turn, turn);
    }
    for (size_t i = 0; good && i < from->then.size; i++) {
        struct hd_turn turn = from->then.data[i];
        turn.to = hd_schedule_text(to, turn.to);
        good = hd_vector_push(&to->then, turn);
    }
    for (size_t i = 0; good && i < from->made.size; i++)
        good = hd_vector_push(&to->made, from->made.data[i]);
    if (!good) hd_schedule_free(to);
    return good;
}

uint32_t hd_schedule_switches(const struct hd_schedule *schedule) {
    uint32_t switches = 0, last = UINT32_MAX;
    for (size_t i = 0; i < schedule->turn.size; i++) {
        uint32_t thread = schedule->turn.data[i].thread;
        if (last != UINT32_MAX && thread != last) switches++;
        last = thread;
    }
    for (size_t i = 0; i < schedule->then.size; i++) {
        uint32_t thread = schedule->then.data[i].thread;
        if (last != UINT32_MAX && thread != last) switches++;
        last = thread;
    }
    return switches;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static void add_turn(struct hd_wire_replay *plan, uint64_t *made, const struct hd_turn *turn) {
    uint64_t mark = made[turn->thread] + turn->calls;
    made[turn->thread] = mark + turn->beyond;
    plan->turn[plan->turns++] = (struct hd_wire_turn){.thread = turn->thread,
                                                      .finish = turn->calls == 0,
                                                      .mark = mark,
                                                      .end = made[turn->thread]};
}

void *hd_schedule_plan(const struct hd_schedule *schedule, uint32_t patience_ms, size_t *bytes) {
    size_t turns = schedule->turn.size + schedule->then.size;
    uint32_t threads = 0;
    for (size_t i = 0; i < turns; i++) {
        uint32_t thread = i < schedule->turn.size
                              ? schedule->turn.data[i].thread
                              : schedule->then.data[i - schedule->turn.size].thread;
        if (thread >= threads) threads = thread + 1;
    }
    *bytes = sizeof(struct hd_wire_replay) + turns * sizeof(struct hd_wire_turn) +
             schedule->made.size * sizeof(struct hd_wire_made);
    struct hd_wire_replay *plan = calloc(1, *bytes);
    uint64_t *made = calloc(threads ? threads : 1, sizeof *made); /* calls of each thread so far */
    if (plan != NULL && made != NULL) {
        plan->patience_ms = patience_ms;
        for (size_t i = 0; i < schedule->turn.size; i++)
            add_turn(plan, made, &schedule->turn.data[i]);
        plan->then = plan->turns;
        for (size_t i = 0; i < schedule->then.size; i++)
            add_turn(plan, made, &schedule->then.data[i]);
        struct hd_wire_made *maker = (struct hd_wire_made *)(void *)&plan->turn[plan->turns];
        for (size_t i = 0; i < schedule->made.size; i++, plan->threads++)
            maker[i] = (struct hd_wire_made){schedule->made.data[i].by, schedule->made.data[i].as};
    } else {
        free(plan);
        plan = NULL;
    }
    free(made);
    return plan;
}
