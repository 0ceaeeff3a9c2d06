/* The replay policy: follows the turns of a plan (struct hd_wire_replay), checks that the program
 * can take them, and says where it could not. When the turns are over, or can't be taken, threads
 * run on by round robin. That each turn ends where it should is checked in the trace afterwards. */
#include "runtime/sched.h"

#include <time.h>

static const struct hd_wire_replay *plan; /* NULL: nothing to follow, or no more */
static uint32_t at;                       /* the present turn */
static struct rt_thread *last;            /* whose turn was the last of all: it goes on first */
static const struct hd_wire_made *made;   /* by number: who makes that thread */
static uint32_t made_count;
static const struct hd_wire_choice *choice;
static uint32_t choice_count;

static struct hd_wire_replay_answer *answer(void) {
    _Static_assert(sizeof(struct hd_wire_replay_answer) <= sizeof rt.session->answer, "fits");
    return (struct hd_wire_replay_answer *)(void *)rt.session->answer;
}

static void finish(enum hd_replay_state state) {
    answer()->turn = at;
    answer()->state = state;
    plan = NULL;
    rt_policy_replay.commands = false;
}

static void diverge(enum hd_replay_reason reason, const struct rt_thread *t, uint64_t calls) {
    struct hd_wire_replay_answer *a = answer();
    last = NULL;
    a->reason = reason;
    a->thread = plan->turn[at].thread;
    a->calls = calls;
    if (t != NULL && reason == HD_REPLAY_BLOCKED) {
        a->wait_type = t->wait_type & ~RT_WAIT_UNUSED;
        a->wait_object = t->wait_object;
        a->site = rt_site((struct rt_thread *)t, t->wait_pc);
    }
    finish(HD_REPLAY_DIVERGED);
}

/* The plan comes from outside: every turn is about a thread that could exist, and in each thread
 * counts never go back. */
static bool is_sound(const struct hd_wire_replay *p, size_t bytes) {
    if (bytes < sizeof *p || p->turns > (bytes - sizeof *p) / sizeof p->turn[0]) return false;
    if (p->then > p->turns || p->threads > RT_MAX_THREADS) return false;
    size_t rest = bytes - sizeof *p - p->turns * sizeof p->turn[0];
    if (p->threads * sizeof *made > rest) return false;
    if (p->choices > (rest - p->threads * sizeof *made) / sizeof *choice) return false;
    for (uint32_t i = 0; i < p->turns; i++) {
        const struct hd_wire_turn *turn = &p->turn[i];
        if (turn->thread >= RT_MAX_THREADS || turn->end < turn->mark || turn->end >> 62)
            return false;
    }
    return true;
}

static void start(void) {
    plan = rt.plan;
    at = 0;
    last = NULL;
    made_count = choice_count = 0;
    rt_policy_replay.commands = true;
    if (plan == NULL || !is_sound(plan, rt.plan_bytes)) {
        answer()->reason = HD_REPLAY_BAD_PLAN;
        finish(HD_REPLAY_DIVERGED);
        return;
    }
    if (plan->process != rt.options.process) { /* of another process */
        finish(HD_REPLAY_NONE);
        return;
    }
    made = (const struct hd_wire_made *)(const void *)&plan->turn[plan->turns];
    made_count = plan->threads;
    choice = (const struct hd_wire_choice *)(const void *)&made[made_count];
    choice_count = plan->choices;
    answer()->state = plan->turns > 0 && plan->then == 0 ? HD_REPLAY_REACHED : HD_REPLAY_FOLLOWING;
    if (plan->turns == 0) finish(HD_REPLAY_OVER);
}

/* Also when the plan is over: the trace is compared with it. */
uint32_t rt_replay_number(const struct rt_thread *creator, uint32_t *free) {
    *free = made_count;
    for (uint32_t i = 1; i < made_count; i++) {
        if (rt.slot[i].made) continue;
        if (creator == NULL ? made[i].by == UINT32_MAX
                            : made[i].by == creator->number && made[i].as == creator->children)
            return i;
    }
    return UINT32_MAX;
}

/* How the call comes out that a thread is in; NULL: nothing is said about that. */
static const struct hd_wire_choice *chosen(const struct rt_thread *t) {
    uint64_t calls = rt_calls(t);
    for (uint32_t i = 0; i < choice_count; i++)
        if (choice[i].thread == t->number && choice[i].call == calls) return &choice[i];
    return NULL;
}

/* Also when the plan is over: a schedule may have been made shorter since. */
uint32_t rt_replay_woken(const struct rt_thread *t) {
    const struct hd_wire_choice *c = chosen(t);
    return c != NULL ? c->wakes : UINT32_MAX;
}

bool rt_replay_expires(void) {
    for (uint32_t i = 0; i < choice_count; i++)
        if (choice[i].wakes == UINT32_MAX) return true;
    return false;
}

/* Its time is up now. */
static bool expires(struct rt_thread *t) {
    const struct hd_wire_choice *c = t->timed && t->time_is_ours ? chosen(t) : NULL;
    if (c == NULL || c->wakes != UINT32_MAX) return false;
    t->expired = 1;
    sched_expire(t);
    return true;
}

static void next_turn(void) {
    last = rt.slot[plan->turn[at].thread].thread;
    at++;
    answer()->turn = at;
    if (at == plan->turns)
        finish(HD_REPLAY_OVER);
    else if (at == plan->then)
        answer()->state = HD_REPLAY_REACHED;
}

/* What keeps the present turn's thread from running. */
enum state {
    DONE,    /* nothing is left of its turn */
    RUNS,    /* it is ready, or has the turn */
    WAIT,    /* it may come */
    DIVERGED /* it can't; the plan is over */
};

/* Handlers may post a semaphore, and nothing else that a thread waits for here. */
static bool a_signal_may_wake(const struct rt_thread *t) {
    return rt_handlers_installed && t->wait_type == HD_WAIT_SEM;
}

/* Nobody else runs while it waits, so only its deadline can end the wait. */
static bool is_due_soon(const struct rt_thread *t) {
    struct timespec now;
    if (t->time_is_ours) return false;
    if (!t->timed || clock_gettime(t->until_clock, &now) != 0) return t->timed;
    int64_t seconds = (int64_t)t->until.tv_sec - (int64_t)now.tv_sec;
    if (seconds > (int64_t)plan->patience_ms / 1000 + 1) return false;
    return seconds * 1000 + (t->until.tv_nsec - now.tv_nsec) / 1000000 <=
           (int64_t)plan->patience_ms;
}

/* The marked call has left its event. Where the thread can't go on now, the rest of the turn may
 * come later; but a turn without a call of its own is there to go on: to its last call, or, if it
 * has none, out of the call that it is in. */
static bool has_done_enough(const struct rt_thread *t, const struct hd_wire_turn *turn) {
    uint64_t calls = rt_calls(t);
    if (turn->finish) return turn->end > turn->mark && calls == turn->end;
    return calls > turn->mark || (calls == turn->mark && rt_calls_emitted(t) == calls);
}

static enum state look(void) {
    const struct hd_wire_turn *turn = &plan->turn[at];
    if (turn->thread >= rt.threads || !rt.slot[turn->thread].made) {
        diverge(HD_REPLAY_NO_THREAD, NULL, 0);
        return DIVERGED;
    }
    const struct rt_slot *slot = &rt.slot[turn->thread];
    struct rt_thread *t = slot->thread;
    if (slot->ended || t == NULL) {
        if (!slot->ended) return WAIT; /* it is being made */
        if (slot->calls >= turn->mark) return DONE;
        diverge(HD_REPLAY_ENDED, NULL, slot->calls);
        return DIVERGED;
    }
    uint64_t calls = rt_calls(t);
    /* It has stopped in the call after its last one: that one is counted, but not executed. */
    if (calls > turn->end) return DONE;
    bool enough = has_done_enough(t, turn);
    switch (t->state) {
    case RT_READY:
    case RT_RUNNING:
        if (t->expired != 2 || !turn->finish) return RUNS;
        t->expired = 0;
        return DONE;
    case RT_BLOCKED:
        if (enough) return DONE;
        if (expires(t)) return RUNS;
        if (is_due_soon(t) || a_signal_may_wake(t)) return WAIT;
        if (at >= plan->then) return DONE; /* an acquire that closes a deadlock */
        diverge(HD_REPLAY_BLOCKED, t, calls);
        return DIVERGED;
    case RT_OUTSIDE:
        return enough ? DONE : WAIT;
    default:
        return WAIT;
    }
}

/* The turn's thread may wait, out of our sight, for another to have begun (at a barrier of
 * OpenMP's, say). No turn says so: a thread's way to its first call is no event. */
static struct rt_thread *a_new_one(struct rt_thread *first, unsigned count) {
    for (; count > 0; count--, first = first->next)
        if (rt_calls(first) == 0 && first->number != plan->turn[at].thread) return first;
    return NULL;
}

static struct rt_thread *pick(struct rt_thread *first, unsigned count) {
    while (plan != NULL) {
        switch (look()) {
        case DONE:
            next_turn();
            break;
        case RUNS:
            return rt.slot[plan->turn[at].thread].thread;
        case WAIT:
            return a_new_one(first, count);
        case DIVERGED:
            break;
        }
    }
    struct rt_thread *t = last != NULL && last->state == RT_READY ? last : first;
    last = NULL;
    return t;
}

/* The thread runs up to the end of the plan's turn. If that is another's (the first thread of
 * all), it asks at its first call. */
static uint64_t slice(struct rt_thread *t) {
    t->mark = 0;
    if (plan == NULL) return rt.options.quantum;
    const struct hd_wire_turn *turn = &plan->turn[at];
    uint64_t calls = rt_calls(t);
    if (turn->thread != t->number || calls > turn->end) return 1;
    if (turn->mark >= calls) t->mark = turn->mark;
    return turn->end + 1 - calls;
}

static bool stalled(unsigned milliseconds) {
    if (plan == NULL) return true;
    if (milliseconds < plan->patience_ms) return false;
    const struct rt_thread *t = rt.slot[plan->turn[at].thread].thread;
    diverge(HD_REPLAY_AWAY, NULL, t != NULL ? rt_calls(t) : 0);
    return true;
}

/* A long computation is not interrupted in the middle of a turn, as long as patience lasts. */
static bool computes(const struct rt_thread *t, unsigned milliseconds) {
    if (plan == NULL) return true;
    const struct hd_wire_turn *turn = &plan->turn[at];
    if (turn->thread == t->number && has_done_enough(t, turn)) return true;
    if (milliseconds < plan->patience_ms) return false;
    diverge(HD_REPLAY_AWAY, NULL, rt_calls(t));
    return true;
}

struct rt_policy rt_policy_replay = {
    .start = start, .pick = pick, .slice = slice, .stalled = stalled, .computes = computes};
