/* How a run of the program under test ended, judged and put into words. A run fails if it was
 * killed by a signal, failed an assertion, deadlocked, did not end in time, has a sanitizer's
 * report on its standard error, used memory that was freed or wrote or read beyond the end of a
 * block, or is found bad by the oracle; without an oracle also if its exit
 * status is not the one expected, or (if there is a reference) its standard output differs. A run
 * in which heddle's own runtime crashed says nothing about the program: it does not fail. */
#ifndef HEDDLE_RUN_OUTCOME_H
#define HEDDLE_RUN_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, word in reports and JSON; in the order in which they are looked for */
#define HD_OUTCOMES(X)        \
    X(PASSED, "passed")       \
    X(RUNTIME, "runtime")     \
    X(DEADLOCK, "deadlock")   \
    X(HANG, "hang")           \
    X(SANITIZER, "sanitizer") \
    X(ASSERTION, "assertion") \
    X(SIGNAL, "signal")       \
    X(MEMORY, "memory")       \
    X(ORACLE, "oracle")       \
    X(EXIT, "exit")           \
    X(OUTPUT, "output")
enum hd_outcome_kind {
#define X(name, word) HD_OUTCOME_##name,
    HD_OUTCOMES(X)
#undef X
        HD_OUTCOME_COUNT
};

#define HD_OUTCOME_ANY_STATUS (-1) /* of a failure of which only the kind is known */
struct hd_outcome {
    enum hd_outcome_kind kind;
    int status;       /* exit status, signal number, or the oracle's exit status; as `kind` says */
    char words[512];  /* a whole phrase: "killed by signal 11 (Segmentation fault)" */
    char detail[256]; /* assertion, sanitizer: the line that says so; "" otherwise */
};

/* What is known about a run that is over. */
struct hd_outcome_facts {
    int wait_status;           /* as from waitpid */
    const char *runtime_fault; /* how heddle's own runtime crashed; NULL: it did not */
    const char *misuse;        /* of memory, as the runtime saw it; NULL: none */
    bool deadlocked;  /* the serial scheduler, or standstill.h, found that nobody could go on */
    bool child_stuck; /* that was a child process of it, at a lock */
    bool timed_out;   /* killed by us at the time limit */
    bool flooded;     /* killed by us because of its endless output */
    uint64_t limit_ms;
    int good_status;        /* exit status that is no failure */
    const char *error_text; /* standard error, as much as was kept; may be NULL */
    size_t error_bytes;
    bool asked_oracle;
    int oracle_status;
    bool compared; /* standard output was compared with a reference run's */
    bool differs;
    uint64_t differs_at; /* UINT64_MAX: not known */
};

void hd_outcome_judge(const struct hd_outcome_facts *facts, struct hd_outcome *outcome);

bool hd_outcome_failed(const struct hd_outcome *outcome);
/* The same failure, for what a reproduction counts: kind, status, and the assertion's or
 * sanitizer's line without numbers that differ from run to run. */
bool hd_outcome_same(const struct hd_outcome *a, const struct hd_outcome *b);
const char *hd_outcome_name(enum hd_outcome_kind kind); /* "signal" */
/* The kind with that name; false if there is none. */
bool hd_outcome_by_name(const char *name, enum hd_outcome_kind *kind);

#endif
