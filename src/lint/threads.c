/* Threads: main, and the functions that threads are created with. One that is created in a loop, at
 * two places, or by a function that may run twice, is there twice. */
#include "lint/threads.h"

#include "base/alloc.h"

#include <string.h>

struct finder {
    const struct hd_source *source;
    const struct hd_calls *calls;
    struct hd_blocks *blocks;
    const struct hd_lint_options *options;
    struct hd_views *views;
    uint8_t *runs;          /* by function: 0, 1, or 2 for often */
    struct hd_bitset alone; /* steps of main that run while there is no other thread */
};

/* ---- how often functions run ----------------------------------------------------------------- */

/* A function runs often if it is called in a loop, at two places, or by one that runs often. */
static void count_runs(struct finder *finder, uint32_t function, uint8_t times) {
    uint8_t before = finder->runs[function];
    uint8_t now = before + times > 2 ? 2 : before + times;
    if (now == before) return;
    finder->runs[function] = now;
    struct hd_source_range steps = finder->source->function.data[function].steps;
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        if (finder->calls->count[i] == 0) continue;
        uint8_t calls = now == 2 || hd_source_in_loop(finder->source, i) ? 2 : 1;
        for (uint32_t k = 0; k < finder->calls->count[i]; k++)
            count_runs(finder, hd_callees(finder->calls, i)[k], calls);
    }
}

/* ---- main while it is alone ------------------------------------------------------------------ */

/* Whether the function does an operation of this kind, or calls one that does. */
static bool does(const struct finder *finder, uint32_t step, uint8_t kind) {
    const struct hd_source *source = finder->source;
    struct hd_source_range range = hd_source_operations_of(source, step);
    for (uint32_t i = range.first; i < range.first + range.count; i++)
        if (source->operation.data[i].kind == kind) return true;
    struct hd_bitset reached = {0};
    bool found = false;
    hd_calls_reach(finder->calls, step, false, &reached);
    for (size_t i = 0; i < source->operation.size && !found; i++)
        found = source->operation.data[i].kind == kind &&
                hd_bitset_has(&reached, finder->calls->function[source->operation.data[i].step]);
    hd_bitset_free(&reached);
    return found;
}

/* Blocks of a control flow graph from which a marked one can be reached, itself only by a loop. */
static bool *lead_to(const struct hd_cfg *cfg, const bool *marked) {
    bool *leads = hd_zalloc(cfg->blocks, sizeof *leads);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t e = 0; e < cfg->edges; e++) {
            const struct hd_cfg_edge *edge = &cfg->edge[e];
            if (leads[edge->from] || !(marked[edge->to] || leads[edge->to])) continue;
            leads[edge->from] = changed = true;
        }
    }
    return leads;
}

static bool *follow(const struct hd_cfg *cfg, const bool *marked) {
    bool *after = hd_zalloc(cfg->blocks, sizeof *after);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t e = 0; e < cfg->edges; e++) {
            const struct hd_cfg_edge *edge = &cfg->edge[e];
            if (after[edge->to] || !(marked[edge->from] || after[edge->from])) continue;
            after[edge->to] = changed = true;
        }
    }
    return after;
}

struct starts {
    bool *create, *join;              /* by block of the graph */
    uint32_t first_create, last_join; /* steps */
    unsigned creates, joins;
};

static void find_starts(struct finder *finder, const struct hd_cfg *cfg, struct starts *starts) {
    struct hd_source_range steps = finder->source->function.data[cfg->function].steps;
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        uint32_t block = cfg->block_of[i - cfg->first_step];
        if (finder->source->step.data[i].kind != HD_STEP_CALL || block == UINT32_MAX) continue;
        if (does(finder, i, HD_OPERATION_CREATE)) {
            starts->create[block] = true;
            starts->creates++;
            if (starts->first_create == HD_SOURCE_NONE) starts->first_create = i;
        }
        if (does(finder, i, HD_OPERATION_JOIN)) {
            starts->join[block] = true;
            starts->joins += hd_source_in_loop(finder->source, i) ? 1000 : 1;
            starts->last_join = i;
        }
    }
}

/* Before the first creation, and behind the last join if there are as many joins as creations. */
static void find_alone(struct finder *finder, uint32_t function) {
    struct hd_cfg cfg;
    hd_cfg_build(finder->source, function, &cfg);
    struct starts starts = {.create = hd_zalloc(cfg.blocks, sizeof(bool)),
                            .join = hd_zalloc(cfg.blocks, sizeof(bool)),
                            .first_create = HD_SOURCE_NONE,
                            .last_join = 0};
    find_starts(finder, &cfg, &starts);
    bool *after_create = follow(&cfg, starts.create), *before_join = lead_to(&cfg, starts.join);
    bool *after_join = follow(&cfg, starts.join), *before_create = lead_to(&cfg, starts.create);
    struct hd_source_range steps = finder->source->function.data[function].steps;
    for (uint32_t i = steps.first; starts.creates > 0 && i < steps.first + steps.count; i++) {
        uint32_t b = cfg.block_of[i - cfg.first_step];
        if (b == UINT32_MAX) continue;
        bool before = !after_create[b] && (!starts.create[b] || i < starts.first_create);
        bool joined = starts.joins >= starts.creates && !before_create[b] && !before_join[b] &&
                      (after_join[b] || starts.join[b]) && i > starts.last_join &&
                      !(starts.create[b] && i <= starts.first_create);
        if (before || joined) hd_bitset_add(&finder->alone, i);
    }
    free(after_create);
    free(before_join);
    free(after_join);
    free(before_create);
    free(starts.create);
    free(starts.join);
    hd_cfg_free(&cfg);
}

/* ---- what threads run ------------------------------------------------------------------------ */

static void add_blocks_of(const struct finder *finder, struct hd_thread *thread) {
    for (uint32_t b = 0; b < finder->blocks->list.size; b++) {
        const struct hd_atomic_block *block = &finder->blocks->list.data[b];
        if (!hd_bitset_has(&thread->functions, block->function)) continue;
        uint32_t number = block->lock == HD_SOURCE_NONE
                              ? HD_BLOCKS_MOST
                              : hd_map_get(&finder->blocks->number, block->lock, HD_BLOCKS_MOST);
        if (number < HD_BLOCKS_MOST && (finder->blocks->held[block->function] >> number & 1) != 0)
            continue; /* all callers hold the lock: part of their blocks */
        if (block->step != HD_SOURCE_NONE && hd_bitset_has(&finder->alone, block->step)) continue;
        hd_bitset_add(&thread->blocks, b);
    }
}

static void reach(const struct finder *finder, uint32_t entry, struct hd_bitset *functions) {
    struct hd_source_range steps = finder->source->function.data[entry].steps;
    if (hd_bitset_next(&finder->alone, 0) == SIZE_MAX) {
        hd_calls_reach_from(finder->calls, entry, true, functions);
        return;
    }
    hd_bitset_add(functions, entry);
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++)
        if (!hd_bitset_has(&finder->alone, i)) hd_calls_reach(finder->calls, i, true, functions);
}

static struct hd_thread *thread_of(struct finder *finder, uint32_t entry, uint32_t create,
                                   bool many) {
    for (size_t i = 0; i < finder->views->thread.size; i++) {
        struct hd_thread *thread = &finder->views->thread.data[i];
        if (thread->entry != entry) continue;
        thread->many = true; /* created at two places */
        return thread;
    }
    struct hd_thread new = {.entry = entry, .create = create, .many = many};
    hd_vector_push(&finder->views->thread, new);
    return &finder->views->thread.data[finder->views->thread.size - 1];
}

static void add_created(struct finder *finder) {
    const struct hd_source *source = finder->source;
    for (size_t i = 0; i < source->operation.size; i++) {
        const struct hd_source_operation *operation = &source->operation.data[i];
        if (operation->kind != HD_OPERATION_CREATE) continue;
        uint32_t by = finder->calls->function[operation->step];
        bool many = operation->in_loop || finder->runs[by] != 1;
        if (operation->entry != HD_SOURCE_NONE) {
            if ((source->function.data[operation->entry].flags & HD_FUNCTION_BODY) != 0)
                thread_of(finder, operation->entry, operation->step, many);
            continue;
        }
        for (uint32_t f = 0; operation->entry_type != HD_SOURCE_NONE && f < source->function.size;
             f++) { /* a pointer: each function of its type whose address is taken */
            const struct hd_source_function *function = &source->function.data[f];
            uint16_t both = HD_FUNCTION_BODY | HD_FUNCTION_ADDRESS_TAKEN;
            if ((function->flags & both) == both && function->type == operation->entry_type)
                thread_of(finder, f, operation->step, many);
        }
    }
}

static void add_any(struct finder *finder) {
    const struct hd_source *source = finder->source;
    struct hd_thread any = {.entry = HD_SOURCE_NONE, .create = HD_SOURCE_NONE, .many = true};
    for (uint32_t f = 0; f < source->function.size; f++) {
        const struct hd_source_function *function = &source->function.data[f];
        if ((function->flags & HD_FUNCTION_BODY) != 0 &&
            ((function->flags & HD_FUNCTION_INTERNAL) == 0 ||
             (function->flags & HD_FUNCTION_ADDRESS_TAKEN) != 0))
            hd_calls_reach_from(finder->calls, f, true, &any.functions);
    }
    hd_vector_push(&finder->views->thread, any);
}

static void add_main(struct finder *finder) {
    const struct hd_source *source = finder->source;
    for (uint32_t f = 0; f < source->function.size; f++) {
        const struct hd_source_function *function = &source->function.data[f];
        if ((function->flags & HD_FUNCTION_BODY) == 0 ||
            strcmp(hd_source_text(source, function->name), "main") != 0)
            continue;
        struct hd_thread *thread = thread_of(finder, f, HD_SOURCE_NONE, false);
        thread->many = false;
        count_runs(finder, f, 1);
        if (finder->options->refine[HD_REFINE_ALONE]) find_alone(finder, f);
    }
}

/* ---- locks that all callers hold ------------------------------------------------------------- */

/* Every function that may be entered from outside begins with none. */
static void start_held(struct finder *finder) {
    const struct hd_source *source = finder->source;
    uint64_t *held = finder->blocks->held;
    for (size_t f = 0; f < source->function.size; f++)
        held[f] =
            finder->views->library && (source->function.data[f].flags & HD_FUNCTION_INTERNAL) == 0
                ? 0
                : UINT64_MAX;
    for (size_t i = 0; i < finder->views->thread.size; i++)
        if (finder->views->thread.data[i].entry != HD_SOURCE_NONE)
            held[finder->views->thread.data[i].entry] = 0;
}

static void find_held(struct finder *finder) {
    const struct hd_source *source = finder->source;
    struct hd_blocks *blocks = finder->blocks;
    start_held(finder);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < source->function.size; f++) {
            struct hd_source_range steps = source->function.data[f].steps;
            for (uint32_t i = steps.first; i < steps.first + steps.count; i++)
                for (uint32_t k = 0; k < finder->calls->count[i]; k++) {
                    uint64_t *of = &blocks->held[hd_callees(finder->calls, i)[k]];
                    uint64_t now =
                        *of & (blocks->held[f] | hd_blocks_locks(blocks, f, blocks->mask[i]));
                    changed = changed || now != *of;
                    *of = now;
                }
        }
    }
    for (size_t f = 0; f < source->function.size; f++)
        if (blocks->held[f] == UINT64_MAX) blocks->held[f] = 0; /* nobody calls it */
}

void hd_threads_find(const struct hd_source *source, const struct hd_calls *calls,
                     struct hd_blocks *blocks, const struct hd_lint_options *options,
                     struct hd_views *views) {
    struct finder finder = {
        .source = source, .calls = calls, .blocks = blocks, .options = options, .views = views};
    finder.runs = hd_zalloc(source->function.size, sizeof *finder.runs);
    if (options->threads != HD_THREADS_ANY) {
        add_main(&finder);
        add_created(&finder);
    }
    if (options->threads == HD_THREADS_ANY ||
        (options->threads == HD_THREADS_AUTO && views->thread.size == 0)) {
        views->library = true;
        add_any(&finder);
    }
    find_held(&finder);
    for (size_t i = 0; i < views->thread.size; i++) {
        struct hd_thread *thread = &views->thread.data[i];
        if (thread->entry != HD_SOURCE_NONE) reach(&finder, thread->entry, &thread->functions);
        add_blocks_of(&finder, thread);
    }
    hd_bitset_free(&finder.alone);
    free(finder.runs);
}
