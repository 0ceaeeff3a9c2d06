/* Control flow graphs against the tree they were made from: the tree is executed with random
 * decisions, and what it does must be a path of the graph. Unreachable blocks must have a reason.
 */
#ifndef HEDDLE_TESTS_CFG_NAIVE_H
#define HEDDLE_TESTS_CFG_NAIVE_H

#include "base/random.h"
#include "source/cfg.h"
#include "source/library.h"

#include <stdio.h>

enum how { HOW_NORMAL, HOW_BREAK, HOW_CONTINUE, HOW_END, HOW_GOTO, HOW_TIRED };

struct run {
    const struct hd_source *source;
    const struct hd_cfg *cfg;
    uint64_t random;
    uint32_t seek;  /* the node to go on at; NONE */
    uint32_t label; /* of the goto under way */
    unsigned fuel;
    HD_VECTOR(uint32_t) steps;
    bool finished; /* the function returned */
};

static inline enum how run_statement(struct run *run, uint32_t index);

static inline bool coin(struct run *run) { return hd_random_below(&run->random, 2) == 0; }

static inline bool inside(const struct hd_source *source, uint32_t node, uint32_t outer) {
    for (; node != HD_SOURCE_NONE; node = source->node.data[node].parent)
        if (node == outer) return true;
    return false;
}

static inline bool no_return(const struct hd_source *source, const struct hd_source_step *step) {
    if (step->kind != HD_STEP_CALL || step->function == HD_SOURCE_NONE) return false;
    const struct hd_source_function *f = &source->function.data[step->function];
    return (f->flags & HD_FUNCTION_NORETURN) != 0 ||
           ((f->flags & HD_FUNCTION_BODY) == 0 &&
            hd_library_no_return(hd_source_text(source, f->name)));
}

static inline enum how run_nested(struct run *run, uint32_t index) {
    const struct hd_source *source = run->source;
    const struct hd_source_node *node = &source->node.data[index];
    uint32_t first = node->first_child;
    if (node->kind == HD_NODE_BLOCK) return run_statement(run, index);
    enum how how = run_statement(run, first);
    if (how != HOW_NORMAL) return how;
    uint32_t second = source->node.data[first].next;
    if (node->kind == HD_NODE_CONDITIONAL)
        return run_statement(run, coin(run) ? second : source->node.data[second].next);
    return coin(run) ? run_statement(run, second) : HOW_NORMAL;
}

/* By recursion over nested nodes, not by position in the array of steps. */
static inline enum how run_expression(struct run *run, uint32_t index) {
    const struct hd_source *source = run->source;
    const struct hd_source_node *node = &source->node.data[index];
    for (uint32_t i = 0; i < node->steps.count; i++) {
        uint32_t number = node->steps.first + i;
        const struct hd_source_step *step = &source->step.data[number];
        if (step->kind == HD_STEP_NESTED && source->node.data[step->node].parent == index) {
            enum how how = run_nested(run, step->node);
            if (how != HOW_NORMAL) return how;
        } else if (step->kind == HD_STEP_NESTED || step->node != index)
            continue;
        hd_vector_push(&run->steps, number);
        if (no_return(source, step)) return HOW_END;
        if (run->fuel-- == 0) return HOW_TIRED;
    }
    return HOW_NORMAL;
}

static inline enum how run_children(struct run *run, uint32_t index) {
    const struct hd_source *source = run->source;
    for (uint32_t child = source->node.data[index].first_child; child != HD_SOURCE_NONE;
         child = source->node.data[child].next) {
        if (run->seek != HD_SOURCE_NONE && !inside(source, run->seek, child)) continue;
        enum how how = run_statement(run, child);
        if (how != HOW_NORMAL) return how;
    }
    return HOW_NORMAL;
}

/* Body, then whether to go on. */
static inline bool leaves(enum how how) { return how != HOW_NORMAL && how != HOW_CONTINUE; }

static inline enum how run_part(struct run *run, uint32_t index, unsigned roles) {
    const struct hd_source *source = run->source;
    for (uint32_t child = source->node.data[index].first_child;
         source->node.data[child].next != HD_SOURCE_NONE; child = source->node.data[child].next) {
        if ((roles >> source->node.data[child].role & 1) == 0) continue;
        enum how how = run_statement(run, child);
        if (how != HOW_NORMAL) return how;
    }
    return HOW_NORMAL;
}

static inline enum how run_loop(struct run *run, uint32_t index) {
    const struct hd_source *source = run->source;
    const struct hd_source_node *node = &source->node.data[index];
    uint32_t body = node->first_child, condition = HD_SOURCE_NONE;
    bool seeking = run->seek != HD_SOURCE_NONE, tests = node->kind != HD_NODE_FOR;
    if (node->kind == HD_NODE_WHILE) condition = body, body = source->node.data[body].next;
    if (node->kind == HD_NODE_DO) condition = source->node.data[body].next;
    if (node->kind == HD_NODE_FOR) {
        for (; source->node.data[body].next != HD_SOURCE_NONE; body = source->node.data[body].next)
            if (source->node.data[body].role == HD_ROLE_CONDITION ||
                source->node.data[body].role == HD_ROLE_CONTROL)
                tests = true, condition = body;
        if (!seeking) {
            enum how how = run_part(run, index, 1u << HD_ROLE_INIT);
            if (how != HOW_NORMAL) return how;
        }
    }
    bool test_first = node->kind != HD_NODE_DO && !seeking;
    for (;; test_first = true) {
        if (run->fuel-- == 0) return HOW_TIRED;
        if (test_first) {
            enum how how =
                node->kind == HD_NODE_FOR
                    ? run_part(run, index, 1u << HD_ROLE_CONDITION | 1u << HD_ROLE_CONTROL)
                    : run_statement(run, condition);
            if (how != HOW_NORMAL) return how;
            uint8_t constant = tests ? source->node.data[condition].constant : HD_CONSTANT_TRUE;
            /* A condition that is never true is an if (0) to the graph of a while. */
            if (node->kind == HD_NODE_DO && constant == HD_CONSTANT_FALSE) return HOW_NORMAL;
            if (constant != HD_CONSTANT_TRUE && coin(run)) return HOW_NORMAL;
        }
        enum how how = run_statement(run, body);
        if (how == HOW_BREAK) return HOW_NORMAL;
        if (leaves(how)) return how;
        if (node->kind == HD_NODE_FOR) {
            how = run_part(run, index, 1u << HD_ROLE_ADVANCE);
            if (how != HOW_NORMAL) return how;
        }
    }
}

/* Cases of this switch, not of one inside it. */
static inline uint32_t some_case(struct run *run, uint32_t index, uint32_t at, unsigned *seen,
                                 uint32_t chosen, bool *has_default) {
    const struct hd_source *source = run->source;
    for (uint32_t child = source->node.data[at].first_child; child != HD_SOURCE_NONE;
         child = source->node.data[child].next) {
        const struct hd_source_node *node = &source->node.data[child];
        if (node->kind == HD_NODE_CASE || node->kind == HD_NODE_DEFAULT) {
            if (node->kind == HD_NODE_DEFAULT) *has_default = true;
            if (hd_random_below(&run->random, ++*seen) == 0) chosen = child;
        }
        if (node->kind != HD_NODE_SWITCH && node->kind != HD_NODE_EXPRESSION)
            chosen = some_case(run, index, child, seen, chosen, has_default);
    }
    return chosen;
}

static inline enum how run_switch(struct run *run, uint32_t index) {
    const struct hd_source *source = run->source;
    uint32_t condition = source->node.data[index].first_child;
    uint32_t body = source->node.data[condition].next;
    if (run->seek == HD_SOURCE_NONE) {
        enum how how = run_statement(run, condition);
        if (how != HOW_NORMAL) return how;
        unsigned seen = 0;
        bool has_default = false;
        uint32_t chosen = some_case(run, index, index, &seen, HD_SOURCE_NONE, &has_default);
        if (chosen == HD_SOURCE_NONE || (!has_default && coin(run))) return HOW_NORMAL;
        run->seek = chosen;
    }
    enum how how = run_statement(run, body);
    return how == HOW_BREAK ? HOW_NORMAL : how;
}

static inline enum how run_if(struct run *run, uint32_t index) {
    const struct hd_source *source = run->source;
    uint32_t condition = source->node.data[index].first_child;
    uint32_t then = source->node.data[condition].next, other = source->node.data[then].next;
    if (run->seek != HD_SOURCE_NONE)
        return run_statement(run, inside(source, run->seek, then) ? then : other);
    enum how how = run_statement(run, condition);
    if (how != HOW_NORMAL) return how;
    if (coin(run)) return run_statement(run, then);
    return other != HD_SOURCE_NONE ? run_statement(run, other) : HOW_NORMAL;
}

static inline enum how run_statement(struct run *run, uint32_t index) {
    const struct hd_source *source = run->source;
    const struct hd_source_node *node = &source->node.data[index];
    if (run->seek == index) run->seek = HD_SOURCE_NONE;
    enum how how;
    switch (node->kind) {
    case HD_NODE_EXPRESSION:
        return run_expression(run, index);
    case HD_NODE_IF:
        return run_if(run, index);
    case HD_NODE_WHILE:
    case HD_NODE_DO:
    case HD_NODE_FOR:
        return run_loop(run, index);
    case HD_NODE_SWITCH:
        return run_switch(run, index);
    case HD_NODE_BREAK:
        return HOW_BREAK;
    case HD_NODE_CONTINUE:
        return HOW_CONTINUE;
    case HD_NODE_GOTO:
        run->label = node->label;
        return HOW_GOTO;
    case HD_NODE_RETURN:
        how = run_children(run, index);
        return how == HOW_NORMAL ? HOW_END : how;
    case HD_NODE_TRY:
        return run_statement(run, node->first_child);
    default:
        return run_children(run, index);
    }
}

static inline uint32_t find_label(const struct run *run, uint32_t root, uint32_t count) {
    for (uint32_t i = root; i < root + count; i++)
        if (run->source->node.data[i].kind == HD_NODE_LABEL &&
            (run->label == HD_SOURCE_NONE || run->source->node.data[i].label == run->label))
            return i;
    return HD_SOURCE_NONE;
}

/* Whether `to` is reached from `from` through blocks without steps. */
static inline bool leads_to(const struct hd_cfg *cfg, uint32_t from, uint32_t to) {
    HD_VECTOR(uint32_t) work = {0};
    bool *seen = calloc(cfg->blocks, sizeof *seen), found = false;
    hd_vector_push(&work, from);
    while (work.size > 0 && !found) {
        const struct hd_cfg_block *block = &cfg->block[work.data[--work.size]];
        for (uint32_t i = 0; i < block->out.count; i++) {
            uint32_t next = cfg->edge[block->out.first + i].to;
            if (next == to) found = true;
            if (seen[next] || cfg->block[next].steps.count > 0) continue;
            seen[next] = true;
            hd_vector_push(&work, next);
        }
    }
    free(seen);
    hd_vector_free(&work);
    return found;
}

static inline bool is_path(const struct run *run) {
    const struct hd_cfg *cfg = run->cfg;
    uint32_t block = HD_CFG_ENTRY;
    for (size_t i = 0; i < run->steps.size; i++) {
        uint32_t step = run->steps.data[i], to = cfg->block_of[step - cfg->first_step];
        if (to >= cfg->blocks) return false;
        const struct hd_source_range *range = &cfg->block[to].steps;
        if (step < range->first || step >= range->first + range->count) return false;
        if (i > 0 && to == block && run->steps.data[i - 1] + 1 == step) continue;
        const struct hd_source_range *before = &cfg->block[block].steps;
        if (i > 0 && run->steps.data[i - 1] != before->first + before->count - 1) return false;
        if (step != range->first || !cfg->block[to].reachable || !leads_to(cfg, block, to))
            return false;
        block = to;
    }
    return !run->finished || block == HD_CFG_EXIT || leads_to(cfg, block, HD_CFG_EXIT);
}

/* One random execution; true if the graph has it. */
static inline bool cfg_has_random_run(const struct hd_source *source, const struct hd_cfg *cfg,
                                      uint64_t seed) {
    const struct hd_source_function *function = &source->function.data[cfg->function];
    struct run run = {.source = source, .cfg = cfg, .seek = HD_SOURCE_NONE, .fuel = 300};
    run.random = seed;
    uint32_t root = function->nodes.first;
    enum how how = run_statement(&run, root);
    bool lost = false;
    while (how == HOW_GOTO && run.fuel-- > 0) {
        run.seek = find_label(&run, root, function->nodes.count);
        /* A label inside an expression: not followed. */
        for (uint32_t at = run.seek; at != HD_SOURCE_NONE; at = source->node.data[at].parent)
            if (source->node.data[at].kind == HD_NODE_EXPRESSION) lost = true;
        if (run.seek == HD_SOURCE_NONE || lost) break;
        how = run_statement(&run, root);
    }
    run.finished = !lost && (how == HOW_NORMAL || how == HOW_END);
    bool good = is_path(&run);
    hd_vector_free(&run.steps);
    return good;
}

/* Every step is in one block; what is not reachable comes after a jump. */
static inline const char *cfg_problem(const struct hd_source *source, const struct hd_cfg *cfg) {
    const struct hd_source_function *function = &source->function.data[cfg->function];
    uint32_t held = 0;
    for (uint32_t b = 0; b < cfg->blocks; b++) held += cfg->block[b].steps.count;
    if (held != function->steps.count) return "steps that are in no block, or in two";
    for (uint32_t i = 0; i < function->steps.count; i++)
        if (cfg->block_of[i] >= cfg->blocks) return "a step without a block";
    for (uint32_t b = 0; b < cfg->blocks; b++) {
        const struct hd_cfg_block *block = &cfg->block[b];
        if (block->reachable || block->steps.count == 0) continue;
        bool reason = false;
        uint32_t below = block->node;
        for (uint32_t at = source->node.data[below].parent; at != HD_SOURCE_NONE && !reason;
             below = at, at = source->node.data[at].parent) {
            for (uint32_t i = function->nodes.first; i < below && !reason; i++) {
                uint8_t kind = source->node.data[i].kind;
                reason = kind == HD_NODE_RETURN || kind == HD_NODE_GOTO || kind == HD_NODE_BREAK ||
                         kind == HD_NODE_CONTINUE || kind == HD_NODE_SWITCH ||
                         source->node.data[i].constant != HD_CONSTANT_NONE || kind == HD_NODE_FOR;
            }
        }
        for (uint32_t i = function->steps.first; i < block->steps.first && !reason; i++)
            reason = no_return(source, &source->step.data[i]);
        /* Code before the first case of a switch is not reached by anything. */
        for (uint32_t at = block->node; at != HD_SOURCE_NONE && !reason;
             at = source->node.data[at].parent)
            reason = source->node.data[at].kind == HD_NODE_SWITCH;
        /* The advance of a for whose body always leaves. */
        for (uint32_t at = block->node; at != HD_SOURCE_NONE && !reason;
             at = source->node.data[at].parent)
            reason = source->node.data[at].role == HD_ROLE_ADVANCE ||
                     source->node.data[at].kind == HD_NODE_DO;
        if (!reason) return "a block that nothing leads to, without a jump before it";
    }
    return NULL;
}

#endif
