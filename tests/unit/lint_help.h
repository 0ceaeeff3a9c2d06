/* What the tests of src/lint share: programs from text, and questions about the result. */
#ifndef HEDDLE_TESTS_LINT_HELP_H
#define HEDDLE_TESTS_LINT_HELP_H

#include "lint/lint.h"
#include "source_help.h"

#include "base/alloc.h"

#define HEAD "heddle-source 1\nunit good \"a.c\"\n"
#define LOCK(m) "expr {\ncall pthread_mutex_lock ( &" m " )\n}\n"
#define UNLOCK(m) "expr {\ncall pthread_mutex_unlock ( &" m " )\n}\n"
/* Reads a variable under a lock and returns it: the read is step 1. */
#define GETTER(name, variable)                                                        \
    "function " name                                                                  \
    "\nlocal v\nblock {\n" LOCK("m") "expr {\nr " variable "\nw %v <- 1\n}\n" UNLOCK( \
        "m") "return {\nexpr {\nr %v\n} = 4\n}\n}\nend\n"
/* Writes its parameter to a variable under a lock: the write is step 2. */
#define SETTER(name, variable)                                                        \
    "function " name "\nparameter p\nblock {\n" LOCK("m") "expr {\nr %p\nw " variable \
                                                          " <- 1\n}\n" UNLOCK("m") "}\nend\n"
/* A thread's function, and main that creates two of it. */
#define THREAD(name, body) "function " name "\nlocal a\nlocal b\nlocal c\nblock {\n" body "}\nend\n"
#define MAIN(body) "function main\nblock {\n" body "}\nend\n"
#define START(name) "expr {\ncall pthread_create ( _ _ @" name " _ )\n}\n"
#define TWICE(name) MAIN(START(name) START(name))

struct program {
    struct hd_source source;
    struct hd_lint lint;
};

static inline void lint_with(struct program *program, const char *text,
                             const struct hd_lint_options *options) {
    *program = (struct program){.source = {{0}}};
    read_source(&program->source, text);
    hd_source_resolve(&program->source);
    hd_lint_run(&program->source, options, &program->lint);
}

static inline void lint_text(struct program *program, const char *text) {
    struct hd_lint_options options = hd_lint_defaults();
    lint_with(program, text, &options);
}

static inline void lint_plain(struct program *program, const char *text) {
    struct hd_lint_options options = hd_lint_defaults();
    for (unsigned i = 0; i < HD_REFINEMENTS; i++) options.refine[i] = false;
    lint_with(program, text, &options);
}

static inline void release(struct program *program) {
    hd_lint_free(&program->lint);
    hd_source_free(&program->source);
}

static inline uint32_t function_number(const struct program *program, const char *name) {
    uint32_t function = hd_source_function_named(&program->source, name);
    assert_int_not_equal(function, HD_SOURCE_NONE);
    return function;
}

/* The node of the n-th step of a function, and that of its result. */
static inline uint32_t step_of(const struct program *program, const char *function, uint32_t n) {
    return program->source.function.data[function_number(program, function)].steps.first + n;
}
static inline uint32_t result_of(const struct program *program, const char *function) {
    return hd_causal_at(&program->lint.graph, HD_NODE_OF_RESULT,
                        function_number(program, function));
}

/* Whether there is a way from one node to another. */
static inline bool leads(const struct program *program, uint32_t from, uint32_t to) {
    const struct hd_causal_graph *graph = &program->lint.graph;
    bool *seen = hd_zalloc(graph->nodes, sizeof *seen);
    HD_VECTOR(uint32_t) work = {0};
    hd_vector_push(&work, from);
    while (work.size > 0) {
        uint32_t node = work.data[--work.size];
        for (uint32_t e = graph->out[node]; e < graph->out[node + 1]; e++) {
            uint32_t next = graph->edge.data[e].to;
            if (seen[next]) continue;
            seen[next] = true;
            hd_vector_push(&work, next);
        }
    }
    bool found = seen[to];
    free(seen);
    hd_vector_free(&work);
    return found;
}

static inline bool steps_lead(const struct program *program, const char *function, uint32_t from,
                              uint32_t to) {
    return leads(program, step_of(program, function, from), step_of(program, function, to));
}

static inline const char *block_in(const struct program *program, uint32_t block) {
    uint32_t function = program->lint.blocks.list.data[block].function;
    return hd_source_text(&program->source, program->source.function.data[function].name);
}

/* Whether a stale value was found between blocks of these functions. */
static inline bool has_stale(const struct program *program, const char *first, const char *second) {
    for (size_t i = 0; i < program->lint.stale.size; i++) {
        const struct hd_stale *stale = &program->lint.stale.data[i];
        if (strcmp(block_in(program, stale->first), first) == 0 &&
            strcmp(block_in(program, stale->second), second) == 0)
            return true;
    }
    return false;
}

static inline bool has_pair(const struct program *program, const char *first, const char *second) {
    for (size_t i = 0; i < program->lint.pair.size; i++) {
        const struct hd_view_pair *pair = &program->lint.pair.data[i];
        const char *a = block_in(program, pair->first), *b = block_in(program, pair->second);
        if ((strcmp(a, first) == 0 && strcmp(b, second) == 0) ||
            (strcmp(b, first) == 0 && strcmp(a, second) == 0))
            return true;
    }
    return false;
}

#endif
