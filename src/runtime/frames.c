/* Call stacks and branch counts: what the compilers call where functions begin and end, and where
 * code branches. Hot: a function's entry is a few stores. */
#include "runtime/rt.h"

RT_NOINLINE static void frame_overflow(struct rt_thread *t) {
    if (t->frame_base != NULL) t->overflow++;
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
    if (frame < t->frame_low) t->frame_low = frame;
}

/* Frames that a longjmp left behind. */
void rt_frames_unwind(struct rt_thread *t, uintptr_t sp) {
    t->overflow = 0;
    while (t->frame > t->frame_base && t->frame[-1].sp < sp) t->frame--;
    if (t->frame < t->frame_low) t->frame_low = t->frame;
}

RT_HOOK void __sanitizer_cov_trace_pc(void);
RT_HOOK void __sanitizer_cov_trace_pc(void) { rt_self.branches++; }
RT_HOOK void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
RT_HOOK void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
    (void)guard;
    rt_self.branches++;
}
RT_HOOK void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
RT_HOOK void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
    (void)start;
    (void)stop;
}
