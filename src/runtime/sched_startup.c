/* The policy of a program's start-up that many runs have in common (startup.h). There is one
 * thread, and it is never stopped. What another policy would be asked is noted: the calls at which
 * the thread got its turn back after a call that may block, at which it gave it away itself, and
 * those whose time slice could not end there. */
#define _GNU_SOURCE
#include "runtime/sched.h"
#include "runtime/startup.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES (32u << 20)
#define FAR                                                                              \
    0x100000000000ul /* out of the way: the program's own mappings come where they would \
                      */
#define FOREVER (1ull << 62)

enum what { KEPT, TOOK, GAVE };
#define WHAT_SHIFT 62

static uint64_t *entry;
static uint32_t entries;
static bool begun, picked;

static void note(enum what what, uint64_t calls) {
    if (entries == ENTRIES) rt_startup_fail(HD_REPLY_LONG, 0);
    entry[entries++] = (uint64_t)what << WHAT_SHIFT | calls;
}

static void start(void) {
    void *memory =
        (void *)syscall(SYS_mmap, (void *)FAR, ENTRIES * sizeof *entry, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (memory == MAP_FAILED) rt_startup_fail(HD_REPLY_LONG, 0);
    entry = memory;
}

static struct rt_thread *pick(struct rt_thread *first, unsigned count) {
    (void)count;
    picked = true;
    return first;
}

static uint64_t slice(struct rt_thread *t) {
    if (begun) note(picked ? TOOK : GAVE, rt_calls(t));
    begun = true;
    picked = false;
    return FOREVER;
}

struct rt_policy rt_policy_startup = {.start = start, .pick = pick, .slice = slice};

void rt_startup_kept(const struct rt_thread *t) { note(KEPT, rt_calls(t)); }

/* ---- in a run ------------------------------------------------------------------------------- */

static void set_calls(struct rt_thread *t, uint64_t calls) {
    t->calls_mark = calls + (uint64_t)t->left;
}

/* Time slices that end in the calls after *at, up to `until`. */
static void end_slices(struct rt_thread *t, uint64_t *at, uint64_t until) {
    for (;;) {
        uint64_t next = t->slice_end > *at ? t->slice_end : *at + 1;
        if (next > until) return;
        if (sched.policy->steady) {
            uint64_t each = sched.policy->slice(t);
            next += (until - next) / each * each;
        }
        set_calls(t, next);
        rt_sched_yield(t);
        *at = next;
    }
}

void rt_startup_ask(struct rt_thread *t) {
    uint64_t calls = rt_calls(t), at = 0;
    uint32_t keys = t->spin_keys;
    rt.startup = false;
    rt_blocks_choose();
    set_calls(t, 0);
    sched_choose_policy();
    sched_new_slice(t);
    for (uint32_t i = 0; i < entries; i++) {
        enum what what = (enum what)(entry[i] >> WHAT_SHIFT);
        uint64_t call = entry[i] & ((1ull << WHAT_SHIFT) - 1);
        end_slices(t, &at, what == KEPT ? call - 1 : call);
        at = call;
        if (what == KEPT) continue;
        set_calls(t, call);
        if (what == GAVE) {
            rt_sched_yield(t);
        } else {
            sched_lend(t);
            rt_sched_acquire(t);
        }
    }
    end_slices(t, &at, calls);
    set_calls(t, calls);
    t->spin_keys = keys;
    if (t->slice_end > calls)
        sched_set_stop(t);
    else
        rt_set_left(t, -1);
    rt_unmap(entry, ENTRIES * sizeof *entry);
}
