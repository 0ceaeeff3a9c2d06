/* Files of invariants: what is read is what was written, keys survive edits elsewhere, files merge,
 * and what is wrong is refused with one line that says where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "facts/patterns.h"
#include "learn/learner.h"

#define HEAD                                                                                  \
    "heddle-invariants/1\n"                                                                   \
    "# Which accesses may not be separated from their thread's previous access to the same\n" \
    "# memory. 'atomic: learned' goes by the runs; write 'yes' or 'no' if you know better.\n"
#define FIRST "heddle-invariants/1\nruns 9\n"

static bool read_text(const char *text, struct hd_invariants *set, struct hd_error *error) {
    return hd_invariants_read(text, strlen(text), "app.inv", set, error);
}

static struct hd_invariants good(const char *text) {
    struct hd_invariants set;
    struct hd_error error;
    if (!read_text(text, &set, &error)) fail_msg("%s", error.message);
    return set;
}

static void a_whole_file(void **state) {
    (void)state;
    static const char text[] =
        HEAD "program app\nruns 20\nthreshold 1\n"
             "read app+0x1234 : executed 1, violated 1, atomic: learned\n"
             "read src/log.c:9:9 in append +4:9 : executed 20, violated 1, atomic: learned\n"
             "write src/log.c:9:9 in append +4:9 : executed 20, violated 2, atomic: learned\n"
             "read src/log.c:57:9 in flush +4:9 : executed 20, violated 3, atomic: yes\n"
             "read src/log.c:57:9 in flush +4:9 with log::len : executed 2, violated 0, atomic: "
             "learned\n"
             "update - in \"pair<int, long>::first\" +0x34 of \"lib \\\"p\\\".so\" : executed 2, "
             "violated 0, atomic: no\n"
             "end\n";
    struct hd_invariants set = good(text);
    assert_int_equal(set.list.size, 6);
    assert_string_equal(set.program, "app");
    assert_int_equal(set.runs, 20);
    const struct hd_invariant *list = set.list.data;
    assert_int_equal(list[1].place.does, HD_DOES_READ);
    assert_string_equal(list[5].place.module, "lib \"p\".so");
    assert_string_equal(list[4].with, "log::len");
    static const bool holds[] = {true, true, false, true, true, false};
    for (unsigned i = 0; i < 6; i++) assert_int_equal(hd_invariant_holds(&set, &list[i]), holds[i]);
    char *written = hd_invariants_write(&set);
    assert_string_equal(written, text);
    free(written);
    hd_invariants_free(&set);
}

/* A person edits: blanks, comments, order. */
static void edited_by_hand(void **state) {
    (void)state;
    struct hd_invariants set =
        good("heddle-invariants/1\r\n\n  # mine\nthreshold 0\nruns 2\n\tread "
             "x\t:  executed 2 , violated 0,  atomic:  no # why\r\nend\n\n");
    assert_int_equal(set.list.size, 1);
    assert_int_equal(set.list.data[0].atomic, HD_ATOMIC_NO);
    hd_invariants_free(&set);
}

static struct hd_place place_at(uint32_t line, uint32_t function_line, const char *file,
                                struct hd_arena *arena) {
    struct hd_frame frame = {.function = "append",
                             .file = file,
                             .line = line,
                             .column = 9,
                             .function_line = function_line,
                             .module = "app"};
    return hd_place_of_frames(&frame, 1, HD_DOES_READ, "app", arena);
}

/* The function moves in its file, or the file to another directory: the same key. The access moves
 * in the function, or does something else: another one. */
static void keys_survive_edits_elsewhere(void **state) {
    (void)state;
    struct hd_arena arena = {0};
    struct hd_place one = place_at(57, 53, "src/log.c", &arena);
    assert_string_equal(one.where, "src/log.c:57:9");
    assert_string_equal(one.within, "+4:9");
    assert_string_equal(one.module, "");
    struct hd_place moved = place_at(157, 153, "lib/log.c", &arena);
    assert_true(hd_place_key(&one) == hd_place_key(&moved));
    struct hd_place deeper = place_at(58, 53, "src/log.c", &arena);
    assert_true(hd_place_key(&one) != hd_place_key(&deeper));
    struct hd_place elsewhere = place_at(57, 53, "src/buffer.c", &arena);
    assert_true(hd_place_key(&one) != hd_place_key(&elsewhere));
    struct hd_place writes = one;
    writes.does = HD_DOES_WRITE;
    assert_true(hd_place_key(&one) != hd_place_key(&writes));
    struct hd_place library = one;
    library.module = "liblog.so";
    assert_true(hd_place_key(&one) != hd_place_key(&library));
    hd_arena_free(&arena);
}

/* Without debug information: the offset in the function; without symbols: that in the module. */
static void keys_without_debug_information(void **state) {
    (void)state;
    struct hd_arena arena = {0};
    struct hd_frame frame = {.function = "append", .function_offset = 0x34, .module = "app"};
    struct hd_place place = hd_place_of_frames(&frame, 1, HD_DOES_READ, "app", &arena);
    assert_string_equal(place.within, "+0x34");
    assert_string_equal(place.where, "-");
    frame.function_offset = 0x38;
    struct hd_place other = hd_place_of_frames(&frame, 1, HD_DOES_READ, "app", &arena);
    assert_true(hd_place_key(&place) != hd_place_key(&other));
    frame = (struct hd_frame){.function = "libp.so+0x1234", .module = "libp.so"};
    place = hd_place_of_frames(&frame, 1, HD_DOES_READ, "app", &arena);
    assert_string_equal(place.where, "libp.so+0x1234");
    assert_string_equal(place.function, "");
    assert_string_equal(place.module, "libp.so");
    hd_arena_free(&arena);
}

static void found_by_key(void **state) {
    (void)state;
    struct hd_invariants set =
        good(FIRST "read src/log.c:57:9 in append +4:9 : executed 9, violated "
                   "0, atomic: learned\nend\n");
    struct hd_arena arena = {0};
    struct hd_place moved = place_at(7, 3, "log.c", &arena),
                    other = place_at(8, 3, "log.c", &arena);
    const struct hd_invariant *found = hd_invariants_find(&set, &moved, "");
    assert_ptr_equal(found, &set.list.data[0]);
    assert_null(hd_invariants_find(&set, &other, ""));
    assert_null(hd_invariants_find(&set, &moved, "x"));
    char words[256];
    hd_invariant_support(found, words, sizeof words);
    assert_string_equal(words,
                        "in 9 of 9 passing runs nothing came between these two in a harmful order");
    hd_arena_free(&arena);
    hd_invariants_free(&set);
}

static void merged(void **state) {
    (void)state;
    struct hd_error error;
    struct hd_invariants a = good(HEAD "program app\nruns 5\nthreshold 0\n"
                                       "read x : executed 5, violated 0, atomic: learned\n"
                                       "read y : executed 4, violated 1, atomic: yes\nend\n");
    struct hd_invariants b = good(HEAD "program app\nruns 7\nthreshold 2\n"
                                       "read x : executed 6, violated 2, atomic: learned\n"
                                       "read y : executed 1, violated 0, atomic: learned\n"
                                       "read z : executed 7, violated 7, atomic: no\nend\n");
    static const char both[] = HEAD "program app\nruns 12\nthreshold 2\n"
                                    "read x : executed 11, violated 2, atomic: learned\n"
                                    "read y : executed 5, violated 1, atomic: yes\n"
                                    "read z : executed 7, violated 7, atomic: no\nend\n";
    struct hd_invariants ab = {.runs = 0}, ba = {.runs = 0};
    assert_true(hd_invariants_merge(&ab, &a, "a", &error));
    assert_true(hd_invariants_merge(&ab, &b, "b", &error));
    assert_true(hd_invariants_merge(&ba, &b, "b", &error));
    assert_true(hd_invariants_merge(&ba, &a, "a", &error));
    char *one = hd_invariants_write(&ab), *other = hd_invariants_write(&ba);
    assert_string_equal(one, both);
    assert_string_equal(other, both);
    free(one);
    free(other);
    struct hd_invariants no = good(HEAD "program app\nruns 1\nthreshold 0\n"
                                        "read y : executed 1, violated 0, atomic: no\nend\n");
    assert_false(hd_invariants_merge(&ab, &no, "no.inv", &error));
    assert_string_equal(error.message,
                        "no.inv says 'atomic: no' of y, and another file says 'atomic: yes'");
    no.program = "server";
    assert_false(hd_invariants_merge(&ab, &no, "no.inv", &error));
    assert_string_equal(error.message, "no.inv has the invariants of server, not of app");
    assert_false(hd_invariants_fit(&ab, "ab.inv", "", &error));
    assert_string_equal(error.message, "ab.inv has the invariants of app, not of a text trace");
    assert_true(hd_invariants_fit(&ab, "ab.inv", "app", &error));
    hd_invariants_free(&a);
    hd_invariants_free(&b);
    hd_invariants_free(&no);
    hd_invariants_free(&ab);
    hd_invariants_free(&ba);
}

static void what_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "app.inv is no file of invariants (see 'heddle learn')"},
        {"\177ELF", "app.inv is no file of invariants (see 'heddle learn')"},
        {"heddle-invariants/2\nend\n",
         "app.inv has version 2 of the format; this heddle reads version 1"},
        {"heddle-invariants/\n", "app.inv:1: expected a number"},
        {"heddle-invariants/1 1\n", "app.inv:1: there is more on the line than a version"},
        {FIRST, "app.inv:2: the last line, 'end', is missing: the file was cut short"},
        {FIRST "end\nend\n", "app.inv:4: there is more after 'end'"},
        {FIRST "end x\n", "app.inv:3: there is more on the line than 'end'"},
        {FIRST "reads x : executed 1, violated 0, atomic: no\n",
         "app.inv:3: expected read, write, update, program, runs, threshold or end"},
        {FIRST "read\n", "app.inv:3: the place of the access is missing"},
        {FIRST "read x in f\n", "app.inv:3: the place in the function is missing"},
        {FIRST "read x in \"\" +1:2\n", "app.inv:3: a name is empty"},
        {FIRST "read x executed 1\n",
         "app.inv:3: expected ': executed N, violated N, atomic: learned'"},
        {FIRST "read x : executed 1\n",
         "app.inv:3: expected ', violated N' after the runs that executed it"},
        {FIRST "read x : executed 1, violated 0\n",
         "app.inv:3: expected ', atomic: yes', 'no' or 'learned'"},
        {FIRST "read x : executed 1, violated 0, atomic: maybe\n",
         "app.inv:3: after 'atomic:' expected yes, no or learned"},
        {FIRST "read x : executed 1, violated 0, atomic: no no\n",
         "app.inv:3: there is more on the line than an invariant"},
        {FIRST "read x : executed 1, violated 2, atomic: no\n",
         "app.inv:3: more runs violated it than executed it"},
        {FIRST "read x : executed 10, violated 2, atomic: no\n",
         "app.inv:3: more runs executed it than there were ('runs')"},
        {FIRST "read x : executed 1, violated 0, atomic: no\n"
               "read x : executed 1, violated 0, atomic: yes\n",
         "app.inv:4: this invariant was there before"},
        {FIRST "program\n", "app.inv:3: the program is missing"},
        {FIRST "program a b\n", "app.inv:3: expected one file name"},
        {FIRST "runs many\n", "app.inv:3: expected a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hd_invariants set;
        struct hd_error error;
        assert_false(read_text(cases[i].text, &set, &error));
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(set.list.size, 0);
    }
}

static void one_run(struct hd_learner *learner, const char *violated, bool passed) {
    static const char *const words[] = {"a", "b", "c"};
    for (unsigned i = 0; i < 3; i++) {
        struct hd_place place = {
            .does = HD_DOES_READ, .where = words[i], .function = "", .within = "", .module = ""};
        if (*violated == '-' && i == 2) continue; /* c is not executed */
        hd_learner_note(learner, &place, "", false);
        hd_learner_note(learner, &place, "", strchr(violated, *words[i]) != NULL);
    }
    hd_learner_end_run(learner, passed);
}

/* Figure 4.6, with a threshold of 1: runs that passed take out what more than one of them violated;
 * runs that failed teach nothing; new accesses and lost invariants are changes. */
static void learning(void **state) {
    (void)state;
    struct hd_invariants set = {.threshold = 1};
    struct hd_learner learner = {.invariants = &set};
    one_run(&learner, "-", true);
    assert_int_equal(learner.last.added, 2);
    assert_int_equal(learner.stable, 0);
    one_run(&learner, "-a", true);
    assert_int_equal(hd_learner_holding(&learner), 2); /* one run is tolerated */
    assert_int_equal(learner.stable, 1);
    one_run(&learner, "-a", false);
    assert_int_equal(hd_learner_holding(&learner), 2);
    assert_int_equal(set.runs, 2);
    one_run(&learner, "", true);
    assert_int_equal(learner.last.added, 1);
    assert_int_equal(learner.stable, 0);
    one_run(&learner, "a", true);
    assert_int_equal(learner.last.removed, 1);
    assert_int_equal(hd_learner_holding(&learner), 2);
    one_run(&learner, "a", true);
    one_run(&learner, "", true);
    assert_int_equal(learner.stable, 2);
    assert_int_equal(set.runs, 6);
    char *text = hd_invariants_write(&set);
    assert_string_equal(text, HEAD "runs 6\nthreshold 1\n"
                                   "read a : executed 6, violated 3, atomic: learned\n"
                                   "read b : executed 6, violated 0, atomic: learned\n"
                                   "read c : executed 4, violated 0, atomic: learned\nend\n");
    free(text);
    hd_learner_free(&learner);
    hd_invariants_free(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file),
        cmocka_unit_test(edited_by_hand),
        cmocka_unit_test(keys_survive_edits_elsewhere),
        cmocka_unit_test(keys_without_debug_information),
        cmocka_unit_test(found_by_key),
        cmocka_unit_test(merged),
        cmocka_unit_test(learning),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
