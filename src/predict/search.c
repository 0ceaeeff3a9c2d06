/* Search over the orders that a schedule in trace order gets stuck on, with back-jumping: a
 * conflict knows the decisions it rests on, the latest of them is turned round, and what that rests
 * on is remembered with it. */
#include "predict/polygraph.h"

#include <time.h>

struct search {
    struct hd_engine *engine;
    uint64_t choices, deadline;
    bool forced, probed, decided; /* what was needed so far */
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool out_of_budget(const struct search *search) {
    const struct hd_budget *budget = &search->engine->budget;
    return search->engine->failed || (budget->choices > 0 && search->choices >= budget->choices) ||
           (budget->nanoseconds > 0 && now() >= search->deadline);
}

static bool assert_order(struct search *search, uint32_t first, uint32_t second, hd_levels why) {
    search->choices++;
    return hd_choice_assert(search->engine, first, second, why);
}

/* Does `first` before `second` fail at once? If so, conflict says why. */
static bool refuted(struct search *search, uint32_t first, uint32_t second) {
    struct hd_mark mark = hd_polygraph_mark(search->engine);
    bool fails = !hd_choice_assert(search->engine, first, second, 0);
    hd_polygraph_undo(search->engine, mark);
    return fails;
}

/* Deals with a stuck schedule. False: a conflict. */
static bool untie(struct search *search) {
    struct hd_engine *engine = search->engine;
    hd_levels why = hd_schedule_knot(engine);
    size_t count = engine->undecided.size / 2;
    const uint32_t *pair = engine->undecided.data;
    if (engine->failed) return false;
    search->forced = true;
    if (count == 0) {
        engine->conflict = why;
        return false;
    }
    bool closed = true; /* the knot is a circle, not a wait for something beyond the cut */
    if (count == 1) {
        uint32_t first = pair[0], second = pair[1];
        uint32_t thread = engine->view->thread[hd_block_start(engine, second)];
        const struct hd_wait *wait = &engine->wait[thread];
        closed = wait->position < engine->cut[wait->thread];
        if (closed) return assert_order(search, second, first, why);
    }
    /* One of the undecided orders has to be turned, or, if the first block is open at the end of
     * the cut, it may be closed instead. Those that cannot be turned stay as they are. */
    bool fixed = false;
    size_t best = count;
    search->probed |= closed;
    for (size_t i = 0; i < count; i++) {
        if (!refuted(search, pair[2 * i + 1], pair[2 * i])) {
            if (best == count) best = i;
            continue;
        }
        fixed = true;
        if (!assert_order(search, pair[2 * i], pair[2 * i + 1], engine->conflict)) return false;
    }
    if (fixed) return true;
    struct hd_level level = {hd_polygraph_mark(engine), pair[2 * best + 1], pair[2 * best]};
    if (!closed && refuted(search, pair[0], pair[1]))
        return assert_order(search, pair[1], pair[0], engine->conflict);
    search->decided = true;
    if (!hd_vector_push(&engine->levels, level)) {
        engine->failed = true;
        return false;
    }
    return assert_order(search, level.first, level.second, hd_level_bit(engine->levels.size));
}

/* Turns the latest decision that a conflict rests on. False: it rests on none. */
static bool turn_back(struct search *search) {
    struct hd_engine *engine = search->engine;
    for (;;) {
        hd_levels why = engine->conflict;
        size_t depth = engine->levels.size, level;
        if (why == 0 || engine->failed) return false;
        engine->stats.backtracks++;
        level = 64 - (size_t)__builtin_clzll(why);
        if (level == 64) level = depth;
        struct hd_level turned = engine->levels.data[level - 1];
        engine->levels.size = level - 1;
        hd_polygraph_undo(engine, turned.mark);
        if (level <= 64) why &= ~hd_level_bit(level);
        if (assert_order(search, turned.second, turned.first, why)) return true;
    }
}

/* Tries the trace's own way: every section that another one of its lock follows in the trace is
 * closed if that can be. It is a guess, undone if it leads nowhere. */
static bool by_trace_order(struct hd_engine *engine) {
    struct hd_mark mark = hd_polygraph_mark(engine);
    hd_open_close(engine);
    if (engine->growths.size == mark.growths) return false; /* nothing new: the search begins so */
    if (hd_choices_around_held(engine) && hd_schedule(engine) == HD_SCHEDULED) return true;
    hd_polygraph_undo(engine, mark);
    return false;
}

enum hd_verdict hd_search(struct hd_engine *engine, enum hd_rung *rung) {
    struct search search = {.engine = engine};
    if (engine->budget.nanoseconds > 0) search.deadline = now() + engine->budget.nanoseconds;
    enum hd_verdict verdict = HD_UNDECIDED;
    if (hd_choices_around_held(engine) && by_trace_order(engine)) {
        verdict = engine->failed ? HD_UNDECIDED : HD_FEASIBLE;
        *rung = engine->deviates ? HD_RUNG_RECONSTRUCTION : HD_RUNG_TRACE_ORDER;
        return verdict;
    }
    for (;;) {
        if (out_of_budget(&search)) break;
        if (!hd_choices_around_held(engine)) {
            if (!turn_back(&search)) {
                verdict = engine->failed ? HD_UNDECIDED : HD_INFEASIBLE;
                break;
            }
            continue;
        }
        if (hd_schedule(engine) == HD_SCHEDULED) {
            verdict = engine->failed ? HD_UNDECIDED : HD_FEASIBLE;
            break;
        }
        if (!untie(&search) && !turn_back(&search)) {
            verdict = engine->failed ? HD_UNDECIDED : HD_INFEASIBLE;
            break;
        }
    }
    *rung = search.decided  ? HD_RUNG_SEARCH
            : search.probed ? HD_RUNG_LOOKAHEAD
            : search.forced ? (verdict == HD_FEASIBLE ? HD_RUNG_RECONSTRUCTION : HD_RUNG_SATURATION)
            : verdict == HD_INFEASIBLE ? HD_RUNG_CLOSURE
            : engine->deviates         ? HD_RUNG_RECONSTRUCTION
                                       : HD_RUNG_TRACE_ORDER;
    return verdict;
}
