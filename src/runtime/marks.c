/* Marks: one byte for each eight of memory (rt_words), in regions that are mapped when something is
 * marked in them. 0: all eight may be accessed; 1 to 7: only the first that many, to
 * which ORDERS may be added; WHOLE and a reason: none. */
#include "runtime/marks.h"
#include "runtime/windows.h"

#include <string.h>

#define WHOLE 0x80u /* beside the reason: all eight bytes are marked */
#define ORDERS 8u   /* the word synchronises */
#define PAGE 4096u

uint64_t rt_marked_pages[RT_MARK_PAGES / 64];

static uintptr_t least(uintptr_t a, uintptr_t b) { return a < b ? a : b; }

/* The end of the part of [at, end) that lies in one page. */
static uintptr_t page_end(uintptr_t at, uintptr_t end) { return least((at | (PAGE - 1)) + 1, end); }

static void note_page(uintptr_t at) {
    rt_marked_pages[at >> 18 & (RT_MARK_PAGES / 64 - 1)] |= 1ull << (at >> 12 & 63);
}

void rt_mark_order(uintptr_t address) {
    if (rt.mode != HD_SCHED_SERIAL || rt.check_only || !rt_words_map()) return;
    rt_windows_drop(&rt_self);
    note_page(address);
    uint8_t *mark = rt_word(address);
    if (!(*mark & WHOLE)) *mark |= ORDERS;
}

#define FEW_WORDS 8u

/* Does each word of the range have a mark? Then no window leads there, and none is to be dropped.
 * Of many words, no. */
static bool is_marked(uintptr_t address, uintptr_t end) {
    const uint8_t *mark = rt_word(address), *last = rt_word(end - 1);
    if (last - mark >= FEW_WORDS) return false;
    while (mark <= last && *mark != 0) mark++;
    return mark > last;
}

static bool marks(void) { return rt.mode == HD_SCHED_SERIAL && !rt.check_only && rt_words_map(); }

static void set_marks(uintptr_t address, uintptr_t end, unsigned misuse) {
    for (uintptr_t at = address, stop; at < end; at = stop) {
        stop = page_end(at, end);
        note_page(at);
        if (at & 7) { /* the first bytes of the word are not marked */
            *rt_word(at) = (uint8_t)(at & 7);
            at = least((at | 7) + 1, stop);
        }
        if (at < stop) memset(rt_word(at), (int)(WHOLE | misuse), (stop - at + 7) / 8);
    }
}

void rt_mark(uintptr_t address, size_t bytes, unsigned misuse) {
    uintptr_t end = (address + bytes) & ~7ul;
    if (end <= address || !marks()) return;
    if (!is_marked(address, end)) rt_windows_drop(&rt_self);
    set_marks(address, end, misuse);
}

void rt_mark_rest(uintptr_t block, size_t bytes, size_t usable) {
    uintptr_t rest = block + bytes, end = (block + usable) & ~7ul;
    bool some = rest < end && marks(), known = some && is_marked(rest, end);
    rt_unmark(block, known ? bytes : usable);
    if (!some) return;
    if (!known) rt_windows_drop(&rt_self);
    set_marks(rest, end, HD_MISUSE_BEYOND);
}

void rt_unmark(uintptr_t address, size_t bytes) {
    if (rt.mode != HD_SCHED_SERIAL || rt_words == NULL) return;
    uintptr_t end = address + bytes;
    for (uintptr_t at = address, stop; at < end; at = stop) {
        if (rt_marked_pages[at >> 18 & (RT_MARK_PAGES / 64 - 1)] == 0) { /* of 64 pages none */
            stop = least((at | ((1ul << 18) - 1)) + 1, end);
            continue;
        }
        stop = page_end(at, end);
        if (rt_may_be_marked(at)) memset(rt_word(at), 0, (stop - (at & ~7ul) + 7) / 8);
    }
}

/* The C library maps stacks out of our sight, where blocks may have been. */
static bool is_on_stack(uintptr_t address) {
    for (uint32_t i = 0; i < rt.threads; i++) {
        const struct rt_thread *t = rt.slot[i].thread;
        if (t != NULL && address >= t->stack_low && address < t->stack_end) return true;
    }
    return false;
}

/* The reason why one of these bytes must not be accessed, which all lie in one page. */
static unsigned reason(uintptr_t at, uintptr_t end) {
    const uint8_t *mark = rt_word(at);
    for (; at < end; at = (at | 7) + 1, mark++) {
        if (*mark == 0) continue;
        if (*mark & WHOLE) return *mark & ~WHOLE;
        if ((*mark & 7) != 0 && least((at | 7) + 1, end) - (at & ~7ul) > (*mark & 7))
            return HD_MISUSE_BEYOND;
    }
    return HD_MISUSE_NONE;
}

/* Code that goes through a string by words reads whole aligned words that begin in the block. */
static bool is_word(uintptr_t address, size_t size, bool write) {
    if (write || (size != 4 && size != 8 && size != 16) || address % size != 0) return false;
    return reason(address, address + 1) == HD_MISUSE_NONE;
}

RT_NOINLINE bool rt_marks_look(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                               uint32_t site) {
    struct hd_wire_session *session = rt.session;
    if (rt.mode != HD_SCHED_SERIAL || site == 0 || session == NULL || rt_words == NULL)
        return false;
    bool orders = (*rt_word(address) & (WHOLE | ORDERS)) == ORDERS;
    if (session->misuse != HD_MISUSE_NONE) return orders;
    unsigned found = HD_MISUSE_NONE;
    uintptr_t end = address + size;
    for (uintptr_t at = address, stop; at < end && found == HD_MISUSE_NONE; at = stop) {
        stop = page_end(at, end);
        if (rt_may_be_marked(at)) found = reason(at, stop);
    }
    if (found == HD_MISUSE_NONE || is_word(address, size, write) || is_on_stack(address))
        return orders;
    session->misuse_thread = t->number;
    session->misuse_size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    session->misuse_write = write;
    session->misuse_site = site;
    session->misuse = found;
    return orders;
}
