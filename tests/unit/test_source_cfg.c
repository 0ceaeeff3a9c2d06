/* Control flow graphs: known ones edge by edge, then random trees, the sources of the tests and
 * (with HEDDLE_SOURCE_PROJECT) a whole project: executions of the tree are paths of the graph. */
#include "source_help.h"

#include "../oracle/cfg_naive.h"

/* "0>2 2>3T 3>1J": edges by block, in order. T true, F false, C case, J jump. */
static const char *edges(const struct hd_cfg *cfg) {
    static char text[2000];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < cfg->edges; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u>%u%s", i > 0 ? " " : "",
                                 cfg->edge[i].from, cfg->edge[i].to,
                                 (const char *const[]){"", "T", "F", "C", "J"}[cfg->edge[i].kind]);
    return text;
}

static void check(const char *body, const char *expected) {
    struct hd_source source = {0};
    struct hd_cfg cfg;
    read_function(&source, body);
    hd_cfg_build(&source, 0, &cfg);
    assert_string_equal(edges(&cfg), expected);
    assert_null(cfg_problem(&source, &cfg));
    for (uint64_t seed = 1; seed < 50; seed++) assert_true(cfg_has_random_run(&source, &cfg, seed));
    hd_cfg_free(&cfg);
    hd_source_free(&source);
}

#define X(name) "expr {\nr " name "\n}\n"

static void known_graphs(void **state) {
    (void)state;
    /* 0 entry, 1 exit, 2 the body */
    check("block {\n" X("a") "}", "0>2 2>1");
    check("block {\nif {\ncondition " X("a") "then " X("b") "}\n" X("c") "}",
          "0>2 2>4T 2>3F 3>1 4>3");
    check("block {\nif {\ncondition " X("a") "then return\notherwise " X("b") "}\n" X("c") "}",
          "0>2 2>4T 2>5F 3>1 4>1J 5>3");
    check("block {\nwhile {\ncondition " X("a") "body " X("b") "}\n" X("c") "}",
          "0>2 2>3 3>4F 3>5T 4>1 5>3");
    check("block {\nwhile {\ncondition expr always {\n}\nbody break\n}\n" X("c") "}",
          "0>2 2>3 3>5T 4>1 5>4J");
    check("block {\ndo {\nbody " X("a") "condition expr never {\n}\n}\n}", "0>2 2>3 3>4 4>5F 5>1");
    check(
        "block {\nfor {\ninit " X("a") "condition " X("b") "advance " X("c") "body continue\n}\n}",
        "0>2 2>3 3>6T 3>5F 4>3 5>1 6>4J");
    check("block {\nswitch {\ncondition " X("a") "body block {\ncase {\n" X(
              "b") "}\nbreak\n"
                   "default {\n" X("c") "}\n}\n}\n}",
          "0>2 2>4C 2>5C 3>1 4>3J 5>3");
    check("block {\ngoto out\n" X("a") "label out {\n" X("b") "}\n}", "0>2 2>4J 3>4 4>1");
    check("block {\nexpr {\nr a\ncall abort ( )\nr b\n}\n}", "0>2 2>1J 3>1");
    check("block {\nexpr {\nnested and {\n" X("a") X("b") "}\nw c <- 2\n}\n}",
          "0>2 2>4T 2>3F 3>1 4>3");
    check("block {\nexpr {\nnested choose {\n" X("a") X("b") X("c") "}\nw d\n}\n}",
          "0>2 2>4T 2>5F 3>1 4>3 5>3");
}

/* ---- random trees ------------------------------------------------------------------------------
 */

struct writer {
    char text[40000];
    size_t used;
    uint64_t random;
    unsigned labels;
};

static void put(struct writer *w, const char *text) {
    w->used += (size_t)snprintf(w->text + w->used, sizeof w->text - w->used, "%s", text);
}

static unsigned below(struct writer *w, unsigned limit) {
    return (unsigned)hd_random_below(&w->random, limit);
}

static void random_expression(struct writer *w, const char *role, unsigned depth) {
    put(w, role);
    put(w, "expr {\n");
    for (unsigned i = below(w, 3); i > 0; i--)
        put(w, below(w, 9) == 0 ? "call exit ( )\n" : "r x\n");
    if (depth > 0 && below(w, 3) == 0) {
        unsigned kind = below(w, 3);
        put(w, kind == 0 ? "nested and {\n" : kind == 1 ? "nested or {\n" : "nested choose {\n");
        for (unsigned i = 0; i < (kind == 2 ? 3u : 2u); i++) random_expression(w, "", depth - 1);
        put(w, "}\n");
    }
    if (below(w, 2) == 0) put(w, "w y\n");
    put(w, "}\n");
}

static void random_statement(struct writer *w, const char *role, unsigned depth, bool loop) {
    char label[40];
    unsigned kind = depth == 0 ? 10 + below(w, 6) : below(w, 16);
    if (w->used > sizeof w->text / 2) kind = 15;
    if (kind < 9) put(w, role);
    switch (kind) {
    case 0:
    case 1:
        put(w, "block {\n");
        for (unsigned i = below(w, 4); i > 0; i--) random_statement(w, "", depth - 1, loop);
        break;
    case 2:
    case 3:
        put(w, "if {\n");
        random_expression(w, "condition ", 2);
        random_statement(w, "then ", depth - 1, loop);
        if (below(w, 2) == 0) random_statement(w, "otherwise ", depth - 1, loop);
        break;
    case 4:
        put(w, "while {\n");
        if (below(w, 4) == 0)
            put(w, "condition expr always {\n}\n");
        else
            random_expression(w, "condition ", 2);
        random_statement(w, "body ", depth - 1, true);
        break;
    case 5:
        put(w, "do {\n");
        random_statement(w, "body ", depth - 1, true);
        if (below(w, 2) == 0)
            put(w, "condition expr never {\n}\n");
        else
            random_expression(w, "condition ", 2);
        break;
    case 6:
        put(w, "for {\n");
        if (below(w, 2) == 0) random_expression(w, "init ", 1);
        if (below(w, 2) == 0) random_expression(w, "condition ", 1);
        if (below(w, 2) == 0) random_expression(w, "advance ", 1);
        random_statement(w, "body ", depth - 1, true);
        break;
    case 7:
        put(w, "switch {\n");
        random_expression(w, "condition ", 1);
        put(w, "body block {\n");
        for (unsigned i = below(w, 5); i > 0; i--) {
            put(w, below(w, 4) == 0 ? "default {\n" : "case {\n");
            random_statement(w, "", depth - 1, loop);
            put(w, "}\n");
            if (below(w, 2) == 0) put(w, "break\n");
        }
        put(w, "}\n");
        break;
    case 8:
        snprintf(label, sizeof label, "label l%u {\n", w->labels++);
        put(w, label);
        random_statement(w, "", depth - 1, loop);
        break;
    case 10:
        put(w, role);
        snprintf(label, sizeof label, "goto l%u\n", below(w, 4));
        put(w, label);
        return;
    case 11:
        put(w, role);
        put(w, below(w, 3) == 0 ? "return\n" : "block\n");
        return;
    case 12:
        put(w, role);
        put(w, loop ? below(w, 2) == 0 ? "break\n" : "continue\n" : "block\n");
        return;
    default:
        random_expression(w, role, 2);
        return;
    }
    put(w, "}\n");
}

static void random_trees(void **state) {
    (void)state;
    unsigned long steps = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct writer *w = calloc(1, sizeof *w);
        w->random = seed;
        put(w, "block {\n");
        for (unsigned i = 0; i < 5; i++) random_statement(w, "", 4, false);
        put(w, "}\n");
        struct hd_source source = {0};
        struct hd_cfg cfg;
        read_function(&source, w->text);
        hd_cfg_build(&source, 0, &cfg);
        steps += source.step.size;
        const char *problem = cfg_problem(&source, &cfg);
        if (problem != NULL)
            fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, problem, w->text);
        for (uint64_t run = 1; run <= 20; run++)
            if (!cfg_has_random_run(&source, &cfg, seed * 1000 + run))
                fail_msg("seed %llu, run %llu: not a path\n%s", (unsigned long long)seed,
                         (unsigned long long)run, w->text);
        hd_cfg_free(&cfg);
        hd_source_free(&source);
        free(w);
    }
    assert_true(steps > 10000);
}

/* ---- real sources ------------------------------------------------------------------------------
 */

static void real_sources(void **state) {
    (void)state;
    static const char *const files[] = {HEDDLE_SOURCE_DIR "/tests/source/traps/statements.c",
                                        HEDDLE_SOURCE_DIR "/tests/source/traps/operators.c",
                                        HEDDLE_SOURCE_DIR "/tests/source/traps/methods.cpp"};
    const char *project = getenv("HEDDLE_SOURCE_PROJECT");
    struct hd_source_request request = {
        .database = project, .file = files, .files = project ? 0 : 3};
    struct hd_source source = {0};
    struct hd_error error;
    if (!hd_source_available(&error)) skip();
    if (!hd_source_load(&request, &source, &error)) fail_msg("%s", error.message);
    unsigned long functions = 0, blocks = 0, unreachable = 0;
    for (uint32_t f = 0; f < source.function.size; f++) {
        struct hd_cfg cfg;
        if ((source.function.data[f].flags & HD_FUNCTION_BODY) == 0) continue;
        hd_cfg_build(&source, f, &cfg);
        const char *name = hd_source_text(&source, source.function.data[f].name);
        const char *problem = cfg_problem(&source, &cfg);
        if (problem != NULL) fail_msg("%s: %s", name, problem);
        for (uint64_t seed = 1; seed <= 10; seed++)
            if (!cfg_has_random_run(&source, &cfg, seed)) fail_msg("%s: not a path", name);
        functions++;
        blocks += cfg.blocks;
        for (uint32_t b = 0; b < cfg.blocks; b++)
            if (!cfg.block[b].reachable && cfg.block[b].steps.count > 0) unreachable++;
        hd_cfg_free(&cfg);
    }
    char line[200];
    printf("%s; %lu graphs, %lu blocks, %lu of them with steps and not reachable\n",
           hd_source_closing_line(&source, line, sizeof line), functions, blocks, unreachable);
    assert_true(functions > 8);
    hd_source_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_graphs),
                                       cmocka_unit_test(random_trees),
                                       cmocka_unit_test(real_sources)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
