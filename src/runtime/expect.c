/* Events that came as expected (trace/expect.h) are only counted. The count is in
 * the chunk, where the parent finds it whatever becomes of the program. */
#include "runtime/windows.h"

#include <string.h>

/* The table of a thread that keeps no expectations: nothing is met there. */
static struct hd_expected no_link;
struct rt_open rt_nothing_open[RT_OPEN_BLOCKS];

/* ---- which link an event has -------------------------------------------------------------------
 */

/* A link has the same offset in the tables of all threads, so that a hook can keep it. Offsets are
 * given out as links come up: tables are touched from the beginning, and no further than needed.
 * The hash table has one word for each, so that it is entered in one step:
 *     bits 0-44   what makes it: site, kind and flags
 *     bits 45-62  its number, from 1; bit 63 is not used */
#define SLOTS (2u * RT_LINKS)
#define KEY_BITS 45
#define KEY(word) ((word) & ((1ull << KEY_BITS) - 1))
static uint64_t *link_table;
static _Atomic uint32_t links;
static uint32_t forgotten; /* links up to this one were the parent's */

static uint64_t packed_key(uint64_t key) { return (key >> 32) << 29 | (uint32_t)key; }
_Static_assert(HD_SITE_LIMIT == 1u << 29, "a site and a shape are KEY_BITS bits");

static uint64_t *map_link_table(void) {
    uint64_t *mine = rt_map(SLOTS * sizeof *mine), *none = NULL;
    if (__atomic_compare_exchange_n(&link_table, &none, mine, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return mine;
    rt_unmap(mine, SLOTS * sizeof *mine);
    return none;
}

uint32_t rt_link_of(uint64_t key) {
    uint64_t *table = __atomic_load_n(&link_table, __ATOMIC_ACQUIRE), wanted = packed_key(key);
    if (unlikely(table == NULL)) table = map_link_table();
    if (unlikely((uint32_t)key >= HD_SITE_LIMIT)) return 0;
    uint32_t at = (uint32_t)(wanted * 0x9e3779b97f4a7c15ull >> 40) % SLOTS, number = 0;
    for (;; at = (at + 1) % SLOTS) {
        uint64_t word = __atomic_load_n(&table[at], __ATOMIC_ACQUIRE);
        if (word == 0) {
            if (number == 0) number = atomic_fetch_add(&links, 1) + 1;
            if (number >= RT_LINKS) {
                atomic_fetch_sub(&links, 1);
                return 0;
            }
            uint64_t mine = wanted | (uint64_t)number << KEY_BITS;
            if (__atomic_compare_exchange_n(&table[at], &word, mine, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                word = mine;
        }
        if (KEY(word) == wanted) return (uint32_t)(word >> KEY_BITS) * HD_LINK_BYTES;
    }
}

void rt_links_forget(void) {
    if (link_table != NULL) memset(link_table, 0, SLOTS * sizeof *link_table);
    forgotten = atomic_load(&links);
}

bool rt_is_link(uint32_t link) { return link > forgotten * HD_LINK_BYTES; }

RT_INLINE bool is_link_of(const struct hd_expect *e, uint32_t link, uint64_t head, uint64_t tail) {
    const struct hd_expected *l = hd_link_at(e, link);
    return l->shape == (uint16_t)head && l->site == hd_wire_site(tail);
}

/* Mostly it is the hook's, or one of the two that came after the latest event: to search the table
 * takes longer. */
static uint32_t link_of(const struct rt_thread *t, uint64_t head, uint64_t tail) {
    const struct hd_expect *e = &t->expect;
    if (!hd_may_be_linked(head)) return 0;
    if (is_link_of(e, t->hook_link, head, tail)) return t->hook_link;
    if (is_link_of(e, e->at, head, tail)) return e->at;
    uint32_t second = e->before != 0 ? hd_token_second(e) : 0;
    if (is_link_of(e, second, head, tail)) return second;
    return rt_link_of(hd_link_key(head, tail));
}

/* ---- a thread ----------------------------------------------------------------------------------
 */

#define LINK_BYTES ((size_t)RT_LINKS * HD_LINK_BYTES)
#define OPEN_BYTES (RT_OPEN_BLOCKS * sizeof(struct rt_open))
#define THREAD_BYTES (LINK_BYTES + RT_WINDOW_BYTES + OPEN_BYTES)
_Static_assert((LINK_BYTES + RT_WINDOW_BYTES) % HD_LINK_BYTES == 0, "blocks begin with a line");

void rt_expect_begin(struct rt_thread *t) {
    rt_expect_end(t);
    if (rt.check_only) return;
    bool words = rt_words_map();
    if (rt.mode == HD_SCHED_FREE)
        t->owner = t->number < RT_OWNER_THREADS ? (uint8_t)(2 * t->number + 1) : RT_OWNER_NONE;
    if (rt.options.full == HD_FULL_DIRECT || !words) return;
    /* in one piece, too large for the gaps where the program's libraries go */
    char *memory = rt_map(THREAD_BYTES);
    t->expect.link = (struct hd_expected *)memory;
    t->open = memory + LINK_BYTES + RT_WINDOW_BYTES;
    if (rt.mode == HD_SCHED_SERIAL) rt_windows_begin(t, memory + LINK_BYTES);
    t->expects = true;
    rt_hooks_expect();
}

void rt_expect_end(struct rt_thread *t) {
    if (t->expects) rt_unmap(t->expect.link, THREAD_BYTES);
    rt_windows_end(t);
    t->expects = false;
    t->expect = (struct hd_expect){.link = &no_link};
    rt_nothing_is_open(t);
    t->block = t->slow_block = NULL;
    t->owner = 0;
    t->closed = false;
    t->hook_link = 0;
}

/* ---- blocks that are open ----------------------------------------------------------------------
 */

#define RELATIVE_ROUNDS 64u /* for which marks are looked at here, not by a window */
#define IN_VAIN 4u          /* rounds that a block was open for: then it is not worth it */
#define SHY 100u            /* so often */
#define ROUND_MOST 0x10000u /* events of a link that are looked at together */

/* What its links expect stands there. */
RT_INLINE void begin_rounds(struct rt_thread *t, struct rt_open *open, const struct hd_hook *last,
                            uint32_t rounds, bool relative) {
    const struct hd_hook *first = last - last->index;
    struct hd_expected *l = hd_link_at(&t->expect, last->link);
    open->came = first->link | (uint64_t)last->link << 32;
    open->came_bits = relative ? UINT64_MAX : UINT32_MAX;
    open->passed = hd_link_at(&t->expect, first->link)->rest;
    open->hooks = last->index + 1u;
    open->rounds = open->begun = rounds;
    open->more = 0;
    open->turns = false;
    open->follows = l->next == first->link;
    l->flags |= RT_LINK_OPEN;
    open->both = l->next | (uint64_t)last->link << 32;
    open->last = last;
    t->open_at |= 1ull << (open - (struct rt_open *)t->open);
}

/* From where the last access of a block comes to where it comes in the next round. */
static uint64_t step_of_round(const struct rt_thread *t, const struct hd_hook *first,
                              const struct hd_hook *last) {
    const struct hd_expected *l;
    for (const struct hd_hook *place = last; place >= first; place--) {
        l = hd_link_at(&t->expect, place->link);
        if (l->operand != HD_LINK_NOWHERE) return l->stride;
    }
    uint64_t step = 0;
    for (const struct hd_hook *place = last; place >= first; place--)
        step += hd_link_at(&t->expect, place->link)->distance;
    return step;
}

RT_NOINLINE void rt_open_block(struct rt_thread *t, const struct hd_hook *last, uint32_t least) {
    struct rt_open *open = rt_open_of(t, last->link);
    if (open->last != NULL) rt_close_block(t, open);
    const struct hd_hook *first = last - last->index;
    struct hd_expected *l = hd_link_at(&t->expect, first->link);
    uint64_t *operand = &open->operand[RT_BLOCK_LAST - last->index];
    uint64_t *stride = &open->stride[RT_BLOCK_LAST - last->index];
    uint32_t rounds = UINT32_MAX;
    bool relative = l->operand == HD_LINK_NOWHERE;
    uint64_t step = relative ? step_of_round(t, first, last) : 0;
    /* where the first comes depends on the event before, which has to be the last one's, always */
    if (relative && (t->expect.at != first->link || t->expect.before != last->link)) {
        open->shy = SHY;
        return;
    }
    for (unsigned i = 0; i <= last->index; i++) {
        l = hd_link_at(&t->expect, first[i].link);
        if (l->count - 1 < rounds - 1) rounds = l->count;
        if (l->flags & HD_LINK_EITHER) open->shy = SHY;
        if (rounds < least || l->flags & HD_LINK_EITHER) return;
        operand[i] = l->operand;
        stride[i] = l->stride;
        if (l->operand != HD_LINK_NOWHERE) continue;
        /* as far from the one before as last time, so it goes on as that does */
        operand[i] = (i > 0 ? operand[i - 1] : t->expect.operand) + l->distance;
        stride[i] = i > 0 ? stride[i - 1] : step;
        if (t->window == NULL) continue;
        if (rounds > RELATIVE_ROUNDS) rounds = RELATIVE_ROUNDS;
        rounds = rt_without_marks(operand[i], (int64_t)stride[i], rounds);
    }
    if (rounds < least) return;
    begin_rounds(t, open, last, rounds, relative);
}

RT_INLINE uint32_t rounds_done(const struct rt_open *open) {
    return open->begun - open->more - open->rounds;
}

/* The links have again what they expect. */
RT_INLINE void give_back(struct rt_thread *t, struct rt_open *open) {
    const struct hd_hook *last = open->last;
    uint32_t rounds = rounds_done(open);
    if (t->repeats == open) rt_end_repeats(t);
    bool turns = open->turns && rounds != 0;
    for (const struct hd_hook *place = last - last->index; place <= last; place++) {
        struct hd_expected *l = hd_link_at(&t->expect, place->link);
        if (l->operand != HD_LINK_NOWHERE) l->operand = open->operand[RT_BLOCK_LAST - place->more];
        if (turns && l->flags & HD_LINK_TURNING) {
            l->count = 0;
            (void)hd_link_turn(l);
            l->count++; /* the first one is of the rounds that are done */
        }
        l->count -= rounds;
    }
    hd_link_at(&t->expect, last->link)->flags &= (uint16_t)~RT_LINK_OPEN;
    open->last = NULL;
    t->open_at &= ~(1ull << (open - (struct rt_open *)t->open));
}

RT_NOINLINE void rt_close_block(struct rt_thread *t, struct rt_open *open) {
    if (rounds_done(open) < IN_VAIN && !open->turns) open->shy = SHY;
    give_back(t, open);
}

RT_INLINE uint32_t link_ends(struct rt_thread *t, uint32_t link) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    if (l->flags & RT_LINK_WINDOW) return rt_window_next(t, link);
    uint32_t next = hd_link_turn(l);
    rt_window_close(t, link);
    return next;
}

uint32_t rt_link_ends(struct rt_thread *t, uint32_t link) { return link_ends(t, link); }

/* A round of a link begins there: may that be gone through as one? */
RT_INLINE bool round_is_clear(const struct rt_thread *t, const struct hd_expected *l,
                              uint64_t operand) {
    if (t->window == NULL) return true;
    uint64_t last = operand + l->stride * (l->trip - 1);
    if (likely((operand ^ last) >> 12 == 0 && !rt_may_be_marked(last))) return true;
    return rt_without_marks(operand, (int64_t)l->stride, l->trip) == l->trip;
}

/* The first of the rounds to come may have other counts than those after it. */
RT_INLINE void first_alone(const struct rt_thread *t, struct rt_open *open,
                           const struct hd_hook *first) {
    const struct hd_expected *l = hd_link_at(&t->expect, first->link);
    if (!(l->flags & HD_LINK_TURNING) || l->other_rest == l->rest) return;
    open->passed = l->rest;
    open->passed_then = l->other_rest;
    open->more = open->rounds - 1;
    open->rounds = 1;
}

/* A block whose links have ended their round or window is open again, if that is worth it. */
RT_INLINE bool opens_again(struct rt_thread *t, struct rt_open *open, const struct hd_hook *last,
                           uint32_t least) {
    const struct hd_hook *first = last - last->index;
    uint64_t *operand = &open->operand[RT_BLOCK_LAST - last->index];
    uint32_t rounds = UINT32_MAX;
    bool turns = false;
    for (unsigned i = 0; i <= last->index; i++) {
        const struct hd_expected *l = hd_link_at(&t->expect, first[i].link);
        if (l->operand == HD_LINK_NOWHERE || (t->window != NULL && !(l->flags & RT_LINK_SURE)))
            return false;
        uint32_t count = l->count;
        if (l->flags & HD_LINK_TURNING) {
            if (l->trip > ROUND_MOST || !round_is_clear(t, l, l->operand)) return false;
            count = l->trip;
            turns = true;
        }
        if (count - 1 < rounds - 1) rounds = count;
        operand[i] = l->operand;
    }
    if (rounds <= least) return false;
    begin_rounds(t, open, last, rounds, false);
    open->turns = turns;
    first_alone(t, open, first);
    return true;
}

/* The round of all links that turn is over, the others go on: what was expected of the first of a
 * round, when the block was opened, is expected again, elsewhere. */
RT_INLINE bool turns_in_place(struct rt_thread *t, struct rt_open *open) {
    const struct hd_hook *last = open->last, *first = last - last->index;
    uint64_t *operand = &open->operand[RT_BLOCK_LAST - last->index];
    struct hd_expected *l = NULL;
    uint32_t rounds = open->begun;
    if (!open->turns) return false;
    for (unsigned i = 0; i <= last->index; i++) {
        l = hd_link_at(&t->expect, first[i].link);
        if (!(l->flags & HD_LINK_TURNING)
                ? l->count / 2 < rounds
                : l->trip != rounds || !round_is_clear(t, l, operand[i] - l->stride + l->other))
            return false;
    }
    for (unsigned i = 0; i <= last->index; i++) {
        l = hd_link_at(&t->expect, first[i].link);
        if (l->flags & HD_LINK_TURNING) {
            operand[i] += l->other - l->stride;
            l->flags &= (uint16_t)~HD_LINK_DOUBTED;
        } else {
            l->count -= rounds;
        }
    }
    if (l->flags & HD_LINK_TURNING && l->exit != 0) t->expect.at = l->exit;
    open->rounds = rounds;
    first_alone(t, open, first);
    return true;
}

RT_NOINLINE void rt_turn_block(struct rt_thread *t, struct rt_open *open, uint32_t least) {
    rt_end_repeats(t);
    if (open->more != 0) {
        open->rounds = open->more;
        open->more = 0;
        open->passed = open->passed_then;
        return;
    }
    if (turns_in_place(t, open)) return;
    const struct hd_hook *last = open->last, *first = last - last->index;
    uint32_t next = 0;
    give_back(t, open); /* all, since a window that begins may end others */
    for (const struct hd_hook *place = first; place <= last; place++) {
        bool ends = hd_link_at(&t->expect, place->link)->count == 0;
        next = ends ? link_ends(t, place->link) : 0;
    }
    if (next != 0) t->expect.at = next;
    if (!opens_again(t, open, last, least) && hd_link_at(&t->expect, last->link)->count > least)
        rt_open_block(t, last, least);
}

void rt_close_blocks(struct rt_thread *t) {
    while (t->open_at != 0)
        rt_close_block(t, (struct rt_open *)t->open + __builtin_ctzll(t->open_at));
}

static void give_up_block(const struct rt_thread *t, const struct hd_hook *place) {
    hd_link_at(&t->expect, place[-place->index].link)->flags &= (uint16_t)~RT_LINK_BLOCK;
}

void rt_settle_for_handler(struct rt_thread *t) {
    rt_settle(t);
    if (t->slow_block != NULL) give_up_block(t, t->slow_block);
    t->slow_block = NULL;
}

void rt_settle_slow(struct rt_thread *t) {
    const struct hd_hook *place = t->block;
    give_up_block(t, place);
    t->block = NULL;
    rt_count_passed(t, place, place->index + 1u - t->block_counted);
}

/* ---- records -----------------------------------------------------------------------------------
 */

/* Where the next record goes, behind the choices that the events before it made. */
static uint8_t *begin_record(struct rt_thread *t) {
    if (unlikely(t->put >= t->put_end)) rt_chunk_next(t);
    rt_catch_up(t);
    return *t->choices != 0 ? hd_token_put_choices(t->put, *t->choices) : t->put;
}

static uint64_t met_so_far(const struct rt_thread *t) { return HD_MET(*t->met); }

void rt_put_met(struct rt_thread *t, uint64_t met, uint64_t choices) {
    uint8_t *at = choices != 0 ? hd_token_put_choices(t->put, choices) : t->put;
    rt_put(t, hd_token_put_other(at, HD_TOKEN_MET, met, 0, 0));
}

void rt_store_met(struct rt_thread *t) {
    if (!rt.records) return;
    rt_catch_up(t);
    if (t->chunk == NULL || met_so_far(t) == 0) return;
    if (unlikely(t->put >= t->put_end))
        rt_chunk_next(t); /* there it is stored first of all */
    else
        rt_put_met(t, met_so_far(t), *t->choices);
}

static void put_stream(struct rt_thread *t, uint64_t head) {
    uint8_t *at = begin_record(t);
    uint64_t operand = hd_wire_operand(head), met = met_so_far(t);
    if (hd_wire_kind(head) == HD_EV_THREAD) {
        rt_put(t, hd_token_put_other(at, HD_TOKEN_THREAD, met, operand, 4));
        return;
    }
    uint64_t further = operand - t->stamp_stored;
    bool near = further <= UINT16_MAX;
    t->stamp_stored = operand;
    rt_put(t, hd_token_put_other(at, near ? HD_TOKEN_STAMP_NEAR : HD_TOKEN_STAMP, met, further,
                                 near ? 2 : 8));
}

/* Stores an event; returns what was counted before it. */
static uint64_t put_event(struct rt_thread *t, uint32_t link, uint64_t head, uint64_t tail) {
    uint8_t *at = begin_record(t);
    uint64_t met = met_so_far(t);
    if (link != 0 && hd_link_at(&t->expect, link)->shape != 0)
        at = hd_token_put(at, &t->expect, link, hd_wire_operand(head), (uint32_t)(tail >> 32), met);
    else
        at = hd_token_put_event(at, link, head, tail, met);
    rt_put(t, at);
    /* What is expected was stored once: so does every count of branches come by here. */
    if (hd_wire_kind(head) < HD_EV_THREAD && hd_wire_branches(tail) != 0 && rt.session != NULL)
        rt.session->has_branches = 1;
    return met;
}

RT_NOINLINE void rt_store_record(struct rt_thread *t, uint64_t head, uint64_t tail) {
    struct hd_expect *e = &t->expect;
    rt_end_repeats(t);
    if (hd_is_of_stream(head)) {
        put_stream(t, head);
        return;
    }
    if (!t->expects) {
        put_event(t, 0, head, tail);
        return;
    }
    bool closed = t->closed;
    if (unlikely(t->put == NULL)) rt_chunk_next(t);
    rt_open(t);
    uint32_t at = e->at, before = e->before;
    rt_window_open(t, at);
    if (hd_is_expected(e, head, tail)) {
        hd_expect_met(e);
        rt_count_met(t);
    } else {
        uint32_t link = link_of(t, head, tail);
        rt_window_open(t, before);
        rt_window_open(t, link);
        uint64_t met = put_event(t, link, head, tail);
        hd_expect_learn(e, link, head, tail, met);
        rt_window_close(t, before);
        rt_window_close(t, link);
    }
    rt_window_close(t, at);
    if (closed) rt_close(t);
}
