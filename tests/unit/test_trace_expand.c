/* Events that came as expected: a stream without them, and what is made of it. The storing side is
 * written here a second time, from what docs/trace-format.md says; the runtime's own is compared
 * with a direct log by tests/runtime/expected.test. */
#include "support/trace_help.h"

#include "trace/expand.h"

enum { THREADS = 3, EVENTS = 20000 };

enum { LINKS = 3000 }; /* what comes up after so many has none */

struct storing {
    struct hd_expect expect[THREADS];
    uint64_t key[LINKS]; /* of all threads; the first is none's */
    uint32_t links, most;
    struct hd_wire_event *stored;
    size_t size;
    uint32_t thread;
    uint64_t met;
};

static void store(struct storing *s, uint64_t head, uint64_t tail) {
    s->stored[s->size++] = (struct hd_wire_event){head, tail};
}

static void store_met(struct storing *s) {
    if (s->met != 0) store(s, hd_wire_head(HD_EV_EXPECTED, 0, s->met), 0);
    s->met = 0;
}

static uint32_t link_of(struct storing *s, uint64_t head, uint64_t tail) {
    uint64_t key = hd_link_key(head, tail);
    for (uint32_t i = 1; i < s->links; i++)
        if (s->key[i] == key) return i * HD_LINK_BYTES;
    if (s->links == s->most || !hd_may_be_linked(head)) return 0;
    s->key[s->links] = key;
    return s->links++ * HD_LINK_BYTES;
}

static void see(struct storing *s, struct hd_wire_event e) {
    struct hd_expect *expect = &s->expect[s->thread];
    if (hd_is_of_stream(e.head)) {
        store(s, e.head, e.tail | s->met << 32);
        s->met = 0;
        if (hd_wire_kind(e.head) == HD_EV_THREAD) s->thread = (uint32_t)hd_wire_operand(e.head);
        return;
    }
    if (expect->at != 0 && hd_is_expected(expect, e.head, e.tail)) {
        hd_expect_met(expect);
        s->met++;
        return;
    }
    uint64_t met = s->met;
    uint32_t link = link_of(s, e.head, e.tail);
    uint64_t head = link != 0 ? e.head : e.head | HD_WIRE_UNLINKED;
    if (met != 0 && hd_carries_met(head, e.tail, met)) {
        store(s, head | HD_WIRE_AFTER, hd_tail_with_calls(e.tail, met));
        s->met = 0;
    } else {
        store_met(s);
        store(s, head, e.tail);
        met = 0;
    }
    hd_expect_learn(expect, link, e.head, e.tail, met);
}

static void storing_start(struct storing *s, uint32_t most_links) {
    memset(s, 0, sizeof *s);
    s->links = 1;
    s->most = most_links;
    for (unsigned i = 0; i < THREADS; i++) {
        s->expect[i].link = calloc(LINKS, sizeof *s->expect[i].link);
        assert_non_null(s->expect[i].link);
    }
    s->stored = malloc(2 * EVENTS * sizeof *s->stored);
    assert_non_null(s->stored);
}

static void storing_end(struct storing *s) {
    for (unsigned i = 0; i < THREADS; i++) free(s->expect[i].link);
    free(s->stored);
}

/* Expands in pieces of random length, each STAMP stepped over as the merger does; with loops, or
 * one by one. Adds the events that came in loops to *looped. */
static size_t expand(const struct storing *s, struct hd_wire_event *out, bool loops,
                     size_t *looped) {
    struct hd_expand *expand = hd_expand_new();
    struct hd_expand_at at = {.thread = 0};
    struct hd_expand_loop loop;
    size_t from = 0, made = 0;
    while (from < s->size) {
        if (hd_expand_at_stamp(&at, s->stored[from])) {
            uint64_t stamp = hd_expand_stamp(&at, s->stored[from++]);
            out[made++] = (struct hd_wire_event){hd_wire_head(HD_EV_STAMP, 0, stamp), 0};
            continue;
        }
        size_t taken, most = s->size - from, count = 1 + below(100), room = 1 + below(50);
        bool good;
        made += hd_expand_events(expand, &at, s->stored + from, count < most ? count : most, &taken,
                                 out + made, room, loops ? &loop : NULL, &good);
        assert_true(good);
        from += taken;
        if (!loops || loop.rounds == 0) continue;
        assert_true(made + loop.length * loop.rounds <= 2 * EVENTS);
        hd_loop_unroll(loop.body, loop.length, loop.rounds, out + made);
        made += loop.length * loop.rounds;
        *looped += loop.length * loop.rounds;
    }
    hd_expand_free(expand);
    return made;
}

/* ---- streams as programs make them ---------------------------------------------------------- */

/* Loops of a few sites each: addresses that go on by a stride, fields of objects at random, calls,
 * and now and then another path, another thread, a stamp. */
struct loop {
    unsigned length;
    uint64_t address[8], stride[8];
    bool field[8];
};

static struct hd_wire_event of_loop(struct loop *loop, unsigned number, unsigned i,
                                    uint64_t object) {
    bool calls = loop->length > 3;
    unsigned kind = calls && i == 1                  ? HD_EV_PUSH
                    : calls && i == loop->length - 1 ? HD_EV_POP
                    : i & 1                          ? HD_EV_WRITE
                                                     : HD_EV_READ;
    uint64_t operand = loop->field[i] ? object + 8 * i : loop->address[i];
    if (kind == HD_EV_PUSH || kind == HD_EV_POP) operand = kind == HD_EV_PUSH ? 1 : 0;
    loop->address[i] += loop->stride[i];
    bool counts = kind == HD_EV_READ || kind == HD_EV_WRITE;
    return (struct hd_wire_event){hd_wire_head(kind, counts ? 8 : 0, operand),
                                  hd_wire_tail(100 * number + i, counts, counts ? i % 3 : 0)};
}

static size_t some_stream(struct hd_wire_event *event, unsigned chaos) {
    static struct loop loop[THREADS][4];
    memset(loop, 0, sizeof loop);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned l = 0; l < 4; l++) {
            loop[t][l].length = 1 + (unsigned)below(8);
            for (unsigned i = 0; i < 8; i++) {
                loop[t][l].address[i] = 0x10000 + below(1 << 20);
                loop[t][l].stride[i] = below(3) * 8;
                loop[t][l].field[i] = below(3) == 0;
            }
        }
    uint32_t thread = 0;
    uint64_t stamp = 1;
    size_t size = 0;
    while (size + 64 < EVENTS) {
        if (below(40) == 0) {
            thread = (uint32_t)below(THREADS);
            event[size++] = (struct hd_wire_event){hd_wire_head(HD_EV_THREAD, 0, thread), 0};
        }
        if (below(40) == 0)
            event[size++] = (struct hd_wire_event){hd_wire_head(HD_EV_STAMP, 0, stamp++), 0};
        unsigned number = (unsigned)below(4);
        for (uint64_t round = below(30); round > 0 && size + 64 < EVENTS; round--) {
            uint64_t object = 0x7f0000000000ull + below(1 << 16) * 16;
            for (unsigned i = 0; i < loop[thread][number].length; i++) {
                if (below(1000) < chaos) continue;
                event[size++] = of_loop(&loop[thread][number], number, i, object);
                if (below(1000) < chaos)
                    event[size++] = (struct hd_wire_event){
                        hd_wire_head(1 + (unsigned)below(HD_EV_THREAD - 1), (unsigned)below(9),
                                     below(1 << 20)),
                        hd_wire_tail((uint32_t)below(50), (unsigned)below(3), (unsigned)below(3))};
            }
        }
    }
    return size;
}

static void there_and_back(void **unused) {
    (void)unused;
    struct hd_wire_event *event = malloc(EVENTS * sizeof *event),
                         *back = malloc(2 * EVENTS * sizeof *back);
    assert_true(event != NULL && back != NULL);
    size_t looped = 0;
    for (unsigned round = 0; round < 60; round++) {
        unsigned chaos = round % 3 == 0 ? 0 : round % 3 == 1 ? 20 : 300;
        size_t size = some_stream(event, chaos);
        struct storing s;
        storing_start(&s, round % 4 == 3 ? 12 : LINKS);
        for (size_t i = 0; i < size; i++) see(&s, event[i]);
        store_met(&s);
        for (unsigned loops = 0; loops < 2; loops++) {
            memset(back, 0, size * sizeof *event);
            assert_int_equal(expand(&s, back, loops, &looped), size);
            assert_memory_equal(back, event, size * sizeof *event);
        }
        if (chaos == 0 && s.most == LINKS)
            assert_true(s.size < size / 2); /* much of it was expected */
        storing_end(&s);
    }
    assert_true(looped > 60 * EVENTS / 20);
    free(event);
    free(back);
}

/* A loop over an array is a few events, whatever its length. */
static void loops_cost_nothing(void **unused) {
    (void)unused;
    struct storing s;
    storing_start(&s, LINKS);
    for (uint64_t i = 0; i < 100000; i++)
        for (unsigned site = 1; site <= 4; site++)
            see(&s, (struct hd_wire_event){hd_wire_head(HD_EV_READ, 4, 4096 * site + 4 * i),
                                           hd_wire_tail(site, 1, site == 1)});
    assert_true(s.size <= 4 * 4);
    storing_end(&s);
}

/* Fields of objects that are anywhere: one event for each object. */
static void fields_follow_their_object(void **unused) {
    (void)unused;
    struct storing s;
    storing_start(&s, LINKS);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t object = 0x7f0000000000ull + below(1 << 20) * 64;
        for (unsigned site = 1; site <= 5; site++)
            see(&s, (struct hd_wire_event){hd_wire_head(HD_EV_READ, 8, object + 8 * site),
                                           hd_wire_tail(site, 1, 0)});
    }
    assert_true(s.size <= 1000 + 5 * 5);
    storing_end(&s);
}

/* What no recorder makes is refused, not followed. */
static void nothing_leads_there(void **unused) {
    (void)unused;
    struct hd_wire_event out[8], event[] = {{hd_wire_head(HD_EV_EXPECTED, 0, 1ull << 40), 0}};
    struct hd_expand *expand = hd_expand_new();
    struct hd_expand_at at = {.thread = 0};
    size_t taken;
    bool good;
    assert_int_equal(hd_expand_events(expand, &at, event, 1, &taken, out, 8, NULL, &good), 0);
    assert_false(good);
    hd_expand_free(expand);
}

static void random_events_do_no_harm(void **unused) {
    (void)unused;
    struct hd_wire_event event[64], out[16];
    for (unsigned round = 0; round < 2000; round++) {
        for (size_t i = 0; i < 64; i++)
            event[i] = (struct hd_wire_event){
                below(2)
                    ? random_word()
                    : hd_wire_head((unsigned)below(HD_EV_KINDS) | (below(2) ? HD_WIRE_AFTER : 0),
                                   (unsigned)below(2), below(3)),
                below(2) ? random_word() : hd_wire_tail((uint32_t)below(3), (unsigned)below(9), 0)};
        struct hd_expand *expand = hd_expand_new();
        struct hd_expand_at at = {.thread = (uint32_t)below(3)};
        size_t from = 0, taken;
        bool good = true;
        for (unsigned calls = 0; good && from < 64 && calls < 200; calls++) {
            struct hd_expand_loop loop;
            size_t made = hd_expand_events(expand, &at, event + from, 64 - from, &taken, out, 16,
                                           round % 2 ? &loop : NULL, &good);
            assert_true(made <= 16 && taken <= 64 - from);
            if (round % 2 && loop.rounds != 0)
                assert_true(loop.length <= HD_LOOP_LENGTH && loop.rounds <= 1ull << 48);
            from += taken;
            if (from < 64 && hd_expand_at_stamp(&at, event[from]))
                hd_expand_stamp(&at, event[from++]);
        }
        hd_expand_free(expand);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(loops_cost_nothing),
        cmocka_unit_test(fields_follow_their_object), cmocka_unit_test(nothing_leads_there),
        cmocka_unit_test(random_events_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
