/* Marks that are looked at for many accesses at once: see windows.h. */
#include "runtime/windows.h"

#include <string.h>

#define FIRST 8u /* accesses that are looked at of a link that was not sure */
#define FEW_PAGES 16u
#define SURES 128u /* links of a thread that may be sure at once */

_Static_assert(RT_WINDOW_BYTES == (RT_LINKS + SURES) * sizeof(uint32_t), "room for both");

void rt_windows_begin(struct rt_thread *t, void *memory) {
    t->window = memory;
    t->sure = t->window + RT_LINKS;
    t->sures = t->sure_next = 0;
}

void rt_windows_end(struct rt_thread *t) {
    t->window = NULL;
    t->sures = 0;
}

/* Its next access is looked at when it comes. */
static void make_unsure(struct rt_thread *t, uint32_t link) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    l->flags &= (uint16_t)~RT_LINK_LISTED;
    if (!(l->flags & RT_LINK_SURE)) return;
    rt_window_open(t, link);
    rt_window_close(t, link);
}

void rt_windows_drop_slow(struct rt_thread *t) {
    rt_close_blocks(t);
    for (uint32_t i = 0; i < t->sures; i++) make_unsure(t, t->sure[i]);
    t->sures = t->sure_next = 0;
}

static void list(struct rt_thread *t, uint32_t link) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    if (l->flags & RT_LINK_LISTED) return;
    if (t->sures == SURES) {
        rt_close_blocks(t); /* it may be of one */
        make_unsure(t, t->sure[t->sure_next]);
        t->sure[t->sure_next] = link;
        t->sure_next = (t->sure_next + 1) % SURES;
    } else {
        t->sure[t->sures++] = link;
    }
    l->flags |= RT_LINK_LISTED;
}

static bool all_zero(const uint8_t *from, const uint8_t *end) {
    uint64_t any = 0, eight;
    for (; end - from >= 8; from += 8) {
        memcpy(&eight, from, sizeof eight);
        any |= eight;
    }
    for (; from != end; from++) any |= *from;
    return any == 0;
}

/* Is nothing marked from the one address to the other, a few pages on? */
static bool nothing_marked(uint64_t from, uint64_t to) {
    if (to - from > FEW_PAGES * 4096) return false;
    for (;; from = (from | 4095) + 1) {
        uint64_t end = (from | 4095) < to ? from | 4095 : to;
        if (rt_may_be_marked(from) && !all_zero(rt_word(from), rt_word(end) + 1)) return false;
        if (end == to) return true;
    }
}

uint32_t rt_without_marks(uint64_t address, int64_t stride, uint32_t most) {
    uint32_t count = 0;
    uint64_t last = address + (uint64_t)stride * (most - 1);
    if (most != 0 && nothing_marked(stride < 0 ? last : address, stride < 0 ? address : last))
        return most;
    uint64_t step = stride > 0 ? (uint64_t)stride : 0 - (uint64_t)stride;
    while (count < most) {
        bool marked = rt_may_be_marked(address);
        if (marked && *rt_word(address) != 0) break;
        if (stride == 0) return most;
        /* those within the page, or within the word, are alike */
        uint64_t within = marked ? 7 : 4095, offset = address & within;
        uint64_t left = stride > 0 ? within - offset : offset;
        uint64_t here = step > left ? 1 : left / step + 1;
        if (here >= most - count) return most;
        count += (uint32_t)here;
        address += (uint64_t)stride * here;
    }
    return count;
}

void rt_window_look(struct rt_thread *t, uint32_t link, uint32_t rest) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    uint32_t most = l->flags & RT_LINK_SURE ? RT_WINDOW_MOST : FIRST;
    if (rest - 1 < most - 1) most = rest;
    uint32_t count = rt_without_marks(l->operand, (int64_t)l->stride, most);
    bool sure = count != 0;
    l->count = sure ? count : 1;
    *rt_after(t, link) = rest - l->count;
    if (sure) list(t, link);
    l->flags = (uint16_t)((l->flags & ~RT_LINK_SURE) | (sure ? RT_LINK_SURE : 0));
}
