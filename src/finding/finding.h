/* What every analysis hands to every report: a finding, whole in itself (words, not indices), and
 * the list of them with its summary. Made by any analysis from plain structs (a finding from source
 * code has no model; finding/from_model.h fills one from a trace), drawn by report/. Neither this
 * struct nor its fingerprint knows which analysis made it. */
#ifndef HEDDLE_FINDING_FINDING_H
#define HEDDLE_FINDING_FINDING_H

#include "base/arena.h"
#include "base/vector.h"
#include "trace/symbols.h"

/* name, word in JSON and on the command line, title of a report, what a candidate is called, what
 * such bugs usually get as a repair */
#define HD_FINDING_KINDS(X)                                                                 \
    X(RACE, "race", "Race", "pair",                                                         \
      "hold one lock around both accesses, make both atomic, or order them (join, signal)") \
    X(ATOMICITY, "atomicity", "Atomicity violation", "triple",                              \
      "put the accesses that belong together into one critical section")                    \
    X(ORDER, "order", "Order violation", "order",                                           \
      "make the later operation wait for the earlier one")                                  \
    X(DEADLOCK, "deadlock", "Deadlock", "cycle",                                            \
      "take the locks in one order everywhere, or one lock around both")                    \
    X(NONDETERMINISM, "nondeterminism", "Nondeterminism", "pair",                           \
      "order the writes, or give each thread a place of its own")                           \
    X(INVARIANT, "invariant", "Broken invariant", "invariant",                              \
      "put the accesses that belong together into one critical section")                    \
    X(FAILURE, "failure", "Failure", "run", "")                                             \
    X(INCONSISTENT_UPDATE, "inconsistent-update", "Inconsistent update", "update",          \
      "update the variables that belong together in one place")                             \
    X(VIEW, "view", "Inconsistent view", "view",                                            \
      "read and write the variables that belong together in one critical section")          \
    X(STALE_VALUE, "stale-value", "Stale value", "use",                                     \
      "use the value in the critical section that read it")
enum hd_finding_kind {
#define X(name, word, title, candidate, repair) HD_FINDING_##name,
    HD_FINDING_KINDS(X)
#undef X
        HD_FINDING_KIND_COUNT
};

/* The first four are those of engine/engine.h, in its order; predict/predict.c checks it. */
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

/* What an event of a finding from source code is in the order that goes wrong: a thread does the
 * first, another does what comes in between, and the thread does the second. Several events may
 * have the same role (the variables of a view, all who write in between); the others explain. */
#define HD_FINDING_ROLES(X) \
    X(NONE, "")             \
    X(FIRST, "first")       \
    X(BETWEEN, "between")   \
    X(SECOND, "second")
enum hd_finding_role {
#define X(name, word) HD_FINDING_ROLE_##name,
    HD_FINDING_ROLES(X)
#undef X
        HD_FINDING_ROLE_COUNT
};

struct hd_finding_lock {
    const char *name;
    const char *about; /* in full */
    bool reading;      /* held in read mode */
};

/* One event of a finding: something that a thread did in a trace, or an access in source code. In a
 * finding that was added, strings are never NULL unless it says so here. */
struct hd_finding_event {
    uint32_t event;         /* in the model; HD_NONE: there is no trace */
    uint64_t number;        /* in the trace, for people: see hd_trace_number */
    bool put_in;            /* an access that stands before the event of that number */
    uint32_t thread_number; /* of a trace */
    const char *thread;     /* "T1"; "" for source code, which has no threads and no event number */
    enum hd_finding_role role;
    const char *op;       /* "r", "w", "acq" */
    const char *verb;     /* "writes", "acquires" */
    const char *variable; /* short */
    const char *plain;    /* the same without names from source code, for the fingerprint; NULL: the
                             variable */
    const char *about;    /* what the event is about, in full; NULL in a draft: the variable */
    const char *site;     /* "file.c:12"; a text trace's own word; "" */
    bool site_is_name;    /* the site is a word of its own: all there is to know the place again */
    const char *file;     /* NULL if unknown */
    uint32_t line, column;        /* 0 if unknown */
    uint32_t function_line;       /* where the function begins; 0 if unknown */
    const char *function;         /* "" if unknown */
    struct hd_finding_lock *lock; /* held when it runs, outermost first; NULL if that is unknown */
    uint32_t locks;
    struct hd_frame *frame; /* innermost first */
    uint32_t frames;
};

/* A line of the schedule that a person reads: one step that matters, or `folded` others of the
 * threads named. The last ones may be `next`: about to happen, not executed. */
struct hd_finding_step {
    uint32_t lane; /* index into lanes; HD_NONE for steps of several threads */
    uint32_t folded;
    uint32_t event;  /* as of a finding's event */
    uint64_t number; /* likewise */
    bool put_in;     /* likewise */
    bool next;
    const char *op;   /* "acq"; "" of a fold */
    const char *text; /* "acq(m)", "12 steps", "31 steps of 4 threads" */
    const char *site; /* "" if there is none */
    const char *file; /* of the same place; NULL if unknown */
    uint32_t line, column;
};

/* An arrow between two steps: from a write to a read of it ("reads-from"), or what makes the one
 * wait for the other ("fork", "signal", ...). */
struct hd_finding_arrow {
    uint32_t from, to;               /* events */
    uint64_t from_number, to_number; /* with HD_PUT_IN: an access that stands before that event */
    const char *what;
};

/* A critical section that steps are in. */
#define HD_NO_NUMBER UINT64_MAX
struct hd_finding_section {
    uint32_t lane;
    const char *lock;
    bool reading;              /* held in read mode */
    uint64_t acquire, release; /* numbers of events; HD_NO_NUMBER: it was never released */
    bool open;                 /* the schedule ends before the release */
};

/* What a picture needs besides the schedule's steps: arrows, sections, and the same events, and
 * those around them, in the order of the run that was observed. */
struct hd_finding_picture {
    struct hd_finding_arrow *arrow;
    uint32_t arrows;
    struct hd_finding_section *section; /* of both orders */
    uint32_t sections;
    struct hd_finding_step *observed;
    uint32_t observed_steps;
    struct hd_finding_arrow *observed_arrow;
    uint32_t observed_arrows;
};

/* Consecutive events: a witness is mostly the trace's own order with gaps, and thousands of them
 * may have to be kept. */
struct hd_span {
    uint32_t first, count;
};

/* The same by threads: who goes how far before another goes on. */
struct hd_finding_turn {
    const char *thread;
    uint32_t events;
};
/* A witness with more events than this is reported by its turns. */
#define HD_LONG_WITNESS 1000u

/* A line of an order of accesses that a person reads: "T1", "r(len)", "log.c:57". */
struct hd_finding_line {
    const char *thread, *text, *site;
};

/* A rule of the program that a finding breaks: where functions do the first, they do the second
 * nearby. */
struct hd_finding_rule {
    const char *first, *second;  /* "write(table.size)" */
    uint32_t support, functions; /* that keep it, of those that do the first */
    struct hd_finding_keeper {
        const char *function, *file;
        uint32_t line;
    } * keeper; /* some of those that keep it */
    uint32_t keepers;
};

/* What came of making the program take a finding's schedule. Strings are never NULL. */
struct hd_finding_forced {
    const char *outcome; /* "signal", "passed", ... */
    const char *words;   /* "killed by signal 11 (Segmentation fault)" */
    bool failed;
    const char *same_as;       /* fingerprint of the finding that fails in the same way; "" */
    uint32_t runs, reproduced; /* repetitions; 0: it was not repeated */
    uint32_t switches, switches_before; /* context switches, and before it was minimised */
    const char *reproducer;             /* file that has the schedule; "" */
    const char *command;                /* that does it again; "" */
    /* the accesses that matter, in the order of a run that passed and of this one */
    struct hd_finding_line *good, *bad;
    uint32_t goods, bads;
    /* The cause, tried: what else was the other way round when the failing schedule was run again,
     * how often, and how often it passed then. "": it was not tried. */
    const char *flipped;
    uint32_t flipped_runs, flipped_passed;
};
/* Was the cause tried, and is it one: the program fails in this order each time, and passes each
 * time with only that the other way round? */
bool hd_finding_is_proved(const struct hd_finding_forced *forced);

/* An analysis fills what it knows of a draft and leaves the rest zero. Strings and arrays must live
 * as long as the list: literals, or from its arena (hd_finding_text). */
struct hd_finding {
    enum hd_finding_kind kind;
    enum hd_finding_verdict verdict;
    const char *engine; /* "poly/cdsr" */
    char fingerprint[32];
    uint64_t instances;     /* 0 in a draft: one */
    const char *variable;   /* what it is about, short; NULL in a draft: that of the first event */
    const char **variables; /* all of them, where several belong together; NULL */
    uint32_t variable_count;
    const char *pattern; /* NULL if the kind has none */
    struct hd_finding_event *event;
    uint32_t events;
    struct hd_finding_rule *rule; /* that it breaks, the best first */
    uint32_t rules;
    const char *place;       /* of a finding without events: what tells it from others; "" */
    struct hd_span *witness; /* events in the order of the reordering; NULL if there is none */
    uint32_t witness_spans;
    uint64_t *witness_number;     /* their numbers, where they are listed; NULL: the same */
    uint32_t witness_count;       /* events in all */
    uint32_t witness_next;        /* how many at its end are not executed */
    struct hd_finding_turn *turn; /* of a long witness */
    uint32_t turns;
    struct hd_finding_step *step;
    uint32_t steps;
    const char **lane; /* threads of the schedule, by name */
    uint32_t lanes;
    struct hd_finding_picture *picture; /* NULL: there is none */
    const char *conclusion;             /* what comes next and why that is wrong; "" */
    const char *how;                    /* how its verdict was reached, in words; "" */
    const char *support;                /* of a statistical one: what it rests on, in words; "" */
    enum hd_finding_harm harm;
    uint32_t score;       /* of those that may be intended, 0 to 100: finding/intent.h */
    const char *ranking;  /* what speaks for and against a bug, in words; "" */
    bool observed;        /* the run itself did it */
    const char *seen;     /* the order that was seen; "" */
    const char *possible; /* the order that is possible; "" */
    const char *repair;   /* what such bugs usually get; "": what the kind says */
    uint32_t threads_involved, variables_involved, accesses_involved;
    struct hd_finding_forced *forced; /* NULL: the program was not made to take its schedule */
    const char *suppressed; /* of a hidden one: what the suppression says; NULL: none hides it */
    bool known;             /* of a hidden one: the baseline has it */
};

struct hd_finding_summary {
    uint64_t candidates, verdict[HD_VERDICT_COUNT], hidden;
    /* More candidates than are looked at: at most so many are left, or at least. */
    uint64_t left;
    bool left_at_least;
};

/* A zeroed list is an empty one. */
struct hd_findings {
    struct hd_arena arena; /* owner of every string and array */
    HD_VECTOR(struct hd_finding) list;
    HD_VECTOR(struct hd_finding) hidden; /* taken out of the list: see finding/hide.h */
    struct hd_finding_summary summary;
    struct hd_finding_summary of_kind[HD_FINDING_KIND_COUNT]; /* the same by kind */
    bool looked_for[HD_FINDING_KIND_COUNT];                   /* the kinds that were asked for */
    bool want_pictures;                                       /* JSON and HTML have them */
    bool want_witnesses;                                      /* JSON lists their events */
    bool want_turns; /* long witnesses by their turns too: JSON has them, and they take time */
};

const char *hd_finding_kind_name(enum hd_finding_kind kind);
/* The kind of a word; false if it is none's. */
bool hd_finding_kind_of(const char *word, enum hd_finding_kind *kind);
const char *hd_finding_title(enum hd_finding_kind kind); /* "Atomicity violation" */
/* What a candidate of the kind is: "pair", "triple" (of sites or of events). */
const char *hd_finding_candidate_name(enum hd_finding_kind kind);
const char *hd_finding_repair(const struct hd_finding *finding);
const char *hd_finding_verdict_name(enum hd_finding_verdict verdict);
const char *hd_finding_harm_name(enum hd_finding_harm harm);
const char *hd_finding_role_name(enum hd_finding_role role); /* "" for none */
/* Is it something to act on: found (not infeasible or undecided), and harmful or likely? */
bool hd_finding_matters(const struct hd_finding *finding);

/* What a command's exit status speaks of: findings that the program was seen to do; those, and what
 * is harmful by itself or likely; every finding, intended or not. */
#define HD_FAIL_ON_WORDS "confirmed|predicted|any"
enum hd_fail_on { HD_FAIL_ON_CONFIRMED, HD_FAIL_ON_PREDICTED, HD_FAIL_ON_ANY };
bool hd_finding_fails(const struct hd_finding *finding, enum hd_fail_on what);

/* Says that what was added to the summary since *before is about a kind. */
void hd_findings_looked_for(struct hd_findings *findings, enum hd_finding_kind kind,
                            const struct hd_finding_summary *before);

/* Adds a finding to the list. Valid until the next one is added; more can be filled in. */
struct hd_finding *hd_finding_add(struct hd_findings *findings, const struct hd_finding *draft);
/* The same beside the list, in its arena: it never moves and is not reported. */
struct hd_finding *hd_finding_keep(struct hd_findings *findings, const struct hd_finding *draft);
void hd_findings_free(struct hd_findings *findings);

/* The same root cause has the same fingerprint in every run and after edits outside the functions
 * concerned: it is made of the kind and the events' functions, their places in them (lines counted
 * from where the function begins), files, variables and operations; of the words for sites of a
 * text trace; without events, of `place` and the variables. What differs from run to run
 * (addresses, threads, numbers of blocks) is no part of it. */
void hd_finding_fingerprint(struct hd_finding *finding);
/* Of all findings of a list; those that agree in all that are numbered by their order in the source
 * ("-2"). To be called once, after the events are set. */
void hd_findings_fingerprint(struct hd_findings *findings);
/* Gives a fingerprint the number 2, 3, ... in place of the one that it has. */
void hd_finding_number(struct hd_finding *finding, unsigned number);
/* The events of a race and of threads that wait for each other are a circle: which of them comes
 * first differs between runs. A hash of such numbers, from whichever on they are listed. */
bool hd_finding_is_circle(const struct hd_finding *finding);
uint64_t hd_hash_circle(const uint64_t *each, uint32_t count, uint64_t seed);

/* In the order of a report: by verdict (confirmed and feasible first), harm, score, kind, place. */
void hd_findings_sort(struct hd_findings *findings);

/* "dir/file.c:12" without its directories, for where there is little room. */
const char *hd_finding_short_site(const char *site);
/* Of a cycle of a hundred threads the first few and the last are shown: is the i-th of `count`? */
#define HD_FINDING_WORDS 3u
static inline bool hd_finding_in_words(uint32_t i, uint32_t count) {
    return count <= HD_FINDING_WORDS + 2 || i < HD_FINDING_WORDS || i + 1 == count;
}

/* Text in the list's arena. */
const char *hd_finding_text(struct hd_findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
