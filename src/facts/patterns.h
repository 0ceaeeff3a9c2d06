/* Access patterns: what two accesses of one thread to a location and an access of another thread
 * between them do. A pattern is unserializable if no serial order of the three (the other thread's
 * before or after both) has the same effect (AVIO; AVFilter adds the fifth).
 *
 * An atomic update is a read and a write, whichever makes a pattern; but three updates make none,
 * since each is whole in itself and that is what it is for. */
#ifndef HEDDLE_FACTS_PATTERNS_H
#define HEDDLE_FACTS_PATTERNS_H

#include "model/model.h"

/* name, as reports write it, what is wrong with it */
#define HD_PATTERNS(X)                                                                 \
    X(RWW, "R-W-W", "the second access overwrites it with what the first read before") \
    X(WWR, "W-W-R", "the second access does not see what the first wrote")             \
    X(RWR, "R-W-R", "the two reads, which belong together, see different values")      \
    X(WRW, "W-R-W", "it sees a value between two writes that nobody was meant to see") \
    X(WWW, "W-W-W", "it is overwritten before anybody could read it")
enum hd_pattern {
    HD_PATTERN_NONE = 0,
#define X(name, text, wrong) HD_PATTERN_##name,
    HD_PATTERNS(X)
#undef X
        HD_PATTERN_COUNT
};
const char *hd_pattern_name(enum hd_pattern pattern);
const char *hd_pattern_wrong(enum hd_pattern pattern);

/* What an access does, as bits; 0 for a free and for what is no access. */
enum { HD_DOES_READ = 1, HD_DOES_WRITE = 2, HD_DOES_UPDATE = 3 };
unsigned hd_access_does(const struct hd_model *model, uint32_t event);
/* The same of another thread's access, for which a free is a write. */
unsigned hd_remote_does(const struct hd_model *model, uint32_t event);

/* `all`: W-W-W too, which nobody sees. */
enum hd_pattern hd_pattern_of(unsigned first, unsigned remote, unsigned second, bool all);
/* Of three events, a remote free included; without W-W-W. */
enum hd_pattern hd_pattern_of_events(const struct hd_model *model, uint32_t first, uint32_t remote,
                                     uint32_t second);

#endif
