/* Serial: accesses that come as expected look at no marks (marks.h) of their
 * own. Instead, so many of a link's next ones are looked at together (its *window*), and the hooks
 * count down to the end of that: a counter that links have anyhow, for their rounds (expect.h).
 *
 * A link with RT_LINK_WINDOW counts to the end of its window, and `after` has what is left of its
 * round then. What builds on expect.h opens the window first, which makes the count whole, and
 * closes it again. With RT_LINK_SURE nothing is marked where the window leads. Without it the
 * window is the next access, which has to be looked at when it comes.
 *
 * So every access to a marked byte is looked at by itself. For a window leads to words without any
 * mark when it is looked at, and it is over before that changes: whoever marks a word that had no
 * mark makes all links of the present thread unsure (rt_windows_drop), and every other thread's
 * become so when it gets the turn. A word that has a mark already, and gets another one, is where
 * no window leads, and for that nothing is to be done. */
#ifndef HEDDLE_RUNTIME_WINDOWS_H
#define HEDDLE_RUNTIME_WINDOWS_H

#include "runtime/marks.h"

#pragma GCC visibility push(hidden)

#define RT_LINK_WINDOW 0x4000u /* flags of a link, beside those of expect.h and RT_LINK_BLOCK */
#define RT_LINK_SURE 0x2000u
#define RT_LINK_LISTED 0x1000u /* in the thread's list of links that are, or were, sure */
#define RT_LINK_WIDE 0x0800u   /* never has a window */

#define RT_WINDOW_BYTES ((RT_LINKS + 128u) * 4u)
void rt_windows_begin(struct rt_thread *t, void *memory); /* it expects, under serial */
void rt_windows_end(struct rt_thread *t);

/* What is left of a link's round after its window. */
RT_INLINE uint32_t *rt_after(const struct rt_thread *t, uint32_t link) {
    return &t->window[link / HD_LINK_BYTES];
}

RT_INLINE void rt_window_open(struct rt_thread *t, uint32_t link) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    if (unlikely(l->flags & RT_LINK_OPEN)) rt_close_block(t, rt_open_of(t, link));
    if (t->window == NULL || !(l->flags & RT_LINK_WINDOW)) return;
    l->count += *rt_after(t, link);
    l->flags &= (uint16_t) ~(RT_LINK_WINDOW | RT_LINK_SURE);
}

/* Where an operand is expected, which may be marked. */
RT_INLINE void rt_window_close(const struct rt_thread *t, uint32_t link) {
    if (t->window == NULL) return;
    struct hd_expected *l = hd_link_at(&t->expect, link);
    if (l->operand == HD_LINK_NOWHERE || l->shape == 0 || (l->shape & 0xff) > HD_EV_WRITE ||
        l->flags & (RT_LINK_WINDOW | RT_LINK_WIDE))
        return;
    *rt_after(t, link) = l->count - 1;
    l->count = 1;
    l->flags |= RT_LINK_WINDOW;
}

/* Looks at the window that comes next, of at most so many accesses (0: any number). */
void rt_window_look(struct rt_thread *t, uint32_t link, uint32_t rest);

/* An access that was looked at by itself was the whole window: is the next one, too? Looking ahead
 * pays for links that go on as they do. It costs more than it saves where memory is marked again
 * soon, since blocks come and go, and where operands are found through pointers. At the end of a
 * round it is not put off: short loops would never be sure. */
#define RT_WINDOW_WAITS 16u
RT_INLINE bool rt_window_waits(const struct rt_thread *t, struct hd_expected *l, uint32_t link) {
    if ((l->flags & (RT_LINK_WINDOW | RT_LINK_SURE)) != RT_LINK_WINDOW) return false;
    uint32_t *after = rt_after(t, link);
    if (*after % RT_WINDOW_WAITS == 0) return false; /* or the round is over */
    --*after;
    l->count = 1;
    return true;
}

#define RT_WINDOW_MOST 512u

/* The window is over: looks at the next one. Returns the link that is expected after this one. */
RT_INLINE uint32_t rt_window_next(struct rt_thread *t, uint32_t link) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    uint32_t *after = rt_after(t, link), rest = *after, next = l->next;
    if (rest == 0) {
        next = hd_link_turn(l);
        rest = l->count;
    }
    uint32_t count = rest - 1 < RT_WINDOW_MOST ? rest : RT_WINDOW_MOST;
    uint64_t last = l->operand + l->stride * (count - 1);
    if (likely((l->operand ^ last) >> 12 == 0 && l->flags & RT_LINK_SURE &&
               !rt_may_be_marked(last))) {
        l->count = count;
        *after = rest - count;
    } else {
        rt_window_look(t, link, rest);
    }
    return next;
}

/* How many of the next accesses, at most `most`, are to memory where nothing is marked. They do not
 * cross words. */
uint32_t rt_without_marks(uint64_t address, int64_t stride, uint32_t most);

/* Memory was marked that had no mark, or others had the turn. */
void rt_windows_drop_slow(struct rt_thread *t);
RT_INLINE void rt_windows_drop(struct rt_thread *t) {
    if ((t->sures | t->open_at) != 0) rt_windows_drop_slow(t);
}

#pragma GCC visibility pop

#endif
