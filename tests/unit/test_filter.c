/* The filter against the definition: random streams of accesses by several threads, with overlaps,
 * ranges, atomics and blocks that come and go, must have exactly the same steps and triples before
 * and after; and what is repeated must be left out. */
#include "oracle/filter_naive.h"
#include "support/dice.h"
#include "trace/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void put(void *context, const struct hd_filter_access *access) {
    naive_stream *out = context;
    struct naive_event event = {.thread = access->thread,
                                .site = access->site,
                                .kind = access->write ? HD_EV_WRITE : HD_EV_READ,
                                .address = access->address,
                                .bytes = access->bytes,
                                .number = UINT32_MAX};
    hd_vector_push(out, event);
}

static naive_stream filtered(const naive_stream *full, uint32_t pages,
                             struct hd_filter_figures *figures) {
    naive_stream out = {0};
    struct hd_filter_options options = {.pages = pages, .put = put, .context = &out};
    struct hd_filter *filter = hd_filter_new(&options);
    for (size_t i = 0; i < full->size; i++) {
        struct naive_event e = full->data[i];
        bool plain = e.kind == HD_EV_READ || e.kind == HD_EV_WRITE, keep = true;
        if (plain)
            keep = hd_filter_access(filter, e.thread, e.kind == HD_EV_WRITE, e.address, e.bytes,
                                    e.site);
        else
            hd_filter_event(filter, e.thread, e.kind, e.address, e.bytes);
        e.number = (uint32_t)i;
        if (keep) hd_vector_push(&out, e);
    }
    hd_filter_finish(filter);
    if (figures != NULL) *figures = hd_filter_figures(filter);
    hd_filter_free(filter);
    return out;
}

static void print(const char *title, const naive_stream *stream) {
    printf("%s\n", title);
    for (size_t i = 0; i < stream->size; i++) {
        const struct naive_event *e = &stream->data[i];
        printf("%6d T%u kind %u site %u  %#llx + %llu\n", (int)e->number, e->thread, e->kind,
               e->site, (unsigned long long)e->address, (unsigned long long)e->bytes);
    }
}

static void print_step(const char *what, const struct naive_step *s) {
    printf("%s: byte %#llx: T%u site %u kind %u epoch %u -> [T%u site %u] -> site %u kind %u "
           "epoch %u\n",
           what, (unsigned long long)(NAIVE_BASE(s->byte / NAIVE_WINDOW) + s->byte % NAIVE_WINDOW),
           s->second.thread, s->first.site, s->first.kind, s->first.epoch, s->between.thread,
           s->between.site, s->second.site, s->second.kind, s->second.epoch);
}

/* The same steps, and what is kept is in its order. */
static void expect_same(const naive_stream *full, const naive_stream *some, uint64_t seed) {
    naive_steps a = naive_find(full->data, full->size), b = naive_find(some->data, some->size);
    bool same = a.size == b.size;
    size_t i = 0;
    while (i < a.size && i < b.size && naive_compare(&a.data[i], &b.data[i]) == 0) i++;
    if (!same || i < a.size) {
        print("full", full);
        print("filtered", some);
        if (i < a.size) print_step("full", &a.data[i]);
        if (i < b.size) print_step("filtered", &b.data[i]);
        fail_msg("seed %llu: the steps differ", (unsigned long long)seed);
    }
    hd_vector_free(&a);
    hd_vector_free(&b);
    uint32_t last = 0;
    for (size_t k = 0; k < some->size; k++) {
        if (some->data[k].number == UINT32_MAX) continue;
        assert_true(some->data[k].number >= last);
        last = some->data[k].number;
    }
}

/* ---- random streams ----------------------------------------------------------------------- */

struct habits {
    unsigned threads, windows, sites, events;
    unsigned sync;     /* one of so many events */
    unsigned sizes;    /* how many of the sizes below */
    unsigned spread;   /* where accesses begin: multiples of this */
    unsigned bytes;    /* of a window that are in use */
    unsigned turn;     /* events of one thread in a row, at most */
    unsigned uncommon; /* one of so many: ranges, atomics, blocks */
};
static const unsigned size[] = {8, 4, 1, 2, 16, 3, 24, 12, 64, 5};

static struct naive_event some_event(struct dice *dice, const struct habits *habits) {
    struct naive_event e = {0};
    uint64_t base = NAIVE_BASE(roll(dice, habits->windows));
    unsigned first = (NAIVE_WINDOW - habits->bytes) / 2;
    e.address = base + first + roll(dice, habits->bytes / habits->spread) * habits->spread;
    e.bytes = size[roll(dice, habits->sizes)];
    e.site = 1 + roll(dice, habits->sites);
    e.kind = roll(dice, 2) ? HD_EV_READ : HD_EV_WRITE;
    if (habits->sync != 0 && roll(dice, habits->sync) == 0) {
        static const unsigned kind[] = {HD_EV_ACQUIRE, HD_EV_RELEASE, HD_EV_FORK, HD_EV_FENCE,
                                        HD_EV_NOTE};
        e.kind = kind[roll(dice, 5)];
        e.bytes = 0;
    } else if (habits->uncommon != 0 && roll(dice, habits->uncommon) == 0) {
        switch (roll(dice, 5)) {
        case 0:
            e.address = base + roll(dice, 16);
            e.bytes = 1 + roll(dice, 100);
            break;
        case 1:
            e.address = base - roll(dice, 6000);
            e.bytes = 5000 + roll(dice, 10000);
            break;
        case 2:
            e.kind = HD_EV_ATOMIC_READ + roll(dice, 3);
            e.bytes = 1u << roll(dice, 5);
            e.address &= ~(e.bytes - 1);
            break;
        case 3:
            e.kind = roll(dice, 2) ? HD_EV_ALLOC : HD_EV_FREE;
            e.bytes = 1 + roll(dice, 40);
            break;
        default:
            e.kind = roll(dice, 2) ? HD_EV_ALLOC : HD_EV_FREE;
            e.address = base - roll(dice, 100000);
            e.bytes = 1 + roll(dice, 1 << 22);
            break;
        }
    }
    return e;
}

static naive_stream make(uint64_t seed, const struct habits *habits) {
    struct dice dice = {seed};
    naive_stream stream = {0};
    unsigned left = 0, thread = 0;
    /* A thread goes round a loop of a few accesses most of the time. */
    struct naive_event loop[NAIVE_THREADS][5];
    unsigned length[NAIVE_THREADS] = {0}, at[NAIVE_THREADS] = {0};
    while (stream.size < habits->events) {
        if (left == 0) {
            thread = roll(&dice, habits->threads);
            left = 1 + roll(&dice, habits->turn);
        }
        left--;
        if (length[thread] == 0 || roll(&dice, 20) == 0) {
            length[thread] = 1 + roll(&dice, 5);
            for (unsigned i = 0; i < length[thread]; i++)
                loop[thread][i] = some_event(&dice, habits);
        }
        struct naive_event e = roll(&dice, 4) ? loop[thread][at[thread]++ % length[thread]]
                                              : some_event(&dice, habits);
        e.thread = thread;
        e.number = (uint32_t)stream.size;
        hd_vector_push(&stream, e);
    }
    return stream;
}

static void try_streams(const struct habits *habits, unsigned streams, uint32_t pages,
                        uint64_t first_seed) {
    for (uint64_t seed = first_seed; seed < first_seed + streams; seed++) {
        naive_stream full = make(seed, habits);
        naive_stream some = filtered(&full, pages, NULL);
        expect_same(&full, &some, seed);
        hd_vector_free(&full);
        hd_vector_free(&some);
    }
}

static void words_keep_their_steps(void **unused) {
    (void)unused;
    try_streams(&(struct habits){.threads = 2,
                                 .windows = 1,
                                 .sites = 3,
                                 .events = 120,
                                 .sync = 20,
                                 .sizes = 1,
                                 .spread = 8,
                                 .bytes = 16,
                                 .turn = 20},
                3000, 0, 1);
    try_streams(&(struct habits){.threads = 3,
                                 .windows = 2,
                                 .sites = 4,
                                 .events = 200,
                                 .sync = 30,
                                 .sizes = 2,
                                 .spread = 4,
                                 .bytes = 16,
                                 .turn = 30},
                2000, 0, 10000);
}

static void overlaps_keep_their_steps(void **unused) {
    (void)unused;
    try_streams(&(struct habits){.threads = 2,
                                 .windows = 1,
                                 .sites = 3,
                                 .events = 150,
                                 .sync = 40,
                                 .sizes = 10,
                                 .spread = 1,
                                 .bytes = 16,
                                 .turn = 40},
                3000, 0, 20000);
    try_streams(&(struct habits){.threads = 1,
                                 .windows = 1,
                                 .sites = 2,
                                 .events = 300,
                                 .sizes = 5,
                                 .spread = 4,
                                 .bytes = 8,
                                 .turn = 40},
                2000, 0, 30000);
    try_streams(&(struct habits){.threads = 3,
                                 .windows = 1,
                                 .sites = 2,
                                 .events = 200,
                                 .sync = 50,
                                 .sizes = 7,
                                 .spread = 8,
                                 .bytes = 48,
                                 .turn = 60},
                2000, 0, 40000);
}

static void ranges_atomics_and_blocks_keep_them(void **unused) {
    (void)unused;
    try_streams(&(struct habits){.threads = 3,
                                 .windows = 2,
                                 .sites = 3,
                                 .events = 200,
                                 .sync = 40,
                                 .sizes = 6,
                                 .spread = 2,
                                 .bytes = 32,
                                 .turn = 30,
                                 .uncommon = 8},
                3000, 0, 50000);
}

static void little_memory_loses_none(void **unused) {
    (void)unused;
    try_streams(&(struct habits){.threads = 3,
                                 .windows = 6,
                                 .sites = 3,
                                 .events = 300,
                                 .sync = 60,
                                 .sizes = 6,
                                 .spread = 4,
                                 .bytes = 48,
                                 .turn = 30,
                                 .uncommon = 40},
                2000, 4, 60000);
}

/* More places on one word than a state can hold. */
static void many_places_lose_none(void **unused) {
    (void)unused;
    try_streams(&(struct habits){.threads = 2,
                                 .windows = 1,
                                 .sites = 40,
                                 .events = 900,
                                 .sync = 400,
                                 .sizes = 2,
                                 .spread = 8,
                                 .bytes = 8,
                                 .turn = 200},
                300, 0, 70000);
}

/* ---- what is left out ---------------------------------------------------------------------- */

static void add(naive_stream *stream, uint32_t thread, unsigned kind, uint64_t offset,
                uint64_t bytes, uint32_t site) {
    struct naive_event e = {thread, site, kind, NAIVE_BASE(0) + offset, bytes, 0};
    hd_vector_push(stream, e);
}

/* A loop of accesses is kept for its first rounds only. */
static void expect_kept(const naive_stream *round, size_t most) {
    naive_stream full = {0};
    for (int i = 0; i < 100; i++)
        for (size_t k = 0; k < round->size; k++) hd_vector_push(&full, round->data[k]);
    naive_stream some = filtered(&full, 0, NULL);
    expect_same(&full, &some, 0);
    if (some.size > most) {
        print("kept", &some);
        fail_msg("%zu are kept, where %zu would do", some.size, most);
    }
    hd_vector_free(&full);
    hd_vector_free(&some);
}
#define EXPECT_KEPT(most, ...)                                                          \
    do {                                                                                \
        naive_stream round = {0};                                                       \
        const struct naive_event list[] = {__VA_ARGS__};                                \
        for (size_t i = 0; i < sizeof list / sizeof *list; i++)                         \
            add(&round, 0, list[i].kind, list[i].address, list[i].bytes, list[i].site); \
        expect_kept(&round, most);                                                      \
        hd_vector_free(&round);                                                         \
    } while (0)
#define R(offset, bytes_, site_) \
    { .kind = HD_EV_READ, .address = (offset), .bytes = (bytes_), .site = (site_) }
#define W(offset, bytes_, site_) \
    { .kind = HD_EV_WRITE, .address = (offset), .bytes = (bytes_), .site = (site_) }

static void loops_are_left_out(void **unused) {
    (void)unused;
    EXPECT_KEPT(2, R(0, 8, 1));
    EXPECT_KEPT(5, R(0, 8, 1), W(0, 8, 2));
    EXPECT_KEPT(10, R(0, 8, 1), R(0, 8, 2), R(0, 8, 3), W(0, 8, 4), W(0, 8, 5));
    EXPECT_KEPT(5, R(0, 16, 1), W(0, 16, 2));
    EXPECT_KEPT(5, R(3, 1, 1), W(3, 1, 2));
    EXPECT_KEPT(5, R(2, 11, 1), W(2, 11, 2));
    EXPECT_KEPT(5, R(0, 24, 1), W(0, 24, 2));
    /* a struct that is read as one and written in parts */
    EXPECT_KEPT(8, R(0, 8, 1), W(0, 4, 2), W(4, 4, 3));
    /* cleared as a whole, and filled */
    EXPECT_KEPT(12, W(0, 32, 1), W(0, 8, 2), W(8, 8, 2), W(16, 8, 2), W(24, 8, 2));
    /* over the border of two pages */
    EXPECT_KEPT(2, R(24, 16, 1));
}

/* Memory of long ago is given up first: a loop goes on as if nothing had happened, while others
 * come by. */
static void what_is_in_use_stays(void **unused) {
    (void)unused;
    naive_stream full = {0}, out;
    struct hd_filter_figures figures;
    for (unsigned i = 0; i < 4000; i++) {
        add(&full, 0, HD_EV_READ, 0, 8, 1);
        add(&full, 0, HD_EV_WRITE, 0, 8, 2);
        add(&full, 0, HD_EV_WRITE, 0x100000 + (uint64_t)i * 4096, 8, 3);
    }
    out = filtered(&full, 16, &figures);
    assert_true(figures.pages <= 16);
    assert_true(figures.given_up > 3000);
    if (out.size > 4000 + 600) fail_msg("%zu are kept", out.size);
    hd_vector_free(&full);
    hd_vector_free(&out);
}

/* The latest access before another thread comes is there, though it was left out. */
static void the_latest_is_put_in(void **unused) {
    (void)unused;
    naive_stream full = {0};
    for (int i = 0; i < 10; i++) {
        add(&full, 0, HD_EV_READ, 0, 8, 1);
        add(&full, 0, HD_EV_WRITE, 0, 8, 2);
    }
    add(&full, 0, HD_EV_READ, 0, 8, 1);
    add(&full, 1, HD_EV_WRITE, 4, 4, 3);
    add(&full, 0, HD_EV_WRITE, 0, 8, 2);
    naive_stream some = filtered(&full, 0, NULL);
    expect_same(&full, &some, 0);
    assert_int_equal(some.size, 5);
    assert_int_equal(some.data[2].site, 1);
    hd_vector_free(&full);
    hd_vector_free(&some);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_keep_their_steps),
        cmocka_unit_test(overlaps_keep_their_steps),
        cmocka_unit_test(ranges_atomics_and_blocks_keep_them),
        cmocka_unit_test(little_memory_loses_none),
        cmocka_unit_test(many_places_lose_none),
        cmocka_unit_test(loops_are_left_out),
        cmocka_unit_test(what_is_in_use_stays),
        cmocka_unit_test(the_latest_is_put_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
