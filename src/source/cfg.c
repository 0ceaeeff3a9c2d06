/* Control flow graphs, from the tree of statements: see cfg.h. */
#include "source/cfg.h"

#include "base/alloc.h"
#include "source/library.h"

#include <string.h>

#define NO_BLOCK UINT32_MAX

/* Where break and continue go, and the switch around. */
struct around {
    uint32_t break_to, continue_to;
    uint32_t switch_block; /* NO_BLOCK outside a switch */
    bool *has_default;
};

struct jump {
    uint32_t from, label;
};

struct builder {
    const struct hd_source *source;
    struct hd_cfg *cfg;
    HD_VECTOR(struct hd_cfg_block) block;
    HD_VECTOR(struct hd_cfg_edge) edge;
    HD_VECTOR(struct jump) gotos;
    HD_VECTOR(struct jump) labels; /* from: the label's block */
    uint32_t current;              /* NO_BLOCK behind a jump */
};

static uint32_t new_block(struct builder *builder, uint32_t node) {
    struct hd_cfg_block block = {.node = node};
    hd_vector_push(&builder->block, block);
    return (uint32_t)builder->block.size - 1;
}

static void connect(struct builder *builder, uint32_t from, uint32_t to, uint8_t kind) {
    if (from == NO_BLOCK || to == NO_BLOCK) return;
    struct hd_cfg_edge edge = {.from = from, .to = to, .kind = kind};
    hd_vector_push(&builder->edge, edge);
}

/* The block to go on in; behind a jump, one that nothing leads to yet. */
static uint32_t here(struct builder *builder, uint32_t node) {
    if (builder->current == NO_BLOCK) builder->current = new_block(builder, node);
    return builder->current;
}

/* Ends the block and goes on in another. */
static void go_on(struct builder *builder, uint32_t to, uint8_t kind) {
    connect(builder, builder->current, to, kind);
    builder->current = to;
}

static void jump_to(struct builder *builder, uint32_t node, uint32_t to) {
    connect(builder, here(builder, node), to, HD_EDGE_JUMP);
    builder->current = NO_BLOCK;
}

/* ---- expressions
 * ----------------------------------------------------------------------------------- */

static void statement(struct builder *builder, uint32_t index, const struct around *around);
static void expression(struct builder *builder, uint32_t index, const struct around *around);

static bool returns(const struct hd_source *source, const struct hd_source_step *step) {
    if (step->kind != HD_STEP_CALL || step->function == HD_SOURCE_NONE) return true;
    const struct hd_source_function *function = &source->function.data[step->function];
    if ((function->flags & HD_FUNCTION_NORETURN) != 0) return false;
    return (function->flags & HD_FUNCTION_BODY) != 0 ||
           !hd_library_no_return(hd_source_text(source, function->name));
}

static void append(struct builder *builder, uint32_t node, uint32_t step) {
    const struct hd_source *source = builder->source;
    uint32_t at = here(builder, node);
    struct hd_cfg_block *block = &builder->block.data[at];
    if (block->steps.count > 0 && block->steps.first + block->steps.count != step) {
        go_on(builder, new_block(builder, node), HD_EDGE_NEXT);
        at = builder->current;
        block = &builder->block.data[at];
    }
    if (block->steps.count == 0) {
        block->steps.first = step;
        block->node = node;
    }
    block->steps.count++;
    builder->cfg->block_of[step - builder->cfg->first_step] = at;
    if (!returns(source, &source->step.data[step])) jump_to(builder, node, HD_CFG_EXIT);
}

static void nested(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    const struct hd_source_node *node = &source->node.data[index];
    if (node->kind == HD_NODE_BLOCK) {
        statement(builder, index, around);
        here(builder, index);
        return;
    }
    uint32_t first = node->first_child, second = source->node.data[first].next;
    uint32_t join = new_block(builder, index);
    expression(builder, first, around);
    uint32_t condition = here(builder, first);
    builder->current = new_block(builder, second);
    connect(builder, condition, builder->current,
            node->kind == HD_NODE_OR ? HD_EDGE_FALSE : HD_EDGE_TRUE);
    expression(builder, second, around);
    connect(builder, builder->current, join, HD_EDGE_NEXT);
    if (node->kind == HD_NODE_CONDITIONAL) {
        uint32_t third = source->node.data[second].next;
        builder->current = new_block(builder, third);
        connect(builder, condition, builder->current, HD_EDGE_FALSE);
        expression(builder, third, around);
        connect(builder, builder->current, join, HD_EDGE_NEXT);
    } else
        connect(builder, condition, join, node->kind == HD_NODE_OR ? HD_EDGE_TRUE : HD_EDGE_FALSE);
    builder->current = join;
}

/* Steps of nested nodes stand before the step that is the nested node's value. */
static void expression(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    const struct hd_source_node *node = &source->node.data[index];
    uint32_t child = node->first_child, end = node->steps.first + node->steps.count;
    here(builder, index);
    for (uint32_t i = node->steps.first; i < end; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        if (step->kind != HD_STEP_NESTED && step->node == index) {
            append(builder, index, i);
            continue;
        }
        nested(builder, child, around);
        while (source->step.data[i].kind != HD_STEP_NESTED || source->step.data[i].node != child)
            i++;
        append(builder, index, i);
        child = source->node.data[child].next;
    }
}

/* ---- statements
 * ------------------------------------------------------------------------------------ */

static void if_statement(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    uint32_t condition = source->node.data[index].first_child;
    uint32_t then = source->node.data[condition].next, otherwise = source->node.data[then].next;
    expression(builder, condition, around);
    uint32_t decision = here(builder, condition), join = new_block(builder, index);
    builder->current = new_block(builder, then);
    connect(builder, decision, builder->current, HD_EDGE_TRUE);
    statement(builder, then, around);
    connect(builder, builder->current, join, HD_EDGE_NEXT);
    if (otherwise != HD_SOURCE_NONE) {
        builder->current = new_block(builder, otherwise);
        connect(builder, decision, builder->current, HD_EDGE_FALSE);
        statement(builder, otherwise, around);
        connect(builder, builder->current, join, HD_EDGE_NEXT);
    } else
        connect(builder, decision, join, HD_EDGE_FALSE);
    builder->current = join;
}

static void while_loop(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    uint32_t condition = source->node.data[index].first_child;
    uint32_t body = source->node.data[condition].next;
    uint8_t constant = source->node.data[condition].constant;
    uint32_t head = new_block(builder, condition), join = new_block(builder, index);
    go_on(builder, head, HD_EDGE_NEXT);
    expression(builder, condition, around);
    uint32_t decision = here(builder, condition);
    if (constant != HD_CONSTANT_TRUE) connect(builder, decision, join, HD_EDGE_FALSE);
    struct around inside = {join, head, around->switch_block, around->has_default};
    builder->current = new_block(builder, body);
    connect(builder, decision, builder->current, HD_EDGE_TRUE);
    statement(builder, body, &inside);
    connect(builder, builder->current, head, HD_EDGE_NEXT);
    builder->current = join;
}

static void do_loop(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    uint32_t body = source->node.data[index].first_child;
    uint32_t condition = source->node.data[body].next;
    uint8_t constant = source->node.data[condition].constant;
    uint32_t top = new_block(builder, body), test = new_block(builder, condition);
    uint32_t join = new_block(builder, index);
    struct around inside = {join, test, around->switch_block, around->has_default};
    go_on(builder, top, HD_EDGE_NEXT);
    statement(builder, body, &inside);
    go_on(builder, test, HD_EDGE_NEXT);
    expression(builder, condition, around);
    uint32_t decision = here(builder, condition);
    if (constant != HD_CONSTANT_FALSE) connect(builder, decision, top, HD_EDGE_TRUE);
    if (constant != HD_CONSTANT_TRUE) connect(builder, decision, join, HD_EDGE_FALSE);
    builder->current = join;
}

/* The parts of a for with one of two roles, in order. Returns how many there were. */
static unsigned for_parts(struct builder *builder, uint32_t index, uint8_t role, uint8_t other,
                          const struct around *around, uint8_t *constant) {
    const struct hd_source *source = builder->source;
    unsigned found = 0;
    for (uint32_t child = source->node.data[index].first_child;
         source->node.data[child].next != HD_SOURCE_NONE; child = source->node.data[child].next) {
        const struct hd_source_node *part = &source->node.data[child];
        if (part->role != role && part->role != other) continue;
        statement(builder, child, around);
        if (constant != NULL) *constant = part->constant;
        found++;
    }
    return found;
}

static void for_loop(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    uint32_t body = source->node.data[index].first_child;
    while (source->node.data[body].next != HD_SOURCE_NONE) body = source->node.data[body].next;
    uint8_t constant = HD_CONSTANT_NONE;
    for_parts(builder, index, HD_ROLE_INIT, HD_ROLE_INIT, around, NULL);
    uint32_t head = new_block(builder, index), advance = new_block(builder, index);
    uint32_t join = new_block(builder, index);
    go_on(builder, head, HD_EDGE_NEXT);
    unsigned tests =
        for_parts(builder, index, HD_ROLE_CONDITION, HD_ROLE_CONTROL, around, &constant);
    bool endless = tests == 0 || constant == HD_CONSTANT_TRUE;
    uint32_t decision = here(builder, index);
    builder->current = new_block(builder, body);
    connect(builder, decision, builder->current, endless ? HD_EDGE_NEXT : HD_EDGE_TRUE);
    if (!endless) connect(builder, decision, join, HD_EDGE_FALSE);
    struct around inside = {join, advance, around->switch_block, around->has_default};
    statement(builder, body, &inside);
    go_on(builder, advance, HD_EDGE_NEXT);
    for_parts(builder, index, HD_ROLE_ADVANCE, HD_ROLE_ADVANCE, around, NULL);
    connect(builder, builder->current, head, HD_EDGE_NEXT);
    builder->current = join;
}

static void switch_statement(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    uint32_t condition = source->node.data[index].first_child;
    uint32_t body = source->node.data[condition].next, join = new_block(builder, index);
    bool has_default = false;
    expression(builder, condition, around);
    struct around inside = {join, around->continue_to, here(builder, condition), &has_default};
    builder->current = NO_BLOCK;
    statement(builder, body, &inside);
    connect(builder, builder->current, join, HD_EDGE_NEXT);
    if (!has_default) connect(builder, inside.switch_block, join, HD_EDGE_CASE);
    builder->current = join;
}

/* case, default, labels: control comes from before, and from elsewhere. */
static void marked(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source_node *node = &builder->source->node.data[index];
    uint32_t block = new_block(builder, index);
    go_on(builder, block, HD_EDGE_NEXT);
    if (node->kind == HD_NODE_LABEL) {
        struct jump label = {block, node->label};
        hd_vector_push(&builder->labels, label);
    } else if (around->switch_block != NO_BLOCK) {
        connect(builder, around->switch_block, block, HD_EDGE_CASE);
        if (node->kind == HD_NODE_DEFAULT) *around->has_default = true;
    }
    if (node->first_child != HD_SOURCE_NONE) statement(builder, node->first_child, around);
}

/* An exception may come at any time: handlers follow from the begin and from the end of the body.
 */
static void try_statement(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    uint32_t body = source->node.data[index].first_child;
    uint32_t begin = new_block(builder, index), join = new_block(builder, index);
    go_on(builder, begin, HD_EDGE_NEXT);
    statement(builder, body, around);
    uint32_t end = builder->current;
    connect(builder, end, join, HD_EDGE_NEXT);
    for (uint32_t handler = source->node.data[body].next; handler != HD_SOURCE_NONE;
         handler = source->node.data[handler].next) {
        builder->current = new_block(builder, handler);
        connect(builder, begin, builder->current, HD_EDGE_JUMP);
        if (end != begin) connect(builder, end, builder->current, HD_EDGE_JUMP);
        statement(builder, handler, around);
        connect(builder, builder->current, join, HD_EDGE_NEXT);
    }
    builder->current = join;
}

static void children(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source *source = builder->source;
    for (uint32_t child = source->node.data[index].first_child; child != HD_SOURCE_NONE;
         child = source->node.data[child].next)
        statement(builder, child, around);
}

static void statement(struct builder *builder, uint32_t index, const struct around *around) {
    const struct hd_source_node *node = &builder->source->node.data[index];
    switch (node->kind) {
    case HD_NODE_IF:
        if_statement(builder, index, around);
        break;
    case HD_NODE_WHILE:
        while_loop(builder, index, around);
        break;
    case HD_NODE_DO:
        do_loop(builder, index, around);
        break;
    case HD_NODE_FOR:
        for_loop(builder, index, around);
        break;
    case HD_NODE_SWITCH:
        switch_statement(builder, index, around);
        break;
    case HD_NODE_CASE:
    case HD_NODE_DEFAULT:
    case HD_NODE_LABEL:
        marked(builder, index, around);
        break;
    case HD_NODE_TRY:
        try_statement(builder, index, around);
        break;
    case HD_NODE_EXPRESSION:
        expression(builder, index, around);
        break;
    case HD_NODE_RETURN:
        children(builder, index, around);
        jump_to(builder, index, HD_CFG_EXIT);
        break;
    case HD_NODE_BREAK:
        jump_to(builder, index, around->break_to);
        break;
    case HD_NODE_CONTINUE:
        jump_to(builder, index, around->continue_to);
        break;
    case HD_NODE_GOTO: {
        struct jump jump = {here(builder, index), node->label};
        hd_vector_push(&builder->gotos, jump);
        builder->current = NO_BLOCK;
        break;
    }
    default:
        children(builder, index, around);
    }
}

/* ---- the graph
 * -------------------------------------------------------------------------------------- */

/* A computed goto may go to every label; a label that is not there ends the function. */
static void resolve_gotos(struct builder *builder) {
    for (size_t i = 0; i < builder->gotos.size; i++) {
        bool found = false;
        for (size_t j = 0; j < builder->labels.size; j++) {
            if (builder->gotos.data[i].label != HD_SOURCE_NONE &&
                builder->gotos.data[i].label != builder->labels.data[j].label)
                continue;
            connect(builder, builder->gotos.data[i].from, builder->labels.data[j].from,
                    HD_EDGE_JUMP);
            found = true;
        }
        if (!found) connect(builder, builder->gotos.data[i].from, HD_CFG_EXIT, HD_EDGE_JUMP);
    }
}

static void sort_edges(struct builder *builder) {
    struct hd_cfg *cfg = builder->cfg;
    cfg->edges = (uint32_t)builder->edge.size;
    cfg->edge = hd_alloc(cfg->edges, sizeof *cfg->edge);
    cfg->incoming = hd_alloc(cfg->edges, sizeof *cfg->incoming);
    for (uint32_t i = 0; i < cfg->edges; i++) {
        cfg->block[builder->edge.data[i].from].out.count++;
        cfg->block[builder->edge.data[i].to].in.count++;
    }
    uint32_t out = 0, in = 0;
    for (uint32_t i = 0; i < cfg->blocks; i++) {
        cfg->block[i].out.first = out;
        cfg->block[i].in.first = in;
        out += cfg->block[i].out.count;
        in += cfg->block[i].in.count;
        cfg->block[i].out.count = cfg->block[i].in.count = 0;
    }
    for (uint32_t i = 0; i < cfg->edges; i++) {
        struct hd_cfg_block *from = &cfg->block[builder->edge.data[i].from];
        cfg->edge[from->out.first + from->out.count++] = builder->edge.data[i];
    }
    for (uint32_t i = 0; i < cfg->edges; i++) {
        struct hd_cfg_block *to = &cfg->block[cfg->edge[i].to];
        cfg->incoming[to->in.first + to->in.count++] = i;
    }
}

static void mark_reachable(struct hd_cfg *cfg) {
    HD_VECTOR(uint32_t) work = {0};
    cfg->block[HD_CFG_ENTRY].reachable = true;
    hd_vector_push(&work, HD_CFG_ENTRY);
    while (work.size > 0) {
        const struct hd_cfg_block *block = &cfg->block[work.data[--work.size]];
        for (uint32_t i = 0; i < block->out.count; i++) {
            uint32_t to = cfg->edge[block->out.first + i].to;
            if (cfg->block[to].reachable) continue;
            cfg->block[to].reachable = true;
            hd_vector_push(&work, to);
        }
    }
    hd_vector_free(&work);
}

void hd_cfg_build(const struct hd_source *source, uint32_t function, struct hd_cfg *cfg) {
    const struct hd_source_function *body = &source->function.data[function];
    *cfg = (struct hd_cfg){.function = function, .first_step = body->steps.first};
    cfg->block_of = hd_alloc(body->steps.count, sizeof *cfg->block_of);
    memset(cfg->block_of, 0xff, body->steps.count * sizeof *cfg->block_of);
    struct builder builder = {.source = source, .cfg = cfg, .current = HD_CFG_ENTRY};
    new_block(&builder, HD_SOURCE_NONE);
    new_block(&builder, HD_SOURCE_NONE);
    /* break outside a loop: text written by hand. */
    struct around around = {HD_CFG_EXIT, HD_CFG_EXIT, NO_BLOCK, NULL};
    if (body->nodes.count > 0) {
        go_on(&builder, new_block(&builder, body->nodes.first), HD_EDGE_NEXT);
        statement(&builder, body->nodes.first, &around);
    }
    connect(&builder, builder.current, HD_CFG_EXIT, HD_EDGE_NEXT);
    resolve_gotos(&builder);
    cfg->blocks = (uint32_t)builder.block.size;
    cfg->block = builder.block.data;
    sort_edges(&builder);
    mark_reachable(cfg);
    hd_vector_free(&builder.edge);
    hd_vector_free(&builder.gotos);
    hd_vector_free(&builder.labels);
}

void hd_cfg_free(struct hd_cfg *cfg) {
    free(cfg->block);
    free(cfg->edge);
    free(cfg->incoming);
    free(cfg->block_of);
    *cfg = (struct hd_cfg){0};
}
