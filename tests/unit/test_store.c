/* The store: what it says became of findings is compared with the definition, by brute force; many
 * processes write at once and are killed; damaged, foreign and old files. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/whole_file.h"
#include "store/changes.h"
#include "support/dice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- made-up runs ---------------------------------------------------------------------------- */

static char *body(const struct hd_finding *finding) {
    return hd_format("{\"kind\": \"%s\", \"verdict\": \"%s\", \"fingerprint\": \"%s\","
                     " \"instances\": 1, \"variable\": \"x\", \"events\": []}",
                     hd_finding_kind_name(finding->kind), hd_finding_verdict_name(finding->verdict),
                     finding->fingerprint);
}

struct made {
    const char *settings, *build, *format;
    bool asked, partial;
    unsigned seen; /* findings f0, f1, ... */
};

/* Adds a run; its number. */
static int64_t add(struct hd_store *store, const struct made *made) {
    struct hd_findings findings = {.looked_for = {false}};
    findings.looked_for[made->asked ? HD_FINDING_RACE : HD_FINDING_DEADLOCK] = true;
    for (unsigned i = 0; i < 32; i++) {
        if ((made->seen & 1u << i) == 0) continue;
        struct hd_finding draft = {.kind = HD_FINDING_RACE, .verdict = HD_VERDICT_FEASIBLE};
        struct hd_finding *finding = hd_finding_add(&findings, &draft);
        snprintf(finding->fingerprint, sizeof finding->fingerprint, "f%u", i);
    }
    struct hd_store_run run = {.project = "default",
                               .tool = "predict",
                               .target = "./app",
                               .settings = made->settings,
                               .version = "0",
                               .format = made->format != NULL ? made->format : "binary",
                               .build = made->build,
                               .started = 1700000000,
                               .partial = made->partial};
    struct hd_store_added added;
    struct hd_error error;
    if (!hd_store_add_run(store, &run, &findings, body, &added, &error))
        fail_msg("%s", error.message);
    hd_findings_free(&findings);
    return added.run;
}

static struct hd_store *open_good(const char *path) {
    struct hd_error error = {.code = HD_OK};
    struct hd_store *store = hd_store_open(path, HD_STORE_KEEP, &error);
    if (store == NULL) fail_msg("%s", error.message);
    return store;
}

static struct hd_changes read_good(struct hd_store *store, const char *since) {
    struct hd_changes changes;
    struct hd_error error;
    if (!hd_changes_read(store, "default", since, &changes, &error)) fail_msg("%s", error.message);
    return changes;
}

static const struct hd_changes_finding *find(const struct hd_changes *changes, const char *print) {
    for (size_t i = 0; i < changes->list.size; i++)
        if (strcmp(changes->list.data[i].finding->fingerprint, print) == 0)
            return &changes->list.data[i];
    return NULL;
}

/* ---- what became of findings ----------------------------------------------------------------- */

static void new_fixed_and_back(void **state) {
    (void)state;
    struct hd_store *store = open_good("story.db");
    add(store, &(struct made){"", "b1", NULL, true, false, 1}); /* 1: f0 */
    add(store, &(struct made){"", "b1", NULL, true, false, 2}); /* 2: the same build: f0 stays */
    add(store, &(struct made){"", "b2", NULL, true, true, 2});  /* 3: not whole */
    add(store, &(struct made){"--all", "b2", NULL, true, false, 2}); /* 4: other settings */
    add(store, &(struct made){"", "b2", NULL, false, false, 2});     /* 5: another kind */
    add(store, &(struct made){"", NULL, NULL, true, false, 2});      /* 6: of an unknown build */
    struct hd_changes changes = read_good(store, "1");
    assert_int_equal(changes.count[HD_CHANGE_STILL], 1);
    assert_int_equal(changes.count[HD_CHANGE_NEW], 1);
    assert_int_equal(changes.count[HD_CHANGE_FIXED], 0);
    assert_int_equal(find(&changes, "f0")->unseen, HD_UNSEEN_SAME_BUILD);
    assert_int_equal(find(&changes, "f0")->unseen_by, 2);
    hd_changes_free(&changes);
    add(store, &(struct made){"", "b3", NULL, true, false, 2}); /* 7: fixes f0 */
    changes = read_good(store, "last");
    assert_int_equal(changes.since, 6);
    assert_int_equal(find(&changes, "f0")->change, HD_CHANGE_FIXED);
    assert_int_equal(find(&changes, "f0")->fixed_by, 7);
    assert_int_equal(find(&changes, "f1")->change, HD_CHANGE_STILL);
    assert_int_equal(changes.run.data[6].fixed, 1);
    assert_int_equal(changes.run.data[6].there, 1);
    hd_changes_free(&changes);
    add(store, &(struct made){"", "b4", NULL, true, false, 3}); /* 8: it is back */
    changes = read_good(store, "last");
    assert_int_equal(find(&changes, "f0")->change, HD_CHANGE_BACK);
    assert_int_equal(find(&changes, "f0")->fixed_by, 7);
    assert_int_equal(find(&changes, "f0")->sightings, 2);
    hd_changes_free(&changes);
    /* Days. */
    changes = read_good(store, "2001-01-01");
    assert_int_equal(changes.since, 0);
    hd_changes_free(&changes);
    changes = read_good(store, "2090-01-01 10:00");
    assert_int_equal(changes.since, 8);
    hd_changes_free(&changes);
    struct hd_error error;
    assert_false(hd_changes_read(store, "default", "9", &changes, &error));
    assert_false(hd_changes_read(store, "default", "yesterday", &changes, &error));
    assert_false(hd_changes_read(store, "other", NULL, &changes, &error));
    hd_store_close(store);
}

/* By the definition: the state of finding `f` after run `now`, runs counted from 0. */
enum state { ABSENT, THERE, FIXED };
static enum state state_after(const struct made *run, int now, unsigned f) {
    int saw = now;
    while (saw >= 0 && (run[saw].seen & 1u << f) == 0) saw--;
    if (saw < 0) return ABSENT;
    for (int n = saw + 1; n <= now; n++) {
        bool same_series = strcmp(run[n].settings, run[saw].settings) == 0;
        bool source = run[n].format != NULL;
        bool builds = source || (run[n].build != NULL && run[saw].build != NULL &&
                                 strcmp(run[n].build, run[saw].build) != 0);
        if (same_series && run[n].asked && !run[n].partial && builds) return FIXED;
    }
    return THERE;
}

static enum hd_change change_by_definition(const struct made *run, int runs, int since,
                                           unsigned f) {
    int turn = runs - 1; /* the last run that changed the state */
    enum state end = state_after(run, turn, f);
    /* A run that sees it begins a new stay only if it was not there. */
    while (turn > 0 && state_after(run, turn - 1, f) == end) turn--;
    if (end == FIXED) return turn + 1 > since ? HD_CHANGE_FIXED : HD_CHANGE_EARLIER;
    if (turn + 1 <= since) return HD_CHANGE_STILL;
    return turn > 0 && state_after(run, turn - 1, f) == FIXED ? HD_CHANGE_BACK : HD_CHANGE_NEW;
}

static void against_the_definition(void **state) {
    (void)state;
    static const char *const build[] = {"b1", "b2", "b3", NULL};
    struct dice dice = {18};
    unsigned found[HD_CHANGE_COUNT] = {0};
    for (int round = 0; round < 20; round++) {
        char path[32];
        snprintf(path, sizeof path, "random%d.db", round);
        struct hd_store *store = open_good(path);
        struct made run[14];
        int runs = 2 + (int)roll(&dice, 13), since = (int)roll(&dice, (unsigned)runs);
        for (int i = 0; i < runs; i++) {
            unsigned seen = 0;
            for (unsigned f = 0; f < 12; f++) seen |= (unsigned)(roll(&dice, 6) == 0) << f;
            run[i] = (struct made){.settings = roll(&dice, 4) == 0 ? "--all" : "",
                                   .build = build[roll(&dice, 4)],
                                   .format = roll(&dice, 8) == 0 ? "source" : NULL,
                                   .asked = roll(&dice, 6) != 0,
                                   .partial = roll(&dice, 6) == 0,
                                   .seen = seen};
            assert_int_equal(add(store, &run[i]), i + 1);
        }
        char number[16];
        snprintf(number, sizeof number, "%d", since);
        struct hd_changes changes = read_good(store, number);
        for (unsigned f = 0; f < 12; f++) {
            char print[8];
            snprintf(print, sizeof print, "f%u", f);
            const struct hd_changes_finding *got = find(&changes, print);
            if (got == NULL) {
                assert_int_equal(state_after(run, runs - 1, f), ABSENT);
                continue;
            }
            assert_int_equal(got->change, change_by_definition(run, runs, since, f));
            found[got->change]++;
        }
        uint32_t there = 0;
        for (unsigned f = 0; f < 12; f++) there += state_after(run, runs - 1, f) == THERE;
        assert_int_equal(changes.run.data[runs - 1].there, there);
        hd_changes_free(&changes);
        hd_store_close(store);
    }
    for (unsigned i = 0; i < HD_CHANGE_COUNT; i++) assert_true(found[i] >= 5);
}

/* ---- many writers ---------------------------------------------------------------------------- */

#define WRITERS 8
#define RUNS 8
#define MANY 0xffffffu /* 24 findings: most of the time goes into writing them */

/* Writes runs until it is killed; a byte to the pipe for each that is in the store. */
static void writer(const char *path, int number, int done) {
    for (int i = 0; i < RUNS; i++) {
        struct hd_error error;
        struct hd_store *store = hd_store_open(path, HD_STORE_KEEP, &error);
        if (store == NULL) {
            fprintf(stderr, "%s\n", error.message);
            _exit(1);
        }
        int64_t run = add(store, &(struct made){"", "b1", NULL, true, false, MANY << number});
        if (write(done, &run, sizeof run) != sizeof run) _exit(1);
        hd_store_close(store);
    }
    _exit(0);
}

static void nothing_is_lost(void **state) {
    (void)state;
    int done[2], status, failed = 0, killed = 0;
    assert_int_equal(pipe(done), 0);
    pid_t child[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        child[i] = fork();
        if (child[i] == 0) writer("many.db", i, done[1]);
    }
    close(done[1]);
    int64_t run;
    HD_VECTOR(int64_t) said = {0};
    while (read(done[0], &run, sizeof run) == sizeof run) {
        hd_vector_push(&said, run);
        /* Three of them are killed in the midst of it. */
        if (said.size == 5 || said.size == 12 || said.size == 30) kill(child[killed++], SIGKILL);
    }
    close(done[0]);
    for (int i = 0; i < WRITERS; i++) {
        waitpid(child[i], &status, 0);
        failed += WIFEXITED(status) && WEXITSTATUS(status) != 0;
    }
    assert_int_equal(failed, 0);
    assert_true(said.size >= (WRITERS - 3) * RUNS);
    struct hd_store *store = open_good("many.db");
    struct hd_changes changes = read_good(store, NULL);
    /* A killed one may have written one that it could not tell. */
    assert_in_range(changes.run.size, said.size, said.size + 3);
    for (size_t i = 0; i < said.size; i++) assert_non_null(hd_changes_run(&changes, said.data[i]));
    /* Each run is there with all its findings. */
    assert_int_equal(changes.sighting.size, 24 * changes.run.size);
    hd_changes_free(&changes);
    hd_store_close(store);
    hd_vector_free(&said);
}

static char *one_more(const char *old, size_t bytes, void *context, struct hd_error *error) {
    (void)context;
    (void)error;
    assert_true(old == NULL || strlen(old) == bytes);
    return hd_format("%d", old != NULL ? atoi(old) + 1 : 1);
}

static bool take(const char *target, const char *text, size_t bytes, void *context,
                 struct hd_error *error) {
    (void)target;
    (void)bytes;
    (void)error;
    *(int *)context += atoi(text);
    return true;
}

static void kept_is_changed_by_one_at_a_time(void **state) {
    (void)state;
    struct hd_error error;
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            for (int k = 0; k < 10; k++) {
                struct hd_store *store = hd_store_open("kept.db", HD_STORE_KEEP, &error);
                if (store == NULL ||
                    !hd_store_keep(store, "default", HD_STORE_INVARIANTS, k % 2 ? "app" : "other",
                                   one_more, NULL, &error)) {
                    fprintf(stderr, "%s\n", error.message);
                    _exit(1);
                }
                hd_store_close(store);
            }
            _exit(0);
        }
    for (int i = 0, status; i < 4; i++) {
        wait(&status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct hd_store *store = open_good("kept.db");
    int sum = 0, one = 0;
    assert_true(
        hd_store_each_kept(store, "default", HD_STORE_INVARIANTS, NULL, take, &sum, &error));
    assert_true(
        hd_store_each_kept(store, "default", HD_STORE_INVARIANTS, "app", take, &one, &error));
    assert_int_equal(sum, 40);
    assert_int_equal(one, 20);
    hd_store_close(store);
}

/* ---- files that are not as they should be ---------------------------------------------------- */

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db;
    char *words = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &words) != SQLITE_OK) fail_msg("%s", words);
    sqlite3_close(db);
}

static void expect_refused(const char *path, enum hd_code code, const char *words) {
    struct hd_error error = {.code = HD_OK};
    struct hd_store *store = hd_store_open(path, HD_STORE_KEEP, &error);
    assert_null(store);
    if (error.code != code || strstr(error.message, words) == NULL)
        fail_msg("%s: code %d: %s", path, error.code, error.message);
}

static void old_versions(void **state) {
    (void)state;
    struct hd_error error;
    char *sql = hd_whole_file_read(HEDDLE_SOURCE_DIR "/tests/support/store_version_1.sql", 1 << 20,
                                   &(size_t){0}, &error);
    assert_non_null(sql);
    run_sql("old.db", sql);
    free(sql);
    struct hd_store *store = open_good("old.db");
    int64_t run = add(store, &(struct made){"", "b2", NULL, true, false, 1});
    assert_int_equal(run, 2);
    struct hd_changes changes = read_good(store, "last");
    assert_int_equal(changes.list.size, 2);
    assert_int_equal(find(&changes, "f1")->change, HD_CHANGE_FIXED);
    assert_string_equal(changes.run.data[0].trace, "app.hdt");
    hd_changes_free(&changes);
    /* What is new in version 2 works. */
    uint32_t count;
    assert_true(hd_store_accept(store, "default", &count, &error));
    assert_int_equal(count, 1);
    char *accepted = hd_store_accepted(store, "default", &error);
    assert_non_null(accepted);
    assert_non_null(strstr(accepted, "\"f0\""));
    assert_null(strstr(accepted, "\"f1\""));
    free(accepted);
    hd_store_close(store);
    /* Once more, and a version that is not known yet. */
    hd_store_close(open_good("old.db"));
    run_sql("old.db", "PRAGMA user_version = 3");
    expect_refused("old.db", HD_ERR_UNSUPPORTED, "newer heddle (version 3");
}

static void foreign_files(void **state) {
    (void)state;
    struct hd_error error;
    run_sql("browser.db", "CREATE TABLE history (url TEXT); INSERT INTO history VALUES ('x')");
    expect_refused("browser.db", HD_ERR_FORMAT, "a database of something else");
    assert_true(hd_whole_file_write("app.c", "int main(void) { return 0; }\n", &error));
    expect_refused("app.c", HD_ERR_FORMAT, "app.c is no store of heddle");
    assert_null(hd_store_open("nothing.db", HD_STORE_LOOK, &error));
    assert_non_null(strstr(error.message, "there is no store nothing.db"));
    mkdir("directory.db", 0700);
    expect_refused("directory.db", HD_ERR_USAGE, "no file");
    char *name;
    assert_false(hd_store_set_aside("app.c", &name, &error));
    assert_int_equal(access("app.c", F_OK), 0);
    static const char *const trick[] = {
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM finding; END",
        "CREATE VIEW v AS SELECT * FROM run",
        "CREATE TABLE more (x TEXT)",
        "DROP TABLE baseline",
        "DROP TABLE kept; CREATE VIEW kept AS SELECT 1 AS project",
        "CREATE INDEX i ON finding (body)",
        "ALTER TABLE run ADD COLUMN more TEXT",
    };
    for (size_t i = 0; i < sizeof trick / sizeof *trick; i++) {
        unlink("trick.db");
        struct hd_store *store = open_good("trick.db");
        add(store, &(struct made){"", "b1", NULL, true, false, 1});
        hd_store_close(store);
        run_sql("trick.db", trick[i]);
        expect_refused("trick.db", HD_ERR_FORMAT, "other tables");
    }
    /* Good tables with bad contents. */
    static const char *const content[] = {
        "UPDATE finding SET body = 'nonsense'",
        "UPDATE finding SET body = '{}'",
        "UPDATE finding SET body = body || ',' || body",
        "UPDATE finding SET body = '[' || body",
        "DELETE FROM sighting",
        "UPDATE finding SET body = hex(zeroblob(40000000))", /* slow */
    };
    size_t cases = sizeof content / sizeof *content - (getenv("HEDDLE_TEST_FULL") == NULL);
    for (size_t i = 0; i < cases; i++) {
        unlink("content.db");
        struct hd_store *store = open_good("content.db");
        add(store, &(struct made){"", "b1", NULL, true, false, 1});
        hd_store_close(store);
        run_sql("content.db", content[i]);
        struct hd_changes changes;
        store = open_good("content.db");
        assert_false(hd_changes_read(store, "default", NULL, &changes, &error));
        assert_int_not_equal(strlen(error.message), 0);
        hd_store_close(store);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

static char *read_bytes(const char *path, size_t *bytes) {
    struct hd_error error;
    char *text = hd_whole_file_read(path, 1 << 24, bytes, &error);
    assert_non_null(text);
    return text;
}

static void write_bytes(const char *path, const char *bytes, size_t count) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

/* Opens, reads, writes: whatever happens, it ends with an answer. */
static bool use_it(const char *path, struct hd_error *error) {
    struct hd_changes changes;
    struct hd_store *store = hd_store_open(path, HD_STORE_KEEP, error);
    if (store == NULL) return false;
    bool good = hd_changes_read(store, "default", NULL, &changes, error);
    if (good) hd_changes_free(&changes);
    hd_store_close(store);
    return good;
}

static void damage(void **state) {
    (void)state;
    struct hd_store *store = open_good("whole.db");
    for (unsigned i = 0; i < 20; i++)
        add(store, &(struct made){"", "b1", NULL, true, false, 0x10101u << (i % 8)});
    hd_store_close(store);
    size_t bytes, now;
    char *whole = read_bytes("whole.db", &bytes);
    struct dice dice = {5};
    unsigned refused = 0;
    for (unsigned round = 0; round < 90; round++) {
        struct hd_error error = {.code = HD_OK};
        char *copy = hd_alloc(1, bytes);
        memcpy(copy, whole, bytes);
        size_t length = bytes;
        unsigned flips = round % 3 == 0 ? 0 : 1 + roll(&dice, 30);
        if (flips == 0) length = 1 + roll(&dice, (unsigned)bytes);
        for (unsigned i = 0; i < flips; i++)
            copy[roll(&dice, (unsigned)bytes)] ^= (char)(1 + roll(&dice, 255));
        write_bytes("hurt.db", copy, length);
        if (!use_it("hurt.db", &error)) {
            refused++;
            assert_int_not_equal(strlen(error.message), 0);
            if (error.code == HD_ERR_DAMAGED) {
                /* It was left as it was. */
                char *after = read_bytes("hurt.db", &now);
                assert_int_equal(now, length);
                assert_memory_equal(after, copy, length);
                free(after);
            }
        }
        free(copy);
        unlink("hurt.db");
        unlink("hurt.db-wal");
        unlink("hurt.db-shm");
    }
    assert_true(refused > 60);

    /* A page in the middle is gone: a fresh one only if that is asked for, and the old one is kept.
     */
    memset(whole + 8192, 0, 4096);
    write_bytes("app.db", whole, bytes);
    expect_refused("app.db", HD_ERR_DAMAGED, "the store app.db is damaged");
    struct hd_error error;
    char *name;
    assert_true(hd_store_set_aside("app.db", &name, &error));
    assert_string_equal(name, "app.db.damaged-1");
    char *kept = read_bytes(name, &now);
    assert_int_equal(now, bytes);
    assert_memory_equal(kept, whole, bytes);
    free(kept);
    free(name);
    store = open_good("app.db");
    assert_int_equal(add(store, &(struct made){"", "b1", NULL, true, false, 1}), 1);
    hd_store_close(store);
    /* One that is well stays where it is. */
    assert_true(hd_store_set_aside("app.db", &name, &error));
    assert_null(name);
    assert_true(use_it("app.db", &error));
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(new_fixed_and_back),
                                       cmocka_unit_test(against_the_definition),
                                       cmocka_unit_test(nothing_is_lost),
                                       cmocka_unit_test(kept_is_changed_by_one_at_a_time),
                                       cmocka_unit_test(old_versions),
                                       cmocka_unit_test(foreign_files),
                                       cmocka_unit_test(damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
