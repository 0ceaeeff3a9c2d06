/* Checks a replay by its trace, independently of the runtime that followed the schedule. */
#define _GNU_SOURCE
#include "run/replay_check.h"

#include "base/alloc.h"
#include "model/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "dir/log.c:57 r(len)" is compared as "log.c:57 r": objects and directories may have other names
 * in another run. */
static void essence(const char *text, char *to, size_t room) {
    size_t n = 0;
    for (const char *c = text; *c != '\0' && *c != '(' && n + 1 < room; c++) {
        if (*c == '/')
            n = 0;
        else
            to[n++] = *c;
    }
    to[n] = '\0';
}

static bool same_place(const char *expected, const char *came) {
    char a[512], b[512];
    essence(expected, a, sizeof a);
    essence(came, b, sizeof b);
    return strcmp(a, b) == 0;
}

/* Events that may be loaded, and read for it: more, of a thread that spins until the time limit,
 * would take longer than the run. The runtime itself has checked each turn. */
enum { MOST_LOADED = 2000000, MOST_READ = 200000000 };

struct check {
    const struct hd_model *model;
    struct hd_describe *describe;
    uint64_t *count; /* by event */
    uint64_t *made;  /* by thread: calls in the turns so far */
    uint32_t latest; /* the event that ended the turn before */
};

/* A call may have several events (a copy reads and writes): the one that was expected, or the
 * first. */
static uint32_t expected_of(const struct check *c, uint32_t event, const char *expected) {
    const struct hd_model *model = c->model;
    const uint32_t *own = model->thread_event + model->thread_start[model->thread[event]];
    uint32_t count =
        model->thread_start[model->thread[event] + 1u] - model->thread_start[model->thread[event]];
    for (uint32_t i = hd_model_position(model, event); i < count; i++) {
        if (c->count[own[i]] != c->count[event]) break;
        char came[512];
        hd_schedule_event_text(c->describe, model, own[i], came, sizeof came);
        if (same_place(expected, came)) return own[i];
    }
    return event;
}

/* The error condition's calls need not return: a lock that is never given closes a deadlock. */
static bool check_turn(struct check *c, uint32_t index, const struct hd_turn *turn, bool then,
                       struct hd_divergence *d) {
    struct hd_divergence found = {.there = true, .turn = index, .thread = turn->thread};
    uint32_t event = HD_NONE;
    if (turn->thread < c->model->threads) {
        found.call = c->made[turn->thread] + turn->calls;
        c->made[turn->thread] = found.call + turn->beyond;
        if (turn->calls == 0 || turn->to[0] == '\0') return true;
        event = hd_schedule_event_at(c->model, c->count, turn->thread, found.call);
    }
    if (event == HD_NONE && then) return true;
    found.event = event != HD_NONE ? hd_trace_number(c->model->trace, event) : HD_NO_EVENT;
    snprintf(found.expected, sizeof found.expected, "%s", turn->to);
    if (event == HD_NONE) {
        snprintf(found.came, sizeof found.came, "T%u did not return from that call", turn->thread);
    } else {
        char came[512];
        event = expected_of(c, event, turn->to);
        hd_schedule_event_text(c->describe, c->model, event, came, sizeof came);
        if (!same_place(turn->to, came)) {
            snprintf(found.came, sizeof found.came, "%s", came);
        } else if (c->latest != HD_NONE && event < c->latest) {
            snprintf(found.came, sizeof found.came, "%.400s, but earlier than the previous turn",
                     came);
        } else {
            c->latest = event;
            return true;
        }
    }
    *d = found;
    return false;
}

bool hd_replay_check(const struct hd_schedule *schedule, const char *trace_path, uint32_t turns,
                     struct hd_divergence *divergence) {
    struct hd_model model;
    struct hd_model_options options = {.lenient = true};
    struct hd_error ignored;
    struct hd_trace_options read = {.most_events = MOST_LOADED, .most_expected = MOST_READ};
    struct hd_trace_mark *mark = hd_schedule_marks(schedule, &read.marks);
    read.mark = mark;
    bool loaded = hd_model_load(trace_path, &read, &options, &model, &ignored);
    free(mark);
    if (!loaded) return false;
    struct check c = {.model = &model,
                      .describe = hd_describe_open(&model),
                      .count = hd_schedule_call_counts(&model),
                      .made = hd_zalloc(model.threads, sizeof *c.made),
                      .latest = HD_NONE};
    if (divergence->there && divergence->turn < turns) turns = divergence->turn;
    for (uint32_t i = 0; i < turns && i < hd_schedule_turns(schedule); i++)
        if (!check_turn(&c, i, hd_schedule_turn(schedule, i), i >= schedule->turn.size, divergence))
            break;
    free(c.count);
    free(c.made);
    hd_describe_close(c.describe);
    hd_model_free(&model);
    return true;
}
