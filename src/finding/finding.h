/* What every analysis hands to every report: a finding, whole in itself (words, not indices), and
 * the list of them with its summary. Made by any analysis, drawn by report/; neither this struct
 * nor its fingerprint knows which analysis it was. */
#ifndef HEDDLE_FINDING_FINDING_H
#define HEDDLE_FINDING_FINDING_H

#include "base/arena.h"
#include "base/vector.h"
#include "model/describe.h"

/* name, word in reports and JSON, what such bugs usually get as a repair */
#define HD_FINDING_KINDS(X)                                                                      \
    X(RACE, "race",                                                                              \
      "hold one lock around both accesses, make both atomic, or order them (join, signal)")      \
    X(ATOMICITY, "atomicity", "put the accesses that belong together into one critical section") \
    X(ORDER, "order", "make the later operation wait for the earlier one")                       \
    X(DEADLOCK, "deadlock", "take the locks in one order everywhere, or one lock around both")   \
    X(NONDETERMINISM, "nondeterminism",                                                          \
      "order the writes, or give each thread a place of its own")                                \
    X(INVARIANT, "invariant", "put the accesses that belong together into one critical section") \
    X(FAILURE, "failure", "")                                                                    \
    X(INCONSISTENT_UPDATE, "inconsistent-update",                                                \
      "update variables that belong together together")                                          \
    X(VIEW, "view", "read and write the variables that belong together in one critical section") \
    X(STALE_VALUE, "stale-value", "use the value in the critical section that read it")
enum hd_finding_kind {
#define X(name, word, repair) HD_FINDING_##name,
    HD_FINDING_KINDS(X)
#undef X
        HD_FINDING_KIND_COUNT
};

/* The first four are those of engine/engine.h, in its order. */
#define HD_FINDING_VERDICTS(X)  \
    X(INFEASIBLE, "infeasible") \
    X(FEASIBLE, "feasible")     \
    X(UNDECIDED, "undecided")   \
    X(POSSIBLE, "possible")     \
    X(CONFIRMED, "confirmed")
enum hd_finding_verdict {
#define X(name, word) HD_VERDICT_##name,
    HD_FINDING_VERDICTS(X)
#undef X
        HD_VERDICT_COUNT
};

/* What a finding means for the program (DESIGN section 6): a bug by itself; or something that may
 * be intended, and how it looks. */
#define HD_FINDING_HARMS(X) \
    X(ITSELF, "itself")     \
    X(LIKELY, "likely")     \
    X(UNLIKELY, "unlikely") \
    X(EXERCISED, "exercised")
enum hd_finding_harm {
#define X(name, word) HD_HARM_##name,
    HD_FINDING_HARMS(X)
#undef X
        HD_HARM_COUNT
};

struct hd_finding_lock {
    const char *name;
    const char *about; /* in full */
    bool reading;      /* held in read mode */
};

/* One event of a finding. Strings are never NULL unless told. */
struct hd_finding_event {
    uint32_t event, thread_number;
    const char *thread, *op;
    const char *verb;             /* "writes", "acquires" */
    const char *variable;         /* short */
    const char *about;            /* what the event is about, in full */
    const char *site;             /* "file.c:12"; a text trace's own word; "" */
    const char *file;             /* NULL if unknown */
    uint32_t line, column;        /* 0 if unknown */
    uint32_t function_line;       /* where the function begins; 0 if unknown */
    const char *function;         /* "" if unknown */
    struct hd_finding_lock *lock; /* held when it runs, outermost first */
    uint32_t locks;
    struct hd_frame *frame; /* innermost first */
    uint32_t frames;
};

/* A line of the schedule that a person reads: one step that matters, or `folded` others of the
 * threads named. The last ones may be `next`: about to happen, not executed. */
struct hd_finding_step {
    uint32_t lane; /* index into lanes; HD_NONE for steps of several threads */
    uint32_t folded;
    uint32_t event;
    bool next;
    const char *text; /* "acq(m)", "12 steps", "31 steps of 4 threads" */
    const char *site; /* "" if there is none */
};

/* A run of consecutive events: a witness is mostly the trace's own order with gaps, and thousands
 * of them may have to be kept. */
struct hd_run {
    uint32_t first, count;
};
/* All of a run but what threads were blocked in when it ended; room for one more than those.
 * Returns how many there are. */
uint32_t hd_runs_before_blocked(const struct hd_model *model, struct hd_run *run);

/* A line of an order of accesses that a person reads: "T1", "r(len)", "log.c:57". */
struct hd_finding_line {
    const char *thread, *text, *site;
};

/* What came of making the program take a finding's schedule. Strings are never NULL. */
struct hd_finding_forced {
    const char *outcome; /* "signal", "passed", ... */
    const char *words;   /* "killed by signal 11 (Segmentation fault)" */
    bool failed;
    const char *same_as;       /* fingerprint of the finding that fails in the same way; "" */
    uint32_t runs, reproduced; /* repetitions; 0: it was not repeated */
    uint32_t switches, switches_before; /* changes of thread, and before it was minimised */
    const char *reproducer;             /* file that has the schedule; "" */
    const char *command;                /* that does it again; "" */
    /* the accesses that matter, in the order of a run that passed and of this one */
    struct hd_finding_line *good, *bad;
    uint32_t goods, bads;
};

struct hd_finding {
    enum hd_finding_kind kind;
    enum hd_finding_verdict verdict;
    const char *engine; /* "poly/cdsr" */
    char fingerprint[32];
    uint64_t instances;
    const char *variable; /* what it is about, short */
    const char *pattern;  /* NULL if the kind has none */
    struct hd_finding_event *event;
    uint32_t events;
    struct hd_run *witness; /* events in the order of the reordering; NULL if there is none */
    uint32_t witness_runs;
    uint32_t witness_count; /* events in all */
    uint32_t witness_next;  /* how many at its end are not executed */
    struct hd_finding_step *step;
    uint32_t steps;
    const char **lane; /* threads of the schedule, by name */
    uint32_t lanes;
    const char *conclusion; /* what comes next and why that is wrong; "" */
    const char *how;        /* how its verdict was reached, in words; "" */
    enum hd_finding_harm harm;
    uint32_t score;       /* of those that may be intended: the higher, the more like a bug */
    const char *ranking;  /* what speaks for and against a bug, in words; "" */
    bool observed;        /* the run itself did it */
    const char *seen;     /* the order that was seen; "" */
    const char *possible; /* the order that is possible; "" */
    const char *repair;   /* what such bugs usually get; "": what the kind says */
    uint32_t threads_involved, variables_involved, accesses_involved;
    struct hd_finding_forced *forced; /* NULL: the program was not made to take its schedule */
};

struct hd_finding_summary {
    uint64_t candidates, verdict[HD_VERDICT_COUNT], hidden;
};

/* A zeroed list is an empty one. */
struct hd_findings {
    struct hd_arena arena; /* owner of every string and array */
    HD_VECTOR(struct hd_finding) list;
    struct hd_finding_summary summary;
    struct hd_finding_summary of_kind[HD_FINDING_KIND_COUNT]; /* the same by kind */
    bool looked_for[HD_FINDING_KIND_COUNT];                   /* the kinds that were asked for */
    bool out_of_memory;                                       /* something is missing in the list */
};

const char *hd_finding_kind_name(enum hd_finding_kind kind);
/* What a candidate of the kind is: "pair", "triple" (of sites or of events). */
const char *hd_finding_candidate_name(enum hd_finding_kind kind);
const char *hd_finding_repair(const struct hd_finding *finding);
const char *hd_finding_verdict_name(enum hd_finding_verdict verdict);
const char *hd_finding_harm_name(enum hd_finding_harm harm);
/* Is it something to act on: found (not infeasible or undecided), and harmful or likely? */
bool hd_finding_matters(const struct hd_finding *finding);

/* Says that what was added to the summary since *before is about a kind. */
void hd_findings_looked_for(struct hd_findings *findings, enum hd_finding_kind kind,
                            const struct hd_finding_summary *before);

/* A new finding at the end of the list, zeroed, with empty strings; NULL when memory is out. Valid
 * until the next one. */
struct hd_finding *hd_finding_add(struct hd_findings *findings);
void hd_findings_free(struct hd_findings *findings);

/* Fills a finding's events from those of a model. */
void hd_finding_set_events(struct hd_findings *findings, struct hd_finding *finding,
                           struct hd_describe *describe, const struct hd_model *model,
                           const uint32_t *event, uint32_t events);

/* Fills witness, lanes and steps: the reordering, of whose end `next` events are not executed, and
 * the few steps of it that matter for the events set before. */
void hd_finding_set_witness(struct hd_findings *findings, struct hd_finding *finding,
                            struct hd_describe *describe, const struct hd_model *model,
                            const struct hd_run *run, uint32_t runs, uint32_t next);

/* The same root cause has the same fingerprint in every run and after edits outside the functions
 * concerned: it is made of the kind and the events' functions, their places in them (lines counted
 * from where the function begins), files, variables and operations, of a text trace's site words.
 * What differs from run to run (addresses, threads, numbers of blocks) is no part of it. Findings
 * of one list that agree in all that are told apart by their order in the source. To be called
 * once, after the events are set. */
void hd_findings_fingerprint(struct hd_findings *findings, const struct hd_model *model);

/* In the order of a report: by verdict (confirmed and feasible first), harm, score, kind, place. */
void hd_findings_sort(struct hd_findings *findings);

/* "dir/file.c:12" without its directories, for where there is little room. */
const char *hd_finding_short_site(const char *site);
/* A circle of a hundred threads is told by the first few of them, and the last: does the i-th of
 * `count` get words? */
#define HD_FINDING_WORDS 3u
static inline bool hd_finding_in_words(uint32_t i, uint32_t count) {
    return count <= HD_FINDING_WORDS + 2 || i < HD_FINDING_WORDS || i + 1 == count;
}

/* Text from the list's arena; "" when memory is out. */
const char *hd_finding_text(struct hd_findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
