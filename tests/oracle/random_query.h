/* Questions to ask about a small execution: all races, and random ones of every shape that a query
 * can have. */
#ifndef HEDDLE_TESTS_ORACLE_RANDOM_QUERY_H
#define HEDDLE_TESTS_ORACLE_RANDOM_QUERY_H

#include "oracle/random_trace.h"
#include "oracle/reorder_facts.h"

enum { QUERY_STOPS = 4, QUERY_ORDERS = 4 };

struct question {
    const char *shape;
    struct hd_stop stop[QUERY_STOPS];
    struct hd_precedes order[QUERY_ORDERS];
    uint32_t stops, orders, reader, writer;
    /* relaxed: what is left free by branches, which come right before the events of a set */
    bool relaxed;
    uint64_t branch;
    uint32_t branches[64];
};

/* Branches as numbers of the events. */
static inline void question_relax(struct question *q, uint64_t branch) {
    q->relaxed = true;
    q->branch = branch;
    for (uint32_t e = 0; e < 64; e++) {
        q->branches[e] = e > 0 ? q->branches[e - 1] : 0;
        q->branches[e] += (uint32_t)(branch >> e & 1);
    }
}

/* Valid as long as the question is. */
static inline struct hd_query question_query(const struct question *q) {
    return (struct hd_query){q->stop,
                             q->stops,
                             q->order,
                             q->orders,
                             q->reader,
                             q->writer,
                             q->relaxed ? q->branches : NULL};
}

static inline void question_print(FILE *out, const struct question *q) {
    fprintf(out, "%s:", q->shape);
    for (uint32_t i = 0; i < q->stops; i++)
        fprintf(out, " %u %s", q->stop[i].event, q->stop[i].executed ? "executed" : "next");
    for (uint32_t i = 0; i < q->orders; i++)
        fprintf(out, " %u before %u", q->order[i].before, q->order[i].after);
    if (q->reader != HD_NONE && q->writer != HD_NONE)
        fprintf(out, " %u reads from %u", q->reader, q->writer);
    else if (q->reader != HD_NONE)
        fprintf(out, " %u reads the initial value", q->reader);
    if (q->relaxed) fprintf(out, " relaxed, branches 0x%llx", (unsigned long long)q->branch);
}

static inline bool accesses_meet(const struct hd_model *model, uint32_t a, uint32_t b) {
    for (uint32_t l = 0; l < model->locations; l++)
        if (small_touches(model, a, l) && small_touches(model, b, l)) return true;
    return false;
}

static inline bool accesses_race(const struct hd_model *model, uint32_t a, uint32_t b) {
    return model->thread[a] != model->thread[b] && hd_model_is_access(model, a) &&
           hd_model_is_access(model, b) &&
           (hd_model_is_write(model, a) || hd_model_is_write(model, b)) &&
           !(hd_model_is_atomic(model, a) && hd_model_is_atomic(model, b)) &&
           accesses_meet(model, a, b);
}

static inline struct question question_start(const char *shape) {
    return (struct question){.shape = shape, .reader = HD_NONE, .writer = HD_NONE};
}

static inline struct question race_question(uint32_t a, uint32_t b) {
    struct question q = question_start("race");
    q.stop[q.stops++] = (struct hd_stop){a, false};
    q.stop[q.stops++] = (struct hd_stop){b, false};
    return q;
}

/* a, c, b: consecutive accesses of one thread and one of another to the location. */
static inline bool atomicity_question(const struct hd_model *m, struct dice *dice,
                                      struct question *q) {
    uint32_t a = roll(dice, m->events), c = roll(dice, m->events), b = a + 1;
    if (!hd_model_is_access(m, a) || !hd_model_is_access(m, c)) return false;
    if (m->thread[a] == m->thread[c] || !accesses_meet(m, a, c)) return false;
    while (b < m->events &&
           (m->thread[b] != m->thread[a] || !hd_model_is_access(m, b) || !accesses_meet(m, a, b)))
        b++;
    if (b == m->events) return false;
    *q = question_start("atomicity");
    q->stop[q->stops++] = (struct hd_stop){c, true};
    q->stop[q->stops++] = (struct hd_stop){b, false};
    q->order[q->orders++] = (struct hd_precedes){a, c};
    return true;
}

static inline bool is_acquire(const struct hd_model *m, uint32_t event) {
    return m->kind[event] == HD_EV_ACQUIRE || m->kind[event] == HD_EV_READ_ACQUIRE;
}

static inline bool thread_stops(const struct hd_model *m, const struct question *q,
                                uint32_t thread) {
    for (uint32_t i = 0; i < q->stops; i++)
        if (m->thread[q->stop[i].event] == thread) return true;
    return false;
}

static inline bool deadlock_question(const struct hd_model *m, struct dice *dice,
                                     struct question *q) {
    *q = question_start("deadlock");
    uint32_t wanted = 1 + roll(dice, 3);
    for (unsigned tries = 0; q->stops < wanted && tries < 20; tries++) {
        uint32_t e = roll(dice, m->events);
        if (is_acquire(m, e) && !thread_stops(m, q, m->thread[e]))
            q->stop[q->stops++] = (struct hd_stop){e, false};
    }
    return q->stops > 0;
}

static inline bool reader_question(const struct hd_model *m, struct dice *dice,
                                   struct question *q) {
    uint32_t r = roll(dice, m->events), w = roll(dice, m->events + 1);
    if (!hd_model_is_read(m, r)) return false;
    if (w == m->events)
        w = HD_NONE;
    else if (w == r || !hd_model_is_write(m, w) || !accesses_meet(m, r, w))
        return false;
    *q = question_start("reader");
    q->reader = r;
    q->writer = w;
    q->stop[q->stops++] = (struct hd_stop){r, true};
    if (roll(dice, 4) == 0) { /* and another thread somewhere */
        uint32_t e = roll(dice, m->events);
        if (!thread_stops(m, q, m->thread[e]))
            q->stop[q->stops++] = (struct hd_stop){e, roll(dice, 2) == 0};
    }
    return true;
}

/* Any stops, any orders. */
static inline bool order_question(const struct hd_model *m, struct dice *dice, struct question *q) {
    *q = question_start("order");
    uint32_t stops = roll(dice, 4), orders = roll(dice, 4);
    for (uint32_t i = 0; i < stops; i++) {
        uint32_t e = roll(dice, m->events);
        if (!thread_stops(m, q, m->thread[e]))
            q->stop[q->stops++] = (struct hd_stop){e, roll(dice, 2) == 0};
    }
    for (uint32_t i = 0; i < orders; i++) {
        uint32_t a = roll(dice, m->events), b = roll(dice, m->events);
        if (a != b) q->order[q->orders++] = (struct hd_precedes){a, b};
    }
    return q->stops + q->orders > 0;
}

/* An update that may read anything, and a read of what it writes. */
static inline bool update_question(const struct hd_model *m, struct dice *dice,
                                   struct question *q) {
    uint32_t u = roll(dice, m->events), r = roll(dice, m->events), e = roll(dice, m->events);
    if (!hd_model_is_read(m, u) || !hd_model_is_write(m, u)) return false;
    *q = question_start("update");
    q->stop[q->stops++] = (struct hd_stop){u, true};
    for (uint32_t i = 0; i < m->events && m->from[r] != u; i++) r = (r + 1) % m->events;
    if (m->from[r] == u && r != e) q->order[q->orders++] = (struct hd_precedes){e, r};
    /* best with the write that it read from not there */
    e = roll(dice, 2) && m->from[u] != HD_NONE ? m->from[u] : roll(dice, m->events);
    if (!thread_stops(m, q, m->thread[e]))
        q->stop[q->stops++] = (struct hd_stop){e, roll(dice, 2) == 0};
    return true;
}

static inline bool random_question(const struct hd_model *m, struct dice *dice,
                                   struct question *q) {
    switch (roll(dice, 6)) {
    case 4:
        return update_question(m, dice, q);
    case 0:
        return deadlock_question(m, dice, q);
    case 1:
    case 2:
        return atomicity_question(m, dice, q);
    case 3:
        return reader_question(m, dice, q);
    default:
        return order_question(m, dice, q);
    }
}

/* All races and `others` tries at random shapes. Returns how many questions there are. */
static inline uint32_t make_questions(const struct hd_model *m, uint64_t seed, uint32_t others,
                                      struct question *list, uint32_t room) {
    uint32_t count = 0;
    for (uint32_t a = 0; a < m->events; a++)
        for (uint32_t b = a + 1; b < m->events && count < room; b++)
            if (accesses_race(m, a, b)) list[count++] = race_question(a, b);
    struct dice dice = {seed ^ 0x5bd1e995u};
    for (uint32_t i = 0; m->events > 0 && i < others && count < room; i++)
        if (random_question(m, &dice, &list[count])) {
            if (roll(&dice, 4) == 0) {
                uint64_t branch = 0;
                for (uint32_t e = 0; e < m->events; e++)
                    branch |= (uint64_t)(roll(&dice, 3) == 0) << e;
                question_relax(&list[count], branch);
            }
            count++;
        }
    return count;
}

/* ---- models --------------------------------------------------------------------------------- */

/* False if the text is not a well-formed trace and does not say so. */
static inline bool model_of_text(const struct text_trace *text, struct hd_model *model,
                                 struct hd_error *error) {
    char joined[TEXT_LINES * TEXT_WIDTH];
    size_t length = text_join(text, joined, sizeof joined);
    struct hd_trace trace;
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    struct hd_model_options lenient = {.lenient = text->lenient};
    return hd_trace_read(joined, length, "random", &options, &trace, error) &&
           hd_model_build(&trace, &lenient, model, error);
}

static inline const char *reading_name(enum hd_reading reading) {
    return reading == HD_CSR ? "csr" : reading == HD_CDSR ? "cdsr" : "ua";
}

#endif
