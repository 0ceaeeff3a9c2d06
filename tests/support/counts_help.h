/* What is counted of a recording of which a part is loaded (hd_trace.recorded_by), set beside the
 * same recording with all its events, which are counted here. */
#ifndef HEDDLE_TESTS_COUNTS_HELP_H
#define HEDDLE_TESTS_COUNTS_HELP_H

#include "trace/trace.h"

#include <stdlib.h>

/* Events of a kind of a thread are one number. */
static inline size_t kind_of_thread(uint32_t thread, unsigned kind) {
    return (size_t)thread * HD_EV_KINDS + kind;
}

/* Does it say of each thread how many events of each kind `all` has? */
static inline bool has_kinds_of(const struct hd_trace *part, const struct hd_trace *all) {
    if (part->recorded_by == NULL || part->threads != all->threads) return false;
    uint64_t *count = calloc((size_t)all->threads * HD_EV_KINDS + 1, sizeof *count);
    if (count == NULL) abort();
    for (uint32_t e = 0; e < all->events; e++)
        count[kind_of_thread(all->thread[e], all->kind[e])]++;
    bool same = true;
    for (uint32_t t = 0; t < all->threads; t++)
        for (unsigned k = 0; k < HD_EV_KINDS; k++)
            same = same && part->recorded_by[t].kinds[k] == count[kind_of_thread(t, k)];
    free(count);
    return same;
}

/* Hook calls of a thread; without recorded_by, up to its last event. */
static inline uint64_t calls_of(const struct hd_trace *trace, uint32_t thread) {
    uint64_t calls = trace->recorded_by != NULL ? trace->recorded_by[thread].other_calls : 0;
    for (uint32_t e = 0; e < trace->events; e++)
        if (trace->thread[e] == thread) calls += trace->calls[e];
    return calls;
}

#endif
