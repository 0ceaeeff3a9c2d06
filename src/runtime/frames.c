/* Call stacks and branch counts: what the compilers call where functions begin and end, and where
 * code branches. Hot: a function's entry is a few stores. */
#include "runtime/rt.h"

RT_NOINLINE static void frame_overflow(struct rt_thread *t) {
    if (t->frame_base != NULL) t->overflow++;
}

/* The call stack is not what the trace knows, so nothing comes as expected; unless it soon is
 * again, with no call in between. */
RT_INLINE void close_for_frames(struct rt_thread *t) {
    if (t->closed) return;
    rt_close(t);
    t->closed_left = t->left;
}

/* The trace knows the call stack, the thread may write, and a PUSH or POP is expected. */
RT_INLINE bool expects(const struct rt_thread *t, unsigned kind) {
    return t->left > 0 && hd_link_at(&t->expect, t->expect.at)->shape == kind;
}

RT_INLINE void met(struct rt_thread *t) {
    hd_expect_met(&t->expect);
    rt_count_met(t);
    t->frame_emitted = t->frame_low = t->frame;
}

RT_HOOK void __tsan_func_entry(void *pc);
RT_HOOK void __tsan_func_entry(void *pc) {
    struct rt_thread *t = &rt_self;
    struct rt_frame *frame = t->frame;
    if (unlikely(frame == t->frame_end)) {
        frame_overflow(t);
        return;
    }
    frame->pc = (uintptr_t)pc;
    frame->sp = (uintptr_t)__builtin_frame_address(0);
    t->frame = frame + 1;
    if (!t->expects) return;
    rt_end_repeats(t);
    if (expects(t, HD_EV_PUSH) && rt_push_expected(t, frame))
        met(t);
    else
        close_for_frames(t);
}

RT_HOOK void __tsan_func_exit(void);
RT_HOOK void __tsan_func_exit(void) {
    struct rt_thread *t = &rt_self;
    if (unlikely(t->overflow != 0)) {
        t->overflow--;
        return;
    }
    struct rt_frame *frame = t->frame;
    if (unlikely(frame == t->frame_base)) return;
    t->frame = --frame;
    if (!t->expects) {
        if (frame < t->frame_low) t->frame_low = frame;
        return;
    }
    t->exit_pc = RT_CALLER;
    rt_end_repeats(t);
    if (expects(t, HD_EV_POP) && rt_pop_expected(t)) {
        met(t);
        return;
    }
    if (frame < t->frame_low) t->frame_low = frame;
    if (frame == t->frame_emitted && t->frame_low == frame && rt_only_frames(t))
        rt_open(t);
    else
        close_for_frames(t);
}

/* Frames that a longjmp left behind. */
void rt_frames_unwind(struct rt_thread *t, uintptr_t sp) {
    t->overflow = 0;
    while (t->frame > t->frame_base && t->frame[-1].sp < sp) t->frame--;
    if (t->frame < t->frame_low) t->frame_low = t->frame;
    rt_close(t);
}

RT_HOOK void __sanitizer_cov_trace_pc(void);
RT_HOOK void __sanitizer_cov_trace_pc(void) { rt_self.passed++; }
RT_HOOK void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
RT_HOOK void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
    (void)guard;
    rt_self.passed++;
}
RT_HOOK void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
RT_HOOK void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
    (void)start;
    (void)stop;
}
