/* Inside the second reading of what is shared (sharing.h): the short way of an access. */
#ifndef HEDDLE_TRACE_SHARING_CELLS_H
#define HEDDLE_TRACE_SHARING_CELLS_H

#include "trace/pages.h"
#include "trace/sharing.h"

/* Of a cell: it is shared; it has a number. */
#define HD_SHARING_SHARED ((uint64_t)1 << 49)
#define HD_SHARING_NUMBERED ((uint64_t)1 << 51)

/* Is an access of one word that was accessed before of shared memory? 1, 0, or -1 where it has to
 * be asked for (hd_sharing_access). */
static inline int hd_sharing_known(struct hd_pages *pages, uint64_t address, unsigned bytes) {
    struct hd_memory_page *page = hd_pages_find(pages, address >> 3 >> HD_PAGE_SHIFT);
    if (page == NULL || (address & 7) + bytes > 8) return -1;
    uint64_t cell = page->cell[(address >> 3) % HD_PAGE_WORDS];
    if (!(cell & HD_SHARING_NUMBERED)) return -1;
    return (cell & HD_SHARING_SHARED) != 0;
}

/* The cells; NULL if there is no short way. */
struct hd_pages *hd_sharing_pages(struct hd_sharing *sharing);

#endif
