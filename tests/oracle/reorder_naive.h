/* The definition of a correct reordering (DESIGN section 5) read aloud: given a sequence of events,
 * does each rule hold, and does it end as the query says? No state, no execution: only positions in
 * the sequence. */
#ifndef HEDDLE_TESTS_ORACLE_REORDER_NAIVE_H
#define HEDDLE_TESTS_ORACLE_REORDER_NAIVE_H

#include "oracle/reorder_facts.h"

struct sequence {
    const struct hd_model *model;
    uint32_t at[SMALL_EVENTS]; /* where each event stands, HD_NONE if it is not there */
    uint32_t length;
    uint32_t event[2 * SMALL_EVENTS];
};

static inline bool naive_in(const struct sequence *s, uint32_t event) {
    return s->at[event] != HD_NONE;
}
static inline bool naive_before(const struct sequence *s, uint32_t a, uint32_t b) {
    return naive_in(s, a) && naive_in(s, b) && s->at[a] < s->at[b];
}

/* Rule 1: prefixes in program order, no event twice. */
static inline bool naive_program_order(const struct sequence *s) {
    for (uint32_t i = 0; i < s->length; i++)
        if (s->at[s->event[i]] != i) return false;
    for (uint32_t b = 0; b < s->model->events; b++)
        for (uint32_t a = 0; a < b; a++)
            if (s->model->thread[a] == s->model->thread[b] && naive_in(s, b) &&
                !naive_before(s, a, b))
                return false;
    return true;
}

/* Rule 2. */
static inline bool naive_must_order(const struct sequence *s) {
    for (uint32_t i = 0; i < s->model->edges; i++)
        if (naive_in(s, s->model->edge[i].to) &&
            !naive_before(s, s->model->edge[i].from, s->model->edge[i].to))
            return false;
    return true;
}

/* Rule 3, and failed tries. */
static inline bool naive_locks(const struct sequence *s) {
    const struct hd_model *m = s->model;
    for (uint32_t i = 0; i < m->sections; i++)
        for (uint32_t j = 0; j < m->sections; j++) {
            const struct hd_section *a = &m->section[i], *b = &m->section[j];
            if (!small_exclude(a, b) || !naive_in(s, a->acquire) || !naive_in(s, b->acquire))
                continue;
            bool a_first = a->release != HD_NONE && naive_before(s, a->release, b->acquire);
            bool b_first = b->release != HD_NONE && naive_before(s, b->release, a->acquire);
            if (!a_first && !b_first) return false;
        }
    for (uint32_t e = 0; e < m->events; e++) {
        uint32_t by = naive_in(s, e) ? hd_model_failed_by(m, e) : HD_NONE;
        if (by == HD_NONE) continue;
        const struct hd_section *a = &m->section[by];
        if (!naive_before(s, a->acquire, e)) return false;
        if (a->release != HD_NONE && naive_before(s, a->release, e)) return false;
    }
    return true;
}

/* The last write of a location before a place of the sequence: event + 1, 0 for none. */
static inline uint32_t naive_written(const struct sequence *s, uint32_t place, uint32_t location) {
    for (uint32_t i = place; i-- > 0;)
        if (hd_model_is_write(s->model, s->event[i]) &&
            small_touches(s->model, s->event[i], location))
            return s->event[i] + 1;
    return 0;
}

/* Rule 4, of one read that is in. */
static inline bool naive_keeps(const struct sequence *s, enum hd_reading reading, uint32_t e) {
    for (uint32_t l = 0; l < s->model->locations; l++) {
        if (!small_touches(s->model, e, l)) continue;
        uint32_t seen = small_seen(s->model, e, l);
        if (reading == HD_UA && seen == 0) continue;
        if (naive_written(s, s->at[e], l) != seen) return false;
    }
    return true;
}

/* UA, of one read that is not in: its write is not in either, or nothing came over it. */
static inline bool naive_could_keep(const struct sequence *s, uint32_t e) {
    for (uint32_t l = 0; l < s->model->locations; l++) {
        if (!small_touches(s->model, e, l)) continue;
        uint32_t seen = small_seen(s->model, e, l);
        if (seen != 0 && naive_in(s, seen - 1) && naive_written(s, s->length, l) != seen)
            return false;
    }
    return true;
}

/* May a read see anything, as far as one stop goes? */
static inline bool naive_is_free(const struct hd_model *model, const struct hd_query *query,
                                 const struct hd_stop *stop, uint32_t event) {
    if (stop->executed && stop->event == event) return true;
    return query->branches != NULL && model->thread[stop->event] == model->thread[event] &&
           query->branches[stop->event] == query->branches[event];
}

static inline bool naive_reads(const struct sequence *s, enum hd_reading reading,
                               const struct hd_query *query) {
    if (reading == HD_CSR) return true;
    for (uint32_t e = 0; e < s->model->events; e++) {
        if (!hd_model_is_read(s->model, e)) continue;
        bool exempt = false;
        for (uint32_t i = 0; i < query->stops; i++)
            exempt |= reading == HD_CDSR && naive_is_free(s->model, query, &query->stop[i], e);
        if (naive_in(s, e) ? !exempt && !naive_keeps(s, reading, e)
                           : reading == HD_UA && !naive_could_keep(s, e))
            return false;
    }
    return true;
}

static inline bool naive_ends(const struct sequence *s, const struct hd_query *query) {
    const struct hd_model *m = s->model;
    for (uint32_t i = 0; i < query->stops; i++) {
        uint32_t stop = query->stop[i].event;
        for (uint32_t e = 0; e < m->events; e++) {
            if (m->thread[e] != m->thread[stop]) continue;
            bool wanted = e < stop || (e == stop && query->stop[i].executed);
            if (naive_in(s, e) != wanted) return false;
        }
        for (uint32_t k = 0; k < m->edges; k++)
            if (m->edge[k].to == stop && !naive_in(s, m->edge[k].from)) return false;
    }
    for (uint32_t i = 0; i < query->orders; i++)
        if (!naive_before(s, query->order[i].before, query->order[i].after)) return false;
    if (query->reader == HD_NONE) return true;
    if (!naive_in(s, query->reader)) return false;
    bool common = false;
    for (uint32_t l = 0; l < m->locations; l++) {
        if (!small_touches(m, query->reader, l)) continue;
        if (query->writer != HD_NONE && !small_touches(m, query->writer, l)) continue;
        common = true;
        uint32_t wanted = query->writer == HD_NONE ? 0 : query->writer + 1;
        if (naive_written(s, s->at[query->reader], l) != wanted) return false;
    }
    return common;
}

/* The executed events of a witness, in their order. */
static inline bool naive_correct(const struct hd_model *model, enum hd_reading reading,
                                 const struct hd_query *query, const uint32_t *event,
                                 uint32_t length) {
    struct sequence s = {.model = model, .length = length};
    memset(s.at, 0xff, sizeof s.at);
    for (uint32_t i = 0; i < length; i++) {
        s.event[i] = event[i];
        s.at[event[i]] = i;
    }
    return naive_program_order(&s) && naive_must_order(&s) && naive_locks(&s) &&
           naive_reads(&s, reading, query) && naive_ends(&s, query);
}

#endif
