/* The cut and the decided orders: asserting, explaining, undoing.
 *
 * Why the least cut is enough: take any correct reordering that ends as the query says, and the
 * orders it puts its blocks in. The events that the stops, must-order, the kept reads and those
 * orders pull in (a section that precedes another must be over) are a part of it; left alone, in
 * the same sequence, they are a correct reordering too: a read's last write stays its last write
 * when other writes go, and no section opens that did not. So events are only ever added for a
 * reason, and if the search over the orders fails with these, it fails with more. */
#include "engine/polygraph.h"

#include "base/map.h"
#include "base/search.h"

#include <string.h>

/* ---- tables -------------------------------------------------------------------------------- */

static uint32_t pair_slot(struct hd_literal literal) {
    uint32_t a = literal.first, b = literal.second;
    if (b >= HD_CLOSED) b = HD_CLOSED; /* closed and left open are told apart in the chain */
    uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    return (uint32_t)hd_mix64(key) & (HD_CHOICE_SLOTS - 1);
}

static uint32_t start_slot(uint32_t step) {
    return (uint32_t)hd_mix64(step) & (HD_CHOICE_SLOTS - 1);
}

static bool same_question(struct hd_literal a, struct hd_literal b) {
    struct hd_literal c = hd_literal_not(b);
    return (a.first == b.first && a.second == b.second) ||
           (a.first == c.first && a.second == c.second);
}

uint32_t hd_choice_find(const struct hd_engine *engine, struct hd_literal literal) {
    uint32_t at = engine->of_pair[pair_slot(literal)];
    while (at != HD_NONE && !same_question(engine->choices.data[at].literal, literal))
        at = engine->choices.data[at].next_of_pair;
    return at;
}

uint32_t hd_choices_into(const struct hd_engine *engine, uint32_t step) {
    return engine->of_start[start_slot(step)];
}

void hd_polygraph_reset(struct hd_engine *engine) {
    hd_polygraph_undo(engine, (struct hd_mark){0, 0});
    memset(engine->cut, 0, engine->threads * sizeof *engine->cut);
    memset(engine->newest_growth, 0xff, engine->threads * sizeof *engine->newest_growth);
    memcpy(engine->limit, engine->bound, engine->threads * sizeof *engine->limit);
    memset(engine->limiter, 0xff, engine->threads * sizeof *engine->limiter);
    engine->marks.size = 0;
    engine->because.size = 0;
    engine->clauses.size = engine->literals.size = 0;
}

struct hd_mark hd_polygraph_mark(const struct hd_engine *engine) {
    return (struct hd_mark){engine->choices.size, engine->growths.size};
}

static void undo_choice(struct hd_engine *engine) {
    const struct hd_choice *choice = &engine->choices.data[--engine->choices.size];
    struct hd_literal literal = choice->literal;
    engine->reasons.size = choice->reason;
    engine->of_pair[pair_slot(literal)] = choice->next_of_pair;
    if (hd_is_order(literal))
        engine->of_start[start_slot(hd_block_start(engine, literal.second))] =
            choice->next_of_start;
    if (literal.second != HD_LEFT_OPEN) return;
    uint32_t thread = engine->model->section[literal.first].thread;
    engine->limit[thread] = choice->old_limit;
    engine->limiter[thread] = choice->old_limiter;
    engine->held.size--;
}

void hd_polygraph_undo(struct hd_engine *engine, struct hd_mark mark) {
    while (engine->choices.size > mark.choices) undo_choice(engine);
    while (engine->growths.size > mark.growths) {
        const struct hd_growth *growth = &engine->growths.data[--engine->growths.size];
        engine->cut[growth->thread] = growth->before;
        engine->newest_growth[growth->thread] = growth->previous;
    }
}

/* ---- reasons --------------------------------------------------------------------------------- */

void hd_because_nothing(struct hd_engine *engine) {
    engine->because.size = 0;
    engine->because_stamp++;
}

void hd_because_choice(struct hd_engine *engine, uint32_t choice) {
    struct hd_choice *each = &engine->choices.data[choice];
    if (each->level == 0 || each->marked == engine->because_stamp) return;
    each->marked = engine->because_stamp;
    hd_vector_push(&engine->because, choice);
}

void hd_because_in(struct hd_engine *engine, uint32_t thread, uint32_t position) {
    uint32_t at = engine->newest_growth[thread];
    while (at != HD_NONE && engine->growths.data[at].before > position)
        at = engine->growths.data[at].previous;
    if (at != HD_NONE && engine->growths.data[at].cause != HD_NONE)
        hd_because_choice(engine, engine->growths.data[at].cause);
}

static void because_step_in(struct hd_engine *engine, uint32_t step) {
    hd_because_in(engine, engine->view->thread[step], engine->view->position[step]);
}

/* ---- the cut ------------------------------------------------------------------------------- */

bool hd_cut_raise(struct hd_engine *engine, uint32_t thread, uint32_t count, uint32_t cause) {
    uint32_t *cut = &engine->cut[thread];
    if (count <= *cut) return true;
    if (count > engine->limit[thread]) {
        hd_because_nothing(engine);
        if (cause != HD_NONE) hd_because_choice(engine, cause);
        if (count <= engine->bound[thread]) hd_because_choice(engine, engine->limiter[thread]);
        return false;
    }
    struct hd_growth growth = {thread, *cut, engine->newest_growth[thread], cause};
    hd_vector_push(&engine->growths, growth);
    engine->newest_growth[thread] = (uint32_t)engine->growths.size - 1;
    *cut = count;
    return true;
}

bool hd_cut_pull(struct hd_engine *engine, uint32_t thread, uint32_t position, uint32_t cause) {
    if (position < engine->cut[thread]) return true;
    const uint32_t *clock = hd_reach_clock(engine->reach, thread, position);
    if (!hd_closure_clean(engine, thread, position, clock)) {
        memcpy(engine->spread, engine->cut, engine->threads * sizeof *engine->spread);
        hd_closure_add(engine, engine->spread, thread, position);
        clock = engine->spread;
    }
    for (uint32_t t = 0; clock != NULL && t < engine->threads; t++)
        if (!hd_cut_raise(engine, t, clock[t], cause)) return false;
    return hd_cut_raise(engine, thread, position + 1, cause);
}

/* ---- the past of an event ------------------------------------------------------------------ */

static void past_add_step(struct hd_engine *engine, uint32_t *set, uint32_t step) {
    hd_closure_add(engine, set, engine->view->thread[step], engine->view->position[step]);
}

/* Adds the ends of a block but for the step that comes after them (an atomic update that reads what
 * it replaces). */
static void past_add_ends(struct hd_engine *engine, uint32_t block, uint32_t after) {
    const struct hd_view *view = engine->view;
    if (hd_is_section(engine, block)) {
        past_add_step(engine, engine->past, view->section_release[block]);
        return;
    }
    uint32_t entry = hd_entry_of_block(engine, block), step;
    past_add_step(engine, engine->past, view->access_step[entry]);
    struct hd_readers readers = hd_readers_of(engine, view->access_place[entry], entry);
    while ((step = hd_readers_next(engine, &readers)) != HD_NONE)
        if (step != after) past_add_step(engine, engine->past, step);
}

static bool in_set(const uint32_t *set, const struct hd_engine *engine, uint32_t step) {
    return engine->view->position[step] < set[engine->view->thread[step]];
}

static bool event_in_set(const uint32_t *set, const struct hd_engine *engine, uint32_t event) {
    return hd_model_position(engine->model, event) < set[engine->model->thread[event]];
}

static void pass(struct hd_engine *engine, uint32_t what) { hd_vector_push(&engine->passed, what); }

/* Everything that comes before the end of a block or is it, by the closure and the orders, into
 * `past`. */
static void past_of_block(struct hd_engine *engine, uint32_t block, uint32_t after) {
    uint32_t *past = engine->past, stamp = ++engine->past_stamp;
    memset(past, 0, engine->threads * sizeof *past);
    engine->passed.size = 0;
    past_add_ends(engine, block, after);
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < engine->choices.size; i++) {
            struct hd_choice *choice = &engine->choices.data[i];
            if (choice->passed == stamp || !hd_is_order(choice->literal)) continue;
            uint32_t start = hd_block_start(engine, choice->literal.second);
            if (!in_set(past, engine, start)) continue;
            choice->passed = stamp;
            past_add_ends(engine, choice->literal.first, start);
            pass(engine, (uint32_t)i);
            grown = true;
        }
        for (uint32_t i = 0; i < engine->query->orders; i++) {
            uint32_t before = engine->query->order[i].before;
            if (!event_in_set(past, engine, engine->query->order[i].after) ||
                event_in_set(past, engine, before))
                continue;
            hd_closure_add(engine, past, engine->model->thread[before],
                           hd_model_position(engine->model, before));
            pass(engine, HD_PASSED_ORDER | i);
            grown = true;
        }
    }
}

/* Does one end of a block need an event (thread, position) by the closure alone? If so, adds why
 * that end is in the cut. */
static bool ends_need(struct hd_engine *engine, uint32_t block, uint32_t after, uint32_t thread,
                      uint32_t position) {
    const struct hd_view *view = engine->view;
    uint32_t *set = engine->spread;
    size_t bytes = engine->threads * sizeof *set;
    memset(set, 0, bytes);
    if (hd_is_section(engine, block)) {
        past_add_step(engine, set, view->section_release[block]);
        return position < set[thread];
    }
    uint32_t entry = hd_entry_of_block(engine, block), step;
    past_add_step(engine, set, view->access_step[entry]);
    if (position < set[thread]) return true;
    struct hd_readers readers = hd_readers_of(engine, view->access_place[entry], entry);
    while ((step = hd_readers_next(engine, &readers)) != HD_NONE) {
        if (step == after) continue;
        memset(set, 0, bytes);
        past_add_step(engine, set, step);
        if (position >= set[thread]) continue;
        because_step_in(engine, step);
        return true;
    }
    return false;
}

/* Explains, choice by choice backwards, how a step came into the past of a block. */
static void explain_path(struct hd_engine *engine, uint32_t block, uint32_t after) {
    uint32_t thread = engine->view->thread[after], position = engine->view->position[after];
    size_t end = engine->passed.size;
    for (;;) {
        if (ends_need(engine, block, after, thread, position)) return;
        size_t i = 0;
        for (; i < end; i++) {
            uint32_t what = engine->passed.data[i];
            if ((what & HD_PASSED_ORDER) == 0) {
                struct hd_literal order = engine->choices.data[what].literal;
                uint32_t start = hd_block_start(engine, order.second);
                if (!ends_need(engine, order.first, start, thread, position)) continue;
                hd_because_choice(engine, what);
                thread = engine->view->thread[start];
                position = engine->view->position[start];
                break;
            }
            const struct hd_precedes *order = &engine->query->order[what & ~HD_PASSED_ORDER];
            uint32_t *set = engine->spread;
            memset(set, 0, engine->threads * sizeof *set);
            hd_closure_add(engine, set, engine->model->thread[order->before],
                           hd_model_position(engine->model, order->before));
            if (position >= set[thread]) continue;
            thread = engine->model->thread[order->after];
            position = hd_model_position(engine->model, order->after);
            break;
        }
        if (i == end) break; /* cannot be: every step of the past came from somewhere */
        end = i;
    }
    for (size_t i = 0; i < engine->passed.size; i++)
        if ((engine->passed.data[i] & HD_PASSED_ORDER) == 0)
            hd_because_choice(engine, engine->passed.data[i]);
}

/* ---- making a choice ------------------------------------------------------------------------- */

/* A block that precedes another has to be over: its events come into the cut. */
static bool pull_ends(struct hd_engine *engine, uint32_t block, uint32_t cause) {
    const struct hd_view *view = engine->view;
    if (hd_is_section(engine, block)) {
        uint32_t release = view->section_release[block];
        if (release == HD_NONE) {
            hd_because_nothing(engine);
            hd_because_choice(engine, cause);
            return false;
        }
        return hd_cut_pull(engine, view->thread[release], view->position[release], cause);
    }
    if (engine->reading != HD_UA) return true;
    uint32_t entry = hd_entry_of_block(engine, block), step;
    struct hd_readers readers = hd_readers_of(engine, view->access_place[entry], entry);
    while ((step = hd_readers_next(engine, &readers)) != HD_NONE)
        if (!hd_cut_pull(engine, view->thread[step], view->position[step], cause)) return false;
    return true;
}

static void add_choice(struct hd_engine *engine, struct hd_literal literal) {
    uint32_t *pair = &engine->of_pair[pair_slot(literal)], number = (uint32_t)engine->choices.size;
    struct hd_choice choice = {.literal = literal,
                               .level = (uint32_t)engine->marks.size,
                               .reason = (uint32_t)engine->reasons.size,
                               .reasons = (uint32_t)engine->because.size,
                               .next_of_pair = *pair,
                               .next_of_start = HD_NONE};
    hd_vector_reserve(&engine->reasons, engine->because.size);
    if (literal.second == HD_LEFT_OPEN) {
        uint32_t thread = engine->model->section[literal.first].thread;
        uint32_t release = engine->view->section_release[literal.first];
        choice.old_limit = engine->limit[thread];
        choice.old_limiter = engine->limiter[thread];
        hd_vector_push(&engine->held, literal.first);
        if (release != HD_NONE && engine->view->position[release] < engine->limit[thread]) {
            engine->limit[thread] = engine->view->position[release];
            engine->limiter[thread] = number;
        }
    }
    uint32_t *start = NULL;
    if (hd_is_order(literal)) {
        start = &engine->of_start[start_slot(hd_block_start(engine, literal.second))];
        choice.next_of_start = *start;
    }
    hd_vector_push(&engine->choices, choice);
    for (size_t i = 0; i < engine->because.size; i++)
        engine->reasons.data[engine->reasons.size++] = engine->because.data[i];
    *pair = number;
    if (start != NULL) *start = number;
    engine->stats.choices++;
}

static bool assert_order(struct hd_engine *engine, struct hd_literal order) {
    uint32_t number = (uint32_t)engine->choices.size, then = hd_block_start(engine, order.second);
    add_choice(engine, order);
    if (!pull_ends(engine, order.first, number)) return false;
    past_of_block(engine, order.first, then);
    if (!in_set(engine->past, engine, then)) return true;
    hd_because_nothing(engine);
    hd_because_choice(engine, number);
    explain_path(engine, order.first, then);
    return false;
}

/* A section that is in the cut: closed or left open. */
static bool assert_end(struct hd_engine *engine, struct hd_literal literal) {
    const struct hd_view *view = engine->view;
    uint32_t release = view->section_release[literal.first];
    bool is_closed = release != HD_NONE && hd_in_cut(engine, release);
    if (is_closed && literal.second == HD_CLOSED) return true;
    if (is_closed) {
        because_step_in(engine, release);
        return false;
    }
    uint32_t number = (uint32_t)engine->choices.size;
    add_choice(engine, literal);
    return literal.second == HD_LEFT_OPEN || pull_ends(engine, literal.first, number);
}

bool hd_choice_assert(struct hd_engine *engine, struct hd_literal literal) {
    because_step_in(engine, hd_block_start(engine, literal.first));
    if (hd_is_order(literal)) because_step_in(engine, hd_block_start(engine, literal.second));
    uint32_t known = hd_choice_find(engine, literal);
    if (known != HD_NONE) {
        struct hd_literal made = engine->choices.data[known].literal;
        if (made.first == literal.first && made.second == literal.second) return true;
        hd_because_choice(engine, known);
        return false;
    }
    return hd_is_order(literal) ? assert_order(engine, literal) : assert_end(engine, literal);
}

/* ---- sections that stay open ----------------------------------------------------------------- */

/* The entry of the last section of a use whose acquire is in the cut, HD_NONE. */
static uint32_t last_in_cut(const struct hd_engine *engine, const struct hd_lock_sections *use) {
    const uint32_t *section = engine->base->use_section + use->first;
    uint32_t low = hd_first_not(i, 0, use->count,
                                hd_in_cut(engine, engine->view->section_acquire[section[i]]));
    return low == 0 ? HD_NONE : use->first + low - 1;
}

/* All sections of a thread in the cut that a section left open may not overlap come before it; the
 * last of them speaks for those that are over when it begins. */
static bool order_before_held(struct hd_engine *engine, const struct hd_lock_sections *use,
                              uint32_t held) {
    const struct hd_engine_base *base = engine->base;
    const struct hd_section *section = engine->model->section;
    uint32_t at = last_in_cut(engine, use), latest = HD_NONE;
    while (at != HD_NONE) {
        if (section[held].read_mode) at = base->use_writer[at];
        if (at == HD_NONE) break;
        uint32_t other = base->use_section[at];
        if (latest != HD_NONE && section[other].release < section[latest].acquire) break;
        struct hd_literal order = {other, held};
        uint32_t known = hd_choice_find(engine, order);
        if (known == HD_NONE || engine->choices.data[known].literal.first != other) {
            uint32_t left = hd_choice_find(engine, (struct hd_literal){held, HD_LEFT_OPEN});
            hd_because_nothing(engine);
            if (left != HD_NONE) hd_because_choice(engine, left);
            if (!hd_choice_assert(engine, order)) return false;
        }
        if (latest == HD_NONE) latest = other;
        at = at == use->first ? HD_NONE : at - 1;
    }
    return true;
}

bool hd_choices_around_held(struct hd_engine *engine) {
    const struct hd_engine_base *base = engine->base;
    size_t growths;
    do {
        growths = engine->growths.size;
        for (size_t i = 0; i < engine->held.size; i++) {
            const struct hd_section *held = &engine->model->section[engine->held.data[i]];
            for (uint32_t u = base->use_first[held->lock]; u < base->use_first[held->lock + 1]; u++)
                if (base->use[u].thread != held->thread &&
                    !order_before_held(engine, &base->use[u], engine->held.data[i]))
                    return false;
        }
    } while (engine->growths.size > growths);
    return true;
}
