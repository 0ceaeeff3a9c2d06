/* Candidate triples of small executions by definition, listed one by one, and what brute force says
 * of them. */
#ifndef HEDDLE_TESTS_ORACLE_TRIPLES_NAIVE_H
#define HEDDLE_TESTS_ORACLE_TRIPLES_NAIVE_H

#include "facts/site.h"
#include "facts/triples.h"
#include "oracle/figure_trace.h"
#include "oracle/reorder_search.h"

enum { NAIVE_TRIPLES = 4096 };

struct naive_triple {
    struct hd_triple triple;
    uint32_t site[3]; /* i, j, k: numbers of the caller's map */
    char pattern[8];
};

/* Events that must come before each event. */
struct naive_must {
    uint64_t before[SMALL_EVENTS];
};

static inline void naive_must_build(const struct small *small, struct naive_must *must) {
    for (uint32_t e = 0; e < small->events; e++) {
        must->before[e] = small->event[e].before;
        for (uint32_t p = 0; p < e; p++)
            if ((small->event[e].before >> p & 1) != 0) must->before[e] |= must->before[p];
    }
}

/* No serial order of i j k gives every read the same write and leaves the same value behind: tried
 * out. An update is a read and a write in one. */
static inline bool naive_serializable(const bool reads[3], const bool writes[3]) {
    static const int orders[3][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}};
    int seen[3][3], last[3];
    for (int o = 0; o < 3; o++) {
        last[o] = -1;
        for (int n = 0; n < 3; n++) {
            int who = orders[o][n];
            seen[o][who] = reads[who] ? last[o] : -2;
            if (writes[who]) last[o] = who;
        }
    }
    for (int o = 1; o < 3; o++)
        if (memcmp(seen[0], seen[o], sizeof seen[0]) == 0 && last[0] == last[o]) return true;
    return false;
}

/* One of AVIO's four, or with `all` W-W-W; "" if none. Words for updates: what they do that makes
 * the pattern. */
static inline const char *naive_pattern(const struct hd_model *m, uint32_t i, uint32_t j,
                                        uint32_t k, bool all) {
    uint32_t event[3] = {i, j, k};
    bool reads[3], writes[3], updates = true;
    for (int n = 0; n < 3; n++) {
        if (m->kind[event[n]] == HD_EV_FREE) return "";
        reads[n] = hd_model_is_read(m, event[n]);
        writes[n] = hd_model_is_write(m, event[n]);
        updates = updates && reads[n] && writes[n];
    }
    if (updates) return "";
    if (naive_serializable(reads, writes)) {
        bool blind = !reads[0] && !reads[1] && !reads[2];
        /* an update can't make what only writes make: its read is there in every order */
        if (!all || !writes[0] || !writes[1] || !writes[2]) return "";
        return blind || (!reads[1]) ? "W-W-W" : "";
    }
    if (writes[1]) {
        if (reads[0] && writes[2]) return "R-W-W";
        if (writes[0] && reads[2]) return "W-W-R";
        if (reads[0] && reads[2]) return "R-W-R";
    }
    return "W-R-W";
}

static inline bool naive_inside(const struct hd_section *s, uint32_t event) {
    return s->acquire <= event && (s->release == HD_NONE || event <= s->release);
}

/* Is there a section of i's thread around both i and k, and one of j's thread around j, that
 * exclude each other? */
static inline bool naive_kept_apart(const struct hd_model *m, uint32_t i, uint32_t j, uint32_t k) {
    for (uint32_t a = 0; a < m->sections; a++)
        for (uint32_t b = 0; b < m->sections; b++) {
            const struct hd_section *local = &m->section[a], *remote = &m->section[b];
            if (local->thread == m->thread[i] && remote->thread == m->thread[j] &&
                small_exclude(local, remote) && naive_inside(local, i) && naive_inside(local, k) &&
                naive_inside(remote, j))
                return true;
        }
    return false;
}

/* The thread's next access to the location, HD_NONE. */
static inline uint32_t naive_next(const struct hd_model *m, uint32_t i, uint32_t location) {
    for (uint32_t k = i + 1; k < m->events; k++)
        if (m->thread[k] == m->thread[i] && hd_model_is_access(m, k) &&
            small_touches(m, k, location))
            return k;
    return HD_NONE;
}

/* All of them, by location, i, j; a triple is listed at every location. */
static inline uint32_t naive_triples(const struct small *small, bool all, struct hd_map *site,
                                     struct naive_triple *list) {
    const struct hd_model *m = small->model;
    struct naive_must must;
    uint32_t count = 0;
    naive_must_build(small, &must);
    for (uint32_t l = 0; l < m->locations; l++)
        for (uint32_t i = 0; i < m->events; i++) {
            if (!hd_model_is_access(m, i) || !small_touches(m, i, l)) continue;
            uint32_t k = naive_next(m, i, l);
            if (k == HD_NONE) continue;
            for (uint32_t j = 0; j < m->events; j++) {
                if (m->thread[j] == m->thread[i] || !hd_model_is_access(m, j) ||
                    !small_touches(m, j, l))
                    continue;
                const char *pattern = naive_pattern(m, i, j, k, all);
                if (*pattern == '\0' || (must.before[i] >> j & 1) != 0 ||
                    (must.before[j] >> k & 1) != 0 || naive_kept_apart(m, i, j, k))
                    continue;
                if (count == NAIVE_TRIPLES) abort();
                struct naive_triple *each = &list[count++];
                each->triple = (struct hd_triple){i, j, k, l};
                each->site[0] = hd_site_number(m, site, i, l);
                each->site[1] = hd_site_number(m, site, j, l);
                each->site[2] = hd_site_number(m, site, k, l);
                strcpy(each->pattern, pattern);
            }
        }
    return count;
}

/* i done, then j, then k next: j may be its thread's last event, and then reads anything. */
static inline bool naive_atomicity(const struct small *small, enum hd_reading reading,
                                   const struct hd_triple *t) {
    struct question q = question_start("atomicity");
    q.stop[q.stops++] = (struct hd_stop){t->second, false};
    q.order[q.orders++] = (struct hd_precedes){t->first, t->remote};
    struct hd_query query = question_query(&q);
    if (search_decide(small, reading, &query, NULL, NULL)) return true;
    q.stop[q.stops++] = (struct hd_stop){t->remote, true};
    query = question_query(&q);
    return search_decide(small, reading, &query, NULL, NULL);
}

/* ---- traces -------------------------------------------------------------------------------------
 */

/* A trace of the oracle with branches thrown in and, mostly, few words for many places. */
static inline void triples_make(uint64_t seed, struct text_trace *out) {
    struct dice dice = {seed * 0x9e3779b97f4a7c15ull + 7};
    oracle_make(seed, out);
    unsigned branches = roll(&dice, 6), words = 1 + roll(&dice, 4);
    for (unsigned n = 0; n < branches && out->lines < 30; n++) {
        unsigned like = roll(&dice, out->lines), at = like + 1;
        if (strstr(out->line[like], "|end") != NULL) continue;
        memmove(out->line[at + 1], out->line[at], (out->lines - at) * sizeof *out->line);
        out->lines++;
        snprintf(out->line[at], TEXT_WIDTH, "T%c|branch", out->line[like][1]);
    }
    if (roll(&dice, 4) == 0) return;
    for (unsigned n = 0; n < out->lines; n++) {
        size_t used = strlen(out->line[n]);
        if (strchr(out->line[n], ')') != NULL && used + 4 < TEXT_WIDTH)
            snprintf(out->line[n] + used, TEXT_WIDTH - used, "|s%u", roll(&dice, words));
    }
}

/* A dense one: two or three threads, few variables, mostly accesses. */
static inline void triples_make_dense(uint64_t seed, struct text_trace *out) {
    struct dice dice = {seed * 0x9e3779b97f4a7c15ull + 3};
    struct sim sim = {.dice = {seed * 0x2545f4914f6cdd1dull + 1}, .out = out};
    memset(out, 0, sizeof *out);
    sim.mix = (struct sim_mix){9, roll(&dice, 3) == 0, roll(&dice, 8), 0, 0, 0, 0, 0, 0};
    sim.mix.mark = roll(&dice, 4);
    sim.threads = 2 + roll(&dice, 2);
    sim.locks = 1 + roll(&dice, 2);
    sim.variables = 1 + roll(&dice, 2);
    sim.semaphores = 1;
    sim.read_locks = roll(&dice, 4) == 0;
    sim_run(&sim, 8 + roll(&dice, 9));
    for (unsigned n = 0; n < out->lines; n++) {
        size_t used = strlen(out->line[n]);
        if (strchr(out->line[n], ')') != NULL)
            snprintf(out->line[n] + used, TEXT_WIDTH - used, "|s%u", roll(&dice, 2));
    }
}

#endif
