/* The filter: see filter.h. Here are threads and their epochs, the short ways, and the pages; how
 * units are cut and joined stands in filter_units.c. */
#include "trace/filter.h"

#include "base/alloc.h"
#include "trace/filter_units.h"
#include "trace/wire.h"

#include <stdlib.h>
#include <string.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { LISTED_LIMIT = 1 << 20, LEAST_PAGES = 4 };

struct hd_filter *hd_filter_new(const struct hd_filter_options *options) {
    struct hd_filter *f = hd_zalloc(1, sizeof *f);
    f->options = *options;
    if (f->options.pages == 0) f->options.pages = HD_FILTER_PAGES;
    if (f->options.pages < LEAST_PAGES) f->options.pages = LEAST_PAGES;
    f->states = hd_states_new();
    f->tables = hd_states_tables(f->states);
    hd_pages_init(&f->pages);
    return f;
}

void hd_filter_free(struct hd_filter *f) {
    if (f == NULL) return;
    for (size_t i = 0; i < f->thread.size; i++) hd_vector_free(&f->thread.data[i].listed);
    hd_vector_free(&f->thread);
    hd_vector_free(&f->detail);
    hd_vector_free(&f->detail_unused);
    free(f->live.slot);
    hd_pages_free(&f->pages);
    hd_states_free(f->states);
    free(f);
}

struct hd_filter_figures hd_filter_figures(const struct hd_filter *f) {
    struct hd_filter_figures figures = f->figures;
    figures.states = hd_states_count(f->states);
    figures.pages = (uint32_t)f->pages.page.size;
    return figures;
}

/* ---- epochs ------------------------------------------------------------------------------- */

static void live_enter(struct live_epochs *live, uint32_t epoch, uint32_t thread) {
    if (live->count * 2 >= live->slots) {
        struct live_epochs larger = {.slots = live->slots == 0 ? 16 : live->slots * 2};
        larger.slot = hd_zalloc(larger.slots, sizeof *larger.slot);
        for (uint32_t i = 0; i < live->slots; i++)
            if (live->slot[i].epoch != 0)
                live_enter(&larger, live->slot[i].epoch, live->slot[i].thread);
        free(live->slot);
        *live = larger;
    }
    uint32_t at = epoch & (live->slots - 1);
    while (live->slot[at].epoch != 0) at = (at + 1) & (live->slots - 1);
    live->slot[at] = (struct live_epoch){epoch, thread};
    live->count++;
}

static void live_leave(struct live_epochs *live, uint32_t epoch) {
    uint32_t mask = live->slots - 1, at = epoch & mask;
    while (live->slot[at].epoch != epoch) at = (at + 1) & mask;
    for (uint32_t next = at;;) {
        next = (next + 1) & mask;
        uint32_t moving = live->slot[next].epoch;
        if (moving == 0) break;
        if (((next - moving) & mask) < ((next - at) & mask)) continue;
        live->slot[at] = live->slot[next];
        at = next;
    }
    live->slot[at].epoch = 0;
    live->count--;
}

struct filter_thread *filter_deferring(struct hd_filter *f, uint32_t epoch) {
    const struct live_epochs *live = &f->live;
    if (live->count == 0) return NULL;
    for (uint32_t at = epoch; live->slot[at & (live->slots - 1)].epoch != 0; at++)
        if (live->slot[at & (live->slots - 1)].epoch == epoch)
            return &f->thread.data[live->slot[at & (live->slots - 1)].thread];
    return NULL;
}

/* Puts in what the thread has deferred. If its epoch goes on, the cells have to know. */
static void put_deferred(struct hd_filter *f, struct filter_thread *t, bool goes_on) {
    for (size_t i = 0; i < t->listed.size; i++)
        filter_settle_word(f, t, t->listed.data[i], goes_on);
    if (t->listed.size != 0) live_leave(&f->live, t->epoch);
    t->listed.size = 0;
}

void filter_list(struct hd_filter *f, struct filter_thread *t, uint64_t word) {
    if (t->listed.size == LISTED_LIMIT) put_deferred(f, t, true);
    if (t->listed.size == 0) live_enter(&f->live, t->epoch, t->number);
    hd_vector_push(&t->listed, word);
}

static void end_epoch(struct hd_filter *f, struct filter_thread *t) {
    if (t->listed.size != 0) put_deferred(f, t, false);
    t->epoch = 0;
}

/* Everything is put in and forgotten. */
static void begin_again(struct hd_filter *f) {
    for (size_t i = 0; i < f->thread.size; i++) end_epoch(f, &f->thread.data[i]);
    while (f->pages.page.size > 0) hd_pages_remove(&f->pages, f->pages.page.data[0]);
    f->detail.size = f->detail_unused.size = 0;
    f->epochs = 0;
    hd_states_clear(f->states);
}

static struct filter_thread *thread_of(struct hd_filter *f, uint32_t number) {
    while (unlikely(f->thread.size <= number)) {
        struct filter_thread none = {.number = (uint32_t)f->thread.size};
        hd_vector_push(&f->thread, none);
    }
    return &f->thread.data[number];
}

static void begin_epoch(struct hd_filter *f, struct filter_thread *t) {
    if (f->epochs == CELL_EPOCH || f->tables->full) begin_again(f);
    t->epoch = ++f->epochs;
}

/* ---- pages -------------------------------------------------------------------------------- */

static void give_up(struct hd_filter *f, struct hd_memory_page *page) {
    for (unsigned i = 0; i < HD_PAGE_WORDS; i++) {
        uint64_t cell = page->cell[i];
        if ((cell & CELL_LISTED) || (uint16_t)(cell >> CELL_LOW) == HD_STATE_DETAIL)
            filter_forget_word(f, page, i);
    }
    hd_pages_remove(&f->pages, page);
}

uint64_t *filter_cell_new(struct hd_filter *f, uint64_t word) {
    uint64_t number = word >> HD_PAGE_SHIFT;
    struct hd_memory_page *page = hd_pages_find(&f->pages, number);
    if (page == NULL) {
        while (f->pages.page.size >= f->options.pages) {
            give_up(f, hd_pages_oldest(&f->pages));
            f->figures.given_up++;
        }
        page = hd_pages_add(&f->pages, number);
    }
    return &page->cell[word % HD_PAGE_WORDS];
}

/* Forgets the words of a range, up to and with the last, after putting in what was deferred. Whole
 * pages go: whoever makes them again pays for it. */
void filter_forget(struct hd_filter *f, uint64_t first, uint64_t last) {
    uint64_t from = first >> HD_PAGE_SHIFT, to = last >> HD_PAGE_SHIFT;
    bool few = to - from <= f->pages.page.size;
    if (!few && ++f->sweeps > SWEEP_LIMIT) { /* a trace that is made to be slow */
        begin_again(f);
        f->sweeps = 0;
        return;
    }
    for (uint64_t n = few ? from : 0; n <= (few ? to : f->pages.page.size);) {
        struct hd_memory_page *page;
        if (few) {
            page = hd_pages_find(&f->pages, n++);
        } else {
            if (n == f->pages.page.size) break;
            page = f->pages.page.data[n];
            if (page->number < from || page->number > to) page = NULL;
        }
        if (page == NULL) {
            if (!few) n++;
            continue;
        }
        unsigned low = page->number == from ? first % HD_PAGE_WORDS : 0;
        unsigned high = page->number == to ? last % HD_PAGE_WORDS : HD_PAGE_WORDS - 1;
        if (low == 0 && high == HD_PAGE_WORDS - 1) {
            give_up(f, page); /* another takes its place in the list */
            continue;
        }
        for (unsigned i = low; i <= high; i++)
            if (page->cell[i] != 0) filter_forget_word(f, page, i);
        if (!few) n++;
    }
}

void hd_filter_prefetch(const struct hd_filter *f, uint64_t address) {
    hd_pages_prefetch(&f->pages, address >> 3);
}

/* ---- accesses ----------------------------------------------------------------------------- */

/* A unit in the state is accessed as a whole. */
static inline bool access_unit(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                               uint32_t place, uint16_t state, uint64_t *cell, unsigned shift,
                               uint64_t rest) {
    struct hd_step step = *hd_states_step(f->states, f->tables, state, place, false);
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

/* Nobody has anything deferred in the cell, and no unit goes on into it from the word before. */
static inline bool is_free(uint64_t cell) {
    uint16_t low = (uint16_t)(cell >> CELL_LOW);
    return !(cell & CELL_LISTED) && low != HD_STATE_GOES_ON && low != HD_STATE_DETAIL;
}

/* Half a word or all of it. */
static inline int access_half(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                              unsigned bytes, const struct hd_place_entry *place) {
    struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (unlikely(page == NULL)) return -1;
    uint64_t *cell = &page->cell[(address >> 3) % HD_PAGE_WORDS], now = *cell;
    unsigned shift = address & 4 ? CELL_HIGH : CELL_LOW;
    uint64_t rest = bytes == 8 ? (uint64_t)0xffff << CELL_HIGH : 0;
    if (likely((now & CELL_EPOCH) == t->epoch)) {
        uint16_t state = (uint16_t)(now >> shift);
        if (likely(state >= HD_STATE_FIRST)) {
            if (unlikely(f->tables->bytes[state] != bytes)) return -1;
            return access_unit(f, t, address, place->place, state, cell, shift, rest);
        }
        if (state != HD_STATE_NONE || (now & rest) != 0) return -1;
        if (unlikely((uint16_t)(now >> CELL_LOW) == HD_STATE_DETAIL)) return -1;
    } else if (is_free(now)) {
        now = t->epoch;
    } else {
        return -1;
    }
    if (place->first != HD_STATE_NONE) {
        now |= (uint64_t)place->first << shift;
        if (bytes == 8) now |= (uint64_t)HD_STATE_GOES_ON << CELL_HIGH;
    }
    *cell = now;
    return true;
}

/* Several whole words of one page. */
static inline int access_words(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                               unsigned bytes, const struct hd_place_entry *place) {
    unsigned words = bytes / 8, at = (address >> 3) % HD_PAGE_WORDS;
    struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (page == NULL || at + words > HD_PAGE_WORDS) return -1;
    uint64_t *cell = &page->cell[at], first = cell[0];
    uint16_t state = (uint16_t)(first >> CELL_LOW);
    if (state < HD_STATE_FIRST || f->tables->bytes[state] != bytes) return -1;
    uint64_t inside = (first & CELL_EPOCH) | CELL_GOES_ON;
    for (unsigned i = 1; i < words; i++)
        if (cell[i] != inside) return -1;
    if ((first & CELL_EPOCH) == t->epoch) {
        struct hd_step step = *hd_states_step(f->states, f->tables, state, place->place, false);
        if (step.next == HD_STATE_NONE) return -1;
        if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, address, state);
        first = (first & ~((uint64_t)0xffff << CELL_LOW)) | (uint64_t)step.next << CELL_LOW;
        bool list = step.flags & HD_STEP_DEFERRED && !(first & CELL_LISTED);
        cell[0] = first | (list ? CELL_LISTED : 0);
        if (list) filter_list(f, t, address >> 3);
        return (step.flags & HD_STEP_KEEP) != 0;
    }
    if (first & CELL_LISTED || place->first == HD_STATE_NONE) return -1;
    cell[0] =
        t->epoch | (uint64_t)place->first << CELL_LOW | (uint64_t)HD_STATE_GOES_ON << CELL_HIGH;
    for (unsigned i = 1; i < words; i++) cell[i] = t->epoch | CELL_GOES_ON;
    return true;
}

/* A part of a word that has a record of its own for each byte. */
static inline int access_bytes(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                               unsigned bytes, const struct hd_place_entry *place) {
    struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (page == NULL) return -1;
    uint64_t *cell = &page->cell[(address >> 3) % HD_PAGE_WORDS];
    if ((uint16_t)(*cell >> CELL_LOW) != HD_STATE_DETAIL) return -1;
    struct filter_detail *detail = &f->detail.data[(uint32_t)*cell];
    uint16_t state = detail->state[address & 7];
    if (detail->epoch != t->epoch || state < HD_STATE_FIRST || f->tables->bytes[state] != bytes)
        return -1;
    struct hd_step step = *hd_states_step(f->states, f->tables, state, place->place, false);
    if (step.next == HD_STATE_NONE) return -1;
    if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, address, state);
    detail->state[address & 7] = step.next;
    if (step.flags & HD_STEP_DEFERRED && !detail->listed) {
        detail->listed = true;
        filter_list(f, t, address >> 3);
    }
    return (step.flags & HD_STEP_KEEP) != 0;
}

static inline const struct hd_place_entry *place_of(struct hd_filter *f, uint32_t site,
                                                    unsigned bytes, bool write) {
    uint64_t key = hd_place_key(site, (uint16_t)bytes, write);
    for (;;) {
        uint64_t at = hd_state_hash(key) & f->tables->place_mask;
        for (; f->tables->place[at].key != 0; at = (at + 1) & f->tables->place_mask)
            if (f->tables->place[at].key == key) return &f->tables->place[at];
        hd_states_place(f->states, site, (uint16_t)bytes, write);
    }
}

bool hd_filter_access(struct hd_filter *f, uint32_t thread, bool write, uint64_t address,
                      uint64_t bytes, uint32_t site) {
    f->figures.accesses++;
    if (unlikely(bytes == 0)) {
        f->figures.kept++;
        return true;
    }
    struct filter_thread *t = thread_of(f, thread);
    if (unlikely(t->epoch == 0 || f->tables->full)) begin_epoch(f, t);
    int keep = -1;
    if (unlikely(bytes > HD_FILTER_BYTES)) {
        uint64_t last = address + (bytes - 1);
        filter_forget(f, address >> 3, (last < address ? UINT64_MAX : last) >> 3);
        if (t->epoch == 0) begin_epoch(f, t);
        keep = true;
    } else {
        const struct hd_place_entry *place = place_of(f, site, (unsigned)bytes, write);
        unsigned offset = address & 7;
        if (likely((bytes == 8 && offset == 0) || (bytes == 4 && (offset & 3) == 0)))
            keep = access_half(f, t, address, (unsigned)bytes, place);
        else if (bytes < 8 && offset + bytes <= 8)
            keep = access_bytes(f, t, address, (unsigned)bytes, place);
        else if (bytes > 8 && (address | bytes) % 8 == 0)
            keep = access_words(f, t, address, (unsigned)bytes, place);
        if (unlikely(keep < 0))
            keep = filter_access_units(f, t, address, (unsigned)bytes, place->place);
    }
    f->figures.kept += (unsigned)keep;
    return keep;
}

void hd_filter_event(struct hd_filter *f, uint32_t thread, unsigned kind, uint64_t address,
                     uint64_t bytes) {
    struct filter_thread *t = thread_of(f, thread);
    switch (kind) {
    case HD_EV_NOTE:
    case HD_EV_BRANCH:
        return;
    case HD_EV_ALLOC:
    case HD_EV_FREE:
    case HD_EV_ATOMIC_READ:
    case HD_EV_ATOMIC_WRITE:
    case HD_EV_ATOMIC_UPDATE:
        if (bytes != 0) {
            uint64_t last = address + (bytes - 1);
            filter_forget(f, address >> 3, (last < address ? UINT64_MAX : last) >> 3);
        }
        if (kind == HD_EV_ALLOC || kind == HD_EV_FREE) return;
        break;
    default:
        break;
    }
    end_epoch(f, t);
}

void hd_filter_finish(struct hd_filter *f) {
    for (size_t i = 0; i < f->thread.size; i++) end_epoch(f, &f->thread.data[i]);
}
