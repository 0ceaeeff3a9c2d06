/* Lock regions by a data flow over the control flow graph: see blocks.h. */
#include "lint/blocks.h"

#include "base/alloc.h"

#include <string.h>

/* What one function does to locks, in the order of its steps. */
struct finder {
    const struct hd_source *source;
    const struct hd_cfg *cfg;
    struct hd_blocks *blocks;
    struct hd_source_range operations;
    uint32_t first;          /* block */
    uint64_t *begin, *ahead; /* by block of the graph: held at its begin; unlocked later on */
};

void hd_blocks_init(const struct hd_source *source, struct hd_blocks *blocks) {
    *blocks = (struct hd_blocks){.list = {0}};
    blocks->first = hd_zalloc(source->function.size, sizeof *blocks->first);
    blocks->count = hd_zalloc(source->function.size, sizeof *blocks->count);
    blocks->held = hd_zalloc(source->function.size, sizeof *blocks->held);
    blocks->mask = hd_zalloc(source->step.size, sizeof *blocks->mask);
}

void hd_blocks_free(struct hd_blocks *blocks) {
    for (size_t i = 0; i < blocks->note.size; i++) free(blocks->note.data[i].text);
    hd_vector_free(&blocks->note);
    hd_vector_free(&blocks->list);
    hd_map_free(&blocks->number);
    free(blocks->first);
    free(blocks->count);
    free(blocks->held);
    free(blocks->mask);
}

uint64_t hd_blocks_locks(const struct hd_blocks *blocks, uint32_t function, uint64_t mask) {
    uint64_t locks = 0;
    for (; mask != 0; mask &= mask - 1) {
        uint32_t block = blocks->first[function] + (uint32_t)__builtin_ctzll(mask);
        uint32_t lock = blocks->list.data[block].lock;
        uint32_t number = lock == HD_SOURCE_NONE
                              ? HD_BLOCKS_MOST
                              : hd_map_get(&blocks->number, lock, HD_BLOCKS_MOST);
        if (number < HD_BLOCKS_MOST) locks |= (uint64_t)1 << number;
    }
    return locks;
}

/* ---- which blocks there are ------------------------------------------------------------------ */

/* The last variable of the path: `q->lock` is that of its struct in all functions. */
static uint32_t lock_variable(const struct hd_source *source, uint32_t path) {
    for (; path != HD_SOURCE_NONE; path = source->path.data[path].parent) {
        const struct hd_source_path *at = &source->path.data[path];
        if (at->kind == HD_PATH_FIELD || at->kind == HD_PATH_VARIABLE) return at->of;
    }
    return HD_SOURCE_NONE;
}

static struct hd_source_range operations_in(const struct hd_source *source,
                                            struct hd_source_range steps) {
    struct hd_source_range range = hd_source_operations_of(source, steps.first);
    while (range.first + range.count < source->operation.size &&
           source->operation.data[range.first + range.count].step < steps.first + steps.count)
        range.count++;
    return range;
}

static bool takes(const struct hd_source_operation *operation) {
    return operation->kind == HD_OPERATION_LOCK || operation->kind == HD_OPERATION_TRY_LOCK;
}

/* Two names of one lock: equal paths; or the same variable, where one name is not exact. */
static bool same_lock(const struct hd_source *source, uint32_t one, uint32_t other) {
    if (one == other) return true;
    if (one == HD_SOURCE_NONE || other == HD_SOURCE_NONE) return false;
    if (hd_source_path_exact(source, one) && hd_source_path_exact(source, other)) return false;
    return lock_variable(source, one) == lock_variable(source, other);
}

/* Whether the function has an operation of the other sort on exactly this path. */
static bool has_partner(const struct finder *finder, uint32_t path, bool unlock) {
    for (uint32_t i = 0; i < finder->operations.count; i++) {
        const struct hd_source_operation *operation =
            &finder->source->operation.data[finder->operations.first + i];
        if ((operation->kind == HD_OPERATION_UNLOCK) == unlock &&
            operation->kind <= HD_OPERATION_UNLOCK && operation->path == path)
            return true;
    }
    return false;
}

/* Whether an unlock is that of a lock. `job->mutex` and `jobs[i].mutex` may be one: if neither has
 * a partner by its own name, they are each other's. */
static bool unlocks_it(const struct finder *finder, uint32_t lock, uint32_t unlock) {
    if (same_lock(finder->source, lock, unlock)) return true;
    return lock_variable(finder->source, lock) == lock_variable(finder->source, unlock) &&
           lock_variable(finder->source, lock) != HD_SOURCE_NONE &&
           !has_partner(finder, lock, true) && !has_partner(finder, unlock, false);
}

static bool unlocks(const struct finder *finder, uint32_t path) {
    for (uint32_t i = 0; i < finder->operations.count; i++) {
        const struct hd_source_operation *operation =
            &finder->source->operation.data[finder->operations.first + i];
        if (operation->kind == HD_OPERATION_UNLOCK && unlocks_it(finder, path, operation->path))
            return true;
    }
    return false;
}

/* A function that takes a lock that its callers can name, and leaves it to them to unlock it. */
static bool is_wrapper(const struct finder *finder, uint32_t path) {
    if (!hd_source_path_exact(finder->source, path) || unlocks(finder, path)) return false;
    uint32_t root = hd_source_path_root(finder->source, path);
    return root != HD_SOURCE_NONE && finder->source->variable.data[root].kind != HD_VARIABLE_LOCAL;
}

static void add_note(struct finder *finder, uint32_t line, char *text) {
    struct hd_block_note note = {finder->cfg->function, line, text};
    hd_vector_push(&finder->blocks->note, note);
}

static void add_block(struct finder *finder, uint32_t step, uint32_t path, bool shared) {
    struct hd_blocks *blocks = finder->blocks;
    const struct hd_source_function *function =
        &finder->source->function.data[finder->cfg->function];
    uint32_t line = step == HD_SOURCE_NONE ? function->line : finder->source->step.data[step].line;
    if (blocks->list.size - finder->first >= HD_BLOCKS_MOST) {
        if (blocks->list.size - finder->first == HD_BLOCKS_MOST)
            add_note(finder, line,
                     hd_format("more than %u locks are taken in one function; the "
                               "rest is not looked at",
                               HD_BLOCKS_MOST));
        return;
    }
    struct hd_atomic_block block = {.function = finder->cfg->function,
                                    .step = step,
                                    .path = path,
                                    .lock = lock_variable(finder->source, path),
                                    .shared = shared,
                                    .line = line,
                                    .end_line = step == HD_SOURCE_NONE ? function->end_line : line};
    if (block.lock != HD_SOURCE_NONE)
        hd_map_slot(&blocks->number, block.lock, blocks->number.count);
    hd_vector_push(&blocks->list, block);
}

static void add_blocks(struct finder *finder) {
    const struct hd_source *source = finder->source;
    const struct hd_source_function *function = &source->function.data[finder->cfg->function];
    if ((function->flags & HD_FUNCTION_ATOMIC) != 0) {
        add_block(finder, HD_SOURCE_NONE, HD_SOURCE_NONE, false);
        return; /* its locks are inside it */
    }
    for (uint32_t i = 0; i < finder->operations.count; i++) {
        const struct hd_source_operation *operation =
            &source->operation.data[finder->operations.first + i];
        if (!takes(operation) || is_wrapper(finder, operation->path)) continue;
        if (!unlocks(finder, operation->path)) {
            char name[256];
            add_note(finder, source->step.data[operation->step].line,
                     hd_format("%s is locked and not unlocked in %s: the block goes to its end",
                               hd_source_path_name(source, operation->path, name, sizeof name),
                               hd_source_text(source, function->name)));
        }
        add_block(finder, operation->step, operation->path, operation->shared);
    }
}

/* ---- where they hold ------------------------------------------------------------------------- */

/* The blocks of the function that are on this lock. */
static uint64_t blocks_on(const struct finder *finder, uint32_t path) {
    uint64_t mask = 0;
    const struct hd_blocks *blocks = finder->blocks;
    for (size_t b = finder->first; b < blocks->list.size; b++)
        if (unlocks_it(finder, blocks->list.data[b].path, path))
            mask |= (uint64_t)1 << (b - finder->first);
    return mask;
}

static uint64_t block_at(const struct finder *finder, uint32_t step) {
    const struct hd_blocks *blocks = finder->blocks;
    for (size_t b = finder->first; b < blocks->list.size; b++)
        if (blocks->list.data[b].step == step) return (uint64_t)1 << (b - finder->first);
    return 0;
}

/* What holds behind a step, given what holds before it. A lock that is held already is taken
 * again: still the outermost block. */
static uint64_t after_step(const struct finder *finder, uint32_t step, uint64_t held) {
    const struct hd_source *source = finder->source;
    struct hd_source_range range = hd_source_operations_of(source, step);
    for (uint32_t i = range.first; i < range.first + range.count; i++) {
        const struct hd_source_operation *operation = &source->operation.data[i];
        if (operation->kind == HD_OPERATION_UNLOCK)
            held &= ~blocks_on(finder, operation->path);
        else if (takes(operation) && (held & blocks_on(finder, operation->path)) == 0)
            held |= block_at(finder, step);
    }
    return held;
}

/* The same backwards: blocks that are unlocked behind this place on some way. */
static uint64_t before_step(const struct finder *finder, uint32_t step, uint64_t ahead) {
    const struct hd_source *source = finder->source;
    struct hd_source_range range = hd_source_operations_of(source, step);
    for (uint32_t i = range.first; i < range.first + range.count; i++) {
        const struct hd_source_operation *operation = &source->operation.data[i];
        if (operation->kind == HD_OPERATION_UNLOCK) ahead |= blocks_on(finder, operation->path);
    }
    return ahead;
}

static bool flow_forward(struct finder *finder, uint32_t block) {
    const struct hd_cfg_block *at = &finder->cfg->block[block];
    uint64_t held = finder->begin[block];
    for (uint32_t i = 0; i < at->steps.count; i++)
        held = after_step(finder, at->steps.first + i, held);
    bool changed = false;
    for (uint32_t i = 0; i < at->out.count; i++) {
        uint64_t *to = &finder->begin[finder->cfg->edge[at->out.first + i].to];
        changed = changed || (held & ~*to) != 0;
        *to |= held;
    }
    return changed;
}

static bool flow_backward(struct finder *finder, uint32_t block) {
    const struct hd_cfg_block *at = &finder->cfg->block[block];
    uint64_t ahead = 0;
    for (uint32_t i = 0; i < at->out.count; i++)
        ahead |= finder->ahead[finder->cfg->edge[at->out.first + i].to];
    for (uint32_t i = at->steps.count; i-- > 0;)
        ahead = before_step(finder, at->steps.first + i, ahead);
    bool changed = (ahead & ~finder->ahead[block]) != 0;
    finder->ahead[block] |= ahead;
    return changed;
}

/* Blocks whose lock is never given back in this function: they hold to its end. */
static uint64_t endless(const struct finder *finder) {
    uint64_t mask = 0;
    const struct hd_blocks *blocks = finder->blocks;
    for (size_t b = finder->first; b < blocks->list.size; b++)
        if (blocks->list.data[b].step != HD_SOURCE_NONE &&
            !unlocks(finder, blocks->list.data[b].path))
            mask |= (uint64_t)1 << (b - finder->first);
    return mask;
}

static void grow(struct finder *finder, uint64_t mask, uint32_t line) {
    for (; mask != 0; mask &= mask - 1) {
        struct hd_atomic_block *block =
            &finder->blocks->list.data[finder->first + (uint32_t)__builtin_ctzll(mask)];
        if (line > block->end_line) block->end_line = line;
    }
}

/* A wrapper's call is part of the block: what it does around the lock is done under it. */
static bool is_wrapped(const struct hd_source *source, uint32_t step) {
    struct hd_source_range range = hd_source_operations_of(source, step);
    return range.count > 0 && source->operation.data[range.first].wrapped;
}

/* The locks hold between the step that takes them and the one that gives them back; where no
 * unlock is ahead (behind a failed attempt, say), they don't. */
static void mark_steps(struct finder *finder) {
    uint64_t to_end = endless(finder);
    for (uint32_t b = 0; b < finder->cfg->blocks; b++) {
        const struct hd_cfg_block *at = &finder->cfg->block[b];
        uint64_t held = finder->begin[b], ahead = 0;
        for (uint32_t i = 0; i < at->out.count; i++)
            ahead |= finder->ahead[finder->cfg->edge[at->out.first + i].to];
        uint64_t *behind = hd_alloc(at->steps.count, sizeof *behind);
        for (uint32_t i = at->steps.count; i-- > 0;) {
            behind[i] = ahead;
            ahead = before_step(finder, at->steps.first + i, ahead);
        }
        finder->begin[b] &= ahead | to_end;
        for (uint32_t i = 0; i < at->steps.count; i++) {
            uint32_t step = at->steps.first + i;
            uint64_t after = after_step(finder, step, held);
            uint64_t in = held & after & (behind[i] | to_end);
            grow(finder, (held | after) & ~(held & after), finder->source->step.data[step].line);
            if (is_wrapped(finder->source, step)) in = held | after;
            finder->blocks->mask[step] = in;
            grow(finder, in, finder->source->step.data[step].line);
            held = after;
        }
        free(behind);
    }
}

static void mark_whole(struct finder *finder) {
    struct hd_source_range steps = finder->source->function.data[finder->cfg->function].steps;
    for (uint32_t i = 0; i < steps.count; i++) finder->blocks->mask[steps.first + i] = 1;
    for (uint32_t b = 0; b < finder->cfg->blocks; b++) finder->begin[b] = 1;
}

void hd_blocks_find(const struct hd_source *source, const struct hd_cfg *cfg,
                    struct hd_blocks *blocks, uint64_t *at_begin) {
    struct finder finder = {
        .source = source, .cfg = cfg, .blocks = blocks, .first = (uint32_t)blocks->list.size};
    struct hd_source_range steps = source->function.data[cfg->function].steps;
    if (steps.count > 0) finder.operations = operations_in(source, steps);
    add_blocks(&finder);
    blocks->first[cfg->function] = finder.first;
    blocks->count[cfg->function] = (uint32_t)blocks->list.size - finder.first;
    if (blocks->count[cfg->function] == 0) return;
    finder.begin = hd_zalloc(cfg->blocks, sizeof *finder.begin);
    finder.ahead = hd_zalloc(cfg->blocks, sizeof *finder.ahead);
    if (blocks->list.data[finder.first].step == HD_SOURCE_NONE)
        mark_whole(&finder);
    else {
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t b = 0; b < cfg->blocks; b++) changed |= flow_forward(&finder, b);
            for (uint32_t b = cfg->blocks; b-- > 0;) changed |= flow_backward(&finder, b);
        }
        mark_steps(&finder);
    }
    if (at_begin != NULL) memcpy(at_begin, finder.begin, cfg->blocks * sizeof *at_begin);
    free(finder.begin);
    free(finder.ahead);
}

/* ---- locks that are not known ---------------------------------------------------------------- */

/* "my_unlock" for "my_lock": the text's number if the program has it; NONE. */
static uint32_t counterpart(const struct hd_source *source, const char *name) {
    size_t length = strlen(name);
    if (length < 4 || strcasecmp(name + length - 4, "lock") != 0) return HD_INTERN_NONE;
    const char *un = name[length - 4] == 'L' && length > 4 ? "Unl" : "unl";
    char *other = hd_format("%.*s%s%s", (int)length - 4, name, un, name + length - 3);
    uint32_t text = hd_intern_find(&source->text, other, strlen(other));
    free(other);
    return text;
}

void hd_blocks_note_unknown(const struct hd_source *source, const uint32_t *function_of_step,
                            struct hd_blocks *blocks) {
    struct hd_map called = {0}; /* names of functions without a body: the first call, plus one */
    for (uint32_t i = 0; i < source->step.size; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        if (step->kind != HD_STEP_CALL || step->function == HD_SOURCE_NONE) continue;
        const struct hd_source_function *callee = &source->function.data[step->function];
        if ((callee->flags & HD_FUNCTION_BODY) == 0 &&
            hd_source_operations_of(source, i).count == 0)
            hd_map_slot(&called, callee->name, i + 1);
    }
    for (uint32_t f = 0; f < source->function.size; f++) {
        const char *name = hd_source_text(source, source->function.data[f].name);
        uint32_t call = hd_map_get(&called, source->function.data[f].name, 0);
        uint32_t other = call == 0 ? HD_INTERN_NONE : counterpart(source, name);
        if (other == HD_INTERN_NONE || hd_map_get(&called, other, 0) == 0) continue;
        const char *unlock = hd_source_text(source, other);
        struct hd_block_note note = {
            function_of_step[call - 1], source->step.data[call - 1].line,
            hd_format("%s and %s look like a lock, but their bodies are not here; if they are, "
                      "say --lock %s --unlock %s",
                      name, unlock, name, unlock)};
        hd_vector_push(&blocks->note, note);
    }
    hd_map_free(&called);
}
