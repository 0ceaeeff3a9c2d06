/* What became of findings over the runs of a project: when each was new, when it was fixed, when it
 * came back.
 *
 * A finding is fixed by a run that is comparable with the last one that saw it and did not see it:
 * the same command on the same target with the same settings, that looked at everything of the
 * finding's kind, on another build of the program (a program that did not change was not repaired;
 * of source code every run tells). Runs that are not comparable say nothing: a finding that they do
 * not have is still there. */
#ifndef HEDDLE_STORE_CHANGES_H
#define HEDDLE_STORE_CHANGES_H

#include "finding/read.h"
#include "store/store.h"

struct hd_changes_run {
    int64_t id, series, started;
    const char *tool, *target, *settings, *version, *format;
    const char *build; /* NULL: unknown */
    const char *trace; /* its path; NULL: none */
    int status;
    uint32_t findings;
    unsigned looked_for, whole; /* bits by kind */
    /* what the run changed, and what was there after it; hidden findings do not count */
    uint32_t fresh, back, fixed, there;
};

/* name, word in JSON */
#define HD_CHANGES(X)       \
    X(NEW, "new")           \
    X(BACK, "back")         \
    X(FIXED, "fixed")       \
    X(STILL, "still there") \
    X(EARLIER, "fixed before")
enum hd_change {
#define X(name, word) HD_CHANGE_##name,
    HD_CHANGES(X)
#undef X
        HD_CHANGE_COUNT
};
const char *hd_change_word(enum hd_change change);

/* Why a finding that the last runs did not see is not said to be fixed. The later, the more is
 * known. */
enum hd_unseen {
    HD_SEEN,             /* no comparable run came after the one that saw it */
    HD_UNSEEN_NOT_ASKED, /* they did not look for this kind */
    HD_UNSEEN_NOT_WHOLE, /* they did not look at everything */
    HD_UNSEEN_NO_BUILD,  /* of which build they were is not known */
    HD_UNSEEN_SAME_BUILD /* they were of the same build */
};

struct hd_changes_sighting {
    int64_t run;
    const char *verdict, *harm;
    uint64_t instances;
};

struct hd_changes_finding {
    const struct hd_finding *finding; /* as the last run saw it */
    int64_t id;
    enum hd_change change; /* since changes.since */
    int64_t first, last;   /* runs that saw it */
    int64_t fixed_by;      /* the last time that it was; 0: never */
    bool hidden;           /* by suppressions or a baseline, in the last run that saw it */
    enum hd_unseen unseen; /* of one that is there */
    int64_t unseen_by;     /* the last such run */
    /* all that saw it, of changes.sighting */
    uint32_t sighting, sightings;
};

struct hd_changes {
    int64_t since; /* what came after this run is new; 0: everything */
    HD_VECTOR(struct hd_changes_run) run;
    HD_VECTOR(struct hd_changes_finding) list; /* by when they were first seen */
    HD_VECTOR(struct hd_changes_sighting) sighting;
    uint32_t count[HD_CHANGE_COUNT]; /* without hidden ones */
    uint32_t hidden;                 /* that are there, or fixed since */
    struct hd_findings_file file;    /* the findings themselves */
    struct hd_arena arena;
};

/* `since`: "last" (what the last run changed), the number of a run, or a day or time, "2026-11-16"
 * or "2026-11-16 21:30"; NULL: from the beginning. */
bool hd_changes_read(struct hd_store *store, const char *project, const char *since,
                     struct hd_changes *changes, struct hd_error *error);
void hd_changes_free(struct hd_changes *changes);
/* The run with this number; NULL if the project has none. */
const struct hd_changes_run *hd_changes_run(const struct hd_changes *changes, int64_t id);

#endif
