/* Schedules from what a model holds: a witness, or the recorded run itself. */
#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "finding/from_model.h"
#include "run/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts of events that are not calls themselves (the end of a thread, a handler, the wait that
 * another thread's signal ends) are of calls that were left out before them. */
bool hd_schedule_is_call(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_BEGIN:
    case HD_EV_END:
    case HD_EV_WAIT:
    case HD_EV_BLOCKED:
    case HD_EV_HANDLER_ENTER:
    case HD_EV_HANDLER_LEAVE:
        return false;
    case HD_EV_ALLOC:
    case HD_EV_FREE:
        return model->flags[event] != HD_BLOCK_STACK && hd_model_calls(model, event) > 0;
    default:
        return hd_model_calls(model, event) > 0;
    }
}

uint64_t *hd_schedule_call_counts(const struct hd_model *model) {
    uint64_t *count = hd_alloc(model->events, sizeof *count);
    uint64_t *made = hd_zalloc(model->threads, sizeof *made);
    for (uint32_t i = 0; i < model->events; i++)
        count[i] = made[model->thread[i]] += hd_model_calls(model, i);
    free(made);
    return count;
}

/* The event that there would have been, had the thread not been blocked. */
static enum hd_event_kind kind_of_wait(unsigned type) {
    switch (type) {
    case HD_WAIT_LOCK:
        return HD_EV_ACQUIRE;
    case HD_WAIT_COND:
        return HD_EV_WAIT;
    case HD_WAIT_JOIN:
        return HD_EV_JOIN;
    case HD_WAIT_BARRIER:
        return HD_EV_BARRIER_ARRIVE;
    case HD_WAIT_SEM:
        return HD_EV_SEM_WAIT;
    default:
        return HD_EV_BLOCKED;
    }
}

void hd_schedule_event_text(struct hd_describe *describe, const struct hd_model *model,
                            uint32_t event, char *text, size_t room) {
    const char *site = hd_finding_short_site(hd_describe_site(describe, event));
    enum hd_event_kind kind = model->kind[event];
    if (kind == HD_EV_BLOCKED) kind = kind_of_wait(model->flags[event]);
    const char *word = hd_event_text(kind, model->flags[event]);
    if (*word == '\0') word = hd_kind_name(kind);
    snprintf(text, room, "%s%s%s(%s)", site, *site != '\0' ? " " : "", word,
             hd_describe_event(describe, event, HD_SHORT));
}

uint32_t hd_schedule_event_at(const struct hd_model *model, const uint64_t *count, uint32_t thread,
                              uint64_t calls) {
    if (thread >= model->threads) return HD_NONE;
    const uint32_t *event = model->thread_event;
    uint32_t end = model->thread_start[thread + 1];
    uint32_t at = hd_first_not(i, model->thread_start[thread], end, count[event[i]] < calls);
    for (; at < end && count[event[at]] == calls; at++)
        if (hd_schedule_is_call(model, event[at])) return event[at];
    return HD_NONE;
}

static int by_call(const void *a, const void *b) {
    const struct hd_trace_mark *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

struct hd_trace_mark *hd_schedule_marks(const struct hd_schedule *schedule, size_t *count) {
    uint32_t turns = hd_schedule_turns(schedule);
    struct hd_trace_mark *mark = hd_alloc(turns, sizeof *mark);
    struct hd_map made = {0}; /* thread -> its latest mark's turn, and from there the calls */
    uint64_t *after = hd_alloc(turns, sizeof *after);
    for (uint32_t i = 0; i < turns; i++) {
        const struct hd_turn *turn = hd_schedule_turn(schedule, i);
        uint32_t *latest = hd_map_slot(&made, turn->thread, HD_NONE);
        uint64_t before = *latest != HD_NONE ? after[*latest] : 0;
        mark[i] = (struct hd_trace_mark){turn->thread, before + turn->calls};
        after[i] = before + turn->calls + turn->beyond;
        *latest = i;
    }
    hd_map_free(&made);
    free(after);
    qsort(mark, turns, sizeof *mark, by_call);
    *count = turns;
    return mark;
}

void hd_schedule_name_turns(struct hd_schedule *schedule, const struct hd_model *model,
                            struct hd_describe *describe) {
    uint64_t *made = hd_zalloc(model->threads, sizeof *made);
    uint64_t *count = hd_schedule_call_counts(model);
    for (size_t i = 0; i < schedule->turn.size; i++) {
        struct hd_turn *turn = &schedule->turn.data[i];
        if (turn->thread >= model->threads) continue;
        uint64_t mark = made[turn->thread] + turn->calls;
        made[turn->thread] = mark + turn->beyond;
        uint32_t event =
            turn->calls > 0 ? hd_schedule_event_at(model, count, turn->thread, mark) : HD_NONE;
        char text[1024] = "";
        if (event != HD_NONE) hd_schedule_event_text(describe, model, event, text, sizeof text);
        turn->to = hd_schedule_text(schedule, text);
    }
    free(made);
    free(count);
}

struct maker {
    struct hd_schedule *schedule;
    const struct hd_model *model;
    struct hd_describe *describe;
    uint64_t *count; /* by event */
    uint64_t *made;  /* by thread: calls in the turns so far */
    uint64_t *most;  /* by thread: calls beyond which the error condition's own event comes */
    struct hd_otherwise otherwise;
};

static uint32_t event_after(const struct hd_model *model, uint32_t event) {
    uint32_t at = model->thread_start[model->thread[event]] + hd_model_position(model, event) + 1;
    return at < model->thread_start[model->thread[event] + 1u] ? model->thread_event[at] : HD_NONE;
}
static uint32_t event_before(const struct hd_model *model, uint32_t event) {
    uint32_t position = hd_model_position(model, event);
    return position == 0
               ? HD_NONE
               : model->thread_event[model->thread_start[model->thread[event]] + position - 1];
}

/* Is the event a call of its own, or one that does not return: what a thread was blocked in when
 * the run ended? (A wait's call begins with the release of its lock, which is the event.) */
static bool is_call(const struct hd_model *model, uint32_t event) {
    if (model->kind[event] == HD_EV_BLOCKED) return hd_model_calls(model, event) > 0;
    return hd_schedule_is_call(model, event);
}

/* Calls that a thread can make after an event without reaching its next one. What was left out of
 * the trace repeats what its thread did just before, with nobody in between: it belongs there. */
static uint64_t calls_through(const struct maker *m, uint32_t event) {
    uint32_t after = event_after(m->model, event);
    if (after == HD_NONE) return m->count[event];
    return m->count[after] - is_call(m->model, after);
}

/* Does running its thread bring the event about? Others do a wait's end for it, and a thread that
 * begins does nothing yet. */
static bool is_step(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_BEGIN:
    case HD_EV_WAIT:
    case HD_EV_BLOCKED:
        return false;
    case HD_EV_ALLOC:
        return model->flags[event] != HD_BLOCK_STACK;
    default:
        return true;
    }
}

/* Is it up, in the order that is wanted, how long the event's call may take? */
static bool has_expired(const struct maker *m, uint32_t event) {
    unsigned flags = m->model->flags[event];
    if (event == m->otherwise.event) return m->otherwise.expires;
    switch (m->model->kind[event]) {
    case HD_EV_WAIT_TIMEOUT:
        return true;
    case HD_EV_TRY_FAILED:
        return (flags & HD_LOCK_TIMED) != 0;
    case HD_EV_NOTE:
        return (flags & HD_NOTE_TYPE_MASK) == HD_NOTE_MISSED && (flags & HD_NOTE_TIMED) != 0;
    default:
        return false;
    }
}

/* That is a turn of its own where a wait began in another one: with the call that it is in. */
static bool is_apart(const struct maker *m, uint32_t event) {
    uint8_t kind = m->model->kind[event];
    return has_expired(m, event) && (kind == HD_EV_WAIT_TIMEOUT || kind == HD_EV_WAIT);
}

static void add_turn(struct maker *m, bool then, uint32_t thread, uint64_t calls, uint64_t beyond,
                     uint32_t event, const char *where) {
    char text[1024] = "";
    size_t used = strlen(where);
    if (m->describe != NULL) {
        memcpy(text, where, used);
        hd_schedule_event_text(m->describe, m->model, event, text + used, sizeof text - used);
    }
    struct hd_turn turn = {thread, calls, beyond, hd_schedule_text(m->schedule, text)};
    if (then)
        hd_vector_push(&m->schedule->then, turn);
    else
        hd_vector_push(&m->schedule->turn, turn);
    m->made[thread] += calls + beyond;
}

/* Events of one thread, one after the other: `last` of them all, `call` the last that is one. */
static void end_turn(struct maker *m, uint32_t last, uint32_t call) {
    if (last == HD_NONE) return;
    uint32_t thread = m->model->thread[last];
    uint64_t end = calls_through(m, last), most = m->most[thread], made = m->made[thread];
    if (end > most) end = most;
    uint64_t mark = call != HD_NONE ? m->count[call] : 0;
    if (mark > end) { /* the same call as the error condition's event: not yet */
        mark = 0;
    }
    if (mark <= made) { /* it finishes a call, or goes on through what was left out */
        if (end < made) end = made;
        /* The last of those calls may be one that it waits in. To come back from it, if it did, is
         * a turn of its own. */
        if (end > made) add_turn(m, false, thread, 0, end - made, last, "");
        if (is_step(m->model, last) || is_apart(m, last))
            add_turn(m, false, thread, 0, 0, last, "");
        return;
    }
    add_turn(m, false, thread, mark - made, end - mark, call, "");
}

static uint32_t nth_event(const struct hd_span *run, uint32_t *at, uint32_t *within) {
    while (*within == run[*at].count) {
        ++*at;
        *within = 0;
    }
    return run[*at].first + (*within)++;
}

/* An access that is recorded without a call of its own: the second of one call (a copy writes what
 * it read), or one that was left out where it happened and is made up for here. */
static bool in_same_call(const struct maker *m, uint32_t event) {
    const struct hd_model *model = m->model;
    for (uint32_t i = event_before(model, event); i != HD_NONE; i = event_before(model, i)) {
        if (m->count[i] != m->count[event]) return false;
        if (hd_schedule_is_call(model, i)) return model->site[i] == model->site[event];
    }
    return false;
}

/* How many calls a thread has made when an event is next, and how many calls it takes. */
static void place_next(const struct maker *m, uint32_t event, uint64_t *position, uint64_t *calls) {
    bool own = is_call(m->model, event);
    *position = m->count[event] - own;
    *calls = own;
    if (own || !hd_model_is_access(m->model, event)) return;
    if (in_same_call(m, event)) {
        --*position;
        *calls = 1;
    } else {
        uint64_t through = calls_through(m, event);
        *calls = through > *position ? through - *position : 1;
    }
}

static void walk(struct maker *m, const struct hd_span *run, uint32_t executed, uint32_t next) {
    uint32_t at = 0, within = 0, last = HD_NONE, call = HD_NONE;
    for (uint32_t i = 0; i < executed; i++) {
        uint32_t event = nth_event(run, &at, &within);
        if (last != HD_NONE && (m->model->thread[event] != m->model->thread[last] ||
                                is_apart(m, event) || is_apart(m, last))) {
            end_turn(m, last, call);
            call = HD_NONE;
        }
        last = event;
        if (hd_schedule_is_call(m->model, event)) call = event;
    }
    end_turn(m, last, call);
    for (uint32_t i = 0; i < next; i++) {
        uint32_t event = nth_event(run, &at, &within), thread = m->model->thread[event];
        uint64_t position, calls;
        place_next(m, event, &position, &calls);
        if (position > m->made[thread]) /* it has to get there first */
            add_turn(m, false, thread, 0, position - m->made[thread], event, "before ");
    }
}

static void add_next(struct maker *m, const struct hd_span *run, uint32_t executed, uint32_t next) {
    uint32_t at = 0, within = 0;
    for (uint32_t i = 0; i < executed; i++) nth_event(run, &at, &within);
    for (uint32_t i = 0; i < next; i++) {
        uint32_t event = nth_event(run, &at, &within);
        uint64_t position, calls;
        place_next(m, event, &position, &calls);
        add_turn(m, true, m->model->thread[event], calls, 0, event, "");
    }
}

static void find_limits(struct maker *m, const struct hd_span *run, uint32_t executed,
                        uint32_t next) {
    uint32_t at = 0, within = 0;
    for (uint32_t i = 0; i < m->model->threads; i++) m->most[i] = UINT64_MAX;
    for (uint32_t i = 0; i < executed; i++) nth_event(run, &at, &within);
    for (uint32_t i = 0; i < next; i++) {
        uint32_t event = nth_event(run, &at, &within);
        uint64_t position, calls;
        place_next(m, event, &position, &calls);
        if (position < m->most[m->model->thread[event]])
            m->most[m->model->thread[event]] = position;
    }
}

/* ---- what no turn says ---------------------------------------------------------------------- */

static void add_choice(struct maker *m, uint32_t event, uint32_t wakes) {
    struct hd_run_choice choice = {m->model->thread[event], wakes, m->count[event]};
    if (choice.call > 0) hd_vector_push(&m->schedule->choice, choice);
}

/* The thread that a signal woke; HD_NONE: none. */
static uint32_t woken_by(const struct hd_model *model, uint32_t signal) {
    const uint32_t *edge;
    uint32_t edges = hd_model_edges_from(model, signal, &edge);
    for (uint32_t i = 0; i < edges; i++)
        if (model->edge[edge[i]].type == HD_EDGE_SIGNAL)
            return model->thread[model->edge[edge[i]].to];
    return HD_NONE;
}

/* Which of several threads that wait a signal wakes, and whose time is up. */
static void add_choices(struct maker *m, const struct hd_span *run, uint32_t all) {
    const struct hd_model *model = m->model;
    const struct hd_otherwise otherwise = m->otherwise;
    uint32_t at = 0, within = 0;
    uint32_t *waiting = hd_zalloc(model->objects, sizeof *waiting);
    for (uint32_t i = 0; i < all; i++) {
        uint32_t event = nth_event(run, &at, &within), object = model->object[event], woken;
        if (has_expired(m, event)) add_choice(m, event, HD_NONE);
        switch (model->kind[event]) {
        case HD_EV_RELEASE:
            object = hd_model_waited_for(model, event);
            if (object != HD_NONE) waiting[object]++;
            break;
        case HD_EV_WAIT:
        case HD_EV_WAIT_TIMEOUT:
            if (object != HD_NONE && waiting[object] > 0) waiting[object]--;
            break;
        case HD_EV_SIGNAL:
            woken = event == otherwise.event ? otherwise.wakes : woken_by(model, event);
            if (object != HD_NONE && waiting[object] > 1 && woken != HD_NONE)
                add_choice(m, event, woken);
            /* its end is no event of the run */
            if (event == otherwise.event && object != HD_NONE && waiting[object] > 0)
                waiting[object]--;
            break;
        default:
            break;
        }
    }
    free(waiting);
}

/* Who makes the threads; nothing if they are numbered as T0 makes them in any run. */
static void list_makers(struct maker *m) {
    const struct hd_model *model = m->model;
    struct hd_schedule *schedule = m->schedule;
    uint32_t *makes = hd_zalloc(model->threads, sizeof *makes);
    bool simple = true;
    for (uint32_t i = 0; i < model->threads; i++)
        hd_vector_push(&schedule->made, ((struct hd_made){HD_NONE, 0}));
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t by = model->thread[e], thread = model->object[e];
        if (model->kind[e] != HD_EV_FORK || thread >= model->threads) continue;
        schedule->made.data[thread] = (struct hd_made){by, makes[by]++};
        simple &= by == 0;
    }
    for (uint32_t i = 1; i < model->threads; i++) simple &= schedule->made.data[i].by != HD_NONE;
    if (simple) schedule->made.size = 0;
    free(makes);
}

bool hd_schedule_from_witness(struct hd_schedule *schedule, const struct hd_model *model,
                              struct hd_describe *describe, const struct hd_span *run,
                              uint32_t runs, uint32_t next, struct hd_error *error) {
    return hd_schedule_from_order(schedule, model, describe, run, runs, next,
                                  (struct hd_otherwise){.event = HD_NONE}, error);
}

bool hd_schedule_from_order(struct hd_schedule *schedule, const struct hd_model *model,
                            struct hd_describe *describe, const struct hd_span *run, uint32_t runs,
                            uint32_t next, struct hd_otherwise otherwise, struct hd_error *error) {
    memset(schedule, 0, sizeof *schedule);
    if (model->trace->format != HD_FORMAT_BINARY || model->trace->site_names != NULL)
        return hd_fail(error, HD_ERR_USAGE, "a text trace has no hook calls to make a schedule of");
    schedule->process = model->trace->options.process;
    uint64_t total = 0;
    for (uint32_t i = 0; i < runs; i++) {
        if (run[i].first > model->events || run[i].count > model->events - run[i].first)
            return hd_fail(error, HD_ERR_FORMAT,
                           "the witness has events that are not in the trace");
        total += run[i].count;
    }
    if (total > UINT32_MAX || next > total)
        return hd_fail(error, HD_ERR_FORMAT, "the witness is not one of this trace");
    schedule->kind = schedule->variable = schedule->fingerprint = schedule->about = "";
    schedule->command = hd_schedule_text(schedule, model->trace->command);
    schedule->outcome = schedule->good_output = "";
    struct maker m = {.schedule = schedule,
                      .model = model,
                      .describe = describe,
                      .count = hd_schedule_call_counts(model),
                      .made = hd_zalloc(model->threads, sizeof *m.made),
                      .most = hd_zalloc(model->threads, sizeof *m.most),
                      .otherwise = otherwise};
    uint32_t executed = (uint32_t)total - next;
    find_limits(&m, run, executed, next);
    walk(&m, run, executed, next);
    add_next(&m, run, executed, next);
    add_choices(&m, run, (uint32_t)total);
    list_makers(&m);
    free(m.count);
    free(m.made);
    free(m.most);
    return true;
}

bool hd_schedule_from_finding(struct hd_schedule *schedule, const struct hd_model *model,
                              struct hd_describe *describe, const struct hd_finding *finding,
                              struct hd_error *error) {
    memset(schedule, 0, sizeof *schedule);
    if (finding->witness == NULL)
        return hd_fail(error, HD_ERR_USAGE, "a finding without a witness has no schedule");
    if (!hd_schedule_from_witness(schedule, model, describe, finding->witness,
                                  finding->witness_spans, finding->witness_next, error))
        return false;
    schedule->kind = hd_schedule_text(schedule, hd_finding_kind_name(finding->kind));
    schedule->variable = hd_schedule_text(schedule, finding->variable);
    schedule->fingerprint = hd_schedule_text(schedule, finding->fingerprint);
    schedule->about = hd_schedule_text(schedule, finding->conclusion);
    return true;
}

bool hd_schedule_from_run(struct hd_schedule *schedule, const struct hd_model *model,
                          struct hd_describe *describe, struct hd_error *error) {
    /* What threads were blocked in when it ended is what comes next. */
    uint32_t blocked = 0;
    for (uint32_t e = 0; e < model->events; e++) blocked += model->kind[e] == HD_EV_BLOCKED;
    struct hd_span *run = hd_alloc(2 * (size_t)blocked + 1, sizeof *run);
    uint32_t runs = hd_spans_before_blocked(model, run);
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_BLOCKED) run[runs++] = (struct hd_span){e, 1};
    bool good = hd_schedule_from_witness(schedule, model, describe, run, runs, blocked, error);
    free(run);
    if (good) schedule->kind = "run";
    return good;
}
