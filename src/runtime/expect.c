/* Full recordings: events that came as expected (trace/expect.h) are only counted. The count is in
 * the chunk, where the parent finds it whatever becomes of the program. */
#include "runtime/rt.h"

#include <string.h>

/* The table of a thread that keeps no expectations: nothing is met there. */
static struct hd_expected no_link;

/* ---- which link an event has -------------------------------------------------------------------
 */

/* A link has the same offset in the tables of all threads, so that a hook can keep it. Offsets are
 * given out as links come up: tables are touched from the beginning, and no further than needed.
 * The hash table has one word for each, so that it is entered in one step:
 *     bits 0-44   what makes it: site, kind and flags
 *     bits 45-62  its number, from 1; bit 63 is not used */
#define LINKS (1u << 18)
#define SLOTS (2u * LINKS)
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
            if (number >= LINKS) {
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

static uint32_t link_of(const struct rt_thread *t, uint64_t head, uint64_t tail) {
    if (!hd_may_be_linked(head)) return 0;
    const struct hd_expected *hint = hd_link_at(&t->expect, t->hook_link);
    if (hint->shape == (uint16_t)head && hint->site == hd_wire_site(tail)) return t->hook_link;
    return rt_link_of(hd_link_key(head, tail));
}

/* ---- a thread ----------------------------------------------------------------------------------
 */

void rt_expect_begin(struct rt_thread *t) {
    rt_expect_end(t);
    if (!rt.full) return;
    bool words = rt_words_map();
    if (rt.mode == HD_SCHED_FREE)
        t->owner = t->number < RT_OWNER_MOST ? (uint8_t)(t->number + 1) : RT_OWNER_NONE;
    if (rt.check_only || rt.options.full == HD_FULL_DIRECT || !words) return;
    t->expect.link = rt_map((size_t)LINKS * HD_LINK_BYTES);
    t->expects = true;
    rt_hooks_expect();
}

void rt_expect_end(struct rt_thread *t) {
    if (t->expects) rt_unmap(t->expect.link, (size_t)LINKS * HD_LINK_BYTES);
    t->expects = false;
    t->expect = (struct hd_expect){.link = &no_link};
    t->block = t->slow_block = NULL;
    t->owner = 0;
    t->closed = false;
    t->hook_link = 0;
}

static void give_up_block(const struct rt_thread *t, const struct rt_hook *place) {
    hd_link_at(&t->expect, place[-place->index].link)->flags &= (uint16_t)~RT_LINK_BLOCK;
}

void rt_settle_for_handler(struct rt_thread *t) {
    rt_settle(t);
    if (t->slow_block != NULL) give_up_block(t, t->slow_block);
    t->slow_block = NULL;
}

void rt_settle_slow(struct rt_thread *t) {
    const struct rt_hook *place = t->block;
    struct hd_expect *e = &t->expect;
    unsigned passed = place->index + 1u;
    give_up_block(t, place);
    t->block = NULL;
    t->left -= passed;
    *t->met += passed;
    t->passed = 1;
    e->before = place->link;
    e->at = hd_link_at(e, place->link)->next;
}

/* The events that are in the chunk are so many, and nothing was counted after them. */
static void count_anew(struct rt_thread *t) {
    if (t->chunk != NULL) *t->met = (uint64_t)(t->cursor - t->chunk->event) << HD_MET_BITS;
    t->met_seen = HD_MET(*t->met);
}

void rt_store_met(struct rt_thread *t) {
    rt_catch_up(t);
    if (t->chunk == NULL || HD_MET(*t->met) == 0) return;
    if (unlikely(t->cursor == t->chunk_end)) { /* there it is stored first of all */
        rt_chunk_next(t);
        return;
    }
    rt_store_raw(t, hd_wire_head(HD_EV_EXPECTED, 0, HD_MET(*t->met)), 0);
    count_anew(t);
}

/* Stores it, with what was counted before it if that is possible. Returns that if it teaches. */
static uint64_t store(struct rt_thread *t, uint64_t head, uint64_t tail) {
    if (unlikely(t->cursor == NULL)) rt_chunk_next(t);
    rt_catch_up(t);
    uint64_t met = t->chunk != NULL ? HD_MET(*t->met) : 0;
    if (met != 0 && t->cursor == t->chunk_end) {
        rt_chunk_next(t);
        met = 0;
    }
    if (met != 0 && hd_is_of_stream(head) && hd_stream_carries_met(head, met)) {
        tail |= met << 32;
    } else if (met != 0 && hd_carries_met(head, tail, met)) {
        head |= HD_WIRE_AFTER;
        tail = hd_tail_with_calls(tail, met);
    } else {
        rt_store_met(t);
        met = 0;
    }
    rt_store_raw(t, head, tail);
    count_anew(t);
    return met;
}

RT_NOINLINE void rt_store_expecting(struct rt_thread *t, uint64_t head, uint64_t tail) {
    struct hd_expect *e = &t->expect;
    if (hd_is_of_stream(head)) {
        store(t, head, tail);
        return;
    }
    bool closed = t->closed;
    rt_open(t);
    if (hd_is_expected(e, head, tail)) {
        hd_expect_met(e);
        rt_count_met(t);
    } else {
        uint32_t link = link_of(t, head, tail);
        uint64_t met = store(t, link != 0 ? head : head | HD_WIRE_UNLINKED, tail);
        hd_expect_learn(e, link, head, tail, met);
    }
    if (closed) rt_close(t);
}
