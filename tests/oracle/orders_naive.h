/* Order violations by definition: every pair of events that is one of the four kinds, decided by
 * brute force. No filter, no thought about which pair speaks for which. */
#ifndef HEDDLE_TESTS_ORACLE_ORDERS_NAIVE_H
#define HEDDLE_TESTS_ORACLE_ORDERS_NAIVE_H

#include "oracle/kind_oracle.h"
#include "predict/order_violations.h"

enum { ORDER_ROOM = 4096 };

struct naive_order {
    enum hd_order_type type;
    uint32_t first, second;
    bool partly; /* a read over several locations, of which some are initialised: may be found */
};

struct naive_orders {
    const struct hd_model *model;
    const struct small *small;
    enum hd_reading reading;
    const uint32_t *branches; /* NULL: every read keeps its write */
    uint64_t must[SMALL_EVENTS];
    struct naive_order order[ORDER_ROOM]; /* feasible ones */
    uint32_t orders;
    unsigned long asked;
};

static inline void naive_order_ask(struct naive_orders *n, enum hd_order_type type, uint32_t first,
                                   uint32_t second, struct hd_query *query) {
    n->asked++;
    query->branches = n->branches;
    for (uint32_t i = 0; i < n->orders; i++)
        if (n->order[i].type == type && n->order[i].first == first && n->order[i].second == second)
            return;
    if (!search_decide(n->small, n->reading, query, NULL, NULL)) return;
    if (n->orders == ORDER_ROOM) abort();
    n->order[n->orders++] =
        (struct naive_order){type, first, second, type == HD_ORDER_EARLY_READ && query->stops > 1};
}

static inline uint32_t naive_block(const struct hd_model *m, uint32_t location) {
    return m->location[location].block;
}

/* The block was allocated before the event, if another thread did it. */
static inline uint32_t naive_after_alloc(const struct hd_model *m, uint32_t location,
                                         uint32_t event, struct hd_precedes *order) {
    uint32_t block = naive_block(m, location);
    if (block == HD_NONE || m->thread[m->block[block].alloc] == m->thread[event]) return 0;
    *order = (struct hd_precedes){m->block[block].alloc, event};
    return 1;
}

/* Relaxed: the thread of the first event may end there, or wherever no branch has followed it; then
 * its reads are free too. `stop[query->stops]` is for it. */
static inline void naive_ends(struct naive_orders *n, enum hd_order_type type, uint32_t first,
                              uint32_t second, struct hd_stop *stop, struct hd_query query) {
    const struct hd_model *m = n->model;
    uint32_t at = query.stops++;
    for (uint32_t e = first; n->branches != NULL && e < m->events; e++) {
        if (m->thread[e] != m->thread[first]) continue;
        if (n->branches[e] != n->branches[first]) break;
        stop[at] = (struct hd_stop){e, true};
        naive_order_ask(n, type, first, second, &query);
    }
}

/* Nobody but the thread that initialises the location writes it. */
static inline bool naive_one_writer(const struct hd_model *m, uint32_t location, uint32_t write) {
    for (uint32_t e = 0; e < m->events; e++)
        if (hd_model_is_write(m, e) && small_touches(m, e, location) &&
            m->thread[e] != m->thread[write])
            return false;
    return true;
}

static inline void naive_location(struct naive_orders *n, uint32_t location) {
    const struct hd_model *m = n->model;
    uint32_t write = 0;
    while (write < m->events && !(hd_model_is_write(m, write) && small_touches(m, write, location)))
        write++;
    if (write == m->events || m->kind[write] == HD_EV_FREE) return;
    uint32_t block = naive_block(m, location);
    bool raw = block != HD_NONE && m->block[block].type == HD_BLOCK_HEAP &&
               !m->block[block].zeroed && m->thread[m->block[block].alloc] == m->thread[write];
    for (uint32_t e = 0; e < m->events; e++) {
        if (e == write || m->thread[e] == m->thread[write] || m->kind[e] == HD_EV_FREE ||
            !hd_model_is_access(m, e) || !small_touches(m, e, location) || (e < write && !raw))
            continue;
        bool freed = false; /* by its own thread: then it is a use after free, and no more */
        for (uint32_t f = 0; f < e; f++)
            freed |= m->kind[f] == HD_EV_FREE && m->thread[f] == m->thread[e] &&
                     small_touches(m, f, location);
        if (freed) continue;
        struct hd_precedes order[2];
        uint32_t orders = naive_after_alloc(m, location, e, order);
        if (hd_model_is_read(m, e)) {
            struct hd_stop stop[2] = {{e, true}, {write, false}};
            struct hd_query initial = {.stop = stop,
                                       .stops = 1,
                                       .order = order,
                                       .orders = orders,
                                       .reader = e,
                                       .writer = HD_NONE};
            struct hd_query next = {.stop = stop,
                                    .stops = 2,
                                    .order = order,
                                    .orders = orders,
                                    .reader = HD_NONE,
                                    .writer = HD_NONE};
            naive_order_ask(n, HD_ORDER_EARLY_READ, e, write, &initial);
            if (__builtin_popcountll(n->small->event[e].touches) > 1 &&
                naive_one_writer(m, location, write))
                naive_order_ask(n, HD_ORDER_EARLY_READ, e, write, &next);
        }
        if (hd_model_is_write(m, e) && e > write) {
            /* the later one anywhere, or, so that an update may read anything, the last */
            struct hd_stop stop[2] = {{write, true}, {e, true}};
            order[orders++] = (struct hd_precedes){e, write};
            struct hd_query query = {.stop = stop,
                                     .stops = 1,
                                     .order = order,
                                     .orders = orders,
                                     .reader = HD_NONE,
                                     .writer = HD_NONE};
            naive_order_ask(n, HD_ORDER_LATE_INITIALISATION, e, write, &query);
            query.stops = 2;
            naive_order_ask(n, HD_ORDER_LATE_INITIALISATION, e, write, &query);
            query.stops = 1;
            naive_ends(n, HD_ORDER_LATE_INITIALISATION, e, write, stop, query);
        }
    }
}

static inline void naive_life(struct naive_orders *n, uint32_t block) {
    const struct hd_model *m = n->model;
    uint32_t end = m->block[block].free;
    for (uint32_t e = 0; end != HD_NONE && e < m->events; e++) {
        bool inside = false;
        for (uint32_t l = m->block_start[block]; l < m->block_start[block + 1]; l++)
            inside |= hd_model_is_access(m, e) && small_touches(m, e, l);
        if (!inside || m->thread[e] == m->thread[end]) continue;
        /* the free is done, wherever its thread stands now */
        struct hd_stop stop[2] = {{e, false}, {end, true}};
        struct hd_precedes order[2];
        uint32_t orders = 0;
        if (n->branches != NULL && m->thread[m->block[block].alloc] != m->thread[end])
            order[orders++] = (struct hd_precedes){m->block[block].alloc, end};
        bool first = kind_behind(m, end) == HD_NONE;
        if (!first) order[orders] = (struct hd_precedes){kind_behind(m, end), end};
        struct hd_query query = {.stop = stop,
                                 .stops = first ? 2 : 1,
                                 .order = order,
                                 .orders = orders + !first,
                                 .reader = HD_NONE,
                                 .writer = HD_NONE};
        enum hd_order_type type =
            m->kind[e] == HD_EV_FREE ? HD_ORDER_DOUBLE_FREE : HD_ORDER_USE_AFTER_FREE;
        naive_order_ask(n, type, end, e, &query);
        query.stops = 1;
        query.orders = orders;
        naive_ends(n, type, end, e, stop, query);
    }
}

/* Is there a time-out on the condition at the place of a wait? Places of these traces have no
 * names. */
static inline bool naive_times_out(const struct hd_model *m, uint32_t wait) {
    for (uint32_t e = 0; e < m->events; e++)
        if (m->kind[e] == HD_EV_WAIT_TIMEOUT && m->object[e] == m->object[wait] &&
            m->site[e] == m->site[wait])
            return true;
    return false;
}

static inline void naive_wake(struct naive_orders *n, const struct hd_edge *edge) {
    const struct hd_model *m = n->model;
    uint32_t wait = edge->to, begins = kind_behind(m, wait);
    if (begins == HD_NONE || naive_times_out(m, wait)) return;
    if (m->kind[begins] != HD_EV_RELEASE && m->kind[begins] != HD_EV_READ_RELEASE) return;
    struct hd_stop stop[16] = {{begins, false}};
    struct hd_precedes order[SMALL_EVENTS];
    uint32_t stops = 1, orders = 0;
    for (uint32_t e = 0; e < m->events; e++) {
        if (m->kind[e] != HD_EV_SIGNAL && m->kind[e] != HD_EV_BROADCAST) continue;
        if (m->object[e] != m->object[wait] || m->thread[e] == m->thread[wait] ||
            (n->must[e] >> wait & 1) != 0)
            continue;
        /* executed, every one */
        if (kind_behind(m, e) != HD_NONE)
            order[orders++] = (struct hd_precedes){kind_behind(m, e), e};
        else {
            bool only = true; /* of its thread */
            for (uint32_t later = e + 1; later < m->events; later++)
                only &= !((m->kind[later] == HD_EV_SIGNAL || m->kind[later] == HD_EV_BROADCAST) &&
                          m->thread[later] == m->thread[e] && m->object[later] == m->object[e] &&
                          (n->must[later] >> wait & 1) == 0);
            if (only) stop[stops++] = (struct hd_stop){e, true};
        }
    }
    struct hd_query query = {.stop = stop,
                             .stops = stops,
                             .order = order,
                             .orders = orders,
                             .reader = HD_NONE,
                             .writer = HD_NONE};
    naive_order_ask(n, HD_ORDER_MISSED_SIGNAL, edge->from, wait, &query);
}

/* How often a thread holds a lock, in a mode, before an event: by counting. */
static inline int naive_holds(const struct hd_model *m, uint32_t thread, uint32_t lock,
                              bool reading, uint32_t before) {
    enum hd_event_kind takes = reading ? HD_EV_READ_ACQUIRE : HD_EV_ACQUIRE;
    enum hd_event_kind gives = reading ? HD_EV_READ_RELEASE : HD_EV_RELEASE;
    int count = 0;
    for (uint32_t e = 0; e < before; e++) {
        if (m->thread[e] != thread || m->object[e] != lock) continue;
        count += m->kind[e] == takes;
        count -= m->kind[e] == gives && count > 0;
    }
    return count;
}

/* A thread has ended with a lock; another is about to take it. */
static inline void naive_unreleased(struct naive_orders *n, uint32_t end) {
    const struct hd_model *m = n->model;
    for (uint32_t e = 0; e < m->events; e++) {
        bool reads = m->kind[e] == HD_EV_READ_ACQUIRE;
        if ((m->kind[e] != HD_EV_ACQUIRE && !reads) || m->thread[e] == m->thread[end]) continue;
        if (naive_holds(m, m->thread[e], m->object[e], reads, e) > 0) continue;
        bool writes = naive_holds(m, m->thread[end], m->object[e], false, m->events) > 0;
        bool read = naive_holds(m, m->thread[end], m->object[e], true, m->events) > 0;
        if (!writes && (!read || reads)) continue;
        bool first = kind_behind(m, end) == HD_NONE;
        struct hd_stop stop[2] = {{e, false}, {end, true}};
        struct hd_precedes order[1];
        if (!first) order[0] = (struct hd_precedes){kind_behind(m, end), end};
        struct hd_query query = {.stop = stop,
                                 .stops = first ? 2 : 1,
                                 .order = order,
                                 .orders = !first,
                                 .reader = HD_NONE,
                                 .writer = HD_NONE};
        naive_order_ask(n, HD_ORDER_NEVER_RELEASED, end, e, &query);
    }
}

static inline void naive_orders(struct naive_orders *n, const struct small *small,
                                enum hd_reading reading, const uint32_t *branches) {
    const struct hd_model *m = n->model = small->model;
    n->small = small;
    n->reading = reading;
    n->branches = branches;
    n->orders = 0;
    kind_must(m, n->must);
    for (uint32_t l = 0; l < m->locations; l++) naive_location(n, l);
    for (uint32_t b = 0; b < m->blocks; b++) naive_life(n, b);
    for (uint32_t i = 0; i < m->edges; i++)
        if (m->edge[i].type == HD_EDGE_SIGNAL) naive_wake(n, &m->edge[i]);
    for (uint32_t e = 0; e < m->events; e++)
        if (m->kind[e] == HD_EV_END) naive_unreleased(n, e);
}

#endif
