/* The sound model: may a read see another write in some correct reordering? What clocks and
 * sections settle is never asked; the exact engine decides the rest.
 *
 * A reordering in which r sees c can end with r: what comes after r can be left out. So before r
 * there are exactly the events of its thread before it, and all that these and r's must-order need:
 * the past of r. No read of the past is exempt, so the order that reads and their writes give
 * ("kept") holds among all events but r. Hence, for one read, along the writes of each thread:
 *  - those in the past can only be seen if they are the last of their thread in the past, and no
 *    other write in the past comes after them in kept order;
 *  - those that need r itself cannot be seen, and then no later one of the thread either;
 *  - what is left is a stretch of the thread's writes, of which sections reject some more.
 *
 * All reads are put together in nondet_sums.c. */
#include "predict/nondet_sound.h"

#include "base/alloc.h"
#include "base/search.h"

#ifdef HEDDLE_DEBUG
#include <assert.h>
#endif
#include <string.h>

/* ---- the question ------------------------------------------------------------------------------
 */

/* Everything must be executed: every thread's last event is, if something is said of it that holds
 * anyway. */
static void ask_for_all(const struct hd_model *model, struct hd_question *question) {
    for (uint32_t t = 0; t < model->threads; t++) {
        uint32_t start = model->thread_start[t], end = model->thread_start[t + 1];
        if (end == start) continue;
        uint32_t first = model->thread_event[start], last = model->thread_event[end - 1];
        if (first != last) {
            hd_question_order(question, first, last);
            continue;
        }
        const uint32_t *edges;
        if (hd_model_edges_into(model, last, &edges) > 0) {
            hd_question_order(question, model->edge[edges[0]].from, last);
        } else if (!hd_model_is_read(model, last)) {
            hd_question_stop(question, last, true);
        } else if (model->from[last] != HD_NONE) {
            hd_question_order(question, model->from[last], last);
        } else { /* it must come before the writes of others; without them it is of no interest */
            const uint32_t *location;
            uint32_t count = hd_model_locations(model, last, &location);
            for (uint32_t i = 0; i < count; i++)
                for (uint32_t at = model->location_start[location[i]];
                     at < model->location_start[location[i] + 1]; at++) {
                    uint32_t write = model->location_event[at];
                    if (write == last || !hd_model_is_write(model, write)) continue;
                    hd_question_order(question, last, write);
                    break;
                }
        }
    }
}

void hd_nondet_question(const struct hd_couples *couples, const struct hd_read *read,
                        uint32_t other, struct hd_question *question) {
    const struct hd_model *model = couples->model;
    hd_question_clear(question);
    if (read->event != HD_NONE) {
        question->query.reader = read->event;
        question->query.writer = other;
        hd_question_stop(question, read->event, true);
        return;
    }
    for (uint32_t c = couples->chain_first[read->location];
         c < couples->chain_first[read->location + 1]; c++) {
        const struct hd_chain *chain = &couples->chain.data[c];
        uint32_t last = couples->write[chain->first + chain->count - 1];
        if (last != other) hd_question_order(question, last, other);
    }
    ask_for_all(model, question);
}

static void note(struct hd_sound_worker *worker, uint32_t number, uint32_t seen, uint32_t other,
                 enum hd_verdict verdict) {
    worker->stats.verdict[verdict]++;
    if (verdict == HD_INFEASIBLE) return;
    struct hd_triplet triplet = {
        .read = number, .seen = seen, .other = other, .verdict = (uint8_t)verdict};
    hd_vector_push(&worker->found, triplet);
}

bool hd_sound_ask(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                  const struct hd_triplet *triplet) {
    if (hd_budget_is_over(&shared->predict->options.budget)) {
        note(worker, triplet->read, triplet->seen, triplet->other, HD_UNDECIDED);
        return false;
    }
    worker->stats.asked++;
    hd_nondet_question(shared->couples, &shared->couples->read.data[triplet->read], triplet->other,
                       &worker->question);
    enum hd_verdict verdict = hd_engine_decide(worker->engine, &worker->question.query, NULL);
    note(worker, triplet->read, triplet->seen, triplet->other, verdict);
    return verdict == HD_FEASIBLE;
}

/* The engine is asked when all reads were looked at: perhaps others of the same sites do. */
static void ask_instead(struct hd_sound_worker *worker, uint32_t number, uint32_t seen,
                        uint32_t other) {
    struct hd_triplet triplet = {
        .read = number, .seen = seen, .other = other, .verdict = HD_UNDECIDED};
    hd_vector_push(&worker->waiting, triplet);
}

static void ask(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                uint32_t number, uint32_t other) {
    ask_instead(worker, number, shared->couples->read.data[number].seen, other);
}

/* ---- what is settled without a question ---------------------------------------------------------
 */

/* The debug build asks all the same, as long as that is cheap. */
#define MOST_RECHECKS 256
static void recheck(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                    uint32_t number, uint32_t other, enum hd_verdict expected) {
#ifdef HEDDLE_DEBUG
    if (worker->stats.by_orders + worker->stats.by_locks > MOST_RECHECKS) return;
    struct hd_engine *engine = hd_engine_new(shared->base, HD_CDSR, (struct hd_budget){0});
    hd_nondet_question(shared->couples, &shared->couples->read.data[number], other,
                       &worker->question);
    assert(hd_engine_decide(engine, &worker->question.query, NULL) == expected);
    hd_engine_free(engine);
#else
    (void)shared, (void)worker, (void)number, (void)other, (void)expected;
#endif
}

/* A schedule that needs no search shows it. */
static void shown_by_order(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                           uint32_t number, uint32_t seen, uint32_t other) {
    worker->stats.by_orders++;
    note(worker, number, seen, other, HD_FEASIBLE);
    recheck(shared, worker, number, other, HD_FEASIBLE);
}

static void forbidden_by_sections(const struct hd_sound_shared *shared,
                                  struct hd_sound_worker *worker, uint32_t number, uint32_t other) {
    worker->stats.by_locks++;
    worker->stats.verdict[HD_INFEASIBLE]++;
    recheck(shared, worker, number, other, HD_INFEASIBLE);
}

/* ---- the past ----------------------------------------------------------------------------------
 */

/* Turns to a read. */
static void begin_past(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                       uint32_t event, uint32_t position) {
    const struct hd_model *model = shared->couples->model;
    memset(worker->past, 0, model->threads * sizeof *worker->past);
    if (position > 0)
        hd_sound_add(shared, worker->past,
                     model->thread_event[model->thread_start[model->thread[event]] + position - 1]);
    const uint32_t *edges;
    uint32_t count = hd_model_edges_into(model, event, &edges);
    for (uint32_t i = 0; i < count; i++)
        hd_sound_add(shared, worker->past, model->edge[edges[i]].from);
    worker->stamp++;
    worker->past_open = HD_PAST_UNKNOWN;
}

/* ---- sections ----------------------------------------------------------------------------------
 */

static void find_held(const struct hd_model *model, struct hd_sound_worker *worker,
                      uint32_t event) {
    uint32_t count =
        hd_model_held(model, event, worker->held.data, (uint32_t)worker->held.capacity);
    if (count > worker->held.capacity) {
        worker->held.size = 0;
        hd_vector_reserve(&worker->held, count);
        hd_model_held(model, event, worker->held.data, count);
    }
    worker->held.size = count;
}

/* A section of the writer's that excludes one which the read is inside must be over before that one
 * begins: it must be closed, need nothing from inside, and have no later write of the location.
 * `next` is the position of the writer's next write of the location. */
static bool sections_forbid(const struct hd_sound_shared *shared,
                            const struct hd_sound_worker *worker, uint32_t write, uint32_t next,
                            uint32_t reader) {
    const struct hd_model *model = shared->couples->model;
    for (uint32_t s = model->event_section[write]; s != HD_NONE; s = model->section[s].outer) {
        const struct hd_section *section = &model->section[s];
        if (section->release != HD_NONE && section->release < write) continue; /* hand over hand */
        for (size_t i = 0; i < worker->held.size; i++) {
            const struct hd_section *mine = &model->section[worker->held.data[i]];
            if (mine->lock != section->lock || !hd_conflicting_modes(mine, section)) continue;
            if (section->release == HD_NONE) return true;
            uint32_t end = hd_model_position(model, section->release);
            if (next < end) return true;
            const uint32_t *clock = hd_reach_clock(&shared->base->kept, section->thread, end);
            if (clock != NULL && clock[reader] > hd_model_position(model, mine->acquire))
                return true;
        }
    }
    return false;
}

/* ---- one read ----------------------------------------------------------------------------------
 */

/* The first write of a chain, from `low` on, that needs more than `most` events of a thread. */
static uint32_t first_beyond(const struct hd_couples *couples, const struct hd_chain *chain,
                             uint32_t low, uint32_t thread, uint32_t most) {
    const uint32_t *const *clock = couples->write_clock + chain->first;
    return hd_first_not(i, low, chain->count, clock[i] == NULL || clock[i][thread] <= most);
}

/* Is a write of the past, the last of its chain there, before another one's last? */
static bool overwritten(const struct hd_couples *couples, const struct hd_sound_worker *worker,
                        uint32_t first_chain, uint32_t chains, uint32_t which) {
    const struct hd_chain *mine = &couples->chain.data[first_chain + which];
    uint32_t position = couples->write_position[mine->first + worker->last.data[which] - 1];
    for (uint32_t i = 0; i < chains; i++) {
        if (i == which || worker->last.data[i] == 0) continue;
        const struct hd_chain *other = &couples->chain.data[first_chain + i];
        const uint32_t *clock = couples->write_clock[other->first + worker->last.data[i] - 1];
        if (clock != NULL && clock[mine->thread] > position) return true;
    }
    return false;
}

/* A write of the past, or the initial value: is it what the past, in trace order, leaves? */
static void settle(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                   uint32_t number, uint32_t other) {
    const struct hd_read *read = &shared->couples->read.data[number];
    if (hd_past_leaves(shared, worker, read, other))
        shown_by_order(shared, worker, number, read->seen, other);
    else
        ask(shared, worker, number, other);
}

static void decide_past(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                        uint32_t number, uint32_t first_chain, uint32_t chains) {
    const struct hd_couples *couples = shared->couples;
    const struct hd_read *read = &couples->read.data[number];
    uint32_t inside = 0, candidates = 0, seen = 0;
    for (uint32_t i = 0; i < chains; i++) {
        const struct hd_chain *chain = &couples->chain.data[first_chain + i];
        uint32_t last = worker->last.data[i];
        inside += last;
        if (last == 0) continue;
        uint32_t write = couples->write[chain->first + last - 1];
        if (write == read->seen) continue;
        if (overwritten(couples, worker, first_chain, chains, i)) continue;
        candidates++;
        settle(shared, worker, number, write);
    }
    if (read->seen != HD_NONE) { /* is it among them? */
        const struct hd_model *model = couples->model;
        seen = hd_model_position(model, read->seen) < worker->past[model->thread[read->seen]];
        if (inside == 0) {
            candidates++;
            settle(shared, worker, number, HD_NONE);
        }
        inside++; /* the initial value is a candidate as well */
    }
    worker->stats.by_clocks += inside - seen - candidates;
    worker->stats.verdict[HD_INFEASIBLE] += inside - seen - candidates;
}

static void decide_stretch(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                           uint32_t number, const struct hd_chain *chain, uint32_t low,
                           uint32_t high, uint32_t reader) {
    const struct hd_couples *couples = shared->couples;
    const struct hd_read *read = &couples->read.data[number];
    uint32_t straight = HD_NONE;     /* the writer's thread can go as far as here after the past */
    if (high - low > shared->most) { /* those nearest to the read */
        const uint32_t *list = couples->write + chain->first;
        uint32_t near = hd_first_not(i, low, high, list[i] < read->event), all = high - low;
        uint32_t before = near - low < shared->most / 2 ? near - low : shared->most / 2;
        uint32_t first = near - before;
        if (high - first < shared->most) first = high - shared->most;
        low = first;
        high = first + shared->most;
        worker->stats.left += all - shared->most;
    }
    for (uint32_t i = low; i < high; i++) {
        uint32_t write = couples->write[chain->first + i];
        uint32_t position = couples->write_position[chain->first + i];
        if (write == read->seen) continue;
        if (hd_budget_is_over(
                &shared->predict->options.budget)) { /* all that is left is undecided */
            ask(shared, worker, number, write);
            continue;
        }
        struct hd_placed_write placed = {write, position, couples->write_clock[chain->first + i]};
        bool found = hd_write_can_come_last(shared, worker, read->event, &placed);
        if (!found && straight == HD_NONE)
            straight = hd_go_straight(shared, worker, read->event, chain->thread,
                                      couples->write_position[chain->first + high - 1] + 1);
        if (found || (position < straight && position >= worker->closed[chain->thread])) {
            shown_by_order(shared, worker, number, read->seen, write);
            continue;
        }
        uint32_t next =
            i + 1 < chain->count ? couples->write_position[chain->first + i + 1] : HD_NONE;
        if (worker->held.size > 0 && sections_forbid(shared, worker, write, next, reader))
            forbidden_by_sections(shared, worker, number, write);
        else
            ask(shared, worker, number, write);
    }
}

/* Turns to a read: its past, and how many writes of each chain are in it. */
static uint32_t begin_read(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                           const struct hd_read *read) {
    const struct hd_couples *couples = shared->couples;
    uint32_t first_chain = couples->chain_first[read->location];
    uint32_t chains = couples->chain_first[read->location + 1] - first_chain;
    begin_past(shared, worker, read->event, hd_model_position(couples->model, read->event));
    worker->last.size = 0;
    hd_vector_reserve(&worker->last, chains);
    for (uint32_t i = 0; i < chains; i++) {
        const struct hd_chain *chain = &couples->chain.data[first_chain + i];
        worker->last.data[i] = hd_chain_before(couples, chain, worker->past[chain->thread]);
    }
    worker->last.size = chains;
    return chains;
}

/* Where the writes of a chain end that the clocks leave, after those of the past. */
static uint32_t end_of_stretch(const struct hd_couples *couples, const struct hd_read *read,
                               const struct hd_chain *chain, uint32_t low) {
    uint32_t reader = couples->model->thread[read->event];
    if (chain->thread == reader) return low;
    return first_beyond(couples, chain, low, reader,
                        hd_model_position(couples->model, read->event));
}

static void decide_read(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                        uint32_t number) {
    const struct hd_couples *couples = shared->couples;
    const struct hd_model *model = couples->model;
    const struct hd_read *read = &couples->read.data[number];
    uint32_t reader = model->thread[read->event];
    uint32_t first_chain = couples->chain_first[read->location];
    worker->stats.triplets += hd_couples_writes(couples, read->location) + (uint64_t)1 - 1 -
                              hd_model_is_write(model, read->event);
    uint32_t chains = begin_read(shared, worker, read);
    find_held(model, worker, read->event);
    decide_past(shared, worker, number, first_chain, chains);
    for (uint32_t i = 0; i < chains; i++) {
        const struct hd_chain *chain = &couples->chain.data[first_chain + i];
        uint32_t low = worker->last.data[i], high = end_of_stretch(couples, read, chain, low);
        uint32_t beyond = chain->count - high;
        if (chain->thread == reader) beyond -= hd_model_is_write(model, read->event); /* itself */
        worker->stats.by_clocks += beyond;
        worker->stats.verdict[HD_INFEASIBLE] += beyond;
        decide_stretch(shared, worker, number, chain, low, high, reader);
    }
}

/* ---- one read of several locations -------------------------------------------------------------
 */

static struct hd_placed_write placed(const struct hd_sound_shared *shared, uint32_t write) {
    const struct hd_model *model = shared->couples->model;
    uint32_t position = hd_model_position(model, write);
    return (struct hd_placed_write){
        write, position, hd_reach_clock(&shared->base->kept, model->thread[write], position)};
}

/* Does a write come after an event in every reordering that has it? */
static bool needs(const struct hd_model *model, const struct hd_placed_write *write,
                  uint32_t event) {
    uint32_t thread = model->thread[event];
    if (thread == model->thread[write->event]) return write->event > event;
    return write->clock != NULL && write->clock[thread] > hd_model_position(model, event);
}

/* Where the challenger was not seen, does a write in the past of the read come after it? */
static bool overwritten_at(const struct hd_sound_shared *shared,
                           const struct hd_sound_worker *worker,
                           const struct hd_challenger *challenger) {
    const struct hd_couples *couples = shared->couples;
    const struct hd_model *model = couples->model;
    uint32_t location = challenger->location, other = challenger->write;
    if (!model->location[location].shared) /* all its writes are of the reader's own thread */
        return challenger->seen != HD_NONE && (other == HD_NONE || other < challenger->seen);
    for (uint32_t c = couples->chain_first[location]; c < couples->chain_first[location + 1]; c++) {
        const struct hd_chain *chain = &couples->chain.data[c];
        uint32_t count = hd_chain_before(couples, chain, worker->past[chain->thread]);
        if (count == 0) continue;
        uint32_t at = chain->first + count - 1;
        struct hd_placed_write last = {couples->write[at], couples->write_position[at],
                                       couples->write_clock[at]};
        if (other == HD_NONE || needs(model, &last, other)) return true;
    }
    return false;
}

/* The position of a thread's first write of a shared location after another of its writes there;
 * HD_NONE: there is none. */
static uint32_t next_write(const struct hd_couples *couples, uint32_t location, uint32_t thread,
                           uint32_t position) {
    uint32_t c = couples->chain_first[location];
    while (couples->chain.data[c].thread != thread) c++;
    const struct hd_chain *chain = &couples->chain.data[c];
    uint32_t next = hd_chain_before(couples, chain, position + 1);
    return next < chain->count ? couples->write_position[chain->first + next] : HD_NONE;
}

/* The challenger must be seen in every location that it shares with the read, so one where it
 * cannot be seen is enough to rule it out; and if it comes just before the read, it is seen in all.
 */
static void decide_challenger(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                              uint32_t number, const struct hd_challenger *challenger) {
    const struct hd_model *model = shared->couples->model;
    uint32_t read = shared->couples->read.data[number].event, other = challenger->write;
    struct hd_placed_write write = {HD_NONE, 0, NULL};
    if (other != HD_NONE) write = placed(shared, other);
    if ((other != HD_NONE && needs(model, &write, read)) ||
        overwritten_at(shared, worker, challenger)) {
        worker->stats.by_clocks++;
        worker->stats.verdict[HD_INFEASIBLE]++;
        return;
    }
    if (other == HD_NONE || hd_budget_is_over(&shared->predict->options.budget)) {
        ask_instead(worker, number, challenger->seen, other);
        return;
    }
    if (hd_write_can_come_last(shared, worker, read, &write)) {
        shown_by_order(shared, worker, number, challenger->seen, other);
        return;
    }
    uint32_t reader = model->thread[read], writer = model->thread[other];
    if (worker->held.size > 0 && writer != reader &&
        sections_forbid(shared, worker, other,
                        next_write(shared->couples, challenger->location, writer, write.position),
                        reader)) {
        forbidden_by_sections(shared, worker, number, other);
        return;
    }
    ask_instead(worker, number, challenger->seen, other);
}

static void decide_wide(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                        uint32_t number) {
    const struct hd_model *model = shared->couples->model;
    const struct hd_read *read = &shared->couples->read.data[number];
    find_held(model, worker, read->event);
    hd_couples_challengers(shared->couples, read, &worker->challengers);
    begin_past(shared, worker, read->event, hd_model_position(model, read->event));
    worker->stats.triplets += worker->challengers.list.size;
    for (size_t i = 0; i < worker->challengers.list.size; i++)
        decide_challenger(shared, worker, number, &worker->challengers.list.data[i]);
}

/* ---- one final read ----------------------------------------------------------------------------
 */

/* After everything: only the last writes of the threads can be last, if no other comes after them.
 */
static void decide_final(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                         uint32_t number) {
    const struct hd_couples *couples = shared->couples;
    const struct hd_read *read = &couples->read.data[number];
    uint32_t first_chain = couples->chain_first[read->location];
    uint32_t chains = couples->chain_first[read->location + 1] - first_chain;
    uint32_t triplets = hd_couples_writes(couples, read->location), candidates = 0;
    worker->last.size = 0;
    hd_vector_reserve(&worker->last, chains);
    for (uint32_t i = 0; i < chains; i++)
        worker->last.data[worker->last.size++] = couples->chain.data[first_chain + i].count;
    for (uint32_t i = 0; i < chains; i++) {
        const struct hd_chain *chain = &couples->chain.data[first_chain + i];
        uint32_t write = couples->write[chain->first + chain->count - 1];
        if (write == read->seen || overwritten(couples, worker, first_chain, chains, i)) continue;
        candidates++;
        ask(shared, worker, number, write);
    }
    worker->stats.triplets += triplets;
    worker->stats.by_clocks += triplets - candidates;
    worker->stats.verdict[HD_INFEASIBLE] += triplets - candidates;
}

/* ---- any read ----------------------------------------------------------------------------------
 */

void hd_sound_decide(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                     uint32_t number) {
    const struct hd_read *read = &shared->couples->read.data[number];
    if (read->event == HD_NONE)
        decide_final(shared, worker, number);
    else if (read->wide)
        decide_wide(shared, worker, number);
    else
        decide_read(shared, worker, number);
}

void hd_sound_measure(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                      uint32_t number) {
    const struct hd_couples *couples = shared->couples;
    const struct hd_read *read = &couples->read.data[number];
    if (read->event == HD_NONE || read->wide) return;
    uint32_t chains = begin_read(shared, worker, read);
    for (uint32_t i = 0; i < chains; i++) {
        const struct hd_chain *chain =
            &couples->chain.data[couples->chain_first[read->location] + i];
        uint32_t low = worker->last.data[i], high = end_of_stretch(couples, read, chain, low);
        if (high > low) worker->length[31 - __builtin_clz(high - low)]++;
    }
}
