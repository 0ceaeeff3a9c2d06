/* What a well-formed trace never does, as a table: the rule's name, what the event does wrong, and
 * how a lenient build repairs it. Private to src/model/; docs/model.md lists them. */
#ifndef HEDDLE_MODEL_RULES_H
#define HEDDLE_MODEL_RULES_H

#include <stdbool.h>
#include <stdint.h>

#define HD_RULE_TABLE(X)                                                                         \
    X(RELEASE_WITHOUT_ACQUIRE, "release-without-acquire",                                        \
      "releases a lock that its thread does not hold", "the release is ignored")                 \
    X(RELEASE_MODE, "release-mode", "releases in read mode a lock that it holds in write mode",  \
      "taken as a release of what it holds")                                                     \
    X(TWO_HOLDERS, "two-holders", "acquires a lock that another thread holds",                   \
      "the other thread's section ends with its last event before this one")                     \
    X(UNKNOWN_THREAD, "unknown-thread", "names a thread that the trace does not have",           \
      "the event orders nothing")                                                                \
    X(ITSELF, "fork-or-join-of-itself", "forks or joins its own thread",                         \
      "the event orders nothing")                                                                \
    X(FORK_OF_RUNNING, "fork-of-running", "forks a thread that already ran",                     \
      "the fork orders nothing")                                                                 \
    X(FORK_TWICE, "fork-twice", "forks a thread that was forked before",                         \
      "the second fork orders nothing")                                                          \
    X(JOIN_BEFORE_END, "join-before-end", "joins a thread that goes on after it",                \
      "ordered after that thread's last event before the join")                                  \
    X(BEGIN_NOT_FIRST, "begin-not-first", "begins a thread that has events before it",           \
      "the begin is ignored")                                                                    \
    X(EVENT_AFTER_END, "event-after-end", "comes after its thread's end", "the end is ignored")  \
    X(WAIT_WITHOUT_SIGNAL, "wait-without-signal", "was woken by a signal that is not there",     \
      "the wait is ordered after nothing")                                                       \
    X(SIGNAL_TWICE, "signal-twice", "has the number of an earlier signal",                       \
      "waits are ordered after the earlier one")                                                 \
    X(BARRIER_LEFT_EARLY, "barrier-left-early",                                                  \
      "arrives at a barrier round that others have left already",                                \
      "those that left are not ordered after it")                                                \
    X(LEAVE_WITHOUT_ARRIVE, "leave-without-arrive",                                              \
      "leaves a barrier round at which it did not arrive", "the leave is ordered after nothing") \
    X(SEMAPHORE_EMPTY, "semaphore-empty", "takes from a semaphore that is empty",                \
      "the wait is ordered after nothing")

enum hd_rule {
#define X(id, name, wrong, repair) HD_RULE_##id,
    HD_RULE_TABLE(X)
#undef X
        HD_RULES
};

#define HD_RULE_LINES 3 /* warnings written out per rule; the rest are counted */

struct hd_build;
/* An event breaks a rule. False: the build fails with the error set. True: the build is lenient, a
 * warning is noted, and the caller repairs. */
bool hd_rule_broken(struct hd_build *build, enum hd_rule rule, uint32_t event);
/* Adds the lines that say how many more events broke a rule than were written out. */
void hd_rules_finish(struct hd_build *build);

#endif
