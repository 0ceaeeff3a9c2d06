/* Does a process that nobody controls stand still for good? All its threads are in futex waits
 * without a time limit, or wait for child processes that stand still too; none of them has run
 * since the last look, and there is nobody who could wake them: no other child process, no timer.
 * That is a deadlock (of locks, waits and joins), seen
 * long before a time limit tells. What can't be found out is no standstill.
 *
 *     struct hd_standstill still = {0};
 *     now and then: if (hd_standstill_ns(&still, pid, now) > 1000000000) ... deadlock
 */
#ifndef HEDDLE_RUN_STANDSTILL_H
#define HEDDLE_RUN_STANDSTILL_H

#include <stdint.h>
#include <sys/types.h>

#define HD_STILL_NS 500000000u /* without any thread running: nobody will */

struct hd_standstill {
    uint64_t state; /* of all threads, as a hash; 0: somebody could go on */
    uint64_t since;
};

/* For how long it has stood still, as far as was looked at; 0: it does not. */
uint64_t hd_standstill_ns(struct hd_standstill *still, pid_t process, uint64_t now);

#endif
