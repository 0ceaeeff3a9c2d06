/* AVIO's detection over a trace (Lu's dissertation, 4.3.1, Figure 4.5; 4.4.2): which accesses were
 * separated from their thread's previous access to the same memory by accesses of other threads in
 * an order that no serial execution has?
 *
 * For each cell (cells.h) and each access I of a thread, P is the same thread's latest access to
 * it before I. Between P and I:
 *   - let W be the last access of another thread that writes. If hd_pattern_of(P, W, I) is R-W-R,
 *     W-W-R or R-W-W (cases 2, 3 and 6), I is violated by W;
 *   - otherwise, let F be the first access of another thread. If hd_pattern_of(P, F, I) is W-R-W
 *     (case 5), I is violated by F.
 * An atomic update is one access that reads and writes; three updates make no pattern. Memory that
 * is allocated or freed has no history. `heddle check` on a running program has the same definition
 * (run/observed.h). */
#ifndef HEDDLE_LEARN_DETECT_H
#define HEDDLE_LEARN_DETECT_H

#include "base/map.h"
#include "base/vector.h"
#include "facts/patterns.h"
#include "model/model.h"

/* An access in the code (site and what it does there) that was an I: it had a P, on memory that
 * another thread accessed too, before or after. */
struct hd_detected_access {
    uint32_t event;      /* the first of them */
    uint32_t violations; /* executions that were violated */
    bool met;            /* at one of them another thread had accessed the memory already */
};

/* All violations with the same three accesses in the code and the same pattern. */
struct hd_detected_violation {
    uint32_t first, remote, second; /* P, W or F, I: events of the one that ended first */
    enum hd_pattern pattern;
    uint32_t access; /* of I: index of hd_detected.executed */
    uint32_t instances;
};

/* Zeroed: nothing. */
struct hd_detected {
    HD_VECTOR(struct hd_detected_access) executed;     /* in the order of their events */
    HD_VECTOR(struct hd_detected_violation) violation; /* in the order of `second` */
};

/* Called for each execution of I that is violated, once for each P, remote access and pattern. */
typedef void (*hd_violated)(void *context, uint32_t first, uint32_t remote, uint32_t second,
                            enum hd_pattern pattern);

/* Linear in the events. `violated` may be NULL. */
void hd_detect(const struct hd_model *model, enum hd_granularity granularity,
               struct hd_detected *detected, hd_violated violated, void *context);
void hd_detected_free(struct hd_detected *detected);

/* Which pattern P, the last write W and the first access F of other threads between them, and I
 * make; *remote becomes the one that does it. Any of W and F may be 0: there is none. The same test
 * for all that have the four pieces of information (Figure 4.5). */
enum hd_pattern hd_detect_case(unsigned first, unsigned last_write, unsigned first_remote,
                               unsigned second, bool *by_write);

#endif
