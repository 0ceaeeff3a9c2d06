/* The universal causality graph as the paper describes it (section 3.3): must-order, the edges of
 * the error condition, and Rule 1 applied to single edges until nothing changes. A cycle is a proof
 * that no interleaving exists; none means `possible`, since for more than two threads Rule 1 does
 * not see everything, and reads may read anything (CSR).
 *
 * Between two threads only the edges matter that no other edge implies by program order: those with
 * no edge that starts later and ends earlier. They are kept sorted ("front"), so that "is there an
 * edge from at or after s, and to where first?" is one binary search. Positions count events of a
 * thread. */
#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vector.h"
#include "engine/engine_base.h"
#include "methods/methods.h"

#include <stdlib.h>
#include <string.h>

struct arrow {
    uint32_t from, to; /* positions; ascending in both along a front */
};

struct front {
    uint32_t source, target; /* threads */
    HD_VECTOR(struct arrow) arrow;
};

struct edges {
    const struct hd_engine_base *base;
    const struct hd_model *model;
    struct hd_map at;              /* source << 16 | target -> front */
    HD_VECTOR(struct front) front; /* of must-order */
    uint32_t *acquire, *release;   /* per section: positions; HD_NONE if never released */
};

struct ucg {
    const struct edges *edges;
    uint32_t *cut, *limit; /* per thread: events in, and at most */
    bool *stopped;         /* per thread: ends at `limit` */
    uint32_t *progress;
    struct hd_map at;
    HD_VECTOR(struct front) front; /* of the edges that were added */
    uint32_t fronts;               /* in use; the others keep their memory */
    uint64_t checks;
    bool changed;
};

/* ---- fronts -----------------------------------------------------------------------------------
 */

/* The first arrow from at or after a position. */
static uint32_t find_arrow(const struct front *front, uint32_t from) {
    return hd_first_not(i, 0, (uint32_t)front->arrow.size, front->arrow.data[i].from < from);
}

/* Adds an arrow unless one implies it; is it new? */
static bool add_arrow(struct front *front, uint32_t from, uint32_t to) {
    uint32_t at = find_arrow(front, from), drop = at;
    if (at < front->arrow.size && front->arrow.data[at].to <= to) return false;
    while (drop > 0 && front->arrow.data[drop - 1].to >= to) drop--;
    if (at < front->arrow.size && front->arrow.data[at].from == from) at++; /* its end is later */
    size_t after = front->arrow.size - at;
    hd_vector_reserve(&front->arrow, 1);
    memmove(front->arrow.data + drop + 1, front->arrow.data + at, after * sizeof(struct arrow));
    front->arrow.data[drop] = (struct arrow){from, to};
    front->arrow.size = drop + 1 + after;
    return true;
}

static uint64_t front_key(uint32_t source, uint32_t target) {
    return (uint64_t)source << 16 | target;
}

/* ---- what is computed once --------------------------------------------------------------------
 */

static void add_edge(struct edges *edges, uint32_t from, uint32_t to) {
    const struct hd_model *model = edges->model;
    uint32_t source = model->thread[from], target = model->thread[to];
    uint32_t fresh = (uint32_t)edges->front.size;
    uint32_t *slot = hd_map_slot(&edges->at, front_key(source, target), fresh);
    if (*slot == fresh) {
        struct front front = {.source = source, .target = target};
        hd_vector_push(&edges->front, front);
    }
    add_arrow(&edges->front.data[*slot], hd_model_position(model, from),
              hd_model_position(model, to));
}

/* Must-order, and the sections that made tries fail. */
static void add_edges(struct edges *edges) {
    const struct hd_model *model = edges->model;
    for (uint32_t i = 0; i < model->edges; i++)
        add_edge(edges, model->edge[i].from, model->edge[i].to);
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t section = HD_NONE;
        if (model->kind[e] == HD_EV_TRY_FAILED) section = hd_model_failed_by(model, e);
        if (section != HD_NONE) add_edge(edges, model->section[section].acquire, e);
    }
}

static struct edges *edges_build(const struct hd_engine_base *base) {
    struct edges *edges = hd_zalloc(1, sizeof *edges);
    const struct hd_model *model = edges->model = base->model;
    edges->base = base;
    edges->acquire = hd_alloc(model->sections + (size_t)1, sizeof *edges->acquire);
    edges->release = hd_alloc(model->sections + (size_t)1, sizeof *edges->release);
    add_edges(edges);
    for (uint32_t i = 0; i < model->sections; i++) {
        const struct hd_section *section = &model->section[i];
        edges->acquire[i] = hd_model_position(model, section->acquire);
        edges->release[i] =
            section->release == HD_NONE ? HD_NONE : hd_model_position(model, section->release);
    }
    return edges;
}

static void edges_free(struct edges *edges) {
    for (size_t i = 0; i < edges->front.size; i++) hd_vector_free(&edges->front.data[i].arrow);
    hd_vector_free(&edges->front);
    hd_map_free(&edges->at);
    free(edges->acquire);
    free(edges->release);
    free(edges);
}

static struct ucg *ucg_new(const struct edges *edges) {
    struct ucg *ucg = hd_zalloc(1, sizeof *ucg);
    size_t threads = edges->model->threads + (size_t)1;
    ucg->edges = edges;
    ucg->cut = hd_alloc(threads, sizeof *ucg->cut);
    ucg->limit = hd_alloc(threads, sizeof *ucg->limit);
    ucg->progress = hd_alloc(threads, sizeof *ucg->progress);
    ucg->stopped = hd_alloc(threads, sizeof *ucg->stopped);
    return ucg;
}

static void ucg_free(struct ucg *ucg) {
    for (size_t i = 0; i < ucg->front.size; i++) hd_vector_free(&ucg->front.data[i].arrow);
    hd_vector_free(&ucg->front);
    hd_map_free(&ucg->at);
    free(ucg->cut);
    free(ucg->limit);
    free(ucg->progress);
    free(ucg->stopped);
    free(ucg);
}

/* ---- the graph of a query ---------------------------------------------------------------------
 */

/* These return false if there is a cycle. */

/* Slicing (section 3.2): what is needed to get there. Needing an event that must not have happened
 * yet closes a cycle with the error condition. */
static bool include(struct ucg *ucg, uint32_t thread, uint32_t events) {
    if (events <= ucg->cut[thread]) return true;
    if (events > ucg->limit[thread]) return false;
    ucg->cut[thread] = events;
    ucg->changed = true;
    const uint32_t *clock = hd_reach_clock(&ucg->edges->base->must, thread, events - 1);
    if (clock == NULL) return true;
    for (uint32_t t = 0; t < ucg->edges->model->threads; t++) {
        if (t == thread || clock[t] <= ucg->cut[t]) continue;
        if (clock[t] > ucg->limit[t]) return false;
        ucg->cut[t] = clock[t]; /* clocks are closed: its own needs are in this clock too */
    }
    return true;
}

static bool add_order(struct ucg *ucg, uint32_t source, uint32_t from, uint32_t target,
                      uint32_t to) {
    uint32_t *slot = hd_map_slot(&ucg->at, front_key(source, target), ucg->fronts);
    if (*slot == ucg->fronts) {
        if (ucg->fronts == ucg->front.size) {
            struct front empty = {.source = source, .target = target};
            hd_vector_push(&ucg->front, empty);
        }
        struct front *front = &ucg->front.data[ucg->fronts++];
        front->source = source;
        front->target = target;
        front->arrow.size = 0;
    }
    if (add_arrow(&ucg->front.data[*slot], from, to)) ucg->changed = true;
    return include(ucg, source, from + 1);
}

/* Section a has to end before section b begins. */
static bool put_before(struct ucg *ucg, uint32_t a, uint32_t b) {
    const struct edges *edges = ucg->edges;
    const struct hd_section *section = edges->model->section;
    if (edges->release[a] == HD_NONE) return false;
    return add_order(ucg, section[a].thread, edges->release[a], section[b].thread,
                     edges->acquire[b]);
}

static bool conflict(const struct ucg *ucg, uint32_t a, uint32_t b) {
    const struct hd_section *section = ucg->edges->model->section;
    return !(section[a].read_mode && section[b].read_mode);
}

/* Where an edge from at or after a position of one thread leads first in another. */
static uint32_t first_target(const struct ucg *ucg, uint32_t source, uint32_t target,
                             uint32_t from) {
    const struct edges *edges = ucg->edges;
    uint64_t key = front_key(source, target);
    uint32_t least = HD_NONE, at = hd_map_get(&edges->at, key, HD_NONE);
    if (at != HD_NONE) {
        const struct front *front = &edges->front.data[at];
        uint32_t i = find_arrow(front, from);
        if (i < front->arrow.size && front->arrow.data[i].to < ucg->cut[target])
            least = front->arrow.data[i].to;
    }
    at = hd_map_get(&ucg->at, key, HD_NONE);
    if (at != HD_NONE) {
        const struct front *front = &ucg->front.data[at];
        uint32_t i = find_arrow(front, from);
        if (i < front->arrow.size && front->arrow.data[i].to < least)
            least = front->arrow.data[i].to;
    }
    return least;
}

/* Rule 1 for the sections of one lock in two threads: an edge from after acq(A) to before rel(B)
 * leaves only rel(A) -> acq(B). Both lists and the targets ascend. */
static bool resolve(struct ucg *ucg, const struct hd_lock_sections *a,
                    const struct hd_lock_sections *b) {
    const struct edges *edges = ucg->edges;
    const uint32_t *list = edges->base->use_section;
    uint32_t k = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t first = list[a->first + i];
        if (edges->acquire[first] >= ucg->cut[a->thread]) break;
        uint32_t target = first_target(ucg, a->thread, b->thread, edges->acquire[first]);
        if (target == HD_NONE) break;
        while (k < b->count && edges->release[list[b->first + k]] < target) k++;
        uint32_t second = k;
        while (second < b->count && !conflict(ucg, first, list[b->first + second])) second++;
        if (second == b->count) continue;
        if (edges->acquire[list[b->first + second]] >= ucg->cut[b->thread]) continue;
        if (!put_before(ucg, first, list[b->first + second])) return false;
    }
    return true;
}

/* Sections that never end, or which a thread is inside at the end, come last: all others of the
 * lock end before. */
static bool order_last(struct ucg *ucg, uint32_t lock, const struct hd_lock_sections *own,
                       uint32_t last) {
    const struct hd_engine_base *base = ucg->edges->base;
    for (uint32_t u = base->use_first[lock]; u < base->use_first[lock + 1]; u++) {
        const struct hd_lock_sections *use = &base->use[u];
        if (use == own) continue;
        for (uint32_t i = 0; i < use->count; i++) {
            uint32_t other = base->use_section[use->first + i];
            if (ucg->edges->acquire[other] >= ucg->cut[use->thread]) break;
            if (!conflict(ucg, other, last)) continue;
            if (!put_before(ucg, other, last)) return false;
        }
    }
    return true;
}

static bool pass(struct ucg *ucg) {
    const struct edges *edges = ucg->edges;
    const struct hd_engine_base *base = edges->base;
    for (uint32_t l = 0; l < edges->model->locks; l++) {
        uint32_t first = base->use_first[l], end = base->use_first[l + 1];
        if (end - first < 2) continue;
        for (uint32_t u = first; u < end; u++) {
            const struct hd_lock_sections *use = &base->use[u];
            if (use->count == 0 ||
                edges->acquire[base->use_section[use->first]] >= ucg->cut[use->thread])
                continue;
            for (uint32_t i = 0; i < use->count; i++) {
                uint32_t section = base->use_section[use->first + i];
                if (edges->acquire[section] >= ucg->cut[use->thread]) break;
                bool stays = ucg->stopped[use->thread]
                                 ? edges->release[section] >= ucg->limit[use->thread]
                                 : edges->release[section] == HD_NONE;
                if (!stays) continue;
                if (!order_last(ucg, l, use, section)) return false;
            }
            for (uint32_t v = first; v < end; v++) {
                if (v == u) continue;
                if (!resolve(ucg, use, &base->use[v])) return false;
            }
        }
    }
    return true;
}

/* ---- cycles -----------------------------------------------------------------------------------
 */

/* How far a thread can go before the first edge of a front whose source has not run. */
static uint32_t bound(const struct ucg *ucg, const struct front *front) {
    uint32_t i = find_arrow(front, ucg->progress[front->source]);
    return i < front->arrow.size ? front->arrow.data[i].to : HD_NONE;
}

/* Runs the threads as far as the edges let them; a cycle stops some of them early. */
static bool has_cycle(struct ucg *ucg) {
    uint32_t threads = ucg->edges->model->threads;
    memset(ucg->progress, 0, threads * sizeof *ucg->progress);
    bool moved = true;
    while (moved) {
        moved = false;
        /* progress is raised to the least bound; `limit` is no longer needed and holds it */
        memcpy(ucg->limit, ucg->cut, threads * sizeof *ucg->limit);
        for (size_t i = 0; i < ucg->edges->front.size; i++) {
            const struct front *front = &ucg->edges->front.data[i];
            uint32_t most = bound(ucg, front);
            if (most < ucg->limit[front->target]) ucg->limit[front->target] = most;
        }
        for (uint32_t i = 0; i < ucg->fronts; i++) {
            const struct front *front = &ucg->front.data[i];
            uint32_t most = bound(ucg, front);
            if (most < ucg->limit[front->target]) ucg->limit[front->target] = most;
        }
        for (uint32_t t = 0; t < threads; t++) {
            if (ucg->limit[t] <= ucg->progress[t]) continue;
            ucg->progress[t] = ucg->limit[t];
            moved = true;
        }
    }
    for (uint32_t t = 0; t < threads; t++)
        if (ucg->progress[t] < ucg->cut[t]) return true;
    return false;
}

/* HD_INFEASIBLE or HD_POSSIBLE, for queries whose stops are not executed. */
static enum hd_verdict ucg_decide(struct ucg *ucg, const struct hd_query *query) {
    const struct hd_model *model = ucg->edges->model;
    uint32_t threads = model->threads;
    memset(ucg->cut, 0, threads * sizeof *ucg->cut);
    memset(ucg->limit, 0xff, threads * sizeof *ucg->limit);
    memset(ucg->stopped, 0, threads * sizeof *ucg->stopped);
    if (ucg->at.entry != NULL) {
        memset(ucg->at.entry, 0, (ucg->at.mask + (size_t)1) * sizeof *ucg->at.entry);
        ucg->at.count = 0;
    }
    ucg->fronts = 0;
    for (uint32_t i = 0; i < query->stops; i++) {
        uint32_t event = query->stop[i].event;
        ucg->limit[model->thread[event]] = hd_model_position(model, event);
        ucg->stopped[model->thread[event]] = true;
    }
    bool good = true;
    for (uint32_t i = 0; good && i < query->stops; i++) {
        uint32_t event = query->stop[i].event, thread = model->thread[event];
        good = include(ucg, thread, ucg->limit[thread]);
        const uint32_t *edge; /* what must come before the event itself */
        uint32_t edges = hd_model_edges_into(model, event, &edge);
        for (uint32_t k = 0; good && k < edges; k++) {
            uint32_t from = model->edge[edge[k]].from;
            good = include(ucg, model->thread[from], hd_model_position(model, from) + 1);
        }
    }
    ucg->changed = true;
    while (good && ucg->changed) {
        ucg->changed = false;
        good = pass(ucg);
    }
    return good && !has_cycle(ucg) ? HD_POSSIBLE : HD_INFEASIBLE;
}

/* ---- the method -------------------------------------------------------------------------------
 */

static void *prepare(const struct hd_race_task *task) { return edges_build(task->base); }
static void forget(void *edges) { edges_free(edges); }

/* Must-order; or x must be executed before y can be next. */
static bool before(const struct hd_race_task *task, const void *edges, uint32_t x, uint32_t y) {
    (void)edges;
    return hd_clocks_before(task->candidates->clocks, x, y) ||
           hd_needed_for_next(task->base, &task->base->must, x, y);
}

static void *begin(const struct hd_race_task *task, const void *edges) {
    (void)task;
    return ucg_new(edges);
}

static void end(void *own, struct hd_ask_stats *stats) {
    struct ucg *ucg = own;
    stats->checks += ucg->checks;
    ucg_free(ucg);
}

static bool decide(void *own, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                   struct hd_error *error) {
    (void)error;
    struct ucg *ucg = own;
    struct hd_stop stop[2] = {{a, false}, {b, false}};
    struct hd_query query = {.stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE};
    ucg->checks++;
    *verdict = ucg_decide(ucg, &query);
    return true;
}

static const struct hd_race_method race = {.needs_engine = true,
                                           .prepare = prepare,
                                           .forget = forget,
                                           .before = before,
                                           .begin = begin,
                                           .end = end,
                                           .decide = decide};
const struct hd_method hd_method_ucg = {.name = "ucg", .race = &race};
