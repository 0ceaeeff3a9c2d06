/* Potential unserializable interleavings (CTrigger, step 1): P and C are consecutive accesses of
 * one thread to a location, R is another thread's access to it, and no serial order of the three
 * does the same as P R C. Told apart by the three places in the code, over all runs of a profile;
 * of each it is known how often, how near, and whether a run had it already. A free counts as a
 * remote write: what comes after it is a use after free. */
#ifndef HEDDLE_EXPLORE_POTENTIAL_H
#define HEDDLE_EXPLORE_POTENTIAL_H

#include "facts/site.h"
#include "facts/triples.h"

enum hd_pruning { HD_PRUNE_NONE, HD_PRUNE_RULES, HD_PRUNE_POLY };

/* Why an interleaving cannot happen. */
enum hd_pruned {
    HD_PRUNED_NOT = 0,
    HD_PRUNED_ORDER,     /* R must come before P, or after C */
    HD_PRUNED_EXCLUSION, /* P and C are in one section of a lock, R is in another */
    HD_PRUNED_POLY       /* no correct reordering of a profiled run has it */
};

struct hd_interleaving {
    uint32_t p, c, r; /* places; p 0: a pair, of which R is to come before C */
    enum hd_pattern pattern;
    bool frees;              /* R frees the memory */
    uint32_t c_stop, r_stop; /* where a thread is suspended before C (R): itself, or the acquire of
                                the outermost section around it */
    uint32_t c_caller, r_caller; /* call sites; 0: unknown */
    uint32_t c_thread, r_thread;
    char variable[96];
    uint64_t pairs;    /* of P and C, over all runs */
    uint64_t gap;      /* local gap, summed over them */
    uint64_t distance; /* remote distance: the least one */
    enum hd_pruned pruned;
    bool exercised;              /* by the profile: a run had P R C in this order */
    uint32_t looked, looked_run; /* at how many locations, in which run */
    /* for the campaign */
    uint32_t attempts;
    uint8_t best; /* enum hd_force_state, over all runs */
};

struct hd_profile {
    struct hd_sites places;
    HD_VECTOR(struct hd_interleaving) list;
    struct hd_map number; /* three places and pattern -> index into list */
    uint32_t runs;
    uint64_t calls, threads; /* of the longest run: hook calls, threads */
    uint64_t accesses;       /* places that are accesses of shared locations */
    struct hd_map access;
    struct hd_map order; /* two places of conflicting accesses in the order in which they came */
};
void hd_profile_free(struct hd_profile *profile);

/* Adds what one recorded run says. Returns how many interleavings are new, or no longer pruned, or
 * exercised for the first time. */
uint32_t hd_profile_add(struct hd_profile *profile, struct hd_analysis *analysis,
                        enum hd_pruning pruning);

/* Adds pairs to them: C of one thread always came before R of another, and nothing sees to it. An
 * access and one that conflicts with it; a wait and a signal for it; the second lock that a thread
 * takes and the same as the first that another takes, if the two take them in opposite orders. */
void hd_profile_add_pairs(struct hd_profile *profile, struct hd_analysis *analysis);

struct hd_profile_counts {
    uint32_t potential, order, exclusion, poly, exercised, left; /* left: neither pruned nor done */
    uint32_t pairs, pairs_exercised;                             /* not among them */
};
struct hd_profile_counts hd_profile_counts(const struct hd_profile *profile);

/* The order in which to force them (step 3): small local gap first, then small remote distance;
 * pairs after that; those that the profile has exercised come last; pruned ones are left out.
 * malloc'ed indices. */
uint32_t *hd_profile_rank(const struct hd_profile *profile, uint32_t *count);

/* ---- between the parts ---------------------------------------------------------------------- */

/* The place of an event; `known` maps the sites of the run to places that were found before. */
uint32_t hd_profile_place(struct hd_profile *profile, const struct hd_analysis *analysis,
                          struct hd_map *known, uint32_t event);

/* The acquire of the outermost section of `event` that does not contain `other` (HD_NONE: of the
 * outermost of all), and its release in *release; HD_NONE if there is none. */
uint32_t hd_outermost_acquire(const struct hd_model *model, uint32_t event, uint32_t other,
                              uint32_t *release);

#endif
