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

static struct event some_event(struct dice *dice) {
    struct event e = {.thread = roll(dice, THREADS), .at = roll(dice, BYTES - 40)};
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
        wire[used++] = (struct hd_wire_event){
            hd_wire_head(event[i].kind, event[i].flags, BASE + event[i].at), 0};
    }
    hd_sharing_events(sharing, wire, used, &thread, &taken);
    assert_int_equal(taken, used);
    hd_sharing_again(sharing);
}

/* By definition: bit 0 for each thread and life of a byte, and whether anybody wrote. */
static uint8_t touched_by[BYTES][LIVES];
static bool written[BYTES][LIVES];
static uint16_t life[BYTES];

static void define(const struct event *event, unsigned count) {
    memset(touched_by, 0, sizeof touched_by);
    memset(written, 0, sizeof written);
    memset(life, 0, sizeof life);
    for (unsigned i = 0; i < count; i++)
        for (uint32_t b = event[i].at; b < event[i].at + event[i].bytes; b++) {
            if (event[i].kind == HD_EV_ALLOC) {
                if (event[i].flags == 0) life[b]++;
                continue;
            }
            touched_by[b][life[b]] |= (uint8_t)(1u << event[i].thread);
            if (writes(event[i].kind)) written[b][life[b]] = true;
        }
    memset(life, 0, sizeof life);
}

static bool by_definition(const struct event *e) {
    for (uint32_t b = e->at; b < e->at + e->bytes; b++) {
        unsigned by = touched_by[b][life[b]];
        if ((by & (by - 1)) != 0 && written[b][life[b]]) return true;
    }
    return false;
}

static void compare(const struct event *event, unsigned count, uint32_t pages, unsigned *alone) {
    struct hd_sharing *sharing = hd_sharing_new(pages);
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
        if (!said && by_definition(e)) fail_msg("event %u is of shared memory", i);
        *alone += !said;
    }
    hd_sharing_free(sharing);
}

static void shared_memory_is_told(void **unused) {
    (void)unused;
    unsigned alone = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct dice dice = {seed};
        struct event event[EVENTS];
        unsigned count = 4 + roll(&dice, EVENTS - 4);
        for (unsigned i = 0; i < count; i++) event[i] = some_event(&dice);
        compare(event, count, seed % 4 == 0 ? 1 : 0, &alone);
    }
    assert_true(alone > 1000);
}

static bool last_is_shared(const struct event *event, unsigned count) {
    struct hd_sharing *sharing = hd_sharing_new(0);
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
#define SHARED(...)                                     \
    last_is_shared((const struct event[]){__VA_ARGS__}, \
                   sizeof((const struct event[]){__VA_ARGS__}) / sizeof(struct event))

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_told),
        cmocka_unit_test(memory_of_one_thread_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
