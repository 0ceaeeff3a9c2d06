/* The two simple policies of the serial scheduler: round robin, and a random walk. */
#include "runtime/policy.h"

static struct rt_thread *robin_pick(struct rt_thread *first, unsigned count) {
    (void)count;
    return first;
}
static uint64_t robin_slice(struct rt_thread *t) {
    (void)t;
    return rt.options.quantum;
}
struct rt_policy rt_policy_robin = {.pick = robin_pick, .slice = robin_slice, .steady = true};

static uint64_t random_state;

static void random_start(void) { random_state = rt_random_seed(); }
static struct rt_thread *random_pick(struct rt_thread *first, unsigned count) {
    for (uint64_t skip = rt_random(&random_state) % count; skip > 0; skip--) first = first->next;
    return first;
}
static uint64_t random_slice(struct rt_thread *t) {
    (void)t;
    return 1 + rt_random(&random_state) % (2 * (uint64_t)rt.options.quantum);
}
struct rt_policy rt_policy_random = {
    .start = random_start, .pick = random_pick, .slice = random_slice};
