/* Fig. 8 of Sinha, Malik and Gupta, written down as it stands: every graph is a matrix of edges,
 * closed by the textbook algorithm; every choice graph is made. For traces of at most 64 events.
 * The points on which the paper is silent are those named in src/predict/nondet_paper.c. */
#ifndef HEDDLE_TESTS_ORACLE_NONDET_FIGURE8_H
#define HEDDLE_TESTS_ORACLE_NONDET_FIGURE8_H

#include "oracle/nondet_oracle.h"

enum { F8_FINAL = SMALL_EVENTS, F8_VERTICES = SMALL_EVENTS + 1, F8_MOST_CHOICES = 9 };

struct f8_order {
    uint32_t from, to; /* a witness order edge */
};

struct f8_section {
    uint32_t acquire, release; /* vertices; HD_NONE: no release */
    uint32_t number;
};

/* A set of vertices. */
struct f8_set {
    uint64_t word[2];
};

struct f8_graph {
    const struct hd_model *model;
    bool gone[F8_VERTICES]; /* does not occur */
    struct f8_set edge[F8_VERTICES];
    struct f8_set path[F8_VERTICES]; /* of one edge or more */
    bool broken;                     /* a section would have to end that never does */
};

struct f8_verdict {
    bool feasible, cyclic, skipped;
    unsigned choices;
};

/* ---- graphs ------------------------------------------------------------------------------------
 */

static inline bool f8_has(const struct f8_set *set, uint32_t v) {
    return (set->word[v / 64] >> v % 64 & 1) != 0;
}
static inline void f8_put(struct f8_set *set, uint32_t v) {
    set->word[v / 64] |= (uint64_t)1 << v % 64;
}

/* Warshall's algorithm. */
static inline void f8_close(struct f8_graph *g) {
    memcpy(g->path, g->edge, sizeof g->path);
    for (uint32_t k = 0; k < F8_VERTICES; k++) {
        if ((g->path[k].word[0] | g->path[k].word[1]) == 0) continue;
        for (uint32_t i = 0; i < F8_VERTICES; i++)
            if (f8_has(&g->path[i], k)) {
                g->path[i].word[0] |= g->path[k].word[0];
                g->path[i].word[1] |= g->path[k].word[1];
            }
    }
}

static inline bool f8_cyclic(const struct f8_graph *g) {
    for (uint32_t i = 0; i < F8_VERTICES; i++)
        if (f8_has(&g->path[i], i)) return true;
    return g->broken;
}

static inline void f8_add(struct f8_graph *g, uint32_t from, uint32_t to) {
    if (!g->gone[from] && !g->gone[to]) f8_put(&g->edge[from], to);
}

/* Program order, synchronisation, and the read couples but for (w, r). */
static inline void f8_partial_order(struct f8_graph *g, uint32_t w, uint32_t r) {
    const struct hd_model *m = g->model;
    for (uint32_t b = 0; b < m->events; b++) {
        for (uint32_t a = 0; a < b; a++)
            if (m->thread[a] == m->thread[b]) f8_add(g, a, b);
        f8_add(g, b, F8_FINAL);
        uint32_t by = hd_model_failed_by(m, b);
        if (by != HD_NONE) {
            f8_add(g, m->section[by].acquire, b);
            if (m->section[by].release != HD_NONE) f8_add(g, b, m->section[by].release);
        }
        if (!hd_model_is_read(m, b)) continue;
        const uint32_t *from;
        uint32_t count = hd_model_reads_from(m, b, &from);
        for (uint32_t i = 0; i < count; i++)
            if (from[i] != HD_NONE && !(from[i] == w && b == r)) f8_add(g, from[i], b);
    }
    for (uint32_t i = 0; i < m->edges; i++) f8_add(g, m->edge[i].from, m->edge[i].to);
}

static inline bool f8_section_of(const struct f8_graph *g, uint32_t number, struct f8_section *s) {
    const struct hd_section *section = &g->model->section[number];
    if (g->gone[section->acquire]) return false;
    s->acquire = section->acquire;
    s->release = section->release;
    s->number = number;
    if (s->release != HD_NONE && g->gone[s->release]) s->release = HD_NONE;
    return true;
}

/* The first section must be over before the second one begins. */
static inline bool f8_order_sections(struct f8_graph *g, const struct f8_section *first,
                                     const struct f8_section *second) {
    if (first->release == HD_NONE) return g->broken = true, false;
    if (f8_has(&g->edge[first->release], second->acquire)) return false;
    f8_put(&g->edge[first->release], second->acquire);
    return true;
}

/* Induced edges, until there are no more. */
static inline void f8_induce(struct f8_graph *g) {
    const struct hd_model *m = g->model;
    for (bool more = true; more && !g->broken;) {
        more = false;
        f8_close(g);
        for (uint32_t i = 0; i < m->sections; i++)
            for (uint32_t k = 0; k < m->sections; k++) {
                struct f8_section a, b;
                if (!small_exclude(&m->section[i], &m->section[k])) continue;
                if (!f8_section_of(g, i, &a) || !f8_section_of(g, k, &b)) continue;
                if (b.release == HD_NONE || f8_has(&g->path[a.acquire], b.release))
                    more |= f8_order_sections(g, &a, &b);
            }
    }
    f8_close(g);
}

/* ---- the lock abstraction graph ----------------------------------------------------------------
 */

static inline uint32_t f8_find(uint32_t *parent, uint32_t v) {
    while (parent[v] != v) v = parent[v];
    return v;
}

/* Each vertex's meta-vertex: events of one thread inside one section are one, and so are sections
 * that have an event in common. */
static inline void f8_merge(const struct f8_graph *g, uint32_t *meta) {
    const struct hd_model *m = g->model;
    for (uint32_t v = 0; v < F8_VERTICES; v++) meta[v] = v;
    for (uint32_t s = 0; s < m->sections; s++) {
        struct f8_section section;
        if (!f8_section_of(g, s, &section)) continue;
        for (uint32_t e = section.acquire; e < m->events; e++) {
            if (m->thread[e] != m->section[s].thread || g->gone[e]) continue;
            if (section.release != HD_NONE && e > section.release) break;
            meta[f8_find(meta, e)] = f8_find(meta, section.acquire);
        }
    }
    for (uint32_t v = 0; v < F8_VERTICES; v++) meta[v] = f8_find(meta, v);
}

struct f8_choice {
    struct f8_section a, b;
    bool taken; /* in S_choice */
};

static inline unsigned f8_unordered(const struct f8_graph *g, struct f8_choice *choice) {
    const struct hd_model *m = g->model;
    unsigned count = 0;
    for (uint32_t i = 0; i < m->sections; i++)
        for (uint32_t k = i + 1; k < m->sections; k++) {
            struct f8_section a, b;
            if (!small_exclude(&m->section[i], &m->section[k])) continue;
            if (!f8_section_of(g, i, &a) || !f8_section_of(g, k, &b)) continue;
            if (a.release == HD_NONE || b.release == HD_NONE) continue;
            if (f8_has(&g->path[a.acquire], b.release) || f8_has(&g->path[b.acquire], a.release))
                continue;
            choice[count++] = (struct f8_choice){a, b, false};
        }
    return count;
}

/* What a vertex reaches in the lock abstraction graph, or (back) what reaches it. */
static inline void f8_spread(const struct f8_graph *g, const uint32_t *meta,
                             const struct f8_choice *choice, unsigned choices, uint32_t start,
                             bool back, bool *in) {
    memset(in, 0, F8_VERTICES);
    in[meta[start]] = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t a = 0; a < F8_VERTICES; a++)
            for (uint32_t b = 0; b < F8_VERTICES; b++) {
                uint32_t from = meta[back ? b : a], to = meta[back ? a : b];
                if (f8_has(&g->edge[a], b) && in[from] && !in[to]) more = in[to] = true;
            }
        for (unsigned i = 0; i < choices; i++) {
            uint32_t a = meta[choice[i].a.acquire], b = meta[choice[i].b.acquire];
            if (in[a] != in[b]) more = in[a] = in[b] = true;
        }
    }
}

static inline unsigned f8_s_choice(const struct f8_graph *g, const struct f8_order *order,
                                   unsigned orders, struct f8_choice *choice, unsigned choices) {
    uint32_t meta[F8_VERTICES];
    bool from[F8_VERTICES], upto[F8_VERTICES];
    unsigned taken = 0;
    f8_merge(g, meta);
    for (unsigned o = 0; o < orders; o++) {
        f8_spread(g, meta, choice, choices, order[o].to, false, from);
        f8_spread(g, meta, choice, choices, order[o].from, true, upto);
        for (unsigned i = 0; i < choices; i++) {
            uint32_t a = meta[choice[i].a.acquire];
            choice[i].taken |= from[a] && upto[a];
        }
    }
    for (unsigned i = 0; i < choices; i++)
        if (choice[i].taken) choice[taken++] = choice[i];
    return taken;
}

/* ---- the algorithm -----------------------------------------------------------------------------
 */

static inline bool f8_some_graph_is_acyclic(const struct f8_graph *g,
                                            const struct f8_choice *choice, unsigned choices) {
    for (uint32_t way = 0; way < (uint32_t)1 << choices; way++) {
        struct f8_graph each = *g;
        for (unsigned i = 0; i < choices; i++) {
            const struct f8_section *first = way >> i & 1 ? &choice[i].b : &choice[i].a;
            const struct f8_section *second = way >> i & 1 ? &choice[i].a : &choice[i].b;
            f8_put(&each.edge[first->release], second->acquire);
        }
        f8_close(&each);
        if (!f8_cyclic(&each)) return true;
    }
    return false;
}

/* Lines 9 to 14 for one witness. w, c HD_NONE: the initial value; r F8_FINAL: the final read. */
static inline struct f8_verdict f8_witness(const struct hd_model *model, uint32_t w, uint32_t r,
                                           uint32_t c, enum hd_paper_witness form) {
    struct f8_verdict verdict = {.cyclic = true};
    static struct f8_graph g;
    static struct f8_choice choice[SMALL_EVENTS * SMALL_EVENTS];
    struct f8_order order[2];
    unsigned orders = 0;
    memset(&g, 0, sizeof g);
    g.model = model;
    /* the initial value is written before everything else */
    if (form == HD_WITNESS_AFTER ? c == HD_NONE : w == HD_NONE) return verdict;
    if (form == HD_WITNESS_WITHOUT) {
        f8_partial_order(&g, w, r);
        f8_induce(&g);
        bool gone[F8_VERTICES];
        for (uint32_t v = 0; v < F8_VERTICES; v++) gone[v] = v == w || f8_has(&g.path[w], v);
        memset(&g, 0, sizeof g);
        g.model = model;
        memcpy(g.gone, gone, sizeof gone);
        if (gone[r] || (c != HD_NONE && gone[c])) return verdict;
    }
    f8_partial_order(&g, w, r);
    if (form == HD_WITNESS_AFTER && w != HD_NONE) order[orders++] = (struct f8_order){w, c};
    if (c != HD_NONE) order[orders++] = (struct f8_order){c, r};
    if (form == HD_WITNESS_BEFORE) order[orders++] = (struct f8_order){r, w};
    for (unsigned i = 0; i < orders; i++) f8_put(&g.edge[order[i].from], order[i].to);
    f8_induce(&g);
    if (f8_cyclic(&g)) return verdict;
    verdict.cyclic = false;
    unsigned choices = f8_unordered(&g, choice);
    verdict.choices = f8_s_choice(&g, order, orders, choice, choices);
    verdict.skipped = verdict.choices > F8_MOST_CHOICES;
    if (!verdict.skipped) verdict.feasible = f8_some_graph_is_acyclic(&g, choice, verdict.choices);
    return verdict;
}

#endif
