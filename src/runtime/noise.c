/* Noise at synchronisation under free (as ConTest makes it): with some probability a thread is held
 * up before it synchronises, or after it has let go of a lock. */
#include "runtime/rt.h"

#include <errno.h>
#include <sched.h>

static struct hd_wire_noise plan;
static _Atomic uint64_t draws;
static _Atomic uint32_t made;

void rt_noise_start(void) {
    rt.noisy = false;
    draws = rt.options.seed * 0x2545f4914f6cdd1dull;
    made = 0;
    if (rt.options.scheduler != HD_SCHED_FREE || rt.options.policy != HD_POLICY_NOISE) return;
    if (rt.plan == NULL || rt.plan_bytes < sizeof plan) return;
    plan = *(const struct hd_wire_noise *)rt.plan;
    if (plan.most_us > 1000000) plan.most_us = 1000000;
    rt.noisy = true;
}

static uint64_t draw(void) {
    uint64_t z = atomic_fetch_add(&draws, 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

void rt_noise(struct rt_thread *t) {
    (void)t;
    if (draw() % 1000 >= plan.per_mille) return;
    if (atomic_fetch_add(&made, 1) >= plan.most) return;
    int saved = errno;
    uint64_t ns = draw() % (plan.most_us * 1000ull + 1);
    uint32_t nobody = 0;
    struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    rt_futex_wait(&nobody, 0, &pause, false);
    errno = saved;
}
