/* The causal graph: each rule of the paper's Figures 4 and 5, from text. */
#include "lint_help.h"

/* The body of a function f with locals a to d and parameters p and q; globals g and h. */
#define F(body)                                                                                  \
    HEAD "function other\nparameter n\nblock {\nexpr {\nr %n\nw g <- 0\n}\nreturn {\nexpr {\nr " \
         "%n\n"                                                                                  \
         "} = 2\n}\n}\nend\n"                                                                    \
         "function f\nparameter p pointer\nparameter q\nlocal a\nlocal b\nlocal c\nlocal d\n"    \
         "block {\n" body "}\nend\n"
#define ASSIGN(to, from, read) "expr {\nr " from "\nw " to " <- " read "\n}\n"

static struct program made;
static const struct program *make(const char *body) {
    lint_text(&made, body);
    return &made;
}

/* ---- Figure 4: data -------------------------------------------------------------------------- */

static void sequence_and_assign(void **state) {
    (void)state;
    const struct program *p = make(F(ASSIGN("%b", "%a", "0") ASSIGN("%c", "%b", "2")));
    assert_true(steps_lead(p, "f", 0, 1));
    assert_true(steps_lead(p, "f", 1, 2)); /* the version of the first in the second */
    assert_true(steps_lead(p, "f", 0, 3));
    assert_false(steps_lead(p, "f", 2, 1));
    release(&made);
}

static void versions_are_replaced(void **state) { /* Definition 4 */
    (void)state;
    const struct program *p =
        make(F(ASSIGN("%b", "%a", "0") ASSIGN("%b", "%c", "2") ASSIGN("%d", "%b", "4")));
    assert_false(steps_lead(p, "f", 1, 5));
    assert_true(steps_lead(p, "f", 3, 5));
    release(&made);
}

static void unknown_version(void **state) { /* Definition 3: nothing reaches the first read */
    (void)state;
    const struct program *p = make(F(ASSIGN("%a", "h", "0")));
    uint32_t node = step_of(p, "f", 0);
    assert_int_equal(p->lint.graph.in[node], p->lint.graph.in[node + 1]);
    release(&made);
}

static void heap_write_and_read(void **state) {
    (void)state;
    const struct program *p = make(F("expr {\nr %p\nr %a\nw %p->s::x <- 1 via 0\n}\n"
                                     "expr {\nr %p\nr %p->s::x via 3\nw %b <- 4\n}\n"
                                     "expr {\nr %p\nr %p->s::y via 6\nw %c <- 7\n}\n"));
    assert_true(steps_lead(p, "f", 1, 2));
    assert_true(steps_lead(p, "f", 2, 5));
    assert_false(steps_lead(p, "f", 2, 8)); /* another field */
    assert_false(steps_lead(p, "f", 0, 2)); /* the pointer is no part of the value */
    release(&made);
}

static void index_is_a_value(void **state) {
    (void)state;
    const struct program *p = make(F("expr {\nr %a\nr %b\nw v[a] <- 1 via 0\n}\n"));
    assert_true(steps_lead(p, "f", 0, 2));
    release(&made);
}

static void allocation(void **state) {
    (void)state;
    const struct program *p = make(F("expr {\nr %a\ncall malloc ( %a<0 )\nw %b <- 1\n}\n"
                                     "expr {\nr %a\ncall abs ( %a<3 )\nw %c <- 4\n}\n"));
    assert_false(steps_lead(p, "f", 0, 2));
    assert_true(steps_lead(p, "f", 3, 5));
    release(&made);
}

static void method_call(void **state) {
    (void)state;
    const struct program *p = make(F("expr {\nr %a\ncall other ( %a<0 )\nw %b <- 1\n}\n"));
    assert_true(leads(p, step_of(p, "f", 0), step_of(p, "other", 1))); /* into the parameter */
    assert_true(leads(p, result_of(p, "other"), step_of(p, "f", 2)));
    assert_true(steps_lead(p, "f", 0, 2)); /* by the summary */
    release(&made);
}

static void out_parameter(void **state) {
    (void)state;
    lint_text(&made, HEAD "function get\nparameter o pointer\nblock {\nexpr {\nr g\nr %o\n"
                          "w %o^ <- 0 via 1\n}\n}\nend\n"
                          "function f\nlocal a taken\nlocal b\nblock {\nexpr {\na %a\n"
                          "call get ( &%a<0 )\n}\nexpr {\nr %a\nw %b <- 2\n}\n}\nend\n");
    assert_true(leads(&made, step_of(&made, "get", 0), step_of(&made, "f", 3)));
    release(&made);
}

static void pointer_to_local(void **state) {
    (void)state;
    const struct program *p = make(F("expr {\na %a\nw %p <- 0\n}\nexpr {\nr %q\nr %p\n"
                                     "w %p^ <- 2 via 3\n}\nexpr {\nr %a\nw %b <- 5\n}\n"));
    assert_true(steps_lead(p, "f", 2, 6));
    release(&made);
}

static void recursion(void **state) { /* the summary is a fixed point */
    (void)state;
    lint_text(&made,
              HEAD "function down\nparameter n\nparameter x\nblock {\nif {\ncondition expr {\n"
                   "r %n\n} = 0\nthen return {\nexpr {\nr %n\nr %x\ncall down ( %n<1 %x<2 )\n"
                   "} = 3\n}\n}\nreturn {\nexpr {\nr %x\n} = 4\n}\n}\nend\n"
                   "function f\nlocal a\nlocal b\nlocal c\nblock {\nexpr {\nr %a\nr %b\n"
                   "call down ( %a<0 %b<1 )\nw %c <- 2\n}\n}\nend\n");
    assert_true(steps_lead(&made, "f", 1, 3));
    release(&made);
}

static void conditional_versions(void **state) {
    (void)state;
    const struct program *p =
        make(F(ASSIGN("%a", "%b", "0") "if {\ncondition expr {\nr %q\n} = 2\nthen "
                                       "expr {\nr %c\nw %a <- 3\n}\n}\n" ASSIGN("%d", "%a", "5")));
    assert_true(steps_lead(p, "f", 1, 6)); /* not written there, the old one stays */
    assert_true(steps_lead(p, "f", 4, 6));
    release(&made);
}

static void loop_versions(void **state) {
    (void)state;
    const struct program *p = make(F("while {\ncondition expr {\nr %a\n} = 0\nbody expr {\n"
                                     "r %b\nw %a <- 1\n}\n}\n" ASSIGN("%d", "%a", "3")));
    assert_true(steps_lead(p, "f", 2, 0)); /* from one round into the next */
    assert_true(steps_lead(p, "f", 2, 4));
    release(&made);
}

static void returned(void **state) {
    (void)state;
    const struct program *p = make(F("return {\nexpr {\nr %a\n} = 0\n}\n"));
    assert_true(leads(p, step_of(p, "f", 0), result_of(p, "f")));
    release(&made);
}

static void skip_does_nothing(void **state) {
    (void)state;
    const struct program *p = make(F("block {\n}\n" ASSIGN("%b", "%a", "0")));
    assert_false(steps_lead(p, "f", 1, 0));
    assert_true(steps_lead(p, "f", 0, 1));
    release(&made);
}

/* ---- Figure 5: control ----------------------------------------------------------------------- */

#define IF(read, then) "if {\ncondition expr {\nr " read "\n} = 0\nthen " then "}\n"

static void control_of_assign(void **state) {
    (void)state;
    const struct program *p = make(F(IF("%a", "expr {\nw %b\n}\n") "expr {\nw %c\n}\n"));
    assert_true(steps_lead(p, "f", 0, 1));
    assert_false(steps_lead(p, "f", 0, 2)); /* out of the scope of the condition */
    release(&made);
}

static void control_of_heap_and_allocation(void **state) {
    (void)state;
    const struct program *p = make(F(IF("%a", "block {\nexpr {\nr h\nw %b <- 1\n}\nexpr {\nw h\n}\n"
                                              "expr {\ncall malloc ( _ )\nw %c <- 4\n}\n}\n")));
    assert_true(steps_lead(p, "f", 0, 2)); /* heap read */
    assert_true(steps_lead(p, "f", 0, 3)); /* heap write */
    assert_true(steps_lead(p, "f", 0, 5)); /* allocation */
    release(&made);
}

static void control_of_calls(void **state) { /* the callee's conditions begin with the caller's */
    (void)state;
    const struct program *p = make(F(IF("%a", "expr {\ncall other ( _ )\nw %b <- 1\n}\n")));
    assert_true(steps_lead(p, "f", 0, 2));
    assert_true(leads(p, step_of(p, "f", 0), step_of(p, "other", 1)));
    release(&made);
}

static void control_nests(void **state) {
    (void)state;
    const struct program *p =
        make(F("if {\ncondition expr {\nr %a\n} = 0\nthen if {\ncondition expr {\nr %b\n} = 1\n"
               "then expr {\nw %c\n}\n}\notherwise expr {\nw %d\n}\n}\n"));
    assert_true(steps_lead(p, "f", 0, 2));
    assert_true(steps_lead(p, "f", 1, 2));
    assert_true(steps_lead(p, "f", 0, 3));
    assert_false(steps_lead(p, "f", 1, 3));
    release(&made);
}

static void control_of_loop(void **state) {
    (void)state;
    const struct program *p =
        make(F("while {\ncondition expr {\nr %a\n} = 0\nbody expr {\nw %b\n}\n"
               "}\nexpr {\nw %c\n}\n"));
    assert_true(steps_lead(p, "f", 0, 1));
    assert_false(steps_lead(p, "f", 0, 2));
    release(&made);
}

static void control_of_return(void **state) {
    (void)state;
    const struct program *p = make(F(IF("%a", "return {\nexpr {\n}\n}\n")));
    assert_true(leads(p, step_of(p, "f", 0), result_of(p, "f")));
    release(&made);
}

static void control_by_early_exit(void **state) {
    (void)state;
    const struct program *p = make(F(IF("%a", "return {\nexpr {\n}\n}\n") "expr {\nw %b\n}\n"));
    assert_true(steps_lead(p, "f", 0, 1));
    release(&made);
    p = make(F(IF("%a", "expr {\ncall abort ( )\n}\n") "expr {\nw %b\n}\n"));
    assert_false(steps_lead(p, "f", 0, 2)); /* an assertion decides nothing */
    release(&made);
}

static void control_by_switch(void **state) {
    (void)state;
    const struct program *p =
        make(F("switch {\ncondition expr {\nr %a\n} = 0\nbody block {\ncase {\nexpr {\nw %b\n}\n}\n"
               "break\n}\n}\nexpr {\nw %c\n}\n"));
    assert_true(steps_lead(p, "f", 0, 1));
    assert_false(steps_lead(p, "f", 0, 2));
    release(&made);
}

static void control_in_expressions(void **state) {
    (void)state;
    const struct program *p = make(F("expr {\nnested choose {\ncondition expr {\nr %a\n} = 0\n"
                                     "then expr {\nr %b\n} = 1\notherwise expr {\n}\n} <- 1\n"
                                     "w %c <- 2\n}\n"));
    assert_true(steps_lead(p, "f", 0, 3)); /* a ? b : 0 */
    release(&made);
    p = make(F("expr {\nnested and {\nexpr {\nr %a\n} = 0\nexpr {\ncall other ( _ )\n} = 1\n"
               "} <- 0,1\nw %c <- 2\n}\n"));
    assert_true(leads(p, step_of(p, "f", 0), step_of(p, "other", 1))); /* a && other() */
    release(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_and_assign),
        cmocka_unit_test(versions_are_replaced),
        cmocka_unit_test(unknown_version),
        cmocka_unit_test(heap_write_and_read),
        cmocka_unit_test(index_is_a_value),
        cmocka_unit_test(allocation),
        cmocka_unit_test(method_call),
        cmocka_unit_test(out_parameter),
        cmocka_unit_test(pointer_to_local),
        cmocka_unit_test(recursion),
        cmocka_unit_test(conditional_versions),
        cmocka_unit_test(loop_versions),
        cmocka_unit_test(returned),
        cmocka_unit_test(skip_does_nothing),
        cmocka_unit_test(control_of_assign),
        cmocka_unit_test(control_of_heap_and_allocation),
        cmocka_unit_test(control_of_calls),
        cmocka_unit_test(control_nests),
        cmocka_unit_test(control_of_loop),
        cmocka_unit_test(control_of_return),
        cmocka_unit_test(control_by_early_exit),
        cmocka_unit_test(control_by_switch),
        cmocka_unit_test(control_in_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
