/* Calls after which the C library makes a thread of its own, out of our sight (SIGEV_THREAD):
 * timers, asynchronous input and output, name resolution, message queues. Such a thread is recorded
 * from its first hook on. It comes after those calls: each is an initialiser (ONCE) of one object,
 * after all that were before it, and the thread finds it done. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <aio.h>
#include <mqueue.h>
#include <netdb.h>
#include <signal.h>
#include <time.h>

static char calls_out_of_sight;

static void note(const struct sigevent *event, uintptr_t pc) {
    if (event != NULL && event->sigev_notify != SIGEV_THREAD) return;
    struct rt_thread *t = rt_enter();
    if (t == NULL) return;
    rt_emit_done_too(t, &calls_out_of_sight, pc);
    rt_leave(t);
}

void rt_async_begun(struct rt_thread *t) {
    rt_stamp(t);
    rt_emit(t, HD_EV_ONCE_PASS, 0, (uintptr_t)&calls_out_of_sight, 0);
}

RT_EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event,
                           timer_t *restrict timer) {
    if (event != NULL) note(event, RT_CALLER);
    return REAL(timer_create)(clock, event, timer);
}
/* What kind of timer it is, is not known here. */
RT_EXPORT int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict value,
                            struct itimerspec *restrict old) {
    note(NULL, RT_CALLER);
    return REAL(timer_settime)(timer, flags, value, old);
}

RT_EXPORT int aio_read(struct aiocb *request) {
    note(&request->aio_sigevent, RT_CALLER);
    return REAL(aio_read)(request);
}
RT_EXPORT int aio_read64(struct aiocb64 *request) {
    note(&request->aio_sigevent, RT_CALLER);
    return REAL(aio_read64)(request);
}
RT_EXPORT int aio_write(struct aiocb *request) {
    note(&request->aio_sigevent, RT_CALLER);
    return REAL(aio_write)(request);
}
RT_EXPORT int aio_write64(struct aiocb64 *request) {
    note(&request->aio_sigevent, RT_CALLER);
    return REAL(aio_write64)(request);
}
RT_EXPORT int aio_fsync(int operation, struct aiocb *request) {
    note(&request->aio_sigevent, RT_CALLER);
    return REAL(aio_fsync)(operation, request);
}
RT_EXPORT int aio_fsync64(int operation, struct aiocb64 *request) {
    note(&request->aio_sigevent, RT_CALLER);
    return REAL(aio_fsync64)(operation, request);
}
RT_EXPORT int lio_listio(int mode, struct aiocb *const requests[restrict], int count,
                         struct sigevent *restrict event) {
    note(NULL, RT_CALLER);
    return REAL(lio_listio)(mode, requests, count, event);
}
RT_EXPORT int lio_listio64(int mode, struct aiocb64 *const requests[restrict], int count,
                           struct sigevent *restrict event) {
    note(NULL, RT_CALLER);
    return REAL(lio_listio64)(mode, requests, count, event);
}

RT_EXPORT int getaddrinfo_a(int mode, struct gaicb *requests[restrict], int count,
                            struct sigevent *restrict event) {
    note(NULL, RT_CALLER);
    return REAL(getaddrinfo_a)(mode, requests, count, event);
}
RT_EXPORT int mq_notify(mqd_t queue, const struct sigevent *event) {
    if (event != NULL) note(event, RT_CALLER);
    return REAL(mq_notify)(queue, event);
}
