/* Blocks whose hooks are stores (blocks.c): the last one tells of all. */
#include "runtime/expect_hooks.h"

void rt_tell_passed(struct rt_thread *t, const void *context) {
    if (!rt.stores || t->busy || rt.mode == HD_SCHED_OFF || !t->expects) return;
    const struct hd_hook *latest = rt_hook_passed(context);
    if (latest == NULL) return;
    struct hd_hook *first = (struct hd_hook *)latest - latest->index;
    if (t->told_block != first) t->told = 0;
    rt_end_repeats(t);
    struct rt_open *o = rt_open_of(t, latest[latest->more].link);
    if (o->last == latest + latest->more) rt_close_block(t, o);
    if (latest->index < t->told) return;
    rt_tell_hooks(t, first, t->told, latest->index + 1u);
    t->told = latest->index + 1u;
    t->told_block = first;
}

/* The last hook of a block of which not all is as expected: hooks from this one on are told one by
 * one. */
RT_NOINLINE static void block_slow(uintptr_t address, struct hd_hook *last, unsigned from) {
    struct rt_thread *t = &rt_self;
    if (t->state != RT_RUNNING || t->suspect) rt_sched_preempted(t);
    rt_tell_hooks(t, last - last->index, from, last->index);
    rt_tell_last_hook(address, last);
}

/* Is nothing to be known of its memory before an access of a block that is open? Serial: windows
 * say so of operands that are kept (windows.h). */
#define IS_OWN(serial, a, shape) ((serial) || rt_owns(t, a, shape))

/* The same of one that is not open. */
#define IS_CLEAR(serial, l, a, shape) \
    ((serial) ? ((l)->flags & RT_LINK_SURE) != 0 || *rt_word(a) == 0 : rt_owns_word(t, a, shape))

/* Is it where its link expects it otherwise than at its operand, all before it being as expected?
 */
RT_INLINE bool fits_otherwise(struct rt_thread *t, struct hd_expected *l, uintptr_t address,
                              uintptr_t latest) {
    if (l->flags & HD_LINK_RELATIVE) return latest + l->distance == address;
    return l->flags & HD_LINK_EITHER && rt_chooses(t, l, address);
}

/* Any other access of a block that is not as expected, so many hooks before it being passed and not
 * counted. True if the hooks after it go on as a block does. Told: it is in the trace, else only
 * what was before it. */
RT_NOINLINE static bool block_misses(struct rt_thread *t, struct hd_hook *place, uintptr_t address,
                                     unsigned passed, bool *told) {
    struct hd_expect *e = &t->expect;
    if (place->index != 0) rt_count_passed(t, place - 1, passed);
    t->block = NULL;
    t->left--;
    *told = rt_misses(t, place, address);
    if (!*told) t->left++;
    t->block_counted = place->index + 1u;
    uint32_t next = place->more != 0 ? place[1].link : 0;
    return *told && next != 0 && e->at == next && hd_link_at(e, place->link)->next == next;
}

#define OPEN_WORTH 8u /* rounds */

/* Records of hooks of a block, up to before this one, are in the chunk, and nothing says so yet. */
RT_INLINE void put_block(struct rt_thread *t, uint8_t *end, unsigned told) {
    unsigned hooks = told - t->block_counted;
    uint64_t events = HD_MET(*t->met) + hooks;
    t->left -= hooks;
    t->calls_emitted += events - t->met_seen;
    t->block_counted = told;
    rt_put_all(t, end, events);
}

enum told {
    TOLD_NONE,
    TOLD_ONE,
    TOLD_LAST,
    TOLD_ALL
}; /* of a block: nothing yet, a hook, the last one, or all that is left */

/* A block of which the first is not as expected, or which was told in part. */
RT_NOINLINE static enum told begins_otherwise(uintptr_t address, struct hd_hook *last,
                                              bool serial) {
    struct rt_thread *t = &rt_self;
    struct hd_hook *first = last - last->index;
    struct hd_expected *l = hd_link_at(&t->expect, first->link);
    if (t->left > last->index && rt_only_frames(t)) rt_tell_frames(t);
    if (t->left <= last->index || !(l->flags & RT_LINK_BLOCK) || t->told != 0) {
        unsigned from = t->told_block == first ? t->told : 0;
        t->told = 0;
        block_slow(address, last, from);
        return TOLD_ALL;
    }
    if (t->expect.at == first->link && l->rest == t->passed) return TOLD_NONE;
    uintptr_t a = *rt_stored(t, first);
    bool clear = IS_CLEAR(serial, l, a, &first->shape), told;
    if (!clear) rt_tell_hooks(t, first, 0, 1);
    if (clear ? !block_misses(t, first, a, 0, &told) : t->block != first) {
        block_slow(address, last, clear && !told ? 0 : 1);
        return TOLD_ALL;
    }
    return TOLD_ONE;
}

/* A hook of a block that is not as expected; `before` is the address of the one before it. */
RT_NOINLINE static enum told goes_otherwise(struct hd_hook *place, struct hd_hook *last,
                                            uintptr_t before, bool serial) {
    struct rt_thread *t = &rt_self;
    struct hd_expected *l = hd_link_at(&t->expect, place->link);
    uintptr_t address = *rt_stored(t, place), end = *rt_stored(t, last);
    unsigned index = place->index, passed = index - t->block_counted;
    bool told;
    if (IS_CLEAR(serial, l, address, &place->shape)) {
        if (rt_strays(t, l, address, place, passed, before))
            return place == last ? TOLD_LAST : TOLD_ONE;
        t->expect.operand = before;
        if (block_misses(t, place, address, passed, &told)) return TOLD_ONE;
        if (place != last || !told) block_slow(end, last, index + told);
        return TOLD_ALL;
    }
    t->expect.operand = before;
    t->block = index > 0 ? place - 1 : NULL;
    if (place == last) {
        rt_tell_last_hook(end, last);
        return TOLD_ALL;
    }
    rt_tell_hooks(t, place - index, index, index + 1u);
    if (t->block == place) return TOLD_ONE;
    block_slow(end, last, index + 1u);
    return TOLD_ALL;
}

/* The last hook of a block that is not open (events.h), or of one that is, and its hook i, counted
 * from the last one back, is not as expected. */
RT_INLINE void closed(uintptr_t address, struct hd_hook *last, bool serial) {
    struct rt_thread *t = &rt_self;
    struct hd_expect *e = &t->expect;
    struct hd_hook *place = last - last->index;
    struct hd_expected *l = hd_link_at(e, place->link);
    t->address[RT_BLOCK_LAST] = address;
    t->block_counted = 0;
    if (unlikely(t->left <= last->index || !(l->flags & RT_LINK_BLOCK) || t->told != 0 ||
                 e->at != place->link || l->rest != t->passed)) {
        enum told now = begins_otherwise(address, last, serial);
        if (now == TOLD_ALL) return;
        if (now == TOLD_ONE) place++;
    }
    const uintptr_t *stored = rt_stored(t, place);
    uintptr_t before = e->operand;
    uint32_t next = 0;
    uint8_t *at = NULL; /* where records end that are not published yet, */
    unsigned told = 0;  /* which tell of hooks up to before this one */
    for (;; place++, stored++) {
        uintptr_t a = *stored;
        l = hd_link_at(e, place->link);
        bool clear = IS_CLEAR(serial, l, a, &place->shape);
        if (likely(clear && l->operand == a)) {
            l->operand = a + l->stride;
        } else if (likely(clear && rt_goes_on_straying(l, a, a - before) &&
                          (at != NULL ? at : t->put) < t->put_end)) {
            uint64_t met = place->index - told;
            if (at == NULL) {
                at = t->put;
                met = HD_MET(*t->met) + place->index - t->block_counted;
                if (unlikely(*t->choices != 0)) at = hd_token_put_choices(at, *t->choices);
            }
            at = rt_put_stray(t, at, l, place, a, met);
            rt_strayed(t, l, place, a, a - before);
            told = place->index + 1u;
            before = a;
            if (place == last) break;
            continue;
        } else if (!clear || at != NULL || !fits_otherwise(t, l, a, before)) {
            if (at != NULL) { /* then this one again */
                put_block(t, at, told);
                at = NULL;
                place--, stored--;
                continue;
            }
            enum told now = goes_otherwise(place, last, before, serial);
            if (now == TOLD_ALL) return;
            if (now == TOLD_LAST) break;
            before = a;
            continue;
        }
        before = a;
        if (unlikely(--l->count == 0) && !(serial && rt_window_waits(t, l, place->link)))
            next = rt_link_ends(t, place->link);
        if (place == last) break;
        next = 0;
    }
    if (at != NULL) put_block(t, at, told);
    unsigned hooks = last->index + 1u - t->block_counted;
    t->block = NULL;
    e->operand = address;
    rt_count_all(t, hooks);
    *t->met += hooks;
    t->passed = HD_COUNTS_CALL;
    e->before = last->link;
    e->at = next != 0 ? next : l->next;
    if (l->count <= OPEN_WORTH || t->block_counted != 0) return;
    struct rt_open *o = rt_open_of(t, last->link);
    if (o->shy != 0)
        o->shy--;
    else
        rt_open_block(t, last, OPEN_WORTH);
}
RT_NOINLINE static void serial_closed(uintptr_t address, struct hd_hook *last) {
    closed(address, last, true);
}
RT_NOINLINE static void free_closed(uintptr_t address, struct hd_hook *last) {
    closed(address, last, false);
}

/* Free: the memory of a round becomes the thread's own, as far as that takes no stamp. Did any? */
static bool takes_round(struct rt_thread *t, const struct hd_hook *last) {
    bool any = false;
    for (const struct hd_hook *place = last - last->index; place <= last; place++) {
        uintptr_t a = *rt_stored(t, place);
        bool write = (place->shape & 0xff) == HD_EV_WRITE;
        if (!rt_owns(t, a, &place->shape) && rt_owners_take(t, a, write)) any = true;
    }
    return any;
}

static void free_block_again(uintptr_t address, struct hd_hook *last);

/* One that is open, and its hook i, counted from the last one back, is not as expected. */
RT_NOINLINE static void unlike(uintptr_t address, struct hd_hook *last, int64_t i, bool serial) {
    struct rt_thread *t = &rt_self;
    struct rt_open *o = rt_open_of(t, last->link);
    rt_count_all(t, 0 - (uint64_t)o->hooks);
    if (unlikely(t->signals_pending)) rt_set_left(t, -1);
    for (int64_t j = 1 - (int64_t)o->hooks; j < i; j++)
        o->operand[RT_BLOCK_LAST + j] -= o->stride[RT_BLOCK_LAST + j];
    t->address[RT_BLOCK_LAST] = address;
    if (!serial && o->operand[RT_BLOCK_LAST + i] == t->address[RT_BLOCK_LAST + i] &&
        takes_round(t, last)) {
        free_block_again(address, last); /* and this time it is not the memory */
        return;
    }
    rt_close_block(t, o);
    (serial ? serial_closed : free_closed)(address, last);
}

/* A round of a block that is open, if all is as expected. Nothing that calls a function may come
 * before the end, or it would have to save registers. */
RT_INLINE void round_of(struct rt_open *o, uintptr_t address, struct hd_hook *last, bool serial,
                        unsigned hooks, bool repeats) {
    struct rt_thread *t = &rt_self;
    uint64_t all = hooks != 0 ? hooks : o->hooks;
    int64_t i = 1 - (int64_t)all;
    if (unlikely(rt_count_over(t, all) ||
                 (!repeats && ((t->expect.both ^ o->came) & o->came_bits) != 0) ||
                 t->passed != o->passed))
        goto unlike;
#pragma GCC unroll 8
    for (; i != 0; i++) {
        uintptr_t a = t->address[RT_BLOCK_LAST + i];
        if (unlikely(o->operand[RT_BLOCK_LAST + i] != a) || !IS_OWN(serial, a, &last[i].shape))
            goto unlike;
        o->operand[RT_BLOCK_LAST + i] = a + o->stride[RT_BLOCK_LAST + i];
    }
    if (unlikely(o->operand[RT_BLOCK_LAST] != address) || !IS_OWN(serial, address, &last->shape))
        goto unlike;
    o->operand[RT_BLOCK_LAST] = address + o->stride[RT_BLOCK_LAST];
    *t->met += all;
    t->passed = HD_COUNTS_CALL;
    if (unlikely(--o->rounds == 0)) {
        t->repeats = o; /* it knows what came last */
        rt_turn_block(t, o, OPEN_WORTH);
        return;
    }
    if (repeats) return;
    if (likely(o->follows)) {
        t->repeats = o;
        t->expect.at = 0;
    } else {
        t->expect.operand = address;
        t->expect.both = o->both;
    }
    return;
unlike:
    unlike(address, last, i, serial);
}

/* The last hook of a block: the usual case is that it is open, and all is as expected. `hooks`: how
 * many it has, 0 for any number. */
RT_INLINE void block(uintptr_t address, struct hd_hook *last, bool serial, unsigned hooks) {
    struct rt_thread *t = &rt_self;
    struct rt_open *o = t->repeats;
    if (likely(o->last == last)) {
        round_of(o, address, last, serial, hooks, true);
        return;
    }
    rt_end_repeats(t);
    o = rt_open_of(t, last->link);
    if (unlikely(o->last != last))
        (serial ? serial_closed : free_closed)(address, last);
    else
        round_of(o, address, last, serial, hooks, false);
}

static void free_block_again(uintptr_t address, struct hd_hook *last) {
    block(address, last, false, 0);
}

#define BLOCK_OF(scheduler, serial, hooks)                                          \
    static void scheduler##_block##hooks(uintptr_t address, struct hd_hook *last) { \
        block(address, last, serial, hooks);                                        \
    }
#define BLOCKS(scheduler, serial)                                                       \
    BLOCK_OF(scheduler, serial, 0)                                                      \
    BLOCK_OF(scheduler, serial, 2)                                                      \
    BLOCK_OF(scheduler, serial, 3)                                                      \
    BLOCK_OF(scheduler, serial, 4)                                                      \
    BLOCK_OF(scheduler, serial, 5)                                                      \
    BLOCK_OF(scheduler, serial, 6)                                                      \
    BLOCK_OF(scheduler, serial, 7)                                                      \
    BLOCK_OF(scheduler, serial, 8)                                                      \
    static rt_hook_function *const scheduler##_blocks[HD_HOOK_STORED_SIZES] = {         \
        scheduler##_block0, scheduler##_block2, scheduler##_block3, scheduler##_block4, \
        scheduler##_block5, scheduler##_block6, scheduler##_block7, scheduler##_block8};
BLOCKS(serial, true)
BLOCKS(free, false)

rt_hook_function *rt_block_function(bool free, unsigned stored) {
    return (free ? free_blocks : serial_blocks)[stored - HD_HOOK_STORED];
}
