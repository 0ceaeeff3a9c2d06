/* See kinds.h. A new kind gets its lines here. */
#include "report/kinds.h"

static const struct hd_kind_help help[HD_FINDING_KIND_COUNT] = {
    [HD_FINDING_RACE] = {"Two threads access the same memory at the same time, and at least one "
                         "writes.",
                         "Nothing orders the two accesses: no common lock, no join, no signal. In "
                         "C and C++ the program has no defined behaviour then; the compiler may "
                         "have relied on there being no such access. The schedule shows how both "
                         "threads get to their accesses."},
    [HD_FINDING_ATOMICITY] = {"Another thread gets between two accesses that belong together.",
                              "The three accesses have a result that no order without "
                              "interleaving has: a value that was checked is another one when it "
                              "is used, or an update is lost. Locks around each single access do "
                              "not help."},
    [HD_FINDING_ORDER] = {"Two operations happen in the other order than the program relies on.",
                          "Memory is used before it is initialised or after it was freed, or a "
                          "signal is sent before anybody waits for it. Nothing makes the later "
                          "operation wait for the earlier one."},
    [HD_FINDING_DEADLOCK] = {"Threads wait for each other and none of them can go on.",
                             "Each thread of the cycle holds a lock, or is the only one to end a "
                             "wait, that the one before it needs. The schedule shows how all of "
                             "them get there."},
    [HD_FINDING_NONDETERMINISM] = {"A read sees another write when threads are scheduled in "
                                   "another way.",
                                   "The result depends on the schedule. That may be intended, as "
                                   "in a queue of work; where it is not, runs with the same input "
                                   "give different results."},
    [HD_FINDING_INVARIANT] = {"An access is interleaved in a way that it never was in runs that "
                              "passed.",
                              "In all runs that were learned from, the access was preceded by one "
                              "of the same thread, or of another, always the same. This time it "
                              "was not, which is how most atomicity violations look."},
    [HD_FINDING_FAILURE] = {"The program fails under a schedule that it can take.",
                            "The program was run under this schedule and failed: it crashed, hung, "
                            "or its result was judged wrong. The schedule is kept in a file and "
                            "makes it fail again."},
    [HD_FINDING_INCONSISTENT_UPDATE] = {"A function updates a variable and not the one that "
                                        "belongs to it.",
                                        "Most functions of the program access both variables "
                                        "together. This one writes one of them and leaves the "
                                        "other as it is, so that they may not fit any more."},
    [HD_FINDING_VIEW] = {"Variables that belong together are accessed in separate critical "
                         "sections.",
                         "Between the sections another thread may change one of the variables, so "
                         "that what is read or written together never belonged together."},
    [HD_FINDING_STALE_VALUE] = {"A value is used after the critical section that read it.",
                                "The lock protects the read, but not the use: when the value is "
                                "used the variable may already hold another one."}};

const struct hd_kind_help *hd_kind_help(enum hd_finding_kind kind) { return &help[kind]; }
