/* Views and stale values: the paper's definitions and the refinements, from text. */
#include "lint_help.h"

static struct program made;

#define CALL(name) "expr {\ncall " name " ( )\n}\n"
/* Figure 1 of the paper. */
#define GET_INTO(to, getter, n) "expr {\ncall " getter " ( )\nw %" to " <- " n "\n}\n"
#define INCREASE                                                                    \
    THREAD("work", GET_INTO("a", "get", "0") "expr {\nr %a\nr %b\nw %a <- 2,3\n}\n" \
                                             "expr {\nr %a\ncall set ( %a<5 )\n}\n")
#define SET_PAIR                                                                        \
    "function set_pair\nblock {\n" LOCK("m") "expr {\nw x\n}\nexpr {\nw y\n}\n" UNLOCK( \
        "m") "}\nend\n"
#define ARE_EQUAL                                           \
    THREAD("compare", GET_INTO("a", "get_x", "0") GET_INTO( \
                          "b", "get_y", "2") "return {\nexpr {\nr %a\nr %b\n} = 4,5\n}\n")

/* ---- views: Definitions 5 to 9 --------------------------------------------------------------- */

static uint32_t block_of(const char *function) {
    return made.lint.blocks.first[function_number(&made, function)];
}

static void views_of_blocks(void **state) { /* Definition 5, with what is called in between */
    (void)state;
    lint_text(&made, HEAD "function helper\nblock {\nexpr {\nrw y\n}\n}\nend\n"
                          "function f\nlocal a\nblock {\nexpr {\nw z\n}\n" LOCK(
                              "m") "if {\ncondition expr {\nr x\n} = 2\nthen expr {\nw "
                                   "x\n}\notherwise " CALL("helper") "}\n" UNLOCK("m") "}\nend\n");
    const struct hd_block_view *view = &made.lint.views.of.data[block_of("f")];
    assert_int_equal(view->read.size, 2);  /* x, y: both branches */
    assert_int_equal(view->write.size, 2); /* x, y; z is outside */
    release(&made);
}

static void pair_in_two_reads(void **state) { /* Definition 8 for reads, Figure 1 (a) */
    (void)state;
    lint_text(&made, HEAD GETTER("get_x", "x") GETTER("get_y", "y") SET_PAIR ARE_EQUAL THREAD(
                         "change", CALL("set_pair")) MAIN(START("compare") START("change")));
    assert_int_equal(made.lint.pair.size, 1);
    assert_true(has_pair(&made, "get_x", "get_y"));
    assert_int_equal(made.lint.pair.data[0].mode, HD_ACCESS_READ);
    assert_int_equal(made.lint.pair.data[0].common, result_of(&made, "compare"));
    assert_int_equal(made.lint.pair.data[0].maximal, block_of("set_pair"));
    release(&made);
}

static void no_common_correlation(void **state) { /* Definition 2: never used together */
    (void)state;
    lint_text(&made,
              HEAD GETTER("get_x", "x") GETTER("get_y", "y")
                  SET_PAIR THREAD("look", GET_INTO("a", "get_x", "0") GET_INTO("b", "get_y", "2"))
                      THREAD("change", CALL("set_pair")) MAIN(START("look") START("change")));
    assert_int_equal(made.lint.pair.size, 0);
    release(&made);
}

static void pair_in_two_writes(void **state) { /* Definition 8 for writes */
    (void)state;
    lint_text(
        &made,
        HEAD SETTER("set_x", "x") SETTER("set_y", "y") "function look\nlocal a\nblock {\n" LOCK(
            "m") "expr {\nr x\nr y\nw %a <- 1,2\n}\n" UNLOCK("m") "}\nend\n" THREAD("write",
                                                                                    CALL("set_x")
                                                                                        CALL("set_"
                                                                                             "y"))
            THREAD("read", CALL("look")) MAIN(START("write") START("read")));
    assert_int_equal(made.lint.pair.size, 1);
    assert_true(has_pair(&made, "set_x", "set_y"));
    assert_int_equal(made.lint.pair.data[0].mode, HD_ACCESS_WRITE);
    release(&made);
}

static void chains_are_compatible(void **state) { /* {x} is part of {x, y} */
    (void)state;
    lint_text(
        &made,
        HEAD GETTER("get_x", "x") SET_PAIR "function get_both\nlocal v\nblock {\n" LOCK(
            "m") "expr {\nr x\nr y\nw %v <- 1,2\n}\n" UNLOCK("m") "return {\nexpr {\nr %v\n} = "
                                                                  "5\n}\n}\nend\n" THREAD(
                                                                      "look",
                                                                      GET_INTO("a",
                                                                               "get_"
                                                                               "x",
                                                                               "0")
                                                                          GET_INTO(
                                                                              "b", "get_both",
                                                                              "2") "expr {\nr "
                                                                                   "%a\nr %b\nw %c "
                                                                                   "<- 4,5\n}\n")
                                                                      THREAD("change",
                                                                             CALL("set_pair"))
                                                                          MAIN(START("look") START(
                                                                              "change")));
    assert_int_equal(made.lint.pair.size, 0);
    release(&made);
}

static void only_maximal_views(void **state) { /* Definition 6: a view of one variable is none */
    (void)state;
    lint_text(&made,
              HEAD GETTER("get_x", "x") GETTER("get_y", "y") SETTER("set_x", "x")
                  SETTER("set_y", "y") ARE_EQUAL THREAD("change", CALL("set_x") CALL("set_y"))
                      MAIN(START("compare") START("change")));
    assert_int_equal(made.lint.pair.size, 0);
    release(&made);
}

static void one_thread_alone(void **state) { /* Definition 9 is about two threads */
    (void)state;
    lint_text(&made, HEAD GETTER("get_x", "x") GETTER("get_y", "y") SET_PAIR THREAD(
                         "compare", CALL("set_pair") GET_INTO("a", "get_x", "1") GET_INTO(
                                        "b", "get_y", "3") "return {\nexpr {\nr %a\nr %b\n"
                                                           "} = 5,6\n}\n") MAIN(START("compare")));
    assert_int_equal(made.lint.pair.size, 0);
    release(&made);
}

static void writes_that_add(void **state) { /* refinement: whole */
    (void)state;
    const char *text = HEAD "function add_x\nblock {\n" LOCK("m") "expr {\nrw x\n}\n" UNLOCK("m") "}\nend\nfunction add_y\nblock {\n" LOCK("m") "expr {\nrw y\n}\n" UNLOCK(
        "m") "}\nend\nfunction look\nlocal a\nblock {\n" LOCK("m") "expr {\nr x\nr y\nw %a <- "
                                                                   "1,2\n}\n" UNLOCK(
                                                                       "m") "}\nend"
                                                                            "\n" THREAD(
                                                                                "write",
                                                                                CALL("add_x")
                                                                                    CALL("add_y"))
                                                                                THREAD("read",
                                                                                       CALL("look"))
                                                                                    MAIN(
                                                                                        START(
                                                                                            "write")
                                                                                            START(
                                                                                                "re"
                                                                                                "a"
                                                                                                "d"));
    lint_text(&made, text);
    assert_int_equal(made.lint.pair.size, 1);
    assert_int_equal(made.lint.pair.data[0].signs, HD_SIGN_WHOLE);
    release(&made);
    lint_plain(&made, text);
    assert_int_equal(made.lint.pair.data[0].signs, 0);
    release(&made);
}

/* ---- stale values: Definitions 10 and 11 ----------------------------------------------------- */

static void lost_update(void **state) { /* Figure 1 (b) */
    (void)state;
    lint_text(&made, HEAD GETTER("get", "x") SETTER("set", "x") INCREASE TWICE("work"));
    assert_int_equal(made.lint.stale.size, 1);
    assert_true(has_stale(&made, "get", "set"));
    assert_false(made.lint.stale.data[0].control);
    assert_int_equal(made.lint.stale.data[0].read, step_of(&made, "get", 1));
    assert_int_equal(made.lint.stale.data[0].use, step_of(&made, "set", 2));
    assert_int_equal(made.lint.stale.data[0].write, step_of(&made, "set", 2));
    release(&made);
}

static void nobody_else_writes(void **state) { /* Definition 11 needs a writer */
    (void)state;
    lint_text(&made, HEAD GETTER("get", "x") SETTER("set", "x") INCREASE MAIN(START("work")));
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
}

static void not_in_a_block(void **state) { /* Definition 10: both must be in blocks */
    (void)state;
    lint_text(&made, HEAD GETTER("get", "x") SETTER("set", "x")
                         THREAD("work",
                                GET_INTO("a", "get", "0") "expr {\nr %a\nw x <- 2\n}\n" CALL("set"))
                             TWICE("work"));
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
}

static void check_then_act(void **state) {
    (void)state;
    lint_text(&made, HEAD GETTER("get", "x") SETTER("set", "x")
                         THREAD("work", "if {\ncondition expr {\ncall get ( )\n} = 0\nthen " CALL(
                                            "set") "}\n") TWICE("work"));
    assert_int_equal(made.lint.stale.size, 1);
    assert_true(made.lint.stale.data[0].control);
    release(&made);
}

#define ADD                                               \
    "function add\nparameter p\nlocal v\nblock {\n" LOCK( \
        "m") "expr {\nr %p\nrw x <- 1\n}\n"               \
             "expr {\nr x\nw %v <- 3\n}\n" UNLOCK(        \
                 "m") "return {\nexpr {\nr %v\n} = 6\n}\n}\nend\n"

static void same_block_again(void **state) { /* the rule for m1 = m2 */
    (void)state;
    lint_text(&made, HEAD ADD THREAD("work", "expr {\ncall add ( _ )\nw %a <- 0\n}\n"
                                             "expr {\nr %a\ncall add ( %a<2 )\n}\n") TWICE("work"));
    assert_int_equal(made.lint.stale.size, 1);
    assert_true(has_stale(&made, "add", "add"));
    release(&made);
    /* inside the block it does not leave */
    lint_text(&made, HEAD ADD THREAD("work", "expr {\ncall add ( _ )\n}\n") TWICE("work"));
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
}

static void around_a_loop(void **state) { /* a local carries it into the next round */
    (void)state;
    /* `taken` would say that x is overwritten: this is the plain algorithm */
    lint_plain(&made,
               HEAD THREAD("work", "while {\ncondition expr {\nr %c\n} = 0\nbody block {\n" LOCK(
                                       "m") "expr {\nr %a\nw y <- 2\n}\nexpr {\nr x\nw %a <- 4\n"
                                            "}\nexpr {\nw x\n}\n" UNLOCK("m") "}\n}\n")
                   TWICE("work"));
    assert_true(has_stale(&made, "work", "work"));
    release(&made);
}

static void outer_lock_excludes(void **state) { /* a lock that is held all the way */
    (void)state;
    lint_text(&made,
              HEAD GETTER("get", "x") SETTER("set", "x")
                  THREAD("work", LOCK("big") "expr {\ncall get ( )\nw %a <- 1\n}\n"
                                             "expr {\nr %a\ncall set ( %a<3 )\n}\n" UNLOCK("big"))
                      TWICE("work"));
    assert_false(has_stale(&made, "get", "set"));
    release(&made);
}

/* ---- refinements ----------------------------------------------------------------------------- */

/* if (x == p) x = p2, under the lock */
#define UPDATE                                                                        \
    "function update\nparameter p\nparameter n\nblock {\n" LOCK(                      \
        "m") "if {\ncondition expr {\nr x\nr %p\n} = 1,2\nthen expr {\nr %n\nw x <- " \
             "3\n}\n}\n" UNLOCK("m") "}\nend\n"

static void checked_again(void **state) {
    (void)state;
    const char *text = HEAD GETTER("get", "x") UPDATE THREAD(
        "work", GET_INTO("a", "get", "0") "expr {\nr %a\nr %a\ncall update ( %a<2 %a<3 )\n}\n")
        TWICE("work");
    lint_text(&made, text);
    assert_int_equal(made.lint.stale.size, 0);
    assert_true(made.lint.by_refinement[HD_REFINE_RECHECK] > 0);
    release(&made);
    struct hd_lint_options options = hd_lint_defaults();
    options.refine[HD_REFINE_RECHECK] = options.refine[HD_REFINE_VERSIONS] = false;
    lint_with(&made, text, &options);
    assert_true(has_stale(&made, "get", "update"));
    release(&made);
}

static void version_compared(void **state) {
    (void)state;
    const char *text = HEAD "function get\nparameter o pointer\nlocal v\nblock {\n" LOCK(
        "m") "expr {\nr version\nr %o\nw %o^ <- 1 via 2\n}\nexpr {\nr x\nw %v <- "
             "4\n}\n" UNLOCK(
                 "m") "return {\nexpr {\nr %v\n} = 7\n}\n}\nend\n"
                      "function put\nparameter n\nparameter p\nblock "
                      "{\n" LOCK("m") "if {\ncondition expr {\nr "
                                      "version\nr %n\n} = 1,2\nthen expr "
                                      "{\nr %p\nw x <- 3\n}\n}\n" UNLOCK("m") "}\nend\n" SETTER(
                                          "change", "x") "function work\nlocal n "
                                                         "taken\nlocal a\nblock "
                                                         "{\nexpr {\na %n\ncall get "
                                                         "( &%n<0 )\nw %a <- 1\n}\n"
                                                         "expr {\nr %n\nr %a\ncall "
                                                         "put ( %n<3 %a<4 "
                                                         ")\n}\n" CALL("change") "}\nend"
                                                                                 "\n" TWICE("wo"
                                                                                            "r"
                                                                                            "k");
    lint_text(&made, text);
    assert_false(has_stale(&made, "get", "put"));
    assert_true(made.lint.by_refinement[HD_REFINE_VERSIONS] > 0);
    release(&made);
    struct hd_lint_options options = hd_lint_defaults();
    options.refine[HD_REFINE_VERSIONS] = false;
    lint_with(&made, text, &options);
    assert_true(has_stale(&made, "get", "put"));
    release(&made);
}

static void taken_out(void **state) { /* v = slot[head]; head++ */
    (void)state;
    const char *text = HEAD "function take\nlocal v\nblock {\n" LOCK(
        "m") "expr {\nr head\nr slot[] via 1\nw %v <- 2\n}\n"
             "expr {\nw head\n}\n" UNLOCK("m") "return {\nexpr {\nr %v\n} = 6\n}\n}\nend\n"
                                               "function put\nparameter p\nblock {\n" LOCK(
                                                   "m") "expr {\nr %p\nw slot[] "
                                                        "<- 1\n}\n" UNLOCK("m") "}\nend\n" THREAD(
                                                            "work",
                                                            GET_INTO("a", "take", "0") "expr {\nr "
                                                                                       "%a\ncall "
                                                                                       "put ( "
                                                                                       "%a<2 "
                                                                                       ")\n}\n")
                                                            TWICE("work");
    lint_text(&made, text);
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
    lint_plain(&made, text);
    assert_true(has_stale(&made, "take", "put"));
    release(&made);
}

static void taken_out_at_once(void **state) { /* v = slot[head++] */
    (void)state;
    lint_text(&made,
              HEAD "function take\nlocal v\nblock {\n" LOCK(
                  "m") "expr {\nrw head\nr slot[] via 1\nw %v <- "
                       "2\n}\n" UNLOCK("m") "return {\nexpr {\nr %v\n} = "
                                            "5\n}\n}\nend\n"
                                            "function put\nparameter p\nblock "
                                            "{\n" LOCK("m") "expr {\nr %p\nw "
                                                            "slot[] <- "
                                                            "1\n}\n" UNLOCK("m") "}\nend\n" THREAD(
                                                                "work",
                                                                GET_INTO("a", "take", "0") "expr "
                                                                                           "{\nr "
                                                                                           "%a\nca"
                                                                                           "ll "
                                                                                           "put ( "
                                                                                           "%a<2 "
                                                                                           ")\n}"
                                                                                           "\n")
                                                                TWICE("work"));
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
}

static void given_back(void **state) { /* if (!busy) busy = 1 ... busy = 0 */
    (void)state;
    const char *text = HEAD "function claim\nlocal v\nblock {\n" LOCK(
        "m") "if {\ncondition expr {\nr busy\n} = 1\nthen "
             "block {\nexpr {\nw busy\n}\nexpr {\nw %v\n}\n}\n}\n" UNLOCK(
                 "m") "return {\nexpr {\nr %v\n} = 5\n}\n}\nend\n"
                      "function back\nblock {\n" LOCK("m") "expr {\nw busy\n}\n" UNLOCK(
                          "m") "}\nend\n" THREAD("work", "if {\ncondition expr {\ncall claim ( "
                                                         ")\n} = 0\nthen " CALL("back") "}\n")
                          TWICE("work");
    lint_text(&made, text);
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
    lint_plain(&made, text);
    assert_true(has_stale(&made, "claim", "back"));
    release(&made);
}

static void read_again(void **state) { /* set(1); y = x in another block: the value of then */
    (void)state;
    const char *text =
        HEAD THREAD("work", LOCK("m") "expr {\nr z\nw x <- 1\n}\n" UNLOCK("m") LOCK(
                                "m") "expr {\nr x\nw y <- 5\n}\n" UNLOCK("m") "expr {\nw %a\n}\n")
            THREAD("other", LOCK("m") "expr {\nw z\n}\n" UNLOCK("m"))
                MAIN(START("work") START("other"));
    lint_text(&made, text);
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
    lint_plain(&made, text);
    assert_true(has_stale(&made, "work", "work"));
    release(&made);
}

static void other_lock(void **state) { /* the writer has another lock: another object */
    (void)state;
    const char *text = HEAD GETTER("get", "q->s::x") SETTER("set", "y")
        THREAD("work", GET_INTO("a", "get", "0") "expr {\nr %a\ncall set ( %a<2 )\n}\n")
            THREAD("other", LOCK("n") "expr {\nw r->s::x\n}\n" UNLOCK("n"))
                MAIN(START("work") START("other"));
    lint_text(&made, text);
    assert_int_equal(made.lint.stale.size, 0);
    release(&made);
    lint_plain(&made, text);
    assert_true(has_stale(&made, "get", "set"));
    release(&made);
}

#define COUNT(printer)                                                                       \
    HEAD GETTER("get", "x") SETTER("set_total", "total") SETTER("set", "x") THREAD(          \
        "work", GET_INTO("a", "get", "0") "expr {\nr %a\ncall set_total ( %a<2 )\n}\n" CALL( \
                    "set") "expr {\nr total\ncall " printer " ( total<5 )\n}\n") TWICE("work")

static void only_printed(void **state) {
    (void)state;
    lint_text(&made, COUNT("printf"));
    assert_true(has_stale(&made, "get", "set_total")); /* ranked down, not hidden */
    assert_int_equal(made.lint.stale.data[0].signs, HD_SIGN_LOGGING);
    release(&made);
    lint_text(&made, COUNT("transfer"));
    assert_int_equal(made.lint.stale.data[0].signs, 0);
    release(&made);
}

static void unrelated(void **state) { /* while (!stopped()) work */
    (void)state;
    const char *text = HEAD GETTER("stopped", "stop") SETTER("set", "x") THREAD(
        "work", "while {\ncondition expr {\ncall stopped ( )\n} = 0\nbody " CALL("set") "}\n")
        THREAD("end", LOCK("m") "expr {\nw stop\n}\n" UNLOCK("m")) MAIN(START("work") START("end"));
    lint_text(&made, text);
    assert_true(has_stale(&made, "stopped", "set"));
    assert_int_equal(made.lint.stale.data[0].signs, HD_SIGN_UNRELATED);
    release(&made);
}

/* ---- findings -------------------------------------------------------------------------------- */

static void roles_of_events(void **state) {
    (void)state;
    lint_text(&made, HEAD GETTER("get", "x") SETTER("set", "x") INCREASE TWICE("work"));
    struct hd_findings findings = {.looked_for = {false}};
    hd_lint_findings(&made.lint, NULL, &findings);
    assert_int_equal(findings.list.size, 1);
    const struct hd_finding *finding = &findings.list.data[0];
    assert_int_equal(finding->kind, HD_FINDING_STALE_VALUE);
    assert_int_equal(finding->event[0].role, HD_FINDING_ROLE_FIRST);
    assert_string_equal(finding->event[0].function, "get");
    assert_int_equal(finding->event[finding->events - 2].role, HD_FINDING_ROLE_BETWEEN);
    assert_int_equal(finding->event[finding->events - 1].role, HD_FINDING_ROLE_SECOND);
    assert_string_equal(finding->event[finding->events - 1].function, "set");
    assert_true(hd_finding_matters(finding));
    hd_findings_free(&findings);
    char *dot = hd_lint_dot(&made.lint, NULL);
    assert_non_null(strstr(dot, "b0 -> b1 [label=\"x\"];"));
    free(dot);
    release(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_of_blocks),
        cmocka_unit_test(pair_in_two_reads),
        cmocka_unit_test(no_common_correlation),
        cmocka_unit_test(pair_in_two_writes),
        cmocka_unit_test(chains_are_compatible),
        cmocka_unit_test(only_maximal_views),
        cmocka_unit_test(one_thread_alone),
        cmocka_unit_test(writes_that_add),
        cmocka_unit_test(lost_update),
        cmocka_unit_test(nobody_else_writes),
        cmocka_unit_test(not_in_a_block),
        cmocka_unit_test(check_then_act),
        cmocka_unit_test(same_block_again),
        cmocka_unit_test(around_a_loop),
        cmocka_unit_test(outer_lock_excludes),
        cmocka_unit_test(checked_again),
        cmocka_unit_test(version_compared),
        cmocka_unit_test(taken_out),
        cmocka_unit_test(taken_out_at_once),
        cmocka_unit_test(given_back),
        cmocka_unit_test(read_again),
        cmocka_unit_test(other_lock),
        cmocka_unit_test(only_printed),
        cmocka_unit_test(unrelated),
        cmocka_unit_test(roles_of_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
