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
    uint8_t *record, *end;
    size_t stored; /* events */
    uint32_t thread;
    uint64_t met, choices, stamp;
    unsigned chosen, all_chosen;
};

/* Choices stand before the record that counts the events which made them. */
static void store_choices(struct storing *s) {
    if (s->choices != 0) s->end = hd_token_put_choices(s->end, s->choices);
    s->choices = 0;
    s->chosen = 0;
}

static void store_met(struct storing *s) {
    store_choices(s);
    if (s->met != 0) s->end = hd_token_put_other(s->end, HD_TOKEN_MET, s->met, 0, 0);
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

/* Its link has a choice: is it one of the two? */
static bool chooses(struct storing *s, struct hd_expect *expect, struct hd_wire_event e) {
    struct hd_expected *l = hd_link_at(expect, expect->at);
    if (!(l->flags & HD_LINK_EITHER) || l->shape != (e.head & 0xffff) ||
        l->site != hd_wire_site(e.tail) || l->rest != e.tail >> 32)
        return false;
    bool second = hd_link_operand(expect, l, true) == hd_wire_operand(e.head);
    if (!second && hd_link_operand(expect, l, false) != hd_wire_operand(e.head)) return false;
    if (s->chosen == 64) store_met(s);
    s->choices |= (uint64_t)second << s->chosen++;
    s->all_chosen++;
    expect->choices = second;
    return true;
}

static void see(struct storing *s, struct hd_wire_event e) {
    struct hd_expect *expect = &s->expect[s->thread];
    if (hd_is_of_stream(e.head)) {
        store_choices(s);
        uint64_t operand = hd_wire_operand(e.head);
        if (hd_wire_kind(e.head) == HD_EV_THREAD) {
            s->end = hd_token_put_other(s->end, HD_TOKEN_THREAD, s->met, operand, 4);
            s->thread = (uint32_t)operand;
        } else {
            bool near = operand - s->stamp < 3; /* or 65,536; both are read */
            s->end = hd_token_put_other(s->end, near ? HD_TOKEN_STAMP_NEAR : HD_TOKEN_STAMP, s->met,
                                        operand - s->stamp, near ? 2 : 8);
            s->stamp = operand;
        }
        s->met = 0;
        return;
    }
    if (expect->at != 0 && (hd_is_expected(expect, e.head, e.tail) || chooses(s, expect, e))) {
        hd_expect_met(expect);
        s->met++;
        return;
    }
    uint64_t met = s->met;
    uint32_t link = link_of(s, e.head, e.tail);
    store_choices(s);
    if (link != 0 && hd_link_at(expect, link)->shape != 0)
        s->end = hd_token_put(s->end, expect, link, hd_wire_operand(e.head),
                              (uint32_t)(e.tail >> 32), met);
    else
        s->end = hd_token_put_event(s->end, link, e.head, e.tail, met);
    s->stored++;
    s->met = 0;
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
    s->end = s->record = malloc((2 * EVENTS + 1) * HD_TOKEN_BYTES);
    assert_non_null(s->record);
}

static void storing_end(struct storing *s) {
    for (unsigned i = 0; i < THREADS; i++) free(s->expect[i].link);
    free(s->record);
}

/* Expands in pieces of random length, each STAMP stepped over as the merger does; with loops, or
 * one by one. Adds the events that came in loops to *looped. */
static size_t expand(const struct storing *s, struct hd_wire_event *out, bool loops,
                     size_t *looped) {
    struct hd_expand *expand = hd_expand_new();
    struct hd_expand_at at = {.thread = 0};
    struct hd_expand_loop loop;
    size_t from = 0, made = 0;
    size_t size = (size_t)(s->end - s->record), piece = 0;
    while (from < size) {
        const uint8_t *record = s->record + from;
        if (piece <= from) piece = from + 1 + below(300);
        if (hd_expand_at_stamp(&at, record, size - from)) {
            size_t taken;
            uint64_t stamp = hd_expand_stamp(&at, record, size - from, &taken);
            from += taken;
            out[made++] = (struct hd_wire_event){hd_wire_head(HD_EV_STAMP, 0, stamp), 0};
            continue;
        }
        size_t taken, room = 1 + below(50), length = 0;
        bool good;
        struct hd_token token;
        /* whole records, as chunks have them */
        while (from + length < piece && hd_token_get(record + length, size - from - length, &token))
            length += token.length;
        made += hd_expand_records(expand, &at, record, length, &taken, out + made, room,
                                  loops ? &loop : NULL, &good);
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
    bool field[8], wavers[8];
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
    if (!loop->wavers[i] || below(2)) loop->address[i] += loop->stride[i];
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
                loop[t][l].wavers[i] = below(4) == 0;
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
            event[size++] =
                (struct hd_wire_event){hd_wire_head(HD_EV_STAMP, 0, stamp += 1 + below(5)), 0};
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
    size_t looped = 0, chosen = 0;
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
            assert_true(s.stored < size / 2); /* much of it was expected */
        chosen += s.all_chosen;
        storing_end(&s);
    }
    assert_true(looped > 60 * EVENTS / 20);
    assert_true(chosen > 60 * EVENTS / 50);
    free(event);
    free(back);
}

/* Loops in loops, of the same number of rounds nearly each time, left at the end of a round or in
 * its middle; some of their accesses are where others of the same or the next round are. */
static size_t nested_stream(struct hd_wire_event *event) {
    enum { SITES = 5 };
    unsigned length = 1 + (unsigned)below(SITES), outer = (unsigned)below(3);
    unsigned left_at = below(2) ? 0 : (unsigned)below(length), trip = 2 + (unsigned)below(40);
    uint64_t stride = below(4) ? 8 * (1 + below(2)) : 0, step = below(2) ? 0 : 8 * below(200);
    uint64_t offset[SITES];
    bool own[SITES];
    for (unsigned i = 0; i < SITES; i++) {
        offset[i] = below(2) && i > 0 ? offset[below(i)] + below(3) * stride - stride
                                      : 0x10000 + below(1 << 16) * 8;
        own[i] = below(5) == 0; /* has another stride */
    }
    bool first_differs = below(2), relative = below(4) == 0;
    size_t size = 0;
    for (uint64_t pass = 0; size + 400 < EVENTS; pass++) {
        uint64_t base = relative ? below(1 << 20) * 8 : pass * step;
        for (unsigned i = 0; i < outer; i++)
            event[size++] = (struct hd_wire_event){
                hd_wire_head(HD_EV_READ, 8, relative ? base : 0x900000 + 8 * pass),
                hd_wire_tail(200 + i, 1, 1)};
        unsigned rounds = below(30) == 0 ? 1 + (unsigned)below(50) : trip;
        for (unsigned k = 0; k < rounds * length + left_at; k++) {
            unsigned i = k % length, round = k / length;
            uint64_t operand = offset[i] + base + round * (own[i] ? 24 : stride);
            event[size++] = (struct hd_wire_event){
                hd_wire_head(i & 1 ? HD_EV_WRITE : HD_EV_READ, 8, operand),
                hd_wire_tail(100 + i, 1, first_differs && round == 0 ? 5 : 1)};
        }
    }
    return size;
}

/* Streams of one kind come back as they were, with loops and without; at least one event of
 * `one_of` comes in a loop. */
static void come_back(size_t (*make)(struct hd_wire_event *), unsigned streams, unsigned one_of) {
    struct hd_wire_event *event = malloc(EVENTS * sizeof *event),
                         *back = malloc(2 * EVENTS * sizeof *back);
    assert_true(event != NULL && back != NULL);
    size_t looped = 0, all = 0;
    for (unsigned round = 0; round < streams; round++) {
        size_t size = make(event);
        struct storing s;
        storing_start(&s, LINKS);
        for (size_t i = 0; i < size; i++) see(&s, event[i]);
        store_met(&s);
        for (unsigned loops = 0; loops < 2; loops++) {
            memset(back, 0, size * sizeof *event);
            assert_int_equal(expand(&s, back, loops, &looped), size);
            assert_memory_equal(back, event, size * sizeof *event);
        }
        all += size;
        storing_end(&s);
    }
    assert_true(looped > all / one_of);
    free(event);
    free(back);
}

static void loops_in_loops(void **unused) {
    (void)unused;
    come_back(nested_stream, 300, 3);
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
    assert_true(s.stored <= 4 * 4);
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
    assert_true(s.stored <= 1000 + 5 * 5);
    storing_end(&s);
}

/* Two lists that are merged: which of them goes on is random, and takes a bit. */
static void a_choice_takes_a_bit(void **unused) {
    (void)unused;
    struct storing s;
    struct hd_wire_event *event = malloc(EVENTS * sizeof *event),
                         *back = malloc(2 * EVENTS * sizeof *back);
    assert_true(event != NULL && back != NULL);
    storing_start(&s, LINKS);
    uint64_t from[2] = {0x10000, 0x80000};
    size_t looped = 0;
    for (uint64_t i = 0; i < EVENTS / 3; i++) {
        uint64_t operand[3] = {from[0], from[1], 0x100000 + 4 * i};
        from[below(2)] += 4;
        for (unsigned site = 0; site < 3; site++)
            event[3 * i + site] = (struct hd_wire_event){
                hd_wire_head(site == 2 ? HD_EV_WRITE : HD_EV_READ, 4, operand[site]),
                hd_wire_tail(1 + site, 1, site == 0)};
    }
    for (size_t i = 0; i < EVENTS / 3 * 3; i++) see(&s, event[i]);
    store_met(&s);
    assert_true(s.stored < 100);
    assert_true((size_t)(s.end - s.record) < EVENTS / 3 * 2 / 8 * 2);
    assert_int_equal(expand(&s, back, true, &looped), EVENTS / 3 * 3);
    assert_memory_equal(back, event, EVENTS / 3 * 3 * sizeof *event);
    storing_end(&s);
    free(event);
    free(back);
}

/* Loops that take locks: each a list of steps, of which a release gives back the lock that was
 * taken last, one before that, or one that nobody took. Locks go on by a stride, or are anywhere.
 * What was taken in one round may be given back in the next, and fewer or more be taken than given
 * back.
 */
static size_t locking_stream(struct hd_wire_event *event) {
    enum { STEPS = 8, HELD = 64 };
    uint64_t held[HELD], address[STEPS], stride[STEPS];
    unsigned length = 2 + (unsigned)below(STEPS - 1), what[STEPS], deep[STEPS], holds = 0;
    size_t size = 0;
    bool pairs = below(3) != 0; /* a round takes as many as it gives back */
    unsigned takes = 0;
    for (unsigned i = 0; i < length; i++) {
        what[i] = pairs && i + takes >= length ? 2 : (unsigned)below(3);
        if (pairs && what[i] == 2 && takes == 0) what[i] = (unsigned)below(2);
        takes += what[i] == 1;
        takes -= what[i] == 2 && takes > 0;
        deep[i] = below(8) == 0 ? (unsigned)below(4) : 0;
        address[i] = 0x10000 + below(1 << 16) * 8;
        stride[i] = below(2) == 0 ? 8 * below(4) : 0;
    }
    unsigned turned = (unsigned)below(length); /* a round begins there */
    bool anywhere = below(4) == 0;
    while (size + 2000 < EVENTS) {
        for (uint64_t round = below(60); round > 0; round--)
            for (unsigned k = 0; k < length; k++) {
                unsigned i = (k + turned) % length;
                unsigned kind = what[i] == 1   ? HD_EV_ACQUIRE
                                : what[i] == 2 ? (i & 1 ? HD_EV_RELEASE : HD_EV_READ_RELEASE)
                                               : HD_EV_WRITE;
                uint64_t operand = anywhere ? 0x20000 + below(1 << 20) * 8 : address[i];
                if (kind == HD_EV_ACQUIRE && holds < HELD) held[holds++] = operand;
                if (what[i] == 2 && deep[i] < holds) {
                    unsigned at = holds - 1 - deep[i];
                    operand = held[at];
                    memmove(&held[at], &held[at + 1], (--holds - at) * sizeof *held);
                }
                if (what[i] == 0) operand = address[i];
                address[i] += stride[i];
                event[size++] = (struct hd_wire_event){
                    hd_wire_head(kind, what[i] == 0 ? 8 : 0, operand), hd_wire_tail(100 + i, 1, 0)};
            }
        for (uint64_t others = below(5); others > 0; others--) { /* at other places */
            bool takes_one = holds == 0 || (holds < HELD && below(2));
            uint64_t operand = 0x700000 + below(1 << 10) * 64;
            if (takes_one) held[holds++] = operand;
            if (!takes_one) operand = held[--holds];
            event[size++] = (struct hd_wire_event){
                hd_wire_head(takes_one ? HD_EV_ACQUIRE : HD_EV_RELEASE, 0, operand),
                hd_wire_tail(90 + (uint32_t)below(3), 1, 0)};
        }
        if (below(20) == 0) holds = 0;
        event[size++] = (struct hd_wire_event){hd_wire_head(HD_EV_READ, 4, below(1 << 20) * 4),
                                               hd_wire_tail(99, 1, 0)};
    }
    return size;
}

static void locks_are_given_back(void **unused) {
    (void)unused;
    come_back(locking_stream, 400, 20);
}

/* Whichever lock was taken, to give it back costs nothing. */
static void a_release_is_expected(void **unused) {
    (void)unused;
    struct storing s;
    storing_start(&s, LINKS);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t outer = 0x10000 + below(1 << 12) * 64, inner = 0x90000 + below(1 << 12) * 64;
        const uint64_t operand[4] = {outer, inner, inner, outer};
        for (unsigned k = 0; k < 4; k++)
            see(&s, (struct hd_wire_event){
                        hd_wire_head(k < 2 ? HD_EV_ACQUIRE : HD_EV_RELEASE, 0, operand[k]),
                        hd_wire_tail(1 + k, 1, 0)});
    }
    assert_true(s.stored <= 2 * 1000 + 8);
    storing_end(&s);
}

/* What no recorder makes is refused, not followed. */
static void nothing_leads_there(void **unused) {
    (void)unused;
    struct hd_wire_event out[8];
    uint8_t record[HD_TOKEN_BYTES];
    size_t length = (size_t)(hd_token_put_other(record, HD_TOKEN_MET, 1ull << 40, 0, 0) - record);
    struct hd_expand *expand = hd_expand_new();
    struct hd_expand_at at = {.thread = 0};
    size_t taken;
    bool good;
    assert_int_equal(hd_expand_records(expand, &at, record, length, &taken, out, 8, NULL, &good),
                     0);
    assert_false(good);
    hd_expand_free(expand);
}

static void random_records_do_no_harm(void **unused) {
    (void)unused;
    enum { BYTES = 512 };
    uint8_t record[BYTES + HD_TOKEN_BYTES];
    struct hd_wire_event out[16];
    for (unsigned round = 0; round < 4000; round++) {
        size_t size = 0;
        while (size < BYTES) {
            if (below(4) == 0) {
                record[size++] = (uint8_t)below(256);
                continue;
            }
            struct hd_wire_event e = {hd_wire_head(1 + (unsigned)below(HD_EV_KINDS - 1),
                                                   (unsigned)below(9), below(1 << 12)),
                                      hd_wire_tail((uint32_t)below(3), (unsigned)below(9), 0)};
            uint32_t link = (uint32_t)below(4) * HD_LINK_BYTES;
            size = (size_t)(hd_token_put_event(record + size, link, e.head, e.tail, below(3)) -
                            record);
        }
        struct hd_expand *expand = hd_expand_new();
        struct hd_expand_at at = {.thread = (uint32_t)below(3)};
        size_t from = 0, taken;
        bool good = true;
        for (unsigned calls = 0; good && from < size && calls < 400; calls++) {
            struct hd_expand_loop loop;
            size_t made = hd_expand_records(expand, &at, record + from, size - from, &taken, out,
                                            16, round % 2 ? &loop : NULL, &good);
            assert_true(made <= 16 && taken <= size - from);
            if (round % 2 && loop.rounds != 0)
                assert_true(loop.length <= HD_LOOP_LENGTH && loop.rounds <= 1ull << 48);
            from += taken;
            if (from < size && hd_expand_at_stamp(&at, record + from, size - from)) {
                hd_expand_stamp(&at, record + from, size - from, &taken);
                from += taken;
            }
        }
        hd_expand_free(expand);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back),
                                       cmocka_unit_test(loops_in_loops),
                                       cmocka_unit_test(loops_cost_nothing),
                                       cmocka_unit_test(fields_follow_their_object),
                                       cmocka_unit_test(a_choice_takes_a_bit),
                                       cmocka_unit_test(nothing_leads_there),
                                       cmocka_unit_test(random_records_do_no_harm),
                                       cmocka_unit_test(locks_are_given_back),
                                       cmocka_unit_test(a_release_is_expected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
