/* Interleaving coverage (Lu's dissertation, chapter 6): how much of what threads can do to each
 * other have runs exercised? Seven criteria, from all interleavings (ALL) down to one property for
 * each read (LR-Def). For one trace their property sets are counted by the paper's formulas
 * (hd_cover_measure). The four that are small enough to be covered, PInv, Def-Use, LR-Inv and
 * LR-Def, are also kept property by property, told by sites, over any number of runs
 * (hd_cover_add) and in a file of their own (cover/file.c).
 *
 * An access is a read, write or atomic operation on a shared location ("variable"); one that
 * touches several locations counts at each of them, but once in ALL and TPAIR. An atomic update is
 * a read and a write. A consecutive pair is two accesses of one thread to one location without a
 * third of that thread between them. */
#ifndef HEDDLE_COVER_COVER_H
#define HEDDLE_COVER_COVER_H

#include "base/intern.h"
#include "base/map.h"
#include "base/vector.h"
#include "cover/size.h"
#include "facts/analysis.h"

/* name, word, what one property is */
#define HD_CRITERIA(X)                                                                     \
    X(ALL, "ALL", "an order of all accesses of all threads")                               \
    X(TPAIR, "TPAIR", "an order of all accesses of two threads")                           \
    X(SVAR, "SVAR", "an order of all accesses of two threads to one variable")             \
    X(PINV, "PInv", "an access of another thread between two consecutive ones")            \
    X(DEF_USE, "Def-Use", "a read that sees this write of another thread, or a local one") \
    X(LR_INV, "LR-Inv", "two consecutive accesses that are unserializably interleaved")    \
    X(LR_DEF, "LR-Def", "a read that sees a local write, or a remote one")
enum hd_criterion {
#define X(name, word, about) HD_COVER_##name,
    HD_CRITERIA(X)
#undef X
        HD_CRITERION_COUNT
};
#define HD_COVER_KEPT HD_COVER_PINV /* from here on: kept property by property */
const char *hd_criterion_name(enum hd_criterion criterion);
const char *hd_criterion_about(enum hd_criterion criterion);

/* ---- one trace, counted event by event ------------------------------------------------------ */

struct hd_cover_measure {
    uint32_t threads;   /* M: with accesses to shared locations */
    uint32_t variables; /* V */
    uint64_t accesses;  /* of all threads: M times N in the mean */
    uint64_t touches;   /* accesses, once for each location: M times V times N_V in the mean */
    uint64_t reads;
    struct hd_size size[HD_CRITERION_COUNT];
    uint64_t covered[HD_CRITERION_COUNT]; /* by this run: 1 of ALL and so on; ALL to SVAR as well */
};
struct hd_cover_measure hd_cover_measure(const struct hd_model *model);

/* ---- many runs, by sites -------------------------------------------------------------------- */

#define HD_COVER_LOCAL                                                        \
    0u /* of a Def-Use property: its own thread's write, or the initial value \
        */

struct hd_property {
    /* sites, from 1. PInv: two consecutive accesses and the one between; Def-Use: write (or
     * HD_COVER_LOCAL), read; LR-Inv: two consecutive accesses; LR-Def: read, and 1 if remote */
    uint32_t site[3];
    uint32_t runs;       /* that covered it */
    uint32_t first;      /* of them, from 1; 0: none */
    bool unserializable; /* PInv: the three accesses make one of AVIO's four patterns */
    bool infeasible;     /* in every run that had it, order or locks rule it out */
};

/* How close two consecutive accesses are: what CTrigger ranks by. */
struct hd_cover_pair {
    uint64_t gap; /* events of their thread between them, over all instances */
    uint64_t instances;
};

struct hd_cover_run {
    const char *name;
    uint32_t covered[HD_CRITERION_COUNT]; /* properties that it covered; kept criteria only */
};

struct hd_cover {
    struct hd_intern site; /* words of a site, "log.c:57:9 append r"; number n is site n + 1 */
    struct {
        HD_VECTOR(struct hd_property) list;
        struct hd_map number; /* sites -> property */
    } kept[HD_CRITERION_COUNT];
    struct hd_map by_code[4];  /* by what an access does: its code and its caller's -> site; saves
                                  later runs of a build from looking at symbols */
    struct hd_map pair_number; /* two sites -> pair */
    HD_VECTOR(struct hd_cover_pair) pair;
    HD_VECTOR(struct hd_cover_run) run;
    struct hd_arena arena;
    bool cut; /* a location had so many sites that not all properties were listed */
};
void hd_cover_free(struct hd_cover *cover);

/* Adds a run: the properties that it had, and those that it covered. With `feasible`, properties
 * that must-order or common critical sections rule out are marked (hd_property.infeasible). */
void hd_cover_add(struct hd_cover *cover, struct hd_analysis *analysis, const char *name,
                  bool feasible);
/* Adds the runs of another file. Sets and counts do not depend on the order of additions. */
void hd_cover_merge(struct hd_cover *cover, const struct hd_cover *other);

struct hd_cover_count {
    uint32_t properties, covered, infeasible; /* infeasible ones are among the properties */
};
struct hd_cover_count hd_cover_count(const struct hd_cover *cover, enum hd_criterion criterion);
const char *hd_cover_site(const struct hd_cover *cover, uint32_t site);
/* How many properties were covered after each run, by the runs in their order: malloc'ed, one
 * number for each run. */
uint32_t *hd_cover_growth(const struct hd_cover *cover, enum hd_criterion criterion);

/* What is open under a criterion: neither covered nor infeasible, likely bugs first: small local
 * gaps (CTrigger, section 7.4.3), then by sites. Indices of kept[criterion].list; malloc'ed. */
uint32_t *hd_cover_open(const struct hd_cover *cover, enum hd_criterion criterion, uint32_t *count);
/* The mean local gap of a property's two consecutive accesses; 0 if it has none. */
double hd_cover_gap(const struct hd_cover *cover, const struct hd_property *property);

/* ---- as a file (heddle-cover/1, docs/cover.md) ---------------------------------------------- */

char *hd_cover_write(const struct hd_cover *cover); /* malloc'ed text */
/* Untrusted input; the error names file and line. */
bool hd_cover_read(const char *text, size_t bytes, const char *name, struct hd_cover *cover,
                   struct hd_error *error);
bool hd_cover_load(const char *path, struct hd_cover *cover, struct hd_error *error);
/* Appears under its name only when it is whole. */
bool hd_cover_save(const char *path, const struct hd_cover *cover, struct hd_error *error);

/* ---- shared by the files of this directory -------------------------------------------------- */

/* The property with these sites, added if it is new. Its address holds until the next call. */
struct hd_property *hd_cover_property(struct hd_cover *cover, enum hd_criterion criterion,
                                      const uint32_t site[3]);
struct hd_cover_pair *hd_cover_pair(struct hd_cover *cover, uint32_t first, uint32_t second);

/* The accesses of a location, in order, without frees: the model's own list, or one in
 * *room, which grows and is the caller's to free. */
const uint32_t *hd_cover_accesses(const struct hd_model *model, uint32_t location, uint32_t **room,
                                  uint32_t *count);

/* Positions in a location's list of accesses up to which a scan has come. */
struct hd_cover_writes {
    uint32_t last, last_plain; /* the last write, and the last that is no atomic update; HD_NONE */
};
void hd_cover_note_write(struct hd_cover_writes *writes, unsigned does, uint32_t position);
/* Are the consecutive accesses at two positions of a location's list unserializably interleaved by
 * those between them (AVIO's four cases, over all of these)? `writes` is of the scan before the
 * second. */
bool hd_cover_interleaved(const struct hd_model *model, const uint32_t *list, uint32_t first,
                          uint32_t second, struct hd_cover_writes writes);

/* May j, of another thread, come between i and k, as far as must-order and critical sections tell?
 * (feasible.c) */
struct hd_cover_orders {
    const struct hd_model *model;
    const struct hd_clocks *clocks; /* must-order */
};
bool hd_cover_between(const struct hd_cover_orders *orders, uint32_t i, uint32_t j, uint32_t k);
/* A read, its thread's last write of the location before it, and the write that it saw in this run;
 * HD_NONE: none. */
struct hd_cover_read {
    uint32_t read, own_write, seen;
};
/* May it see this write of another thread? */
bool hd_cover_sees(const struct hd_cover_orders *orders, const struct hd_cover_read *read,
                   uint32_t write);
/* May it see its own thread's write, or the initial value? */
bool hd_cover_sees_local(const struct hd_cover_orders *orders, const struct hd_cover_read *read);

#endif
