/* Atomic blocks and threads, from text. */
#include "lint_help.h"

static struct program made;

/* How many blocks hold at the n-th step of a function. */
static int held(const char *function, uint32_t n) {
    return __builtin_popcountll(made.lint.blocks.mask[step_of(&made, function, n)]);
}

static void region(void **state) {
    (void)state;
    lint_text(&made, HEAD "function f\nblock {\nexpr {\nw g\n}\n" LOCK(
                         "m") "expr {\nw g\n}\n" UNLOCK("m") "expr {\nw g\n}\n}\nend\n");
    assert_int_equal(made.lint.blocks.list.size, 1);
    assert_int_equal(held("f", 0), 0);
    assert_int_equal(held("f", 2), 1);
    assert_int_equal(held("f", 4), 0);
    release(&made);
}

static void early_return_and_goto(void **state) {
    (void)state;
    lint_text(&made, HEAD "function f\nlocal a\nblock {\n" LOCK(
                         "m") "if {\ncondition expr {\nr %a\n} = 1\nthen "
                              "block {\n" UNLOCK("m") "expr {\nw g\n}\nreturn\n}\n}\n"
                                                      "if {\ncondition expr {\nr %a\n} = "
                                                      "4\nthen goto out\n}\n"
                                                      "expr {\nw g\n}\nlabel out {\n" UNLOCK(
                                                          "m") "}\nexpr {\nw g\n}\n}\nend\n");
    assert_int_equal(made.lint.blocks.list.size, 1);
    assert_int_equal(held("f", 1), 1);
    assert_int_equal(held("f", 3), 0); /* unlocked, about to return */
    assert_int_equal(held("f", 5), 1);
    assert_int_equal(held("f", 7), 0);
    release(&made);
}

static void wrappers(void **state) {
    (void)state;
    lint_text(&made, HEAD "function my_lock\nparameter m\nblock {\nexpr {\n"
                          "call pthread_mutex_lock ( %m )\n}\n}\nend\n"
                          "function my_unlock\nparameter m\nblock {\nexpr {\n"
                          "call pthread_mutex_unlock ( %m )\n}\n}\nend\n"
                          "function f\nblock {\nexpr {\ncall my_lock ( &m )\n}\nexpr {\nw g\n}\n"
                          "expr {\ncall my_unlock ( &m )\n}\nexpr {\nw g\n}\n}\nend\n");
    assert_int_equal(made.lint.blocks.list.size, 1);
    assert_int_equal(held("f", 1), 1);
    assert_int_equal(held("f", 3), 0);
    assert_int_equal(made.lint.blocks.note.size, 0);
    release(&made);
}

static void two_locks_and_nesting(void **state) {
    (void)state;
    lint_text(&made, HEAD "function f\nblock {\n" LOCK("m") LOCK("n") "expr {\nw g\n}\n" UNLOCK("n")
                         LOCK("m") "expr {\nw g\n}\n" UNLOCK("m") "}\nend\n");
    assert_int_equal(held("f", 2), 2); /* each its own */
    assert_int_equal(held("f", 5), 1); /* taken again: the outermost goes on */
    release(&made);
}

static void two_names_of_a_lock(void **state) {
    (void)state;
    lint_text(&made,
              HEAD "function f\nlocal j pointer\nblock {\nexpr {\n"
                   "call pthread_mutex_lock ( &%j->s::m )\n}\nexpr {\nw g\n}\nexpr {\n"
                   "call pthread_mutex_unlock ( &jobs[1].s::m )\n}\nexpr {\nw g\n}\n}\nend\n");
    assert_int_equal(held("f", 1), 1);
    assert_int_equal(held("f", 3), 0);
    assert_int_equal(made.lint.blocks.note.size, 0);
    release(&made);
}

static void other_locks(void **state) {
    (void)state;
    static const char *const names[][2] = {{"pthread_rwlock_rdlock", "pthread_rwlock_unlock"},
                                           {"pthread_rwlock_wrlock", "pthread_rwlock_unlock"},
                                           {"pthread_spin_lock", "pthread_spin_unlock"},
                                           {"mtx_lock", "mtx_unlock"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 HEAD "function f\nblock {\nexpr {\ncall %s ( &m )\n}\nexpr {\nw g\n}\n"
                      "expr {\ncall %s ( &m )\n}\n}\nend\n",
                 names[i][0], names[i][1]);
        lint_text(&made, text);
        assert_int_equal(held("f", 1), 1);
        assert_int_equal(made.lint.blocks.list.data[0].shared, i == 0);
        release(&made);
    }
}

static void failed_attempt(void **state) {
    (void)state;
    lint_text(&made, HEAD "function f\nblock {\nif {\ncondition expr {\ncall pthread_mutex_trylock "
                          "( &m )\n} = 0\nthen block {\nexpr {\nw h\n}\nreturn\n}\n}\n"
                          "expr {\nw g\n}\n" UNLOCK("m") "}\nend\n");
    assert_int_equal(held("f", 1), 0); /* no unlock ahead */
    assert_int_equal(held("f", 2), 1);
    release(&made);
}

static void marked_functions(void **state) {
    (void)state;
    lint_text(&made, HEAD "function f atomic\nblock {\nexpr {\nw g\n}\n}\nend\n");
    assert_int_equal(made.lint.blocks.list.size, 1);
    assert_int_equal(made.lint.blocks.list.data[0].step, HD_SOURCE_NONE);
    assert_int_equal(held("f", 0), 1);
    release(&made);
}

static void notes(void **state) {
    (void)state;
    lint_text(&made,
              HEAD "function f\nlocal l\nblock {\nexpr {\ncall pthread_mutex_lock ( %l )\n}\n"
                   "expr {\nw g\n}\n}\nend\n"
                   "function k\nblock {\nexpr {\ncall my_lock ( &m )\n}\n"
                   "expr {\ncall my_unlock ( &m )\n}\n}\nend\n");
    assert_int_equal(held("f", 1), 1); /* to the end */
    assert_int_equal(made.lint.blocks.note.size, 2);
    assert_non_null(strstr(made.lint.blocks.note.data[0].text, "not unlocked in f"));
    assert_non_null(
        strstr(made.lint.blocks.note.data[1].text, "--lock my_lock --unlock my_unlock"));
    release(&made);
}

static void declared_locks(void **state) {
    (void)state;
    struct hd_lint_options options = hd_lint_defaults();
    made = (struct program){.source = {{0}}};
    read_source(&made.source,
                HEAD "function f\nblock {\nexpr {\ncall my_lock ( &m )\n}\nexpr {\nw g\n"
                     "}\nexpr {\ncall my_unlock ( &m )\n}\n}\nend\n");
    assert_true(hd_source_declare(&made.source, "my_lock", HD_OPERATION_LOCK));
    assert_true(hd_source_declare(&made.source, "my_unlock", HD_OPERATION_UNLOCK));
    assert_false(hd_source_declare(&made.source, "nobody", HD_OPERATION_LOCK));
    hd_source_resolve(&made.source);
    hd_lint_run(&made.source, &options, &made.lint);
    assert_int_equal(held("f", 1), 1);
    assert_int_equal(made.lint.blocks.note.size, 0);
    release(&made);
}

/* ---- threads --------------------------------------------------------------------------------- */

static const struct hd_thread *thread_of(const char *entry) {
    for (size_t i = 0; i < made.lint.views.thread.size; i++)
        if (made.lint.views.thread.data[i].entry == function_number(&made, entry))
            return &made.lint.views.thread.data[i];
    return NULL;
}

static void created_threads(void **state) {
    (void)state;
    lint_text(&made, HEAD SETTER("set", "g") THREAD("once", "expr {\ncall set ( _ )\n}\n")
                         THREAD("often", "") THREAD("twice", "")
                             MAIN(START("once") "while {\ncondition expr {\nr g\n} = 1\n"
                                                "body " START("often") "}\n" START("twice")
                                                    START("twice")));
    assert_int_equal(made.lint.views.thread.size, 4);
    assert_false(thread_of("once")->many);
    assert_true(thread_of("often")->many);
    assert_true(thread_of("twice")->many);
    assert_false(thread_of("main")->many);
    assert_int_equal(hd_bitset_count(&thread_of("once")->blocks), 1); /* that of set */
    assert_int_equal(hd_bitset_count(&thread_of("twice")->blocks), 0);
    release(&made);
}

static void libraries(void **state) {
    (void)state;
    lint_text(&made, HEAD SETTER("set", "g"));
    assert_true(made.lint.views.library);
    assert_int_equal(made.lint.views.thread.size, 1);
    assert_true(made.lint.views.thread.data[0].many);
    assert_true(hd_thread_runs(&made.lint.views, 0, 0));
    release(&made);
    struct hd_lint_options options = hd_lint_defaults();
    options.threads = HD_THREADS_FOUND;
    lint_with(&made, HEAD SETTER("set", "g"), &options);
    assert_false(made.lint.views.library);
    assert_int_equal(made.lint.views.thread.size, 0);
    release(&made);
}

static void main_alone(void **state) {
    (void)state;
    const char *text = HEAD SETTER("before", "g") SETTER("during", "g") SETTER("after", "g")
        THREAD("work", "") MAIN("expr {\ncall before ( _ )\n}\n" START(
            "work") "expr {\ncall during ( _ )\n}\n"
                    "expr {\ncall pthread_join ( _ _ )\n}\nexpr {\ncall after ( _ )\n}\n");
    lint_text(&made, text);
    assert_int_equal(hd_bitset_count(&thread_of("main")->blocks), 1);
    release(&made);
    lint_plain(&made, text);
    assert_int_equal(hd_bitset_count(&thread_of("main")->blocks), 3);
    release(&made);
}

static void through_pointers(void **state) {
    (void)state;
    lint_text(
        &made,
        HEAD "function set taken \"void (int)\"\nparameter p\nblock {\n" LOCK(
            "m") "expr {\nr %p\nw g <- 1\n}\n" UNLOCK("m") "}\nend\n" THREAD("work",
                                                                             "expr {\ncall * "
                                                                             "\"void (int)\" of h "
                                                                             "( _ )\n}\n")
            MAIN(START("work")));
    assert_int_equal(hd_bitset_count(&thread_of("work")->blocks), 1);
    release(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(region),
        cmocka_unit_test(early_return_and_goto),
        cmocka_unit_test(wrappers),
        cmocka_unit_test(two_locks_and_nesting),
        cmocka_unit_test(two_names_of_a_lock),
        cmocka_unit_test(other_locks),
        cmocka_unit_test(failed_attempt),
        cmocka_unit_test(marked_functions),
        cmocka_unit_test(notes),
        cmocka_unit_test(declared_locks),
        cmocka_unit_test(created_threads),
        cmocka_unit_test(libraries),
        cmocka_unit_test(main_alone),
        cmocka_unit_test(through_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
