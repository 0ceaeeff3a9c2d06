/* See words.h. */
#include "finding/words.h"

#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

const char *hd_words_at(struct hd_findings *findings, const char *site) {
    return *site == '\0' ? "" : hd_finding_text(findings, " at %s", hd_finding_short_site(site));
}

static const char *at(struct hd_findings *findings, const struct hd_finding_event *event) {
    return hd_words_at(findings, event->site);
}

const char *hd_words_step(struct hd_findings *findings, const struct hd_finding_event *event,
                          const char *variable) {
    return hd_finding_text(findings, "%s %s %s%s", event->thread, event->verb, variable,
                           at(findings, event));
}

const char *hd_words_no_schedule(struct hd_findings *findings, const struct hd_finding *finding,
                                 const char *what) {
    if (finding->verdict == HD_VERDICT_UNDECIDED)
        return "The budget ran out before this was decided.";
    return hd_finding_text(findings, "No correct reordering of this trace %s.", what);
}

/* Of a schedule in which reads see other writes. */
static const char other_value[] =
    "This takes a read to see another value than it did; no branch follows that read, but what the "
    "threads do next may still depend on it.";

const char *hd_words_relaxed(struct hd_findings *findings, const struct hd_finding *finding,
                             const char *words) {
    if (finding->verdict != HD_VERDICT_POSSIBLE) return words;
    return hd_finding_text(findings, "%s %s", words, other_value);
}

void hd_words_cause(const struct hd_finding_forced *forced, char *text, size_t room) {
    *text = '\0';
    if (forced->flipped_runs == 0) return;
    int used = snprintf(text, room,
                        "Cause tried: this schedule fails %u of %u times; with only %s it passes "
                        "%u of %u times.",
                        forced->reproduced, forced->runs, forced->flipped, forced->flipped_passed,
                        forced->flipped_runs);
    if (!hd_finding_is_proved(forced) && used > 0 && (size_t)used < room)
        snprintf(text + used, room - (size_t)used, " heddle could not tell which order causes it.");
}

/* "T2 holds m and n", "T2 holds no lock" */
static const char *locks_of(struct hd_findings *findings, const struct hd_finding_event *event) {
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "%s holds ", event->thread);
    if (event->locks == 0 && used < sizeof text)
        snprintf(text + used, sizeof text - used, "no lock");
    for (uint32_t i = 0; i < event->locks && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", i > 0 ? " and " : "",
                                 event->lock[i].name, event->lock[i].reading ? " for reading" : "");
    return hd_finding_text(findings, "%s", text);
}

/* ---- races ---------------------------------------------------------------------------------- */

const char *hd_words_race(struct hd_findings *findings, const struct hd_finding *finding) {
    const struct hd_finding_event *a = &finding->event[0], *b = &finding->event[1];
    const char *locks =
        a->locks == 0 && b->locks == 0
            ? "neither holds a lock"
            : hd_finding_text(findings, "%s, %s", locks_of(findings, a), locks_of(findings, b));
    if (finding->verdict == HD_VERDICT_FEASIBLE || finding->witness_spans > 0)
        return hd_words_relaxed(
            findings, finding,
            hd_finding_text(findings,
                            "Next, %s and %s %s it%s. Nothing makes either wait for the other "
                            "(%s), so they can happen at the same time: a race.",
                            hd_words_step(findings, a, finding->variable), b->thread, b->verb,
                            at(findings, b), locks));
    if (finding->verdict == HD_VERDICT_POSSIBLE)
        return hd_finding_text(findings,
                               "Engine %s finds nothing that keeps the two apart (%s), but has no "
                               "schedule to show.",
                               finding->engine, locks);
    return hd_words_no_schedule(findings, finding, "brings both accesses up at the same time");
}

/* ---- atomicity ------------------------------------------------------------------------------ */

static bool holds(const struct hd_finding_event *event, const char *lock) {
    for (uint32_t i = 0; i < event->locks; i++)
        if (strcmp(event->lock[i].name, lock) == 0) return true;
    return false;
}

/* A lock that all three accesses hold: each has a section of its own. */
static const char *common_lock(const struct hd_finding *finding) {
    for (uint32_t i = 0; i < finding->event[0].locks; i++) {
        const char *name = finding->event[0].lock[i].name;
        if (holds(&finding->event[1], name) && holds(&finding->event[2], name)) return name;
    }
    return NULL;
}

static const char *why_not_apart(struct hd_findings *findings, const struct hd_finding *finding) {
    const char *lock = common_lock(finding);
    if (lock != NULL)
        return hd_finding_text(findings,
                               "All three hold %s, but the two accesses of %s are in different "
                               "critical sections",
                               lock, finding->event[0].thread);
    return hd_finding_text(findings, "Nothing keeps it out (%s)",
                           locks_of(findings, &finding->event[1]));
}

const char *hd_words_between(struct hd_findings *findings, const struct hd_finding *finding) {
    const struct hd_finding_event *i = &finding->event[0], *j = &finding->event[1],
                                  *k = &finding->event[2];
    return hd_finding_text(
        findings, "%s between two accesses of %s, which %s it%s and then %s it%s",
        hd_words_step(findings, j, finding->variable != NULL ? finding->variable : j->variable),
        i->thread, i->verb, at(findings, i), k->verb, at(findings, k));
}

const char *hd_words_atomicity(struct hd_findings *findings, const struct hd_finding *finding,
                               const char *wrong) {
    const char *first = finding->event[0].thread, *other = finding->event[1].thread;
    if (finding->verdict == HD_VERDICT_FEASIBLE)
        return hd_finding_text(findings, "%s: %s. %s.", hd_words_between(findings, finding), wrong,
                               why_not_apart(findings, finding));
    if (finding->verdict == HD_VERDICT_POSSIBLE && finding->witness_spans > 0)
        return hd_finding_text(findings, "%s: %s. %s", hd_words_between(findings, finding), wrong,
                               other_value);
    if (finding->verdict == HD_VERDICT_POSSIBLE)
        return hd_finding_text(findings,
                               "Engine %s finds nothing that keeps %s out between the two accesses "
                               "of %s, but has no schedule to show.",
                               finding->engine, other, first);
    return hd_words_no_schedule(
        findings, finding,
        hd_finding_text(findings, "brings the access of %s between the two of %s", other, first));
}

/* ---- two variables -------------------------------------------------------------------------- */

/* "T2 writes a at f.c:3 and then reads b at f.c:4" */
static const char *remote_steps(struct hd_findings *findings, const struct hd_finding *finding) {
    const struct hd_finding_event *event = finding->event;
    const char *text = hd_words_step(findings, &event[1], event[1].variable);
    for (uint32_t i = 2; i + 1 < finding->events; i++)
        text = hd_finding_text(findings, "%s and then %s %s%s", text, event[i].verb,
                               event[i].variable, at(findings, &event[i]));
    return text;
}

const char *hd_words_correlated(struct hd_findings *findings, const struct hd_finding *finding) {
    const char *together = hd_finding_text(findings, "%s and %s belong together",
                                           finding->variables[0], finding->variables[1]);
    if (finding->events < 3)
        return hd_words_no_schedule(findings, finding, "brings one thread between the accesses");
    const struct hd_finding_event *first = &finding->event[0];
    const struct hd_finding_event *second = &finding->event[finding->events - 1];
    const char *between = hd_finding_text(
        findings, "%s between two accesses of %s, which %s %s%s and then %s %s%s",
        remote_steps(findings, finding), first->thread, first->verb, first->variable,
        at(findings, first), second->verb, second->variable, at(findings, second));
    if (finding->verdict == HD_VERDICT_FEASIBLE || finding->verdict == HD_VERDICT_CONFIRMED)
        return hd_finding_text(findings,
                               "%s. %s, but this interleaving is not serializable: if either "
                               "thread did both accesses before the other one did any, the values "
                               "would be different.",
                               between, together);
    if (finding->verdict == HD_VERDICT_POSSIBLE && finding->witness_spans > 0)
        return hd_finding_text(findings, "%s. %s. %s", between, together, other_value);
    if (finding->verdict == HD_VERDICT_POSSIBLE)
        return hd_finding_text(findings,
                               "%s. Engine %s finds nothing that keeps %s out between the two "
                               "accesses of %s, but has no schedule to show.",
                               together, finding->engine, finding->event[1].thread, first->thread);
    return hd_words_no_schedule(findings, finding,
                                hd_finding_text(findings,
                                                "brings the accesses of %s between the two of %s",
                                                finding->event[1].thread, first->thread));
}

/* ---- orders --------------------------------------------------------------------------------- */

const char *hd_words_early_read(struct hd_findings *findings, const struct hd_finding *finding,
                                bool fresh_memory) {
    const struct hd_finding_event *read = &finding->event[0], *write = &finding->event[1];
    return hd_finding_text(findings, "%s before %s has written it%s: it finds %s.",
                           hd_words_step(findings, read, finding->variable), write->thread,
                           at(findings, write),
                           fresh_memory ? "whatever was in the freshly allocated memory"
                                        : "the value from before the initialisation");
}

const char *hd_words_late_initialisation(struct hd_findings *findings,
                                         const struct hd_finding *finding) {
    const struct hd_finding_event *write = &finding->event[0], *initial = &finding->event[1];
    return hd_finding_text(findings,
                           "%s before %s initialises it%s: the initialisation comes last, and what "
                           "%s wrote is lost.",
                           hd_words_step(findings, write, finding->variable), initial->thread,
                           at(findings, initial), write->thread);
}

/* A descriptor, not memory. */
static bool closes(const struct hd_finding *finding) {
    return strcmp(finding->event[0].verb, "closes") == 0;
}

const char *hd_words_use_after_free(struct hd_findings *findings,
                                    const struct hd_finding *finding) {
    const struct hd_finding_event *use = &finding->event[1];
    return hd_finding_text(findings, "%s, and next %s, which is no longer there: a use after %s.",
                           hd_words_step(findings, &finding->event[0], finding->variable),
                           hd_words_step(findings, use, use->variable),
                           closes(finding) ? "close" : "free");
}

const char *hd_words_double_free(struct hd_findings *findings, const struct hd_finding *finding) {
    return hd_finding_text(findings, "%s, and next %s once more: a double %s.",
                           hd_words_step(findings, &finding->event[0], finding->variable),
                           hd_words_step(findings, &finding->event[1], finding->variable),
                           closes(finding) ? "close" : "free");
}

const char *hd_words_use_after_destroy(struct hd_findings *findings,
                                       const struct hd_finding *finding) {
    return hd_finding_text(findings, "%s, and next %s: a use of what has been destroyed.",
                           hd_words_step(findings, &finding->event[0], finding->variable),
                           hd_words_step(findings, &finding->event[1], finding->variable));
}

const char *hd_words_use_before_init(struct hd_findings *findings,
                                     const struct hd_finding *finding) {
    const struct hd_finding_event *use = &finding->event[0], *init = &finding->event[1];
    return hd_finding_text(findings,
                           "%s before %s initialises it%s: what %s did is undone by the "
                           "initialisation.",
                           hd_words_step(findings, use, finding->variable), init->thread,
                           at(findings, init), use->thread);
}

const char *hd_words_never_released(struct hd_findings *findings,
                                    const struct hd_finding *finding) {
    const struct hd_finding_event *end = &finding->event[0], *acquire = &finding->event[1];
    return hd_finding_text(
        findings,
        "%s ends and still holds %s. Next %s: nobody gives it back, and %s waits "
        "for ever.",
        end->thread, finding->variable, hd_words_step(findings, acquire, finding->variable),
        acquire->thread);
}

const char *hd_words_missed_signal(struct hd_findings *findings, const struct hd_finding *finding) {
    const struct hd_finding_event *wait = &finding->event[1];
    return hd_finding_text(findings,
                           "%s before %s begins to wait%s. The signal finds nobody waiting, no "
                           "other comes, and %s waits for ever.",
                           hd_words_step(findings, &finding->event[0], finding->variable),
                           wait->thread, at(findings, wait), wait->thread);
}

/* ---- deadlocks ------------------------------------------------------------------------------ */

const char *hd_words_wait(struct hd_findings *findings, unsigned type, const char *name,
                          bool reading, const char *site) {
    static const char *const what[] = {[HD_WAIT_LOCK] = "wants",
                                       [HD_WAIT_COND] = "waits for a signal on",
                                       [HD_WAIT_JOIN] = "waits for the end of",
                                       [HD_WAIT_BARRIER] = "waits for the others at the barrier",
                                       [HD_WAIT_SEM] = "waits for the semaphore",
                                       [HD_WAIT_ONCE] = "waits for the initialiser of"};
    bool known = type < sizeof what / sizeof *what && what[type] != NULL;
    return hd_finding_text(findings, "%s %s%s%s", known ? what[type] : "waits for", name,
                           reading ? " for reading" : "", hd_words_at(findings, site));
}

static const char *stuck_words(struct hd_findings *findings, const struct hd_stuck *stuck) {
    if (stuck->holds == NULL && stuck->needed_by == NULL)
        return hd_finding_text(findings, "%s %s", stuck->thread, stuck->wait);
    if (stuck->holds == NULL)
        return hd_finding_text(findings, "%s, without which %s can't go on, %s", stuck->thread,
                               stuck->needed_by, stuck->wait);
    const char *acquired = "";
    if (*stuck->acquired != '\0')
        acquired =
            hd_finding_text(findings, " (acquired at %s)", hd_finding_short_site(stuck->acquired));
    return hd_finding_text(findings, "%s holds %s%s%s and %s", stuck->thread, stuck->holds,
                           stuck->holds_reading ? " for reading" : "", acquired, stuck->wait);
}

const char *hd_words_deadlock(struct hd_findings *findings, const struct hd_stuck *stuck,
                              uint32_t count, bool observed) {
    if (count == 1)
        return hd_finding_text(findings, "%s, which it holds already: it waits for itself.",
                               stuck_words(findings, stuck));
    const char *text = observed ? "The run ended so: " : "";
    for (uint32_t i = 0; i < count; i++) {
        if (!hd_finding_in_words(i, count)) continue;
        bool gap = i > 0 && !hd_finding_in_words(i - 1, count);
        text = hd_finding_text(findings, "%s%s%s%s", text, i > 0 ? "; " : "",
                               gap ? "and so on; " : "", stuck_words(findings, &stuck[i]));
    }
    return hd_finding_text(findings, "%s. %s: a deadlock.", text,
                           count == 2 ? "Each waits for the other for ever"
                                      : "Each waits for the next, the last for the first");
}

const char *hd_words_endless_wait(struct hd_findings *findings, const struct hd_stuck *stuck) {
    return hd_finding_text(findings,
                           "The run ended so: %s, and no thread is left that could end the wait.",
                           stuck_words(findings, stuck));
}

const char *hd_words_lock_at_fork(struct hd_findings *findings, const struct hd_finding *finding,
                                  bool own, bool observed) {
    const struct hd_finding_event *e = finding->event;
    const char *lock = e[0].variable;
    return hd_finding_text(
        findings,
        "%s%s holds %s (acquired%s) when %s forks%s. The child process waits for %s%s, a "
        "lock that %s held at the fork%s: it waits for ever.",
        observed ? "The run ended so: " : "", e[0].thread, lock, hd_words_at(findings, e[0].site),
        own ? "it" : e[1].thread, hd_words_at(findings, e[1].site), lock,
        hd_words_at(findings, e[2].site), own ? "the forking thread" : "another thread",
        own ? " and still holds in the child" : "");
}

/* ---- nondeterminism ------------------------------------------------------------------------- */

static const char *sees(struct hd_findings *findings, const struct hd_finding *finding,
                        const struct hd_read_words *words, const char *value) {
    if (words->reader == NULL)
        return hd_finding_text(findings, "in the end %s holds %s", finding->variable, value);
    return hd_finding_text(findings, "%s, reading %s%s, sees %s", words->reader, finding->variable,
                           hd_words_at(findings, words->site), value);
}

void hd_words_nondeterminism(struct hd_findings *findings, struct hd_finding *finding,
                             const struct hd_read_words *words) {
    finding->seen = sees(findings, finding, words, words->seen);
    if (finding->verdict != HD_VERDICT_INFEASIBLE)
        finding->possible = sees(findings, finding, words, words->other);
    if (finding->verdict == HD_VERDICT_FEASIBLE && words->reader == NULL)
        finding->conclusion =
            hd_finding_text(findings,
                            "All threads have ended, every read has seen what it saw in this run, "
                            "and %s holds %s instead of %s.",
                            finding->variable, words->other, words->seen);
    else if (finding->verdict == HD_VERDICT_FEASIBLE)
        finding->conclusion =
            hd_finding_text(findings,
                            "The read sees %s instead of %s: from here on, the program may do "
                            "something else than in this run.",
                            words->other, words->seen);
    else if (finding->verdict == HD_VERDICT_POSSIBLE)
        finding->conclusion = "The paper's graphs do not rule this out; they do not show a "
                              "schedule either (--model sound does).";
    else
        finding->conclusion = hd_words_no_schedule(
            findings, finding, hd_finding_text(findings, "lets it see %s", words->other));
}
