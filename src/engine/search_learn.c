/* Learning from conflicts, as solvers of propositional formulas do: the choices at odds are traced
 * back to a single one of the latest level and some of earlier levels (the first unique implication
 * point); that these cannot be together is kept as a clause. A literal says that its blocks are in
 * the cut, too, so a clause holds whatever the cut is; it can force something only where the blocks
 * are there. */
#include "engine/polygraph.h"

#include <assert.h>

/* ---- clauses ------------------------------------------------------------------------------- */

enum truth { UNKNOWN, TRUE, FALSE };

static enum truth truth_of(const struct hd_engine *engine, struct hd_literal literal) {
    uint32_t made = hd_choice_find(engine, literal);
    if (made != HD_NONE) {
        struct hd_literal choice = engine->choices.data[made].literal;
        return choice.first == literal.first && choice.second == literal.second ? TRUE : FALSE;
    }
    if (hd_is_order(literal)) return UNKNOWN;
    uint32_t release = engine->view->section_release[literal.first];
    if (release == HD_NONE || !hd_in_cut(engine, release)) return UNKNOWN;
    return literal.second == HD_CLOSED ? TRUE : FALSE;
}

static bool in_cut(const struct hd_engine *engine, struct hd_literal literal) {
    return hd_in_cut(engine, hd_block_start(engine, literal.first)) &&
           (!hd_is_order(literal) || hd_in_cut(engine, hd_block_start(engine, literal.second)));
}

static void because_literal(struct hd_engine *engine, struct hd_literal literal) {
    uint32_t made = hd_choice_find(engine, literal);
    if (made != HD_NONE) {
        hd_because_choice(engine, made);
        return;
    }
    uint32_t release = engine->view->section_release[literal.first];
    hd_because_in(engine, engine->view->thread[release], engine->view->position[release]);
}

/* Lets a clause force what it forces. The literals that are not true come to its front, so that
 * most clauses are done with after a look at two. */
static bool follow_clause(struct hd_engine *engine, const struct hd_clause *clause) {
    struct hd_literal *literal = engine->literals.data + clause->first;
    uint32_t open = 0;
    for (uint32_t i = 0; i < clause->count && open < 2; i++) {
        enum truth truth = truth_of(engine, literal[i]);
        if (truth == TRUE) continue;
        struct hd_literal moved = literal[i];
        literal[i] = literal[open];
        literal[open++] = moved;
        if (truth == FALSE) return true;
    }
    if (open == 2 || (open == 1 && !in_cut(engine, literal[0]))) return true;
    hd_because_nothing(engine);
    for (uint32_t i = open; i < clause->count; i++) because_literal(engine, literal[i]);
    return open == 1 && hd_choice_assert(engine, hd_literal_not(literal[0]));
}

bool hd_learned_choices(struct hd_engine *engine) {
    size_t choices;
    do {
        choices = engine->choices.size;
        for (size_t i = 0; i < engine->clauses.size; i++)
            if (!follow_clause(engine, &engine->clauses.data[i])) return false;
    } while (engine->choices.size > choices);
    return true;
}

/* ---- conflicts ------------------------------------------------------------------------------ */

/* Goes back to the end of a level. */
static void back_to(struct hd_engine *engine, uint32_t level) {
    if (engine->marks.size <= level) return;
    hd_polygraph_undo(engine, engine->marks.data[level]);
    engine->marks.size = level;
}

/* The level at whose end the start of a block was in the cut. */
static uint32_t block_level(const struct hd_engine *engine, uint32_t block) {
    uint32_t step = hd_block_start(engine, block);
    uint32_t at = engine->newest_growth[engine->view->thread[step]];
    while (at != HD_NONE && engine->growths.data[at].before > engine->view->position[step])
        at = engine->growths.data[at].previous;
    if (at == HD_NONE || engine->growths.data[at].cause == HD_NONE) return 0;
    return engine->choices.data[engine->growths.data[at].cause].level;
}

/* The level from which on a choice or its opposite can be made: its blocks are in the cut. */
static uint32_t open_level(const struct hd_engine *engine, struct hd_literal literal) {
    uint32_t first = block_level(engine, literal.first);
    uint32_t second = hd_is_order(literal) ? block_level(engine, literal.second) : 0;
    return first > second ? first : second;
}

/* Puts the reasons of a choice in its place; returns how many more of its level there are now. */
static uint32_t replace(struct hd_engine *engine, uint32_t number) {
    const struct hd_choice *choice = &engine->choices.data[number];
    uint32_t more = 0;
    for (uint32_t i = 0; i < choice->reasons; i++) {
        uint32_t reason = engine->reasons.data[choice->reason + i];
        const struct hd_choice *each = &engine->choices.data[reason];
        more += each->marked != engine->because_stamp && each->level == choice->level;
        hd_because_choice(engine, reason);
    }
    return more;
}

static uint32_t latest_level(const struct hd_engine *engine) {
    uint32_t latest = 0;
    for (size_t i = 0; i < engine->because.size; i++) {
        uint32_t level = engine->choices.data[engine->because.data[i]].level;
        if (level > latest) latest = level;
    }
    return latest;
}

/* Replaces choices of one level in `because` by what they follow from until one is left whose
 * opposite can be asserted on an earlier level, and takes all of that level out; returns that one,
 * HD_NONE if all came from earlier levels. The choice that a level was begun with follows from
 * nothing and had its blocks in the cut before, so it ends there at the latest. */
static uint32_t trace_level(struct hd_engine *engine, uint32_t level) {
    const struct hd_choice *choice = engine->choices.data;
    uint32_t count = 0, at = (uint32_t)engine->choices.size;
    for (size_t i = 0; i < engine->because.size; i++)
        count += choice[engine->because.data[i]].level == level;
    while (count > 0) {
        do at--;
        while (choice[at].marked != engine->because_stamp || choice[at].level != level);
        if (count == 1 && open_level(engine, choice[at].literal) < level) break;
        /* The reasons of a decision only say why its blocks are in the cut. */
        assert(at != engine->marks.data[level - 1].choices);
        count += replace(engine, at);
        count--;
    }
    size_t kept = 0;
    for (size_t i = 0; i < engine->because.size; i++)
        if (choice[engine->because.data[i]].level < level)
            engine->because.data[kept++] = engine->because.data[i];
    engine->because.size = kept;
    return count == 0 ? HD_NONE : at;
}

/* The choice to turn; what it cannot be together with is left in `because`. HD_NONE: there is none,
 * the conflict follows from the query. */
static uint32_t trace_back(struct hd_engine *engine) {
    uint32_t last = HD_NONE;
    while (last == HD_NONE && engine->because.size > 0)
        last = trace_level(engine, latest_level(engine));
    return last;
}

static void add_clause(struct hd_engine *engine, struct hd_literal last) {
    struct hd_clause clause = {(uint32_t)engine->literals.size, (uint32_t)engine->because.size + 1};
    hd_vector_push(&engine->literals, last);
    for (size_t i = 0; i < engine->because.size; i++)
        hd_vector_push(&engine->literals, engine->choices.data[engine->because.data[i]].literal);
    hd_vector_push(&engine->clauses, clause);
}

/* The opposite is made on the first level that has all it follows from, and is new there. So at
 * each conflict some level has one choice more and those before it are as they were: the search
 * comes to an end. */
bool hd_learn(struct hd_engine *engine) {
    for (;;) {
        uint32_t last = trace_back(engine);
        if (last == HD_NONE) return false;
        engine->stats.backtracks++;
        struct hd_literal literal = engine->choices.data[last].literal;
        uint32_t latest = latest_level(engine), open = open_level(engine, literal);
        add_clause(engine, literal);
        back_to(engine, latest > open ? latest : open);
        if (hd_choice_assert(engine, hd_literal_not(literal))) return true;
    }
}
