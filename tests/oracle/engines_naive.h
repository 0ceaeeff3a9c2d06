/* What lockset, HB, CP and UCG say about a pair of accesses of a small execution, by their
 * definitions (ALGORITHMS section 1): relations as sets of bits, closed until nothing changes. */
#ifndef HEDDLE_TESTS_ORACLE_ENGINES_NAIVE_H
#define HEDDLE_TESTS_ORACLE_ENGINES_NAIVE_H

#include "oracle/random_query.h"

/* before[e]: the events that are ordered before e. */
struct relation {
    uint64_t before[SMALL_EVENTS];
};

static inline bool relation_close(struct relation *r, uint32_t events) {
    bool changed = false;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t e = 0; e < events; e++) {
            uint64_t all = r->before[e];
            for (uint64_t left = all; left != 0; left &= left - 1)
                all |= r->before[__builtin_ctzll(left)];
            if (all == r->before[e]) continue;
            r->before[e] = all;
            again = changed = true;
        }
    }
    return changed;
}

static inline bool related(const struct relation *r, uint32_t a, uint32_t b) {
    return (r->before[b] >> a & 1) != 0;
}

static inline void must_relation(const struct hd_model *m, struct relation *r, bool threads_only) {
    memset(r, 0, sizeof *r);
    for (uint32_t b = 0; b < m->events; b++)
        for (uint32_t a = 0; a < b; a++)
            if (m->thread[a] == m->thread[b]) r->before[b] |= SMALL_BIT(a);
    for (uint32_t i = 0; i < m->edges; i++)
        if (!threads_only || m->edge[i].type == HD_EDGE_FORK || m->edge[i].type == HD_EDGE_JOIN)
            r->before[m->edge[i].to] |= SMALL_BIT(m->edge[i].from);
    relation_close(r, m->events);
}

/* Section a ends before b begins, and they exclude each other. */
static inline bool follows(const struct hd_section *a, const struct hd_section *b) {
    return small_exclude(a, b) && a->release != HD_NONE && a->release < b->acquire;
}

static inline void hb_relation(const struct hd_model *m, struct relation *r) {
    must_relation(m, r, false);
    for (uint32_t i = 0; i < m->sections; i++)
        for (uint32_t j = 0; j < m->sections; j++)
            if (follows(&m->section[i], &m->section[j]))
                r->before[m->section[j].acquire] |= SMALL_BIT(m->section[i].release);
    relation_close(r, m->events);
}

static inline bool inside(const struct hd_model *m, const struct hd_section *s, uint32_t e) {
    return m->thread[e] == s->thread && e >= s->acquire &&
           (s->release == HD_NONE || e <= s->release);
}

static inline bool accesses_conflict(const struct hd_model *m, uint32_t a, uint32_t b) {
    return hd_model_is_access(m, a) && hd_model_is_access(m, b) &&
           (hd_model_is_write(m, a) || hd_model_is_write(m, b)) && accesses_meet(m, a, b);
}

/* CP and must-order together: what CP does not let race. */
static inline void cp_relation(const struct hd_model *m, struct relation *ordered) {
    struct relation hb, cp = {{0}};
    hb_relation(m, &hb);
    must_relation(m, ordered, false);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < m->sections; i++)
            for (uint32_t j = 0; j < m->sections; j++) {
                const struct hd_section *a = &m->section[i], *b = &m->section[j];
                bool linked = false;
                if (!follows(a, b) || related(&cp, a->release, b->acquire)) continue;
                for (uint32_t e = 0; e < m->events; e++)
                    for (uint32_t f = 0; f < m->events; f++)
                        linked |= inside(m, a, e) && inside(m, b, f) &&
                                  (accesses_conflict(m, e, f) || related(&cp, e, f));
                if (!linked) continue;
                again = true;
                /* and all that is HB-before the one, against all that is HB-after the other */
                for (uint32_t e = 0; e < m->events; e++)
                    if (e == b->acquire || related(&hb, b->acquire, e))
                        cp.before[e] |= hb.before[a->release] | SMALL_BIT(a->release);
            }
    }
    for (uint32_t e = 0; e < m->events; e++) ordered->before[e] |= cp.before[e];
}

static inline bool lockset_says(const struct hd_model *m, uint32_t a, uint32_t b) {
    struct relation threads;
    must_relation(m, &threads, true);
    if (related(&threads, a, b) || related(&threads, b, a)) return false;
    for (uint32_t i = 0; i < m->sections; i++)
        for (uint32_t j = 0; j < m->sections; j++)
            if (small_exclude(&m->section[i], &m->section[j]) && inside(m, &m->section[i], a) &&
                inside(m, &m->section[j], b))
                return false;
    return true;
}

static inline bool hb_says(const struct hd_model *m, uint32_t a, uint32_t b) {
    struct relation hb;
    hb_relation(m, &hb);
    return !related(&hb, a, b) && !related(&hb, b, a);
}

static inline bool cp_says(const struct hd_model *m, uint32_t a, uint32_t b) {
    struct relation ordered;
    cp_relation(m, &ordered);
    return !related(&ordered, a, b) && !related(&ordered, b, a);
}

/* ---- UCG ------------------------------------------------------------------------------------ */

struct ucg {
    const struct hd_model *m;
    uint64_t in;            /* events of the prefix */
    uint64_t never;         /* events that the error condition forbids */
    struct relation direct; /* edges between threads */
};

/* All that the prefix needs; false if the error condition forbids some of it. */
static inline bool ucg_close(struct ucg *u) {
    for (uint64_t before = 0; before != u->in;) {
        before = u->in;
        for (uint32_t e = 0; e < u->m->events; e++) {
            if ((u->in >> e & 1) == 0) continue;
            u->in |= u->direct.before[e];
            for (uint32_t f = 0; f < e; f++)
                if (u->m->thread[f] == u->m->thread[e]) u->in |= SMALL_BIT(f);
        }
    }
    return (u->in & u->never) == 0;
}

static inline bool ucg_cyclic(const struct ucg *u) {
    struct relation all = u->direct;
    for (uint32_t b = 0; b < u->m->events; b++)
        for (uint32_t a = 0; a < b; a++)
            if (u->m->thread[a] == u->m->thread[b]) all.before[b] |= SMALL_BIT(a);
    for (uint32_t e = 0; e < u->m->events; e++)
        all.before[e] = (u->in >> e & 1) != 0 ? all.before[e] & u->in : 0;
    relation_close(&all, u->m->events);
    for (uint32_t e = 0; e < u->m->events; e++)
        if (related(&all, e, e)) return true;
    return false;
}

/* Rule 1: must section a end before b begins, because of an edge from a, or after its acquire, to
 * b, or before its release? */
static inline bool ucg_rule1(const struct ucg *u, const struct hd_section *a,
                             const struct hd_section *b) {
    for (uint32_t t = 0; t < u->m->events; t++) {
        if (u->m->thread[t] != b->thread || (u->in >> t & 1) == 0) continue;
        if (b->release != HD_NONE && t > b->release) continue;
        for (uint32_t s = a->acquire; s < u->m->events; s++)
            if (u->m->thread[s] == a->thread && related(&u->direct, s, t)) return true;
    }
    return false;
}

static inline bool ucg_never_ends(const struct ucg *u, const struct hd_section *s) {
    return s->release == HD_NONE || (u->never >> s->release & 1) != 0;
}

static inline bool ucg_says(const struct hd_model *m, uint32_t a, uint32_t b) {
    struct ucg u = {.m = m};
    for (uint32_t e = 0; e < m->events; e++)
        if ((m->thread[e] == m->thread[a] && e >= a) || (m->thread[e] == m->thread[b] && e >= b))
            u.never |= SMALL_BIT(e);
        else if (m->thread[e] == m->thread[a] || m->thread[e] == m->thread[b])
            u.in |= SMALL_BIT(e);
    for (uint32_t i = 0; i < m->edges; i++) {
        u.direct.before[m->edge[i].to] |= SMALL_BIT(m->edge[i].from);
        if (m->edge[i].to == a || m->edge[i].to == b) u.in |= SMALL_BIT(m->edge[i].from);
    }
    for (uint32_t e = 0; e < m->events; e++) /* a failed try needs the section that made it fail */
        if (hd_model_failed_by(m, e) != HD_NONE)
            u.direct.before[e] |= SMALL_BIT(m->section[hd_model_failed_by(m, e)].acquire);
    for (bool again = true; again;) {
        again = false;
        if (!ucg_close(&u) || ucg_cyclic(&u)) return false;
        for (uint32_t i = 0; i < m->sections; i++)
            for (uint32_t j = 0; j < m->sections; j++) {
                const struct hd_section *one = &m->section[i], *two = &m->section[j];
                if (!small_exclude(one, two) || (u.in >> one->acquire & 1) == 0 ||
                    (u.in >> two->acquire & 1) == 0)
                    continue;
                if (!ucg_never_ends(&u, two) && !ucg_rule1(&u, one, two)) continue;
                if (ucg_never_ends(&u, one)) return false;
                if (related(&u.direct, one->release, two->acquire)) continue;
                u.direct.before[two->acquire] |= SMALL_BIT(one->release);
                again = true;
            }
    }
    return true;
}

#endif
