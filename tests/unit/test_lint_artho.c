/* Plain view consistency: which pairs of blocks break a maximal view, from source as text. */
#include "source_help.h"

#include "lint/lint.h"

/* A program: functions that are one block each, and threads that call them. */
struct program {
    char text[8000];
    unsigned line; /* of the function that comes next */
};

static void add(struct program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct program *p, const char *format, ...) {
    size_t used = strlen(p->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->text + used, sizeof p->text - used, format, arguments);
    va_end(arguments);
}

static void begin(struct program *p) {
    p->text[0] = '\0';
    p->line = 10;
    add(p,
        "heddle-source 1\nunit good \"v.c\"\nglobal m \"m\" taken \"pthread_mutex_t\" \"v.c\" 1\n");
    for (const char *name = "xyz"; *name != '\0'; name++)
        add(p, "global %c \"%c\" - \"int\" \"v.c\" 2\n", *name, *name);
    add(p, "extern pthread_mutex_lock \"lock\" - \"int (pthread_mutex_t *)\"\n"
           "extern pthread_mutex_unlock \"unlock\" - \"int (pthread_mutex_t *)\"\n"
           "extern pthread_create \"create\" - \"int (void)\"\n");
}

/* "rx wy": a block that reads x and writes y. */
static void add_block(struct program *p, const char *name, const char *accesses) {
    unsigned line = p->line++, steps = 2;
    add(p, "function %s \"%s\" - \"void (void)\" \"v.c\" %u-%u unit 0\nblock %u:1 {\n", name, name,
        line, line, line);
    add(p, "expr %u:2 {\na m %u:2\ncall pthread_mutex_lock %u:2 ( &m<0 )\n}\n", line, line, line);
    for (; *accesses != '\0'; accesses += accesses[2] == ' ' ? 3 : 2, steps++)
        add(p, "expr %u:4 {\n%c %c %u:4\n}\n", line, accesses[0], accesses[1], line);
    add(p, "expr %u:8 {\na m %u:8\ncall pthread_mutex_unlock %u:8 ( &m<%u )\n}\n}\nend\n", line,
        line, line, steps);
}

/* A thread that calls some of them, up to three. */
static void add_thread(struct program *p, const char *name, const char *const calls[3]) {
    unsigned line = p->line++;
    add(p, "function %s \"%s\" taken \"void *(void *)\" \"v.c\" %u-%u unit 0\nblock %u:1 {\n", name,
        name, line, line, line);
    for (unsigned i = 0; i < 3 && calls[i] != NULL; i++)
        add(p, "expr %u:2 {\ncall %s %u:2 ( )\n}\n", line, calls[i], line);
    add(p, "}\nend\n");
}

/* main, which creates two threads. */
static void add_main(struct program *p, const char *one, const char *two) {
    const char *const name[] = {one, two};
    unsigned line = p->line++;
    add(p, "function main \"main\" - \"int (void)\" \"v.c\" %u-%u unit 0\nblock %u:1 {\n", line,
        line, line);
    for (unsigned i = 0; i < 2; i++)
        add(p, "expr %u:2 {\nref %s %u:3\ncall pthread_create %u:2 ( _ _ @%s<%u _ )\n}\n", line,
            name[i], line, line, name[i], 2 * i);
    add(p, "}\nend\n");
}

/* The names of the functions of all pairs: "a+b c+d". */
static void expect(const struct program *p, const char *pairs) {
    struct hd_source source = {0};
    struct hd_lint lint;
    struct hd_lint_options options = hd_lint_defaults();
    char got[200] = "";
    options.method = HD_LINT_ARTHO;
    read_source(&source, p->text);
    hd_source_resolve(&source);
    hd_lint_run(&source, &options, &lint);
    assert_int_equal(lint.stale.size, 0);
    for (size_t i = 0; i < lint.pair.size; i++) {
        const struct hd_view_pair *pair = &lint.pair.data[i];
        uint32_t first = lint.blocks.list.data[pair->first].function;
        uint32_t second = lint.blocks.list.data[pair->second].function;
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s+%s", i > 0 ? " " : "",
                 hd_source_text(&source, source.function.data[first].name),
                 hd_source_text(&source, source.function.data[second].name));
        assert_int_equal(pair->mode, HD_ACCESS_READ_WRITE);
        assert_true(pair->one != pair->two);
    }
    assert_string_equal(got, pairs);
    hd_lint_free(&lint);
    hd_source_free(&source);
}

/* One thread has a view of the first block, the other those of the second and the third. */
static void check(const char *maximal, const char *one, const char *two, const char *pairs) {
    struct program p;
    begin(&p);
    add_block(&p, "whole", maximal);
    add_block(&p, "one", one);
    add_block(&p, "two", two);
    add_thread(&p, "t1", (const char *const[3]){"whole"});
    add_thread(&p, "t2", (const char *const[3]){"one", "two"});
    add_main(&p, "t1", "t2");
    expect(&p, pairs);
}

static void test_chains(void **state) {
    (void)state;
    /* two halves: neither is part of the other */
    check("wx wy", "rx", "ry", "one+two");
    check("rx ry", "wx", "wy", "one+two");
    /* it makes no difference who reads and who writes */
    check("rx ry", "rx", "ry", "one+two");
    check("rx wy", "wx", "ry", "one+two");
    /* a chain: x is part of x and y */
    check("wx wy", "rx", "rx ry", "");
    check("wx wy", "rx", "rx", "");
    /* what is not in the maximal view does not count */
    check("wx wy", "rx rz", "rx ry", "");
    check("wx wy", "rz", "ry", "");
    /* one variable alone is no view to break */
    check("wx", "rx", "rx", "");
    check("wx wy wz", "rx ry", "ry rz", "one+two");
}

/* The maximal view may be one of the thread's own, if there are two of it. */
static void test_own_views(void **state) {
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        struct program p;
        begin(&p);
        add_block(&p, "whole", "wx wy");
        add_block(&p, "one", "rx");
        add_block(&p, "two", "ry");
        add_thread(&p, "t1", (const char *const[3]){"whole", "one", "two"});
        add_thread(&p, "t2", (const char *const[3]){NULL});
        add_main(&p, "t1", twice ? "t1" : "t2");
        expect(&p, twice ? "one+two" : "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains),
                                       cmocka_unit_test(test_own_views)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
