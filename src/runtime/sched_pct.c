/* Two randomised policies of the serial scheduler.
 * PCT (Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs"):
 * each thread has a random priority, the highest that is ready runs; at depth - 1 random places of
 * the run the priority of the running thread drops below all others'.
 * POS (Yuan et al., "Partial order aware concurrency sampling"): each next event has a random
 * priority of its own, the highest runs; those that conflict with it draw anew. */
#include "runtime/policy.h"

#define MOST_DEPTH 64u
#define PATIENCE 200000u /* calls of one thread while others are ready: it may wait for them */

static uint64_t random_state;
static int64_t *priority; /* by thread; 0: has none yet */
static uint32_t last;     /* the thread that ran last */

static uint64_t draw(void) { return rt_random(&random_state); }
static int64_t draw_priority(void) { return (int64_t)(draw() >> 2) + MOST_DEPTH + 1; }

static void begin(void) {
    random_state = rt_random_seed();
    priority = rt_map(RT_MAX_THREADS * sizeof *priority);
    last = UINT32_MAX;
}

static struct rt_thread *highest(struct rt_thread *first) {
    struct rt_thread *best = NULL;
    for (struct rt_thread *t = first; t != NULL; t = t->next) {
        if (priority[t->number] == 0) priority[t->number] = draw_priority();
        if (best == NULL || priority[t->number] > priority[best->number]) best = t;
    }
    return best;
}

/* ---- PCT ------------------------------------------------------------------------------------ */

static uint64_t change[MOST_DEPTH]; /* calls of all threads at which priorities change, sorted */
static uint32_t changes, changed;
static uint64_t calls_before, last_calls, alone; /* calls of all; of `last` when it began */
static int64_t lowest;

static void pct_start(void) {
    const struct hd_wire_pct *plan = rt.plan;
    begin();
    changes = changed = 0;
    calls_before = last_calls = alone = 0;
    lowest = 0;
    if (plan == NULL || rt.plan_bytes < sizeof *plan || plan->depth == 0) return;
    uint32_t depth = plan->depth < MOST_DEPTH ? plan->depth : MOST_DEPTH;
    for (; changes + 1 < depth; changes++) {
        uint64_t at = 1 + draw() % (plan->length ? plan->length : 1);
        uint32_t k = changes;
        for (; k > 0 && change[k - 1] > at; k--) change[k] = change[k - 1];
        change[k] = at;
    }
}

static uint64_t calls_of(uint32_t number) {
    const struct rt_slot *slot = &rt.slot[number];
    const struct rt_thread *t = slot->thread;
    return t != NULL && !slot->ended ? rt_calls(t) : slot->calls;
}

/* What the thread that ran last has done with its turn. */
static void account(void) {
    if (last == UINT32_MAX) return;
    uint64_t calls = calls_of(last), made = calls > last_calls ? calls - last_calls : 0;
    calls_before += made;
    alone += made;
    last_calls = calls;
    for (; changed < changes && calls_before >= change[changed]; changed++)
        priority[last] = (int64_t)(changes - changed);
    const struct rt_thread *t = rt.slot[last].thread;
    bool ready = t != NULL && !rt.slot[last].ended && t->state == RT_READY;
    /* It gave its turn away (a loop that waits for others), or had very many: the others' now. */
    if (ready && (calls < t->slice_end || alone > PATIENCE)) {
        priority[last] = --lowest;
        alone = 0;
    }
}

static struct rt_thread *pct_pick(struct rt_thread *first, unsigned count) {
    (void)count;
    account();
    return highest(first);
}

static uint64_t pct_slice(struct rt_thread *t) {
    if (priority[t->number] == 0) priority[t->number] = draw_priority();
    if (t->number != last) alone = 0;
    last = t->number;
    last_calls = rt_calls(t);
    uint64_t rest = changed < changes ? change[changed] - calls_before : PATIENCE;
    return rest < 1 ? 1 : rest < PATIENCE ? rest : PATIENCE;
}

static bool pct_preempts(const struct rt_thread *t, const struct rt_thread *holder) {
    if (priority[t->number] == 0) priority[t->number] = draw_priority();
    return priority[t->number] > priority[holder->number];
}

/* Sleeping usually means that others are to go first; but nothing makes sure that they do. */
static void pct_sleeps(const struct rt_thread *t) {
    if (draw() & 1) priority[t->number] = --lowest;
}

struct rt_policy rt_policy_pct = {.start = pct_start,
                                  .pick = pct_pick,
                                  .slice = pct_slice,
                                  .preempts = pct_preempts,
                                  .sleeps = pct_sleeps};

/* ---- POS ------------------------------------------------------------------------------------ */

static bool conflict(const struct rt_thread *a, const struct rt_thread *b) {
    return a->next_address != 0 && a->next_address >> 3 == b->next_address >> 3 &&
           (a->next_write || b->next_write);
}

/* Threads that wait for each other in loops of reads conflict with nobody: each goes on until it
 * draws a lower priority than the others have, and these get lower with every turn. So all draw
 * anew when one has had so many events in a row. */
#define IN_A_ROW 256u
static uint32_t in_a_row;

static struct rt_thread *pos_pick(struct rt_thread *first, unsigned count) {
    if (last != UINT32_MAX) priority[last] = draw_priority();
    bool all = count > 1 && in_a_row >= IN_A_ROW;
    if (all) in_a_row = 0;
    for (struct rt_thread *t = first; t != NULL && all; t = t->next)
        priority[t->number] = draw_priority();
    struct rt_thread *best = highest(first);
    for (struct rt_thread *t = first; t != NULL; t = t->next)
        if (t != best && conflict(t, best)) priority[t->number] = draw_priority();
    in_a_row = best->number == last ? in_a_row + 1 : 0;
    last = best->number;
    return best;
}

static uint64_t pos_slice(struct rt_thread *t) {
    last = t->number;
    return 1;
}

static void pos_sleeps(const struct rt_thread *t) { (void)t; } /* pick draws anew for it */

struct rt_policy rt_policy_pos = {
    .start = begin, .pick = pos_pick, .slice = pos_slice, .sleeps = pos_sleeps, .steady = true};
