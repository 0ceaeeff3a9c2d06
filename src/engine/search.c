/* The search: schedules in trace order get stuck on orders that nobody has decided; what is forced
 * is made so, else one is decided, and conflicts are learned from. */
#include "engine/polygraph.h"

#include "base/clock.h"

struct search {
    struct hd_engine *engine;
    uint64_t choices, deadline;
    bool forced, probed, decided; /* what was needed so far */
};

static bool out_of_budget(const struct search *search) {
    const struct hd_engine *engine = search->engine;
    const struct hd_budget *budget = &engine->budget;
    return (budget->choices > 0 && engine->stats.choices - search->choices >= budget->choices) ||
           (budget->nanoseconds > 0 && hd_now_ns() >= search->deadline);
}

/* Begins a level. */
static void begin_level(struct hd_engine *engine) {
    struct hd_mark mark = hd_polygraph_mark(engine);
    hd_because_nothing(engine);
    hd_vector_push(&engine->marks, mark);
}

/* Has this been settled already, one way or the other? */
static bool is_settled(const struct hd_engine *engine, struct hd_literal literal) {
    if (hd_choice_find(engine, literal) != HD_NONE) return true;
    if (hd_is_order(literal)) return false;
    uint32_t release = engine->view->section_release[literal.first];
    return release != HD_NONE && hd_in_cut(engine, release);
}

static bool decide(struct search *search, struct hd_literal literal) {
    struct hd_engine *engine = search->engine;
    if (is_settled(engine, literal)) return true; /* by a decision about another obstacle */
    search->decided = true;
    if (engine->contrary) literal = hd_literal_not(literal);
    begin_level(engine);
    return hd_choice_assert(engine, literal);
}

/* Does a choice fail at once? If so, `because` has what its opposite follows from. */
static bool refuted(struct search *search, struct hd_literal literal) {
    struct hd_engine *engine = search->engine;
    uint64_t choices = engine->stats.choices;
    if (engine->contrary) return false;
    begin_level(engine);
    uint32_t probe = (uint32_t)engine->choices.size;
    bool fails = !hd_choice_assert(engine, literal);
    engine->marks.size--;
    hd_polygraph_undo(engine,
                      (struct hd_mark){probe, engine->marks.data[engine->marks.size].growths});
    engine->stats.choices = choices;
    size_t kept = 0;
    for (size_t i = 0; i < engine->because.size; i++)
        if (engine->because.data[i] < probe) engine->because.data[kept++] = engine->because.data[i];
    engine->because.size = kept;
    return fails;
}

/* Where a block begins in the trace. */
static uint32_t begins(const struct hd_engine *engine, uint32_t block) {
    return engine->view->event[hd_block_start(engine, block)];
}

static void because_block_in(struct hd_engine *engine, uint32_t block) {
    uint32_t step = hd_block_start(engine, block);
    hd_because_in(engine, engine->view->thread[step], engine->view->position[step]);
}

enum outcome { CONFLICT, FORCED, OPEN };

static enum outcome forced(struct hd_engine *engine, struct hd_literal literal) {
    return hd_choice_assert(engine, literal) ? FORCED : CONFLICT;
}

/* A block waits for one that is open at the end of the cut. Either that is closed, or it comes
 * after (and stays open). */
static enum outcome force_end(struct search *search, uint32_t first, uint32_t second) {
    struct hd_engine *engine = search->engine;
    bool section = hd_is_section(engine, first);
    struct hd_literal close = {first, section ? HD_CLOSED : second};
    if (refuted(search, close)) return forced(engine, hd_literal_not(close));
    if (!refuted(search, (struct hd_literal){second, first})) return OPEN;
    because_block_in(engine, first);
    because_block_in(engine, second);
    return forced(engine, close);
}

/* A cycle: without undecided orders it cannot be; with one, that one is turned; with more, those
 * that cannot be turned stay as they are. */
static enum outcome force_cycle(struct search *search, const struct hd_obstacle *obstacle) {
    struct hd_engine *engine = search->engine;
    const uint32_t *pair = obstacle->pairs > 0 ? engine->undecided.data + obstacle->first : NULL;
    if (obstacle->pairs <= 1) {
        hd_because_nothing(engine);
        for (uint32_t i = 0; i < obstacle->reasons; i++)
            hd_because_choice(engine, engine->obstacle_reasons.data[obstacle->reason + i]);
        if (obstacle->pairs == 0) return CONFLICT;
        return forced(engine, (struct hd_literal){pair[1], pair[0]});
    }
    enum outcome outcome = OPEN;
    search->probed = true;
    for (uint32_t i = 0; i < obstacle->pairs; i++) {
        struct hd_literal taken = {pair[2 * i], pair[2 * i + 1]};
        if (!refuted(search, hd_literal_not(taken))) continue;
        outcome = forced(engine, taken);
        if (outcome == CONFLICT) break;
    }
    return outcome;
}

/* Decides about a obstacle that forces nothing. The trace's own order comes first: a block that it
 * has first is closed, an order taken against it is turned. If there is none, the latest is turned,
 * since what comes late has the least to follow. */
static bool decide_end(struct search *search, uint32_t first, uint32_t second) {
    const struct hd_engine *engine = search->engine;
    struct hd_literal close = {first, hd_is_section(engine, first) ? HD_CLOSED : second};
    return decide(search,
                  begins(engine, first) < begins(engine, second) ? close : hd_literal_not(close));
}

static bool decide_cycle(struct search *search, const struct hd_obstacle *obstacle) {
    const struct hd_engine *engine = search->engine;
    const uint32_t *pair = engine->undecided.data + obstacle->first;
    uint32_t best = 0, best_at = 0;
    bool best_against = false;
    for (uint32_t i = 0; i < obstacle->pairs; i++) {
        uint32_t first = begins(engine, pair[2 * i]), second = begins(engine, pair[2 * i + 1]);
        bool against = first > second;
        if (against < best_against) continue;
        if (against == best_against && second < best_at) continue;
        best = i;
        best_at = second;
        best_against = against;
    }
    return decide(search, (struct hd_literal){pair[2 * best + 1], pair[2 * best]});
}

/* Deals with a stuck schedule. False: a conflict. */
static bool deal_with_obstacles(struct search *search) {
    struct hd_engine *engine = search->engine;
    hd_schedule_obstacles(engine);
    bool any = false;
    search->forced = true;
    for (size_t i = 0; i < engine->obstacles.size; i++) {
        const struct hd_obstacle *obstacle = &engine->obstacles.data[i];
        const uint32_t *pair =
            obstacle->pairs > 0 ? engine->undecided.data + obstacle->first : NULL;
        enum outcome outcome =
            obstacle->cyclic ? force_cycle(search, obstacle) : force_end(search, pair[0], pair[1]);
        if (outcome == CONFLICT) return false;
        any |= outcome == FORCED;
    }
    if (any) return true;
    /* Blocks that are open at the end are dealt with together: one has little to do with another.
     */
    for (size_t i = 0; i < engine->obstacles.size; i++) {
        const struct hd_obstacle *obstacle = &engine->obstacles.data[i];
        if (obstacle->cyclic) continue;
        const uint32_t *pair = engine->undecided.data + obstacle->first;
        any = true;
        if (!decide_end(search, pair[0], pair[1]) || !hd_learned_choices(engine)) return false;
    }
    return any || decide_cycle(search, &engine->obstacles.data[0]);
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
    struct search search = {.engine = engine, .choices = engine->stats.choices};
    if (engine->budget.nanoseconds > 0) search.deadline = hd_now_ns() + engine->budget.nanoseconds;
    if (!hd_choices_around_held(engine)) {
        *rung = HD_RUNG_CLOSURE;
        return HD_INFEASIBLE;
    }
    if (!engine->contrary && by_trace_order(engine)) {
        *rung = engine->deviates ? HD_RUNG_RECONSTRUCTION : HD_RUNG_TRACE_ORDER;
        return HD_FEASIBLE;
    }
    enum hd_verdict verdict = HD_UNDECIDED;
    while (!out_of_budget(&search)) {
        bool good = hd_choices_around_held(engine) && hd_learned_choices(engine);
        if (good && hd_schedule(engine) == HD_SCHEDULED) {
            verdict = HD_FEASIBLE;
            break;
        }
        good = good && deal_with_obstacles(&search);
        if (!good && !hd_learn(engine)) {
            verdict = HD_INFEASIBLE;
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
