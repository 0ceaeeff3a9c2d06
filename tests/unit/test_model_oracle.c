/* The model against the naive one of tests/oracle/ on random small traces. A failure prints the
 * seed and the trace; HEDDLE_SEED=N runs that one alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "oracle/model_naive.h"

#define TRACES 3000

/* Short traces to read when they fail, and some long ones. */
static unsigned steps_of(uint64_t number) { return number % 64 == 0 ? 400 : 30 + number % 8 * 15; }

static uint64_t seed;
static const struct hd_trace *at_hand;

#define CHECK(condition, ...)                                                           \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "# seed %llu: %s: ", (unsigned long long)seed, #condition); \
            fprintf(stderr, __VA_ARGS__);                                               \
            fprintf(stderr, "\n");                                                      \
            print_trace(at_hand);                                                       \
            fail();                                                                     \
        }                                                                               \
    } while (0)

static bool in_list(const uint32_t *list, uint32_t count, uint32_t value) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == value) return true;
    return false;
}

static uint32_t alloc_of(const struct hd_model *m, uint32_t location) {
    uint32_t block = m->location[location].block;
    return block == HD_NONE ? HD_NONE : m->block[block].alloc;
}

/* Every event touches exactly its bytes (of a whole block: the observed ones), and there are as
 * many locations as there are runs of bytes that nothing tells apart. */
static void check_locations(const struct naive *n, const struct hd_model *m) {
    bool(*touched)[NAIVE_BYTES] = calloc(n->events + 1, sizeof *touched);
    for (uint32_t e = 0; e < n->events; e++) {
        const uint32_t *list;
        uint32_t count = hd_model_locations(m, e, &list);
        uint32_t bytes = 0;
        for (uint32_t i = 0; i < count; i++) {
            CHECK(list[i] < m->locations, "event %u", e);
            const struct hd_location *l = &m->location[list[i]];
            CHECK(!in_list(list, i, list[i]), "event %u location twice", e);
            for (uint64_t a = l->address; a < l->address + l->bytes; a++) {
                uint32_t b = (uint32_t)(a - RANDOM_BASE);
                CHECK(naive_touches(n, e, b, alloc_of(m, list[i])), "event %u byte %u", e, b);
                bytes++;
            }
        }
        uint32_t expected = 0;
        for (uint32_t b = 0; b < NAIVE_BYTES; b++)
            if (b >= n->low[e] && b < n->high[e])
                expected += n->block[e] == HD_NONE || naive_observed(n, b, n->block[e]);
        CHECK(bytes == expected, "event %u touches %u bytes, not %u", e, bytes, expected);
        if (count > 0 && m->kind[e] != HD_EV_FREE) CHECK(m->object[e] == list[0], "event %u", e);
    }
    free(touched);
    uint32_t runs = 0;
    for (uint32_t life = 0; life <= n->events; life++) {
        uint32_t id = life == n->events ? HD_NONE : life;
        if (id != HD_NONE && n->trace->kind[id] != HD_EV_ALLOC) continue;
        for (uint32_t b = 0; b < NAIVE_BYTES; b++)
            if (naive_observed(n, b, id) &&
                (b == 0 || !naive_observed(n, b - 1, id) || !naive_same(n, b - 1, b, id)))
                runs++;
    }
    CHECK(runs == m->locations, "%u runs, %u locations", runs, m->locations);
}

static void check_location_lists(const struct naive *n, const struct hd_model *m) {
    for (uint32_t l = 0; l < m->locations; l++) {
        const uint32_t *list = m->location_event + m->location_start[l];
        uint32_t count = m->location_start[l + 1] - m->location_start[l], expected = 0;
        uint32_t byte = (uint32_t)(m->location[l].address - RANDOM_BASE);
        bool several = false, written = false;
        for (uint32_t e = 0; e < n->events; e++)
            expected += naive_touches(n, e, byte, alloc_of(m, l));
        CHECK(count == expected, "location %u has %u events, not %u", l, count, expected);
        for (uint32_t i = 0; i < count; i++) {
            CHECK(i == 0 || list[i] > list[i - 1], "location %u out of order", l);
            CHECK(naive_touches(n, list[i], byte, alloc_of(m, l)), "location %u event %u", l,
                  list[i]);
            several = several || m->thread[list[i]] != m->thread[list[0]];
            written = written || naive_writes(m->kind[list[i]]);
        }
        CHECK(m->location[l].shared == (several && written), "location %u", l);
        uint32_t block = m->location[l].block;
        CHECK(l >= m->block_start[block == HD_NONE ? 0 : block] || block == HD_NONE, "%u", l);
        CHECK(l < m->block_start[block == HD_NONE ? 0 : block + 1], "location %u", l);
    }
}

static void check_reads_from(const struct naive *n, const struct hd_model *m) {
    for (uint32_t e = 0; e < n->events; e++) {
        const uint32_t *list;
        uint32_t count = hd_model_reads_from(m, e, &list);
        if (!naive_reads(m->kind[e])) {
            CHECK(count == 0 && m->from[e] == HD_NONE, "event %u reads from something", e);
            continue;
        }
        uint32_t seen[NAIVE_BYTES], expected = 0, latest = HD_NONE;
        for (uint32_t b = 0; b < NAIVE_BYTES; b++) {
            if (b < n->low[e] || b >= n->high[e]) continue;
            uint32_t w = naive_last_write(n, e, b, n->life[e][b]);
            if (!in_list(seen, expected, w)) seen[expected++] = w;
            if (w != HD_NONE && (latest == HD_NONE || w > latest)) latest = w;
        }
        CHECK(count == expected, "event %u reads from %u writes, not %u", e, count, expected);
        for (uint32_t i = 0; i < count; i++)
            CHECK(in_list(seen, expected, list[i]), "event %u reads from %u", e, list[i]);
        CHECK(m->from[e] == latest, "event %u: from is %u, not %u", e, m->from[e], latest);
    }
}

static void check_sections(const struct naive *n, const struct hd_model *m) {
    uint32_t total = 0;
    for (uint32_t e = 0; e < n->events; e++) {
        uint32_t open[NAIVE_EVENTS], held[NAIVE_EVENTS];
        uint32_t expected = naive_open_sections(n, e, open);
        uint32_t count = hd_model_held(m, e, held, NAIVE_EVENTS);
        CHECK(count == expected, "event %u is in %u sections, not %u", e, count, expected);
        for (uint32_t i = 0; i < count; i++) {
            const struct hd_section *s = &m->section[held[i]];
            CHECK(s->acquire == open[expected - 1 - i], "event %u section %u", e, held[i]);
            CHECK(s->thread == m->thread[e], "event %u", e);
            CHECK(s->read_mode == (m->kind[s->acquire] == HD_EV_READ_ACQUIRE), "event %u", e);
            CHECK(s->acquire <= e && (s->release == HD_NONE || s->release >= e), "event %u", e);
            CHECK(m->object[s->acquire] == s->lock, "event %u", e);
        }
        CHECK(m->event_section[e] == (count > 0 ? held[0] : HD_NONE), "event %u", e);
        bool opens = expected > 0 && open[expected - 1] == e;
        if (opens) {
            CHECK(held[0] == total, "event %u: sections are not in order", e);
            CHECK(m->section[total].outer == (count > 1 ? held[1] : HD_NONE), "event %u", e);
            CHECK(m->section[total].held == count - 1, "event %u", e);
            total++;
        }
        /* A section lasts until the first event of its thread that is not in it. */
        for (uint32_t i = 0; i < count; i++) {
            uint32_t release = m->section[held[i]].release;
            uint32_t again[NAIVE_EVENTS], last = e;
            for (uint32_t f = e + 1; f < n->events; f++)
                if (m->thread[f] == m->thread[e]) {
                    if (!in_list(again, naive_open_sections(n, f, again),
                                 m->section[held[i]].acquire))
                        break;
                    last = f;
                    if (f == n->events - 1) break;
                }
            if (release != HD_NONE && opens) CHECK(release == last, "section %u", held[i]);
        }
        for (uint32_t f = 0; f < e; f++) {
            bool both = hd_kind_class(m->kind[e]) == HD_CLASS_LOCK &&
                        hd_kind_class(m->kind[f]) == HD_CLASS_LOCK;
            if (both)
                CHECK(naive_same_object(n, e, f) == (m->object[e] == m->object[f]), "%u %u", e, f);
        }
    }
    CHECK(total == m->sections, "%u sections, not %u", m->sections, total);
    for (uint32_t l = 0, seen = 0; l < m->locks; l++)
        for (uint32_t i = m->lock_start[l]; i < m->lock_start[l + 1]; i++) {
            CHECK(m->section[m->lock_section[i]].lock == l, "lock %u", l);
            CHECK(i == m->lock_start[l] || m->lock_section[i] > m->lock_section[i - 1], "%u", l);
            CHECK(i == seen++, "lock %u", l);
        }
}

/* A failed try has a section of another thread to blame, open at the time and on its lock. */
static void check_failed_tries(const struct naive *n, const struct hd_model *m) {
    for (uint32_t e = 0; e < n->events; e++) {
        if (m->kind[e] != HD_EV_TRY_FAILED) continue;
        uint32_t s = hd_model_failed_by(m, e);
        CHECK(s != HD_NONE, "event %u", e);
        const struct hd_section *section = &m->section[s];
        CHECK(section->lock == m->object[e] && section->thread != m->thread[e], "event %u", e);
        CHECK(section->acquire < e && (section->release == HD_NONE || section->release > e),
              "event %u", e);
    }
}

static void check_edges(const struct naive *n, const struct hd_model *m, bool hubs) {
    for (uint32_t i = 0; i < m->edges; i++) {
        const struct hd_edge *edge = &m->edge[i];
        CHECK(edge->from < edge->to && edge->to < n->events, "edge %u", i);
        CHECK(i == 0 || m->edge[i - 1].to <= edge->to, "edge %u", i);
        CHECK(n->edge[edge->from][edge->to] || (hubs && edge->type == HD_EDGE_BARRIER),
              "edge %u -> %u should not be there", edge->from, edge->to);
    }
    for (uint32_t e = 0; e < n->events; e++) {
        const uint32_t *list;
        uint32_t in = hd_model_edges_into(m, e, &list), expected_in = 0, expected_out = 0;
        /* An event may be after another for two reasons: a child that joins its parent. */
        uint32_t in_again = 0, out_again = 0;
        for (uint32_t i = 0; i < in; i++) {
            CHECK(m->edge[list[i]].to == e, "event %u", e);
            for (uint32_t j = 0; j < i; j++)
                in_again += m->edge[list[i]].from == m->edge[list[j]].from;
        }
        uint32_t out = hd_model_edges_from(m, e, &list);
        for (uint32_t i = 0; i < out; i++) {
            CHECK(m->edge[list[i]].from == e, "event %u", e);
            for (uint32_t j = 0; j < i; j++)
                out_again += m->edge[list[i]].to == m->edge[list[j]].to;
        }
        for (uint32_t f = 0; f < n->events; f++) {
            expected_in += n->edge[f][e];
            expected_out += n->edge[e][f];
        }
        if (hubs) continue;
        CHECK(in - in_again == expected_in, "event %u has %u edges in, not %u", e, in, expected_in);
        CHECK(out - out_again == expected_out, "event %u has %u edges out, not %u", e, out,
              expected_out);
    }
}

/* With hubs a LEAVE may come before others; nothing else may differ. */
static void check_clocks(const struct naive *n, const struct hd_model *m, bool hubs) {
    struct hd_clocks *clocks = hd_clocks_build(m);
    CHECK(clocks != NULL, "no clocks");
    for (uint32_t b = 0; b < n->events; b++) {
        uint32_t counted[RANDOM_THREADS] = {0}, clock[RANDOM_THREADS];
        for (uint32_t a = 0; a < n->events; a++) {
            bool expected = a < b && n->before[a][b];
            bool leave = hubs && m->kind[a] == HD_EV_BARRIER_LEAVE;
            if (!leave) CHECK(hd_clocks_before(clocks, a, b) == expected, "%u before %u", a, b);
            if (expected || a == b) counted[m->thread[a]]++;
        }
        hd_clocks_get(clocks, b, clock);
        for (uint32_t t = 0; t < m->threads; t++)
            CHECK(clock[t] == counted[t] || (hubs && clock[t] == counted[t] + 1),
                  "clock of %u for thread %u is %u, not %u", b, t, clock[t], counted[t]);
    }
    hd_clocks_free(clocks);
}

static void check_threads(const struct naive *n, const struct hd_model *m) {
    uint32_t position[RANDOM_THREADS] = {0};
    for (uint32_t e = 0; e < n->events; e++) {
        uint16_t t = m->thread[e];
        CHECK(hd_model_position(m, e) == position[t], "event %u", e);
        CHECK(m->thread_event[m->thread_start[t] + position[t]] == e, "event %u", e);
        position[t]++;
    }
}

static void check_blocks(const struct naive *n, const struct hd_model *m) {
    uint32_t blocks = 0;
    for (uint32_t e = 0; e < n->events; e++) {
        if (n->trace->kind[e] == HD_EV_ALLOC) {
            CHECK(m->object[e] == blocks && m->block[blocks].alloc == e, "event %u", e);
            blocks++;
        } else if (n->trace->kind[e] == HD_EV_FREE) {
            uint32_t block = m->object[e];
            CHECK((block == HD_NONE ? HD_NONE : m->block[block].alloc) == n->block[e], "%u", e);
            if (block != HD_NONE) CHECK(m->block[block].free <= e, "event %u", e);
        }
    }
    CHECK(m->blocks == blocks, "%u blocks", m->blocks);
}

static void check_trace(uint64_t chosen) {
    seed = chosen;
    struct hd_trace original = random_trace(seed, steps_of(seed)), copy = hand_copy(&original);
    at_hand = &original;
    struct hd_model model;
    struct hd_error error = {0};
    CHECK(hd_model_build(&copy, NULL, &model, &error), "%s", error.message);
    struct naive naive = naive_build(&original);
    bool hubs = original.threads > 8;
    check_threads(&naive, &model);
    check_blocks(&naive, &model);
    check_locations(&naive, &model);
    check_location_lists(&naive, &model);
    check_reads_from(&naive, &model);
    check_sections(&naive, &model);
    check_failed_tries(&naive, &model);
    check_edges(&naive, &model, hubs);
    check_clocks(&naive, &model, hubs);
    naive_free(&naive);
    hd_model_free(&model);
    hand_free(&original);
}

static void random_traces(void **state) {
    (void)state;
    const char *chosen = getenv("HEDDLE_SEED");
    if (chosen != NULL) {
        check_trace(strtoull(chosen, NULL, 0));
        return;
    }
    uint64_t first = 1, traces = getenv("HEDDLE_TEST_FULL") != NULL ? 20 * TRACES : TRACES;
    printf("# seeds %llu to %llu\n", (unsigned long long)first,
           (unsigned long long)(first + traces - 1));
    for (uint64_t s = first; s < first + traces; s++) check_trace(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
