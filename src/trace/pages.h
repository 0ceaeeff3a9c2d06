/* One 64-bit cell for each 8 bytes of memory, in pages that exist once they are touched: what the
 * loader knows of the memory of a program while it reads a trace. Any address works. */
#ifndef HEDDLE_TRACE_PAGES_H
#define HEDDLE_TRACE_PAGES_H

#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

#define HD_PAGE_SHIFT 9 /* words of a page */
#define HD_PAGE_WORDS (1u << HD_PAGE_SHIFT)

struct hd_memory_page {
    uint64_t number; /* first word >> HD_PAGE_SHIFT */
    uint32_t index;  /* in hd_pages.page */
    bool used;       /* looked up since the hand passed it */
    uint64_t cell[HD_PAGE_WORDS];
};

/* Pages that were looked up lately, by the low bits of their number. The number stands here, too:
 * in the page it would be in another cache line than the cell. */
#define HD_PAGES_RECENT 2048u
#define HD_PAGE_NONE UINT64_MAX /* no page has this number */
struct hd_recent_page {
    uint64_t number;
    struct hd_memory_page *page;
};
struct hd_pages {
    struct hd_recent_page recent[HD_PAGES_RECENT];
    struct hd_memory_page **slot; /* hash table */
    uint64_t mask;
    HD_VECTOR(struct hd_memory_page *) page;
    HD_VECTOR(struct hd_memory_page *) unused;
    uint32_t hand;
    const struct hd_memory_page *spared; /* not the oldest, whatever it is; or NULL */
};

void hd_pages_init(struct hd_pages *pages);
void hd_pages_free(struct hd_pages *pages);
/* The page, NULL if there is none. */
struct hd_memory_page *hd_pages_find_slow(struct hd_pages *pages, uint64_t number);
/* A page that there is not: all cells are 0. */
struct hd_memory_page *hd_pages_add(struct hd_pages *pages, uint64_t number);
void hd_pages_remove(struct hd_pages *pages, struct hd_memory_page *page);
/* One that was not looked up for long, to make room. There are two at least. */
struct hd_memory_page *hd_pages_oldest(struct hd_pages *pages);

static inline struct hd_memory_page *hd_pages_find(struct hd_pages *pages, uint64_t number) {
    const struct hd_recent_page *recent = &pages->recent[number % HD_PAGES_RECENT];
    return recent->number == number ? recent->page : hd_pages_find_slow(pages, number);
}

static inline uint64_t hd_pages_hash(uint64_t number) {
    number *= 0x9e3779b97f4a7c15ull;
    return number ^ number >> 32;
}

/* Two cells as the processor takes them. */
typedef uint64_t hd_two_cells __attribute__((vector_size(16), aligned(8), may_alias));

/* Of so many cells, each `step` further, how many from the first on have these bits of a mask. */
static inline uint64_t hd_cells_like(const uint64_t *cell, int64_t step, uint64_t count,
                                     uint64_t mask, uint64_t bits) {
    uint64_t done = 0;
    if (step == 1) {
        const hd_two_cells want = {bits, bits}, all = {mask, mask};
        for (; done + 8 <= count; done += 8) {
            const hd_two_cells *two = (const hd_two_cells *)(cell + done);
            hd_two_cells other =
                ((two[0] ^ want) | (two[1] ^ want) | (two[2] ^ want) | (two[3] ^ want)) & all;
            if ((other[0] | other[1]) != 0) break;
        }
    }
    for (; done + 4 <= count; done += 4) {
        const uint64_t *four = cell + (int64_t)done * step;
        uint64_t other = (four[0] ^ bits) | (four[step] ^ bits) | (four[2 * step] ^ bits) |
                         (four[3 * step] ^ bits);
        if (other & mask) break;
    }
    while (done < count && ((cell[(int64_t)done * step] ^ bits) & mask) == 0) done++;
    return done;
}

/* The word will be asked for soon. Always inline: by itself it seems to do nothing, and the
 * compiler leaves calls of it out. */
static inline __attribute__((always_inline)) void hd_pages_prefetch(const struct hd_pages *pages,
                                                                    uint64_t word) {
    uint64_t number = word >> HD_PAGE_SHIFT;
    const struct hd_recent_page *recent = &pages->recent[number % HD_PAGES_RECENT];
    if (recent->number == number) __builtin_prefetch(&recent->page->cell[word % HD_PAGE_WORDS], 1);
}

#endif
