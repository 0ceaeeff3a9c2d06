/* Rule 1 to its fixed point: see ucg.h. Between two threads only the edges matter that no other
 * edge implies by program order: those with no edge that starts later and ends earlier. They are
 * kept sorted ("front"), so that "is there an edge from at or after s, and to where first?" is one
 * binary search. Positions count events of a thread. */
#include "predict/ucg.h"

#include "base/map.h"
#include "base/vector.h"
#include "engine/ground.h"

#include <stdlib.h>
#include <string.h>

struct arrow {
    uint32_t from, to; /* positions; ascending in both along a front */
};

struct front {
    uint32_t source, target; /* threads */
    HD_VECTOR(struct arrow) arrow;
};

struct hd_ucg_base {
    const struct hd_ground *ground;
    const struct hd_model *model;
    struct hd_map at;              /* source << 16 | target -> front */
    HD_VECTOR(struct front) front; /* of must-order */
    uint32_t *acquire, *release;   /* per section: positions; HD_NONE if never released */
};

struct hd_ucg {
    const struct hd_ucg_base *base;
    uint32_t *cut, *limit; /* per thread: events in, and at most */
    bool *stopped;         /* per thread: stands at `limit` */
    uint32_t *progress;
    struct hd_map at;
    HD_VECTOR(struct front) front; /* of the edges that were added */
    uint32_t fronts;               /* in use; the others keep their memory */
    bool changed;
};

/* ---- fronts -----------------------------------------------------------------------------------
 */

/* The first arrow from at or after a position. */
static uint32_t find_arrow(const struct front *front, uint32_t from) {
    uint32_t low = 0, high = (uint32_t)front->arrow.size;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (front->arrow.data[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds an arrow unless one implies it; 1 if it is new, 0 if not, -1 when memory is out. */
static int add_arrow(struct front *front, uint32_t from, uint32_t to) {
    uint32_t at = find_arrow(front, from), drop = at;
    if (at < front->arrow.size && front->arrow.data[at].to <= to) return 0;
    while (drop > 0 && front->arrow.data[drop - 1].to >= to) drop--;
    if (at < front->arrow.size && front->arrow.data[at].from == from) at++; /* its end is later */
    size_t after = front->arrow.size - at;
    if (!hd_vector_reserve(&front->arrow, 1)) return -1;
    memmove(front->arrow.data + drop + 1, front->arrow.data + at, after * sizeof(struct arrow));
    front->arrow.data[drop] = (struct arrow){from, to};
    front->arrow.size = drop + 1 + after;
    return 1;
}

static uint64_t front_key(uint32_t source, uint32_t target) {
    return (uint64_t)source << 16 | target;
}

/* ---- what is computed once --------------------------------------------------------------------
 */

static bool add_edge(struct hd_ucg_base *base, uint32_t from, uint32_t to) {
    const struct hd_model *model = base->model;
    uint32_t source = model->thread[from], target = model->thread[to];
    uint32_t fresh = (uint32_t)base->front.size;
    uint32_t *slot = hd_map_slot(&base->at, front_key(source, target), fresh);
    if (slot == NULL) return false;
    if (*slot == fresh) {
        struct front front = {.source = source, .target = target};
        if (!hd_vector_push(&base->front, front)) return false;
    }
    return add_arrow(&base->front.data[*slot], hd_model_position(model, from),
                     hd_model_position(model, to)) >= 0;
}

/* Must-order, and the sections that made tries fail. */
static bool add_edges(struct hd_ucg_base *base) {
    const struct hd_model *model = base->model;
    for (uint32_t i = 0; i < model->edges; i++)
        if (!add_edge(base, model->edge[i].from, model->edge[i].to)) return false;
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t section = HD_NONE;
        if (model->kind[e] == HD_EV_TRY_FAILED) section = hd_model_failed_by(model, e);
        if (section != HD_NONE && !add_edge(base, model->section[section].acquire, e)) return false;
    }
    return true;
}

struct hd_ucg_base *hd_ucg_base_build(const struct hd_ground *ground) {
    struct hd_ucg_base *base = calloc(1, sizeof *base);
    if (base == NULL) return NULL;
    const struct hd_model *model = base->model = ground->model;
    base->ground = ground;
    base->acquire = malloc((model->sections + (size_t)1) * sizeof *base->acquire);
    base->release = malloc((model->sections + (size_t)1) * sizeof *base->release);
    if (base->acquire == NULL || base->release == NULL || !add_edges(base)) {
        hd_ucg_base_free(base);
        return NULL;
    }
    for (uint32_t i = 0; i < model->sections; i++) {
        const struct hd_section *section = &model->section[i];
        base->acquire[i] = hd_model_position(model, section->acquire);
        base->release[i] =
            section->release == HD_NONE ? HD_NONE : hd_model_position(model, section->release);
    }
    return base;
}

void hd_ucg_base_free(struct hd_ucg_base *base) {
    if (base == NULL) return;
    for (size_t i = 0; i < base->front.size; i++) hd_vector_free(&base->front.data[i].arrow);
    hd_vector_free(&base->front);
    hd_map_free(&base->at);
    free(base->acquire);
    free(base->release);
    free(base);
}

struct hd_ucg *hd_ucg_new(const struct hd_ucg_base *base) {
    struct hd_ucg *ucg = calloc(1, sizeof *ucg);
    if (ucg == NULL) return NULL;
    size_t threads = base->model->threads + (size_t)1;
    ucg->base = base;
    ucg->cut = malloc(threads * sizeof *ucg->cut);
    ucg->limit = malloc(threads * sizeof *ucg->limit);
    ucg->progress = malloc(threads * sizeof *ucg->progress);
    ucg->stopped = malloc(threads * sizeof *ucg->stopped);
    if (ucg->cut && ucg->limit && ucg->progress && ucg->stopped) return ucg;
    hd_ucg_free(ucg);
    return NULL;
}

void hd_ucg_free(struct hd_ucg *ucg) {
    if (ucg == NULL) return;
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

enum step { FINE, CYCLE, NO_MEMORY };

/* Slicing (section 3.2): what is needed to get there. Needing an event that must not have happened
 * yet closes a cycle with the error condition. */
static enum step include(struct hd_ucg *ucg, uint32_t thread, uint32_t events) {
    if (events <= ucg->cut[thread]) return FINE;
    if (events > ucg->limit[thread]) return CYCLE;
    ucg->cut[thread] = events;
    ucg->changed = true;
    const uint32_t *clock = hd_reach_clock(&ucg->base->ground->must, thread, events - 1);
    if (clock == NULL) return FINE;
    for (uint32_t t = 0; t < ucg->base->model->threads; t++) {
        if (t == thread || clock[t] <= ucg->cut[t]) continue;
        if (clock[t] > ucg->limit[t]) return CYCLE;
        ucg->cut[t] = clock[t]; /* clocks are closed: its own needs are in this clock too */
    }
    return FINE;
}

static enum step add_order(struct hd_ucg *ucg, uint32_t source, uint32_t from, uint32_t target,
                           uint32_t to) {
    uint32_t *slot = hd_map_slot(&ucg->at, front_key(source, target), ucg->fronts);
    if (slot == NULL) return NO_MEMORY;
    if (*slot == ucg->fronts) {
        if (ucg->fronts == ucg->front.size) {
            struct front empty = {.source = source, .target = target};
            if (!hd_vector_push(&ucg->front, empty)) return NO_MEMORY;
        }
        struct front *front = &ucg->front.data[ucg->fronts++];
        front->source = source;
        front->target = target;
        front->arrow.size = 0;
    }
    int added = add_arrow(&ucg->front.data[*slot], from, to);
    if (added < 0) return NO_MEMORY;
    if (added > 0) ucg->changed = true;
    return include(ucg, source, from + 1);
}

/* Section a has to end before section b begins. */
static enum step put_before(struct hd_ucg *ucg, uint32_t a, uint32_t b) {
    const struct hd_ucg_base *base = ucg->base;
    const struct hd_section *section = base->model->section;
    if (base->release[a] == HD_NONE) return CYCLE;
    return add_order(ucg, section[a].thread, base->release[a], section[b].thread, base->acquire[b]);
}

static bool conflict(const struct hd_ucg *ucg, uint32_t a, uint32_t b) {
    const struct hd_section *section = ucg->base->model->section;
    return !(section[a].read_mode && section[b].read_mode);
}

/* Where an edge from at or after a position of one thread leads first in another. */
static uint32_t first_target(const struct hd_ucg *ucg, uint32_t source, uint32_t target,
                             uint32_t from) {
    const struct hd_ucg_base *base = ucg->base;
    uint64_t key = front_key(source, target);
    uint32_t least = HD_NONE, at = hd_map_get(&base->at, key, HD_NONE);
    if (at != HD_NONE) {
        const struct front *front = &base->front.data[at];
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
static enum step resolve(struct hd_ucg *ucg, const struct hd_lock_use *a,
                         const struct hd_lock_use *b) {
    const struct hd_ucg_base *base = ucg->base;
    const uint32_t *list = base->ground->use_section;
    uint32_t k = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t first = list[a->first + i];
        if (base->acquire[first] >= ucg->cut[a->thread]) break;
        uint32_t target = first_target(ucg, a->thread, b->thread, base->acquire[first]);
        if (target == HD_NONE) break;
        while (k < b->count && base->release[list[b->first + k]] < target) k++;
        uint32_t second = k;
        while (second < b->count && !conflict(ucg, first, list[b->first + second])) second++;
        if (second == b->count) continue;
        if (base->acquire[list[b->first + second]] >= ucg->cut[b->thread]) continue;
        enum step step = put_before(ucg, first, list[b->first + second]);
        if (step != FINE) return step;
    }
    return FINE;
}

/* Sections that never end, or in which a thread stands at the end, come last: all others of the
 * lock end before. */
static enum step order_last(struct hd_ucg *ucg, uint32_t lock, const struct hd_lock_use *own,
                            uint32_t last) {
    const struct hd_ground *ground = ucg->base->ground;
    for (uint32_t u = ground->use_first[lock]; u < ground->use_first[lock + 1]; u++) {
        const struct hd_lock_use *use = &ground->use[u];
        if (use == own) continue;
        for (uint32_t i = 0; i < use->count; i++) {
            uint32_t other = ground->use_section[use->first + i];
            if (ucg->base->acquire[other] >= ucg->cut[use->thread]) break;
            if (!conflict(ucg, other, last)) continue;
            enum step step = put_before(ucg, other, last);
            if (step != FINE) return step;
        }
    }
    return FINE;
}

static enum step pass(struct hd_ucg *ucg) {
    const struct hd_ucg_base *base = ucg->base;
    const struct hd_ground *ground = base->ground;
    for (uint32_t l = 0; l < base->model->locks; l++) {
        uint32_t first = ground->use_first[l], end = ground->use_first[l + 1];
        if (end - first < 2) continue;
        for (uint32_t u = first; u < end; u++) {
            const struct hd_lock_use *use = &ground->use[u];
            if (use->count == 0 ||
                base->acquire[ground->use_section[use->first]] >= ucg->cut[use->thread])
                continue;
            for (uint32_t i = 0; i < use->count; i++) {
                uint32_t section = ground->use_section[use->first + i];
                if (base->acquire[section] >= ucg->cut[use->thread]) break;
                bool stays = ucg->stopped[use->thread]
                                 ? base->release[section] >= ucg->limit[use->thread]
                                 : base->release[section] == HD_NONE;
                if (!stays) continue;
                enum step step = order_last(ucg, l, use, section);
                if (step != FINE) return step;
            }
            for (uint32_t v = first; v < end; v++) {
                if (v == u) continue;
                enum step step = resolve(ucg, use, &ground->use[v]);
                if (step != FINE) return step;
            }
        }
    }
    return FINE;
}

/* ---- cycles -----------------------------------------------------------------------------------
 */

/* How far a thread can go before the first edge of a front whose source has not run. */
static uint32_t bound(const struct hd_ucg *ucg, const struct front *front) {
    uint32_t i = find_arrow(front, ucg->progress[front->source]);
    return i < front->arrow.size ? front->arrow.data[i].to : HD_NONE;
}

/* Runs the threads as far as the edges let them; a cycle stops some of them early. */
static bool has_cycle(struct hd_ucg *ucg) {
    uint32_t threads = ucg->base->model->threads;
    memset(ucg->progress, 0, threads * sizeof *ucg->progress);
    bool moved = true;
    while (moved) {
        moved = false;
        /* progress is raised to the least bound; `limit` is no longer needed and holds it */
        memcpy(ucg->limit, ucg->cut, threads * sizeof *ucg->limit);
        for (size_t i = 0; i < ucg->base->front.size; i++) {
            const struct front *front = &ucg->base->front.data[i];
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

enum hd_verdict hd_ucg_decide(struct hd_ucg *ucg, const struct hd_query *query) {
    const struct hd_model *model = ucg->base->model;
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
    enum step step = FINE;
    for (uint32_t i = 0; step == FINE && i < query->stops; i++) {
        uint32_t event = query->stop[i].event, thread = model->thread[event];
        step = include(ucg, thread, ucg->limit[thread]);
        const uint32_t *edge; /* what must come before the event itself */
        uint32_t edges = hd_model_edges_into(model, event, &edge);
        for (uint32_t k = 0; step == FINE && k < edges; k++) {
            uint32_t from = model->edge[edge[k]].from;
            step = include(ucg, model->thread[from], hd_model_position(model, from) + 1);
        }
    }
    ucg->changed = true;
    while (step == FINE && ucg->changed) {
        ucg->changed = false;
        step = pass(ucg);
    }
    if (step == NO_MEMORY) return HD_UNDECIDED;
    return step == CYCLE || has_cycle(ucg) ? HD_INFEASIBLE : HD_POSSIBLE;
}
