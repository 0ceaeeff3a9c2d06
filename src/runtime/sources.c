/* What a program asks the world for, and no schedule controls: the time, random bytes, input. Under
 * the replay policy each such call leaves a note in the trace, so that two runs of one schedule
 * that part can be explained. The notes are no hook calls: counts are those of a recording. */
#include "runtime/rt.h"

#include <errno.h>

RT_NOINLINE void rt_source_slow(struct rt_thread *t, unsigned note, uintptr_t pc) {
    if (rt.mode != HD_SCHED_SERIAL || t->state != RT_RUNNING || t->inside || t->busy) return;
    if (t->suspect || rt_is_runtime_code(pc)) return;
    int saved = errno;
    t->busy++;
    t->inside++;
    uint32_t site = rt_site(t, pc);
    if (t->frame != t->frame_emitted || t->frame_low != t->frame_emitted) rt_emit_stack(t);
    rt_store(t, hd_wire_head(HD_EV_NOTE, note, 0), site); /* counts are left to the next event */
    rt_leave(t);
    errno = saved;
}

RT_NOINLINE void rt_choice_slow(struct rt_thread *t, uintptr_t pc) {
    if (rt.mode != HD_SCHED_SERIAL || t->state != RT_RUNNING || t->suspect) return;
    uint32_t site = rt_site(t, pc);
    if (t->frame != t->frame_emitted || t->frame_low != t->frame_emitted) rt_emit_stack(t);
    rt_store(t, hd_wire_head(HD_EV_NOTE, HD_NOTE_CHOICE, 0), site);
}
