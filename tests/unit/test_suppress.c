/* Suppressions and baselines: patterns, entries of ThreadSanitizer and Valgrind, what they hide,
 * and what is wrong in a file. */
#include "finding/hide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* ---- patterns ------------------------------------------------------------------------------- */

static void patterns(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool fits;
    } row[] = {{"foo", "foo", true},
               {"foo", "a_foo_b", true},
               {"foo", "fo", false},
               {"^foo", "foobar", true},
               {"^foo", "a foo", false},
               {"foo$", "barfoo", true},
               {"foo$", "foobar", false},
               {"^foo$", "foo", true},
               {"^foo$", "foofoo", false},
               {"f*o", "fo", true},
               {"f*o", "xfabcox", true},
               {"^f*o$", "fao", true},
               {"^f*o$", "faob", false},
               {"a*b$", "abxb", true}, /* the star takes more, where the first b is not the end */
               {"^a*b*c$", "aXbYbZc", true},
               {"^a*b*c$", "aXbYbZ", false},
               {"*", "anything", true},
               {"src/*.c$", "/home/me/src/a/b.c", true},
               {"foo", "", false},
               {"operator*", "operator*", true}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (hd_suppression_fits(row[i].pattern, row[i].text) != row[i].fits)
            fail_msg("'%s' and '%s': not %d", row[i].pattern, row[i].text, row[i].fits);
    assert_false(hd_suppression_fits("x", NULL));
}

/* ---- findings ------------------------------------------------------------------------------- */

static struct hd_frame stack[] = {
    {.function = "cache_get", .file = "src/cache.c", .line = 7, .module = "app"},
    {.function = "lookup", .file = "src/cache.c", .line = 30, .module = "libcache.so.2"},
    {.function = "worker", .file = "src/main.c", .line = 99, .module = "app"}};

static void add(struct hd_findings *findings, enum hd_finding_kind kind, const char *variable) {
    struct hd_finding_event *event = hd_arena_zalloc(&findings->arena, 2, sizeof *event);
    event[0] = (struct hd_finding_event){.thread = "T1",
                                         .op = "w",
                                         .verb = "writes",
                                         .variable = variable,
                                         .file = "src/cache.c",
                                         .site = "src/cache.c:7",
                                         .line = 7,
                                         .function = "cache_get",
                                         .frame = stack,
                                         .frames = 3};
    event[1] = (struct hd_finding_event){.thread = "T2",
                                         .op = "r",
                                         .verb = "reads",
                                         .variable = variable,
                                         .file = "src/stat.c",
                                         .site = "src/stat.c:3",
                                         .line = 3,
                                         .function = "stat_all"};
    struct hd_finding draft = {.kind = kind,
                               .verdict = HD_VERDICT_FEASIBLE,
                               .engine = "test",
                               .event = event,
                               .events = 2};
    hd_finding_add(findings, &draft);
    hd_findings_fingerprint(findings);
}

/* Is a race on `hits` and a deadlock on `lock` hidden by the text? */
static void expect_hidden(const char *text, bool race, bool deadlock) {
    struct hd_findings findings = {0};
    struct hd_hiding hiding = {0};
    struct hd_error error;
    add(&findings, HD_FINDING_RACE, "hits");
    add(&findings, HD_FINDING_DEADLOCK, "lock");
    if (!hd_suppressions_parse(&hiding.suppressions, "s", text, strlen(text), &error))
        fail_msg("%s: %s", text, error.message);
    hd_findings_hide(&findings, &hiding);
    if (findings.hidden.size != (size_t)(race + deadlock) ||
        (findings.list.size == 1 &&
         findings.list.data[0].kind != (race ? HD_FINDING_DEADLOCK : HD_FINDING_RACE)))
        fail_msg("'%s' hides %zu", text, findings.hidden.size);
    hd_hiding_free(&hiding);
    hd_findings_free(&findings);
}

static void entries(void **state) {
    (void)state;
    expect_hidden("race:hits\n", true, false);
    expect_hidden("race:cache_get", true, false);
    expect_hidden("race:src/cache.c", true, false);
    expect_hidden("race:worker", true, false); /* the outermost frame */
    expect_hidden("race:stat_all", true, false);
    expect_hidden("race:libcache", true, false);
    expect_hidden("race:nobody", false, false);
    expect_hidden("race_top:worker", false, false);
    expect_hidden("race_top:cache_get", true, false);
    expect_hidden("deadlock:worker", false, true);
    expect_hidden("any:worker", true, true);
    expect_hidden("called_from_lib:libcache.so", true, true);
    expect_hidden("called_from_lib:worker", false, false);
    expect_hidden("thread:worker\nmutex:worker\nsignal:worker", false, false);
    expect_hidden("atomicity:*", false, false);
    expect_hidden("  race:hits   # a reason\r\n\r\n", true, false);
    expect_hidden("", false, false);
}

static void valgrind(void **state) {
    (void)state;
    expect_hidden("{\n  name\n  Helgrind:Race\n  fun:cache_get\n}\n", true, false);
    expect_hidden("{\n  name\n  Helgrind:Race\n  fun:cache_*\n  ...\n  fun:worker\n}\n", true,
                  false);
    expect_hidden("{\n  name\n  Helgrind:Race\n  ...\n  fun:worker\n}", true, false);
    expect_hidden("{\n  name\n  Helgrind:Race\n  fun:worker\n}", false, false); /* not innermost */
    expect_hidden("{\n n\n Helgrind:Race\n fun:cache_get\n fun:worker\n}", false, false);
    expect_hidden("{\n n\n drd:ConflictingAccess\n src:cache.c:7\n obj:/usr/lib/libcache.so*\n}",
                  true, false);
    expect_hidden("{\n n\n Helgrind:Race\n fun:cache_get\n obj:/usr/lib/libother.so*\n}", false,
                  false);
    expect_hidden("{\n n\n Helgrind:LockOrder\n ...\n fun:lookup\n}", false, true);
    expect_hidden("{\n n\n Memcheck:Leak\n match-leak-kinds: all\n fun:cache_get\n}", false, false);
    /* frames below the thread's function are not in heddle's stacks */
    expect_hidden("{\n n\n Helgrind:Race\n fun:cache_get\n fun:lookup\n fun:worker\n"
                  " fun:mythread_wrapper\n fun:start_thread\n fun:clone\n}",
                  true, false);
    expect_hidden("{\n n\n Helgrind:Race\n fun:cache_get\n fun:lookup\n fun:worker\n fun:more\n}",
                  false, false);
    expect_hidden("race:nobody\n{\n n\n Helgrind:Race\n fun:cache_get\n}\ndeadlock:lock", true,
                  true);
}

static void reasons(void **state) {
    (void)state;
    static const char text[] = "# above\nrace:hits\n\n# of nothing\n\ndeadlock:lock  # beside\n"
                               "# above all\n{\n n\n Helgrind:Race\n fun:no\n}\nfailure:heap#3\n";
    struct hd_suppressions read = {0};
    struct hd_error error;
    assert_true(hd_suppressions_parse(&read, "s", text, strlen(text), &error));
    assert_int_equal(read.list.size, 4);
    assert_string_equal(read.list.data[0].reason, "above");
    assert_int_equal(read.list.data[0].line, 2);
    assert_string_equal(read.list.data[1].reason, "beside");
    assert_string_equal(read.list.data[1].text, "deadlock:lock");
    assert_int_equal(read.list.data[1].line, 6);
    assert_string_equal(read.list.data[2].reason, "above all");
    assert_string_equal(read.list.data[3].text, "failure:heap#3");
    assert_string_equal(read.list.data[3].reason, "");
    assert_int_equal(read.list.data[3].line, 13);
    hd_suppressions_free(&read);
}

static void mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } row[] = {{"race:a\nrcae:b\n", "s:2: 'rcae' is no kind of suppression; did you mean 'race'?"},
               {"xyzzy:b", "s:1: 'xyzzy' is no kind of suppression; race:FUNCTION_OR_FILE is one"},
               {"\n\nworker\n", "s:3: 'worker' is not KIND:PATTERN, as in race:worker"},
               {"race:", "s:1: 'race:' has no pattern; race:* hides every finding of the kind"},
               {"race:^$", "s:1: 'race:^$' has no pattern; race:* hides every finding of the kind"},
               {"{\nn\nHelgrind:Race\nfun:a\n", "s:1: this entry has no closing '}'"},
               {"{\n", "s:1: this entry has no closing '}'"},
               {"{\n}\n", "s:1: this entry has no name"},
               {"{\nn\nfun\n}", "s:3: 'fun' is not TOOL:KIND, as in Helgrind:Race"},
               {"{\nn\nHelgrind:Race\n}\n", "s:1: this entry has no frames"},
               {"{\nn\nHelgrind:Race\nfn:a\n}\n",
                "s:4: 'fn:a' is no frame: fun:NAME, obj:FILE, src:FILE or ..."}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct hd_suppressions read = {0};
        struct hd_error error;
        assert_false(hd_suppressions_parse(&read, "s", row[i].text, strlen(row[i].text), &error));
        assert_string_equal(error.message, row[i].message);
        hd_suppressions_free(&read);
    }
    struct hd_suppressions read = {0};
    struct hd_error error;
    assert_false(hd_suppressions_parse(&read, "s", "a\0b", 3, &error));
    assert_false(hd_suppressions_read(&read, "/no/such/file", &error));
    hd_suppressions_free(&read);
}

/* ---- baselines ------------------------------------------------------------------------------ */

static void baseline(void **state) {
    (void)state;
    struct hd_findings findings = {0};
    struct hd_hiding hiding = {.baseline.path = "old.json"};
    struct hd_findings *old = &hiding.baseline.file.findings;
    add(&findings, HD_FINDING_RACE, "hits");
    add(&findings, HD_FINDING_RACE, "misses");
    findings.looked_for[HD_FINDING_RACE] = true;
    add(old, HD_FINDING_RACE, "misses");
    add(old, HD_FINDING_RACE, "gone");
    add(old, HD_FINDING_DEADLOCK, "lock"); /* was not looked for now */
    hd_findings_hide(&findings, &hiding);
    assert_int_equal(findings.list.size, 1);
    assert_string_equal(findings.list.data[0].variable, "hits");
    assert_int_equal(hiding.baseline.hidden, 1);
    assert_int_equal(hiding.baseline.gones, 1);
    assert_string_equal(hiding.baseline.gone[0]->variable, "gone");
    hd_hiding_free(&hiding);
    hd_findings_free(&findings);
}

/* Others that fail in the same way as a hidden finding get a page of their own. */
static void same_as_hidden(void **state) {
    (void)state;
    struct hd_findings findings = {0};
    struct hd_hiding hiding = {0};
    struct hd_error error;
    struct hd_finding_forced forced[3];
    static const char *const name[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) add(&findings, HD_FINDING_RACE, name[i]);
    char print[32];
    memcpy(print, findings.list.data[0].fingerprint, sizeof print);
    for (int i = 0; i < 3; i++) {
        forced[i] = (struct hd_finding_forced){.failed = true, .same_as = i > 0 ? print : ""};
        findings.list.data[i].forced = &forced[i];
    }
    assert_true(hd_suppressions_parse(&hiding.suppressions, "s", "race:^a$", 8, &error));
    hd_findings_hide(&findings, &hiding);
    assert_int_equal(findings.list.size, 2);
    assert_string_equal(forced[1].same_as, "");
    assert_string_equal(forced[2].same_as, findings.list.data[0].fingerprint);
    hd_hiding_free(&hiding);
    hd_findings_free(&findings);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns),      cmocka_unit_test(entries),
                                       cmocka_unit_test(valgrind),      cmocka_unit_test(reasons),
                                       cmocka_unit_test(mistakes),      cmocka_unit_test(baseline),
                                       cmocka_unit_test(same_as_hidden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
