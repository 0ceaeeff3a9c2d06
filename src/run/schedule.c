/* Schedules in memory, and as the runtime takes them. See schedule.h. */
#include "run/schedule.h"

#include "base/alloc.h"
#include "trace/wire.h"

#include <assert.h>
#include <string.h>

void hd_schedule_free(struct hd_schedule *schedule) {
    hd_vector_free(&schedule->turn);
    hd_vector_free(&schedule->then);
    hd_vector_free(&schedule->made);
    hd_vector_free(&schedule->choice);
    hd_steering_free(&schedule->control);
    hd_sites_free(&schedule->places);
    hd_arena_free(&schedule->arena);
    memset(schedule, 0, sizeof *schedule);
}

const char *hd_schedule_text(struct hd_schedule *schedule, const char *text) {
    if (text == NULL || *text == '\0') return "";
    return hd_arena_copy(&schedule->arena, text, strlen(text));
}

static struct hd_turn copy_turn(struct hd_schedule *to, struct hd_turn turn) {
    turn.to = hd_schedule_text(to, turn.to);
    return turn;
}

void hd_schedule_copy(struct hd_schedule *to, const struct hd_schedule *from) {
    assert(!from->has_control);
    memset(to, 0, sizeof *to);
    to->kind = hd_schedule_text(to, from->kind);
    to->process = from->process;
    to->variable = hd_schedule_text(to, from->variable);
    to->fingerprint = hd_schedule_text(to, from->fingerprint);
    to->about = hd_schedule_text(to, from->about);
    to->command = hd_schedule_text(to, from->command);
    to->outcome = hd_schedule_text(to, from->outcome);
    to->good_output = hd_schedule_text(to, from->good_output);
    for (size_t i = 0; i < from->turn.size; i++)
        hd_vector_push(&to->turn, copy_turn(to, from->turn.data[i]));
    for (size_t i = 0; i < from->then.size; i++)
        hd_vector_push(&to->then, copy_turn(to, from->then.data[i]));
    for (size_t i = 0; i < from->made.size; i++) hd_vector_push(&to->made, from->made.data[i]);
    for (size_t i = 0; i < from->choice.size; i++)
        hd_vector_push(&to->choice, from->choice.data[i]);
}

uint32_t hd_schedule_turns(const struct hd_schedule *schedule) {
    return (uint32_t)(schedule->turn.size + schedule->then.size);
}

const struct hd_turn *hd_schedule_turn(const struct hd_schedule *schedule, uint32_t number) {
    if (number < schedule->turn.size) return &schedule->turn.data[number];
    return &schedule->then.data[number - schedule->turn.size];
}

bool hd_schedule_swap(struct hd_schedule *schedule) {
    size_t count = schedule->then.size;
    if (count < 2) return false;
    struct hd_turn last = schedule->then.data[count - 1];
    schedule->then.data[count - 1] = schedule->then.data[count - 2];
    schedule->then.data[count - 2] = last;
    return true;
}

struct hd_steering hd_schedule_steering(const struct hd_schedule *schedule) {
    if (!schedule->has_control)
        return (struct hd_steering){.scheduler = HD_SCHED_SERIAL,
                                    .policy = HD_POLICY_REPLAY,
                                    .children = schedule->process > 0,
                                    .schedule = schedule};
    struct hd_steering control = schedule->control;
    control.places = &schedule->places;
    return control;
}

uint32_t hd_schedule_switches(const struct hd_schedule *schedule) {
    uint32_t switches = 0;
    for (uint32_t i = 1; i < hd_schedule_turns(schedule); i++)
        switches +=
            hd_schedule_turn(schedule, i)->thread != hd_schedule_turn(schedule, i - 1)->thread;
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
    uint32_t turns = hd_schedule_turns(schedule), threads = 0;
    for (uint32_t i = 0; i < turns; i++) {
        uint32_t thread = hd_schedule_turn(schedule, i)->thread;
        if (thread >= threads) threads = thread + 1;
    }
    *bytes = sizeof(struct hd_wire_replay) + turns * sizeof(struct hd_wire_turn) +
             schedule->made.size * sizeof(struct hd_wire_made) +
             schedule->choice.size * sizeof(struct hd_wire_choice);
    struct hd_wire_replay *plan = hd_zalloc(1, *bytes);
    uint64_t *made = hd_zalloc(threads, sizeof *made); /* calls of each thread so far */
    plan->patience_ms = patience_ms;
    plan->process = schedule->process;
    plan->then = (uint32_t)schedule->turn.size;
    for (uint32_t i = 0; i < turns; i++) add_turn(plan, made, hd_schedule_turn(schedule, i));
    struct hd_wire_made *maker = (struct hd_wire_made *)(void *)&plan->turn[plan->turns];
    for (size_t i = 0; i < schedule->made.size; i++, plan->threads++)
        maker[i] = (struct hd_wire_made){schedule->made.data[i].by, schedule->made.data[i].as};
    struct hd_wire_choice *choice = (struct hd_wire_choice *)(void *)&maker[plan->threads];
    for (size_t i = 0; i < schedule->choice.size; i++, plan->choices++) {
        const struct hd_run_choice *from = &schedule->choice.data[i];
        choice[i] = (struct hd_wire_choice){from->call, from->thread, from->wakes};
    }
    free(made);
    return plan;
}
