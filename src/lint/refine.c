/* Refinements: see refine.h. */
#include "lint/refine.h"

#include "base/alloc.h"
#include "lint/detect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- values that are taken out --------------------------------------------------------------- */

static bool below(const struct hd_source *source, uint32_t node, uint32_t ancestor) {
    for (; node != HD_SOURCE_NONE; node = source->node.data[node].parent)
        if (node == ancestor) return true;
    return false;
}

/* The innermost part of a statement around a node that may not be executed; NONE. */
static uint32_t condition_around(const struct hd_source *source, uint32_t node) {
    for (uint32_t child = node; child != HD_SOURCE_NONE; child = source->node.data[child].parent) {
        uint32_t parent = source->node.data[child].parent;
        if (parent == HD_SOURCE_NONE) return HD_SOURCE_NONE;
        uint8_t role = source->node.data[child].role;
        bool first = source->node.data[parent].first_child == child;
        switch (source->node.data[parent].kind) {
        case HD_NODE_IF:
        case HD_NODE_WHILE:
        case HD_NODE_SWITCH:
        case HD_NODE_CONDITIONAL:
        case HD_NODE_AND:
        case HD_NODE_OR:
            if (!first) return child;
            break;
        case HD_NODE_FOR:
            if (role != HD_ROLE_INIT && role != HD_ROLE_CONDITION) return child;
            break;
        default:
            break;
        }
    }
    return HD_SOURCE_NONE;
}

/* Whether `later` is executed whenever `earlier` was, by the nesting of statements. */
static bool always_follows(const struct hd_source *source, uint32_t earlier, uint32_t later) {
    if (later <= earlier) return false;
    uint32_t around = condition_around(source, source->step.data[later].node);
    return around == HD_SOURCE_NONE || below(source, source->step.data[earlier].node, around);
}

static bool in_block(const struct hd_lint *lint, uint32_t block, uint32_t step) {
    return hd_view_has_step(&lint->blocks, &lint->views, block, lint->calls.function[step], step);
}

/* The variable is written in the block in any case after the step. */
static bool overwritten(const struct hd_lint *lint, uint32_t block, uint32_t step,
                        uint32_t variable) {
    const struct hd_source *source = lint->source;
    struct hd_source_range steps = source->function.data[lint->calls.function[step]].steps;
    for (uint32_t i = step + 1; i < steps.first + steps.count; i++)
        if (hd_step_writes(&source->step.data[i]) && hd_shared_has(&lint->shared, i, variable) &&
            in_block(lint, block, i) && always_follows(source, step, i))
            return true;
    return false;
}

/* The index by which an element was chosen is changed in the block, before or after. */
static bool index_moves(const struct hd_lint *lint, uint32_t block, uint32_t index,
                        uint32_t variable) {
    const struct hd_source *source = lint->source;
    struct hd_source_range steps = source->function.data[lint->calls.function[index]].steps;
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        if (!hd_step_writes(&source->step.data[i]) || !hd_shared_has(&lint->shared, i, variable) ||
            !in_block(lint, block, i))
            continue;
        uint32_t around = condition_around(source, source->step.data[i].node);
        if (around == HD_SOURCE_NONE || below(source, source->step.data[index].node, around))
            return true;
    }
    return false;
}

/* slot[head++]: the new index is used up by the access. */
static bool used_as_index(const struct hd_source *source, uint32_t step) {
    const struct hd_source_node *node = &source->node.data[source->step.data[step].node];
    uint32_t end = node->steps.first + node->steps.count;
    for (uint32_t i = step + 1; i < end; i++) {
        struct hd_source_range via = source->step.data[i].via;
        for (uint32_t k = 0; k < via.count; k++)
            if (source->link.data[via.first + k] == step) return true;
    }
    return false;
}

bool hd_taken(const struct hd_lint *lint, uint32_t block, uint32_t read) {
    const struct hd_source *source = lint->source;
    const struct hd_shared *shared = &lint->shared;
    const struct hd_source_step *step = &source->step.data[read];
    if (hd_step_writes(step) && used_as_index(source, read)) return true;
    for (uint32_t i = 0; i < shared->count[read]; i++)
        if (overwritten(lint, block, read, shared->of.data[shared->first[read] + i])) return true;
    for (uint32_t i = 0; i < step->via.count; i++) {
        uint32_t index = source->link.data[step->via.first + i];
        const struct hd_source_step *at = &source->step.data[index];
        if (!hd_step_reads(at) || at->variable == HD_SOURCE_NONE || shared->count[index] == 0 ||
            (source->variable.data[at->variable].flags & HD_VARIABLE_POINTER) != 0)
            continue;
        for (uint32_t k = 0; k < shared->count[index]; k++)
            if (index_moves(lint, block, index, shared->of.data[shared->first[index] + k]))
                return true;
    }
    return false;
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* Whether a value has a part in a step of the same function, directly or as a condition. */
static bool leads_to(const struct hd_causal_graph *graph, uint32_t from, uint32_t to) {
    struct hd_map seen = {0};
    HD_VECTOR(uint32_t) work = {0};
    bool found = false;
    hd_vector_push(&work, from);
    hd_map_slot(&seen, from, 0);
    while (work.size > 0 && !found) {
        uint32_t node = work.data[--work.size];
        for (uint32_t e = graph->out[node]; e < graph->out[node + 1] && !found; e++) {
            const struct hd_causal_edge *edge = &graph->edge.data[e];
            uint32_t before = seen.count;
            if (edge->kind > HD_CAUSAL_CONTROL) continue;
            found = edge->to == to;
            hd_map_slot(&seen, edge->to, 0);
            if (seen.count > before) hd_vector_push(&work, edge->to);
        }
    }
    hd_vector_free(&work);
    hd_map_free(&seen);
    return found;
}

bool hd_claims(const struct hd_lint *lint, uint32_t block, uint32_t variable) {
    const struct hd_source *source = lint->source;
    struct hd_source_range steps =
        source->function.data[lint->blocks.list.data[block].function].steps;
    uint64_t bit = hd_block_bit(&lint->blocks, block);
    for (uint32_t r = steps.first; r < steps.first + steps.count; r++) {
        if ((lint->blocks.mask[r] & bit) == 0 || !hd_step_reads(&source->step.data[r]) ||
            !hd_shared_has(&lint->shared, r, variable))
            continue;
        for (uint32_t w = r + 1; w < steps.first + steps.count; w++)
            if ((lint->blocks.mask[w] & bit) != 0 && hd_step_writes(&source->step.data[w]) &&
                hd_shared_has(&lint->shared, w, variable) &&
                (always_follows(source, r, w) || leads_to(&lint->graph, r, w)))
                return true;
    }
    return false;
}

bool hd_gives_back(const struct hd_lint *lint, uint32_t thread, uint32_t block) {
    const struct hd_block_view *view = &lint->views.of.data[block];
    for (size_t i = 0; i < view->write.size; i++) {
        uint32_t flag = view->write.data[i];
        if (hd_list_has(&view->read, flag)) continue;
        for (uint32_t b = 0; b < lint->views.of.size; b++)
            if (b != block && hd_thread_runs(&lint->views, thread, b) &&
                hd_list_has(&lint->views.of.data[b].read, flag) &&
                hd_list_has(&lint->views.of.data[b].write, flag) && hd_claims(lint, b, flag))
                return true;
    }
    return false;
}

/* ---- values that are checked again ----------------------------------------------------------- */

#define MOST_SLICE 4000u

struct slice {
    const struct hd_lint *lint;
    uint32_t first, second; /* blocks */
    struct hd_map seen;     /* nodes, twice: inside the second block, and outside it */
    HD_VECTOR(uint64_t) work;
    struct hd_map fresh, stale; /* shared variables */
};

static bool node_in(const struct slice *slice, uint32_t block, uint32_t node) {
    const struct hd_lint *lint = slice->lint;
    uint32_t function = lint->graph.function[node];
    if (function == HD_SOURCE_NONE) return false;
    if (lint->blocks.list.data[block].function == function &&
        (lint->graph.mask[node] & hd_block_bit(&lint->blocks, block)) != 0)
        return true;
    return hd_bitset_has(&lint->views.of.data[block].inside, function);
}

static void look_at(struct slice *slice, uint32_t node, bool outside) {
    uint32_t before = slice->seen.count;
    uint64_t key = (uint64_t)node << 1 | outside;
    hd_map_slot(&slice->seen, key, 0);
    if (slice->seen.count > before && slice->seen.count < MOST_SLICE)
        hd_vector_push(&slice->work, key);
}

static void note_read(struct slice *slice, uint32_t step, bool outside) {
    const struct hd_shared *shared = &slice->lint->shared;
    if (!hd_step_reads(&slice->lint->source->step.data[step])) return;
    bool stale = outside && node_in(slice, slice->first, step);
    for (uint32_t i = 0; i < shared->count[step]; i++) {
        uint32_t variable = shared->of.data[shared->first[step] + i];
        if (!outside) hd_map_slot(&slice->fresh, variable, 0);
        if (stale) hd_map_slot(&slice->stale, variable, 0);
    }
}

/* All that a condition's value comes from, backwards. */
static void slice_back(struct slice *slice, uint32_t condition) {
    const struct hd_causal_graph *graph = &slice->lint->graph;
    look_at(slice, condition, false);
    while (slice->work.size > 0) {
        uint64_t key = slice->work.data[--slice->work.size];
        uint32_t node = (uint32_t)(key >> 1);
        bool outside = (key & 1) != 0;
        if (node < slice->lint->source->step.size) note_read(slice, node, outside);
        for (uint32_t i = graph->in[node]; i < graph->in[node + 1]; i++) {
            const struct hd_causal_edge *edge = &graph->edge.data[graph->into[i]];
            if (edge->kind == HD_CAUSAL_CONTROL && !outside) continue;
            look_at(slice, edge->from, outside || !node_in(slice, slice->second, edge->from));
        }
    }
}

/* Conditions in the second block that a node's execution depends on. */
static void slice_conditions(struct slice *slice, uint32_t node) {
    const struct hd_causal_graph *graph = &slice->lint->graph;
    HD_VECTOR(uint32_t) work = {0};
    struct hd_map seen = {0};
    hd_vector_push(&work, node);
    while (work.size > 0) {
        uint32_t at = work.data[--work.size];
        for (uint32_t i = graph->in[at]; i < graph->in[at + 1]; i++) {
            const struct hd_causal_edge *edge = &graph->edge.data[graph->into[i]];
            if (edge->kind != HD_CAUSAL_CONTROL) continue;
            if (edge->from < slice->lint->source->step.size) {
                if (node_in(slice, slice->second, edge->from)) slice_back(slice, edge->from);
                continue;
            }
            uint32_t before = seen.count;
            hd_map_slot(&seen, edge->from, 0);
            if (seen.count > before) hd_vector_push(&work, edge->from);
        }
    }
    hd_vector_free(&work);
    hd_map_free(&seen);
}

static bool found(const struct slice *slice, uint32_t variable, bool control) {
    if (hd_map_get(&slice->fresh, variable, 1) != 0) return false;
    return control || hd_map_get(&slice->stale, variable, 1) == 0;
}

/* A variable other than the one in question that the condition has fresh and from before. */
static bool compares_version(const struct slice *slice, uint32_t variable) {
    for (uint32_t i = 0; slice->fresh.entry != NULL && i <= slice->fresh.mask; i++) {
        const struct hd_map_entry *entry = &slice->fresh.entry[i];
        if (entry->used != 0 && entry->key != variable &&
            hd_map_get(&slice->stale, entry->key, 1) == 0)
            return true;
    }
    return false;
}

enum hd_validity hd_validity(const struct hd_lint *lint, uint32_t first, uint32_t second,
                             uint32_t variable, const struct hd_flow *flow, uint32_t point) {
    struct slice slice = {.lint = lint, .first = first, .second = second};
    const struct hd_causal_graph *graph = &lint->graph;
    bool control = flow->point.data[point].control;
    for (; point != HD_SOURCE_NONE; point = flow->point.data[point].previous) {
        /* the write itself, and the calls inside the block on the way to it */
        uint32_t node = flow->point.data[point].node;
        enum hd_causal_node sort = hd_causal_sort(graph, node);
        if (!node_in(&slice, second, node)) break;
        if (sort == HD_NODE_OF_ARGUMENT || sort == HD_NODE_OF_PASSED)
            node = graph->call[node - graph->first[sort]];
        slice_conditions(&slice, node);
    }
    enum hd_validity validity = HD_NOT_CHECKED;
    if (found(&slice, variable, control))
        validity = HD_CHECKED_AGAIN;
    else if (compares_version(&slice, variable))
        validity = HD_VERSION_COMPARED;
    hd_map_free(&slice.seen);
    hd_map_free(&slice.fresh);
    hd_map_free(&slice.stale);
    hd_vector_free(&slice.work);
    return validity;
}

/* ---- logging --------------------------------------------------------------------------------- */

static bool contains(const char *name, const char *word) {
    size_t length = strlen(word);
    for (; *name != '\0'; name++)
        if (strncasecmp(name, word, length) == 0) return true;
    return false;
}

static const char *callee_name(const struct hd_source *source, uint32_t call) {
    uint32_t function = source->step.data[call].function;
    return function == HD_SOURCE_NONE
               ? ""
               : hd_source_text(source, source->function.data[function].name);
}

bool hd_logs(const struct hd_source *source, uint32_t call) {
    static const char *const words[] = {"log", "trace", "debug", "warn", "perror"};
    const char *name = callee_name(source, call);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (contains(name, words[i])) return true;
    return false;
}

static bool prints(const struct hd_source *source, uint32_t call) {
    const char *name = callee_name(source, call);
    return hd_logs(source, call) || contains(name, "print") || strcmp(name, "puts") == 0;
}

/* Where the value of one read may go: to itself, to locals, to what prints. */
static bool goes_to_print(const struct hd_lint *lint, uint32_t node, uint32_t variable,
                          bool *printed) {
    const struct hd_source *source = lint->source;
    enum hd_causal_node sort = hd_causal_sort(&lint->graph, node);
    if (sort == HD_NODE_OF_ARGUMENT) {
        uint32_t call = lint->graph.call[node - lint->graph.first[sort]];
        *printed = *printed || prints(source, call);
        return prints(source, call);
    }
    if (sort != HD_NODE_OF_STEP) return false;
    if (source->step.data[node].kind == HD_STEP_CALL) return prints(source, node);
    return lint->shared.count[node] == 0 || hd_shared_has(&lint->shared, node, variable);
}

static bool only_printed(const struct hd_lint *lint, uint32_t read, uint32_t variable,
                         bool *printed) {
    const struct hd_causal_graph *graph = &lint->graph;
    struct hd_map seen = {0};
    HD_VECTOR(uint32_t) work = {0};
    bool good = true;
    hd_vector_push(&work, read);
    while (work.size > 0 && good) {
        uint32_t node = work.data[--work.size];
        for (uint32_t e = graph->out[node]; e < graph->out[node + 1] && good; e++) {
            const struct hd_causal_edge *edge = &graph->edge.data[e];
            uint32_t before = seen.count;
            hd_map_slot(&seen, edge->to, 0);
            if (seen.count == before) continue;
            good = edge->kind == HD_CAUSAL_DATA &&
                   goes_to_print(lint, edge->to, variable, printed) && seen.count < MOST_SLICE;
            hd_vector_push(&work, edge->to);
        }
    }
    hd_vector_free(&work);
    hd_map_free(&seen);
    return good;
}

bool hd_only_logged(const struct hd_lint *lint, uint32_t variable) {
    bool printed = false;
    for (uint32_t i = 0; i < lint->source->step.size; i++)
        if (hd_step_reads(&lint->source->step.data[i]) &&
            hd_shared_has(&lint->shared, i, variable) && !only_printed(lint, i, variable, &printed))
            return false;
    return printed;
}

/* ---- conditions that have nothing to do with it ---------------------------------------------- */

bool hd_related(const struct hd_lint *lint, uint32_t variable, uint32_t block) {
    const struct hd_block_view *view = &lint->views.of.data[block];
    if (hd_list_has(&view->read, variable) || hd_list_has(&view->write, variable)) return true;
    for (uint32_t b = 0; b < lint->views.of.size; b++) {
        const hd_number_list *write = &lint->views.of.data[b].write;
        if (!hd_list_has(write, variable) || !hd_lint_same_object(lint, b, block)) continue;
        for (size_t i = 0; i < write->size; i++)
            if (hd_list_has(&view->read, write->data[i]) ||
                hd_list_has(&view->write, write->data[i]))
                return true;
    }
    return false;
}
