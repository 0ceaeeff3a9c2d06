/* The call graph: see calls.h. */
#include "lint/calls.h"

#include "base/alloc.h"
#include "source/cfg.h"
#include "source/library.h"

static bool has_body(const struct hd_source *source, uint32_t function) {
    return (source->function.data[function].flags & HD_FUNCTION_BODY) != 0;
}

/* Functions whose address is taken, listed by type. */
struct by_type {
    struct hd_map first; /* text of a type: number of the first function, plus one */
    uint32_t *next;      /* by function: the next of that type, plus one */
};

/* Functions that threads begin with are not called through pointers, too. */
static void sort_by_type(const struct hd_source *source, struct by_type *types) {
    bool *entry = hd_zalloc(source->function.size, sizeof *entry);
    for (size_t i = 0; i < source->operation.size; i++)
        if (source->operation.data[i].kind == HD_OPERATION_CREATE &&
            source->operation.data[i].entry != HD_SOURCE_NONE)
            entry[source->operation.data[i].entry] = true;
    *types = (struct by_type){.next = hd_zalloc(source->function.size, sizeof *types->next)};
    for (size_t f = source->function.size; f-- > 0;) {
        const struct hd_source_function *function = &source->function.data[f];
        if (!has_body(source, (uint32_t)f) || entry[f] ||
            (function->flags & HD_FUNCTION_ADDRESS_TAKEN) == 0)
            continue;
        uint32_t *slot = hd_map_slot(&types->first, function->type, 0);
        types->next[f] = *slot;
        *slot = (uint32_t)f + 1;
    }
    free(entry);
}

/* ---- functions that never return ------------------------------------------------------------- */

struct endings {
    bool *never; /* by function: it never returns */
    bool *dead;  /* by step: the program ends in any case after it */
};

static bool ends_here(const struct hd_source *source, struct hd_source_range steps,
                      const bool *never) {
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        if (step->kind == HD_STEP_CALL && step->function != HD_SOURCE_NONE && never[step->function])
            return true;
    }
    return false;
}

/* Marks what leads only to the end of the program. A loop without end does not: threads have one.
 */
static void mark_dead(const struct hd_source *source, const struct hd_cfg *cfg,
                      struct endings *endings) {
    bool *dead = hd_zalloc(cfg->blocks, sizeof *dead);
    for (uint32_t b = 0; b < cfg->blocks; b++)
        dead[b] = ends_here(source, cfg->block[b].steps, endings->never);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = cfg->blocks; b-- > 0;) {
            const struct hd_cfg_block *block = &cfg->block[b];
            bool alive = dead[b] || b == HD_CFG_EXIT || block->out.count == 0;
            for (uint32_t i = 0; i < block->out.count && !alive; i++)
                alive = !dead[cfg->edge[block->out.first + i].to];
            if (!alive) dead[b] = changed = true;
        }
    }
    for (uint32_t b = 0; b < cfg->blocks; b++)
        for (uint32_t i = 0; i < cfg->block[b].steps.count; i++)
            endings->dead[cfg->block[b].steps.first + i] = dead[b];
    endings->never[cfg->function] = dead[HD_CFG_ENTRY];
    free(dead);
}

static void find_endings(const struct hd_source *source, struct endings *endings) {
    endings->never = hd_zalloc(source->function.size, sizeof *endings->never);
    endings->dead = hd_zalloc(source->step.size, sizeof *endings->dead);
    for (size_t f = 0; f < source->function.size; f++) {
        const struct hd_source_function *function = &source->function.data[f];
        endings->never[f] = (function->flags & HD_FUNCTION_NORETURN) != 0 ||
                            (!has_body(source, (uint32_t)f) &&
                             hd_library_no_return(hd_source_text(source, function->name)));
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < source->function.size; f++) {
            struct hd_source_range steps = source->function.data[f].steps;
            if (endings->never[f] || !ends_here(source, steps, endings->never)) continue;
            struct hd_cfg cfg;
            hd_cfg_build(source, f, &cfg);
            mark_dead(source, &cfg, endings);
            hd_cfg_free(&cfg);
            changed = changed || endings->never[f];
        }
    }
}

/* ---- the graph ------------------------------------------------------------------------------- */

void hd_calls_build(const struct hd_source *source, struct hd_calls *calls) {
    *calls = (struct hd_calls){.source = source};
    calls->first = hd_zalloc(source->step.size, sizeof *calls->first);
    calls->count = hd_zalloc(source->step.size, sizeof *calls->count);
    calls->function = hd_zalloc(source->step.size, sizeof *calls->function);
    for (uint32_t f = 0; f < source->function.size; f++) {
        struct hd_source_range steps = source->function.data[f].steps;
        for (uint32_t i = 0; i < steps.count; i++) calls->function[steps.first + i] = f;
    }
    struct endings endings;
    find_endings(source, &endings);
    struct by_type types;
    sort_by_type(source, &types);
    for (size_t i = 0; i < source->step.size; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        calls->first[i] = (uint32_t)calls->callee.size;
        if (step->kind != HD_STEP_CALL || endings.dead[i]) continue;
        if (step->function != HD_SOURCE_NONE) {
            if (has_body(source, step->function) && !endings.never[step->function])
                hd_vector_push(&calls->callee, step->function);
        } else {
            for (uint32_t f = hd_map_get(&types.first, step->type, 0); f > 0; f = types.next[f - 1])
                if (!endings.never[f - 1]) hd_vector_push(&calls->callee, f - 1);
        }
        calls->count[i] = (uint32_t)calls->callee.size - calls->first[i];
    }
    hd_map_free(&types.first);
    free(types.next);
    free(endings.never);
    free(endings.dead);
}

void hd_calls_free(struct hd_calls *calls) {
    free(calls->first);
    free(calls->count);
    free(calls->function);
    hd_vector_free(&calls->callee);
}

void hd_calls_reach_from(const struct hd_calls *calls, uint32_t function, bool all,
                         struct hd_bitset *functions) {
    if (hd_bitset_has(functions, function)) return;
    HD_VECTOR(uint32_t) work = {0};
    hd_bitset_add(functions, function);
    hd_vector_push(&work, function);
    while (work.size > 0) {
        struct hd_source_range steps = calls->source->function.data[work.data[--work.size]].steps;
        for (uint32_t i = steps.first; i < steps.first + steps.count; i++)
            for (uint32_t k = 0; k < calls->count[i] && (all || hd_calls_known(calls, i)); k++) {
                uint32_t callee = hd_callees(calls, i)[k];
                if (hd_bitset_has(functions, callee)) continue;
                hd_bitset_add(functions, callee);
                hd_vector_push(&work, callee);
            }
    }
    hd_vector_free(&work);
}

void hd_calls_reach(const struct hd_calls *calls, uint32_t step, bool all,
                    struct hd_bitset *functions) {
    for (uint32_t k = 0; k < calls->count[step] && (all || hd_calls_known(calls, step)); k++)
        hd_calls_reach_from(calls, hd_callees(calls, step)[k], all, functions);
}
