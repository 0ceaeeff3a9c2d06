/* Triples put to the exact engine: what is asked about one triple, and which triples of a group
 * have to be asked about.
 *
 * The reordering ends with i done, then j, then k next (DESIGN section 5). The thread of j may stop
 * at j, and then a read j may read anything ("ends"); or it goes on, say to release a lock that the
 * thread of k needs to get to k, and then j keeps what it reads like any other read ("passes").
 *
 * Few triples speak for all of a group. Let k' come before k, with their i' and i, in one segment
 * (segments.h) of their thread. If (i,j,k) is feasible, so is (i',j,k'): leave out what the thread
 * does from k' on; nobody needs it, and i' is before j because i is. So the first pair of a segment
 * speaks for its pairs. Let j' and j" be the first and the last access of j's list in j's segment.
 * A witness of (i,j,k) in which the thread of j does nothing after j that another thread needs (no
 * event that somebody waits for or reads from, no release of a lock held at j) can be cut after j',
 * and j', which nobody needs, comes last: it ends at j'. Otherwise the thread goes on to the end of
 * the segment, and the witness shows (i,j",k) as well. So it is enough to ask whether it can end at
 * j', end at j", and pass j". */
#ifndef HEDDLE_PREDICT_ATOMICITY_ASK_H
#define HEDDLE_PREDICT_ATOMICITY_ASK_H

#include "predict/atomicity_decide.h"

/* One for each worker. */
struct hd_triple_asker;
struct hd_triple_asker *hd_triple_asker_new(const struct hd_triples *triples,
                                            const struct hd_engine_base *base,
                                            const struct hd_branches *branches,
                                            enum hd_reading reading, bool relax,
                                            struct hd_budget budget);
void hd_triple_asker_free(struct hd_triple_asker *asker);
void hd_triple_asker_stats(const struct hd_triple_asker *asker, struct hd_predict_stats *stats);

/* Decides one triple of events, and a whole group: triple, verdict, relaxed and, if feasible, the
 * witness are set. */
bool hd_triple_ask(struct hd_triple_asker *asker, struct hd_triple_decision *decision,
                   struct hd_error *error);
bool hd_triple_ask_group(struct hd_triple_asker *asker, struct hd_triple_decision *decision,
                         struct hd_error *error);

/* The last release of the sections around an access of another thread that keep this thread from
 * its second access; HD_NONE if there is none, or one is never released. */
uint32_t hd_leaving(const struct hd_model *model, uint32_t second, uint32_t remote);

#endif
