/* The witness checker against the definition read aloud (tests/oracle/reorder_naive.h): on what the
 * brute force finds, on the same broken in every way, and on all sequences of tiny traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/checker.h"
#include "oracle/random_query.h"
#include "oracle/reorder_naive.h"
#include "oracle/reorder_search.h"

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
static struct hd_checker *many; /* the checker for many witnesses must say the same */

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
    struct hd_error other = {0};
    if (hd_checker_check(many, reading, &query, &witness, &other) != accepted ||
        strcmp(error.message, other.message) != 0) {
        fprintf(stderr, "# one witness: %s\n# many: %s\n", error.message, other.message);
        print_case(q, reading, event, executed + next);
        fail();
    }
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
    uint32_t event[ROOM + 2], next;
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
    event[executed + next] = roll(&dice, m->events); /* one more than the query has */
    assert_false(judge(m, reading, q, event, executed, next + 1));
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
    many = hd_checker_new(&m);
    assert_non_null(many);
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
    hd_checker_free(many);
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
        many = hd_checker_new(&m);
        assert_non_null(many);
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
        hd_checker_free(many);
        hd_model_free(&m);
        traces++;
    }
}

/* ---- words ---------------------------------------------------------------------------------- */

static void expect_words(const struct hd_model *m, enum hd_reading reading, struct hd_query query,
                         uint32_t next, const char *events, const char *wanted) {
    uint32_t event[ROOM], count = 0;
    for (const char *at = events; *at != '\0'; at++) event[count++] = (uint32_t)(*at - '0');
    struct hd_witness witness = {.event = event, .count = count, .next = next};
    struct hd_error error = {0};
    assert_false(hd_witness_check(m, reading, &query, &witness, &error));
    assert_string_equal(error.message, wanted);
    assert_int_equal(error.code, HD_ERR_FORMAT);
}

/* Each rule names the event and says what is wrong, in one line. */
static void complaints(void **state) {
    (void)state;
    static const char words[] = "A|acq(l)\nA|w(x)\nA|rel(l)\nB|tryfail(m)\nB|acq(l)\nB|r(x)\n"
                                "A|signal(c)\nB|wait(c)\nB|w(x)\n";
    struct hd_trace trace;
    struct hd_model m;
    struct hd_error error = {0};
    assert_true(hd_trace_read(words, strlen(words), "words", NULL, &trace, &error));
    assert_true(hd_model_build(&trace, NULL, &m, &error));
    struct hd_stop stop[] = {{1, false}, {5, false}};
    struct hd_precedes order[] = {{5, 2}};
    struct hd_query none = {.reader = HD_NONE}, race = {stop, 2, NULL, 0, HD_NONE, HD_NONE, NULL};
    struct hd_query ordered = {NULL, 0, order, 1, HD_NONE, HD_NONE, NULL};
    struct hd_query reads = {NULL, 0, NULL, 0, 5, 8, NULL};
    expect_words(&m, HD_CSR, none, 0, "01:", "event 10 breaks rule form: the trace has 9 events");
    expect_words(&m, HD_CSR, none, 0, "1",
                 "event 1 (w by A) breaks rule program-order: event 0 (acq by A) comes first");
    expect_words(&m, HD_CSR, none, 0, "010",
                 "event 0 (acq by A) breaks rule program-order: it was executed before");
    expect_words(&m, HD_CSR, none, 0, "034",
                 "event 4 (acq by B) breaks rule lock: the section of event 0 (acq by A) is open");
    expect_words(&m, HD_CDSR, none, 0, "345",
                 "event 5 (r by B) breaks rule reads-from: it would read from the initial value, "
                 "not event 1 (w by A)");
    expect_words(&m, HD_CSR, none, 0, "3457",
                 "event 7 (wait by B) breaks rule must-order: event 6 (signal by A) has to come "
                 "before it");
    expect_words(&m, HD_CSR, race, 2, "01315",
                 "event 1 (w by A) breaks rule stop: it has to be next but is executed");
    expect_words(
        &m, HD_CSR, race, 2, "0315",
        "event 5 (r by B) breaks rule stop: it has to be next but its thread is at event 4 "
        "(acq by B)");
    expect_words(
        &m, HD_CSR, ordered, 0, "012",
        "event 2 (rel by A) breaks rule order: the query wants event 5 (r by B) before it");
    expect_words(&m, HD_CSR, ordered, 0, "345",
                 "event 2 (rel by A) breaks rule order: it is not executed");
    expect_words(&m, HD_CSR, reads, 0, "345",
                 "event 5 (r by B) breaks rule reader: it does not see event 8 (w by B)");
    expect_words(&m, HD_CSR, reads, 0, "34",
                 "event 5 (r by B) breaks rule reader: it is not executed");
    struct hd_query of_write = {NULL, 0, NULL, 0, 8, HD_NONE, NULL};
    expect_words(&m, HD_CSR, of_write, 0, "34", "event 8 (w by B) breaks rule form: it is no read");
    struct hd_query from_read = {NULL, 0, NULL, 0, 5, 5, NULL};
    expect_words(&m, HD_CSR, from_read, 0, "34",
                 "event 5 (r by B) breaks rule form: it is no write");
    struct hd_stop twice[] = {{1, false}, {2, true}}, far = {9, true};
    struct hd_query one_thread = {twice, 2, NULL, 0, HD_NONE, HD_NONE, NULL};
    expect_words(&m, HD_CSR, one_thread, 0, "",
                 "event 2 (rel by A) breaks rule form: its thread also stops at event 1 (w by A)");
    struct hd_query beyond = {&far, 1, NULL, 0, HD_NONE, HD_NONE, NULL};
    expect_words(&m, HD_CSR, beyond, 0, "", "event 9 breaks rule form: the trace has 9 events");
    expect_words(&m, HD_CSR, none, 3, "01",
                 "a witness of 2 events, 3 of them next, breaks rule form");
    hd_model_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_and_broken),
                                       cmocka_unit_test(all_sequences),
                                       cmocka_unit_test(complaints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
