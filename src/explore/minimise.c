/* Delta debugging over turns. A turn is given up by letting its thread make those calls in an
 * earlier or a later turn of its own, or not at all if it has none and nothing depends on it; big
 * pieces of the schedule first, then ever smaller ones. */
#include "explore/minimise.h"

#include "base/map.h"

#include <string.h>
#include <xxhash.h>

#define USUAL_QUESTIONS 400u

struct turns {
    HD_VECTOR(struct hd_turn) list;
};

struct work {
    const struct hd_schedule *original;
    struct hd_minimise *how;
    struct turns best, candidate;
    uint32_t best_switches;
    struct hd_map asked; /* hashes of candidates */
    uint32_t most;
};

/* ---- pieces --------------------------------------------------------------------------------- */

/* One thread goes on: the second turn's calls after the first's. */
static struct hd_turn joined(struct hd_turn first, struct hd_turn second) {
    if (second.calls == 0) {
        first.beyond += second.beyond;
        return first;
    }
    second.calls += first.calls + first.beyond;
    return second;
}

static void push(struct turns *turns, struct hd_turn turn) {
    size_t count = turns->list.size;
    if (count > 0 && turns->list.data[count - 1].thread == turn.thread)
        turns->list.data[count - 1] = joined(turns->list.data[count - 1], turn);
    else
        hd_vector_push(&turns->list, turn);
}

static bool comes_next(const struct work *work, uint32_t thread) {
    for (size_t i = 0; i < work->original->then.size; i++)
        if (work->original->then.data[i].thread == thread) return true;
    return false;
}

/* As a schedule, with the strings of the original. */
static struct hd_schedule as_schedule(const struct work *work, const struct turns *turns) {
    struct hd_schedule schedule = *work->original;
    schedule.turn.data = turns->list.data;
    schedule.turn.size = turns->list.size;
    schedule.turn.capacity = turns->list.capacity;
    return schedule;
}

static uint64_t hash_of(const struct turns *turns) {
    uint64_t hash = turns->list.size;
    for (size_t i = 0; i < turns->list.size; i++) {
        const struct hd_turn *turn = &turns->list.data[i];
        uint64_t words[3] = {turn->thread, turn->calls, turn->beyond};
        hash = XXH3_64bits_withSeed(words, sizeof words, hash);
    }
    return hash;
}

/* ---- candidates ----------------------------------------------------------------------------- */

enum way { LATER, EARLIER, TOGETHER, WAYS };

/* The turns of best[from..to) that are of one thread, as one. False if it has none. */
static bool piece_of(const struct work *work, uint32_t thread, size_t from, size_t to,
                     struct hd_turn *piece) {
    bool there = false;
    for (size_t i = from; i < to; i++) {
        const struct hd_turn *turn = &work->best.list.data[i];
        if (turn->thread != thread) continue;
        *piece = there ? joined(*piece, *turn) : *turn;
        there = true;
    }
    return there;
}

static bool occurs(const struct work *work, uint32_t thread, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (work->best.list.data[i].thread == thread) return true;
    return false;
}

/* best without the changes of thread in [from, to). */
static void make_candidate(struct work *work, size_t from, size_t to, enum way way) {
    const struct hd_turn *turn = work->best.list.data;
    size_t count = work->best.list.size;
    struct turns *candidate = &work->candidate;
    candidate->list.size = 0;
    for (size_t i = 0; i < from; i++) {
        struct hd_turn own = turn[i], piece;
        bool last = !occurs(work, own.thread, i + 1, from);
        if (way == EARLIER && last && piece_of(work, own.thread, from, to, &piece))
            own = joined(own, piece);
        push(candidate, own);
    }
    for (size_t i = from; i < to; i++) {
        struct hd_turn piece;
        uint32_t thread = turn[i].thread;
        if (occurs(work, thread, from, i)) continue; /* came with its first */
        if (way == LATER || (way == EARLIER && occurs(work, thread, 0, from))) continue;
        if (piece_of(work, thread, from, to, &piece)) push(candidate, piece);
    }
    for (size_t i = to; i < count; i++) {
        struct hd_turn own = turn[i], piece;
        bool first = !occurs(work, own.thread, to, i);
        if (way == LATER && first && piece_of(work, own.thread, from, to, &piece))
            own = joined(piece, own);
        push(candidate, own);
    }
    /* Positions of what comes next count on the calls before them. */
    for (size_t i = from; way == LATER && i < to; i++) {
        struct hd_turn piece;
        uint32_t thread = turn[i].thread;
        if (occurs(work, thread, from, i) || occurs(work, thread, to, count)) continue;
        if (comes_next(work, thread) && piece_of(work, thread, from, to, &piece))
            push(candidate, piece);
    }
}

/* Is the candidate smaller, and does it fail? Then it is the best. */
static bool try_candidate(struct work *work) {
    struct hd_schedule schedule = as_schedule(work, &work->candidate);
    uint32_t switches = hd_schedule_switches(&schedule);
    if (switches > work->best_switches) return false;
    if (switches == work->best_switches && work->candidate.list.size >= work->best.list.size)
        return false;
    uint32_t *asked = hd_map_slot(&work->asked, hash_of(&work->candidate), 0);
    if (*asked != 0 || work->how->asked >= work->most) return false;
    if (work->how->enough != NULL && work->how->enough(work->how->context)) {
        work->most = 0;
        return false;
    }
    *asked = 1;
    work->how->asked++;
    if (!work->how->fails(work->how->context, &schedule)) return false;
    struct turns better = work->candidate;
    work->candidate = work->best;
    work->best = better;
    work->best_switches = switches;
    return true;
}

/* Pieces of one size, from the end, where the failure is. */
static bool pass(struct work *work, size_t size) {
    bool found = false;
    size_t to = work->best.list.size;
    while (to > 0 && work->how->asked < work->most) {
        size_t from = to > size ? to - size : 0;
        bool better = false;
        for (int way = 0; way < WAYS && !better; way++) {
            make_candidate(work, from, to, (enum way)way);
            better = try_candidate(work);
        }
        found |= better;
        /* What is left of the piece may be given up too. */
        size_t count = work->best.list.size;
        to = better ? (to < count ? to : count) : from;
    }
    return found;
}

void hd_minimise(struct hd_schedule *schedule, struct hd_minimise *how) {
    struct work work = {.original = schedule, .how = how};
    work.most = how->most > 0 ? how->most : USUAL_QUESTIONS;
    how->asked = 0;
    how->switches_before = how->switches_after = hd_schedule_switches(schedule);
    for (size_t i = 0; i < schedule->turn.size; i++) push(&work.best, schedule->turn.data[i]);
    work.best_switches = how->switches_before;
    size_t size = work.best.list.size;
    while (size > 0 && how->asked < work.most) {
        bool found = pass(&work, size);
        if (size > work.best.list.size) size = work.best.list.size;
        if (size <= 1 && !found) break;
        if (size > 1) size = found && size == work.best.list.size ? size : size / 2;
    }
    how->switches_after = work.best_switches;
    free(schedule->turn.data);
    schedule->turn.data = work.best.list.data;
    schedule->turn.size = work.best.list.size;
    schedule->turn.capacity = work.best.list.capacity;
    hd_vector_free(&work.candidate.list);
    hd_map_free(&work.asked);
}
