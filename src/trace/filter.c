/* The filter: see filter.h. Here are threads and their epochs, the short ways, and the pages; how
 * units are cut and joined stands in filter_units.c. */
#include "trace/filter.h"

#include "base/alloc.h"
#include "trace/filter_access.h"
#include "trace/wire.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_PAGES = 4 };

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
    if (t->listed.size == FILTER_LISTED_LIMIT) put_deferred(f, t, true);
    if (t->listed.size == 0) live_enter(&f->live, t->epoch, t->number);
    hd_vector_push(&t->listed, word);
}

static void end_epoch(struct hd_filter *f, struct filter_thread *t) {
    if (t->listed.size != 0) put_deferred(f, t, false);
    filter_end_epoch(f, t);
}

/* Everything is put in and forgotten. */
static void begin_again(struct hd_filter *f) {
    for (size_t i = 0; i < f->thread.size; i++) end_epoch(f, &f->thread.data[i]);
    while (f->pages.page.size > 0) hd_pages_remove(&f->pages, f->pages.page.data[0]);
    f->detail.size = f->detail_unused.size = 0;
    f->epochs = 0;
    f->generation++;
    memset(f->recent, 0, sizeof f->recent);
    hd_states_clear(f->states);
}

void filter_begin_epoch(struct hd_filter *f, struct filter_thread *t) {
    if (f->epochs == CELL_EPOCH || f->tables->full) begin_again(f);
    t->epoch = ++f->epochs;
    f->present[t->epoch % FILTER_PRESENT]++;
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

/* ---- the whole ----------------------------------------------------------------------------- */

bool hd_filter_access(struct hd_filter *f, uint32_t thread, bool write, uint64_t address,
                      uint64_t bytes, uint32_t site) {
    if (likely(bytes - 1 < HD_FILTER_BYTES))
        return filter_access_single(f, thread, write, address, (uint16_t)bytes, site);
    f->figures.accesses++;
    f->figures.kept++;
    if (bytes == 0) return true;
    struct filter_thread *t = filter_thread_of(f, thread);
    if (t->epoch == 0 || f->tables->full) filter_begin_epoch(f, t);
    uint64_t last = address + (bytes - 1);
    filter_forget(f, address >> 3, (last < address ? UINT64_MAX : last) >> 3);
    if (t->epoch == 0) filter_begin_epoch(f, t);
    return true;
}

void hd_filter_event(struct hd_filter *f, uint32_t thread, unsigned kind, uint64_t address,
                     uint64_t bytes) {
    struct filter_thread *t = filter_thread_of(f, thread);
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
