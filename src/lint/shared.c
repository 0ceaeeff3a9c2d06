/* Accesses by shared variable: see shared.h. */
#include "lint/shared.h"

#include "base/alloc.h"

#include <string.h>

static bool is_local(const struct hd_source *source, uint32_t variable) {
    uint8_t kind = source->variable.data[variable].kind;
    return kind == HD_VARIABLE_LOCAL || kind == HD_VARIABLE_PARAMETER;
}

/* ---- what pointers point to ------------------------------------------------------------------ */

static bool add_pointee(struct hd_pointees *set, uint32_t variable) {
    for (unsigned i = 0; i < set->count; i++)
        if (set->variable[i] == variable) return false;
    if (set->count == HD_POINTEES) {
        bool changed = !set->unknown;
        set->unknown = true;
        return changed;
    }
    set->variable[set->count++] = variable;
    return true;
}

static bool add_pointees(struct hd_pointees *set, const struct hd_pointees *more) {
    bool changed = more->unknown && !set->unknown;
    set->unknown = set->unknown || more->unknown;
    for (unsigned i = 0; i < more->count; i++) changed |= add_pointee(set, more->variable[i]);
    return changed;
}

/* The value of a list of steps becomes the value of a pointer. */
static bool add_values(struct hd_shared *shared, struct hd_source_range from, uint32_t pointer) {
    const struct hd_source *source = shared->source;
    struct hd_pointees *set = &shared->pointees[pointer];
    bool changed = false;
    for (uint32_t i = 0; i < from.count; i++) {
        const struct hd_source_step *step = &source->step.data[source->link.data[from.first + i]];
        bool plain = step->kind == HD_STEP_ACCESS && step->variable != HD_SOURCE_NONE;
        if (plain && step->mode == HD_ACCESS_ADDRESS)
            changed |= add_pointee(set, step->variable);
        else if (plain && is_local(source, step->variable) &&
                 source->path.data[step->path].kind == HD_PATH_VARIABLE) {
            if ((source->variable.data[step->variable].flags & HD_VARIABLE_POINTER) != 0)
                changed |= add_pointees(set, &shared->pointees[step->variable]);
        } else if (step->kind == HD_STEP_NESTED)
            changed |= add_values(shared, step->from, pointer);
        else if (!set->unknown)
            changed = set->unknown = true;
    }
    return changed;
}

static bool pass_arguments(struct hd_shared *shared, const struct hd_calls *calls, uint32_t call) {
    const struct hd_source *source = shared->source;
    struct hd_source_range arguments = source->step.data[call].arguments;
    bool changed = false;
    for (uint32_t k = 0; k < calls->count[call]; k++) {
        const struct hd_source_function *callee =
            &source->function.data[hd_callees(calls, call)[k]];
        for (uint32_t i = 0; i < callee->parameters && i < arguments.count; i++)
            changed |= add_values(shared, source->argument.data[arguments.first + i].from,
                                  source->link.data[callee->variables.first + i]);
    }
    return changed;
}

static bool assigns_pointer(const struct hd_source *source, const struct hd_source_step *step) {
    return step->kind == HD_STEP_ACCESS && (step->mode & HD_ACCESS_WRITE) != 0 &&
           step->variable != HD_SOURCE_NONE &&
           source->path.data[step->path].kind == HD_PATH_VARIABLE &&
           is_local(source, step->variable) &&
           (source->variable.data[step->variable].flags & HD_VARIABLE_POINTER) != 0;
}

/* Who may be called from outside gets pointers that nobody knows. */
static void start_unknown(struct hd_shared *shared, const struct hd_calls *calls) {
    const struct hd_source *source = shared->source;
    bool *called = hd_zalloc(source->function.size, sizeof *called);
    for (size_t i = 0; i < calls->callee.size; i++) called[calls->callee.data[i]] = true;
    for (size_t f = 0; f < source->function.size; f++) {
        const struct hd_source_function *function = &source->function.data[f];
        if (called[f] && (function->flags & HD_FUNCTION_ADDRESS_TAKEN) == 0) continue;
        for (uint32_t i = 0; i < function->parameters; i++)
            shared->pointees[source->link.data[function->variables.first + i]].unknown = true;
    }
    free(called);
}

static void find_pointees(struct hd_shared *shared, const struct hd_calls *calls) {
    const struct hd_source *source = shared->source;
    shared->pointees = hd_zalloc(source->variable.size, sizeof *shared->pointees);
    start_unknown(shared, calls);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < source->step.size; i++) {
            const struct hd_source_step *step = &source->step.data[i];
            if (step->kind == HD_STEP_CALL)
                changed |= pass_arguments(shared, calls, (uint32_t)i);
            else if (assigns_pointer(source, step))
                changed |= add_values(shared, step->from, step->variable);
        }
    }
}

/* Locals whose address goes to a thread, or into memory that others see. */
static void add_escaped(struct hd_shared *shared, struct hd_source_range from) {
    const struct hd_source *source = shared->source;
    for (uint32_t i = 0; i < from.count; i++) {
        const struct hd_source_step *step = &source->step.data[source->link.data[from.first + i]];
        if (step->kind != HD_STEP_ACCESS) continue;
        uint32_t root = hd_source_path_root(source, step->path);
        if (root == HD_SOURCE_NONE || !is_local(source, root)) continue;
        if (step->mode == HD_ACCESS_ADDRESS)
            hd_bitset_add(&shared->escaped, root);
        else if (source->path.data[step->path].kind == HD_PATH_VARIABLE)
            for (unsigned k = 0; k < shared->pointees[root].count; k++)
                hd_bitset_add(&shared->escaped, shared->pointees[root].variable[k]);
    }
}

static void find_escaped(struct hd_shared *shared) {
    const struct hd_source *source = shared->source;
    for (size_t i = 0; i < source->operation.size; i++) {
        const struct hd_source_operation *operation = &source->operation.data[i];
        if (operation->kind != HD_OPERATION_CREATE || operation->argument == HD_SOURCE_NONE)
            continue;
        const struct hd_source_step *call = &source->step.data[operation->step];
        if (operation->argument < call->arguments.count)
            add_escaped(shared,
                        source->argument.data[call->arguments.first + operation->argument].from);
    }
    for (size_t i = 0; i < source->step.size; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        if (step->kind == HD_STEP_ACCESS && (step->mode & HD_ACCESS_WRITE) != 0 &&
            step->variable != HD_SOURCE_NONE && !is_local(source, step->variable))
            add_escaped(shared, step->from);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

struct way {
    uint32_t root; /* NONE */
    unsigned derefs;
    bool at_root; /* the root itself is dereferenced */
};

static struct way way_of(const struct hd_source *source, uint32_t path) {
    struct way way = {.root = hd_source_path_root(source, path)};
    for (; source->path.data[path].parent != HD_SOURCE_NONE;
         path = source->path.data[path].parent) {
        if (source->path.data[path].kind != HD_PATH_DEREF) continue;
        way.derefs++;
        way.at_root = source->path.data[source->path.data[path].parent].parent == HD_SOURCE_NONE;
    }
    return way;
}

/* Everything that the pointer may point to is a local variable that nobody else sees. */
static bool points_to_locals(const struct hd_shared *shared, uint32_t pointer) {
    const struct hd_pointees *set = &shared->pointees[pointer];
    for (unsigned i = 0; i < set->count; i++)
        if (!is_local(shared->source, set->variable[i]) ||
            hd_bitset_has(&shared->escaped, set->variable[i]))
            return false;
    return !set->unknown && set->count > 0;
}

struct hd_own_place hd_shared_place(const struct hd_shared *shared, uint32_t step) {
    const struct hd_source *source = shared->source;
    const struct hd_source_step *at = &source->step.data[step];
    struct hd_own_place none = {HD_SOURCE_NONE, 0};
    if (at->kind != HD_STEP_ACCESS || at->path == HD_SOURCE_NONE) return none;
    struct way way = way_of(source, at->path);
    if (way.root == HD_SOURCE_NONE || !is_local(source, way.root)) return none;
    if (way.derefs == 0) {
        uint32_t part = at->variable == HD_SOURCE_NONE || at->variable == way.root
                            ? HD_PLACE_ALL
                            : HD_PLACE_FIELD + at->variable;
        return (struct hd_own_place){way.root, part};
    }
    /* Fields behind a pointer are shared variables, unless they are those of a caller's local. */
    if (way.derefs == 1 && way.at_root &&
        (at->variable == way.root || points_to_locals(shared, way.root)))
        return (struct hd_own_place){way.root, HD_PLACE_CONTENT};
    return none;
}

/* ---- shared variables ------------------------------------------------------------------------ */

static uint32_t number_of(struct hd_shared *shared, uint32_t member, uint32_t variable) {
    uint64_t key = (uint64_t)member << 32 | variable;
    uint32_t *slot = hd_map_slot(&shared->by_parts, key, (uint32_t)shared->list.size);
    uint32_t number = *slot;
    if (number == shared->list.size) {
        struct hd_shared_variable new = {member, variable};
        hd_vector_push(&shared->list, new);
    }
    return number;
}

/* The struct by value that the last field of the path is in, if nobody has a pointer to it. */
static uint32_t member_of(const struct hd_shared *shared, uint32_t path, bool whole) {
    const struct hd_source *source = shared->source;
    while (source->path.data[path].kind == HD_PATH_INDEX) path = source->path.data[path].parent;
    if (!whole) {
        if (source->path.data[path].kind != HD_PATH_FIELD) return HD_SOURCE_NONE;
        path = source->path.data[path].parent;
        while (source->path.data[path].kind == HD_PATH_INDEX) path = source->path.data[path].parent;
    }
    const struct hd_source_path *at = &source->path.data[path];
    if (at->kind != HD_PATH_FIELD && at->kind != HD_PATH_VARIABLE) return HD_SOURCE_NONE;
    return (source->variable.data[at->of].flags & HD_VARIABLE_ADDRESS_TAKEN) != 0 ? HD_SOURCE_NONE
                                                                                  : at->of;
}

/* stdout, environ: the library's own. */
static bool of_library(const struct hd_source *source, uint32_t variable) {
    uint32_t file = source->variable.data[variable].file;
    return file != HD_SOURCE_NONE && source->variable.data[variable].kind == HD_VARIABLE_GLOBAL &&
           strncmp(hd_source_text(source, source->file.data[file].path), "/usr/include/", 13) == 0;
}

static void add_variable(struct hd_shared *shared, uint32_t step, uint32_t member,
                         uint32_t variable) {
    if (of_library(shared->source, variable)) return;
    uint16_t flags = shared->source->variable.data[variable].flags;
    if ((flags & HD_VARIABLE_THREAD_LOCAL) != 0) return;
    if ((flags & HD_VARIABLE_CONST) != 0 && (flags & HD_VARIABLE_POINTER) == 0) return;
    if ((flags & HD_VARIABLE_ADDRESS_TAKEN) != 0) member = HD_SOURCE_NONE;
    uint32_t number = number_of(shared, member, variable);
    if (hd_shared_has(shared, step, number)) return;
    hd_vector_push(&shared->of, number);
    shared->count[step]++;
}

static void add_fields(struct hd_shared *shared, uint32_t step, uint32_t member) {
    const struct hd_source *source = shared->source;
    uint32_t record = hd_source_record_find(source, source->step.data[step].type);
    if (record == HD_SOURCE_NONE) return;
    struct hd_source_range fields = source->record.data[record].fields;
    for (uint32_t i = 0; i < fields.count; i++)
        add_variable(shared, step, member, source->link.data[fields.first + i]);
}

static void add_target(struct hd_shared *shared, uint32_t step, uint32_t variable) {
    if ((shared->source->step.data[step].flags & HD_STEP_WHOLE) != 0)
        add_fields(shared, step, HD_SOURCE_NONE);
    else if (!is_local(shared->source, variable))
        add_variable(shared, step, HD_SOURCE_NONE, variable);
}

static void find_variables(struct hd_shared *shared, uint32_t step) {
    const struct hd_source *source = shared->source;
    const struct hd_source_step *at = &source->step.data[step];
    if (at->kind != HD_STEP_ACCESS || at->mode == HD_ACCESS_ADDRESS || at->path == HD_SOURCE_NONE)
        return;
    bool whole = (at->flags & HD_STEP_WHOLE) != 0;
    struct way way = way_of(source, at->path);
    bool own = way.root != HD_SOURCE_NONE && is_local(source, way.root);
    if (own && way.derefs == 0 && !hd_bitset_has(&shared->escaped, way.root)) return;
    if (own && way.derefs == 1 && way.at_root) {
        if (points_to_locals(shared, way.root)) return;
        if (at->variable == way.root) { /* *p, p[i]: what it points to */
            const struct hd_pointees *set = &shared->pointees[way.root];
            for (unsigned i = 0; i < set->count; i++) add_target(shared, step, set->variable[i]);
            if (set->count == 0 && whole) add_fields(shared, step, HD_SOURCE_NONE);
            return;
        }
    }
    if (whole)
        add_fields(shared, step, member_of(shared, at->path, true));
    else if (at->variable != HD_SOURCE_NONE && !is_local(source, at->variable))
        add_variable(shared, step, member_of(shared, at->path, false), at->variable);
}

void hd_shared_build(const struct hd_source *source, const struct hd_calls *calls,
                     struct hd_shared *shared) {
    *shared = (struct hd_shared){.source = source};
    shared->first = hd_zalloc(source->step.size, sizeof *shared->first);
    shared->count = hd_zalloc(source->step.size, sizeof *shared->count);
    find_pointees(shared, calls);
    find_escaped(shared);
    for (size_t i = 0; i < source->step.size; i++) {
        shared->first[i] = (uint32_t)shared->of.size;
        find_variables(shared, (uint32_t)i);
    }
}

void hd_shared_free(struct hd_shared *shared) {
    hd_vector_free(&shared->list);
    hd_vector_free(&shared->of);
    hd_map_free(&shared->by_parts);
    hd_bitset_free(&shared->escaped);
    free(shared->first);
    free(shared->count);
    free(shared->pointees);
}

const char *hd_shared_name(const struct hd_shared *shared, uint32_t variable) {
    const struct hd_source *source = shared->source;
    uint32_t number = shared->list.data[variable].variable;
    return hd_source_text(source, source->variable.data[number].name);
}
