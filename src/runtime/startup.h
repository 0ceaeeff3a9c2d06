/* A program that waits where a function begins (server.c says what for): it executes its start-up
 * once, and every run goes on from there. While `rt.startup` is set it has one thread, and nobody
 * drains its session.
 *
 * A run must not differ from one that was executed. What the start-up recorded does not depend on a
 * run's policy, since nobody else could run: only where time slices ended does, and what the policy
 * has drawn for them. So whatever a policy would have been asked is noted (sched_startup.c), and
 * each run asks its own, in the same order, before it goes on. */
#ifndef HEDDLE_RUNTIME_STARTUP_H
#define HEDDLE_RUNTIME_STARTUP_H

#include "runtime/rt.h"

#pragma GCC visibility push(hidden)

/* startup.c: what the server was asked for; then, when recording has begun, where it stops. */
void rt_startup_begin(int server, const struct hd_wire_channel *wanted, char *channel);
void rt_startup_arm(void);
/* A full chunk goes to the file, and is free again. */
void rt_startup_keep(struct hd_wire_chunk *chunk);
__attribute__((noreturn)) void rt_startup_fail(enum hd_reply_state why, uint64_t number);

/* server.c: waits for requests; returns in the children, when they are runs. */
void rt_serve(int server, char *channel, uint64_t calls);
__attribute__((noreturn)) void rt_cannot_serve(int server, enum hd_reply_state why,
                                               uint64_t number);
bool rt_has_one_task(void);

/* process.c: the run's own session, with what was recorded so far. */
bool rt_session_renew(struct rt_thread *t, const char *channel);

/* sched_startup.c: asks the run's policy what it would have been asked. */
void rt_startup_ask(struct rt_thread *t);

#pragma GCC visibility pop

#endif
