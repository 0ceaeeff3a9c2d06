/* Judges how a run ended. See outcome.h. */
#define _GNU_SOURCE
#include "run/outcome.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

const char *hd_outcome_name(enum hd_outcome_kind kind) {
    static const char *const name[] = {
#define X(kind_name, word) word,
        HD_OUTCOMES(X)
#undef X
    };
    return kind < HD_OUTCOME_COUNT ? name[kind] : "?";
}

bool hd_outcome_by_name(const char *name, enum hd_outcome_kind *kind) {
    for (unsigned i = 0; i < HD_OUTCOME_COUNT; i++) {
        if (strcmp(name, hd_outcome_name(i)) != 0) continue;
        *kind = i;
        return true;
    }
    return false;
}

bool hd_outcome_failed(const struct hd_outcome *outcome) {
    return outcome->kind != HD_OUTCOME_PASSED && outcome->kind != HD_OUTCOME_RUNTIME;
}

/* ---- what standard error says --------------------------------------------------------------- */

/* Copies the line around a place in the text, without what a terminal would take for commands. */
static void copy_line(char *to, size_t room, const char *text, size_t bytes, const char *at) {
    const char *first = at, *end = text + bytes;
    while (first > text && first[-1] != '\n') first--;
    size_t n = 0;
    for (const char *c = first; c < end && *c != '\n' && n + 1 < room; c++)
        to[n++] = (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c;
    to[n] = '\0';
}

static const char *find(const struct hd_outcome_facts *facts, const char *words) {
    if (facts->error_text == NULL) return NULL;
    return memmem(facts->error_text, facts->error_bytes, words, strlen(words));
}

/* What the sanitizers of gcc and clang begin their reports with. */
static const char *find_sanitizer(const struct hd_outcome_facts *facts) {
    static const char *const sign[] = {": AddressSanitizer", ": LeakSanitizer",
                                       ": MemorySanitizer",  ": HWAddressSanitizer",
                                       ": ThreadSanitizer",  ": UndefinedBehaviorSanitizer",
                                       ": runtime error: "};
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++) {
        const char *at = find(facts, sign[i]);
        if (at != NULL) return at;
    }
    return NULL;
}

/* assert(3) of the C library; Qt's, glib's and abseil's words for the same. */
static const char *find_assertion(const struct hd_outcome_facts *facts) {
    static const char *const sign[] = {"Assertion ", "assertion failed", "ASSERT failure",
                                       "ASSERT:", "Check failed"};
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++) {
        const char *at = find(facts, sign[i]);
        if (at != NULL) return at;
    }
    return NULL;
}

/* ---- judging -------------------------------------------------------------------------------- */

static void say(struct hd_outcome *outcome, enum hd_outcome_kind kind, int status,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
static void say(struct hd_outcome *outcome, enum hd_outcome_kind kind, int status,
                const char *format, ...) {
    outcome->kind = kind;
    outcome->status = status;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(outcome->words, sizeof outcome->words, format, list);
    va_end(list);
    /* They stand within sentences; the C library ends its own with a full stop. */
    if (length > 0 && (size_t)length < sizeof outcome->words && outcome->words[length - 1] == '.')
        outcome->words[length - 1] = '\0';
}

static void judge_signal(const struct hd_outcome_facts *facts, struct hd_outcome *outcome) {
    int number = WTERMSIG(facts->wait_status);
    const char *line = number == SIGABRT ? find_assertion(facts) : NULL;
    if (line == NULL) {
        say(outcome, HD_OUTCOME_SIGNAL, number, "killed by signal %d (%s)", number,
            strsignal(number));
        return;
    }
    copy_line(outcome->detail, sizeof outcome->detail, facts->error_text, facts->error_bytes, line);
    say(outcome, HD_OUTCOME_ASSERTION, number, "assertion failed: %s", outcome->detail);
}

void hd_outcome_judge(const struct hd_outcome_facts *facts, struct hd_outcome *outcome) {
    memset(outcome, 0, sizeof *outcome);
    bool exited = WIFEXITED(facts->wait_status);
    int status = exited ? WEXITSTATUS(facts->wait_status) : 0;
    const char *line = find_sanitizer(facts);
    if (facts->runtime_fault != NULL) {
        say(outcome, HD_OUTCOME_RUNTIME, 0, "%s", facts->runtime_fault);
    } else if (facts->deadlocked) {
        say(outcome, HD_OUTCOME_DEADLOCK, 0,
            facts->child_stuck ? "deadlock: a child process waits for a lock that was held at fork"
                               : "deadlock: no thread can continue");
    } else if (facts->flooded) {
        say(outcome, HD_OUTCOME_HANG, 0, "its output did not end");
    } else if (facts->timed_out) {
        say(outcome, HD_OUTCOME_HANG, 0, "did not end within %llu.%llu seconds",
            (unsigned long long)facts->limit_ms / 1000,
            (unsigned long long)facts->limit_ms % 1000 / 100);
    } else if (line != NULL) {
        copy_line(outcome->detail, sizeof outcome->detail, facts->error_text, facts->error_bytes,
                  line);
        say(outcome, HD_OUTCOME_SANITIZER, status, "sanitizer: %s", outcome->detail);
    } else if (!exited) {
        judge_signal(facts, outcome);
    } else if (facts->misuse != NULL) {
        say(outcome, HD_OUTCOME_MEMORY, status, "%s", facts->misuse);
    } else if (facts->asked_oracle) {
        if (facts->oracle_status != 0)
            say(outcome, HD_OUTCOME_ORACLE, facts->oracle_status,
                "the oracle rejected the run (status %d)", facts->oracle_status);
    } else if (status != facts->good_status) {
        say(outcome, HD_OUTCOME_EXIT, status, "exited with status %d", status);
    } else if (facts->compared && facts->differs) {
        if (facts->differs_at == UINT64_MAX)
            say(outcome, HD_OUTCOME_OUTPUT, status,
                "standard output differs from that of a run that passed");
        else
            say(outcome, HD_OUTCOME_OUTPUT, status,
                "standard output differs from the reference run's, first at byte %llu",
                (unsigned long long)facts->differs_at);
    }
    if (outcome->kind == HD_OUTCOME_PASSED)
        say(outcome, HD_OUTCOME_PASSED, status, "exited with status %d", status);
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Process numbers and addresses differ from run to run: numbers do not count. */
static bool same_text(const char *a, const char *b) {
    static const char digits[] = "0123456789abcdefABCDEFx";
    for (;;) {
        bool number_a = *a >= '0' && *a <= '9', number_b = *b >= '0' && *b <= '9';
        if (number_a && number_b) {
            a += strspn(a, digits);
            b += strspn(b, digits);
            continue;
        }
        if (*a != *b) return false;
        if (*a == '\0') return true;
        a++;
        b++;
    }
}

bool hd_outcome_same(const struct hd_outcome *a, const struct hd_outcome *b) {
    if (a->kind != b->kind) return false;
    if (a->status == HD_OUTCOME_ANY_STATUS || b->status == HD_OUTCOME_ANY_STATUS) return true;
    switch (a->kind) {
    case HD_OUTCOME_ASSERTION:
    case HD_OUTCOME_SANITIZER:
        return same_text(a->detail, b->detail);
    case HD_OUTCOME_SIGNAL:
    case HD_OUTCOME_EXIT:
        return a->status == b->status;
    default:
        return true;
    }
}
