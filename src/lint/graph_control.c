/* Control dependences (Fig. 5), from the post-dominators of the control flow graph, so that early
 * exits, goto, switch and short circuits count. What is inside an if or a loop of structured code
 * depends on its condition, as in the paper. */
#include "lint/graph_function.h"

#include "base/alloc.h"
#include "source/library.h"

#define NO_BLOCK UINT32_MAX

/* Post-dominators by Cooper, Harvey and Kennedy. Ways that end in a call that does not return are
 * left out: nothing depends on an assertion that holds. */
struct dominators {
    const struct hd_cfg *cfg;
    bool *dead;      /* leads to no end */
    bool *endless;   /* gets an edge to the exit, for loops without end */
    uint32_t *order; /* by block: place in reverse postorder from the exit */
    uint32_t *at;    /* blocks in that order */
    uint32_t count;
    uint32_t *parent; /* the block's immediate post-dominator */
};

static bool never_returns(const struct hd_source *source, const struct hd_cfg_block *block) {
    if (block->steps.count == 0) return false;
    const struct hd_source_step *step =
        &source->step.data[block->steps.first + block->steps.count - 1];
    if (step->kind != HD_STEP_CALL || step->function == HD_SOURCE_NONE) return false;
    const struct hd_source_function *function = &source->function.data[step->function];
    return (function->flags & HD_FUNCTION_NORETURN) != 0 ||
           ((function->flags & HD_FUNCTION_BODY) == 0 &&
            hd_library_no_return(hd_source_text(source, function->name)));
}

static void find_dead(const struct hd_source *source, struct dominators *d) {
    const struct hd_cfg *cfg = d->cfg;
    for (uint32_t b = 0; b < cfg->blocks; b++)
        d->dead[b] = !cfg->block[b].reachable || never_returns(source, &cfg->block[b]);
    d->dead[HD_CFG_EXIT] = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = cfg->blocks; b-- > 0;) {
            if (d->dead[b] || b == HD_CFG_EXIT) continue;
            bool alive = false;
            for (uint32_t i = 0; i < cfg->block[b].out.count; i++)
                alive = alive || !d->dead[cfg->edge[cfg->block[b].out.first + i].to];
            if (!alive) d->dead[b] = changed = true;
        }
    }
}

/* Depth first from a block, against the edges; postorder is in `at`. */
static void visit_back(struct dominators *d, uint32_t root) {
    struct frame {
        uint32_t block, next;
    };
    HD_VECTOR(struct frame) stack = {0};
    struct frame first = {root, 0};
    d->order[root] = 0;
    hd_vector_push(&stack, first);
    while (stack.size > 0) {
        struct frame *top = &stack.data[stack.size - 1];
        const struct hd_cfg_block *block = &d->cfg->block[top->block];
        uint32_t from = NO_BLOCK, number = top->next++;
        if (number < block->in.count)
            from = d->cfg->edge[d->cfg->incoming[block->in.first + number]].from;
        else if (top->block == HD_CFG_EXIT && number - block->in.count < d->cfg->blocks)
            from = d->endless[number - block->in.count] ? number - block->in.count : NO_BLOCK;
        else {
            d->at[d->count++] = top->block;
            stack.size--;
            continue;
        }
        if (from == NO_BLOCK || d->dead[from] || d->order[from] != NO_BLOCK) continue;
        struct frame next = {from, 0};
        d->order[from] = 0;
        hd_vector_push(&stack, next);
    }
    hd_vector_free(&stack);
}

/* Postorder from the exit. What can't reach it, a loop without end, gets an edge there from its
 * last block. */
static void find_order(struct dominators *d) {
    for (uint32_t b = 0; b < d->cfg->blocks; b++) d->order[b] = NO_BLOCK;
    visit_back(d, HD_CFG_EXIT);
    for (uint32_t b = d->cfg->blocks; b-- > 0;) {
        if (d->dead[b] || d->order[b] != NO_BLOCK) continue;
        d->endless[b] = true;
        visit_back(d, b);
    }
    d->count = 0;
    for (uint32_t b = 0; b < d->cfg->blocks; b++) d->order[b] = NO_BLOCK;
    visit_back(d, HD_CFG_EXIT);
    for (uint32_t i = 0; i < d->count; i++) d->order[d->at[i]] = i;
}

static uint32_t meet(const struct dominators *d, uint32_t one, uint32_t other) {
    while (one != other) {
        while (d->order[one] < d->order[other]) one = d->parent[one];
        while (d->order[other] < d->order[one]) other = d->parent[other];
    }
    return one;
}

static bool settle(struct dominators *d, uint32_t b) {
    const struct hd_cfg_block *block = &d->cfg->block[b];
    uint32_t parent = d->endless[b] ? HD_CFG_EXIT : NO_BLOCK;
    for (uint32_t i = 0; i < block->out.count; i++) {
        uint32_t to = d->cfg->edge[block->out.first + i].to;
        if (d->dead[to] || d->order[to] == NO_BLOCK || d->parent[to] == NO_BLOCK) continue;
        parent = parent == NO_BLOCK ? to : meet(d, parent, to);
    }
    if (parent == NO_BLOCK || d->parent[b] == parent) return false;
    d->parent[b] = parent;
    return true;
}

static void dominate(const struct hd_source *source, const struct hd_cfg *cfg,
                     struct dominators *d) {
    *d = (struct dominators){.cfg = cfg};
    d->dead = hd_zalloc(cfg->blocks, sizeof *d->dead);
    d->endless = hd_zalloc(cfg->blocks, sizeof *d->endless);
    d->order = hd_alloc(cfg->blocks, sizeof *d->order);
    d->at = hd_alloc(cfg->blocks, sizeof *d->at);
    d->parent = hd_alloc(cfg->blocks, sizeof *d->parent);
    for (uint32_t b = 0; b < cfg->blocks; b++) d->parent[b] = NO_BLOCK;
    find_dead(source, d);
    find_order(d);
    d->parent[HD_CFG_EXIT] = HD_CFG_EXIT;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = d->count; i-- > 0;)
            if (d->at[i] != HD_CFG_EXIT) changed |= settle(d, d->at[i]);
    }
}

static void release(struct dominators *d) {
    free(d->dead);
    free(d->endless);
    free(d->order);
    free(d->at);
    free(d->parent);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static bool decides(const struct hd_source_node *node, const struct hd_source_node *child) {
    switch (node->kind) {
    case HD_NODE_IF:
    case HD_NODE_WHILE:
    case HD_NODE_DO:
    case HD_NODE_SWITCH:
    case HD_NODE_CONDITIONAL:
        return child->role == HD_ROLE_CONDITION;
    case HD_NODE_FOR:
        return child->role == HD_ROLE_CONDITION || child->role == HD_ROLE_CONTROL;
    case HD_NODE_AND:
    case HD_NODE_OR:
        return true; /* the left side; the right side decides nothing by itself */
    default:
        return false;
    }
}

/* By block of the graph: the expression that decides where it goes on; NONE. A condition's last
 * step is in the block that decides. */
static uint32_t *find_conditions(const struct hd_causal_builder *builder) {
    const struct hd_source *source = builder->source;
    const struct hd_cfg *cfg = builder->cfg;
    uint32_t *condition = hd_alloc(cfg->blocks, sizeof *condition);
    for (uint32_t b = 0; b < cfg->blocks; b++) condition[b] = HD_SOURCE_NONE;
    struct hd_source_range nodes = source->function.data[builder->function].nodes;
    for (uint32_t n = nodes.first; n < nodes.first + nodes.count; n++) {
        const struct hd_source_node *node = &source->node.data[n];
        for (uint32_t child = node->first_child; child != HD_SOURCE_NONE;
             child = source->node.data[child].next) {
            const struct hd_source_node *at = &source->node.data[child];
            if (at->kind != HD_NODE_EXPRESSION || at->steps.count == 0 || !decides(node, at))
                continue;
            uint32_t last = at->steps.first + at->steps.count - 1;
            uint32_t block = cfg->block_of[last - cfg->first_step];
            if (block != UINT32_MAX) condition[block] = child;
            if (node->kind == HD_NODE_AND || node->kind == HD_NODE_OR) break;
        }
    }
    return condition;
}

static void depend_on(struct hd_causal_builder *builder, uint32_t block, uint32_t condition,
                      uint32_t dependent) {
    const struct hd_source *source = builder->source;
    struct hd_source_range value = source->node.data[condition].value;
    for (uint32_t i = 0; i < value.count; i++)
        hd_causal_add(builder, source->link.data[value.first + i], builder->execution[dependent],
                      HD_CAUSAL_CONTROL);
    if (block != dependent)
        hd_causal_add(builder, builder->execution[block], builder->execution[dependent],
                      HD_CAUSAL_CONTROL);
}

/* Conditional and loop: what runs only on one side of a condition depends on it. */
static void add_dependences(struct hd_causal_builder *builder) {
    const struct hd_cfg *cfg = builder->cfg;
    uint32_t *condition = find_conditions(builder);
    bool *depends = hd_zalloc(cfg->blocks, sizeof *depends);
    struct dominators d;
    dominate(builder->source, cfg, &d);
    for (uint32_t b = 0; b < cfg->blocks; b++) {
        if (d.dead[b] || condition[b] == HD_SOURCE_NONE || d.parent[b] == NO_BLOCK) continue;
        for (uint32_t i = 0; i < cfg->block[b].out.count; i++) {
            uint32_t to = cfg->edge[cfg->block[b].out.first + i].to;
            if (d.dead[to]) continue;
            for (; to != d.parent[b] && to != HD_CFG_EXIT && to != NO_BLOCK; to = d.parent[to]) {
                depend_on(builder, b, condition[b], to);
                if (to != b) depends[to] = true;
            }
        }
    }
    uint32_t entry = hd_causal_at(builder->graph, HD_NODE_OF_ENTRY, builder->function);
    for (uint32_t b = 0; b < cfg->blocks; b++)
        if (!depends[b]) hd_causal_add(builder, entry, builder->execution[b], HD_CAUSAL_CONTROL);
    release(&d);
    free(depends);
    free(condition);
}

/* ---- what depends ---------------------------------------------------------------------------- */

/* The value of `c ? a : b` depends on c. */
static void add_choice(struct hd_causal_builder *builder, uint32_t step) {
    const struct hd_source *source = builder->source;
    const struct hd_source_node *node = &source->node.data[source->step.data[step].node];
    if (node->kind != HD_NODE_CONDITIONAL) return;
    struct hd_source_range value = source->node.data[node->first_child].value;
    for (uint32_t i = 0; i < value.count; i++)
        hd_causal_add(builder, source->link.data[value.first + i], step, HD_CAUSAL_CONTROL);
}

static void add_call(struct hd_causal_builder *builder, uint32_t step, uint32_t execution) {
    const struct hd_calls *calls = builder->calls;
    hd_causal_add(builder, execution, step, HD_CAUSAL_CONTROL);
    if (!hd_calls_known(calls, step)) return;
    uint32_t node = hd_causal_other(builder, builder->blocks->mask[step], step);
    hd_causal_add(builder, execution, node, HD_CAUSAL_CONTROL);
    for (uint32_t k = 0; k < calls->count[step]; k++)
        hd_causal_add(builder, node,
                      hd_causal_at(builder->graph, HD_NODE_OF_ENTRY, hd_callees(calls, step)[k]),
                      HD_CAUSAL_DOWN);
}

void hd_causal_control(struct hd_causal_builder *builder) {
    const struct hd_source *source = builder->source;
    const struct hd_cfg *cfg = builder->cfg;
    add_dependences(builder);
    uint32_t result = hd_causal_at(builder->graph, HD_NODE_OF_RESULT, builder->function);
    for (uint32_t b = 0; b < cfg->blocks; b++) {
        const struct hd_cfg_block *block = &cfg->block[b];
        uint32_t execution = builder->execution[b];
        for (uint32_t i = block->steps.first; i < block->steps.first + block->steps.count; i++) {
            const struct hd_source_step *step = &source->step.data[i];
            if (hd_step_writes(step)) hd_causal_add(builder, execution, i, HD_CAUSAL_CONTROL);
            if (step->kind == HD_STEP_CALL) add_call(builder, i, execution);
            if (step->kind == HD_STEP_NESTED) add_choice(builder, i);
        }
        for (uint32_t i = 0; i < block->out.count; i++) {
            const struct hd_cfg_edge *edge = &cfg->edge[block->out.first + i];
            if (edge->to == HD_CFG_EXIT && edge->kind == HD_EDGE_JUMP &&
                !never_returns(source, block))
                hd_causal_add(builder, execution, result, HD_CAUSAL_CONTROL);
        }
    }
}
