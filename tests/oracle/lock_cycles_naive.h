/* Deadlocks by definition (DESIGN section 5): every tuple of waits of different threads, each for
 * something that the next one has, that brute force can bring together. A thread waits at an
 * acquire, or at the end of a wait for others' progress. */
#ifndef HEDDLE_TESTS_ORACLE_LOCK_CYCLES_NAIVE_H
#define HEDDLE_TESTS_ORACLE_LOCK_CYCLES_NAIVE_H

#include "oracle/kind_oracle.h"

enum { CYCLE_LENGTH = 4, CYCLE_ROOM = 4096 };

struct naive_wait {
    uint32_t event, behind; /* behind HD_NONE: an acquire */
    uint32_t lock;          /* of an acquire */
    bool reading;
    uint64_t held[2]; /* locks held for writing, for reading */
};

struct naive_cycle {
    uint32_t length;
    uint32_t wait[CYCLE_LENGTH]; /* indices; the least first */
};

struct naive_deadlocks {
    const struct hd_model *model;
    const struct small *small;
    enum hd_reading reading;
    const uint32_t *branches; /* NULL: every read keeps its write */
    uint64_t must[SMALL_EVENTS];
    struct naive_wait wait[3 * SMALL_EVENTS];
    uint32_t waits;
    struct naive_cycle cycle[CYCLE_ROOM]; /* feasible ones */
    uint32_t cycles;
    unsigned long asked;
};

static inline void naive_add_wait(struct naive_deadlocks *n, struct naive_wait wait) {
    const struct hd_model *m = n->model;
    for (uint32_t s = 0; s < m->sections; s++) {
        const struct hd_section *section = &m->section[s];
        if (section->thread == m->thread[wait.event] && section->acquire < wait.event &&
            (section->release == HD_NONE || section->release >= wait.event))
            wait.held[section->read_mode] |= SMALL_BIT(section->lock);
    }
    n->wait[n->waits++] = wait;
}

static inline void naive_waits(struct naive_deadlocks *n) {
    const struct hd_model *m = n->model;
    for (uint32_t s = 0; s < m->sections; s++)
        naive_add_wait(n, (struct naive_wait){.event = m->section[s].acquire,
                                              .behind = HD_NONE,
                                              .lock = m->section[s].lock,
                                              .reading = m->section[s].read_mode});
    for (uint32_t e = 0; e < m->events; e++) {
        bool progress = false;
        for (uint32_t i = 0; i < m->edges; i++) {
            uint8_t type = m->edge[i].type;
            progress |= m->edge[i].to == e && (type == HD_EDGE_JOIN || type == HD_EDGE_SIGNAL ||
                                               type == HD_EDGE_BARRIER || type == HD_EDGE_POST);
        }
        if (progress && kind_behind(m, e) != HD_NONE)
            naive_add_wait(n, (struct naive_wait){.event = e, .behind = kind_behind(m, e)});
    }
}

/* Only those who need `giver` first can end the wait. Signals of the giver's thread that come
 * before must come before the wait. */
static inline bool naive_only_way(const struct naive_deadlocks *n, const struct naive_wait *wait,
                                  uint32_t giver, struct hd_precedes *order, uint32_t *orders) {
    const struct hd_model *m = n->model;
    uint8_t kind = m->kind[wait->event];
    bool initialised = false;
    uint64_t tokens = 0;
    if (kind != HD_EV_WAIT && kind != HD_EV_SEM_WAIT) return true;
    for (uint32_t e = 0; e < m->events; e++) {
        if (m->object[e] != m->object[wait->event]) continue;
        bool later = (n->must[e] >> giver & 1) != 0;
        switch (m->kind[e]) {
        case HD_EV_SEM_INIT:
            if (kind == HD_EV_SEM_WAIT && e < wait->event) {
                initialised = true;
                tokens = hd_trace_extra(m->trace, e, 0);
            }
            break;
        case HD_EV_SEM_WAIT:
            if (kind == HD_EV_SEM_WAIT && e < wait->event && tokens > 0 &&
                (n->must[wait->event] >> e & 1) != 0)
                tokens--;
            break;
        case HD_EV_POST:
            if (kind == HD_EV_SEM_WAIT && !later) return false;
            break;
        case HD_EV_SIGNAL:
        case HD_EV_BROADCAST:
            if (kind != HD_EV_WAIT || later || (n->must[wait->behind] >> e & 1) != 0) break;
            if (e == wait->behind || m->thread[e] == m->thread[wait->event]) break;
            if (m->thread[e] != m->thread[giver] || *orders == SMALL_EVENTS) return false;
            order[(*orders)++] = (struct hd_precedes){e, wait->behind};
            break;
        default:
            break;
        }
    }
    return kind == HD_EV_WAIT || (initialised && tokens == 0);
}

static inline bool naive_has(const struct naive_deadlocks *n, const struct naive_wait *one,
                             const struct naive_wait *next) {
    if (one->behind == HD_NONE)
        return ((next->held[0] | (one->reading ? 0 : next->held[1])) >> one->lock & 1) != 0;
    if (next->behind != HD_NONE) return false; /* two waits: a shorter cycle has only one */
    return (n->must[one->event] >> next->event & 1) != 0 &&
           (n->must[one->behind] >> next->event & 1) == 0;
}

/* What a wait is for, so that no cycle has it twice. */
static inline uint32_t naive_resource(const struct naive_wait *wait) {
    return wait->behind == HD_NONE ? wait->lock : SMALL_EVENTS + wait->event;
}

static inline bool naive_feasible(struct naive_deadlocks *n, const struct naive_cycle *cycle) {
    struct hd_stop stop[CYCLE_LENGTH];
    struct hd_precedes order[2 * SMALL_EVENTS];
    uint32_t stops = 0, orders = 0;
    for (uint32_t i = 0; i < cycle->length; i++) {
        const struct naive_wait *one = &n->wait[cycle->wait[i]];
        const struct naive_wait *next = &n->wait[cycle->wait[(i + 1) % cycle->length]];
        if (one->behind == HD_NONE) {
            stop[stops++] = (struct hd_stop){one->event, false};
            continue;
        }
        if (!naive_only_way(n, one, next->event, order, &orders)) return false;
        /* It has executed what is before the wait, and its reads keep their writes. */
        uint32_t earlier = kind_behind(n->model, one->behind);
        bool kept = hd_model_is_read(n->model, one->behind) ||
                    (n->branches != NULL && n->branches[one->behind] != n->branches[one->event]);
        if (kept && earlier == HD_NONE) return false;
        if (kept)
            order[orders++] = (struct hd_precedes){earlier, one->behind};
        else
            stop[stops++] = (struct hd_stop){one->behind, true};
    }
    struct hd_query query = {stop, stops, order, orders, HD_NONE, HD_NONE, n->branches};
    n->asked++;
    return search_decide(n->small, n->reading, &query, NULL, NULL);
}

static inline bool naive_elementary(const struct naive_deadlocks *n,
                                    const struct naive_cycle *cycle) {
    if (cycle->length == 2 && n->wait[cycle->wait[0]].behind == HD_NONE &&
        n->wait[cycle->wait[1]].behind == HD_NONE)
        return true;
    for (uint32_t i = 0; i < cycle->length; i++)
        for (uint32_t k = 0; k < i; k++)
            if (naive_resource(&n->wait[cycle->wait[i]]) ==
                naive_resource(&n->wait[cycle->wait[k]]))
                return false;
    return true;
}

static inline void naive_extend(struct naive_deadlocks *n, struct naive_cycle *cycle,
                                void (*each)(struct naive_deadlocks *,
                                             const struct naive_cycle *)) {
    const struct naive_wait *last = &n->wait[cycle->wait[cycle->length - 1]];
    if (cycle->length > 1 && naive_has(n, last, &n->wait[cycle->wait[0]])) each(n, cycle);
    if (cycle->length == CYCLE_LENGTH) return;
    for (uint32_t i = cycle->wait[0] + 1; i < n->waits; i++) {
        bool fresh = true;
        for (uint32_t k = 0; k < cycle->length; k++)
            fresh &= n->model->thread[n->wait[cycle->wait[k]].event] !=
                     n->model->thread[n->wait[i].event];
        if (!fresh || !naive_has(n, last, &n->wait[i])) continue;
        cycle->wait[cycle->length++] = i;
        naive_extend(n, cycle, each);
        cycle->length--;
    }
}

static inline void naive_try(struct naive_deadlocks *n, const struct naive_cycle *cycle) {
    if (!naive_elementary(n, cycle) || !naive_feasible(n, cycle)) return;
    if (n->cycles == CYCLE_ROOM) abort();
    n->cycle[n->cycles++] = *cycle;
}

/* A cycle that has something twice contains a shorter one that is there too. */
static inline bool naive_contains(const struct naive_cycle *longer,
                                  const struct naive_cycle *shorter) {
    for (uint32_t i = 0; i < shorter->length; i++) {
        uint32_t k = 0;
        while (k < longer->length && longer->wait[k] != shorter->wait[i]) k++;
        if (k == longer->length) return false;
    }
    return true;
}

static inline void naive_try_other(struct naive_deadlocks *n, const struct naive_cycle *cycle) {
    if (naive_elementary(n, cycle) || !naive_feasible(n, cycle)) return;
    for (uint32_t i = 0; i < n->cycles; i++)
        if (naive_contains(cycle, &n->cycle[i])) return;
    fail_msg("a cycle without an elementary one in it");
}

static inline void naive_deadlocks(struct naive_deadlocks *n, const struct small *small,
                                   enum hd_reading reading, const uint32_t *branches) {
    n->model = small->model;
    n->small = small;
    n->reading = reading;
    n->branches = branches;
    n->waits = n->cycles = 0;
    kind_must(small->model, n->must);
    naive_waits(n);
    for (int other = 0; other < 2; other++)
        for (uint32_t i = 0; i < n->waits; i++) {
            struct naive_cycle cycle = {1, {i}};
            naive_extend(n, &cycle, other ? naive_try_other : naive_try);
        }
}

#endif
