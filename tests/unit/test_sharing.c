/* What threads share, against the definition byte by byte: an access of memory that is shared is
 * never said to be of one thread alone; and memory of one thread is told, also where a block is
 * given to another thread later. */
#include "support/dice.h"
#include "trace/sharing.h"
#include "trace/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 3, BYTES = 256, EVENTS = 120, LIVES = EVENTS + 1 };
#define BASE (0x10000 - BYTES / 2) /* over the border of two pages */

struct event {
    uint32_t thread;
    unsigned kind, flags;
    uint32_t at;
    uint64_t bytes;
};

static bool is_access(unsigned kind) { return kind <= HD_EV_ATOMIC_UPDATE; }
static bool writes(unsigned kind) {
    return kind == HD_EV_WRITE || kind == HD_EV_ATOMIC_WRITE || kind == HD_EV_ATOMIC_UPDATE ||
           kind == HD_EV_FREE;
}

/* Threads that run: made and not joined. */
struct threads {
    bool runs[THREADS], known[THREADS];
    unsigned running;
};

/* Follows them; true if the event is of a thread that nobody made. */
static bool follow(struct threads *t, const struct event *e) {
    bool from_nowhere = !t->runs[e->thread] && (t->running != 0 || t->known[e->thread]);
    for (unsigned i = 0; i < THREADS; i++) /* all others were joined */
        if (!t->known[e->thread] && t->known[i]) from_nowhere = from_nowhere || !t->runs[e->thread];
    if (!t->runs[e->thread]) t->running++;
    t->runs[e->thread] = t->known[e->thread] = true;
    if (e->kind != HD_EV_FORK && e->kind != HD_EV_JOIN) return from_nowhere;
    bool runs = e->kind == HD_EV_FORK;
    if (e->at == e->thread || (!runs && !t->known[e->at])) return from_nowhere;
    if (runs && t->known[e->at]) from_nowhere = true;
    t->running += (unsigned)runs - (unsigned)t->runs[e->at];
    t->runs[e->at] = runs;
    t->known[e->at] = true;
    return from_nowhere;
}

/* `made`: threads are made before they do anything, by such as run. */
static struct event some_event(struct dice *dice, const struct threads *made) {
    struct event e = {.thread = roll(dice, THREADS), .at = roll(dice, BYTES - 40)};
    while (made != NULL && !made->runs[e.thread]) e.thread = roll(dice, THREADS);
    uint32_t other = roll(dice, THREADS);
    if (made != NULL && roll(dice, 8) == 0 && other != e.thread &&
        made->runs[other] == made->known[other]) {
        e.kind = made->runs[other] ? HD_EV_JOIN : HD_EV_FORK;
        e.at = other;
        return e;
    }
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

/* Tells the first reading of the events, as a stream. */
static void tell(struct hd_sharing *sharing, const struct event *event, unsigned count) {
    struct hd_wire_event wire[EVENTS * 3];
    size_t used = 0, taken;
    uint32_t thread = 0;
    for (unsigned i = 0; i < count; i++) {
        wire[used++] = (struct hd_wire_event){hd_wire_head(HD_EV_THREAD, 0, event[i].thread), 0};
        if (event[i].flags == 0 || event[i].kind == HD_EV_ALLOC)
            wire[used++] = (struct hd_wire_event){hd_wire_head(HD_EV_EXT, 0, event[i].bytes), 0};
        bool of_threads = event[i].kind == HD_EV_FORK || event[i].kind == HD_EV_JOIN;
        wire[used++] = (struct hd_wire_event){
            hd_wire_head(event[i].kind, event[i].flags, (of_threads ? 0 : BASE) + event[i].at), 0};
    }
    hd_sharing_events(sharing, wire, used, &thread, &taken);
    assert_int_equal(taken, used);
    hd_sharing_again(sharing);
}

/* By definition: bit 0 for each thread and life of a byte, and whether anybody wrote. Second, the
 * same of threads that were alone. That does not count, unless a thread comes that nobody made:
 * then it counts for the life that each byte has. */
static uint8_t touched_by[2][BYTES][LIVES];
static bool written[2][BYTES][LIVES];
static uint16_t life[BYTES];

/* Was it accessed alone (1), then by others (2), then alone again (3)? */
static uint8_t parted[BYTES][LIVES];

static void count_what_was_alone(void) {
    for (unsigned b = 0; b < BYTES; b++) {
        touched_by[0][b][life[b]] |= touched_by[1][b][life[b]];
        if (written[1][b][life[b]]) written[0][b][life[b]] = true;
    }
}

static void define(const struct event *event, unsigned count) {
    struct threads threads = {0};
    bool never_alone = false;
    memset(touched_by, 0, sizeof touched_by);
    memset(written, 0, sizeof written);
    memset(parted, 0, sizeof parted);
    memset(life, 0, sizeof life);
    for (unsigned i = 0; i < count; i++) {
        bool from_nowhere = follow(&threads, &event[i]);
        if (from_nowhere && !never_alone) count_what_was_alone();
        never_alone = never_alone || from_nowhere;
        bool alone = threads.running == 1 && !never_alone;
        for (uint32_t b = event[i].at; b < event[i].at + event[i].bytes; b++) {
            if (event[i].kind == HD_EV_ALLOC) {
                if (event[i].flags == 0) life[b]++;
                continue;
            }
            uint8_t *phase = &parted[b][life[b]];
            if (*phase < 3 && (*phase % 2 == 0) == alone) ++*phase;
            touched_by[alone][b][life[b]] |= (uint8_t)(1u << event[i].thread);
            if (writes(event[i].kind)) written[alone][b][life[b]] = true;
        }
    }
    memset(life, 0, sizeof life);
}

static bool by_definition(const struct event *e, bool forced) {
    for (uint32_t b = e->at; b < e->at + e->bytes; b++) {
        unsigned by = touched_by[0][b][life[b]];
        bool by_write = written[0][b][life[b]];
        if (forced && parted[b][life[b]] == 3) {
            by |= touched_by[1][b][life[b]];
            by_write = by_write || written[1][b][life[b]];
        }
        if ((by & (by - 1)) != 0 && by_write) return true;
    }
    return false;
}

static void compare(const struct event *event, unsigned count, uint32_t pages, bool forced,
                    unsigned *alone) {
    struct hd_sharing *sharing = hd_sharing_new(pages, forced);
    tell(sharing, event, count);
    define(event, count);
    for (unsigned i = 0; i < count; i++) {
        const struct event *e = &event[i];
        if (e->kind == HD_EV_ALLOC) {
            hd_sharing_alloc(sharing, BASE + e->at, e->flags, e->bytes);
            for (uint32_t b = e->at; e->flags == 0 && b < e->at + e->bytes; b++) life[b]++;
        }
        if (!is_access(e->kind)) continue;
        bool said = hd_sharing_access(sharing, BASE + e->at, e->bytes);
        if (!said && by_definition(e, forced)) fail_msg("event %u is of shared memory", i);
        *alone += !said;
    }
    hd_sharing_free(sharing);
}

static void shared_memory_is_told(void **unused) {
    (void)unused;
    unsigned alone = 0, alone_where_made = 0;
    for (uint64_t seed = 1; seed <= 8000; seed++) {
        struct dice dice = {seed};
        struct event event[EVENTS];
        struct threads threads = {.runs = {true}, .known = {true}, .running = 1};
        unsigned count = 4 + roll(&dice, EVENTS - 4);
        bool made = seed % 2 != 0; /* most of these end with a thread from nowhere, some do not */
        unsigned until = roll(&dice, 2) != 0 ? EVENTS : roll(&dice, EVENTS);
        for (unsigned i = 0; i < count; i++) {
            event[i] = some_event(&dice, made && i < until ? &threads : NULL);
            if (made && i == 0) event[i].thread = 0;
            (void)follow(&threads, &event[i]);
        }
        compare(event, count, seed % 8 < 2 ? 1 : 0, seed % 3 != 0,
                made ? &alone_where_made : &alone);
    }
    assert_true(alone > 1000);
    assert_true(alone_where_made > 20000);
}

static bool last_is_shared(const struct event *event, unsigned count, bool forced) {
    struct hd_sharing *sharing = hd_sharing_new(0, forced);
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
#define SHARED_IF(forced, ...)                          \
    last_is_shared((const struct event[]){__VA_ARGS__}, \
                   sizeof((const struct event[]){__VA_ARGS__}) / sizeof(struct event), (forced))
#define SHARED(...) SHARED_IF(false, __VA_ARGS__)

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

static void what_is_done_alone_does_not_count(void **unused) {
    (void)unused;
    struct event write0 = {0, HD_EV_WRITE, 8, 64, 8}, read0 = {0, HD_EV_READ, 8, 64, 8};
    struct event write1 = {1, HD_EV_WRITE, 8, 64, 8}, read1 = {1, HD_EV_READ, 8, 64, 8};
    struct event read2 = {2, HD_EV_READ, 8, 64, 8}, write2 = {2, HD_EV_WRITE, 8, 64, 8};
    struct event fork1 = {0, HD_EV_FORK, 0, 1, 0}, fork2 = {0, HD_EV_FORK, 0, 2, 0};
    struct event join1 = {0, HD_EV_JOIN, 0, 1, 0}, join2 = {0, HD_EV_JOIN, 0, 2, 0};
    struct event fork2by1 = {1, HD_EV_FORK, 0, 2, 0};
    assert_false(SHARED(write0, fork1, read1, write1));
    assert_false(SHARED(write0, fork1, write1, join1, read0));
    assert_true(SHARED_IF(true, write0, fork1, write1, join1, read0));
    assert_true(SHARED_IF(true, write0, fork1, read1, join1, write0));
    assert_false(SHARED_IF(true, read0, fork1, read1, join1, read0));
    assert_false(SHARED_IF(true, write0, fork1, write1));
    assert_false(SHARED_IF(true, fork1, write1, join1, read0, write0));
    assert_true(SHARED_IF(true, fork1, read0, join1, write0, fork2, read2, join2, write0));
    assert_false(SHARED(write0, fork1, fork2, read1, read2));
    assert_true(SHARED(write0, fork1, fork2, write1, read2));
    assert_true(SHARED(write0, fork1, write0, read1));
    assert_true(SHARED(fork1, fork2, write1, join1, read0)); /* one still runs */
    assert_false(SHARED(fork1, fork2, write1, join1, join2, read0));
    assert_true(SHARED(fork1, fork2by1, write1, join1, read0));
    /* two that are never there together: that is not told */
    assert_true(SHARED(fork1, write1, join1, fork2, write2));
    /* made by nobody, or there after it was joined */
    assert_true(SHARED(write0, read1));
    assert_true(SHARED(write0, fork1, write1, read2));
    assert_true(SHARED(write0, fork1, join1, write0, read1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_told),
        cmocka_unit_test(memory_of_one_thread_is_told),
        cmocka_unit_test(what_is_done_alone_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
