/* The interface of the decision engine: takes a query apart, decides what clocks and locksets
 * decide, hands the rest to the search, and writes the witness. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/search.h"
#include "engine/polygraph.h"

#ifdef HEDDLE_DEBUG
#include "engine/checker.h"
#include "engine/sane.h"
#include <assert.h>
#endif

#include <stdlib.h>
#include <string.h>

void hd_witness_free(struct hd_witness *witness) {
    free(witness->event);
    *witness = (struct hd_witness){0};
}

/* ---- life ----------------------------------------------------------------------------------- */

struct hd_engine *hd_engine_new(const struct hd_engine_base *base, enum hd_reading reading,
                                struct hd_budget budget) {
    struct hd_engine *engine = hd_zalloc(1, sizeof *engine);
    struct hd_arena *arena = &engine->arena;
    size_t threads = base->model->threads + (size_t)1;
    engine->base = base;
    engine->model = base->model;
    engine->reading = reading;
    engine->budget = budget;
    engine->threads = base->model->threads;
    uint32_t **arrays[] = {
        &engine->bound,     &engine->exempt,  &engine->cut,           &engine->past,
        &engine->spread,    &engine->at,      &engine->newest_growth, &engine->cursor,
        &engine->gate_at,   &engine->heap,    &engine->key,           &engine->waiters,
        &engine->next_wait, &engine->soonest, &engine->limit,         &engine->limiter};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = hd_arena_zalloc(arena, threads, sizeof(uint32_t));
    engine->of_pair = hd_arena_alloc(arena, HD_CHOICE_SLOTS * sizeof *engine->of_pair);
    engine->of_start = hd_arena_alloc(arena, HD_CHOICE_SLOTS * sizeof *engine->of_start);
    engine->wait = hd_arena_zalloc(arena, threads, sizeof *engine->wait);
    engine->blocked = hd_arena_zalloc(arena, threads, sizeof *engine->blocked);
    engine->place = hd_arena_zalloc(arena, base->full.places, sizeof *engine->place);
    engine->lock = hd_arena_zalloc(arena, base->model->locks, sizeof *engine->lock);
    memset(engine->of_pair, 0xff, HD_CHOICE_SLOTS * sizeof *engine->of_pair);
    memset(engine->of_start, 0xff, HD_CHOICE_SLOTS * sizeof *engine->of_start);
    return engine;
}

void hd_engine_free(struct hd_engine *engine) {
    if (engine == NULL) return;
    hd_arena_free(&engine->arena);
    hd_vector_free(&engine->demands);
    hd_vector_free(&engine->gates);
    hd_vector_free(&engine->held);
    hd_vector_free(&engine->todo);
    hd_vector_free(&engine->stack);
    hd_vector_free(&engine->triggers);
    hd_vector_free(&engine->left_open);
    hd_vector_free(&engine->growths);
    hd_vector_free(&engine->choices);
    hd_vector_free(&engine->reasons);
    hd_vector_free(&engine->marks);
    hd_vector_free(&engine->because);
    hd_vector_free(&engine->clauses);
    hd_vector_free(&engine->literals);
    hd_vector_free(&engine->passed);
    hd_vector_free(&engine->obstacle_reasons);
    hd_vector_free(&engine->open);
    hd_vector_free(&engine->slices);
    hd_vector_free(&engine->undecided);
    hd_vector_free(&engine->obstacles);
    free(engine);
}

const struct hd_engine_stats *hd_engine_stats(const struct hd_engine *engine) {
    return &engine->stats;
}

void hd_engine_stats_add(struct hd_engine_stats *total, const struct hd_engine_stats *part) {
    total->queries += part->queries;
    total->undecided += part->undecided;
    total->choices += part->choices;
    total->backtracks += part->backtracks;
    total->nanoseconds += part->nanoseconds;
    for (unsigned rung = 0; rung < HD_RUNG_COUNT; rung++) {
        total->feasible[rung] += part->feasible[rung];
        total->infeasible[rung] += part->infeasible[rung];
    }
}

/* ---- taking the query apart ------------------------------------------------------------------ */

/* Each of these that returns a bool returns false if the query is infeasible. */

static uint32_t position_of(const struct hd_engine *engine, uint32_t event) {
    return hd_model_position(engine->model, event);
}

/* Does the query make sense at all? */
static bool well_formed(const struct hd_engine *engine, const struct hd_query *query) {
    const struct hd_model *model = engine->model;
    for (uint32_t i = 0; i < query->stops; i++) {
        if (query->stop[i].event >= model->events) return false;
        for (uint32_t j = 0; j < i; j++)
            if (model->thread[query->stop[i].event] == model->thread[query->stop[j].event])
                return false;
    }
    for (uint32_t i = 0; i < query->orders; i++)
        if (query->order[i].before >= model->events || query->order[i].after >= model->events)
            return false;
    if (query->reader == HD_NONE) return true;
    return query->reader < model->events && hd_model_is_read(model, query->reader) &&
           (query->writer == HD_NONE ||
            (query->writer < model->events && hd_model_is_write(model, query->writer)));
}

/* The first position of a stop's thread from which on reads may read anything; HD_NONE: nowhere. */
static uint32_t exempt_from(const struct hd_engine *engine, const struct hd_stop *stop,
                            uint32_t position) {
    const struct hd_model *model = engine->model;
    const uint32_t *branches = engine->query->branches;
    if (branches == NULL)
        return stop->executed && hd_model_is_read(model, stop->event) ? position : HD_NONE;
    const uint32_t *list = model->thread_event + model->thread_start[model->thread[stop->event]];
    return hd_first_not(i, 0, position, branches[list[i]] < branches[stop->event]);
}

static void set_stops(struct hd_engine *engine) {
    const struct hd_query *query = engine->query;
    memset(engine->bound, 0xff, engine->threads * sizeof *engine->bound);
    memset(engine->exempt, 0xff, engine->threads * sizeof *engine->exempt);
    engine->tainted = false;
    for (uint32_t i = 0; i < query->stops; i++) {
        uint32_t event = query->stop[i].event, thread = engine->model->thread[event];
        uint32_t position = position_of(engine, event);
        engine->bound[thread] = position + query->stop[i].executed;
        if (engine->reading != HD_CDSR) continue;
        const uint32_t *edges;
        engine->exempt[thread] = exempt_from(engine, &query->stop[i], position);
        if (engine->exempt[thread] == HD_NONE) continue;
        engine->tainted |= query->branches != NULL || hd_model_is_write(engine->model, event) ||
                           hd_model_edges_from(engine->model, event, &edges) > 0;
    }
}

static bool pull_event(struct hd_engine *engine, uint32_t event) {
    return hd_cut_pull(engine, engine->model->thread[event], position_of(engine, event), HD_NONE);
}

static bool pull_stop(struct hd_engine *engine, const struct hd_stop *stop) {
    const struct hd_model *model = engine->model;
    uint32_t thread = model->thread[stop->event], position = position_of(engine, stop->event);
    if (position > 0 && !hd_cut_pull(engine, thread, position - 1, HD_NONE)) return false;
    if (stop->executed && (position < engine->exempt[thread] || engine->query->branches != NULL))
        return hd_cut_pull(engine, thread, position, HD_NONE);
    /* Next, or a read that may read anything: it needs what must-order wants, and no write. */
    const uint32_t *edges;
    uint32_t count = hd_model_edges_into(model, stop->event, &edges);
    for (uint32_t i = 0; i < count; i++)
        if (!pull_event(engine, model->edge[edges[i]].from)) return false;
    return !stop->executed || hd_cut_raise(engine, thread, position + 1, HD_NONE);
}

static bool close_cut(struct hd_engine *engine, const struct hd_reach *reach) {
    const struct hd_query *query = engine->query;
    engine->reach = reach;
    hd_polygraph_reset(engine);
    for (uint32_t i = 0; i < query->stops; i++)
        if (!pull_stop(engine, &query->stop[i])) return false;
    for (uint32_t i = 0; i < query->orders; i++)
        if (!pull_event(engine, query->order[i].before) ||
            !pull_event(engine, query->order[i].after))
            return false;
    if (query->reader == HD_NONE) return true;
    return pull_event(engine, query->reader) &&
           (query->writer == HD_NONE || pull_event(engine, query->writer));
}

/* The locks that the stops leave held. Two of them in conflict decide the query. */
static bool collect_held(struct hd_engine *engine) {
    const struct hd_model *model = engine->model;
    engine->held.size = 0;
    for (uint32_t i = 0; i < engine->query->stops; i++) {
        uint32_t thread = model->thread[engine->query->stop[i].event];
        if (engine->bound[thread] == 0) continue;
        uint32_t last =
            model->thread_event[model->thread_start[thread] + engine->bound[thread] - 1];
        size_t start = engine->held.size;
        hd_open_after(engine, last);
        for (size_t h = 0; h < engine->stack.size; h++) {
            const struct hd_section *section = &model->section[engine->stack.data[h]];
            for (size_t other = 0; other < start; other++) {
                const struct hd_section *earlier = &model->section[engine->held.data[other]];
                if (earlier->lock == section->lock && hd_conflicting_modes(earlier, section))
                    return false;
            }
            hd_vector_push(&engine->held, engine->stack.data[h]);
        }
    }
    return true;
}

static int by_gate(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void add_gate(struct hd_engine *engine, uint32_t event) {
    uint64_t gate = (uint64_t)engine->model->thread[event] << 32 | position_of(engine, event);
    for (size_t i = 0; i < engine->gates.size; i++)
        if (engine->gates.data[i] == gate) return;
    hd_vector_push(&engine->gates, gate);
}

static void set_gates(struct hd_engine *engine) {
    engine->gates.size = 0;
    for (uint32_t i = 0; i < engine->query->orders; i++) {
        add_gate(engine, engine->query->order[i].before);
        add_gate(engine, engine->query->order[i].after);
    }
    if (engine->gates.size > 1)
        qsort(engine->gates.data, engine->gates.size, sizeof *engine->gates.data, by_gate);
}

/* ---- a read whose write is demanded -----------------------------------------------------------
 */

/* The last write of a location before an event in the trace, HD_NONE. */
static uint32_t write_before(const struct hd_model *model, uint32_t location, uint32_t event) {
    const uint32_t *list = model->location_event;
    uint32_t start = model->location_start[location];
    uint32_t low = hd_first_not(i, start, model->location_start[location + 1], list[i] < event);
    while (low > start)
        if (hd_model_is_write(model, list[--low])) return list[low];
    return HD_NONE;
}

/* The entry of an event among the accesses of a place. */
static uint32_t entry_of(const struct hd_view *view, uint32_t place, uint32_t event) {
    return hd_first_not(i, view->place_first[place], view->place_first[place + 1],
                        view->event[view->access_step[i]] < event);
}

static uint32_t step_of(const struct hd_engine *engine, uint32_t event) {
    return hd_step_at(engine->view, engine->model->thread[event], position_of(engine, event));
}

/* `entry` is the reader's in a shared location. */
static bool demand_location(struct hd_engine *engine, uint32_t location, uint32_t entry) {
    const struct hd_model *model = engine->model;
    const struct hd_view *view = engine->view;
    uint32_t reader = engine->query->reader, writer = engine->query->writer;
    if (!model->location[location].shared) /* only its own thread ever writes there */
        return write_before(model, location, reader) == writer;
    uint32_t from = view->access_from[entry], position = position_of(engine, reader);
    uint32_t own = from == HD_NONE ? HD_NONE : view->event[view->access_step[from]];
    bool kept = engine->reading != HD_CSR && position < engine->exempt[model->thread[reader]] &&
                !(engine->reading == HD_UA && own == HD_NONE);
    if (kept && own != writer) return false; /* it keeps its own write as well */
    struct hd_demand demand = {.place = view->access_place[entry], .entry = HD_NONE};
    if (writer != HD_NONE) demand.entry = entry_of(view, demand.place, writer);
    engine->reader = view->access_step[entry];
    hd_vector_push(&engine->demands, demand);
    return true;
}

/* Demands for the locations that reader and writer share. Both lists of locations ascend, and the
 * reader's entries are in the order of its shared locations. */
static bool set_demands(struct hd_engine *engine) {
    const struct hd_query *query = engine->query;
    const struct hd_model *model = engine->model;
    engine->demands.size = 0;
    engine->reader = HD_NONE;
    if (query->reader == HD_NONE) return true;
    const uint32_t *location, *written = NULL, *entry = NULL;
    uint32_t count = hd_model_locations(model, query->reader, &location), entries;
    uint32_t writes = 0, at = 0, common = 0;
    if (query->writer != HD_NONE) writes = hd_model_locations(model, query->writer, &written);
    for (uint32_t i = 0; i < count; i++) {
        bool shared = model->location[location[i]].shared;
        if (shared && entry == NULL)
            entry = hd_entries_of(engine->view, step_of(engine, query->reader), &entries);
        uint32_t mine = shared ? *entry++ : HD_NONE;
        if (query->writer != HD_NONE) {
            while (at < writes && written[at] < location[i]) at++;
            if (at == writes) break;
            if (written[at] != location[i]) continue;
        }
        common++;
        if (!demand_location(engine, location[i], mine)) return false;
    }
    return common > 0;
}

/* ---- the witness ----------------------------------------------------------------------------- */

/* Writes what is left of the cut before an event of the trace, in trace order. */
static uint32_t write_stretch(struct hd_engine *engine, uint32_t upto, uint32_t *out,
                              uint32_t fill) {
    const struct hd_model *model = engine->model;
    /* An event is written if it lies between the first and the last that its thread has left. */
    uint32_t *done = engine->past, *first = engine->key, *length = engine->spread;
    uint32_t from = HD_NONE, last = 0;
    for (uint32_t t = 0; t < engine->threads; t++) {
        const uint32_t *list = model->thread_event + model->thread_start[t];
        first[t] = length[t] = 0;
        if (done[t] == engine->cut[t]) continue;
        uint32_t end = list[engine->cut[t] - 1] + 1;
        first[t] = list[done[t]];
        length[t] = end - first[t];
        if (first[t] < from) from = first[t];
        if (end > last) last = end;
    }
    if (last < upto) upto = last;
    for (uint32_t event = from; event < upto; event++) {
        uint32_t thread = model->thread[event];
        out[fill] = event;
        fill += event - first[thread] < length[thread];
    }
    for (uint32_t t = 0; t < engine->threads; t++) {
        const uint32_t *list = model->thread_event + model->thread_start[t];
        done[t] = hd_first_not(i, done[t], engine->cut[t], list[i] < upto);
    }
    return fill;
}

/* Most witnesses begin as the trace does: the longest such beginning. `witness->start` says how
 * much of it the last witness left in place. */
static uint32_t write_beginning(struct hd_engine *engine, struct hd_witness *witness) {
    const struct hd_model *model = engine->model;
    uint32_t count = model->events, *done = engine->past;
    if (engine->slices.size > 0) {
        if (engine->slices.data[0].thread != HD_NONE) return 0;
        if (engine->slices.data[0].upto < count) count = engine->slices.data[0].upto;
    }
    for (uint32_t t = 0; t < engine->threads; t++) {
        const uint32_t *left = model->thread_event + model->thread_start[t] + engine->cut[t];
        if (left < model->thread_event + model->thread_start[t + 1] && *left < count) count = *left;
    }
    for (uint32_t i = witness->start; i < count; i++) witness->event[i] = i;
    for (uint32_t t = 0; t < engine->threads; t++)
        done[t] =
            hd_lower_bound(model->thread_event + model->thread_start[t], engine->cut[t], count);
    return count;
}

static void write_witness(struct hd_engine *engine, struct hd_witness *witness) {
    const struct hd_model *model = engine->model;
    const struct hd_query *query = engine->query;
    uint64_t total = query->stops + (uint64_t)1; /* write_stretch writes one ahead */
    for (uint32_t t = 0; t < engine->threads; t++) total += engine->cut[t];
    if (total > witness->room) {
        witness->event = hd_realloc(witness->event, total, sizeof *witness->event);
        witness->room = (uint32_t)total;
    }
    uint32_t *done = engine->past;
    memset(done, 0, engine->threads * sizeof *done);
    uint32_t fill = witness->start = write_beginning(engine, witness);
    for (size_t i = 0; i < engine->slices.size; i++) {
        uint32_t thread = engine->slices.data[i].thread, upto = engine->slices.data[i].upto;
        if (thread == HD_NONE) {
            fill = write_stretch(engine, upto, witness->event, fill);
            continue;
        }
        const uint32_t *list = model->thread_event + model->thread_start[thread];
        while (done[thread] < upto) witness->event[fill++] = list[done[thread]++];
    }
    fill = write_stretch(engine, HD_NONE, witness->event, fill);
    witness->next = 0;
    for (uint32_t i = 0; i < query->stops; i++) {
        if (query->stop[i].executed) continue;
        witness->event[fill++] = query->stop[i].event;
        witness->next++;
    }
    witness->count = fill;
}

#ifdef HEDDLE_DEBUG
/* Debug builds check every feasible answer by the independent checker, and what was learned on the
 * way by the answer. */
static void recheck(const struct hd_engine *engine, const struct hd_witness *witness) {
    struct hd_error error;
    assert(hd_witness_check(engine->model, engine->reading, engine->query, witness, &error));
    assert(hd_clauses_allow(engine, witness));
}
#endif

/* ---- the ladder ------------------------------------------------------------------------------ */

static enum hd_verdict climb(struct hd_engine *engine, enum hd_rung *rung) {
    const struct hd_engine_base *base = engine->base;
    bool reads = engine->reading != HD_CSR;
    engine->keeps = reads;
    engine->view = reads || engine->query->reader != HD_NONE ? &base->full : &base->sync;
    *rung = HD_RUNG_MUST_ORDER;
    set_stops(engine);
    if (!close_cut(engine, &base->must) || !collect_held(engine)) return HD_INFEASIBLE;
    *rung = HD_RUNG_CLOSURE;
    if (reads && !close_cut(engine, &base->kept)) return HD_INFEASIBLE;
    if (!set_demands(engine)) return HD_INFEASIBLE;
    set_gates(engine);
    return hd_search(engine, rung);
}

bool hd_budget_is_over(const struct hd_budget *budget) {
    return budget->until > 0 && hd_now_ns() >= budget->until;
}

enum hd_verdict hd_engine_decide(struct hd_engine *engine, const struct hd_query *query,
                                 struct hd_witness *witness) {
    uint64_t start = hd_now_ns();
    enum hd_rung rung = HD_RUNG_MUST_ORDER;
    enum hd_verdict verdict = HD_UNDECIDED;
    engine->query = query;
    if (!hd_budget_is_over(&engine->budget) && well_formed(engine, query)) {
        verdict = climb(engine, &rung);
#ifdef HEDDLE_DEBUG
        assert(hd_polygraph_is_sane(engine));
#endif
    }
    if (verdict == HD_FEASIBLE && witness != NULL) {
        write_witness(engine, witness);
#ifdef HEDDLE_DEBUG
        recheck(engine, witness);
#endif
    }
    hd_polygraph_undo(engine, (struct hd_mark){0, 0}); /* the next query may have another view */
    engine->stats.queries++;
    if (verdict == HD_FEASIBLE)
        engine->stats.feasible[rung]++;
    else if (verdict == HD_INFEASIBLE)
        engine->stats.infeasible[rung]++;
    else
        engine->stats.undecided++;
    engine->stats.nanoseconds += hd_now_ns() - start;
    return verdict;
}
