/* From the steps of each function to its access set. */
#include "mine/access_sets.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "mine/numbers.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

/* ---- tidying ----------------------------------------------------------------------------------
 */

static int compare_accesses(const void *left, const void *right) {
    const struct hd_access *a = left, *b = right;
    if (a->variable != b->variable) return a->variable < b->variable ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return a->by - b->by;
}

/* Equal ones become one: a line may access a variable many times. */
static void merge_accesses(struct hd_access_sets *sets) {
    uint32_t kept = 0;
    for (uint32_t f = 0; f < sets->functions; f++) {
        uint32_t first = sets->start.data[f], last = sets->start.data[f + 1], begin = kept;
        if (last > first + 1)
            qsort(sets->access.data + first, last - first, sizeof *sets->access.data,
                  compare_accesses);
        sets->start.data[f] = begin;
        for (uint32_t i = first; i < last; i++) {
            struct hd_access *now = &sets->access.data[i];
            if (kept > begin && compare_accesses(&sets->access.data[kept - 1], now) == 0)
                sets->access.data[kept - 1].mode |= now->mode;
            else
                sets->access.data[kept++] = *now;
        }
    }
    sets->start.data[sets->functions] = kept;
    sets->access.size = kept;
}

static void merge_callees(struct hd_access_sets *sets) {
    uint32_t kept = 0;
    for (uint32_t f = 0; f < sets->functions; f++) {
        uint32_t first = sets->callee_start.data[f], last = sets->callee_start.data[f + 1];
        uint32_t begin = kept;
        hd_sort_numbers(sets->callee.data + first, last - first);
        sets->callee_start.data[f] = begin;
        for (uint32_t i = first; i < last; i++)
            if (kept == begin || sets->callee.data[kept - 1] != sets->callee.data[i])
                sets->callee.data[kept++] = sets->callee.data[i];
    }
    sets->callee_start.data[sets->functions] = kept;
    sets->callee.size = kept;
}

static void find_callers(struct hd_access_sets *sets) {
    uint32_t functions = sets->functions;
    hd_vector_reserve(&sets->caller_start, functions + 1);
    hd_vector_reserve(&sets->caller, sets->callee.size);
    uint32_t *start = sets->caller_start.data;
    memset(start, 0, (functions + 1) * sizeof *start);
    for (size_t i = 0; i < sets->callee.size; i++) start[sets->callee.data[i] + 1]++;
    for (uint32_t f = 0; f < functions; f++) start[f + 1] += start[f];
    uint32_t *next = hd_zalloc(functions + 1, sizeof *next);
    memcpy(next, start, functions * sizeof *next);
    for (uint32_t f = 0; f < functions; f++)
        for (uint32_t i = sets->callee_start.data[f]; i < sets->callee_start.data[f + 1]; i++)
            sets->caller.data[next[sets->callee.data[i]]++] = f;
    free(next);
    sets->caller_start.size = functions + 1;
    sets->caller.size = sets->callee.size;
}

void hd_access_sets_finish(struct hd_access_sets *sets) {
    merge_accesses(sets);
    merge_callees(sets);
    find_callers(sets);
}

/* ---- direct accesses --------------------------------------------------------------------------
 */

struct builder {
    const struct hd_source *source;
    struct hd_access_sets *sets;
    uint32_t *number_of;          /* by source function: its number here, HD_SOURCE_NONE */
    uint32_t *item_of;            /* by source variable, the same */
    uint32_t *direct_start;       /* by function: [f], [f + 1] of `direct` */
    struct hd_map record_by_text; /* by number of its key or name */
    HD_VECTOR(struct hd_access) direct;
};

/* What cannot change cannot be inconsistent; locals are not looked at. */
static bool is_of_interest(const struct hd_source_variable *variable) {
    return variable->kind == HD_VARIABLE_FIELD ||
           (variable->kind == HD_VARIABLE_GLOBAL && !(variable->flags & HD_VARIABLE_CONST));
}

static uint32_t item(struct builder *builder, uint32_t variable) {
    uint32_t *slot = &builder->item_of[variable];
    if (*slot == HD_SOURCE_NONE) {
        *slot = builder->sets->variables++;
        hd_vector_push(&builder->sets->variable, variable);
    }
    return *slot;
}

static void add_direct(struct builder *builder, const struct hd_source_step *step,
                       uint32_t variable, uint8_t mode) {
    if (!is_of_interest(&builder->source->variable.data[variable])) return;
    struct hd_access access = {item(builder, variable), step->line, mode,
                               step->flags & HD_STEP_MACRO ? HD_BY_MACRO : HD_BY_TEXT};
    hd_vector_push(&builder->direct, access);
}

/* ---- whole structs ----------------------------------------------------------------------------
 */

/* Structs inside structs inside structs: deeper ones are not looked for. */
#define MOST_NESTED 4

static void index_records(struct builder *builder) {
    const struct hd_source *source = builder->source;
    for (uint32_t r = (uint32_t)source->record.size; r-- > 0;) {
        *hd_map_slot(&builder->record_by_text, source->record.data[r].key, 0) = r;
        *hd_map_slot(&builder->record_by_text, source->record.data[r].name, 0) = r;
    }
}

/* By the text of a type, `struct entry` or `const entry *`: `pointers` of the stars are left out.
 */
static uint32_t record_of_type(const struct builder *builder, uint32_t type, unsigned pointers) {
    static const char *const before[] = {"const ", "volatile ", "struct ", "union ", "class "};
    const char *text = hd_source_text(builder->source, type);
    size_t length = strlen(text);
    for (unsigned i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(text, before[i], strlen(before[i])) == 0) {
            text += strlen(before[i]);
            length -= strlen(before[i]);
        }
    for (; pointers > 0 && length > 0 && text[length - 1] == '*'; pointers--) length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    uint32_t name =
        pointers == 0 ? hd_intern_find(&builder->source->text, text, length) : HD_INTERN_NONE;
    return name == HD_INTERN_NONE ? HD_SOURCE_NONE
                                  : hd_map_get(&builder->record_by_text, name, HD_SOURCE_NONE);
}

/* The struct that an access is to as a whole: by its type, or by that of its path. */
static uint32_t whole_record(const struct builder *builder, const struct hd_source_step *step) {
    const struct hd_source *source = builder->source;
    if (step->flags & HD_STEP_WHOLE)
        return hd_map_get(&builder->record_by_text, step->type, HD_SOURCE_NONE);
    if (!(step->flags & HD_STEP_LIBRARY) || step->path == HD_SOURCE_NONE) return HD_SOURCE_NONE;
    const struct hd_source_path *path = &source->path.data[step->path];
    unsigned pointers = path->kind == HD_PATH_DEREF;
    if (pointers > 0) path = &source->path.data[path->parent];
    if (path->kind != HD_PATH_VARIABLE && path->kind != HD_PATH_FIELD) return HD_SOURCE_NONE;
    return record_of_type(builder, source->variable.data[path->of].type, pointers);
}

static void touch_fields(struct builder *builder, const struct hd_source_step *step,
                         uint32_t record, unsigned depth) {
    const struct hd_source *source = builder->source;
    if (record == HD_SOURCE_NONE || depth > MOST_NESTED) return;
    struct hd_source_range fields = source->record.data[record].fields;
    for (uint32_t i = 0; i < fields.count; i++) {
        uint32_t field = source->link.data[fields.first + i];
        add_direct(builder, step, field, HD_MINE_TOUCH);
        if (source->variable.data[field].flags & HD_VARIABLE_RECORD)
            touch_fields(builder, step,
                         record_of_type(builder, source->variable.data[field].type, 0), depth + 1);
    }
}

static void add_step(struct builder *builder, const struct hd_source_step *step) {
    if (step->kind != HD_STEP_ACCESS) return;
    touch_fields(builder, step, whole_record(builder, step), 0);
    if (step->variable == HD_SOURCE_NONE) return;
    uint8_t mode = step->mode == HD_ACCESS_ADDRESS ? HD_MINE_TOUCH : step->mode & HD_MINE_ANY;
    add_direct(builder, step, step->variable, mode);
}

/* ---- all functions ----------------------------------------------------------------------------
 */

static void add_direct_accesses(struct builder *builder) {
    const struct hd_source *source = builder->source;
    const struct hd_access_sets *sets = builder->sets;
    for (uint32_t f = 0; f < sets->functions; f++) {
        builder->direct_start[f] = (uint32_t)builder->direct.size;
        struct hd_source_range steps = source->function.data[sets->function.data[f]].steps;
        for (uint32_t s = steps.first; s < steps.first + steps.count; s++)
            add_step(builder, &source->step.data[s]);
    }
    builder->direct_start[sets->functions] = (uint32_t)builder->direct.size;
}

/* ---- with those of callees --------------------------------------------------------------------
 */

static void add_call(struct builder *builder, uint32_t caller, const struct hd_source_step *step) {
    uint32_t callee = builder->number_of[step->function];
    if (callee == HD_SOURCE_NONE || callee == caller) return;
    hd_vector_push(&builder->sets->callee, callee);
    for (uint32_t i = builder->direct_start[callee]; i < builder->direct_start[callee + 1]; i++) {
        struct hd_access access = builder->direct.data[i];
        access.line = step->line;
        access.by = HD_BY_CALL;
        hd_vector_push(&builder->sets->access, access);
    }
}

static void add_function(struct builder *builder, uint32_t f) {
    const struct hd_source *source = builder->source;
    struct hd_access_sets *sets = builder->sets;
    hd_vector_push(&sets->start, (uint32_t)sets->access.size);
    hd_vector_push(&sets->callee_start, (uint32_t)sets->callee.size);
    for (uint32_t i = builder->direct_start[f]; i < builder->direct_start[f + 1]; i++)
        hd_vector_push(&sets->access, builder->direct.data[i]);
    struct hd_source_range steps = source->function.data[sets->function.data[f]].steps;
    for (uint32_t s = steps.first; s < steps.first + steps.count; s++) {
        const struct hd_source_step *step = &source->step.data[s];
        if (step->kind == HD_STEP_CALL && step->function != HD_SOURCE_NONE)
            add_call(builder, f, step);
    }
}

static uint32_t *nothing(size_t count) {
    uint32_t *column = hd_zalloc(count + 1, sizeof *column);
    memset(column, 0xff, (count + 1) * sizeof *column);
    return column;
}

void hd_access_sets_build(const struct hd_source *source, struct hd_access_sets *sets) {
    *sets = (struct hd_access_sets){.functions = 0};
    struct builder builder = {.source = source,
                              .sets = sets,
                              .number_of = nothing(source->function.size),
                              .item_of = nothing(source->variable.size)};
    for (uint32_t f = 0; f < source->function.size; f++) {
        if (!(source->function.data[f].flags & HD_FUNCTION_BODY)) continue;
        builder.number_of[f] = sets->functions++;
        hd_vector_push(&sets->function, f);
    }
    builder.direct_start = nothing(sets->functions);
    index_records(&builder);
    add_direct_accesses(&builder);
    for (uint32_t f = 0; f < sets->functions; f++) add_function(&builder, f);
    hd_vector_push(&sets->start, (uint32_t)sets->access.size);
    hd_vector_push(&sets->callee_start, (uint32_t)sets->callee.size);
    hd_access_sets_finish(sets);
    free(builder.number_of);
    free(builder.item_of);
    free(builder.direct_start);
    hd_vector_free(&builder.direct);
    hd_map_free(&builder.record_by_text);
}

void hd_access_sets_free(struct hd_access_sets *sets) {
    hd_vector_free(&sets->start);
    hd_vector_free(&sets->access);
    hd_vector_free(&sets->function);
    hd_vector_free(&sets->variable);
    hd_vector_free(&sets->callee_start);
    hd_vector_free(&sets->callee);
    hd_vector_free(&sets->caller_start);
    hd_vector_free(&sets->caller);
}

uint32_t hd_access_sets_find(const struct hd_access_sets *sets, uint32_t function,
                             uint32_t variable, uint32_t *first) {
    const struct hd_access *access = sets->access.data;
    uint32_t end = sets->start.data[function + 1];
    *first = hd_first_not(i, sets->start.data[function], end, access[i].variable < variable);
    return hd_first_not(i, *first, end, access[i].variable == variable) - *first;
}
