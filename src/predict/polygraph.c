/* The cut and the decided orders: asserting, explaining, undoing.
 *
 * Why the least cut is enough: take any correct reordering that ends as the query says, and the
 * orders it puts its blocks in. The events that the stops, must-order, the kept reads and those
 * orders pull in (a section that precedes another must be over) are a part of it; left alone, in
 * the same sequence, they are a correct reordering too: a read's last write stays its last write
 * when other writes go, and no section opens that did not. So events are only ever added for a
 * reason, and if the search over the orders fails with these, it fails with more. */
#include "predict/polygraph.h"

#include "base/map.h"

#include <string.h>

/* ---- tables -------------------------------------------------------------------------------- */

static uint32_t pair_slot(uint32_t a, uint32_t b) {
    uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    return (uint32_t)hd_mix64(key) & (HD_CHOICE_SLOTS - 1);
}

static uint32_t start_slot(uint32_t step) {
    return (uint32_t)hd_mix64(step) & (HD_CHOICE_SLOTS - 1);
}

uint32_t hd_choice_find(const struct hd_engine *engine, uint32_t a, uint32_t b) {
    uint32_t at = engine->of_pair[pair_slot(a, b)];
    for (; at != HD_NONE; at = engine->orders.data[at].next_of_pair) {
        const struct hd_choice *order = &engine->orders.data[at];
        if ((order->first == a && order->second == b) || (order->first == b && order->second == a))
            return at;
    }
    return HD_NONE;
}

uint32_t hd_choices_into(const struct hd_engine *engine, uint32_t step) {
    return engine->of_start[start_slot(step)];
}

void hd_polygraph_reset(struct hd_engine *engine) {
    hd_polygraph_undo(engine, (struct hd_mark){0, 0});
    memset(engine->cut, 0, engine->threads * sizeof *engine->cut);
    memset(engine->newest_growth, 0xff, engine->threads * sizeof *engine->newest_growth);
    engine->levels.size = 0;
    engine->conflict = 0;
}

struct hd_mark hd_polygraph_mark(const struct hd_engine *engine) {
    return (struct hd_mark){engine->orders.size, engine->growths.size};
}

void hd_polygraph_undo(struct hd_engine *engine, struct hd_mark mark) {
    while (engine->orders.size > mark.orders) {
        const struct hd_choice *order = &engine->orders.data[--engine->orders.size];
        engine->of_pair[pair_slot(order->first, order->second)] = order->next_of_pair;
        engine->of_start[start_slot(hd_block_start(engine, order->second))] = order->next_of_start;
    }
    while (engine->growths.size > mark.growths) {
        const struct hd_growth *growth = &engine->growths.data[--engine->growths.size];
        engine->cut[growth->thread] = growth->before;
        engine->newest_growth[growth->thread] = growth->previous;
    }
}

/* ---- the cut ------------------------------------------------------------------------------- */

bool hd_cut_raise(struct hd_engine *engine, uint32_t thread, uint32_t count, hd_levels why) {
    uint32_t *cut = &engine->cut[thread];
    if (count <= *cut) return true;
    if (count > engine->bound[thread]) {
        engine->conflict = why;
        return false;
    }
    struct hd_growth growth = {thread, *cut, engine->newest_growth[thread], why};
    if (!hd_vector_push(&engine->growths, growth)) {
        engine->failed = true;
        engine->conflict = 0;
        return false;
    }
    engine->newest_growth[thread] = (uint32_t)engine->growths.size - 1;
    *cut = count;
    return true;
}

bool hd_cut_pull(struct hd_engine *engine, uint32_t thread, uint32_t position, hd_levels why) {
    if (position < engine->cut[thread]) return true;
    const uint32_t *clock = hd_reach_clock(engine->reach, thread, position);
    if (!hd_closure_clean(engine, thread, position, clock)) {
        memcpy(engine->spread, engine->cut, engine->threads * sizeof *engine->spread);
        hd_closure_add(engine, engine->spread, thread, position);
        clock = engine->spread;
    }
    for (uint32_t t = 0; clock != NULL && t < engine->threads; t++)
        if (!hd_cut_raise(engine, t, clock[t], why)) return false;
    return hd_cut_raise(engine, thread, position + 1, why);
}

hd_levels hd_cut_why(const struct hd_engine *engine, uint32_t thread, uint32_t position) {
    uint32_t at = engine->newest_growth[thread];
    while (at != HD_NONE && engine->growths.data[at].before > position)
        at = engine->growths.data[at].previous;
    return at == HD_NONE ? 0 : engine->growths.data[at].why;
}

static hd_levels why_step(const struct hd_engine *engine, uint32_t step) {
    return hd_cut_why(engine, engine->view->thread[step], engine->view->position[step]);
}

/* ---- the past of an event ------------------------------------------------------------------ */

static void past_add_step(struct hd_engine *engine, uint32_t step) {
    hd_closure_add(engine, engine->past, engine->view->thread[step], engine->view->position[step]);
}

/* Adds the ends of a block but for the step that comes after them (an atomic update that reads what
 * it replaces); returns why those that are there are in the cut. */
static hd_levels past_add_ends(struct hd_engine *engine, uint32_t block, uint32_t after) {
    const struct hd_view *view = engine->view;
    if (hd_is_section(engine, block)) {
        past_add_step(engine, view->section_release[block]);
        return 0;
    }
    uint32_t entry = hd_entry_of_block(engine, block), step;
    past_add_step(engine, view->access_step[entry]);
    hd_levels why = 0;
    struct hd_readers readers = hd_readers_of(engine, view->access_place[entry], entry);
    while ((step = hd_readers_next(engine, &readers)) != HD_NONE) {
        if (step == after) continue;
        why |= why_step(engine, step);
        past_add_step(engine, step);
    }
    return why;
}

static bool in_past(const struct hd_engine *engine, uint32_t step) {
    return engine->view->position[step] < engine->past[engine->view->thread[step]];
}

static bool event_in_past(const struct hd_engine *engine, uint32_t event) {
    return hd_model_position(engine->model, event) < engine->past[engine->model->thread[event]];
}

/* Everything that comes before the end of a block or is it, by the closure and the decided orders,
 * into `past`; returns the decisions that were used. */
static hd_levels past_of_block(struct hd_engine *engine, uint32_t block, uint32_t after) {
    memset(engine->past, 0, engine->threads * sizeof *engine->past);
    hd_levels why = past_add_ends(engine, block, after);
    uint32_t stamp = ++engine->past_stamp;
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < engine->orders.size; i++) {
            struct hd_choice *order = &engine->orders.data[i];
            uint32_t start = hd_block_start(engine, order->second);
            if (order->seen == stamp || !in_past(engine, start)) continue;
            order->seen = stamp;
            why |= order->why | past_add_ends(engine, order->first, start);
            grown = true;
        }
        for (uint32_t i = 0; i < engine->query->orders; i++) {
            uint32_t before = engine->query->order[i].before;
            if (!event_in_past(engine, engine->query->order[i].after) ||
                event_in_past(engine, before))
                continue;
            hd_closure_add(engine, engine->past, engine->model->thread[before],
                           hd_model_position(engine->model, before));
            grown = true;
        }
    }
    return why;
}

/* ---- asserting an order -------------------------------------------------------------------- */

/* A block that precedes another has to be over: its events come into the cut. */
static bool pull_ends(struct hd_engine *engine, uint32_t block, hd_levels why) {
    const struct hd_view *view = engine->view;
    if (hd_is_section(engine, block)) {
        uint32_t release = view->section_release[block];
        if (release == HD_NONE) {
            engine->conflict = why;
            return false;
        }
        return hd_cut_pull(engine, view->thread[release], view->position[release], why);
    }
    if (engine->reading != HD_UA) return true;
    uint32_t entry = hd_entry_of_block(engine, block), step;
    struct hd_readers readers = hd_readers_of(engine, view->access_place[entry], entry);
    while ((step = hd_readers_next(engine, &readers)) != HD_NONE)
        if (!hd_cut_pull(engine, view->thread[step], view->position[step], why)) return false;
    return true;
}

static bool add_order(struct hd_engine *engine, uint32_t first, uint32_t second, hd_levels why) {
    uint32_t *pair = &engine->of_pair[pair_slot(first, second)];
    uint32_t *start = &engine->of_start[start_slot(hd_block_start(engine, second))];
    struct hd_choice order = {first, second, why, *pair, *start, 0};
    if (!hd_vector_push(&engine->orders, order)) {
        engine->failed = true;
        engine->conflict = 0;
        return false;
    }
    *pair = *start = (uint32_t)engine->orders.size - 1;
    return true;
}

bool hd_choice_assert(struct hd_engine *engine, uint32_t first, uint32_t second, hd_levels why) {
    uint32_t begin = hd_block_start(engine, first), then = hd_block_start(engine, second);
    why |= why_step(engine, begin) | why_step(engine, then);
    uint32_t known = hd_choice_find(engine, first, second);
    if (known != HD_NONE) {
        if (engine->orders.data[known].first == first) return true;
        engine->conflict = why | engine->orders.data[known].why;
        return false;
    }
    if (!pull_ends(engine, first, why) || !add_order(engine, first, second, why)) return false;
    engine->stats.choices++;
    hd_levels path = past_of_block(engine, first, then);
    if (!in_past(engine, then)) return true;
    engine->conflict = why | path;
    return false;
}

/* The entry of the last section of a use whose acquire is in the cut, HD_NONE. */
static uint32_t last_in_cut(const struct hd_engine *engine, const struct hd_lock_use *use) {
    const uint32_t *section = engine->ground->use_section + use->first;
    uint32_t low = 0, high = use->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (hd_in_cut(engine, engine->view->section_acquire[section[middle]]))
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? HD_NONE : use->first + low - 1;
}

/* All sections of a thread in the cut that a section left open may not overlap come before it; the
 * last of them stands for those that are over when it begins. */
static bool order_before_held(struct hd_engine *engine, const struct hd_lock_use *use,
                              uint32_t held) {
    const struct hd_ground *ground = engine->ground;
    const struct hd_section *section = engine->model->section;
    uint32_t at = last_in_cut(engine, use), latest = HD_NONE;
    while (at != HD_NONE) {
        if (section[held].read_mode) at = ground->use_writer[at];
        if (at == HD_NONE) break;
        uint32_t other = ground->use_section[at];
        if (latest != HD_NONE && section[other].release < section[latest].acquire) break;
        if (!hd_choice_assert(engine, other, held, 0)) return false;
        if (latest == HD_NONE) latest = other;
        at = at == use->first ? HD_NONE : at - 1;
    }
    return true;
}

bool hd_choices_around_held(struct hd_engine *engine) {
    const struct hd_ground *ground = engine->ground;
    size_t growths;
    do {
        growths = engine->growths.size;
        for (size_t i = 0; i < engine->held.size; i++) {
            const struct hd_section *held = &engine->model->section[engine->held.data[i]];
            for (uint32_t u = ground->use_first[held->lock]; u < ground->use_first[held->lock + 1];
                 u++)
                if (ground->use[u].thread != held->thread &&
                    !order_before_held(engine, &ground->use[u], engine->held.data[i]))
                    return false;
        }
    } while (engine->growths.size > growths);
    return true;
}
