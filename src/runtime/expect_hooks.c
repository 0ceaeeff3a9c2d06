/* The hooks of code that `heddle cc` has assembled. An access that comes as
 * expected is counted, a few instructions in all; one that does not is stored. Hooks of straight
 * code form blocks, which are counted by their last hook (events.h). */
#include "runtime/expect_hooks.h"

/* Does the hook before it in the block lead to this one, and with the counts of straight code; at
 * turns, too? */
static bool is_chained(const struct rt_thread *t, const struct hd_hook *place) {
    const struct hd_expected *before = hd_link_at(&t->expect, place[-1].link);
    const struct hd_expected *l = hd_link_at(&t->expect, place->link);
    return place[-1].link != 0 && before->next == place->link && l->rest == HD_COUNTS_CALL &&
           l->other_rest == HD_COUNTS_CALL && (before->exit == 0 || before->exit == place->link);
}

/* A hook of a block, not the first, has gone the slow way: what became of the block? */
static void look_at_block(const struct rt_thread *t, const struct hd_hook *place) {
    struct hd_expected *first = hd_link_at(&t->expect, place[-place->index].link);
    if (!is_chained(t, place)) {
        first->flags &= (uint16_t)~RT_LINK_BLOCK;
        return;
    }
    if (place->more != 0 || first->flags & RT_LINK_BLOCK) return;
    for (const struct hd_hook *p = place - 1; p->index != 0; p--)
        if (!is_chained(t, p)) return;
    first->flags |= RT_LINK_BLOCK;
}

/* An access of a block has come otherwise than expected, and is told: the hooks after it may go on
 * as a block does. */
RT_INLINE void block_goes_on(struct rt_thread *t, const struct hd_hook *place) {
    const struct hd_expected *first = hd_link_at(&t->expect, place[-place->index].link);
    uint32_t next = place[1].link;
    if (!(first->flags & RT_LINK_BLOCK) || t->expect.at != next ||
        hd_link_at(&t->expect, place->link)->next != next || t->left <= place->more)
        return;
    t->block = place;
    t->block_counted = place->index + 1u;
}

/* True if it was an access like others, of a link that is known. */
RT_INLINE bool slow_hook(struct rt_thread *t, uintptr_t address, struct hd_hook *place,
                         uintptr_t pc) {
    if (t->left > 0 && rt_only_frames(t)) rt_tell_frames(t);
    bool run = rt_count(t), write = (place->shape & 0xff) == HD_EV_WRITE;
    size_t size = place->shape >> 8;
    if (likely(run)) {
        const struct hd_expected *l = hd_link_at(&t->expect, place->link);
        bool may = t->expect.at == place->link && (address & 7) + size <= 8 &&
                   (l->operand == address || l->flags & (HD_LINK_RELATIVE | HD_LINK_EITHER));
        if ((may && rt_meets(t, place->link, address)) || rt_misses(t, place, address)) return true;
    }
    uintptr_t end = rt.stores ? rt_hook_end(place) : 0;
    if (end != 0) pc = end; /* the last one of its block tells of it */
    t->hook_link = place->link;
    t->in_block = place->more != 0;
    rt_access_slow(address, size, write, pc);
    t->in_block = false;
    t->hook_link = 0;
    if (unlikely(!rt_is_link(place->link)) && t->expects) {
        uint32_t site = rt_site(t, pc);
        if (site != 0) place->link = rt_link_of((uint64_t)place->shape << 32 | site);
    }
    return false;
}

RT_NOINLINE static void hook_slow(uintptr_t address, struct hd_hook *place, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    rt_settle(t);
    if (unlikely(t->choice == 0) && t->expects) rt_store_met(t);
    bool simple = slow_hook(t, address, place, pc);
    if (unlikely(!t->expects)) return; /* it ends, or is not known yet */
    if (place->index != 0) look_at_block(t, place);
    t->slow_block = place->more != 0 ? place : NULL;
    if (simple && place->more != 0) block_goes_on(t, place);
}

/* ---- an aligned access of 1 to 8 bytes: alone, or the first, the next and the last of a block ---
 */

/* One within a block: what is expected next is the next hook's link (look_at_block), also at a
 * turn. */
RT_INLINE void goes_on(struct hd_expected *l) {
    if (unlikely(--l->count == 0)) hd_link_turn(l);
}

/* It came as expected, and all before it in its block did; this link is expected next. */
RT_INLINE void has_come(struct rt_thread *t, const struct hd_hook *place, uint32_t next) {
    if (place->more != 0) {
        if (place->index == 0) t->block_counted = 0;
        t->block = place;
        return;
    }
    unsigned hooks = place->index == 0 ? 1 : place->index + 1u - t->block_counted;
    t->block = NULL;
    t->left -= hooks;
    *t->met += hooks;
    t->passed = HD_COUNTS_CALL;
    t->expect.before = place->link;
    t->expect.at = next;
}

/* All is as expected but for the address. Whoever calls this, and what follows, returns then to
 * where the hook was called from. */
RT_NOINLINE static void goes_astray(uintptr_t address, struct hd_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expected *l = hd_link_at(&t->expect, place->link);
    unsigned passed = t->block != NULL ? place->index - t->block_counted : 0;
    if (!rt_strays(t, l, address, place, passed, t->expect.operand)) {
        hook_slow(address, place, RT_CALLER);
    } else if (place->more != 0) {
        t->block = place;
    } else {
        t->block = NULL;
        t->branches_emitted += rt_branches(t);
        t->passed = HD_COUNTS_CALL;
        t->expect.before = place->link;
        t->expect.at = hd_link_at(&t->expect, place->link)->next;
    }
}

/* The same, and its link may have a choice. */
RT_NOINLINE static void is_elsewhere(uintptr_t address, struct hd_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expected *l = hd_link_at(&t->expect, place->link);
    if (t->window != NULL && *rt_word(address) != 0) { /* which was not looked at yet */
        hook_slow(address, place, RT_CALLER);
        return;
    }
    if (!(l->flags & HD_LINK_EITHER) || !rt_chooses(t, l, address)) {
        goes_astray(address, place);
        return;
    }
    t->expect.operand = address;
    has_come(t, place, --l->count != 0 ? l->next : hd_link_turn(l));
    if (unlikely(!(l->flags & HD_LINK_EITHER))) rt_window_close(t, place->link);
}

/* The 8 bytes are not the thread's own: if they are now, the hook is asked again. */
RT_NOINLINE static void is_not_own(uintptr_t address, struct hd_hook *place,
                                   rt_hook_function *again) {
    if (rt_owners_take(&rt_self, address, (place->shape & 0xff) == HD_EV_WRITE))
        again(address, place);
    else
        hook_slow(address, place, RT_CALLER);
}

/* Serial: the count of the link is at 0. */
RT_NOINLINE static void has_counted(uintptr_t address, struct hd_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expect *e = &t->expect;
    struct hd_expected *l = hd_link_at(e, place->link);
    unsigned flags = l->flags & (RT_LINK_WINDOW | RT_LINK_SURE);
    if (flags == RT_LINK_WINDOW && *rt_word(address) != 0) {
        l->operand = address; /* as if it had not come */
        l->count = 1;
        hook_slow(address, place, RT_CALLER);
        return;
    }
    uint32_t next = rt_window_waits(t, l, place->link) ? l->next : rt_link_ends(t, place->link);
    e->operand = address;
    has_come(t, place, next);
}

/* The hook is not the one that is expected; it may be if a block has only repeated. */
RT_NOINLINE static void is_another(uintptr_t address, struct hd_hook *place,
                                   rt_hook_function *again) {
    struct rt_thread *t = &rt_self;
    if (rt_repeats(t)) {
        rt_end_repeats(t);
        again(address, place);
    } else {
        hook_slow(address, place, RT_CALLER);
    }
}

/* The hooks of one kind of recording. What they check, and in which order, is what an access costs:
 * nothing that calls a function may come before the end, or they would have to save registers. */
#define EXPECTING_HOOK(name, serial, unlike, then)                                             \
    static void name(uintptr_t address, struct hd_hook *place) {                               \
        struct rt_thread *t = &rt_self;                                                        \
        struct hd_expect *e = &t->expect;                                                      \
        struct hd_expected *l = hd_link_at(e, place->link);                                    \
        if (unlikely(unlike)) {                                                                \
            is_another(address, place, name);                                                  \
            return;                                                                            \
        }                                                                                      \
        uint8_t word = serial ? 0 : *rt_word(address);                                         \
        if (!serial && unlikely(word != t->owner) && !rt_owners_read(t, word, place->shape)) { \
            is_not_own(address, place, name);                                                  \
            return;                                                                            \
        }                                                                                      \
        if (likely(l->operand == address)) {                                                   \
            l->operand = address + l->stride;                                                  \
        } else if (!(l->flags & HD_LINK_RELATIVE) || e->operand + l->distance != address ||    \
                   (serial && *rt_word(address) != 0)) {                                       \
            is_elsewhere(address, place);                                                      \
            return;                                                                            \
        }                                                                                      \
        if (serial && unlikely(--l->count == 0)) {                                             \
            has_counted(address, place);                                                       \
            return;                                                                            \
        }                                                                                      \
        e->operand = address;                                                                  \
        then                                                                                   \
    }

/* A round may be over; under serial that is looked at before. */
#define GOES_ON(serial) \
    if (!(serial)) goes_on(l)
#define MEETS(serial, hooks)                                                   \
    {                                                                          \
        t->left -= (hooks);                                                    \
        *t->met += (hooks);                                                    \
        t->passed = HD_COUNTS_CALL;                                            \
        e->before = place->link;                                               \
        e->at = serial || likely(--l->count != 0) ? l->next : hd_link_turn(l); \
    }

#define EXPECTING_HOOKS(scheduler, serial)                                                         \
    EXPECTING_HOOK(scheduler##_access, serial,                                                     \
                   t->left <= 0 || e->at != place->link || l->rest != t->passed, MEETS(serial, 1)) \
    EXPECTING_HOOK(scheduler##_first, serial,                                                      \
                   t->left <= place->more || e->at != place->link || l->rest != t->passed ||       \
                       !(l->flags & RT_LINK_BLOCK),                                                \
                   {                                                                               \
                       GOES_ON(serial);                                                            \
                       t->block_counted = 0;                                                       \
                       t->block = place;                                                           \
                   })                                                                              \
    EXPECTING_HOOK(scheduler##_next, serial, t->block != place - 1, {                              \
        GOES_ON(serial);                                                                           \
        t->block = place;                                                                          \
    })                                                                                             \
    EXPECTING_HOOK(scheduler##_last, serial, t->block != place - 1, {                              \
        unsigned hooks = place->index + 1u - t->block_counted;                                     \
        t->block = NULL;                                                                           \
        MEETS(serial, hooks)                                                                       \
    })

EXPECTING_HOOKS(serial, true)
EXPECTING_HOOKS(free, false)

void rt_tell_hooks(struct rt_thread *t, struct hd_hook *first, unsigned from, unsigned to) {
    bool free = rt.mode == HD_SCHED_FREE;
    t->busy++;
    t->telling = true;
    for (unsigned i = from; i < to; i++)
        (i > 0  ? free ? free_next : serial_next
         : free ? free_first
                : serial_first)(*rt_stored(t, &first[i]), &first[i]);
    t->telling = false;
    t->busy--;
    if (unlikely(t->signals_pending)) rt_set_left(t, -1);
}

void rt_tell_last_hook(uintptr_t address, struct hd_hook *last) {
    (rt.mode == HD_SCHED_FREE ? free_last : serial_last)(address, last);
}

/* One that may be of more than 8 bytes, or lie anywhere. */
static void expect_wide(uintptr_t address, struct hd_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expect *e = &t->expect;
    uint32_t link = place->link;
    struct hd_expected *l = hd_link_at(e, link);
    uintptr_t end = address + (place->shape >> 8) - 1;
    if (unlikely(l->flags & RT_LINK_WINDOW)) {
        rt_window_open(t, link);
        l->flags |= RT_LINK_WIDE;
    }
    rt_end_repeats(t);
    if (unlikely(t->left <= 0 || e->at != link || l->rest != t->passed ||
                 (end >> 3) - (address >> 3) > 1 || !rt_owns_now(t, address, &l->shape) ||
                 !rt_fits(t, l, address))) {
        hook_slow(address, place, RT_CALLER);
        return;
    }
    t->left--;
    rt_met(t, link, 1);
}

void rt_hooks_expect(void) {
    static rt_hook_function *const role[][4] = {
        {serial_access, serial_first, serial_next, serial_last},
        {free_access, free_first, free_next, free_last}};
    bool free = rt.mode == HD_SCHED_FREE;
    for (unsigned i = 0; i < HD_HOOK_FUNCTIONS; i++)
        __heddle_table[i] = i < HD_HOOK_WIDE    ? role[free][i / HD_HOOK_SHAPES]
                            : i == HD_HOOK_WIDE ? expect_wide
                                                : rt_block_function(free, i);
}
