/* The hooks of code that `heddle cc` has assembled. An access that comes as
 * expected is counted, a few instructions in all; one that does not is stored. Hooks of straight
 * code form blocks, which are counted by their last hook (events.h). */
#include "runtime/expected.h"

/* The usual access that is not as expected: nothing else is to be told before it, and there is room
 * in the chunk. True if it is one; then it is stored. */
RT_INLINE bool misses(struct rt_thread *t, const struct hd_hook *place, uintptr_t address) {
    struct hd_expect *e = &t->expect;
    const struct hd_expected *l = hd_link_at(e, place->link);
    uintptr_t end = address + (place->shape >> 8) - 1;
    if (l->shape == 0 || t->closed || t->passed >> 32 != 0 || t->chunk == NULL ||
        t->put >= t->put_end || (end >> 3) - (address >> 3) > 1 ||
        !rt_owns_now(t, address, l->shape))
        return false;
    uint64_t met = HD_MET(*t->met);
    uint8_t *at = t->put;
    if (*t->choices != 0) at = hd_token_put_choices(at, *t->choices);
    uint32_t counts = (uint32_t)t->passed;
    at = hd_token_put(at, e, place->link, address, counts, met);
    t->calls_emitted += met - t->met_seen + 1;
    t->branches_emitted += hd_counts_branches(counts);
    t->passed = HD_COUNTS_CALL;
    rt_put(t, at);
    uint32_t before = e->at != place->link ? e->before : 0;
    rt_window_open(t, place->link);
    rt_window_open(t, before);
    hd_expect_learn(e, place->link, l->shape | (uint64_t)address << 16,
                    l->site | (uint64_t)counts << 32, met);
    rt_window_close(t, place->link);
    rt_window_close(t, before);
    return true;
}

/* An access as expected but for its address, and its link strays (expect.h): the usual miss where
 * memory is found through hashes. The hooks of its block that were passed and not counted go into
 * the record; the block goes on. `latest`: the access before it. False if it is not so; then
 * nothing has happened. */
RT_INLINE bool strays(struct rt_thread *t, struct hd_expected *l, uintptr_t address,
                      const struct hd_hook *place, unsigned passed, uintptr_t latest) {
    struct hd_expect *e = &t->expect;
    unsigned flags = l->flags & (HD_LINK_STRAYS | HD_LINK_TURNS | HD_LINK_TURNING);
    if (flags != HD_LINK_STRAYS || t->put >= t->put_end) return false;
    uint64_t met = HD_MET(*t->met) + passed;
    uint64_t step = address - l->operand, distance = address - latest;
    unsigned shift = (unsigned)__builtin_ctz(place->shape >> 8), control = 0;
    uint8_t *token = t->put;
    if (unlikely(*t->choices != 0)) token = hd_token_put_choices(token, *t->choices);
    uint8_t *at = hd_token_put_met(token + 1, &control, met, e->met[0]);
    hd_expect_counted(e, met);
    at = hd_token_put_operand(at, &control, address, l->operand, l->operand + l->other, shift);
    *token = (uint8_t)control;
    t->left -= passed + 1;
    t->calls_emitted += met - t->met_seen + 1;
    rt_put(t, at);
    e->operand = address;
    if (likely(step != l->other && distance != l->distance && !(l->flags & RT_LINK_SURE))) {
        l->other = step; /* hd_link_strayed, and it goes on straying */
        l->operand = address;
        l->distance = distance;
        if (l->flags & RT_LINK_WINDOW)
            --*rt_after(t, place->link);
        else
            l->count--;
    } else {
        rt_window_open(t, place->link);
        hd_link_strayed(l, address, distance);
        bool relative = (l->flags & HD_LINK_RELATIVE) != 0;
        if (relative) l->stride = address;
        l->operand = relative ? HD_LINK_NOWHERE : address + l->stride;
        l->distance = distance;
        l->count--; /* it does not turn */
        rt_window_close(t, place->link);
    }
    t->block_counted = place->index + 1u;
    return true;
}

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
    bool run = rt_count(t), write = (place->shape & 0xff) == HD_EV_WRITE;
    size_t size = place->shape >> 8;
    if (likely(run)) {
        const struct hd_expected *l = hd_link_at(&t->expect, place->link);
        bool may = t->expect.at == place->link && (address & 7) + size <= 8 &&
                   (l->operand == address || l->flags & (HD_LINK_RELATIVE | HD_LINK_EITHER));
        if ((may && rt_meets(t, place->link, address)) || misses(t, place, address)) return true;
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
    if (!strays(t, l, address, place, passed, t->expect.operand)) {
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
    uint32_t next = rt_link_ends(t, place->link);
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

/* ---- blocks whose hooks are stores (blocks.c) ---------------------------------------------------
 */

/* Hooks that were passed: they are told one by one, with nothing in between. */
static void tell(struct rt_thread *t, struct hd_hook *first, unsigned from, unsigned to) {
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
    tell(t, first, t->told, latest->index + 1u);
    t->told = latest->index + 1u;
    t->told_block = first;
}

/* The last hook of a block of which not all is as expected: hooks from this one on are told one by
 * one. */
RT_NOINLINE static void block_slow(uintptr_t address, struct hd_hook *last, unsigned from) {
    struct rt_thread *t = &rt_self;
    if (t->state != RT_RUNNING || t->suspect) rt_sched_preempted(t);
    tell(t, last - last->index, from, last->index);
    (rt.mode == HD_SCHED_FREE ? free_last : serial_last)(address, last);
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
    *told = misses(t, place, address);
    if (!*told) t->left++;
    t->block_counted = place->index + 1u;
    uint32_t next = place->more != 0 ? place[1].link : 0;
    return *told && next != 0 && e->at == next && hd_link_at(e, place->link)->next == next;
}

#define OPEN_WORTH 8u /* rounds */

/* The last hook of a block that is not open (events.h), or of one that is, and its hook i, counted
 * from the last one back, is not as expected. */
#define BLOCK_HOOK(scheduler, serial)                                                          \
    RT_NOINLINE static void scheduler##_closed(uintptr_t address, struct hd_hook *last) {      \
        struct rt_thread *t = &rt_self;                                                        \
        struct hd_expect *e = &t->expect;                                                      \
        struct hd_hook *place = last - last->index;                                            \
        struct hd_expected *l = hd_link_at(e, place->link);                                    \
        if (unlikely(t->left <= last->index || !(l->flags & RT_LINK_BLOCK) || t->told != 0)) { \
            unsigned from = t->told_block == place ? t->told : 0;                              \
            t->told = 0;                                                                       \
            block_slow(address, last, from);                                                   \
            return;                                                                            \
        }                                                                                      \
        const uintptr_t *stored = rt_stored(t, place);                                         \
        t->block_counted = 0;                                                                  \
        t->address[RT_BLOCK_LAST] = address;                                                   \
        bool clear, told;                                                                      \
        if (unlikely(e->at != place->link || l->rest != t->passed)) {                          \
            uintptr_t a = *stored;                                                             \
            clear = IS_CLEAR(serial, l, a, place->shape);                                      \
            if (!clear) tell(t, place, 0, 1);                                                  \
            if (clear ? !block_misses(t, place, a, 0, &told) : t->block != place) {            \
                block_slow(address, last, clear && !told ? 0 : 1);                             \
                return;                                                                        \
            }                                                                                  \
            place++;                                                                           \
            stored++;                                                                          \
        }                                                                                      \
        uintptr_t before = e->operand;                                                         \
        uint32_t next = 0;                                                                     \
        for (;; place++, stored++) {                                                           \
            uintptr_t a = *stored;                                                             \
            l = hd_link_at(e, place->link);                                                    \
            clear = IS_CLEAR(serial, l, a, place->shape);                                      \
            bool fits = clear && l->operand == a;                                              \
            if (fits) l->operand = a + l->stride;                                              \
            if (fits || (clear && fits_otherwise(t, l, a, before))) {                          \
                before = a;                                                                    \
                if (unlikely(--l->count == 0)) next = rt_link_ends(t, place->link);            \
                if (place == last) break;                                                      \
                next = 0;                                                                      \
                continue;                                                                      \
            }                                                                                  \
            if (clear && strays(t, l, a, place, place->index - t->block_counted, before)) {    \
                if (place == last) break;                                                      \
                before = a;                                                                    \
                continue;                                                                      \
            }                                                                                  \
            e->operand = before;                                                               \
            before = a;                                                                        \
            unsigned index = place->index;                                                     \
            if (clear) {                                                                       \
                if (block_misses(t, place, a, index - t->block_counted, &told)) continue;      \
                if (place != last || !told) block_slow(address, last, index + told);           \
                return;                                                                        \
            }                                                                                  \
            t->block = index > 0 ? place - 1 : NULL;                                           \
            if (place == last) {                                                               \
                scheduler##_last(address, last);                                               \
                return;                                                                        \
            }                                                                                  \
            tell(t, place - index, index, index + 1u);                                         \
            if (t->block == place) continue;                                                   \
            block_slow(address, last, index + 1u);                                             \
            return;                                                                            \
        }                                                                                      \
        unsigned hooks = last->index + 1u - t->block_counted;                                  \
        t->block = NULL;                                                                       \
        e->operand = address;                                                                  \
        rt_count_all(t, hooks);                                                                \
        *t->met += hooks;                                                                      \
        t->passed = HD_COUNTS_CALL;                                                            \
        e->before = last->link;                                                                \
        e->at = next != 0 ? next : l->next;                                                    \
        struct rt_open *o = rt_open_of(t, last->link);                                         \
        if (l->count <= OPEN_WORTH || t->block_counted != 0) return;                           \
        if (o->shy != 0)                                                                       \
            o->shy--;                                                                          \
        else                                                                                   \
            rt_open_block(t, last, OPEN_WORTH);                                                \
    }                                                                                          \
    RT_NOINLINE static void scheduler##_unlike(uintptr_t address, struct hd_hook *last,        \
                                               int64_t i) {                                    \
        struct rt_thread *t = &rt_self;                                                        \
        struct rt_open *o = rt_open_of(t, last->link);                                         \
        rt_count_all(t, 0 - (uint64_t)o->hooks);                                               \
        if (unlikely(t->signals_pending)) rt_set_left(t, -1);                                  \
        for (int64_t j = 1 - (int64_t)o->hooks; j < i; j++)                                    \
            o->operand[RT_BLOCK_LAST + j] -= o->stride[RT_BLOCK_LAST + j];                     \
        rt_close_block(t, o);                                                                  \
        scheduler##_closed(address, last);                                                     \
    }
BLOCK_HOOK(serial, true)
BLOCK_HOOK(free, false)

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
        if (unlikely(o->operand[RT_BLOCK_LAST + i] != a) || !IS_OWN(serial, a, last[i].shape))
            goto unlike;
        o->operand[RT_BLOCK_LAST + i] = a + o->stride[RT_BLOCK_LAST + i];
    }
    if (unlikely(o->operand[RT_BLOCK_LAST] != address) || !IS_OWN(serial, address, last->shape))
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
    (serial ? serial_unlike : free_unlike)(address, last, i);
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
                 (end >> 3) - (address >> 3) > 1 || !rt_owns_now(t, address, l->shape) ||
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
    rt_hook_function *const *blocks = free ? free_blocks : serial_blocks;
    for (unsigned i = 0; i < HD_HOOK_FUNCTIONS; i++)
        __heddle_table[i] = i < HD_HOOK_WIDE    ? role[free][i / HD_HOOK_SHAPES]
                            : i == HD_HOOK_WIDE ? expect_wide
                                                : blocks[i - HD_HOOK_STORED];
}
