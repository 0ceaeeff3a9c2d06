/* The extended race detectors read aloud (the dissertation, section 5.4.1): a pair of accesses of
 * one thread that follows a rule, and an access of another thread that conflicts with one of them.
 */
#ifndef HEDDLE_TESTS_ORACLE_CORRELATED_MV_NAIVE_H
#define HEDDLE_TESTS_ORACLE_CORRELATED_MV_NAIVE_H

#include "oracle/correlated_naive.h"
#include "oracle/engines_naive.h"

/* Is there a lock that all three hold, for writing by the remote access or by the one that
 * conflicts with it? */
static inline bool naive_mv_protected(const struct hd_model *m, const struct naive_pair *pair,
                                      unsigned at, uint32_t remote) {
    for (uint32_t l = 0; l < m->locks; l++) {
        bool holds[3] = {false}, writing[3] = {false};
        const uint32_t event[3] = {pair->event[at], pair->event[!at], remote};
        for (uint32_t s = 0; s < m->sections; s++)
            for (int i = 0; i < 3; i++)
                if (m->section[s].lock == l && inside(m, &m->section[s], event[i])) {
                    holds[i] = true;
                    writing[i] |= !m->section[s].read_mode;
                }
        if (holds[0] && holds[1] && holds[2] && (writing[0] || writing[2])) return true;
    }
    return false;
}

static inline bool naive_lockset_mv(const struct hd_model *m, const struct naive_pair *pair,
                                    unsigned at, uint32_t remote) {
    struct relation forks;
    must_relation(m, &forks, true);
    return !naive_mv_protected(m, pair, at, remote) && !related(&forks, remote, pair->event[0]) &&
           !related(&forks, pair->event[1], remote);
}

static inline bool naive_hb_mv(const struct hd_model *m, const struct naive_pair *pair, unsigned at,
                               uint32_t remote) {
    struct relation hb;
    (void)at;
    hb_relation(m, &hb);
    for (int i = 0; i < 2; i++)
        if (!related(&hb, remote, pair->event[i]) && !related(&hb, pair->event[i], remote))
            return true;
    return false;
}

/* May the other thread's access be asked about at all? */
static inline bool naive_mv_meets(const struct hd_model *m, const struct naive_pair *pair,
                                  unsigned at, uint32_t remote) {
    return m->thread[remote] != m->thread[pair->event[0]] &&
           naive_location(m, remote) == pair->location[at] &&
           (hd_model_is_write(m, remote) || hd_model_is_write(m, pair->event[at]));
}

#endif
