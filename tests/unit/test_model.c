/* The model on traces small enough to check by hand: what each kind of event means, what is not
 * well-formed and how it is repaired, and limits. Random traces: test_model_oracle.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/model.h"
#include "model/summary.h"
#include "oracle/model_random.h"

static struct hd_model model;
static struct hd_error error;

static bool try_build(const char *text, bool lenient) {
    struct hd_trace trace;
    struct hd_model_options options = {.lenient = lenient};
    if (!hd_trace_read(text, strlen(text), "test", NULL, &trace, &error)) {
        fprintf(stderr, "# %s\n", error.message);
        fail();
    }
    return hd_model_build(&trace, &options, &model, &error);
}

static void build(const char *text) {
    if (!try_build(text, false)) {
        fprintf(stderr, "# %s\n", error.message);
        fail();
    }
}

static void build_hand(struct hand *hand) {
    if (!hd_model_build(&hand->trace, NULL, &model, &error)) {
        fprintf(stderr, "# %s\n", error.message);
        fail();
    }
}

static bool has_edge(uint32_t from, uint32_t to, enum hd_edge_type type) {
    for (uint32_t i = 0; i < model.edges; i++)
        if (model.edge[i].from == from && model.edge[i].to == to && model.edge[i].type == type)
            return true;
    return false;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void partial_overlaps(void **state) {
    (void)state;
    build("A|w(x:8)|1\n"   /* 0 */
          "A|w(x+4:4)|2\n" /* 1 */
          "B|r(x:8)|3\n"   /* 2: both */
          "B|r(x:4)|4\n"   /* 3: the first */
          "B|r(x+6:4)|5\n" /* 4: the second, and bytes nobody wrote */
          "B|r(y:8)|6\n"); /* 5: initial value */
    const uint32_t *list;
    assert_int_equal(model.locations, 5); /* x+0..3, x+4..5, x+6..7, x+8..9, y */
    assert_int_equal(hd_model_locations(&model, 2, &list), 3);
    assert_int_equal(hd_model_reads_from(&model, 2, &list), 2);
    assert_int_equal(list[0], 0);
    assert_int_equal(list[1], 1);
    assert_int_equal(model.from[2], 1);
    assert_int_equal(model.from[3], 0);
    assert_int_equal(hd_model_reads_from(&model, 4, &list), 2);
    assert_int_equal(list[0], 1);
    assert_int_equal(list[1], HD_NONE);
    assert_int_equal(model.from[4], 1);
    assert_int_equal(model.from[5], HD_NONE);
    assert_false(model.location[model.object[5]].shared);
    assert_true(model.location[model.object[3]].shared);
    hd_model_free(&model);
}

static void lives_of_memory(void **state) {
    (void)state;
    build("A|alloc(p:16)|1\n" /* 0 */
          "A|w(p:8)|2\n"      /* 1 */
          "A|free(p)|3\n"     /* 2 */
          "B|r(p:8)|4\n"      /* 3: use after free, same life */
          "B|alloc(p:16)|5\n" /* 4 */
          "B|r(p:8)|6\n");    /* 5: another life */
    assert_int_equal(model.blocks, 2);
    assert_int_equal(model.locations, 2);
    assert_int_equal(model.object[1], model.object[3]);
    assert_int_not_equal(model.object[3], model.object[5]);
    assert_int_equal(model.from[3], 2); /* free is a write */
    assert_int_equal(model.from[5], HD_NONE);
    assert_int_equal(model.object[2], 0);
    assert_int_equal(model.block[0].alloc, 0);
    assert_int_equal(model.block[0].free, 2);
    assert_int_equal(model.block[1].free, HD_NONE);
    uint32_t l = model.object[1];
    assert_int_equal(model.location[l].block, 0);
    assert_true(model.location[l].shared);
    assert_int_equal(model.location_start[l + 1] - model.location_start[l], 3);
    assert_int_equal(model.location_event[model.location_start[l] + 1], 2);
    hd_model_free(&model);
}

/* An end of a block costs what was seen of the block, not what it holds. */
static void large_block(void **state) {
    (void)state;
    struct hand hand;
    hand_start(&hand, 2, 64);
    uint64_t size = (uint64_t)1 << 40;
    hand_add(&hand, 0, HD_EV_ALLOC, HD_BLOCK_MMAP, 0x100000000, size);
    for (uint64_t i = 0; i < 20; i++)
        hand_add(&hand, 0, HD_EV_WRITE, 8, 0x100000000 + (i << 34), NO_EXTRA);
    uint32_t end = hand_add(&hand, 1, HD_EV_FREE, HD_BLOCK_MMAP, 0x100000000, size);
    uint32_t after = hand_add(&hand, 0, HD_EV_READ, 8, 0x100000000, NO_EXTRA);
    build_hand(&hand);
    const uint32_t *list;
    assert_int_equal(hd_model_locations(&model, end, &list), 20);
    assert_int_equal(model.locations, 20);
    assert_int_equal(model.from[after], end);
    for (uint32_t l = 0; l < 20; l++) assert_true(model.location[l].shared);
    hd_model_free(&model);
}

static void huge_access(void **state) {
    (void)state;
    struct hand hand;
    hand_start(&hand, 1, 8);
    hand_add(&hand, 0, HD_EV_WRITE, 0, 0x1000, (uint64_t)5 << 30);
    hand_add(&hand, 0, HD_EV_READ, 1, 0x1000 + ((uint64_t)3 << 30), NO_EXTRA);
    build_hand(&hand);
    const uint32_t *list;
    uint64_t bytes = 0;
    uint32_t count = hd_model_locations(&model, 0, &list);
    for (uint32_t i = 0; i < count; i++) bytes += model.location[list[i]].bytes;
    assert_int_equal(bytes, (uint64_t)5 << 30);
    assert_int_equal(model.from[1], 0);
    hd_model_free(&model);
}

static void access_of_no_bytes(void **state) {
    (void)state;
    struct hand hand;
    hand_start(&hand, 1, 8);
    hand_add(&hand, 0, HD_EV_WRITE, 8, 0x1000, NO_EXTRA);
    hand_add(&hand, 0, HD_EV_READ, 0, 0x1000, 0);
    hand_add(&hand, 0, HD_EV_FREE, 0, 0x9000, NO_EXTRA); /* of an unknown block of unknown size */
    build_hand(&hand);
    const uint32_t *list;
    assert_int_equal(model.object[1], HD_NONE);
    assert_int_equal(hd_model_locations(&model, 1, &list), 0);
    assert_int_equal(hd_model_reads_from(&model, 1, &list), 0);
    assert_int_equal(hd_model_locations(&model, 2, &list), 0);
    assert_int_equal(model.locations, 1);
    hd_model_free(&model);
}

static void double_free_is_two_writes(void **state) {
    (void)state;
    build("A|alloc(p:8)|1\nA|w(p:8)|2\nA|free(p)|3\nB|free(p)|4\n");
    assert_int_equal(model.object[3], 0);
    assert_int_equal(model.block[0].free, 2);
    assert_int_equal(model.location_start[1], 3);
    hd_model_free(&model);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static void recursive_lock_is_one_section(void **state) {
    (void)state;
    build("A|acq(l)|1\nA|acq(l)|2\nA|w(x)|3\nA|rel(l)|4\nA|w(x)|5\nA|rel(l)|6\nA|w(x)|7\n");
    assert_int_equal(model.sections, 1);
    assert_int_equal(model.section[0].acquire, 0);
    assert_int_equal(model.section[0].release, 5);
    for (uint32_t e = 0; e < 6; e++) assert_int_equal(model.event_section[e], 0);
    assert_int_equal(model.event_section[6], HD_NONE);
    hd_model_free(&model);
}

static void read_and_write_modes(void **state) {
    (void)state;
    build("A|racq(l)|1\nB|racq(l)|2\nA|rrel(l)|3\nB|rrel(l)|4\nB|acq(l)|5\nA|tryfail(l)|6\n"
          "B|rel(l)|7\n");
    assert_int_equal(model.sections, 3);
    assert_true(model.section[0].read_mode && model.section[1].read_mode);
    assert_false(model.section[2].read_mode);
    assert_int_equal(model.lock[0].type, HD_LOCK_RWLOCK);
    assert_int_equal(hd_model_failed_by(&model, 5), 2);
    hd_model_free(&model);
}

static void hand_over_hand(void **state) {
    (void)state;
    build("A|acq(a)|1\nA|acq(b)|2\nA|rel(a)|3\nA|acq(c)|4\nA|rel(b)|5\nA|w(x)|6\nA|rel(c)|7\n"
          "A|w(x)|8\n");
    uint32_t held[4];
    assert_int_equal(hd_model_held(&model, 5, held, 4), 1);
    assert_int_equal(model.section[held[0]].acquire, 3);
    assert_int_equal(hd_model_held(&model, 2, held, 4), 2); /* b, and a which it releases */
    assert_int_equal(hd_model_held(&model, 2, held, 1), 2); /* counted beyond the room */
    assert_int_equal(model.event_section[7], HD_NONE);
    assert_int_equal(model.section[2].outer, 1);
    hd_model_free(&model);
}

static void lock_in_reborn_memory(void **state) {
    (void)state;
    struct hand hand;
    hand_start(&hand, 2, 16);
    hand_add(&hand, 0, HD_EV_ALLOC, 0, 0x1000, 64);
    hand_add(&hand, 0, HD_EV_ACQUIRE, 0, 0x1010, NO_EXTRA);
    hand_add(&hand, 0, HD_EV_RELEASE, 0, 0x1010, NO_EXTRA);
    hand_add(&hand, 0, HD_EV_FREE, 0, 0x1000, NO_EXTRA);
    hand_add(&hand, 1, HD_EV_ALLOC, 0, 0x1000, 64);
    hand_add(&hand, 1, HD_EV_ACQUIRE, 0, 0x1010, NO_EXTRA);
    build_hand(&hand);
    assert_int_equal(model.locks, 2);
    assert_int_equal(model.lock[0].block, 0);
    assert_int_equal(model.lock[1].block, 1);
    assert_int_equal(model.lock[1].operand, 0x1010);
    assert_int_equal(model.section[1].release, HD_NONE); /* open at the end */
    hd_model_free(&model);
}

/* ---- must-order --------------------------------------------------------------------------------
 */

static void forks_and_joins(void **state) {
    (void)state;
    build("A|fork(B)|1\nA|fork(C)|2\nB|w(x)|3\nA|w(y)|4\nB|w(x)|5\nA|join(B)|6\nA|join(C)|7\n");
    assert_true(has_edge(0, 2, HD_EDGE_FORK));
    assert_true(has_edge(4, 5, HD_EDGE_JOIN));
    assert_int_equal(model.edges, 2); /* C has no events and its fork is A's own */
    struct hd_clocks *clocks = hd_clocks_build(&model);
    assert_true(hd_clocks_before(clocks, 0, 2));
    assert_true(hd_clocks_before(clocks, 4, 6));
    assert_false(hd_clocks_before(clocks, 3, 4));
    assert_false(hd_clocks_before(clocks, 2, 2));
    uint32_t clock[3];
    hd_clocks_get(clocks, 6, clock);
    assert_int_equal(clock[0], 5);
    assert_int_equal(clock[model.thread[2]], 2);
    hd_clocks_free(clocks);
    hd_model_free(&model);
}

static void signal_that_woke(void **state) {
    (void)state;
    build("A|signal(c)|1\n" /* nobody waits yet */
          "B|acq(m)|2\nB|rel(m)|3\nA|signal(c)|4\nB|wait(c)|5\nB|acq(m)|6\n");
    assert_int_equal(model.edges, 1);
    assert_true(has_edge(3, 4, HD_EDGE_SIGNAL));
    hd_model_free(&model);
}

static void barrier_orders_all_arrivals(void **state) {
    (void)state;
    build("A|w(x)|1\nA|barrier(b)|2\nB|barrier(b)|3\nC|barrier(b)|4\nB|r(x)|5\nA|r(y)|6\n");
    /* B's and A's next events come after every arrival; C has none. */
    assert_true(has_edge(1, 4, HD_EDGE_BARRIER) && has_edge(3, 4, HD_EDGE_BARRIER));
    assert_true(has_edge(2, 5, HD_EDGE_BARRIER) && has_edge(3, 5, HD_EDGE_BARRIER));
    assert_int_equal(model.edges, 4);
    hd_model_free(&model);
}

/* Many threads: the edges stay linear in their number, and the order among all events but the
 * departures themselves is the same. */
static void barrier_of_many(void **state) {
    (void)state;
    enum { THREADS = 200, ROUNDS = 3 };
    struct hand hand;
    hand_start(&hand, THREADS, THREADS * ROUNDS * 4);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (uint32_t t = 0; t < THREADS; t++) {
            hand_add(&hand, t, HD_EV_WRITE, 4, 0x1000 + 4 * t, NO_EXTRA);
            hand_add(&hand, t, HD_EV_BARRIER_ARRIVE, 0, 0x9000, round);
        }
        for (uint32_t t = 0; t < THREADS; t++)
            hand_add(&hand, t, HD_EV_BARRIER_LEAVE, 0, 0x9000, round);
    }
    build_hand(&hand);
    assert_true(model.edges <= 2 * THREADS * ROUNDS);
    struct hd_clocks *clocks = hd_clocks_build(&model);
    for (uint32_t a = 0; a < model.events; a++) {
        if (model.kind[a] != HD_EV_WRITE) continue;
        uint32_t round = a / (THREADS * 3);
        for (uint32_t b = a + 1; b < model.events; b += 7) {
            bool other = model.thread[a] != model.thread[b];
            bool later = b / (THREADS * 3) > round || model.kind[b] == HD_EV_BARRIER_LEAVE;
            assert_int_equal(hd_clocks_before(clocks, a, b), !other || later);
        }
    }
    hd_clocks_free(clocks);
    hd_model_free(&model);
}

static void semaphore_tokens_in_order(void **state) {
    (void)state;
    build("A|seminit(s:1)|1\nA|post(s)|2\nA|post(s)|3\nB|wait(s)|4\nB|wait(s)|5\nC|wait(s)|6\n");
    assert_int_equal(model.edges, 2); /* the first takes the initial one */
    assert_true(has_edge(1, 4, HD_EDGE_POST));
    assert_true(has_edge(2, 5, HD_EDGE_POST));
    hd_model_free(&model);
    build("A|post(s)|1\nB|wait(s)|2\nB|wait(s)|3\n"); /* no seminit: the second is an initial one */
    assert_int_equal(model.edges, 1);
    hd_model_free(&model);
}

static void atomics_order_what_read_them(void **state) {
    (void)state;
    build("A|aw(f:4)|1\nB|ar(f:4)|2\nA|w(g:4)|3\nB|ar(g:4)|4\nB|arw(f:4)|5\nC|arw(f:4)|6\n"
          "C|r(f:4)|7\nA|fence()|8\n");
    assert_true(has_edge(0, 1, HD_EDGE_ATOMIC));
    assert_true(has_edge(0, 4, HD_EDGE_ATOMIC));
    assert_true(has_edge(4, 5, HD_EDGE_ATOMIC));
    assert_int_equal(model.edges, 3); /* not from a plain write, not to a plain read */
    assert_int_equal(model.from[6], 5);
    hd_model_free(&model);
}

/* ---- well-formedness ---------------------------------------------------------------------------
 */

struct broken {
    const char *rule;
    uint32_t event;
    const char *text;
};

static const struct broken broken[] = {
    {"release-without-acquire", 0, "A|rel(l)|1\n"},
    {"release-without-acquire", 1, "A|acq(l)|1\nB|rel(l)|2\n"},
    {"release-mode", 2, "B|racq(l)|1\nA|acq(k)|1\nA|rrel(k)|2\n"},
    {"two-holders", 1, "A|acq(l)|1\nB|acq(l)|2\n"},
    {"two-holders", 2, "A|racq(l)|1\nA|w(x)|1\nB|acq(l)|2\n"},
    {"two-holders", 1, "A|acq(l)|1\nB|racq(l)|2\n"},
    {"fork-or-join-of-itself", 0, "A|fork(A)|1\n"},
    {"fork-of-running", 1, "B|w(x)|1\nA|fork(B)|2\n"},
    {"fork-twice", 1, "A|fork(B)|1\nA|fork(B)|2\n"},
    {"join-before-end", 2, "A|fork(B)|1\nB|w(x)|2\nA|join(B)|3\nB|w(x)|4\n"},
    {"begin-not-first", 1, "A|w(x)|1\nA|begin()|2\n"},
    {"event-after-end", 1, "A|end()|1\nA|w(x)|2\n"},
    {"semaphore-empty", 1, "A|seminit(s:0)|1\nB|wait(s)|2\n"},
};

static void broken_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char event[32];
        snprintf(event, sizeof event, "event %u ", broken[i].event);
        assert_false(try_build(broken[i].text, false));
        if (error.code != HD_ERR_FORMAT || strstr(error.message, broken[i].rule) == NULL ||
            strstr(error.message, event) == NULL)
            fail_msg("%s: %s", broken[i].rule, error.message);
        assert_true(try_build(broken[i].text, true));
        assert_int_equal(model.warnings, 1);
        if (strstr(model.warning[0], broken[i].rule) == NULL) fail_msg("%s", model.warning[0]);
        hd_model_free(&model);
    }
}

/* Rules that a text trace cannot break. */
static void broken_rules_of_recordings(void **state) {
    (void)state;
    static const struct {
        const char *rule;
        struct {
            uint8_t thread, kind;
            uint64_t operand, extra;
        } event[5];
        unsigned events;
    } cases[] = {
        {"wait-without-signal", {{0, HD_EV_WAIT, 0x100, 7}}, 1},
        {"signal-twice", {{0, HD_EV_SIGNAL, 0x100, 7}, {1, HD_EV_SIGNAL, 0x100, 7}}, 2},
        {"unknown-thread", {{0, HD_EV_JOIN, 9, NO_EXTRA}}, 1},
        {"leave-without-arrive", {{0, HD_EV_BARRIER_LEAVE, 0x100, 1}}, 1},
        {"barrier-left-early",
         {{0, HD_EV_BARRIER_ARRIVE, 0x100, 1},
          {0, HD_EV_BARRIER_LEAVE, 0x100, 1},
          {1, HD_EV_BARRIER_ARRIVE, 0x100, 1}},
         3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int mode = 0; mode < 3; mode++) { /* strict, lenient, strict but cut short */
            struct hand hand;
            hand_start(&hand, 2, 8);
            for (unsigned e = 0; e < cases[i].events; e++)
                hand_add(&hand, cases[i].event[e].thread, cases[i].event[e].kind, 0,
                         cases[i].event[e].operand, cases[i].event[e].extra);
            struct hd_model_options options = {.lenient = mode == 1};
            hand.trace.end.whole = mode != 2;
            bool built = hd_model_build(&hand.trace, &options, &model, &error);
            if (mode == 0) {
                assert_false(built);
                if (strstr(error.message, cases[i].rule) == NULL) fail_msg("%s", error.message);
                continue;
            }
            assert_true(built);
            assert_int_equal(model.warnings, 1);
            hd_model_free(&model);
        }
    }
}

static void repairs(void **state) {
    (void)state;
    /* Two holders: the first one's section ends with its last event before the second's acquire,
     * and its own late release is ignored. */
    assert_true(
        try_build("A|acq(l)|1\nA|w(x)|2\nB|acq(l)|3\nA|w(x)|4\nA|rel(l)|5\nB|rel(l)|6\n", true));
    assert_int_equal(model.sections, 2);
    assert_int_equal(model.section[0].release, 1);
    assert_int_equal(model.section[1].release, 5);
    assert_int_equal(model.event_section[3], HD_NONE);
    assert_int_equal(model.warnings, 2);
    hd_model_free(&model);
    assert_true(try_build("A|fork(B)|1\nB|w(x)|2\nA|join(B)|3\nB|w(x)|4\n", true));
    assert_true(has_edge(1, 2, HD_EDGE_JOIN));
    hd_model_free(&model);
    /* A late arrival at a large barrier: who leaves after it is ordered after it, too. */
    struct hand hand;
    hand_start(&hand, 12, 64);
    for (uint32_t t = 0; t < 10; t++) hand_add(&hand, t, HD_EV_BARRIER_ARRIVE, 0, 0x900, 1);
    hand_add(&hand, 0, HD_EV_BARRIER_LEAVE, 0, 0x900, 1);
    uint32_t late = hand_add(&hand, 10, HD_EV_BARRIER_ARRIVE, 0, 0x900, 1);
    uint32_t leave = hand_add(&hand, 1, HD_EV_BARRIER_LEAVE, 0, 0x900, 1);
    struct hd_model_options lenient = {.lenient = true};
    assert_true(hd_model_build(&hand.trace, &lenient, &model, &error));
    assert_true(has_edge(late, leave, HD_EDGE_BARRIER));
    hd_model_free(&model);
}

static void repeated_warnings_are_counted(void **state) {
    (void)state;
    assert_true(try_build("A|rel(l)|1\nA|rel(l)|2\nA|rel(l)|3\nA|rel(l)|4\nA|rel(l)|5\n", true));
    assert_int_equal(model.warnings, 4);
    assert_non_null(strstr(model.warning[3], "2 more events break rule release-without-acquire"));
    hd_model_free(&model);
}

static void fine_without_begin_end_and_release(void **state) {
    (void)state;
    build("A|acq(l)|1\nA|w(x)|2\nB|r(x)|3\n");
    assert_int_equal(model.section[0].release, HD_NONE);
    assert_int_equal(model.warnings, 0);
    hd_model_free(&model);
}

/* ---- limits
 * -------------------------------------------------------------------------------------- */

static void empty_traces(void **state) {
    (void)state;
    build("");
    assert_int_equal(model.events, 0);
    assert_int_equal(model.locations, 0);
    struct hd_clocks *clocks = hd_clocks_build(&model);
    assert_non_null(clocks);
    hd_clocks_free(clocks);
    struct hd_summary summary;
    hd_summary_build(&model, 5, &summary);
    hd_summary_free(&summary);
    hd_model_free(&model);
    struct hand hand;
    hand_start(&hand, 3, 4); /* threads, but no events */
    build_hand(&hand);
    assert_int_equal(model.thread_start[3], 0);
    hd_model_free(&model);
    struct hd_model nothing = {0};
    hd_model_free(&nothing);
}

static void many_threads(void **state) {
    (void)state;
    enum { THREADS = 65536 };
    struct hand hand;
    hand_start(&hand, THREADS, 3 * THREADS);
    for (uint32_t t = 1; t < THREADS; t++) hand_add(&hand, 0, HD_EV_FORK, 0, t, NO_EXTRA);
    for (uint32_t t = 1; t < THREADS; t++) hand_add(&hand, t, HD_EV_WRITE, 4, 0x1000, NO_EXTRA);
    for (uint32_t t = 1; t < THREADS; t++) hand_add(&hand, 0, HD_EV_JOIN, 0, t, NO_EXTRA);
    build_hand(&hand);
    assert_int_equal(model.edges, 2 * (THREADS - 1));
    struct hd_clocks *clocks = hd_clocks_build(&model);
    assert_true(hd_clocks_before(clocks, THREADS - 1, model.events - 1));
    assert_false(hd_clocks_before(clocks, THREADS - 1, THREADS));
    assert_true(hd_clocks_bytes(clocks) < 200u << 20); /* not a vector an event */
    uint32_t *clock = calloc(THREADS, sizeof *clock);
    hd_clocks_get(clocks, model.events - 1, clock);
    for (uint32_t t = 1; t < THREADS; t++) assert_int_equal(clock[t], 1);
    assert_int_equal(hd_model_position(&model, model.events - 1), 2 * (THREADS - 1) - 1);
    free(clock);
    hd_clocks_free(clocks);
    hd_model_free(&model);
    hand_start(&hand, THREADS + 1, 4);
    assert_false(hd_model_build(&hand.trace, NULL, &model, &error));
    assert_int_equal(error.code, HD_ERR_LIMIT);
}

static void impossible_columns(void **state) {
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct hand hand;
        hand_start(&hand, 1, 4);
        hand_add(&hand, what == 0 ? 5 : 0, what == 1 ? HD_EV_EXT : HD_EV_READ, 1,
                 what == 2 ? (uint64_t)1 << 60 : 0x1000, NO_EXTRA);
        assert_false(hd_model_build(&hand.trace, NULL, &model, &error));
        assert_int_equal(error.code, HD_ERR_FORMAT);
        assert_null(hand.trace.thread); /* taken over and freed */
    }
}

/* Repeated ends of a block with many locations must not make the lists grow without bound. */
static void too_many_entries(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it takes the two hundred million entries that are allowed to see that more are not */
#endif
    enum { LOCATIONS = 20000, FREES = 20000 };
    struct hand hand;
    hand_start(&hand, 1, LOCATIONS + FREES + 1);
    hand_add(&hand, 0, HD_EV_ALLOC, 0, 0x100000, 8 * LOCATIONS);
    for (uint32_t i = 0; i < LOCATIONS; i++)
        hand_add(&hand, 0, HD_EV_WRITE, 8, 0x100000 + 8 * i, NO_EXTRA);
    for (uint32_t i = 0; i < FREES; i++) hand_add(&hand, 0, HD_EV_FREE, 0, 0x100000, NO_EXTRA);
    assert_false(hd_model_build(&hand.trace, NULL, &model, &error));
    assert_int_equal(error.code, HD_ERR_LIMIT);
}

static void hook_calls_beyond_a_column(void **state) {
    (void)state;
    struct hand hand;
    hand_start(&hand, 1, 4);
    uint32_t calls[] = {1, 70000, 65535, 65534};
    for (int i = 0; i < 4; i++)
        hand.trace.calls[hand_add(&hand, 0, HD_EV_READ, 1, 0x1000, NO_EXTRA)] = calls[i];
    build_hand(&hand);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(hd_model_calls(&model, i), calls[i]);
    hd_model_free(&model);
}

/* ---- damage
 * ---------------------------------------------------------------------------------------- */

/* Random changes to random traces: a lenient build gives a model whose parts fit together, a strict
 * one either that or an error. */
static void damaged_traces(void **state) {
    (void)state;
    struct dice random = {99};
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct hd_trace trace = random_trace(seed, 60);
        for (uint32_t changes = 1 + roll(&random, 6); trace.events > 0 && changes-- > 0;) {
            uint32_t e = roll(&random, trace.events);
            switch (roll(&random, 4)) {
            case 0:
                trace.thread[e] = (uint16_t)roll(&random, trace.threads);
                break;
            case 1:
                trace.kind[e] = (uint8_t)(1 + roll(&random, HD_EV_THREAD - 1));
                break;
            case 2:
                trace.operand[e] = trace.operand[roll(&random, trace.events)];
                break;
            default:
                trace.flags[e] = (uint8_t)roll(&random, 256);
                break;
            }
        }
        struct hd_trace copy = hand_copy(&trace);
        if (hd_model_build(&copy, NULL, &model, &error)) hd_model_free(&model);
        struct hd_model_options options = {.lenient = true};
        if (!hd_model_build(&trace, &options, &model, &error))
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        for (uint32_t i = 0; i < model.edges; i++) {
            assert_true(model.edge[i].from < model.edge[i].to);
            assert_int_not_equal(model.thread[model.edge[i].from], model.thread[model.edge[i].to]);
        }
        for (uint32_t s = 0; s < model.sections; s++)
            assert_true(model.section[s].release >= model.section[s].acquire);
        for (uint32_t e = 0; e < model.events; e++) {
            const uint32_t *list;
            uint32_t count = hd_model_locations(&model, e, &list);
            for (uint32_t i = 0; i < count; i++) assert_true(list[i] < model.locations);
            count = hd_model_reads_from(&model, e, &list);
            for (uint32_t i = 0; i < count; i++) assert_true(list[i] == HD_NONE || list[i] < e);
            hd_model_failed_by(&model, e);
        }
        hd_clocks_free(hd_clocks_build(&model));
        struct hd_summary summary;
        hd_summary_build(&model, 3, &summary);
        hd_summary_free(&summary);
        hd_model_free(&model);
    }
}

/* ---- figures
 * --------------------------------------------------------------------------------------- */

static void summary_counts(void **state) {
    (void)state;
    build("A|fork(B)|1\nA|acq(l)|2\nA|w(x)|3\nB|tryfail(l)|4\nA|rel(l)|5\nB|acq(l)|6\nB|r(x)|7\n"
          "B|rel(l)|6\nB|acq(k)|8\nA|w(y)|9\n");
    struct hd_summary summary;
    hd_summary_build(&model, 1, &summary);
    assert_int_equal(summary.kinds[HD_EV_ACQUIRE], 3);
    assert_int_equal(summary.shared_locations, 1);
    assert_int_equal(summary.sites, 9);
    assert_int_equal(summary.edge_types[HD_EDGE_FORK], 1);
    assert_int_equal(summary.open_sections, 1);
    assert_int_equal(summary.lock_uses, 1);
    assert_int_equal(summary.lock_use[0].sections, 2);
    assert_int_equal(summary.lock_use[0].threads, 2);
    assert_int_equal(summary.lock_use[0].handovers, 1);
    assert_int_equal(summary.lock_use[0].failed, 1);
    assert_int_equal(summary.lock_use[0].longest, 3);
    assert_int_equal(summary.location_use[0].accesses, 2);
    assert_int_equal(summary.location_use[0].reads, 1);
    assert_int_equal(summary.thread_use[0].events, 5);
    hd_summary_free(&summary);
    hd_model_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partial_overlaps),
        cmocka_unit_test(lives_of_memory),
        cmocka_unit_test(large_block),
        cmocka_unit_test(huge_access),
        cmocka_unit_test(access_of_no_bytes),
        cmocka_unit_test(double_free_is_two_writes),
        cmocka_unit_test(recursive_lock_is_one_section),
        cmocka_unit_test(read_and_write_modes),
        cmocka_unit_test(hand_over_hand),
        cmocka_unit_test(lock_in_reborn_memory),
        cmocka_unit_test(forks_and_joins),
        cmocka_unit_test(signal_that_woke),
        cmocka_unit_test(barrier_orders_all_arrivals),
        cmocka_unit_test(barrier_of_many),
        cmocka_unit_test(semaphore_tokens_in_order),
        cmocka_unit_test(atomics_order_what_read_them),
        cmocka_unit_test(broken_rules),
        cmocka_unit_test(broken_rules_of_recordings),
        cmocka_unit_test(repairs),
        cmocka_unit_test(repeated_warnings_are_counted),
        cmocka_unit_test(fine_without_begin_end_and_release),
        cmocka_unit_test(empty_traces),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(impossible_columns),
        cmocka_unit_test(too_many_entries),
        cmocka_unit_test(hook_calls_beyond_a_column),
        cmocka_unit_test(damaged_traces),
        cmocka_unit_test(summary_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
