/* The enumerator that exploring is checked by (oracle/concurrent_search.h), checked itself: against
 * every schedule one by one, and against counts that are known. */
#include "oracle/concurrent_random.h"
#include "oracle/concurrent_search.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct concurrent program;

static void parse(const char *text) { assert_int_equal(concurrent_parse(text, &program), 0); }

static size_t classes_of(const char *text) {
    struct concurrent_search search = {.limit = 1000000};
    parse(text);
    concurrent_search(&search, &program);
    assert_false(search.cut || search.misused || search.deadlocks);
    size_t count = search.classes.count;
    assert_int_equal(count, search.values.count);
    concurrent_search_free(&search);
    return count;
}

static void known_counts(void **state) {
    (void)state;
    /* two increments and what is left of them: the second saw the first, in either order, or
     * neither saw the other, and either was the last */
    assert_int_equal(classes_of("thread\nr0 = x\nx = 1\nthread\nr0 = x\nx = 2\nfinally\nr0 = x\n"),
                     4);
    assert_int_equal(
        classes_of("thread\nr0 = x\nx = 1\nthread\nr0 = x\nx = 2\nthread\nr0 = x\nx = 3\n"
                   "finally\nr0 = x\n"),
        27);
    /* store buffering without a store buffer */
    assert_int_equal(classes_of("thread\nstore a 1\nr0 = load b\nthread\nstore b 2\nr0 = load a\n"),
                     3);
    /* n! orders of fetch-adds */
    assert_int_equal(
        classes_of("thread\nr0 = add a 64\nthread\nr0 = add a 128\nthread\nr0 = add a 256\n"), 6);
    /* a lock makes the increments atomic */
    assert_int_equal(
        classes_of("thread\nlock m\nr0 = x\nx = 1\nunlock m\nthread\nlock m\nr0 = x\nx = 2\n"
                   "unlock m\n"),
        2);
    /* one of n compare-and-exchanges succeeds */
    assert_int_equal(
        classes_of("thread\nr0 = cas a 0 1\nthread\nr0 = cas a 0 2\nthread\nr0 = cas a 0 3\n"), 3);
}

static void failures(void **state) {
    (void)state;
    struct concurrent_search search = {.limit = 1000};
    parse(
        "thread\nlock m\nlock n\nunlock n\nunlock m\nthread\nlock n\nlock m\nunlock m\nunlock n\n");
    concurrent_search(&search, &program);
    assert_true(search.deadlocks && !search.hangs);
    assert_int_equal(search.classes.count, 1);
    concurrent_search_free(&search);

    search = (struct concurrent_search){.limit = 1000};
    parse("thread\nspin a != 0\nthread\nr0 = x\n");
    concurrent_search(&search, &program);
    assert_true(search.hangs);
    concurrent_search_free(&search);

    /* the second assertion fails only where the first thread has not aborted yet */
    for (int late = 0; late < 2; late++) {
        search = (struct concurrent_search){.limit = 1000, .late = late};
        parse("thread\nr0 = add a 64\nassert r0 != 0\nthread\nr0 = load a\nassert r0 == 0\n");
        concurrent_search(&search, &program);
        assert_true(search.failed[3]);
        assert_int_equal(search.failed[6], late);
        concurrent_search_free(&search);
    }
}

/* A signal wakes one waiter, either of them; without a signal a waiter does not go on. */
static void waiting(void **state) {
    (void)state;
    struct concurrent_search search = {.limit = 10000};
    parse(
        "thread\nlock m\nawait x != 0 s m\nunlock m\nthread\nlock m\nx = 1\nunlock m\nsignal s\n");
    concurrent_search(&search, &program);
    assert_false(search.deadlocks);
    assert_int_equal(search.classes.count, 2);
    concurrent_search_free(&search);
    search = (struct concurrent_search){.limit = 10000};
    parse("thread\nlock m\nawait x != 0 s m\nunlock m\nthread\nlock m\nx = 1\nunlock m\n");
    concurrent_search(&search, &program);
    assert_true(search.deadlocks);
    concurrent_search_free(&search);
    /* the signal may come between the look and the wait if it is given under another lock */
    search = (struct concurrent_search){.limit = 10000};
    parse(
        "thread\nlock n\nx = 1\nsignal s\nunlock n\nthread\nlock m\nawait x != 0 s m\nunlock m\n");
    concurrent_search(&search, &program);
    assert_true(search.deadlocks);
    concurrent_search_free(&search);
}

static void not_understood(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "r0 = x\n",
                                      "thread\nr9 = x\n",
                                      "thread\nif r0 == 1\n",
                                      "thread\nend\n",
                                      "thread\nr0 = cas a 1\n",
                                      "thread\nlock x\n",
                                      "thread\nawait a == 1 s m\n",
                                      "finally\nthread\n",
                                      "thread\nif r0 == 1\nelse\nelse\nend\n",
                                      "thread\nx = 1234567890123\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_not_equal(concurrent_parse(bad[i], &program), 0);
}

/* Random programs, by remembered states and by every schedule; the generator brings everything. */
static void every_schedule(void **state) {
    (void)state;
    static struct random_program random;
    char text[8192];
    unsigned compared = 0, deadlocks = 0, failing = 0, has[OP_ASSERT + 1] = {0};
    for (unsigned seed = 1; seed <= 900; seed++) {
        struct concurrent_search search = {.limit = 20000}, naive = {.limit = 20000, .naive = true};
        random_make(&random, seed, seed % 3 != 0, text, sizeof text);
        parse(text);
        for (unsigned t = 0; t < program.threads; t++)
            for (unsigned s = 0; s < program.steps[t]; s++) has[program.step[t][s].op]++;
        concurrent_search(&naive, &program);
        if (!naive.cut) {
            concurrent_search(&search, &program);
            compared++;
            deadlocks += search.deadlocks;
            bool same = search.deadlocks == naive.deadlocks && search.hangs == naive.hangs &&
                        search.classes.count == naive.classes.count &&
                        memcmp(search.failed, naive.failed, sizeof search.failed) == 0;
            for (size_t i = 0; i < naive.classes.size; i++)
                if ((naive.classes.key[i][0] | naive.classes.key[i][1]) != 0 &&
                    concurrent_set_add(&search.classes, naive.classes.key[i]))
                    same = false;
            if (!same) fail_msg("seed %u:\n%s", seed, text);
            for (unsigned line = 0; line < 256; line++) failing += search.failed[line];
            concurrent_search_free(&search);
        }
        concurrent_search_free(&naive);
    }
    print_message("%u of 900 compared, %u deadlocks, %u assertions fail\n", compared, deadlocks,
                  failing);
    assert_true(compared > 200 && deadlocks > 20 && failing > 20);
    for (unsigned op = 0; op <= OP_ASSERT; op++)
        if (has[op] < 40) fail_msg("operation %u is there %u times only", op, has[op]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_counts),   cmocka_unit_test(failures),
        cmocka_unit_test(waiting),        cmocka_unit_test(not_understood),
        cmocka_unit_test(every_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
