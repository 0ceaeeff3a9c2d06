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

/* Where a block begins in the trace. */
static uint32_t begins(const struct hd_engine *engine, uint32_t block) {
    return engine->view->event[hd_block_start(engine, block)];
}

static bool decide(struct search *search, uint32_t first, uint32_t second) {
    struct hd_engine *engine = search->engine;
    struct hd_level level = {hd_polygraph_mark(engine), first, second};
    search->decided = true;
    if (!hd_vector_push(&engine->levels, level)) {
        engine->failed = true;
        return false;
    }
    return assert_order(search, first, second, hd_level_bit(engine->levels.size));
}

enum outcome { CONFLICT, FORCED, OPEN };

/* What a knot forces. A circle without undecided orders cannot be; with one, that one is turned;
 * with more, those that cannot be turned stay as they are. A block that is open at the end of the
 * cut is closed, or comes after the one that waits for it; both may be possible. */
static enum outcome force(struct search *search, const struct hd_knot *knot) {
    struct hd_engine *engine = search->engine;
    const uint32_t *pair = engine->undecided.data + knot->first;
    if (knot->pairs == 0) {
        engine->conflict = knot->why;
        return CONFLICT;
    }
    if (knot->pairs == 1 && knot->circle)
        return assert_order(search, pair[1], pair[0], knot->why) ? FORCED : CONFLICT;
    enum outcome outcome = OPEN;
    search->probed |= knot->circle;
    for (uint32_t i = 0; i < knot->pairs; i++) {
        uint32_t first = pair[2 * i], second = pair[2 * i + 1];
        if (!refuted(search, second, first)) continue;
        if (!assert_order(search, first, second, engine->conflict)) return CONFLICT;
        outcome = FORCED;
    }
    if (outcome == OPEN && !knot->circle && refuted(search, pair[0], pair[1])) {
        if (!assert_order(search, pair[1], pair[0], engine->conflict)) return CONFLICT;
        outcome = FORCED;
    }
    return outcome;
}

/* Decides one order of a knot that forces nothing. The trace's own order comes first: a block that
 * it has first is closed, an order taken against it is turned. If there is none, the latest is
 * turned, since what comes late has the least to follow. */
static bool decide_knot(struct search *search, const struct hd_knot *knot) {
    const struct hd_engine *engine = search->engine;
    const uint32_t *pair = engine->undecided.data + knot->first;
    if (!knot->circle)
        return begins(engine, pair[0]) < begins(engine, pair[1]) ? decide(search, pair[0], pair[1])
                                                                 : decide(search, pair[1], pair[0]);
    uint32_t best = 0, best_at = 0;
    bool best_against = false;
    for (uint32_t i = 0; i < knot->pairs; i++) {
        uint32_t first = begins(engine, pair[2 * i]), second = begins(engine, pair[2 * i + 1]);
        bool against = first > second;
        if (against < best_against) continue;
        if (against == best_against && second < best_at) continue;
        best = i;
        best_at = second;
        best_against = against;
    }
    return decide(search, pair[2 * best + 1], pair[2 * best]);
}

/* Deals with a stuck schedule. False: a conflict. */
static bool untie(struct search *search) {
    struct hd_engine *engine = search->engine;
    hd_schedule_knots(engine);
    if (engine->failed) return false;
    search->forced = true;
    bool forced = false;
    for (size_t i = 0; i < engine->knots.size; i++) {
        enum outcome outcome = force(search, &engine->knots.data[i]);
        if (outcome == CONFLICT) return false;
        forced |= outcome == FORCED;
    }
    return forced || decide_knot(search, &engine->knots.data[0]);
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
