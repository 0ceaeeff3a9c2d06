/* What threads share, against the definition byte by byte: an access of memory that is shared is
 * never said to be of one thread alone; and memory of one thread is told, also where a block is
 * given to another thread later. What forks, joins and barriers order is worked out here from the
 * pairs of events that they put in order, all of them. */
#include "support/dice.h"
#include "trace/sharing.h"
#include "trace/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, BYTES = 256, EVENTS = 120, LIVES = EVENTS + 1 };
#define BASE (0x10000 - BYTES / 2) /* over the border of two pages */

struct event {
    uint32_t thread;
    unsigned kind, flags;
    uint32_t at;    /* FORK, JOIN: the thread; of a barrier: which one */
    uint64_t bytes; /* BARRIER_ARRIVE: number of the round */
};

static bool is_access(unsigned kind) { return kind <= HD_EV_ATOMIC_UPDATE; }
static bool has_bytes(unsigned kind) {
    return is_access(kind) || kind == HD_EV_ALLOC || kind == HD_EV_FREE;
}
static bool writes(unsigned kind) {
    return kind == HD_EV_WRITE || kind == HD_EV_ATOMIC_WRITE || kind == HD_EV_ATOMIC_UPDATE ||
           kind == HD_EV_FREE;
}

/* What a program is doing that makes no mistakes: threads that were made and are not joined, and
 * the one barrier that it has. Who has arrived does nothing until all have that take part. */
struct program {
    bool runs[THREADS], known[THREADS], inside[THREADS], arrived[THREADS];
    uint64_t round;
};

static bool all_arrived(const struct program *p) {
    for (unsigned i = 0; i < THREADS; i++)
        if (p->inside[i] && !p->arrived[i]) return false;
    return true;
}

static void begin_round(struct program *p) {
    bool any = false;
    for (unsigned i = 0; i < THREADS; i++) any = any || p->inside[i];
    if (any) return;
    p->round++;
    for (unsigned i = 0; i < THREADS; i++) {
        p->inside[i] = p->runs[i];
        p->arrived[i] = false;
    }
}

static struct event some_access(struct dice *dice, uint32_t thread) {
    struct event e = {.thread = thread, .at = roll(dice, BYTES - 40)};
    switch (roll(dice, 12)) {
    case 0:
        e.kind = HD_EV_ATOMIC_READ + roll(dice, 3);
        e.flags = roll(dice, 4);
        e.bytes = 1u << e.flags;
        break;
    case 1:
        e.kind = HD_EV_ALLOC;
        e.flags = roll(dice, 4) == 0 ? HD_BLOCK_GROWN : 0;
        e.bytes = 1 + roll(dice, 40);
        break;
    case 2:
        e.kind = HD_EV_FREE;
        e.bytes = 1 + roll(dice, 40);
        break;
    default:
        e.kind = roll(dice, 3) == 0 ? HD_EV_WRITE : HD_EV_READ;
        e.bytes = 1 + roll(dice, 12);
        e.flags = roll(dice, 3) ? (unsigned)e.bytes : 0;
        break;
    }
    return e;
}

/* Of one word as a whole, and of few of them. */
static struct event some_word(struct dice *dice, uint32_t thread) {
    return (struct event){thread, roll(dice, 3) == 0 ? HD_EV_WRITE : HD_EV_READ, 8,
                          roll(dice, 12) * 8, 8};
}

/* Whatever comes to mind. */
static struct event some_event(struct dice *dice) {
    static const unsigned of_order[] = {HD_EV_FORK, HD_EV_JOIN, HD_EV_END, HD_EV_BARRIER_ARRIVE,
                                        HD_EV_BARRIER_LEAVE};
    uint32_t thread = roll(dice, THREADS);
    if (roll(dice, 4) != 0) return some_access(dice, thread);
    return (struct event){thread, of_order[roll(dice, 5)], 0, roll(dice, THREADS), roll(dice, 4)};
}

/* Of the program. `words`: it accesses words, and frees nothing. */
static struct event proper_event(struct dice *dice, struct program *p, bool words) {
    uint32_t thread = roll(dice, THREADS), other = roll(dice, THREADS);
    while (!p->runs[thread] || (p->arrived[thread] && !all_arrived(p)))
        thread = (thread + 1) % THREADS;
    if (p->arrived[thread]) {
        p->inside[thread] = p->arrived[thread] = false;
        return (struct event){thread, HD_EV_BARRIER_LEAVE, 0, 0, 0};
    }
    switch (roll(dice, 16)) {
    case 0:
        if (p->known[other]) break;
        p->runs[other] = p->known[other] = true;
        return (struct event){thread, HD_EV_FORK, 0, other, 0};
    case 1:
        if (!p->runs[other] || p->inside[other] || other == thread) break;
        p->runs[other] = false;
        return (struct event){thread, HD_EV_JOIN, 0, other, 0};
    case 2:
    case 3:
        begin_round(p);
        if (!p->inside[thread]) break;
        p->arrived[thread] = true;
        return (struct event){thread, HD_EV_BARRIER_ARRIVE, 0, 0, p->round};
    default:
        break;
    }
    return words ? some_word(dice, thread) : some_access(dice, thread);
}

/* Tells the first reading of the events, as a stream. */
static void tell(struct hd_sharing *sharing, const struct event *event, unsigned count) {
    struct hd_wire_event wire[EVENTS * 3];
    size_t used = 0, taken;
    uint32_t thread = 0;
    for (unsigned i = 0; i < count; i++) {
        /* runs of one thread's events as well */
        if (i == 0 || event[i].thread != event[i - 1].thread || i % 16 == 0)
            wire[used++] =
                (struct hd_wire_event){hd_wire_head(HD_EV_THREAD, 0, event[i].thread), 0};
        if ((event[i].flags == 0 || event[i].kind == HD_EV_ALLOC) && event[i].bytes != 0)
            wire[used++] = (struct hd_wire_event){hd_wire_head(HD_EV_EXT, 0, event[i].bytes), 0};
        uint64_t operand = event[i].at + (has_bytes(event[i].kind) ? BASE : 0);
        wire[used++] =
            (struct hd_wire_event){hd_wire_head(event[i].kind, event[i].flags, operand), 0};
    }
    hd_sharing_events(sharing, wire, used, &thread, &taken);
    assert_int_equal(taken, used);
    hd_sharing_again(sharing);
}

/* By definition. Each event that is before another one, and the accesses of each life of a byte. */
static bool before[EVENTS][EVENTS];
static bool accesses[BYTES][LIVES][EVENTS];
static uint16_t life[BYTES];

/* Is a FORK the beginning of a thread? */
static bool makes_thread(const struct event *event, unsigned fork) {
    uint32_t child = event[fork].at;
    for (unsigned i = 0; i < fork; i++)
        if (event[i].thread == child || (event[i].kind == HD_EV_FORK && event[i].at == child))
            return false;
    return event[fork].kind == HD_EV_FORK && child != event[fork].thread;
}

/* Is the earlier one before the later one, for a reason of their own? */
static bool is_ordered(const struct event *event, unsigned a, unsigned b) {
    if (event[a].thread == event[b].thread) return true;
    if (event[a].kind == HD_EV_FORK && makes_thread(event, a) &&
        (event[b].thread == event[a].at ||
         (event[b].kind == HD_EV_JOIN && event[b].at == event[a].at)))
        return true;
    if (event[b].kind == HD_EV_JOIN && event[b].at == event[a].thread) return true;
    if (event[a].kind != HD_EV_BARRIER_ARRIVE || event[a].bytes == 0 ||
        event[b].kind != HD_EV_BARRIER_LEAVE || event[a].at != event[b].at)
        return false;
    unsigned i = b; /* its own arrival, after which it has not left */
    while (i > 0 &&
           (event[i - 1].thread != event[b].thread ||
            (event[i - 1].kind != HD_EV_BARRIER_ARRIVE &&
             (event[i - 1].kind != HD_EV_BARRIER_LEAVE || event[i - 1].at != event[b].at))))
        i--;
    return i > 0 && event[i - 1].kind == HD_EV_BARRIER_ARRIVE &&
           event[i - 1].bytes == event[a].bytes && event[i - 1].at == event[a].at;
}

static void define(const struct event *event, unsigned count, bool ordered) {
    memset(before, 0, sizeof before);
    memset(accesses, 0, sizeof accesses);
    memset(life, 0, sizeof life);
    for (unsigned b = 0; b < count; b++)
        for (unsigned a = b; ordered && a-- > 0;) {
            if (!is_ordered(event, a, b)) continue;
            before[a][b] = true;
            for (unsigned i = 0; i < a; i++) before[i][b] = before[i][b] || before[i][a];
        }
    for (unsigned i = 0; i < count; i++) {
        if (!has_bytes(event[i].kind)) continue;
        for (uint32_t b = event[i].at; b < event[i].at + event[i].bytes; b++) {
            if (event[i].kind != HD_EV_ALLOC)
                accesses[b][life[b]][i] = true;
            else if (event[i].flags == 0)
                life[b]++;
        }
    }
    memset(life, 0, sizeof life);
}

static bool by_definition(const struct event *event, unsigned count, const struct event *e) {
    for (uint32_t byte = e->at; byte < e->at + e->bytes; byte++)
        for (unsigned b = 0; b < count; b++)
            for (unsigned a = 0; a < b && accesses[byte][life[byte]][b]; a++)
                if (accesses[byte][life[byte]][a] && event[a].thread != event[b].thread &&
                    (writes(event[a].kind) || writes(event[b].kind)) && !before[a][b])
                    return true;
    return false;
}

/* `exact`: nothing else may be said to be shared. */
static void compare(const struct event *event, unsigned count, struct hd_sharing *sharing,
                    bool ordered, bool exact, unsigned *alone) {
    tell(sharing, event, count);
    define(event, count, ordered);
    for (unsigned i = 0; i < count; i++) {
        const struct event *e = &event[i];
        if (e->kind == HD_EV_ALLOC) {
            hd_sharing_alloc(sharing, BASE + e->at, e->flags, e->bytes);
            for (uint32_t b = e->at; e->flags == 0 && b < e->at + e->bytes; b++) life[b]++;
        }
        if (!is_access(e->kind)) continue;
        bool said = hd_sharing_access(sharing, BASE + e->at, e->bytes);
        bool shared = by_definition(event, count, e);
        if (!said && shared) fail_msg("event %u is of shared memory", i);
        if (said && !shared && exact) fail_msg("event %u is not of shared memory", i);
        *alone += !said;
    }
    hd_sharing_free(sharing);
}

static void shared_memory_is_told(void **unused) {
    (void)unused;
    unsigned alone = 0, alone_in_programs = 0;
    for (uint64_t seed = 1; seed <= 8000; seed++) {
        struct dice dice = {seed};
        struct event event[EVENTS];
        struct program program = {.runs = {true}, .known = {true}};
        unsigned count = 4 + roll(&dice, EVENTS - 4);
        bool proper = seed % 2 != 0; /* most of these go on with nonsense, some do not */
        unsigned until = !proper ? 0 : roll(&dice, 2) != 0 ? EVENTS : roll(&dice, EVENTS);
        for (unsigned i = 0; i < count; i++)
            event[i] = i < until ? proper_event(&dice, &program, false) : some_event(&dice);
        uint32_t states = roll(&dice, 2) == 0 ? 0 : 8 + roll(&dice, 40);
        struct hd_sharing *sharing = hd_sharing_new(seed % 8 < 2 ? 1 : 0, states, seed % 3 != 0);
        compare(event, count, sharing, seed % 3 != 0, false, proper ? &alone_in_programs : &alone);
    }
    assert_true(alone > 1000);
    assert_true(alone_in_programs > 20000);
}

static void nothing_else_is_told_of_programs(void **unused) {
    (void)unused;
    unsigned alone = 0;
    for (uint64_t seed = 1; seed <= 8000; seed++) {
        struct dice dice = {seed};
        struct event event[EVENTS];
        struct program program = {.runs = {true}, .known = {true}};
        unsigned count = 4 + roll(&dice, EVENTS - 4);
        for (unsigned i = 0; i < count; i++) event[i] = proper_event(&dice, &program, true);
        struct hd_sharing *sharing = hd_sharing_new(0, 0, seed % 3 != 0);
        compare(event, count, sharing, seed % 3 != 0, true, &alone);
    }
    assert_true(alone > 20000);
}

static bool last_is_shared(const struct event *event, unsigned count, bool ordered) {
    struct hd_sharing *sharing = hd_sharing_new(0, 0, ordered);
    tell(sharing, event, count);
    bool said = false;
    for (unsigned i = 0; i < count; i++) {
        if (event[i].kind == HD_EV_ALLOC)
            hd_sharing_alloc(sharing, BASE + event[i].at, event[i].flags, event[i].bytes);
        else if (is_access(event[i].kind))
            said = hd_sharing_access(sharing, BASE + event[i].at, event[i].bytes);
    }
    hd_sharing_free(sharing);
    return said;
}
#define SHARED_IF(ordered, ...)                         \
    last_is_shared((const struct event[]){__VA_ARGS__}, \
                   sizeof((const struct event[]){__VA_ARGS__}) / sizeof(struct event), (ordered))
#define SHARED(...) SHARED_IF(true, __VA_ARGS__)

static void memory_of_one_thread_is_told(void **unused) {
    (void)unused;
    struct event write0 = {0, HD_EV_WRITE, 8, 64, 8}, read0 = {0, HD_EV_READ, 8, 64, 8};
    struct event read1 = {1, HD_EV_READ, 8, 64, 8}, write1 = {1, HD_EV_WRITE, 8, 64, 8};
    struct event block0 = {0, HD_EV_ALLOC, 0, 64, 16}, block1 = {1, HD_EV_ALLOC, 0, 64, 16};
    struct event grown1 = {1, HD_EV_ALLOC, HD_BLOCK_GROWN, 64, 16};
    struct event free0 = {0, HD_EV_FREE, 0, 64, 16};
    assert_false(SHARED(write0, read0));
    assert_true(SHARED(write0, read1));
    assert_false(SHARED(read0, read1));
    /* another life */
    assert_false(SHARED(block0, write0, free0, block1, write1, read1));
    assert_true(SHARED(block0, write0, grown1, read1));
    /* a FREE is a write: what comes after it is a use after free */
    assert_true(SHARED(block0, read1, free0, read1));
    assert_true(SHARED(free0, read1));
}

static void what_is_ordered_in_every_run_does_not_count(void **unused) {
    (void)unused;
    struct event write0 = {0, HD_EV_WRITE, 8, 64, 8}, read0 = {0, HD_EV_READ, 8, 64, 8};
    struct event write1 = {1, HD_EV_WRITE, 8, 64, 8}, read1 = {1, HD_EV_READ, 8, 64, 8};
    struct event read2 = {2, HD_EV_READ, 8, 64, 8}, write2 = {2, HD_EV_WRITE, 8, 64, 8};
    struct event fork1 = {0, HD_EV_FORK, 0, 1, 0}, fork2 = {0, HD_EV_FORK, 0, 2, 0};
    struct event join1 = {0, HD_EV_JOIN, 0, 1, 0}, join2 = {0, HD_EV_JOIN, 0, 2, 0};
    struct event fork2by1 = {1, HD_EV_FORK, 0, 2, 0};
    assert_false(SHARED(write0, fork1, read1, write1));
    assert_false(SHARED(write0, fork1, write1, join1, read0));
    assert_true(SHARED_IF(false, write0, fork1, write1, join1, read0));
    assert_false(SHARED_IF(false, read0, fork1, read1, join1, read0));
    assert_false(SHARED(write0, fork1, fork2, read1, read2));
    assert_true(SHARED(write0, fork1, fork2, write1, read2));
    assert_true(SHARED(write0, fork1, write0, read1));
    assert_true(SHARED(write0, fork1, read1, write0));
    assert_false(SHARED(fork1, fork2, write1, join1, read0)); /* one still runs */
    assert_false(SHARED(fork1, fork2, write1, join1, join2, read0));
    assert_true(SHARED(fork1, fork2, read1, read2, join1, write0));
    assert_true(SHARED(fork1, fork2by1, write2, join1, read0));
    assert_false(SHARED(fork1, write1, join1, fork2, write2));
    /* made by nobody, or there after it was joined */
    assert_true(SHARED(write0, read1));
    assert_true(SHARED(write0, fork1, write1, read2));
    assert_true(SHARED(write0, fork1, join1, write0, read1));
    /* rounds of barriers */
    struct event arrive0 = {0, HD_EV_BARRIER_ARRIVE, 0, 5, 1},
                 leave0 = {0, HD_EV_BARRIER_LEAVE, 0, 5, 0};
    struct event arrive1 = {1, HD_EV_BARRIER_ARRIVE, 0, 5, 1},
                 leave1 = {1, HD_EV_BARRIER_LEAVE, 0, 5, 0};
    struct event another1 = {1, HD_EV_BARRIER_ARRIVE, 0, 5, 2};
    assert_false(SHARED(fork1, write0, arrive0, arrive1, leave1, write1));
    assert_true(SHARED(fork1, arrive0, write0, arrive1, leave1, write1));
    assert_true(SHARED(fork1, write0, arrive0, arrive1, write1));
    assert_true(SHARED(fork1, write0, arrive0, leave0, another1, leave1, write1));
    assert_true(SHARED(fork1, write0, arrive0, arrive1, leave0, leave1, write0, write1));
}

/* More states than there is room for: each thread reads words of its own set. */
static void nothing_is_lost_with_many_states(void **unused) {
    (void)unused;
    enum { TEAM = 17, WORDS = 1 << (TEAM - 1) };
    struct hd_sharing *sharing = hd_sharing_new(0, 0, true);
    uint32_t thread = 0;
    size_t taken;
    struct hd_wire_event event[2] = {{0, 0}, {0, 0}};
#define TELL(by, kind, flags, operand)                            \
    do {                                                          \
        event[0].head = hd_wire_head(HD_EV_THREAD, 0, (by));      \
        event[1].head = hd_wire_head((kind), (flags), (operand)); \
        hd_sharing_events(sharing, event, 2, &thread, &taken);    \
    } while (0)
    for (uint32_t t = 1; t <= TEAM; t++) TELL(0, HD_EV_FORK, 0, t);
    for (uint32_t t = 1; t < TEAM; t++)
        for (uint64_t w = 0; w < WORDS; w++)
            if (w >> (t - 1) & 1) TELL(t, HD_EV_READ, 8, BASE + w * 8);
    /* whoever did not read a word, and one that reads none, writes: half of them each */
    for (uint64_t w = 0; w < WORDS; w++) {
        if (w % 2 == 0) TELL(1 + w % TEAM, HD_EV_WRITE, 8, BASE + w * 8);
        if (w % 2 != 0) TELL(TEAM, HD_EV_WRITE, 8, BASE + w * 8);
    }
    hd_sharing_again(sharing);
    /* the second reading: words are asked for in the order they came */
    for (uint32_t t = 1; t < TEAM; t++)
        for (uint64_t w = 0; w < WORDS; w++)
            if (w >> (t - 1) & 1) (void)hd_sharing_access(sharing, BASE + w * 8, 8);
    for (uint64_t w = 0; w < WORDS; w++) {
        uint32_t writer = w % 2 == 0 ? 1 + w % TEAM : TEAM;
        uint64_t others = w & ~((uint64_t)1 << (writer - 1));
        bool said = hd_sharing_access(sharing, BASE + w * 8, 8);
        if (others != 0) assert_true(said);
    }
    hd_sharing_free(sharing);
}

static void many_threads_read(void **unused) {
    (void)unused;
    enum { TEAM = 100 };
    for (uint32_t joined = TEAM - 1; joined <= TEAM; joined++) {
        struct hd_sharing *sharing = hd_sharing_new(0, 0, true);
        uint32_t thread = 0;
        size_t taken;
        struct hd_wire_event event[2] = {{0, 0}, {0, 0}};
        TELL(0, HD_EV_WRITE, 8, BASE);
        TELL(0, HD_EV_WRITE, 8, BASE + 8);
        for (uint32_t t = 1; t <= TEAM; t++) TELL(0, HD_EV_FORK, 0, t);
        for (uint32_t t = 1; t <= TEAM; t++) TELL(t, HD_EV_READ, 8, BASE);
        for (uint32_t t = 1; t <= TEAM; t++) TELL(t, HD_EV_READ, 8, BASE + 8);
        for (uint32_t t = 1; t <= joined; t++) TELL(0, HD_EV_JOIN, 0, t);
        TELL(0, HD_EV_WRITE, 8, BASE);
        hd_sharing_again(sharing);
        if (joined < TEAM) assert_true(hd_sharing_access(sharing, BASE, 8));
        if (joined == TEAM) (void)hd_sharing_access(sharing, BASE, 8); /* not told */
        assert_false(hd_sharing_access(sharing, BASE + 8, 8));
        hd_sharing_free(sharing);
    }
}

/* States of the past make room: a word goes from hand to hand, and others stay behind. */
static void states_of_the_past_make_room(void **unused) {
    (void)unused;
    enum { ROUNDS = 60000 };
    struct hd_sharing *sharing = hd_sharing_new(0, 0, true);
    uint32_t thread = 0;
    size_t taken;
    struct hd_wire_event event[2] = {{0, 0}, {0, 0}};
    TELL(0, HD_EV_FORK, 0, 1);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        TELL(round % 2, HD_EV_WRITE, 8, BASE);
        TELL(round % 2, HD_EV_WRITE, 8, BASE + 8 * (uint64_t)round);
        for (uint32_t t = 0; t < 2; t++) {
            struct hd_wire_event arrival[3] = {{hd_wire_head(HD_EV_THREAD, 0, t), 0},
                                               {hd_wire_head(HD_EV_EXT, 0, round), 0},
                                               {hd_wire_head(HD_EV_BARRIER_ARRIVE, 0, 5), 0}};
            hd_sharing_events(sharing, arrival, 3, &thread, &taken);
        }
        for (uint32_t t = 0; t < 2; t++) TELL(t, HD_EV_BARRIER_LEAVE, 0, 5);
    }
    for (uint32_t round = 1; round <= ROUNDS; round++)
        TELL(0, HD_EV_READ, 8, BASE + 8 * (uint64_t)round);
    TELL(0, HD_EV_WRITE, 8, BASE + 8);
    TELL(1, HD_EV_READ, 8, BASE + 8);
    /* a thread from nowhere: the past is not before it */
    TELL(2, HD_EV_READ, 8, BASE + 16);
    TELL(2, HD_EV_FORK, 0, 3);
    TELL(3, HD_EV_READ, 8, BASE + 24);
    hd_sharing_again(sharing);
    assert_false(hd_sharing_access(sharing, BASE, 8));
    for (uint32_t round = 1; round <= ROUNDS; round++)
        assert_int_equal(hd_sharing_access(sharing, BASE + 8 * (uint64_t)round, 8), round <= 3);
    hd_sharing_free(sharing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_told),
        cmocka_unit_test(nothing_else_is_told_of_programs),
        cmocka_unit_test(memory_of_one_thread_is_told),
        cmocka_unit_test(what_is_ordered_in_every_run_does_not_count),
        cmocka_unit_test(nothing_is_lost_with_many_states),
        cmocka_unit_test(many_threads_read),
        cmocka_unit_test(states_of_the_past_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
