/* Which memory threads share (DESIGN section 4: accessed by two threads, at least one of them
 * writing), found in a first reading of a trace, so that a second one can leave the rest out. Told
 * for words of 8 bytes and for each life of them: what is allocated anew is another word. Or only
 * memory with accesses of this kind that forks, joins and barriers do not order: all others are
 * ordered in every run in the same way, so that no reordering brings two of them together or lets a
 * read see another write. A word may count as shared that is not, never the other way round. */
#ifndef HEDDLE_TRACE_SHARING_H
#define HEDDLE_TRACE_SHARING_H

#include "trace/loop.h"

struct hd_sharing;
/* Words are known up to so many pages of 4 KB (0: HD_SHARING_PAGES); the others count as shared.
 * `states`: there is room for so many different histories of words (0: as many as can be told
 * apart); with less room, more words count as shared.
 * `ordered`: accesses that forks, joins and barriers order are no sharing. */
struct hd_sharing *hd_sharing_new(uint32_t pages, uint32_t states, bool ordered);
void hd_sharing_free(struct hd_sharing *sharing);
#define HD_SHARING_PAGES 131072u

/* The first reading: events of one stream, whose current thread is *thread, up to the next STAMP or
 * the end; *taken says how many. Events that are corrupt are passed over. */
void hd_sharing_events(struct hd_sharing *sharing, const struct hd_wire_event *event, size_t count,
                       uint32_t *thread, size_t *taken);
/* Rounds of a loop, likewise. The body is changed: afterwards it is that of the next round. */
void hd_sharing_loop(struct hd_sharing *sharing, struct hd_loop_event *body, size_t length,
                     uint64_t rounds, uint32_t *thread);
/* Did the first reading come upon anything so far that the second one will take for shared? */
bool hd_sharing_any(const struct hd_sharing *sharing);
/* It is over. */
void hd_sharing_again(struct hd_sharing *sharing);

/* The second reading: every access (atomics included) and every ALLOC, in the same order. Does the
 * access touch anything shared? */
bool hd_sharing_access(struct hd_sharing *sharing, uint64_t address, uint64_t bytes);
/* Accesses, each a stride further: of how many (at most `limit`) is the answer already known and
 * the same? They need not be asked for. */
uint64_t hd_sharing_run(struct hd_sharing *sharing, uint64_t address, int64_t stride,
                        unsigned bytes, uint64_t limit, bool *shared);
void hd_sharing_alloc(struct hd_sharing *sharing, uint64_t address, unsigned flags, uint64_t bytes);

#endif
