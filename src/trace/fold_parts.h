/* Inside the folding of events (fold.h): what fold.c and fold_loop.c share. */
#ifndef HEDDLE_TRACE_FOLD_PARTS_H
#define HEDDLE_TRACE_FOLD_PARTS_H

#include "base/alloc.h"
#include "trace/fold.h"

static inline uint64_t fold_add(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline struct hd_fold_thread *fold_thread(struct hd_fold *fold, uint32_t number) {
    while (fold->thread.size <= number) hd_vector_push(&fold->thread, ((struct hd_fold_thread){0}));
    return &fold->thread.data[number];
}

/* Appends an event whose counts and extra value are still to come. */
static inline uint32_t fold_append(struct hd_trace *trace, uint32_t thread, uint64_t head,
                                   uint32_t site, uint32_t stack) {
    uint32_t at = trace->events++;
    trace->thread[at] = (uint16_t)thread;
    trace->kind[at] = (uint8_t)hd_wire_kind(head);
    trace->flags[at] = (uint8_t)hd_wire_flags(head);
    trace->operand[at] = hd_wire_operand(head);
    trace->site[at] = site;
    trace->stack[at] = stack;
    return at;
}

/* Where the thread was when it last made an access from the site. Sites that share a slot take it
 * from each other; then where it is now is the best guess. */
static inline uint32_t fold_place_slot(uint32_t site) {
    return (site * 0x9e3779b1u) >> (32 - HD_FOLD_PLACE_BITS);
}
static inline struct hd_fold_place *fold_place_of(struct hd_fold_thread *thread, uint32_t site) {
    return &thread->place[fold_place_slot(site)];
}

static inline void fold_note_place(struct hd_fold_thread *thread, uint32_t site) {
    if (__builtin_expect(thread->place == NULL, 0))
        thread->place = hd_zalloc((size_t)1 << HD_FOLD_PLACE_BITS, sizeof *thread->place);
    *fold_place_of(thread, site) = (struct hd_fold_place){site, thread->stack};
}

/* Of a loop whose rounds are on their way (fold_loop.c), what comes before an access that is put in
 * now. */
void fold_loop_catch_up(struct hd_fold *fold);

#endif
