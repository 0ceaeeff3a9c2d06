/* Pairs of operations of two threads that came in one order in a run and might come in the other:
 * accesses that conflict, a wait and a signal for it, critical sections of one lock. Only those are
 * looked at that follow each other closely. Nothing is decided: whoever asks checks must-order, and
 * what it takes to bring the other order about. (Pairs that might happen at the same time are
 * another question: conflicts.h.) */
#ifndef HEDDLE_FACTS_REVERSIBLE_H
#define HEDDLE_FACTS_REVERSIBLE_H

#include "model/model.h"

struct hd_reversible {
    uint32_t first, second; /* events, in the order of the run */
    uint32_t about;         /* location, condition variable or lock */
    uint32_t before; /* accesses: that of first's thread to the location before it, HD_NONE */
    uint32_t wait;   /* waits: the wait that `first` begins, else HD_NONE */
};
/* False: enough. */
typedef bool (*hd_reversible_found)(void *context, const struct hd_reversible *pair);

/* Every access to a shared location, with those of other threads among the next `ahead` accesses
 * that conflict with it. */
void hd_reversible_accesses(const struct hd_model *model, uint32_t ahead, hd_reversible_found found,
                            void *context);
/* Every wait, with the next `most` signals of other threads for its condition variable after it
 * began. */
void hd_reversible_waits(const struct hd_model *model, uint32_t most, hd_reversible_found found,
                         void *context);
/* The acquires of every two sections of a lock by two threads, not both for reading, among the next
 * `ahead` sections. */
void hd_reversible_sections(const struct hd_model *model, uint32_t ahead, hd_reversible_found found,
                            void *context);

#endif
