/* What calls do to locks and threads: the library's functions themselves, and calls of wrappers
 * around them, with the lock or the thread's function as the caller names it. */
#include "source/build.h"
#include "source/library.h"

#include "base/alloc.h"

#include <stdlib.h>

/* An operation of a wrapper that its callers do, too. */
struct effect {
    uint32_t function;
    struct hd_source_operation operation;
    uint32_t entry_parameter, argument_parameter; /* CREATE: of the wrapper; NONE */
};

struct resolver {
    struct hd_source *source;
    HD_VECTOR(struct effect) effect; /* sorted by function */
};

/* What an argument points to. */
static uint32_t pointed_to(struct hd_source *source, const struct hd_source_argument *argument) {
    if (argument->path == HD_SOURCE_NONE || argument->address) return argument->path;
    return hd_source_path_add(source, HD_PATH_DEREF, argument->path, 0);
}

static struct hd_source_operation new_operation(const struct hd_source *source, uint32_t step,
                                                uint8_t kind) {
    return (struct hd_source_operation){.kind = kind,
                                        .step = step,
                                        .in_loop = hd_source_in_loop(source, step),
                                        .path = HD_SOURCE_NONE,
                                        .entry = HD_SOURCE_NONE,
                                        .entry_type = HD_SOURCE_NONE,
                                        .argument = HD_SOURCE_NONE};
}

/* A call of a library function. */
static void add_direct(struct hd_source *source, uint32_t index,
                       const struct hd_library_operation *known) {
    const struct hd_source_step *step = &source->step.data[index];
    struct hd_source_operation operation = new_operation(source, index, known->kind);
    operation.shared = known->shared;
    if (known->object < step->arguments.count) {
        const struct hd_source_argument *object =
            &source->argument.data[step->arguments.first + known->object];
        if (known->kind == HD_OPERATION_CREATE) {
            operation.entry = object->function;
            operation.entry_type =
                object->function == HD_SOURCE_NONE
                    ? hd_source_text_add(source,
                                         known->object == 2 ? "void *(void *)" : "int (void *)")
                    : HD_SOURCE_NONE;
            if (known->argument < step->arguments.count) operation.argument = known->argument;
        } else if (known->kind != HD_OPERATION_JOIN)
            operation.path = pointed_to(source, object);
    }
    hd_vector_push(&source->operation, operation);
}

bool hd_source_declare(struct hd_source *source, const char *name, enum hd_operation_kind kind) {
    struct hd_source_declared new = {hd_source_text_add(source, name), (uint8_t)kind};
    hd_vector_push(&source->declared, new);
    for (size_t i = 0; i < source->step.size; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        if (step->kind == HD_STEP_CALL && step->function != HD_SOURCE_NONE &&
            source->function.data[step->function].name == new.function)
            return true;
    }
    return false;
}

/* What a call of the function does by itself; NULL: nothing, or a body says it. */
static const struct hd_library_operation *operation_of(const struct hd_source *source,
                                                       size_t function) {
    static const struct hd_library_operation lock = {"", HD_OPERATION_LOCK, 0, 0, false},
                                             unlock = {"", HD_OPERATION_UNLOCK, 0, 0, false};
    uint32_t name = source->function.data[function].name;
    for (size_t i = 0; i < source->declared.size; i++)
        if (source->declared.data[i].function == name)
            return source->declared.data[i].kind == HD_OPERATION_LOCK ? &lock : &unlock;
    if ((source->function.data[function].flags & HD_FUNCTION_BODY) != 0) return NULL;
    return hd_library_operation(hd_source_text(source, name));
}

static void add_direct_operations(struct hd_source *source) {
    const struct hd_library_operation **known = hd_zalloc(source->function.size, sizeof *known);
    for (size_t i = 0; i < source->function.size; i++) known[i] = operation_of(source, i);
    for (size_t i = 0; i < source->step.size; i++) {
        const struct hd_source_step *step = &source->step.data[i];
        if (step->kind != HD_STEP_CALL || step->function == HD_SOURCE_NONE) continue;
        if (known[step->function] != NULL) add_direct(source, (uint32_t)i, known[step->function]);
    }
    free(known);
}

/* ---- wrappers
 * -------------------------------------------------------------------------------------- */

/* The number of a parameter of the function that the path begins with; NONE. */
static uint32_t parameter_of(const struct hd_source *source, uint32_t function, uint32_t path) {
    uint32_t root = hd_source_path_root(source, path);
    if (root == HD_SOURCE_NONE) return HD_SOURCE_NONE;
    const struct hd_source_function *f = &source->function.data[function];
    for (uint32_t i = 0; i < f->parameters; i++)
        if (source->link.data[f->variables.first + i] == root) return i;
    return HD_SOURCE_NONE;
}

/* A name that callers understand: it begins with a parameter or a global. */
static bool known_outside(const struct hd_source *source, uint32_t function, uint32_t path) {
    if (!hd_source_path_exact(source, path)) return false;
    uint32_t root = hd_source_path_root(source, path);
    return source->variable.data[root].kind == HD_VARIABLE_GLOBAL ||
           parameter_of(source, function, path) != HD_SOURCE_NONE;
}

/* The parameter that is handed on as it is; NONE. */
static uint32_t handed_on(const struct hd_source *source, uint32_t function, uint32_t call,
                          uint32_t number) {
    const struct hd_source_step *step = &source->step.data[call];
    if (number >= step->arguments.count) return HD_SOURCE_NONE;
    const struct hd_source_argument *argument =
        &source->argument.data[step->arguments.first + number];
    if (argument->path == HD_SOURCE_NONE || argument->address ||
        source->path.data[argument->path].kind != HD_PATH_VARIABLE)
        return HD_SOURCE_NONE;
    return parameter_of(source, function, argument->path);
}

/* Whether the function both locks and unlocks the path: then its callers see nothing of it. */
static bool undone(const struct hd_source *source, struct hd_source_range operations,
                   uint32_t number) {
    const struct hd_source_operation *one = &source->operation.data[number];
    for (uint32_t i = operations.first; i < operations.first + operations.count; i++) {
        const struct hd_source_operation *other = &source->operation.data[i];
        bool opposite = (one->kind == HD_OPERATION_UNLOCK) != (other->kind == HD_OPERATION_UNLOCK);
        if (opposite && other->kind <= HD_OPERATION_WAIT && other->path == one->path) return true;
    }
    return false;
}

static bool repeated(const struct resolver *resolver, const struct effect *effect) {
    for (size_t i = resolver->effect.size; i-- > 0;) {
        const struct effect *other = &resolver->effect.data[i];
        if (other->function != effect->function) return false;
        if (other->operation.kind == effect->operation.kind &&
            other->operation.path == effect->operation.path &&
            effect->operation.kind != HD_OPERATION_CREATE)
            return true; /* on another branch */
    }
    return false;
}

static void find_effects(struct resolver *resolver, uint32_t function,
                         struct hd_source_range operations) {
    struct hd_source *source = resolver->source;
    for (uint32_t i = operations.first; i < operations.first + operations.count; i++) {
        struct effect effect = {.function = function,
                                .operation = source->operation.data[i],
                                .entry_parameter = HD_SOURCE_NONE,
                                .argument_parameter = HD_SOURCE_NONE};
        const struct hd_source_operation *operation = &effect.operation;
        if (operation->kind == HD_OPERATION_CREATE) {
            const struct hd_source_step *step = &source->step.data[operation->step];
            const struct hd_library_operation *known = hd_library_operation(
                hd_source_text(source, source->function.data[step->function].name));
            effect.entry_parameter = handed_on(source, function, operation->step, known->object);
            effect.argument_parameter =
                handed_on(source, function, operation->step, known->argument);
            if (effect.entry_parameter == HD_SOURCE_NONE) continue;
        } else if (operation->kind > HD_OPERATION_UNLOCK ||
                   !known_outside(source, function, operation->path) ||
                   undone(source, operations, i))
            continue;
        if (!repeated(resolver, &effect)) hd_vector_push(&resolver->effect, effect);
    }
}

static void find_wrappers(struct resolver *resolver) {
    struct hd_source *source = resolver->source;
    for (size_t f = 0; f < source->function.size; f++) {
        struct hd_source_range steps = source->function.data[f].steps;
        if (steps.count == 0) continue;
        struct hd_source_range operations = hd_source_operations_of(source, steps.first);
        while (operations.first + operations.count < source->operation.size &&
               source->operation.data[operations.first + operations.count].step <
                   steps.first + steps.count)
            operations.count++;
        find_effects(resolver, (uint32_t)f, operations);
    }
}

/* The path of a callee with the caller's argument in place of the parameter. */
static uint32_t substitute(struct hd_source *source, uint32_t path,
                           const struct hd_source_argument *argument) {
    struct hd_source_path element = source->path.data[path];
    if (element.kind == HD_PATH_VARIABLE)
        return argument->address ? HD_SOURCE_NONE : argument->path;
    bool last = source->path.data[element.parent].kind == HD_PATH_VARIABLE;
    if (last && element.kind == HD_PATH_DEREF) return pointed_to(source, argument);
    uint32_t parent = substitute(source, element.parent, argument);
    if (parent == HD_SOURCE_NONE) return HD_SOURCE_NONE;
    return hd_source_path_add(source, element.kind, parent, element.of);
}

static void add_wrapped(struct hd_source *source, uint32_t index, const struct effect *effect) {
    const struct hd_source_step *step = &source->step.data[index];
    struct hd_source_operation operation = new_operation(source, index, effect->operation.kind);
    operation.shared = effect->operation.shared;
    operation.wrapped = true;
    if (operation.kind == HD_OPERATION_CREATE) {
        if (effect->entry_parameter >= step->arguments.count) return;
        operation.entry =
            source->argument.data[step->arguments.first + effect->entry_parameter].function;
        if (operation.entry == HD_SOURCE_NONE) operation.entry_type = effect->operation.entry_type;
        if (effect->argument_parameter < step->arguments.count)
            operation.argument = effect->argument_parameter;
    } else {
        uint32_t parameter = parameter_of(source, effect->function, effect->operation.path);
        operation.path = effect->operation.path;
        if (parameter != HD_SOURCE_NONE) {
            if (parameter >= step->arguments.count) return;
            struct hd_source_argument argument =
                source->argument.data[step->arguments.first + parameter];
            operation.path = substitute(source, operation.path, &argument);
        }
    }
    hd_vector_push(&source->operation, operation);
}

static void add_wrapped_operations(struct resolver *resolver) {
    struct hd_source *source = resolver->source;
    uint32_t *first = hd_alloc(source->function.size, sizeof *first);
    for (size_t f = 0; f < source->function.size; f++) first[f] = HD_SOURCE_NONE;
    for (size_t i = resolver->effect.size; i-- > 0;)
        first[resolver->effect.data[i].function] = (uint32_t)i;
    for (size_t i = 0; i < source->step.size; i++) {
        uint32_t callee = source->step.data[i].function;
        if (source->step.data[i].kind != HD_STEP_CALL || callee == HD_SOURCE_NONE) continue;
        for (size_t e = first[callee];
             e < resolver->effect.size && resolver->effect.data[e].function == callee; e++)
            add_wrapped(source, (uint32_t)i, &resolver->effect.data[e]);
    }
    free(first);
}

static int by_step(const void *a, const void *b) {
    const struct hd_source_operation *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

void hd_source_resolve(struct hd_source *source) {
    struct resolver resolver = {.source = source};
    source->operation.size = 0;
    add_direct_operations(source);
    find_wrappers(&resolver);
    add_wrapped_operations(&resolver);
    if (source->operation.size > 0)
        qsort(source->operation.data, source->operation.size, sizeof source->operation.data[0],
              by_step);
    hd_vector_free(&resolver.effect);
}
