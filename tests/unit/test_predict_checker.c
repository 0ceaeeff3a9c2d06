/* The witness checker against the definition read aloud (tests/oracle/reorder_naive.h): on what the
 * brute force finds, on the same broken in every way, and on all sequences of tiny traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../oracle/random_query.h"
#include "../oracle/reorder_naive.h"
#include "../oracle/reorder_search.h"
#include "predict/checker.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SLOWDOWN = 8 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SLOWDOWN = 8 };
#else
enum { SLOWDOWN = 1 };
#endif
#else
enum { SLOWDOWN = 1 };
#endif

enum { TRACES = 8000, TINY_TRACES = 1500, QUESTIONS = 200, ROOM = 2 * SMALL_EVENTS };

static struct text_trace text;
static uint64_t seed;

static void print_case(const struct question *q, enum hd_reading reading, const uint32_t *event,
                       uint32_t length) {
    fprintf(stderr, "# seed %llu, %s, ", (unsigned long long)seed, reading_name(reading));
    question_print(stderr, q);
    fprintf(stderr, ", witness");
    for (uint32_t i = 0; i < length; i++) fprintf(stderr, " %u", event[i]);
    fprintf(stderr, "\n");
    for (unsigned i = 0; i < text.lines; i++) fprintf(stderr, "%s\n", text.line[i]);
}

/* ---- rules seen at work --------------------------------------------------------------------- */

static const char *const rules[] = {"form",   "program-order", "must-order",
                                    "lock",   "failed-try",    "reads-from",
                                    "reader", "stop",          "order"};
enum { RULES = sizeof rules / sizeof rules[0] };
static unsigned broken[RULES];

static void count_rule(const char *message) {
    for (unsigned i = 0; i < RULES; i++) {
        char phrase[40];
        snprintf(phrase, sizeof phrase, "breaks rule %s", rules[i]);
        const char *at = strstr(message, phrase);
        if (at == NULL || (at[strlen(phrase)] != ':' && at[strlen(phrase)] != '\0')) continue;
        broken[i]++;
        return;
    }
    fprintf(stderr, "# no known rule in: %s\n", message);
    fail();
}

/* The checker's word on executed events and what follows them, which must be the definition's. */
static bool judge(const struct hd_model *m, enum hd_reading reading, const struct question *q,
                  uint32_t *event, uint32_t executed, uint32_t next) {
    struct hd_query query = question_query(q);
    struct hd_witness witness = {.event = event, .count = executed + next, .next = next};
    struct hd_error error = {0};
    bool accepted = hd_witness_check(m, reading, &query, &witness, &error);
    uint32_t at = executed;
    bool form = true;
    for (uint32_t i = 0; i < q->stops; i++)
        if (!q->stop[i].executed) form &= at < executed + next && event[at++] == q->stop[i].event;
    form &= at == executed + next;
    bool correct = form && naive_correct(m, reading, &query, event, executed);
    if (accepted != correct) {
        fprintf(stderr, "# checker: %s, definition: %s\n", accepted ? "accepted" : error.message,
                correct ? "correct" : "incorrect");
        print_case(q, reading, event, executed + next);
        fail();
    }
    if (!accepted) count_rule(error.message);
    return accepted;
}

static uint32_t add_next(const struct question *q, uint32_t *event, uint32_t executed) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < q->stops; i++)
        if (!q->stop[i].executed) event[executed + next++] = q->stop[i].event;
    return next;
}

/* ---- mutations ------------------------------------------------------------------------------ */

static void swap(uint32_t *event, uint32_t a, uint32_t b) {
    uint32_t kept = event[a];
    event[a] = event[b];
    event[b] = kept;
}

/* Breaks a good witness once in every simple way. */
static void mutate(const struct hd_model *m, enum hd_reading reading, const struct question *q,
                   const uint32_t *good, uint32_t executed) {
    uint32_t event[ROOM + 1], next;
    struct dice dice = {seed};
    for (uint32_t i = 0; i < executed; i++) {
        if (i > 0) { /* swap neighbours */
            memcpy(event, good, executed * sizeof *event);
            swap(event, i - 1, i);
            next = add_next(q, event, executed);
            judge(m, reading, q, event, executed, next);
        }
        memcpy(event, good, executed * sizeof *event); /* swap far ones */
        swap(event, i, roll(&dice, executed));
        next = add_next(q, event, executed);
        judge(m, reading, q, event, executed, next);

        memcpy(event, good, i * sizeof *event); /* drop */
        memcpy(event + i, good + i + 1, (executed - i - 1) * sizeof *event);
        next = add_next(q, event, executed - 1);
        judge(m, reading, q, event, executed - 1, next);

        next = add_next(q, event, i); /* stop early */
        judge(m, reading, q, event, i, next);
    }
    for (uint32_t i = 0; i <= executed; i++) { /* insert any event */
        memcpy(event, good, i * sizeof *event);
        event[i] = roll(&dice, m->events);
        memcpy(event + i + 1, good + i, (executed - i) * sizeof *event);
        next = add_next(q, event, executed + 1);
        judge(m, reading, q, event, executed + 1, next);
    }
    memcpy(event, good, executed * sizeof *event); /* the stops that are next, in other order */
    next = add_next(q, event, executed);
    if (next > 1) {
        swap(event, executed, executed + 1);
        assert_false(judge(m, reading, q, event, executed, next));
    }
    if (next > 0) assert_false(judge(m, reading, q, event, executed, next - 1));
    struct question other = *q; /* the opposite order */
    for (uint32_t i = 0; i < other.orders; i++) {
        other.order[i] = (struct hd_precedes){q->order[i].after, q->order[i].before};
        memcpy(event, good, executed * sizeof *event);
        next = add_next(q, event, executed);
        assert_false(judge(m, reading, &other, event, executed, next));
        other.order[i] = q->order[i];
    }
    if (q->reader != HD_NONE) /* another writer */
        for (uint32_t w = 0; w < m->events; w++)
            if (w != q->reader && hd_model_is_write(m, w)) {
                other.writer = w;
                memcpy(event, good, executed * sizeof *event);
                next = add_next(q, event, executed);
                judge(m, reading, &other, event, executed, next);
            }
}

static unsigned long feasible, infeasible;

static void check_random(void) {
    static struct question list[QUESTIONS];
    struct hd_model m;
    struct hd_error error = {0};
    random_trace(seed, &text);
    if (!model_of_text(&text, &m, &error)) {
        fprintf(stderr, "# seed %llu: %s\n", (unsigned long long)seed, error.message);
        fail();
    }
    struct small small;
    small_build(&small, &m);
    uint32_t count = make_questions(&m, seed, 30, list, QUESTIONS);
    for (uint32_t i = 0; i < count; i++)
        for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++) {
            struct hd_query query = question_query(&list[i]);
            uint32_t event[ROOM], executed;
            if (!search_decide(&small, reading, &query, event, &executed)) {
                infeasible++;
                continue;
            }
            feasible++;
            uint32_t next = add_next(&list[i], event, executed);
            if (!judge(&m, reading, &list[i], event, executed, next)) {
                fprintf(stderr, "# what the search found is not correct\n");
                print_case(&list[i], reading, event, executed + next);
                fail();
            }
            if (i % 4 == 0) mutate(&m, reading, &list[i], event, executed);
        }
    hd_model_free(&m);
}

static void found_and_broken(void **state) {
    (void)state;
    const char *chosen = getenv("HEDDLE_SEED");
    seed = chosen != NULL ? strtoull(chosen, NULL, 0) : 1;
    uint64_t end = seed + (chosen != NULL ? 1 : TRACES / SLOWDOWN);
    if (getenv("HEDDLE_TEST_FULL") != NULL && chosen == NULL) end *= 20;
    for (; seed < end; seed++) check_random();
    printf("# %lu feasible, %lu infeasible\n", feasible, infeasible);
    for (unsigned i = 0; i < RULES; i++) {
        printf("# rule %-14s broken %u times\n", rules[i], broken[i]);
        if (chosen == NULL) assert_true(broken[i] > 50);
    }
}

/* ---- all sequences -------------------------------------------------------------------------- */

struct permutation {
    const struct hd_model *m;
    const struct question *q;
    enum hd_reading reading;
    uint32_t event[ROOM], length;
    uint32_t used;
    bool any;
};

static void permute(struct permutation *p) {
    uint32_t event[ROOM];
    memcpy(event, p->event, p->length * sizeof *event);
    uint32_t next = add_next(p->q, event, p->length);
    p->any |= judge(p->m, p->reading, p->q, event, p->length, next);
    for (uint32_t e = 0; e < p->m->events; e++) {
        if ((p->used >> e & 1) != 0) continue;
        p->used |= 1u << e;
        p->event[p->length++] = e;
        permute(p);
        p->length--;
        p->used &= ~(1u << e);
    }
}

static void all_sequences(void **state) {
    (void)state;
    static struct question list[QUESTIONS];
    unsigned traces = 0, longest = getenv("HEDDLE_TEST_FULL") != NULL ? 6 : 5;
    for (seed = 1000000; traces < TINY_TRACES / SLOWDOWN; seed++) {
        random_trace(seed, &text);
        if (text.lines > longest || text.lines < 4) continue;
        struct hd_model m;
        struct hd_error error = {0};
        assert_true(model_of_text(&text, &m, &error));
        struct small small;
        small_build(&small, &m);
        uint32_t count = make_questions(&m, seed, 8, list, QUESTIONS);
        for (uint32_t i = 0; i < count; i++)
            for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++) {
                struct permutation p = {.m = &m, .q = &list[i], .reading = reading};
                permute(&p);
                struct hd_query query = question_query(&list[i]);
                if (search_decide(&small, reading, &query, NULL, NULL) == p.any) continue;
                fprintf(stderr, "# search and definition disagree: definition %s\n",
                        p.any ? "feasible" : "infeasible");
                print_case(&list[i], reading, NULL, 0);
                fail();
            }
        hd_model_free(&m);
        traces++;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_and_broken),
                                       cmocka_unit_test(all_sequences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
