/* Brute force: is there a correct reordering that ends as a query says? All interleavings of all
 * prefixes are tried, each state (which events are executed, and the last write of each location
 * that a read looks at) once. For traces of up to some twenty events. */
#ifndef HEDDLE_TESTS_ORACLE_REORDER_SEARCH_H
#define HEDDLE_TESTS_ORACLE_REORDER_SEARCH_H

#include "oracle/reorder_facts.h"

struct search_state {
    uint64_t done;
    uint8_t last[SMALL_LOCATIONS]; /* event + 1, 0 initial; 0 for locations that do not matter */
};

struct search {
    const struct small *small;
    enum hd_reading reading;
    const struct hd_query *query;
    uint64_t allowed, wanted; /* events that may, and must, be executed in the end */
    uint64_t exempt;
    uint64_t watched; /* locations whose last write matters */
    uint64_t states;
    uint32_t path[SMALL_EVENTS], length;
    /* states that lead nowhere, or are being tried: an open table */
    struct search_state *table;
    uint8_t *used;
    size_t size, count;
};

static inline uint64_t search_hash(const struct search_state *state, uint32_t locations) {
    uint64_t h = state->done * 0x9e3779b97f4a7c15ull;
    for (uint32_t l = 0; l < locations; l += 8) {
        uint64_t word;
        memcpy(&word, state->last + l, 8);
        h = (h ^ h >> 29 ^ word) * 0xbf58476d1ce4e5b9ull;
    }
    return h ^ h >> 32;
}

/* True if the state is new. */
static inline bool search_enter(struct search *search, const struct search_state *state) {
    if (2 * search->count >= search->size) {
        struct search old = *search;
        search->size = old.size == 0 ? 256 : 2 * old.size;
        search->table = malloc(search->size * sizeof *search->table);
        search->used = calloc(search->size, 1);
        search->count = 0;
        if (search->table == NULL || search->used == NULL) abort();
        for (size_t i = 0; i < old.size; i++)
            if (old.used[i]) search_enter(search, &old.table[i]);
        free(old.table);
        free(old.used);
    }
    size_t mask = search->size - 1, at = search_hash(state, search->small->locations) & mask;
    for (; search->used[at]; at = (at + 1) & mask)
        if (memcmp(&search->table[at], state, sizeof *state) == 0) return false;
    search->table[at] = *state;
    search->used[at] = 1;
    search->count++;
    return true;
}

static inline bool search_reads_well(const struct search *search, const struct search_state *state,
                                     uint32_t e) {
    const struct small_event *event = &search->small->event[e];
    if (search->reading == HD_CSR || (search->exempt & SMALL_BIT(e)) != 0) return true;
    for (uint32_t l = 0; l < search->small->locations; l++) {
        if ((event->touches >> l & 1) == 0 || state->last[l] == event->seen[l]) continue;
        if (search->reading == HD_UA && event->seen[l] == 0) continue;
        return false;
    }
    return true;
}

static inline bool search_demand_met(const struct search *search, const struct search_state *state,
                                     uint32_t reader) {
    uint32_t writer = search->query->writer;
    uint64_t common = search->small->event[reader].touches;
    if (writer != HD_NONE) common &= search->small->event[writer].touches;
    for (uint32_t l = 0; l < search->small->locations; l++)
        if ((common >> l & 1) != 0 && state->last[l] != (writer == HD_NONE ? 0 : writer + 1))
            return false;
    return common != 0;
}

static inline bool search_can_run(const struct search *search, const struct search_state *state,
                                  uint32_t e) {
    const struct small *small = search->small;
    const struct small_event *event = &small->event[e];
    uint64_t done = state->done;
    if ((event->before & ~done) != 0) return false;
    for (uint32_t i = 0; i < event->rivals; i++) {
        bool taken = (done & SMALL_BIT(event->acquire_of[i])) != 0;
        uint32_t release = event->release_of[i];
        if (taken && (release == HD_NONE || (done & SMALL_BIT(release)) == 0)) return false;
    }
    if (event->inside != HD_NONE) {
        const struct hd_section *section = &small->model->section[event->inside];
        if ((done & SMALL_BIT(section->acquire)) == 0) return false;
        if (section->release != HD_NONE && (done & SMALL_BIT(section->release)) != 0) return false;
    }
    for (uint32_t i = 0; i < search->query->orders; i++)
        if (search->query->order[i].after == e &&
            (done & SMALL_BIT(search->query->order[i].before)) == 0)
            return false;
    if (e == search->query->reader && !search_demand_met(search, state, e)) return false;
    return !event->reads || search_reads_well(search, state, e);
}

/* UA: what reads that are not executed are still to see has not been written over. */
static inline bool search_future_intact(const struct search *search,
                                        const struct search_state *state) {
    for (uint32_t e = 0; e < search->small->events; e++) {
        const struct small_event *event = &search->small->event[e];
        if (!event->reads || (state->done & SMALL_BIT(e)) != 0) continue;
        for (uint32_t l = 0; l < search->small->locations; l++) {
            if ((event->touches >> l & 1) == 0 || event->seen[l] == 0) continue;
            if ((state->done & SMALL_BIT(event->seen[l] - 1)) != 0 &&
                state->last[l] != event->seen[l])
                return false;
        }
    }
    return true;
}

static inline bool search_from(struct search *search, const struct search_state *state) {
    const struct small *small = search->small;
    search->states++;
    if ((search->wanted & ~state->done) == 0 &&
        (search->reading != HD_UA || search_future_intact(search, state)))
        return true;
    for (uint32_t t = 0; t < small->threads; t++) {
        uint64_t left = small->of_thread[t] & ~state->done;
        if (left == 0) continue;
        uint32_t e = (uint32_t)__builtin_ctzll(left);
        if ((search->allowed & SMALL_BIT(e)) == 0 || !search_can_run(search, state, e)) continue;
        struct search_state next = *state;
        next.done |= SMALL_BIT(e);
        if (small->event[e].writes)
            for (uint32_t l = 0; l < small->locations; l++)
                if ((small->event[e].touches & search->watched) >> l & 1)
                    next.last[l] = (uint8_t)(e + 1);
        if (!search_enter(search, &next)) continue;
        search->path[search->length++] = e;
        if (search_from(search, &next)) return true;
        search->length--;
    }
    return false;
}

/* What a query allows and wants. */
static inline struct search search_start(const struct small *small, enum hd_reading reading,
                                         const struct hd_query *query) {
    struct search search = {.small = small, .reading = reading, .query = query};
    const struct hd_model *model = small->model;
    search.allowed = ~(uint64_t)0;
    for (uint32_t i = 0; i < query->stops; i++) {
        uint32_t e = query->stop[i].event;
        uint64_t up_to = small->of_thread[model->thread[e]] & (SMALL_BIT(e) - 1);
        if (query->stop[i].executed) {
            up_to |= SMALL_BIT(e);
            if (reading != HD_UA) search.exempt |= SMALL_BIT(e);
        }
        for (uint32_t r = 0; reading == HD_CDSR && query->branches != NULL && r < e; r++)
            if (model->thread[r] == model->thread[e] && query->branches[r] == query->branches[e])
                search.exempt |= SMALL_BIT(r);
        search.allowed &= ~small->of_thread[model->thread[e]] | up_to;
        search.wanted |= up_to | small->event[e].before;
    }
    for (uint32_t i = 0; i < query->orders; i++)
        search.wanted |= SMALL_BIT(query->order[i].before) | SMALL_BIT(query->order[i].after);
    if (query->reader != HD_NONE) search.wanted |= SMALL_BIT(query->reader);
    for (uint32_t e = 0; e < small->events; e++)
        if (small->event[e].reads && (reading != HD_CSR || e == query->reader))
            search.watched |= small->event[e].touches;
    return search;
}

/* Decides; if feasible, the path is in the search, without the stops that are next. */
static inline bool search_run(struct search *search) {
    bool found = false;
    if ((search->wanted & ~search->allowed) == 0) {
        struct search_state start = {0};
        found = search_from(search, &start);
    }
    free(search->table);
    free(search->used);
    return found;
}

/* The path of a feasible one is in `witness`, if not NULL. */
static inline bool search_decide(const struct small *small, enum hd_reading reading,
                                 const struct hd_query *query, uint32_t *witness,
                                 uint32_t *length) {
    struct search search = search_start(small, reading, query);
    bool found = search_run(&search);
    if (found && witness != NULL) {
        memcpy(witness, search.path, search.length * sizeof *witness);
        *length = search.length;
    }
    return found;
}

#endif
