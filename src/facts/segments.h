/* Segments: events of one thread are in one segment if they run inside the same critical
 * sections and nothing between them is anything that another thread needs. Two events of one
 * segment are nearly the same place for every question about reorderings:
 *
 * Let x come before y in one segment, and let a query stop their thread at y (not executed). If it
 * is feasible, then so is the query that stops at x instead. Proof: take the witness and leave out
 * the events R of the thread from x on. What remains is a correct reordering:
 *  - program order holds, since only the end of one thread's part is cut off;
 *  - no event of another thread is must-ordered after an event of R, and (CDSR) none reads from a
 *    write of R: such events end a segment;
 *  - locks: sections whose acquire is in R vanish, which hinders nobody; a section that was open at
 *    x is open at y too, because both are inside the same sections, so its release is not in R;
 *  - a failed try of another thread that needs a section acquired in R: such an acquire ends a
 *    segment;
 *  - x is enabled: all before it is executed, and so are its must-order predecessors, since x
 * itself was executed in the witness. The other way round: if stopping at x is infeasible, so is
 * stopping at any later y of the segment. Thus the first access of a segment speaks for all, and
 * one infeasible pair of first events for all pairs of two segments, whatever the accesses are. */
#ifndef HEDDLE_FACTS_SEGMENTS_H
#define HEDDLE_FACTS_SEGMENTS_H

#include "base/vector.h"
#include "facts/analysis.h"
#include "facts/locksets.h"
#include "facts/reading.h"

struct hd_segment {
    uint32_t first;   /* event */
    uint32_t lockset; /* locks held in it */
};

struct hd_segments {
    uint32_t *of; /* per event: its segment */
    HD_VECTOR(struct hd_segment) segment;
    struct hd_locksets locksets; /* of all segments, and of what lies in several */
};

/* `reading` tells whether a write that another thread reads is something that thread needs. */
struct hd_segments *hd_segments(struct hd_analysis *analysis, enum hd_reading reading);

/* The set of locks held at an event. */
static inline uint32_t hd_lockset_at(const struct hd_segments *segments, uint32_t event) {
    return segments->segment.data[segments->of[event]].lockset;
}

#endif
