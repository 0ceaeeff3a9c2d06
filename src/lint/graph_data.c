/* Data dependences (Fig. 4): the versions of variables that reach their uses. A write makes a new
 * version and replaces those before it (Definition 4); a place that may be one of several (an array
 * element, what a pointer points to) keeps them. */
#include "lint/graph_function.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define SHARED_PART UINT32_MAX /* the place is a shared variable */

struct definition {
    struct hd_own_place place;
    uint32_t node, step; /* step NONE: at the function's begin */
    bool replaces;
};

struct use {
    struct hd_own_place place;
    uint32_t node, step;
};

struct data {
    struct hd_causal_builder *builder;
    HD_VECTOR(struct definition) definition; /* in the order of steps */
    HD_VECTOR(struct use) use;
    uint32_t words;
    uint64_t *in; /* by block: definitions that reach it */
};

/* ---- uses and definitions -------------------------------------------------------------------- */

static void define(struct data *data, struct hd_own_place place, uint32_t node, uint32_t step,
                   bool replaces) {
    struct definition new = {place, node, step, replaces};
    if (place.variable != HD_SOURCE_NONE) hd_vector_push(&data->definition, new);
}

static void use(struct data *data, struct hd_own_place place, uint32_t node, uint32_t step) {
    struct use new = {place, node, step};
    if (place.variable != HD_SOURCE_NONE) hd_vector_push(&data->use, new);
}

static struct hd_own_place whole_of(uint32_t variable) {
    return (struct hd_own_place){variable, HD_PLACE_ALL};
}

static struct hd_own_place shared_place(uint32_t variable) {
    return (struct hd_own_place){variable, SHARED_PART};
}

static bool has_index(const struct hd_source *source, uint32_t path) {
    for (; path != HD_SOURCE_NONE; path = source->path.data[path].parent)
        if (source->path.data[path].kind == HD_PATH_INDEX) return true;
    return false;
}

/* Local variables of this function that a place behind a pointer may be. */
static bool own_pointee(const struct data *data, uint32_t variable) {
    return data->builder->source->variable.data[variable].function == data->builder->function &&
           data->builder->source->variable.data[variable].kind != HD_VARIABLE_GLOBAL;
}

static void add_access(struct data *data, uint32_t step) {
    const struct hd_source *source = data->builder->source;
    const struct hd_shared *shared = data->builder->shared;
    const struct hd_source_step *at = &source->step.data[step];
    struct hd_own_place place = hd_shared_place(shared, step);
    bool reads = hd_step_reads(at), writes = hd_step_writes(at);
    bool replaces = !has_index(source, at->path);
    if (reads) use(data, place, step, step);
    if (writes) define(data, place, step, step, replaces && place.part != HD_PLACE_CONTENT);
    if (place.variable != HD_SOURCE_NONE && place.part == HD_PLACE_CONTENT) {
        const struct hd_pointees *set = &shared->pointees[place.variable];
        for (unsigned i = 0; i < set->count; i++) {
            if (!own_pointee(data, set->variable[i])) continue;
            if (reads) use(data, whole_of(set->variable[i]), step, step);
            if (writes) define(data, whole_of(set->variable[i]), step, step, false);
        }
    }
    for (uint32_t i = 0; i < shared->count[step]; i++) {
        struct hd_own_place variable = shared_place(shared->of.data[shared->first[step] + i]);
        if (reads) use(data, variable, step, step);
        if (writes) define(data, variable, step, step, replaces);
    }
}

/* What is behind an argument that is a pointer. */
static struct hd_own_place behind(const struct data *data,
                                  const struct hd_source_argument *argument) {
    const struct hd_source *source = data->builder->source;
    struct hd_own_place none = {HD_SOURCE_NONE, 0};
    uint32_t root = hd_source_path_root(source, argument->path);
    if (root == HD_SOURCE_NONE || !own_pointee(data, root)) return none;
    if (argument->address) return whole_of(root);
    if ((source->variable.data[root].flags & HD_VARIABLE_POINTER) == 0 ||
        source->path.data[argument->path].kind != HD_PATH_VARIABLE)
        return none;
    return (struct hd_own_place){root, HD_PLACE_CONTENT};
}

static void add_arguments(struct data *data, uint32_t step) {
    const struct hd_source *source = data->builder->source;
    struct hd_causal_graph *graph = data->builder->graph;
    struct hd_source_range arguments = source->step.data[step].arguments;
    for (uint32_t a = arguments.first; a < arguments.first + arguments.count; a++) {
        struct hd_own_place place = behind(data, &source->argument.data[a]);
        if (place.variable == HD_SOURCE_NONE) continue;
        use(data, place, hd_causal_at(graph, HD_NODE_OF_PASSED, a), step);
        define(data, place, hd_causal_at(graph, HD_NODE_OF_RETURNED, a), step, false);
    }
}

static void add_parameters(struct data *data) {
    const struct hd_source *source = data->builder->source;
    const struct hd_source_function *function = &source->function.data[data->builder->function];
    for (uint32_t i = 0; i < function->parameters; i++) {
        uint32_t variable = source->link.data[function->variables.first + i];
        define(data, whole_of(variable),
               hd_causal_at(data->builder->graph, HD_NODE_OF_PARAMETER, variable), HD_SOURCE_NONE,
               true);
        define(data, (struct hd_own_place){variable, HD_PLACE_CONTENT},
               hd_causal_at(data->builder->graph, HD_NODE_OF_RECEIVED, variable), HD_SOURCE_NONE,
               true);
    }
}

/* ---- which reach which ----------------------------------------------------------------------- */

static bool overlap(struct hd_own_place one, struct hd_own_place other) {
    if (one.variable != other.variable) return false;
    if (one.part == other.part) return true;
    bool local = one.part != SHARED_PART && other.part != SHARED_PART &&
                 one.part != HD_PLACE_CONTENT && other.part != HD_PLACE_CONTENT;
    return local && (one.part == HD_PLACE_ALL || other.part == HD_PLACE_ALL);
}

static bool covers(struct hd_own_place one, struct hd_own_place other) {
    return overlap(one, other) && (one.part == other.part || one.part == HD_PLACE_ALL);
}

static bool has(const uint64_t *set, size_t member) {
    return (set[member / 64] >> member % 64 & 1);
}
static void put(uint64_t *set, size_t member) { set[member / 64] |= (uint64_t)1 << member % 64; }
static void drop(uint64_t *set, size_t member) {
    set[member / 64] &= ~((uint64_t)1 << member % 64);
}

/* Definition 4: the new version in place of the others. */
static void replace(const struct data *data, uint64_t *set, size_t number) {
    const struct definition *new = &data->definition.data[number];
    if (new->replaces)
        for (size_t i = 0; i < data->definition.size; i++)
            if (covers(new->place, data->definition.data[i].place)) drop(set, i);
    put(set, number);
}

static size_t first_definition(const struct data *data, uint32_t step) {
    size_t low = 0, high = data->definition.size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t at = data->definition.data[middle].step;
        if (at == HD_SOURCE_NONE || at < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void pass_block(const struct data *data, const struct hd_cfg_block *block, uint64_t *set) {
    if (block->steps.count == 0) return;
    uint32_t end = block->steps.first + block->steps.count;
    for (size_t i = first_definition(data, block->steps.first);
         i < data->definition.size && data->definition.data[i].step < end; i++)
        replace(data, set, i);
}

static void flow(struct data *data) {
    const struct hd_cfg *cfg = data->builder->cfg;
    data->words = (uint32_t)(data->definition.size + 63) / 64;
    data->in = hd_zalloc((size_t)cfg->blocks * data->words + 1, sizeof *data->in);
    for (size_t i = 0; i < data->definition.size; i++)
        if (data->definition.data[i].step == HD_SOURCE_NONE) put(data->in, i);
    uint64_t *set = hd_alloc((size_t)data->words + 1, sizeof *set);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < cfg->blocks; b++) {
            const struct hd_cfg_block *block = &cfg->block[b];
            memcpy(set, data->in + (size_t)b * data->words, data->words * sizeof *set);
            pass_block(data, block, set);
            for (uint32_t i = 0; i < block->out.count; i++) {
                uint64_t *to = data->in + (size_t)cfg->edge[block->out.first + i].to * data->words;
                for (uint32_t w = 0; w < data->words; w++) {
                    changed = changed || (set[w] & ~to[w]) != 0;
                    to[w] |= set[w];
                }
            }
        }
    }
    free(set);
}

/* A shared variable that is read under a lock has the value of then: what this thread wrote under
 * an earlier one may have been overwritten. */
static bool seen_by(const struct data *data, const struct definition *definition,
                    const struct use *use) {
    if (definition->place.part != SHARED_PART || !data->builder->reread) return true;
    uint64_t here = data->builder->blocks->mask[use->step];
    return here == 0 || (here & data->builder->blocks->mask[definition->step]) != 0;
}

static void link_use(struct data *data, const struct use *use, const uint64_t *set) {
    for (size_t i = 0; i < data->definition.size; i++) {
        const struct definition *definition = &data->definition.data[i];
        if (has(set, i) && overlap(definition->place, use->place) &&
            seen_by(data, definition, use) && definition->node != use->node)
            hd_causal_add(data->builder, definition->node, use->node, HD_CAUSAL_DATA);
    }
}

static void link_uses(struct data *data) {
    const struct hd_cfg *cfg = data->builder->cfg;
    uint64_t *set = hd_alloc((size_t)data->words + 1, sizeof *set);
    for (size_t i = 0; i < data->use.size;) {
        uint32_t b = cfg->block_of[data->use.data[i].step - cfg->first_step];
        if (b == UINT32_MAX) {
            i++;
            continue;
        }
        const struct hd_cfg_block *block = &cfg->block[b];
        uint32_t end = block->steps.first + block->steps.count;
        memcpy(set, data->in + (size_t)b * data->words, data->words * sizeof *set);
        size_t next = first_definition(data, block->steps.first);
        for (; i < data->use.size && data->use.data[i].step < end; i++) {
            for (; next < data->definition.size &&
                   data->definition.data[next].step < data->use.data[i].step;
                 next++)
                replace(data, set, next);
            link_use(data, &data->use.data[i], set);
        }
    }
    free(set);
}

/* What is behind a pointer parameter when the function ends goes out to the callers. */
static void link_out(struct data *data) {
    const struct hd_source *source = data->builder->source;
    const uint64_t *set = data->in + (size_t)HD_CFG_EXIT * data->words;
    for (size_t i = 0; i < data->definition.size; i++) {
        const struct definition *definition = &data->definition.data[i];
        if (!has(set, i) || definition->place.part != HD_PLACE_CONTENT ||
            definition->step == HD_SOURCE_NONE ||
            source->variable.data[definition->place.variable].kind != HD_VARIABLE_PARAMETER)
            continue;
        hd_causal_add(
            data->builder, definition->node,
            hd_causal_at(data->builder->graph, HD_NODE_OF_OUT, definition->place.variable),
            HD_CAUSAL_DATA);
    }
}

/* ---- values that are named by the steps themselves ------------------------------------------- */

static void link_list(struct data *data, struct hd_source_range from, uint32_t node) {
    const struct hd_source *source = data->builder->source;
    for (uint32_t i = 0; i < from.count; i++)
        hd_causal_add(data->builder, source->link.data[from.first + i], node, HD_CAUSAL_DATA);
}

/* An index is a value: which element is meant may be out of date. A pointer is none: in the paper
 * x.f := y does not depend on x. */
static void link_indices(struct data *data, struct hd_source_range via, uint32_t node) {
    const struct hd_source *source = data->builder->source;
    for (uint32_t i = 0; i < via.count; i++) {
        uint32_t step = source->link.data[via.first + i];
        const struct hd_source_step *at = &source->step.data[step];
        if (!hd_step_reads(at) || at->variable == HD_SOURCE_NONE) continue;
        bool behind_pointer = (at->flags & HD_STEP_INDIRECT) != 0;
        if (!behind_pointer &&
            (source->variable.data[at->variable].flags &
             (HD_VARIABLE_POINTER | HD_VARIABLE_ARRAY)) != 0 &&
            !has_index(source, at->path))
            continue;
        hd_causal_add(data->builder, step, node, HD_CAUSAL_DATA);
    }
}

/* A library's function that makes memory: what it returns does not depend on the size. */
static bool allocates(const char *name) { return strstr(name, "alloc") != NULL; }

static void link_call(struct data *data, uint32_t step) {
    struct hd_causal_builder *builder = data->builder;
    const struct hd_source *source = builder->source;
    const struct hd_source_step *call = &source->step.data[step];
    const struct hd_calls *calls = builder->calls;
    bool known = hd_calls_known(calls, step);
    bool silent = hd_source_operations_of(source, step).count > 0 ||
                  (call->function != HD_SOURCE_NONE &&
                   allocates(hd_source_text(source, source->function.data[call->function].name)));
    for (uint32_t i = 0; i < call->arguments.count; i++) {
        uint32_t a = call->arguments.first + i;
        uint32_t value = hd_causal_at(builder->graph, HD_NODE_OF_ARGUMENT, a);
        uint32_t passed = hd_causal_at(builder->graph, HD_NODE_OF_PASSED, a);
        uint32_t returned = hd_causal_at(builder->graph, HD_NODE_OF_RETURNED, a);
        link_list(data, source->argument.data[a].from, value);
        if (!known) {
            if (silent) continue;
            hd_causal_add(builder, value, step, HD_CAUSAL_DATA);
            hd_causal_add(builder, passed, step, HD_CAUSAL_DATA);
            continue;
        }
        for (uint32_t k = 0; k < calls->count[step]; k++) {
            const struct hd_source_function *callee =
                &source->function.data[hd_callees(calls, step)[k]];
            if (i >= callee->parameters) continue;
            uint32_t variable = source->link.data[callee->variables.first + i];
            hd_causal_add(builder, value,
                          hd_causal_at(builder->graph, HD_NODE_OF_PARAMETER, variable),
                          HD_CAUSAL_DOWN);
            hd_causal_add(builder, passed,
                          hd_causal_at(builder->graph, HD_NODE_OF_RECEIVED, variable),
                          HD_CAUSAL_DOWN);
            hd_causal_add(builder, hd_causal_at(builder->graph, HD_NODE_OF_OUT, variable), returned,
                          HD_CAUSAL_UP);
        }
    }
    for (uint32_t k = 0; known && k < calls->count[step]; k++)
        hd_causal_add(builder,
                      hd_causal_at(builder->graph, HD_NODE_OF_RESULT, hd_callees(calls, step)[k]),
                      step, HD_CAUSAL_UP);
}

static void link_returns(struct data *data) {
    const struct hd_source *source = data->builder->source;
    struct hd_source_range nodes = source->function.data[data->builder->function].nodes;
    uint32_t result =
        hd_causal_at(data->builder->graph, HD_NODE_OF_RESULT, data->builder->function);
    for (uint32_t n = nodes.first; n < nodes.first + nodes.count; n++) {
        const struct hd_source_node *node = &source->node.data[n];
        if (node->kind == HD_NODE_RETURN && node->first_child != HD_SOURCE_NONE)
            link_list(data, source->node.data[node->first_child].value, result);
    }
}

void hd_causal_data(struct hd_causal_builder *builder) {
    const struct hd_source *source = builder->source;
    struct hd_source_range steps = source->function.data[builder->function].steps;
    struct data data = {.builder = builder};
    add_parameters(&data);
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        if (step->kind == HD_STEP_ACCESS && step->mode != HD_ACCESS_ADDRESS) {
            add_access(&data, i);
            link_list(&data, step->from, i);
            link_indices(&data, step->via, i);
        } else if (step->kind == HD_STEP_CALL) {
            add_arguments(&data, i);
            link_call(&data, i);
        } else if (step->kind == HD_STEP_NESTED)
            link_list(&data, step->from, i);
    }
    flow(&data);
    link_uses(&data);
    link_out(&data);
    link_returns(&data);
    hd_vector_free(&data.definition);
    hd_vector_free(&data.use);
    free(data.in);
}
