/* Policies of the serial scheduler: who runs next and for how long. sched.c keeps the turn, the
 * ready threads and the waits, and asks the policy of the session; a new policy is one file and one
 * line in the table there. They are called with the scheduler's lock held, or by the thread that
 * has the turn. */
#ifndef HEDDLE_RUNTIME_POLICY_H
#define HEDDLE_RUNTIME_POLICY_H

#include "runtime/rt.h"

#pragma GCC visibility push(hidden)

struct rt_policy {
    /* Recording begins; rt.plan holds the plan that came with the session. May be NULL. */
    void (*start)(void);
    /* One of the `count` ready threads, linked by `next` in the order in which they became ready.
     * Is asked when the holder's turn is over (then it is itself among them), when it blocks, ends,
     * or is outside, and, while nobody has the turn, whenever a thread becomes ready. A policy
     * that `commands` may say NULL: let nobody run yet; `count` may be 0 then. */
    struct rt_thread *(*pick)(struct rt_thread *first, unsigned count);
    /* The thread has the turn now. Its time slice, in calls: it stops, not executing
     * it, in the call that many after the present one. At least 1. */
    uint64_t (*slice)(struct rt_thread *t);
    /* Nobody had the turn for so many milliseconds, though threads are ready, because pick said
     * NULL; true: ask again. May be NULL. */
    bool (*stalled)(unsigned milliseconds);
    /* The holder has computed for so many milliseconds without a hook while others are ready: it
     * may wait for them out of our sight. True: it is asked to let go. NULL: always. */
    bool (*computes)(const struct rt_thread *t, unsigned milliseconds);
    /* A thread has become ready by what the holder did; true: the holder's turn ends at its next
     * call. May be NULL. */
    bool (*preempts)(const struct rt_thread *t, const struct rt_thread *holder);
    /* The thread would sleep while others are ready: it gives way at once instead, and pick says
     * who goes on. NULL: it sleeps. */
    void (*sleeps)(const struct rt_thread *t);
    /* Asked also when the holder is the only one ready; waiters are not given the turn to be fair.
     * May change while the program runs. */
    bool commands;
    /* Slices of a thread that is alone are all as long, and asking for one changes nothing. */
    bool steady;
};

extern struct rt_policy rt_policy_robin, rt_policy_random; /* sched_simple.c */
extern struct rt_policy rt_policy_replay;                  /* sched_replay.c */
extern struct rt_policy rt_policy_pct, rt_policy_pos;      /* sched_pct.c */
extern struct rt_policy rt_policy_startup;                 /* sched_startup.c */

/* splitmix64: the random numbers of the policies. */
RT_INLINE uint64_t rt_random_seed(void) { return rt.options.seed * 0x2545f4914f6cdd1dull + 1; }
RT_INLINE uint64_t rt_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

#pragma GCC visibility pop

#endif
