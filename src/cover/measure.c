/* The property sets of one trace, by the formulas of section 6.3, and what the run covered of them:
 * two passes over the accesses of each shared location. */
#include "base/alloc.h"
#include "cover/cover.h"
#include "facts/patterns.h"

#include <stdlib.h>

/* One thread's accesses to the location at hand. */
struct per_thread {
    uint64_t count[4]; /* by what they do (HD_DOES_*) */
    uint32_t last;     /* position of the latest */
};

struct measure {
    const struct hd_model *model;
    struct hd_cover_measure result;
    struct per_thread *thread;
    HD_VECTOR(uint32_t) here; /* threads with accesses to the location at hand */
    HD_VECTOR(uint64_t) length;
    uint32_t *room;
};

static uint64_t accesses_of(const struct per_thread *t) {
    return t->count[HD_DOES_READ] + t->count[HD_DOES_WRITE] + t->count[HD_DOES_UPDATE];
}
static uint64_t reads_of(const struct per_thread *t) {
    return t->count[HD_DOES_READ] + t->count[HD_DOES_UPDATE];
}
static uint64_t writes_of(const struct per_thread *t) {
    return t->count[HD_DOES_WRITE] + t->count[HD_DOES_UPDATE];
}

/* ---- sums over pairs of threads ---------------------------------------------------------------
 */

/* Threads with equal numbers of accesses make equal terms. */
struct group {
    uint64_t length, threads;
};

static int by_length(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static struct hd_size two(uint64_t a, uint64_t b) {
    uint64_t pair[2] = {a, b};
    return hd_size_interleavings(pair, 2);
}

/* The sum over all pairs of threads of the ways to interleave their accesses. `length` has those of
 * threads with accesses and is sorted here; all other threads have none. */
static struct hd_size over_pairs(uint64_t *length, uint64_t count, uint64_t threads) {
    uint64_t others = threads - count;
    /* a thread without accesses has one order with any other */
    struct hd_size sum = hd_size_of(others * count + (others > 0 ? others * (others - 1) / 2 : 0));
    HD_VECTOR(struct group) group = {0};
    if (count > 0) qsort(length, count, sizeof *length, by_length);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0 && length[i] == length[i - 1])
            group.data[group.size - 1].threads++;
        else
            hd_vector_push(&group, ((struct group){length[i], 1}));
    }
    for (size_t i = 0; i < group.size; i++) {
        struct group a = group.data[i];
        sum = hd_size_add(sum,
                          hd_size_times(two(a.length, a.length), a.threads * (a.threads - 1) / 2));
        for (size_t j = i + 1; j < group.size; j++)
            sum = hd_size_add(sum, hd_size_times(two(a.length, group.data[j].length),
                                                 a.threads * group.data[j].threads));
    }
    hd_vector_free(&group);
    return sum;
}

/* ---- one location -----------------------------------------------------------------------------
 */

static void count_accesses(struct measure *m, const uint32_t *list, uint32_t count) {
    m->here.size = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned does = hd_access_does(m->model, list[i]);
        struct per_thread *own = &m->thread[m->model->thread[list[i]]];
        if (accesses_of(own) == 0) {
            own->last = HD_NONE;
            hd_vector_push(&m->here, m->model->thread[list[i]]);
        }
        own->count[does]++;
    }
}

/* Does another thread have an access that would break the pair? */
static bool can_be_interleaved(const struct per_thread *all, const struct per_thread *own,
                               unsigned first, unsigned second) {
    for (unsigned does = HD_DOES_READ; does <= HD_DOES_UPDATE; does++)
        if (all->count[does] > own->count[does] &&
            hd_pattern_of(first, does, second, false) != HD_PATTERN_NONE)
            return true;
    return false;
}

static void follow_pairs(struct measure *m, const uint32_t *list, uint32_t count,
                         const struct per_thread *all) {
    struct hd_cover_writes writes = {HD_NONE, HD_NONE};
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned does = hd_access_does(m->model, list[i]);
        struct per_thread *own = &m->thread[m->model->thread[list[i]]];
        if (own->last != HD_NONE) {
            m->result.covered[HD_COVER_PINV] += i - own->last - 1;
            m->result.covered[HD_COVER_LR_INV] +=
                hd_cover_interleaved(m->model, list, own->last, i, writes);
            pairs += can_be_interleaved(all, own, hd_access_does(m->model, list[own->last]), does);
        }
        own->last = i;
        hd_cover_note_write(&writes, does, i);
    }
    m->result.size[HD_COVER_LR_INV] =
        hd_size_add(m->result.size[HD_COVER_LR_INV], hd_size_of(pairs));
}

static void measure_location(struct measure *m, uint32_t location) {
    uint32_t count;
    const uint32_t *list = hd_cover_accesses(m->model, location, &m->room, &count);
    count_accesses(m, list, count);
    struct per_thread all = {0};
    uint64_t pinv = 0, def_use = 0, lr_def = 0;
    m->length.size = 0;
    for (size_t i = 0; i < m->here.size; i++) {
        const struct per_thread *t = &m->thread[m->here.data[i]];
        for (unsigned does = 0; does < 4; does++) all.count[does] += t->count[does];
        hd_vector_push(&m->length, accesses_of(t));
    }
    for (size_t i = 0; i < m->here.size; i++) {
        const struct per_thread *t = &m->thread[m->here.data[i]];
        uint64_t remote_writes = writes_of(&all) - writes_of(t);
        pinv += (accesses_of(t) - 1) * (accesses_of(&all) - accesses_of(t));
        def_use += reads_of(t) * (1 + remote_writes);
        lr_def += reads_of(t) * (remote_writes > 0 ? 2 : 1);
    }
    follow_pairs(m, list, count, &all);
    m->result.touches += accesses_of(&all);
    m->result.reads += reads_of(&all);
    struct hd_size *size = m->result.size;
    size[HD_COVER_SVAR] = hd_size_add(
        size[HD_COVER_SVAR], over_pairs(m->length.data, m->length.size, m->result.threads));
    size[HD_COVER_PINV] = hd_size_add(size[HD_COVER_PINV], hd_size_of(pinv));
    size[HD_COVER_DEF_USE] = hd_size_add(size[HD_COVER_DEF_USE], hd_size_of(def_use));
    size[HD_COVER_LR_DEF] = hd_size_add(size[HD_COVER_LR_DEF], hd_size_of(lr_def));
    for (size_t i = 0; i < m->here.size; i++) m->thread[m->here.data[i]] = (struct per_thread){0};
}

/* ---- the trace --------------------------------------------------------------------------------
 */

static bool touches_shared(const struct hd_model *model, uint32_t event) {
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, event, &location);
    for (uint32_t i = 0; i < count; i++)
        if (model->location[location[i]].shared) return true;
    return false;
}

/* Accesses of each thread that touch anything shared. */
static void count_threads(struct measure *m) {
    const struct hd_model *model = m->model;
    uint64_t *length = hd_zalloc(model->threads, sizeof *length);
    for (uint32_t e = 0; e < model->events; e++)
        if (hd_access_does(model, e) != 0 && touches_shared(model, e)) length[model->thread[e]]++;
    uint32_t threads = 0;
    for (uint32_t t = 0; t < model->threads; t++) {
        m->result.accesses += length[t];
        if (length[t] > 0) length[threads++] = length[t];
    }
    m->result.threads = threads;
    m->result.size[HD_COVER_ALL] = hd_size_interleavings(length, threads);
    m->result.size[HD_COVER_TPAIR] = over_pairs(length, threads, threads);
    free(length);
}

struct hd_cover_measure hd_cover_measure(const struct hd_model *model) {
    struct measure m = {.model = model};
    for (unsigned c = 0; c < HD_CRITERION_COUNT; c++) m.result.size[c] = hd_size_of(0);
    count_threads(&m);
    m.thread = hd_zalloc(model->threads, sizeof *m.thread);
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        m.result.variables++;
        measure_location(&m, l);
    }
    /* A run is one order of each kind; a read sees one write. */
    uint64_t thread_pairs = (uint64_t)m.result.threads * (m.result.threads - 1) / 2;
    m.result.covered[HD_COVER_ALL] = m.result.threads > 0;
    m.result.covered[HD_COVER_TPAIR] = m.result.threads > 0 ? thread_pairs : 0;
    m.result.covered[HD_COVER_SVAR] = m.result.covered[HD_COVER_TPAIR] * m.result.variables;
    m.result.covered[HD_COVER_DEF_USE] = m.result.covered[HD_COVER_LR_DEF] = m.result.reads;
    hd_vector_free(&m.here);
    hd_vector_free(&m.length);
    free(m.thread);
    free(m.room);
    return m.result;
}
