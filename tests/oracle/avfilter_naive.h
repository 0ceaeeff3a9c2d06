/* Algorithm 1 of the AVFilter paper as ALGORITHMS section 2 restates it, read aloud: a scan of the
 * trace for every candidate. */
#ifndef HEDDLE_TESTS_ORACLE_AVFILTER_NAIVE_H
#define HEDDLE_TESTS_ORACLE_AVFILTER_NAIVE_H

#include "methods/avfilter.h"
#include "oracle/reorder_facts.h"

static inline bool avfilter_meet(const struct hd_model *m, uint32_t a, uint32_t b) {
    for (uint32_t l = 0; l < m->locations; l++)
        if (small_touches(m, a, l) && small_touches(m, b, l)) return true;
    return false;
}

/* A write of thread 1 at or after `least` that is a last write of r: of any part of it. */
static inline bool avfilter_fed(const struct hd_model *m, uint32_t r, uint32_t thread,
                                uint32_t least) {
    for (uint32_t l = 0; l < m->locations; l++) {
        if (!small_touches(m, r, l)) continue;
        uint32_t seen = small_seen(m, r, l);
        if (seen > 0 && m->thread[seen - 1] == thread && seen - 1 >= least) return true;
    }
    return false;
}

/* Does k's thread take a branch after r and before k? */
static inline bool avfilter_branch(const struct hd_model *m, enum hd_branch_source source,
                                   uint32_t r, uint32_t k) {
    if (source == HD_BRANCHES_NONE) return false;
    if (!m->trace->has_branches) return true;
    for (uint32_t e = r + 1; e <= k; e++)
        if (m->thread[e] == m->thread[k] && m->branches[e] > 0) return true;
    return false;
}

static inline bool naive_reads_in(const struct hd_model *m, uint32_t e, uint32_t thread) {
    return m->thread[e] == thread && hd_model_is_read(m, e);
}

static inline enum hd_avfilter_case
avfilter_later(const struct hd_model *m, enum hd_branch_source source, const struct hd_triple *t) {
    uint32_t one = m->thread[t->first], two = m->thread[t->remote];
    bool has_previous = false;
    uint32_t previous = 0;
    for (uint32_t e = 0; e < t->remote; e++)
        if (m->thread[e] == two && hd_model_is_access(m, e) && small_touches(m, e, t->location)) {
            previous = e;
            has_previous = true;
        }
    if (has_previous)
        for (uint32_t r = t->first + 1; r <= previous; r++)
            if (naive_reads_in(m, r, two) && avfilter_fed(m, r, one, t->first + 1))
                return HD_AVFILTER_A1;
    for (uint32_t r = t->second + 1; r < t->remote; r++)
        if (naive_reads_in(m, r, two) && avfilter_fed(m, r, one, t->second + 1))
            return HD_AVFILTER_A2;
    if (!has_previous) return HD_AVFILTER_KEEPS;
    for (uint32_t r = t->first; r < t->second; r++) {
        if (!naive_reads_in(m, r, one) || !avfilter_branch(m, source, r, t->second)) continue;
        for (uint32_t w = r + 1; w <= previous; w++)
            if (m->thread[w] == two && hd_model_is_write(m, w) && avfilter_meet(m, r, w))
                return HD_AVFILTER_A3;
    }
    return HD_AVFILTER_KEEPS;
}

static inline enum hd_avfilter_case avfilter_earlier(const struct hd_model *m,
                                                     enum hd_branch_source source,
                                                     const struct hd_triple *t) {
    uint32_t one = m->thread[t->first], two = m->thread[t->remote], next = HD_NONE;
    for (uint32_t r = t->remote + 1; r <= t->first; r++)
        if (naive_reads_in(m, r, one) && avfilter_fed(m, r, two, t->remote)) return HD_AVFILTER_B1;
    for (uint32_t e = m->events; e-- > t->remote + 1;)
        if (m->thread[e] == two && hd_model_is_access(m, e) && small_touches(m, e, t->location))
            next = e;
    if (next == HD_NONE) return HD_AVFILTER_KEEPS;
    for (uint32_t r = t->first + 1; r < t->second; r++) {
        if (!naive_reads_in(m, r, one) || !avfilter_branch(m, source, r, t->second)) continue;
        for (uint32_t w = next + 1; w < r; w++)
            if (m->thread[w] == two && hd_model_is_write(m, w) && avfilter_meet(m, r, w))
                return HD_AVFILTER_B2;
    }
    return HD_AVFILTER_KEEPS;
}

static inline enum hd_avfilter_case
avfilter_naive(const struct hd_model *m, enum hd_branch_source source, const struct hd_triple *t) {
    if (t->remote > t->second) return avfilter_later(m, source, t);
    if (t->remote < t->first) return avfilter_earlier(m, source, t);
    return HD_AVFILTER_KEEPS;
}

#endif
