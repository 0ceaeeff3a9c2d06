/* The call graph: see calls.h. */
#include "lint/calls.h"

#include "base/alloc.h"

static bool has_body(const struct hd_source *source, uint32_t function) {
    return (source->function.data[function].flags & HD_FUNCTION_BODY) != 0;
}

/* Functions whose address is taken, listed by type. */
struct by_type {
    struct hd_map first; /* text of a type: number of the first function, plus one */
    uint32_t *next;      /* by function: the next of that type, plus one */
};

static void sort_by_type(const struct hd_source *source, struct by_type *types) {
    *types = (struct by_type){.next = hd_zalloc(source->function.size, sizeof *types->next)};
    for (size_t f = source->function.size; f-- > 0;) {
        const struct hd_source_function *function = &source->function.data[f];
        if (!has_body(source, (uint32_t)f) || (function->flags & HD_FUNCTION_ADDRESS_TAKEN) == 0)
            continue;
        uint32_t *slot = hd_map_slot(&types->first, function->type, 0);
        types->next[f] = *slot;
        *slot = (uint32_t)f + 1;
    }
}

void hd_calls_build(const struct hd_source *source, struct hd_calls *calls) {
    *calls = (struct hd_calls){.source = source};
    calls->first = hd_zalloc(source->step.size, sizeof *calls->first);
    calls->count = hd_zalloc(source->step.size, sizeof *calls->count);
    calls->function = hd_zalloc(source->step.size, sizeof *calls->function);
    for (uint32_t f = 0; f < source->function.size; f++) {
        struct hd_source_range steps = source->function.data[f].steps;
        for (uint32_t i = 0; i < steps.count; i++) calls->function[steps.first + i] = f;
    }
    struct by_type types;
    sort_by_type(source, &types);
    for (size_t i = 0; i < source->step.size; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        calls->first[i] = (uint32_t)calls->callee.size;
        if (step->kind != HD_STEP_CALL) continue;
        if (step->function != HD_SOURCE_NONE) {
            if (has_body(source, step->function)) hd_vector_push(&calls->callee, step->function);
        } else {
            for (uint32_t f = hd_map_get(&types.first, step->type, 0); f > 0; f = types.next[f - 1])
                hd_vector_push(&calls->callee, f - 1);
        }
        calls->count[i] = (uint32_t)calls->callee.size - calls->first[i];
    }
    hd_map_free(&types.first);
    free(types.next);
}

void hd_calls_free(struct hd_calls *calls) {
    free(calls->first);
    free(calls->count);
    free(calls->function);
    hd_vector_free(&calls->callee);
}

void hd_calls_reach_from(const struct hd_calls *calls, uint32_t function,
                         struct hd_bitset *functions) {
    if (hd_bitset_has(functions, function)) return;
    HD_VECTOR(uint32_t) work = {0};
    hd_bitset_add(functions, function);
    hd_vector_push(&work, function);
    while (work.size > 0) {
        struct hd_source_range steps = calls->source->function.data[work.data[--work.size]].steps;
        for (uint32_t i = steps.first; i < steps.first + steps.count; i++)
            for (uint32_t k = 0; k < calls->count[i]; k++) {
                uint32_t callee = hd_callees(calls, i)[k];
                if (hd_bitset_has(functions, callee)) continue;
                hd_bitset_add(functions, callee);
                hd_vector_push(&work, callee);
            }
    }
    hd_vector_free(&work);
}

void hd_calls_reach(const struct hd_calls *calls, uint32_t step, struct hd_bitset *functions) {
    for (uint32_t k = 0; k < calls->count[step]; k++)
        hd_calls_reach_from(calls, hd_callees(calls, step)[k], functions);
}
