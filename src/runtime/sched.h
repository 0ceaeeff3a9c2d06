/* What the files of the serial scheduler share: sched.c (who has the turn), sched_wait.c (who waits
 * for what), watchdog.c (who is out of sight). */
#ifndef HEDDLE_RUNTIME_SCHED_H
#define HEDDLE_RUNTIME_SCHED_H

#include "runtime/policy.h"

#pragma GCC visibility push(hidden)

#define SCHED_BUCKETS 256u

struct sched_queue {
    struct rt_thread *first, *last;
};

/* All of it is guarded by lock, which is never held while a thread waits, nor across a call of the
 * program's. */
struct sched {
    struct rt_spin lock;
    struct rt_thread *holder; /* has the turn; NULL: nobody */
    struct sched_queue ready;
    unsigned ready_count, outside_count, timed_count, blocked_count;
    struct sched_queue waiting[SCHED_BUCKETS]; /* blocked threads, by what they wait for */
    struct rt_policy *policy;
    struct rt_thread *leaving; /* ends the process when the others have had their last turn */
    /* The one stream that all threads write, while nobody has the turn. */
    struct {
        struct hd_wire_event *cursor, *end;
        struct hd_wire_chunk *chunk;
        uint32_t thread;
    } stream;
};
extern struct sched sched;

void sched_append(struct sched_queue *q, struct rt_thread *t);
void sched_unlink(struct sched_queue *q, struct rt_thread *before, struct rt_thread *t);
void sched_make_ready(struct rt_thread *t);
void sched_take_ready(struct rt_thread *t); /* out of the ready queue */
/* Chooses who has the turn next; the caller wakes it when it has unlocked. */
struct rt_thread *sched_pass(void);
void sched_wake(struct rt_thread *next);     /* NULL: nobody */
void sched_put_stream(struct rt_thread *t);  /* its turn is over */
void sched_take_stream(struct rt_thread *t); /* its turn begins */
void sched_choose_policy(void);              /* and begin with it */
void sched_new_slice(struct rt_thread *t);
void sched_set_stop(struct rt_thread *t);  /* at the end of its slice */
void sched_lend(struct rt_thread *t);      /* its turn, while it is outside */
bool sched_has_turn(struct rt_thread *t);  /* it was woken to run */
void sched_wait_turn(struct rt_thread *t); /* waits for its turn, and begins it */
uint64_t sched_now_ns(void);
bool sched_is_stuck(void); /* no thread can ever go on */
/* The time of a blocked thread is up, whatever the clock says: that goes on from there. The caller
 * has the lock. */
void sched_expire(struct rt_thread *t);
void sched_reset_time(void);   /* the clocks are right */
bool sched_expire_first(void); /* of those whose time is ours; false: there is none */
/* Writes down who waits for what, and ends the process; the thread has the stream. */
__attribute__((noreturn)) void sched_deadlock(struct rt_thread *t);

#pragma GCC visibility pop

#endif
