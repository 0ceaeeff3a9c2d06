/* What a program asks the world for, and no schedule controls: the time, random bytes, input. Under
 * the replay policy each such call leaves a note in the trace, so that two runs of one schedule
 * that part can be explained. The notes are no hook calls: counts are those of a recording. */
#include "runtime/rt.h"

#include <errno.h>
#include <time.h>

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

static bool tells(const struct rt_thread *t) {
    return (rt.options.policy == HD_POLICY_REPLAY || rt.options.states) &&
           rt.mode == HD_SCHED_SERIAL && t->state == RT_RUNNING && !t->suspect;
}

void rt_limit(struct rt_thread *t, const struct timespec *deadline, clockid_t clock, uintptr_t pc) {
    struct timespec now;
    if (likely(!tells(t)) || clock_gettime(clock, &now) != 0) return;
    int64_t left = ((int64_t)deadline->tv_sec - (int64_t)now.tv_sec) * 1000 +
                   (deadline->tv_nsec - now.tv_nsec) / 1000000 -
                   (int64_t)(rt_clock_ahead() / 1000000);
    if (left < 0) left = 0;
    uint32_t site = rt_site(t, pc);
    if (t->frame != t->frame_emitted || t->frame_low != t->frame_emitted) rt_emit_stack(t);
    rt_emit_extra(t, (uint64_t)left < 1ull << 47 ? (uint64_t)left : 1ull << 47, site);
    rt_store(t, hd_wire_head(HD_EV_NOTE, HD_NOTE_LIMIT, 0), site);
}

void rt_tell(struct rt_thread *t, unsigned note, const volatile void *object, uintptr_t pc) {
    if (unlikely(tells(t))) rt_emit_sync(t, HD_EV_NOTE, note, (uintptr_t)object, pc);
}
