/* Folds bookkeeping events: see fold.h. */
#include "trace/fold.h"

#include "base/alloc.h"
#include "trace/fold_parts.h"
#include "trace/sharing_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the call tree ------------------------------------------------------------------------ */

static uint32_t new_node(struct hd_fold *fold, uint32_t parent, uint32_t site, uint32_t step) {
    struct hd_trace *trace = fold->builder->trace;
    if (trace->stacks == fold->stack_capacity) {
        size_t wanted = fold->stack_capacity * 2 + 64;
        if (wanted > UINT32_MAX) hd_out_of_memory();
        trace->stack_parent = hd_realloc(trace->stack_parent, wanted, sizeof(uint32_t));
        trace->stack_site = hd_realloc(trace->stack_site, wanted, sizeof(uint32_t));
        trace->stack_step = hd_realloc(trace->stack_step, wanted, sizeof(uint32_t));
        fold->stack_capacity = wanted;
    }
    trace->stack_parent[trace->stacks] = parent;
    trace->stack_site[trace->stacks] = site;
    trace->stack_step[trace->stacks] = step;
    return trace->stacks++;
}

static uint32_t child_node(struct hd_fold *fold, uint32_t parent, uint32_t site, uint32_t step) {
    uint32_t *node = hd_map_slot(&fold->children, (uint64_t)parent << 32 | site, HD_NONE);
    if (*node == HD_NONE) *node = new_node(fold, parent, site, step);
    uint32_t *known = &fold->builder->trace->stack_step[*node];
    if (*known != step) *known = HD_STEP_VARIES;
    return *node;
}

/* Depths are kept with the frames: a thread whose outer frames are unknown starts at any depth. */
static void leave_frames(struct hd_fold_thread *thread, uint64_t depth) {
    while (thread->frame.size > 0 && thread->frame.data[thread->frame.size - 1].depth > depth)
        thread->frame.size--;
    thread->stack = thread->frame.size > 0 ? thread->frame.data[thread->frame.size - 1].node : 0;
}

static void enter_frame(struct hd_fold *fold, struct hd_fold_thread *thread, uint64_t depth,
                        uint32_t site, uint32_t step) {
    leave_frames(thread, depth == 0 ? 0 : depth - 1);
    uint32_t node = child_node(fold, thread->stack, site, step);
    struct hd_fold_frame frame = {.depth = depth, .node = node};
    hd_vector_push(&thread->frame, frame);
    thread->stack = node;
}

void fold_follow_call(struct hd_fold *fold, struct hd_fold_thread *thread,
                      struct hd_wire_event event) {
    uint64_t depth = hd_wire_operand(event.head);
    if (hd_wire_kind(event.head) == HD_EV_PUSH)
        enter_frame(fold, thread, depth, hd_wire_site(event.tail), hd_wire_step(event.tail));
    else
        leave_frames(thread, depth);
}

/* ---- threads ------------------------------------------------------------------------------ */

static bool see_thread(struct hd_fold *fold, uint64_t number) {
    if (number >= HD_THREAD_LIMIT) {
        snprintf(fold->reason, sizeof fold->reason, "thread number %llu, where %u is the highest",
                 (unsigned long long)number, HD_THREAD_LIMIT - 1);
        return false;
    }
    if (number >= fold->thread_limit) fold->thread_limit = (uint32_t)number + 1;
    return true;
}

/* ---- events ------------------------------------------------------------------------------- */

/* FREE need not repeat the size of its block: whoever reads the trace finds it there anyway. */
static void note_block(struct hd_fold *fold, uint32_t event, bool has_extra, uint64_t extra) {
    struct hd_trace *trace = fold->builder->trace;
    uint64_t address = trace->operand[event];
    if (trace->kind[event] == HD_EV_ALLOC && has_extra) {
        *hd_map_slot(&fold->blocks, address, 0) = trace->extras;
    } else if (trace->kind[event] == HD_EV_FREE && !has_extra) {
        uint32_t block = hd_map_get(&fold->blocks, address, HD_NONE);
        if (block == HD_NONE) return;
        has_extra = true;
        extra = trace->extra_value[block];
    }
    if (has_extra) hd_build_extra(fold->builder, event, extra);
}

void fold_pending(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t event) {
    struct hd_trace *trace = fold->builder->trace;
    uint64_t calls = fold_add(trace->calls[event], thread->calls);
    uint64_t branches = fold_add(trace->branches[event], thread->branches);
    trace->hook_calls = fold_add(trace->hook_calls, thread->calls);
    trace->calls[event] = calls > UINT32_MAX ? UINT32_MAX : (uint32_t)calls;
    thread->beyond = fold_add(thread->beyond, calls - trace->calls[event]);
    trace->branches[event] = branches > UINT16_MAX ? UINT16_MAX : (uint16_t)branches;
    bool has_extra = thread->has_extra;
    uint64_t extra = thread->extra;
    thread->pending = thread->has_extra = false;
    thread->calls = thread->branches = 0;
    if (trace->kind[event] == HD_EV_ALLOC || trace->kind[event] == HD_EV_FREE)
        note_block(fold, event, has_extra, extra);
    else if (has_extra)
        hd_build_extra(fold->builder, event, extra);
}

static bool fold_bookkeeping(struct hd_fold *fold, struct hd_wire_event event, uint32_t *number,
                             struct hd_fold_thread **thread, struct hd_error *error) {
    uint64_t operand = hd_wire_operand(event.head);
    struct hd_fold_thread *now = *thread;
    unsigned calls = hd_wire_calls(event.tail), branches = hd_wire_branches(event.tail);
    if ((calls != 0 || branches != 0) && hd_wire_kind(event.head) != HD_EV_PUSH) {
        now->calls = fold_add(now->calls, calls);
        now->branches = fold_add(now->branches, branches);
        now->pending = true;
    }
    switch (hd_wire_kind(event.head)) {
    case HD_EV_THREAD:
        if (!see_thread(fold, operand)) return hd_fail(error, HD_ERR_DAMAGED, "%s", fold->reason);
        *number = (uint32_t)operand;
        *thread = fold_thread(fold, *number);
        return true;
    case HD_EV_EXT:
        now->extra = operand;
        now->has_extra = now->pending = true;
        return true;
    case HD_EV_COUNT:
        now->calls = fold_add(now->calls, operand);
        now->branches = fold_add(now->branches, hd_wire_site(event.tail));
        now->pending = true;
        return true;
    case HD_EV_PUSH:
    case HD_EV_POP:
        fold_follow_call(fold, now, event);
        return true;
    default:
        return true;
    }
}

/* ---- what is left out ---------------------------------------------------------------------- */

static uint32_t noted_stack(struct hd_fold_thread *thread, uint32_t site) {
    if (thread->place == NULL || fold_place_of(thread, site)->site != site) return thread->stack;
    return fold_place_of(thread, site)->stack;
}

/* An access that was left out is to stand here after all. It counts no call. */
static void put_in(void *context, const struct hd_filter_access *access) {
    struct hd_fold *fold = context;
    if (fold->error.code != HD_OK ||
        !hd_build_reserve(fold->builder, fold->ahead + 1, &fold->error))
        return;
    if (fold->loop != NULL) fold_loop_catch_up(fold);
    struct hd_trace *trace = fold->builder->trace;
    unsigned flags = access->bytes <= UINT8_MAX ? access->bytes : 0;
    uint64_t head = hd_wire_head(access->write ? HD_EV_WRITE : HD_EV_READ, flags, access->address);
    uint32_t stack = noted_stack(fold_thread(fold, access->thread), access->site);
    uint32_t at =
        fold_append(trace, access->thread, head, access->site, stack, fold->number | HD_PUT_IN);
    trace->calls[at] = 0;
    trace->branches[at] = 0;
    if (flags == 0) hd_build_extra(fold->builder, at, access->bytes);
}

void hd_fold_filter(struct hd_fold *fold, struct hd_sharing *sharing,
                    const struct hd_trace_mark *mark, size_t marks) {
    struct hd_filter_options options = {.put = put_in, .context = fold};
    fold->filter = hd_filter_new(&options);
    fold->sharing = sharing;
    fold->mark = mark;
    fold->marks = marks;
    hd_build_numbers(fold->builder);
}

void hd_fold_unshared(struct hd_fold *fold) {
    fold->nothing_shared = true; /* and nothing comes to the filter */
    hd_build_numbers(fold->builder);
}

/* Is the thread's call of this event marked? Asked for each event, in their order. */
static bool is_marked(const struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
                      unsigned calls) {
    const struct hd_trace_mark *end = fold->mark + fold->marks;
    if (thread->mark == NULL) { /* the first event */
        for (thread->mark = fold->mark; thread->mark < end && thread->mark->thread < number;)
            thread->mark++;
        for (thread->mark_end = thread->mark;
             thread->mark_end < end && thread->mark_end->thread == number;)
            thread->mark_end++;
    }
    uint64_t made = fold_add(fold_add(thread->counted, thread->calls), calls);
    while (thread->mark < thread->mark_end && thread->mark->call < made) thread->mark++;
    return thread->mark < thread->mark_end && thread->mark->call == made;
}

/* Is the event kept? Has what must stand before it put in. */
static bool keeps(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
                  uint64_t head, uint32_t site) {
    uint64_t address = hd_wire_operand(head), bytes = thread->has_extra ? thread->extra : 0;
    unsigned kind = hd_wire_kind(head), flags = hd_wire_flags(head);
    if (kind <= HD_EV_WRITE) {
        if (flags != 0) bytes = flags;
        if (fold->nothing_shared) return false;
        if (fold->sharing != NULL && !hd_sharing_access(fold->sharing, address, bytes))
            return false;
        fold_note_place(thread, site);
        return hd_filter_access(fold->filter, number, kind == HD_EV_WRITE, address, bytes, site);
    }
    if (kind <= HD_EV_ATOMIC_UPDATE) {
        bytes = (uint64_t)1 << (flags & 0xf);
        if (fold->sharing != NULL) (void)hd_sharing_access(fold->sharing, address, bytes);
    } else if (kind == HD_EV_ALLOC) {
        hd_block_sizes_alloc(&fold->sizes, address, flags, bytes);
        if (fold->sharing != NULL) hd_sharing_alloc(fold->sharing, address, flags, bytes);
    } else if (kind == HD_EV_FREE) {
        bytes = hd_block_sizes_free(&fold->sizes, address, bytes);
    }
    if (fold->filter != NULL) hd_filter_event(fold->filter, number, kind, address, bytes);
    return true;
}

/* Calls that were counted and are pending again. */
static void uncount(struct hd_trace *trace, uint64_t *hook_calls, uint64_t calls) {
    uint64_t here = calls < *hook_calls ? calls : *hook_calls;
    *hook_calls -= here;
    trace->hook_calls -= calls - here;
}

/* ---- the whole ----------------------------------------------------------------------------- */

void hd_fold_start(struct hd_fold *fold, struct hd_builder *builder) {
    memset(fold, 0, sizeof *fold);
    fold->builder = builder;
    fold->stack_capacity = builder->trace->stacks;
}

bool hd_fold_events(struct hd_fold *fold, const struct hd_wire_event *event, size_t count,
                    uint32_t *number, size_t *taken, struct hd_error *error) {
    struct hd_trace *trace = fold->builder->trace;
    *taken = 0;
    if (!hd_build_reserve(fold->builder, count, error)) return false;
    struct hd_fold_thread *thread = fold_thread(fold, *number);
    if (*number >= fold->thread_limit) fold->thread_limit = *number + 1;
    uint64_t hook_calls = 0, seen = 0;
    size_t i = 0;
    bool good = true;
    bool plain = fold->filter != NULL && fold->marks == 0;
    struct hd_pages *shared = fold->sharing != NULL ? hd_sharing_pages(fold->sharing) : NULL;
    for (; i < count; i++) {
        if (fold->nothing_shared && fold_is_access(event[i].head)) {
            size_t passed = fold_pass_accesses(thread, event + i, count - i);
            seen += passed;
            i += passed - 1;
            continue;
        }
        if (plain && fold_is_of_run(event[i].head)) {
            uint64_t from = trace->recorded + seen, to = from;
            i += fold_accesses(fold, thread, *number, event + i, count - i, shared, &to);
            seen += to - from;
            if (fold->error.code != HD_OK) {
                *error = fold->error;
                good = false;
                break;
            }
            if (i == count) break;
            if (fold_is_access(event[i].head)) {
                i--;
                continue;
            }
        }
        uint64_t head = event[i].head, tail = event[i].tail;
        unsigned kind = hd_wire_kind(head);
        if (kind - 1u >= HD_EV_THREAD - 1u) {
            if (kind == HD_EV_STAMP) break;
            if (kind == HD_EV_NONE || kind >= HD_EV_KINDS) {
                snprintf(fold->reason, sizeof fold->reason, "an event of unknown kind %u", kind);
                good = hd_fail(error, HD_ERR_DAMAGED, "%s", fold->reason);
            } else {
                good = fold_bookkeeping(fold, event[i], number, &thread, error);
            }
            if (!good) break;
            continue;
        }
        bool names_thread = (kind >= HD_EV_FORK && kind <= HD_EV_END) ||
                            (kind == HD_EV_BLOCKED && hd_wire_flags(head) == HD_WAIT_JOIN);
        if (names_thread && !see_thread(fold, hd_wire_operand(head))) {
            good = hd_fail(error, HD_ERR_DAMAGED, "%s", fold->reason);
            break;
        }
        unsigned calls = hd_wire_calls(tail);
        uint64_t place = trace->recorded + seen++;
        thread->kinds[kind]++;
        if (fold_leaves_out(fold)) {
            fold->ahead = count - i;
            fold->number = place;
            if (fold->filter != NULL && i + FOLD_LOOK_AHEAD < count)
                hd_filter_prefetch(fold->filter, hd_wire_operand(event[i + FOLD_LOOK_AHEAD].head));
            bool kept = keeps(fold, thread, *number, head, hd_wire_site(tail));
            if (fold->marks != 0 && is_marked(fold, thread, *number, calls)) {
                kept = true;
                fold->poll.goes_on = false; /* it stays */
            }
            if (fold->error.code != HD_OK) {
                *error = fold->error;
                good = false;
                break;
            }
            if (!kept) {
                fold_leave_out(thread, calls, hd_wire_branches(tail));
                continue;
            }
            if (fold_begins_round(kind))
                uncount(trace, &hook_calls,
                        fold_poll(fold, thread, *number, head, hd_wire_site(tail)));
        }
        hook_calls += calls;
        uint32_t at = fold_append(trace, *number, head, hd_wire_site(tail), thread->stack, place);
        trace->branches[at] = (uint16_t)hd_wire_branches(tail);
        trace->calls[at] = calls;
        if (__builtin_expect(thread->pending || kind == HD_EV_FREE, 0))
            fold_pending(fold, thread, at);
        thread->counted += trace->calls[at];
    }
    trace->hook_calls = fold_add(trace->hook_calls, hook_calls);
    *taken = i;
    return hd_build_recorded(fold->builder, seen, good ? error : NULL) && good;
}

/* What each thread has recorded, and its calls that no event of its own came after. */
static void give_recorded(struct hd_fold *fold) {
    struct hd_builder *builder = fold->builder;
    struct hd_trace_recorded *recorded =
        hd_arena_zalloc(&builder->memory->arena, fold->thread_limit, sizeof *recorded);
    for (size_t i = 0; i < fold->thread.size; i++) {
        const struct hd_fold_thread *thread = &fold->thread.data[i];
        builder->trace->hook_calls = fold_add(builder->trace->hook_calls, thread->calls);
        if (i >= fold->thread_limit) continue;
        memcpy(recorded[i].kinds, thread->kinds, sizeof thread->kinds);
        recorded[i].other_calls = fold_add(thread->calls, thread->beyond);
    }
    builder->trace->recorded_by = recorded;
}

static void finish(struct hd_fold *fold) {
    fold->builder->trace->threads = fold->thread_limit;
    if (fold_leaves_out(fold)) give_recorded(fold);
}

void hd_fold_cut(struct hd_fold *fold, uint32_t events) {
    struct hd_trace *trace = fold->builder->trace;
    hd_build_cut(fold->builder, events);
    finish(fold);
    trace->recorded = events > 0 ? hd_trace_number(trace, events - 1) + 1 : 0;
}

bool hd_fold_finish(struct hd_fold *fold, struct hd_error *error) {
    fold->ahead = 0;
    fold->number = fold->builder->trace->recorded;
    if (fold->filter != NULL) hd_filter_finish(fold->filter);
    finish(fold);
    if (fold->error.code == HD_OK) return true;
    *error = fold->error;
    return false;
}

void hd_fold_free(struct hd_fold *fold) {
    for (size_t i = 0; i < fold->thread.size; i++) {
        hd_vector_free(&fold->thread.data[i].frame);
        free(fold->thread.data[i].place);
    }
    hd_vector_free(&fold->thread);
    hd_map_free(&fold->children);
    hd_map_free(&fold->blocks);
    hd_block_sizes_release(&fold->sizes);
    hd_filter_free(fold->filter);
    free(fold->loop);
}
