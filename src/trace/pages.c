/* Pages of cells by address: see pages.h. */
#include "trace/pages.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

void hd_pages_init(struct hd_pages *pages) {
    memset(pages, 0, sizeof *pages);
    pages->slot = hd_zalloc(FIRST_SLOTS, sizeof(struct hd_memory_page *));
    pages->mask = FIRST_SLOTS - 1;
    for (unsigned i = 0; i < HD_PAGES_RECENT; i++) pages->recent[i].number = HD_PAGE_NONE;
}

static void note_recent(struct hd_pages *pages, struct hd_memory_page *page) {
    pages->recent[page->number % HD_PAGES_RECENT] = (struct hd_recent_page){page->number, page};
}
static bool is_recent(const struct hd_pages *pages, const struct hd_memory_page *page) {
    return pages->recent[page->number % HD_PAGES_RECENT].number == page->number;
}
static void forget_recent(struct hd_pages *pages, const struct hd_memory_page *page) {
    if (is_recent(pages, page)) pages->recent[page->number % HD_PAGES_RECENT].number = HD_PAGE_NONE;
}

void hd_pages_free(struct hd_pages *pages) {
    for (size_t i = 0; i < pages->page.size; i++) free(pages->page.data[i]);
    for (size_t i = 0; i < pages->unused.size; i++) free(pages->unused.data[i]);
    hd_vector_free(&pages->page);
    hd_vector_free(&pages->unused);
    free(pages->slot);
    memset(pages, 0, sizeof *pages);
}

struct hd_memory_page *hd_pages_find_slow(struct hd_pages *pages, uint64_t number) {
    uint64_t at = hd_pages_hash(number) & pages->mask;
    for (struct hd_memory_page *page; (page = pages->slot[at]) != NULL;
         at = (at + 1) & pages->mask) {
        if (page->number != number) continue;
        page->used = true;
        note_recent(pages, page);
        return page;
    }
    return NULL;
}

static void enter(struct hd_pages *pages, struct hd_memory_page *page) {
    uint64_t at = hd_pages_hash(page->number) & pages->mask;
    while (pages->slot[at] != NULL) at = (at + 1) & pages->mask;
    pages->slot[at] = page;
}

static void grow(struct hd_pages *pages) {
    free(pages->slot);
    pages->mask = pages->mask * 2 + 1;
    pages->slot = hd_zalloc(pages->mask + 1, sizeof(struct hd_memory_page *));
    for (size_t i = 0; i < pages->page.size; i++) enter(pages, pages->page.data[i]);
}

struct hd_memory_page *hd_pages_add(struct hd_pages *pages, uint64_t number) {
    if (pages->page.size * 2 >= pages->mask) grow(pages);
    struct hd_memory_page *page;
    if (pages->unused.size > 0) {
        page = pages->unused.data[--pages->unused.size];
        memset(page, 0, sizeof *page);
    } else {
        page = hd_zalloc(1, sizeof *page);
    }
    page->number = number;
    page->index = (uint32_t)pages->page.size;
    page->used = true;
    hd_vector_push(&pages->page, page);
    enter(pages, page);
    note_recent(pages, page);
    return page;
}

void hd_pages_remove(struct hd_pages *pages, struct hd_memory_page *page) {
    uint64_t at = hd_pages_hash(page->number) & pages->mask;
    while (pages->slot[at] != page) at = (at + 1) & pages->mask;
    /* What was put further on for want of this slot moves up. */
    for (uint64_t next = at;;) {
        next = (next + 1) & pages->mask;
        struct hd_memory_page *moving = pages->slot[next];
        if (moving == NULL) break;
        uint64_t home = hd_pages_hash(moving->number) & pages->mask;
        if (((next - home) & pages->mask) < ((next - at) & pages->mask)) continue;
        pages->slot[at] = moving;
        at = next;
    }
    pages->slot[at] = NULL;
    forget_recent(pages, page);
    struct hd_memory_page *last = pages->page.data[--pages->page.size];
    pages->page.data[page->index] = last;
    last->index = page->index;
    hd_vector_push(&pages->unused, page);
}

struct hd_memory_page *hd_pages_oldest(struct hd_pages *pages) {
    for (;;) {
        if (pages->hand >= pages->page.size) pages->hand = 0;
        struct hd_memory_page *page = pages->page.data[pages->hand];
        bool recent = is_recent(pages, page);
        if (page == pages->spared) {
            pages->hand++;
            continue;
        }
        if (!page->used && !recent) return page;
        if (recent && !page->used) /* out, so that it is looked up again if it is in use */
            forget_recent(pages, page);
        page->used = false;
        pages->hand++;
    }
}
