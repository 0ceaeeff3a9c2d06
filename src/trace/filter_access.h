/* Inside the filter (filter.h): the short ways of an access, where it is one unit, and the choice
 * between them and the long way. */
#ifndef HEDDLE_TRACE_FILTER_ACCESS_H
#define HEDDLE_TRACE_FILTER_ACCESS_H

#include "trace/filter_units.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static inline struct filter_thread *filter_thread_of(struct hd_filter *f, uint32_t number) {
    while (unlikely(f->thread.size <= number)) {
        struct filter_thread none = {.number = (uint32_t)f->thread.size};
        hd_vector_push(&f->thread, none);
    }
    return &f->thread.data[number];
}

/* The same step comes again and again in a loop. */
static inline struct hd_step next_step(struct hd_filter *f, struct hd_filter_range *range,
                                       uint16_t state) {
    if (state != range->known) {
        struct hd_step step = hd_states_step(f->states, f->tables, state, range->place, false);
        range->known = state;
        range->next = step.next;
        range->flags = step.flags;
    }
    return (struct hd_step){range->next, range->flags};
}

/* A unit in the state is accessed as a whole. */
static inline bool access_unit(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                               struct hd_filter_range *range, uint16_t state, uint64_t *cell,
                               unsigned shift, uint64_t rest) {
    struct hd_step step = next_step(f, range, state);
    if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, address, state);
    uint64_t now = *cell & ~((uint64_t)0xffff << shift);
    if (likely(step.next != HD_STATE_NONE))
        now |= (uint64_t)step.next << shift;
    else
        now &= ~rest; /* nothing is known of all of it */
    if (step.flags & HD_STEP_DEFERRED && !(now & CELL_LISTED)) {
        now |= CELL_LISTED;
        *cell = now;
        filter_list(f, t, address >> 3);
        return false;
    }
    *cell = now;
    return (step.flags & HD_STEP_KEEP) != 0;
}

/* The shortest way, for accesses of 4 or 8 bytes, which most are: they are aligned, nothing is to
 * be put in or listed, and what the access does is known. Is it kept? -1: it has to go another way,
 * and nothing was changed. */
static inline __attribute__((always_inline)) int
filter_access_quick(struct hd_filter *f, struct filter_thread *t, uint32_t epoch, uint64_t address,
                    unsigned bytes, struct hd_filter_range *range) {
    uint64_t word = address >> 3, number = word >> HD_PAGE_SHIFT;
    const struct hd_recent_page *recent = &f->pages.recent[number % HD_PAGES_RECENT];
    if (unlikely(recent->number != number || (address & (bytes - 1)) != 0)) return -1;
    uint64_t *cell = &recent->page->cell[word % HD_PAGE_WORDS], now = *cell;
    unsigned shift = CELL_LOW + (address & 4) * 4;
    if (likely((now & CELL_EPOCH) == epoch)) {
        uint16_t state = (uint16_t)(now >> shift);
        if (likely(state >= HD_STATE_FIRST)) {
            /* a step from this place is known only if the unit has its size */
            uint16_t next = range->next;
            uint8_t flags = range->flags;
            if (state != range->known) {
                uint64_t key = hd_step_key(state, range->place, false);
                uint64_t step = f->tables->step[hd_step_hash(key) & f->tables->step_mask];
                if (unlikely((step & HD_STEP_KEY) != key)) return -1;
                next = hd_step_of(step).next;
                flags = hd_step_of(step).flags;
                range->known = state;
                range->next = next;
                range->flags = flags;
            }
            if (unlikely(next == HD_STATE_NONE || flags & HD_STEP_WAY)) return -1;
            if (flags & HD_STEP_DEFERRED && !(now & CELL_LISTED)) {
                size_t listed = t->listed.size;
                if (listed == 0 || listed == t->listed.capacity || listed >= FILTER_LISTED_LIMIT)
                    return -1;
                t->listed.data[listed] = word;
                t->listed.size = listed + 1;
                now |= CELL_LISTED;
            }
            *cell = now ^ (uint64_t)(uint16_t)(state ^ next) << shift;
            return (flags & HD_STEP_KEEP) != 0;
        }
        uint64_t rest = bytes == 8 ? (uint64_t)0xffff << CELL_HIGH : 0;
        if (state != HD_STATE_NONE || (now & rest) != 0 ||
            (uint16_t)(now >> CELL_LOW) == HD_STATE_DETAIL)
            return -1;
    } else if (likely(filter_is_free(f, now))) {
        now = epoch;
    } else {
        return -1;
    }
    if (likely(range->first != HD_STATE_NONE)) {
        now |= (uint64_t)range->first << shift;
        if (bytes == 8) now |= (uint64_t)HD_STATE_GOES_ON << CELL_HIGH;
    }
    *cell = now;
    return true;
}

/* Half a word or all of it; `shift` is where its cell has the state. */
static inline __attribute__((always_inline)) int
access_half(struct hd_filter *f, struct filter_thread *t, uint64_t address, unsigned bytes,
            unsigned shift, struct hd_filter_range *range) {
    struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (unlikely(page == NULL)) return -1;
    uint64_t *cell = &page->cell[(address >> 3) % HD_PAGE_WORDS], now = *cell;
    uint64_t rest = bytes == 8 ? (uint64_t)0xffff << CELL_HIGH : 0;
    if (likely((now & CELL_EPOCH) == t->epoch)) {
        uint16_t state = (uint16_t)(now >> shift);
        if (likely(state >= HD_STATE_FIRST)) {
            if (unlikely(f->tables->bytes[state] != bytes)) return -1;
            return access_unit(f, t, address, range, state, cell, shift, rest);
        }
        if (state != HD_STATE_NONE || (now & rest) != 0) return -1;
        if (unlikely((uint16_t)(now >> CELL_LOW) == HD_STATE_DETAIL)) return -1;
    } else if (filter_is_free(f, now)) {
        now = t->epoch;
    } else {
        return -1;
    }
    if (range->first != HD_STATE_NONE) {
        now |= (uint64_t)range->first << shift;
        if (bytes == 8) now |= (uint64_t)HD_STATE_GOES_ON << CELL_HIGH;
    }
    *cell = now;
    return true;
}

/* Whole words that nothing is known of in this epoch: they become a unit. */
static inline int take_words(struct hd_filter *f, const struct filter_thread *t, uint64_t *cell,
                             unsigned words, uint16_t first) {
    if (first == HD_STATE_NONE) return -1;
    for (unsigned i = 0; i < words; i++) {
        if (cell[i] == t->epoch) continue;
        if ((cell[i] & CELL_EPOCH) == t->epoch || cell[i] & CELL_LISTED ||
            (uint16_t)(cell[i] >> CELL_LOW) == HD_STATE_DETAIL)
            return -1;
        if (i == 0 && !filter_is_free(f, cell[0])) return -1;
    }
    cell[0] = t->epoch | (uint64_t)first << CELL_LOW | (uint64_t)HD_STATE_GOES_ON << CELL_HIGH;
    for (unsigned i = 1; i < words; i++) cell[i] = t->epoch | CELL_GOES_ON;
    return true;
}

/* Several whole words of one page. */
static inline int access_words(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                               unsigned bytes, struct hd_filter_range *range) {
    unsigned words = bytes / 8, at = (address >> 3) % HD_PAGE_WORDS;
    struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (page == NULL || at + words > HD_PAGE_WORDS) return -1;
    uint64_t *cell = &page->cell[at], first = cell[0];
    uint16_t state = (uint16_t)(first >> CELL_LOW);
    if ((first & CELL_EPOCH) != t->epoch || state == HD_STATE_NONE)
        return take_words(f, t, cell, words, range->first);
    if (state < HD_STATE_FIRST || f->tables->bytes[state] != bytes) return -1;
    uint64_t inside = t->epoch | CELL_GOES_ON;
    for (unsigned i = 1; i < words; i++)
        if (cell[i] != inside) return -1;
    struct hd_step step = next_step(f, range, state);
    if (step.next == HD_STATE_NONE) return -1;
    if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, address, state);
    first = (first & ~((uint64_t)0xffff << CELL_LOW)) | (uint64_t)step.next << CELL_LOW;
    bool list = step.flags & HD_STEP_DEFERRED && !(first & CELL_LISTED);
    cell[0] = first | (list ? CELL_LISTED : 0);
    if (list) filter_list(f, t, address >> 3);
    return (step.flags & HD_STEP_KEEP) != 0;
}

/* A part of a word that has a record of its own for each byte. */
static inline int access_bytes(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                               unsigned bytes, struct hd_filter_range *range) {
    struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (page == NULL) return -1;
    uint64_t *cell = &page->cell[(address >> 3) % HD_PAGE_WORDS];
    if ((uint16_t)(*cell >> CELL_LOW) != HD_STATE_DETAIL) return -1;
    struct filter_detail *detail = &f->detail.data[(uint32_t)*cell];
    uint16_t state = detail->state[address & 7];
    if (detail->epoch != t->epoch || state < HD_STATE_FIRST || f->tables->bytes[state] != bytes)
        return -1;
    struct hd_step step = next_step(f, range, state);
    if (step.next == HD_STATE_NONE) return -1;
    if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, address, state);
    detail->state[address & 7] = step.next;
    if (step.flags & HD_STEP_DEFERRED && !detail->listed) {
        detail->listed = true;
        filter_list(f, t, address >> 3);
    }
    return (step.flags & HD_STEP_KEEP) != 0;
}

/* The place of a range, in the tables as they are now. */
static inline void filter_find_place(struct hd_filter *f, struct hd_filter_range *range) {
    uint64_t key = hd_place_key(range->site, range->bytes, range->write);
    range->known = HD_STATE_NONE;
    for (;;) {
        uint64_t at = hd_state_hash(key) & f->tables->place_mask;
        for (; f->tables->place[at].key != 0; at = (at + 1) & f->tables->place_mask)
            if (f->tables->place[at].key == key) {
                range->place = f->tables->place[at].place;
                range->first = f->tables->place[at].first;
                return;
            }
        hd_states_place(f->states, range->site, range->bytes, range->write);
    }
}

static inline struct filter_recent *filter_recent_slot(struct hd_filter *f, uint32_t site) {
    return &f->recent[(site * 0x9e3779b1u) >> (32 - FILTER_RECENT_BITS)];
}

/* The same for single accesses, which come from few places at a time. */
static inline struct hd_filter_range *filter_recent_place(struct hd_filter *f, uint32_t site,
                                                          uint16_t bytes, bool write) {
    uint64_t key = filter_recent_key(site, bytes, write);
    struct filter_recent *recent = filter_recent_slot(f, site);
    if (unlikely(recent->key != key)) {
        recent->key = key;
        recent->quick = bytes == 4 || bytes == 8 ? key : 0;
        recent->range = (struct hd_filter_range){.site = site, .bytes = bytes, .write = write};
        filter_find_place(f, &recent->range);
    }
    return &recent->range;
}

/* An access from the place of a range, in an epoch that has begun: is it kept? */
static inline bool filter_access_at(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                                    struct hd_filter_range *range) {
    unsigned offset = address & 7, bytes = range->bytes;
    int keep = -1;
    if (likely(bytes == 8 && offset == 0))
        keep = access_half(f, t, address, 8, CELL_LOW, range);
    else if (likely(bytes == 4 && (offset & 3) == 0))
        keep = access_half(f, t, address, 4, CELL_LOW + offset * 4, range);
    else if (bytes < 8 && offset + bytes <= 8)
        keep = access_bytes(f, t, address, bytes, range);
    else if (bytes > 8 && (address | bytes) % 8 == 0)
        keep = access_words(f, t, address, bytes, range);
    if (unlikely(keep < 0)) keep = filter_access_units(f, t, address, range);
    return keep;
}

/* Any access of 1 to HD_FILTER_BYTES bytes: is it kept? */
static inline bool filter_access_single(struct hd_filter *f, uint32_t thread, bool write,
                                        uint64_t address, uint16_t bytes, uint32_t site) {
    struct filter_thread *t = filter_thread_of(f, thread);
    if (unlikely(t->epoch == 0 || f->tables->full)) filter_begin_epoch(f, t);
    bool keep = filter_access_at(f, t, address, filter_recent_place(f, site, bytes, write));
    f->figures.accesses++;
    f->figures.kept += (unsigned)keep;
    return keep;
}

#endif
