/* The event path behind rt_emit: chunks of shared memory, call stacks, counts. */
#define _GNU_SOURCE
#include "runtime/startup.h"

#include <string.h>

#define MAX_FULL 96u /* chunks the parent may be behind before the program waits for it */

static uint32_t serial_sequence;

/* When nobody drains any more, events go to a page that is written over and over. */
static struct hd_wire_event *discard(void) {
    static struct hd_wire_chunk *bin;
    if (bin == NULL) bin = rt_map(sizeof *bin);
    return bin->event;
}

static struct hd_wire_chunk *take_free(struct hd_wire_session *s) {
    uint32_t count = s->chunk_count;
    for (uint32_t i = 0; i < count; i++) {
        struct hd_wire_chunk *chunk = hd_wire_chunk(s, i);
        uint32_t expect = HD_CHUNK_FREE;
        if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) != HD_CHUNK_FREE) continue;
        if (__atomic_compare_exchange_n(&chunk->state, &expect, HD_CHUNK_OPEN, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            uint32_t used = __atomic_load_n(&s->chunks_used, __ATOMIC_RELAXED);
            while (used < i + 1 &&
                   !__atomic_compare_exchange_n(&s->chunks_used, &used, i + 1, false,
                                                __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
            }
            return chunk;
        }
    }
    return NULL;
}

static void submit(struct hd_wire_session *s, struct hd_wire_chunk *chunk) {
    if (unlikely(rt.startup)) {
        rt_startup_keep(chunk);
        return;
    }
    __atomic_fetch_add(&s->full_chunks, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->state, HD_CHUNK_FULL, __ATOMIC_RELEASE);
    __atomic_fetch_add(&s->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&s->draining, __ATOMIC_SEQ_CST)) rt_futex_wake(&s->wake, 1, true);
}

void rt_chunk_submit(struct rt_thread *t) {
    if (rt.session == NULL || t->chunk == NULL) return;
    rt_store_met(t);
    struct hd_wire_chunk *chunk = t->chunk;
    rt_stream_none(t);
    submit(rt.session, chunk);
}

/* The same if nobody wants them: small, so that it stays in the processor's cache. */
#define BIN_EVENTS 32u
static bool nobody_wants(struct rt_thread *t) {
    static struct hd_wire_event bin[64][BIN_EVENTS]; /* and more than two records */
    if (likely(!rt.check_only)) return false;
    rt_stream_is(t, NULL, bin[t->number % 64], bin[t->number % 64] + BIN_EVENTS);
    return true;
}

RT_NOINLINE void rt_chunk_next(struct rt_thread *t) {
    struct hd_wire_session *s = rt.session;
    if (nobody_wants(t)) return;
    struct hd_wire_chunk *chunk = NULL, *before = s != NULL ? t->chunk : NULL;
    uint64_t met = before != NULL ? HD_MET(*t->met) : 0, choices = *t->choices;
    rt_stream_none(t);
    if (before != NULL && met == 0) submit(s, before);
    while (s != NULL && !__atomic_load_n(&s->parent_gone, __ATOMIC_RELAXED)) {
        uint32_t freed = __atomic_load_n(&s->freed, __ATOMIC_ACQUIRE);
        bool behind = __atomic_load_n(&s->full_chunks, __ATOMIC_RELAXED) >= MAX_FULL;
        if (!behind && (chunk = take_free(s)) != NULL) break;
        struct timespec wait = {0, 50 * 1000 * 1000};
        rt_futex_wait(&s->freed, freed, &wait, true);
        if (freed == __atomic_load_n(&s->freed, __ATOMIC_ACQUIRE) && !rt_parent_alive())
            __atomic_store_n(&s->parent_gone, 1, __ATOMIC_RELAXED);
    }
    if (chunk == NULL) {
        if (s != NULL) s->lost_events += HD_CHUNK_EVENTS;
        rt_stream_is(t, NULL, discard(), discard() + HD_CHUNK_EVENTS);
        return;
    }
    bool serial = rt.mode == HD_SCHED_SERIAL;
    chunk->stream = serial ? 0 : t->number;
    chunk->sequence = serial ? serial_sequence++ : t->sequence++;
    rt_stream_is(t, chunk, chunk->event, chunk->event + HD_CHUNK_EVENTS);
    if (met == 0) return;
    /* What was counted in the chunk before: that stays open until it stands here. */
    rt_put_met(t, met, choices);
    submit(s, before);
}

void rt_chunks_reset(void) { serial_sequence = 0; }

/* A function's frame begins above its return address, which lies between the stack pointer that it
 * called us with and that of the next outer function: if that word is there once, it is the place.
 * The distance is mostly that of the last time. Only the thread's own stack is read: others may be
 * gone. `sp` is the hook's frame: a frame pointer and a return address below its caller's. */
#define FRAME_WORDS 4096u
static uintptr_t find_frame(const struct rt_thread *t, const struct rt_frame *f) {
    static uint16_t usual[512];
    uintptr_t own = 2 * sizeof own, from = f->sp + own;
    uintptr_t end = f > t->frame_base ? f[-1].sp + own : t->stack_end;
    if (f->sp < t->stack_low || end > t->stack_end || from >= end || f->sp % sizeof from != 0)
        return 0;
    const uintptr_t *word = (const uintptr_t *)from;
    size_t words = (end - from) / sizeof *word, found = SIZE_MAX;
    uint16_t *guess = &usual[(f->pc ^ f->pc >> 9) % (sizeof usual / sizeof *usual)];
    size_t at = __atomic_load_n(guess, __ATOMIC_RELAXED);
    if (likely(at < words && word[at] == f->pc)) return from + (at + 1) * sizeof *word;
    if (words > FRAME_WORDS) words = FRAME_WORDS;
    for (size_t i = 0; i < words; i++) {
        if (word[i] != f->pc) continue;
        if (found != SIZE_MAX) return 0;
        found = i;
    }
    if (found == SIZE_MAX) return 0;
    __atomic_store_n(guess, (uint16_t)found, __ATOMIC_RELAXED);
    return from + (found + 1) * sizeof *word;
}

/* Notes the frame's place; returns it as hd_wire_step has it. */
static uint32_t frame_step(const struct rt_thread *t, struct rt_frame *f) {
    f->cfa = find_frame(t, f);
    if (f->cfa == 0) return 0;
    const struct rt_frame *outer = f;
    while (outer > t->frame_base && outer[-1].cfa == 0) outer--;
    uintptr_t above = outer > t->frame_base ? outer[-1].cfa : t->stack_end;
    return above > f->cfa && above - f->cfa <= UINT32_MAX ? (uint32_t)(above - f->cfa) : 0;
}

/* A frame's call site may lie in another module than the events': keep that cached. */
static uint32_t frame_site(struct rt_thread *t, uintptr_t pc) {
    uintptr_t lo = t->text_lo, size = t->text_size;
    uint32_t base = t->site_base, site = rt_site(t, pc);
    t->text_lo = lo, t->text_size = size, t->site_base = base;
    return site;
}

bool rt_push_expected(struct rt_thread *t, struct rt_frame *f) {
    const struct hd_expected *l = hd_link_at(&t->expect, t->expect.at);
    return l->site == frame_site(t, f->pc) && l->rest == frame_step(t, f);
}

bool rt_pop_expected(struct rt_thread *t) {
    return hd_link_at(&t->expect, t->expect.at)->site == frame_site(t, t->exit_pc);
}

/* Function entries and exits are not events of their own: what changed since the thread's last
 * event is written before the next one. */
RT_NOINLINE void rt_emit_stack(struct rt_thread *t) {
    struct rt_frame *low = t->frame_low < t->frame_emitted ? t->frame_low : t->frame_emitted;
    if (low < t->frame_emitted)
        rt_store(t, hd_wire_head(HD_EV_POP, 0, (uint64_t)(low - t->frame_base)),
                 t->expects ? frame_site(t, t->exit_pc) : 0);
    for (struct rt_frame *f = low; f < t->frame; f++) {
        rt_store(t, hd_wire_head(HD_EV_PUSH, 0, (uint64_t)(f - t->frame_base) + 1),
                 hd_wire_push_tail(frame_site(t, f->pc), frame_step(t, f)));
    }
    t->frame_emitted = t->frame_low = t->frame;
}

RT_NOINLINE void rt_tell_frames(struct rt_thread *t) {
    t->busy++;
    rt_open(t);
    rt_emit_stack(t);
    t->busy--;
    if (unlikely(t->signals_pending)) rt_set_left(t, -1);
}

RT_NOINLINE void rt_emit_counts(struct rt_thread *t, uint64_t calls, uint64_t branches) {
    uint32_t fit = branches > UINT32_MAX ? UINT32_MAX : (uint32_t)branches;
    rt_store(t, hd_wire_head(HD_EV_COUNT, 0, calls), fit);
}

/* Serial: all threads share one stream, so the thread that has the turn can write an event that is
 * another thread's (the wait that its signal ends, the block that a deadlock leaves). */
static void hand_on(struct rt_thread *from, struct rt_thread *to) {
    rt_store(from, hd_wire_head(HD_EV_THREAD, 0, to->number), 0);
    struct hd_wire_chunk *chunk = from->chunk;
    struct hd_wire_event *cursor = from->cursor, *end = from->chunk_end;
    rt_stream_none(from); /* the other one may give the chunk away */
    rt_stream_is(to, chunk, cursor, end);
}

void rt_emit_as(struct rt_thread *holder, struct rt_thread *other) { hand_on(holder, other); }

void rt_emit_back(struct rt_thread *holder, struct rt_thread *other) { hand_on(other, holder); }
