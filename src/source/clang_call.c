/* Calls and atomic operations; what library functions do to the memory of their arguments. */
#include "source/clang.h"
#include "source/library.h"

#include <string.h>

#define MOST_ARGUMENTS 128 /* further ones are evaluated, but not kept as arguments */

struct argument {
    CXCursor cursor;
    struct hd_clang_value value;
    size_t mark, end; /* on the stack of values */
};

static uint32_t target_of(struct hd_clang *clang, const struct hd_clang_value *value) {
    if (value->path == HD_SOURCE_NONE || value->address) return value->path;
    return hd_source_path_add(clang->source, HD_PATH_DEREF, value->path, 0);
}

/* A read or write of what an argument points to. */
static void library_access(struct hd_clang *clang, CXCursor call, const struct argument *argument,
                           uint8_t mode, uint16_t flags, size_t from) {
    uint32_t path = target_of(clang, &argument->value);
    if (path == HD_SOURCE_NONE) return;
    size_t via = clang->values.size;
    for (size_t i = argument->mark; i < argument->end; i++)
        hd_vector_push(&clang->values, clang->values.data[i]);
    uint32_t step = hd_clang_access(clang, argument->cursor, mode, path, flags, from, via);
    hd_clang_widen(clang, step, call);
    hd_vector_push(&clang->values, step);
}

static char effect_of(const char *effects, unsigned argument) {
    size_t length = strlen(effects);
    return effects[argument < length ? argument : length - 1];
}

/* All that is read flows into all that is written. */
static void library_effects(struct hd_clang *clang, CXCursor cursor, const char *effects,
                            const struct argument *argument, unsigned arguments) {
    size_t mark = clang->values.size;
    for (unsigned i = 0; i < arguments; i++) {
        char effect = effect_of(effects, i);
        if (effect == 'r')
            library_access(clang, cursor, &argument[i], HD_ACCESS_READ, HD_STEP_LIBRARY,
                           clang->values.size);
    }
    for (unsigned i = 0; i < arguments; i++)
        if (effect_of(effects, i) == '-')
            for (size_t v = argument[i].mark; v < argument[i].end; v++)
                hd_vector_push(&clang->values, clang->values.data[v]);
    size_t read = clang->values.size;
    for (unsigned i = 0; i < arguments; i++) {
        char effect = effect_of(effects, i);
        if (effect != 'w' && effect != 'b') continue;
        size_t from = clang->values.size;
        for (size_t v = mark; v < read; v++) hd_vector_push(&clang->values, clang->values.data[v]);
        library_access(clang, cursor, &argument[i],
                       effect == 'w' ? HD_ACCESS_WRITE : HD_ACCESS_READ_WRITE, HD_STEP_LIBRARY,
                       from);
    }
    clang->values.size = mark;
}

/* __sync_fetch_and_add and the like: `__sync_fetch_and_add_4` by the time we see it. */
static bool sync_builtin(struct hd_clang *clang, CXCursor cursor, const char *name,
                         const struct argument *argument, unsigned arguments) {
    if (strncmp(name, "__sync_", 7) != 0 || arguments == 0) return false;
    size_t from = clang->values.size;
    for (size_t i = argument[0].end; i < argument[arguments - 1].end; i++)
        hd_vector_push(&clang->values, clang->values.data[i]);
    uint8_t mode =
        strncmp(name, "__sync_lock_release", 19) == 0 ? HD_ACCESS_WRITE : HD_ACCESS_READ_WRITE;
    size_t before = clang->source->step.size;
    library_access(clang, cursor, &argument[0], mode, HD_STEP_ATOMIC, from);
    return clang->source->step.size > before;
}

static void add_arguments(struct hd_clang *clang, struct hd_source_step *step,
                          const struct argument *argument, unsigned arguments) {
    struct hd_source *source = clang->source;
    step->arguments.first = (uint32_t)source->argument.size;
    step->arguments.count = arguments;
    for (unsigned i = 0; i < arguments; i++) {
        const struct hd_clang_value *value = &argument[i].value;
        struct hd_source_argument entry = {
            .path = value->path, .address = value->address, .function = value->function};
        size_t mark = clang->values.size;
        for (size_t v = argument[i].mark; v < argument[i].end; v++)
            hd_vector_push(&clang->values, clang->values.data[v]);
        entry.from = hd_clang_links(clang, mark);
        hd_vector_push(&source->argument, entry);
    }
}

/* Casts and parentheses around the callee, `*f` and `&f`. */
static CXCursor callee_under(struct hd_clang *clang, CXCursor cursor) {
    for (;;) {
        cursor = hd_clang_strip(clang, cursor);
        enum CXCursorKind kind = clang_getCursorKind(cursor);
        if (kind != CXCursor_UnexposedExpr && kind != CXCursor_UnaryOperator) return cursor;
        CXCursor child = hd_clang_operand(clang, cursor, 0);
        if (clang_Cursor_isNull(child)) return cursor;
        cursor = child;
    }
}

/* The object of a method call is its first argument, by address. */
static unsigned object_argument(struct hd_clang *clang, CXCursor callee,
                                struct argument *argument) {
    if (clang_getCursorKind(callee) != CXCursor_MemberRefExpr) return 0;
    *argument =
        (struct argument){.cursor = callee, .value = hd_clang_no_value, .mark = clang->values.size};
    CXCursor base = hd_clang_operand(clang, callee, 0);
    if (clang_Cursor_isNull(base)) {
        if (clang->self != HD_SOURCE_NONE)
            argument->value.path =
                hd_source_path_add(clang->source, HD_PATH_VARIABLE, HD_SOURCE_NONE, clang->self);
    } else if (hd_clang_is_pointer(clang_getCursorType(base)))
        hd_clang_value(clang, base, &argument->value);
    else {
        argument->value.path = hd_clang_place(clang, base);
        argument->value.address = true;
    }
    argument->end = clang->values.size;
    return 1;
}

static CXCursor call_argument(CXCursor call, unsigned number) {
    return clang_Cursor_getArgument(call, number);
}

/* __builtin_expect(x, 1) is x: conditions in likely() keep their structure. */
static bool transparent(const char *name) {
    return strcmp(name, "__builtin_expect") == 0 ||
           strcmp(name, "__builtin_expect_with_probability") == 0 ||
           strcmp(name, "__builtin_assume_aligned") == 0;
}

static uint32_t pointer_type(struct hd_clang *clang, CXCursor callee) {
    CXType type = clang_getCanonicalType(clang_getCursorType(callee));
    if (type.kind == CXType_Pointer) type = clang_getPointeeType(type);
    return hd_clang_type(clang, type);
}

void hd_clang_call(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value) {
    struct hd_source *source = clang->source;
    struct argument argument[MOST_ARGUMENTS];
    size_t mark = clang->values.size;
    CXCursor declaration = clang_getCursorReferenced(cursor);
    uint32_t function = hd_clang_function(clang, declaration);
    int given = clang_Cursor_getNumArguments(cursor);
    uint32_t name =
        function != HD_SOURCE_NONE ? source->function.data[function].name : HD_SOURCE_NONE;
    if (function != HD_SOURCE_NONE && given > 0 && transparent(hd_source_text(source, name))) {
        hd_clang_value(clang, call_argument(cursor, 0), value);
        return;
    }
    CXCursor outer = hd_clang_operand(clang, cursor, 0);
    CXCursor callee = clang_Cursor_isNull(outer) ? outer : callee_under(clang, outer);
    bool constructor = clang_getCursorKind(declaration) == CXCursor_Constructor;
    unsigned arguments = 0;
    struct hd_clang_value pointer = hd_clang_no_value;
    size_t pointer_mark = clang->values.size;
    if (function == HD_SOURCE_NONE && !clang_Cursor_isNull(outer))
        hd_clang_value(clang, outer, &pointer);
    size_t pointer_end = clang->values.size;
    if (!constructor && function != HD_SOURCE_NONE && !clang_Cursor_isNull(callee))
        arguments = object_argument(clang, callee, argument);
    for (int i = 0; i < given; i++) {
        struct argument *at =
            &argument[arguments < MOST_ARGUMENTS ? arguments : MOST_ARGUMENTS - 1];
        at->cursor = call_argument(cursor, (unsigned)i);
        at->mark = clang->values.size;
        hd_clang_value(clang, at->cursor, &at->value);
        at->end = clang->values.size;
        if (arguments < MOST_ARGUMENTS) arguments++;
    }
    const char *text = hd_source_text(source, name);
    const char *effects = function != HD_SOURCE_NONE ? hd_library_effects(text) : NULL;
    if (effects != NULL && clang_getCursorLinkage(declaration) == CXLinkage_External)
        library_effects(clang, cursor, effects, argument, arguments);
    if (sync_builtin(clang, cursor, text, argument, arguments)) {
        uint32_t result = clang->values.data[clang->values.size - 1];
        clang->values.size = mark;
        hd_vector_push(&clang->values, result);
        return;
    }
    struct hd_source_step step = hd_clang_step(clang, HD_STEP_CALL, cursor);
    add_arguments(clang, &step, argument, arguments);
    step.function = function;
    if (function == HD_SOURCE_NONE && !clang_Cursor_isNull(outer)) {
        step.path = pointer.path;
        step.type = pointer_type(clang, outer);
        size_t via = clang->values.size;
        for (size_t v = pointer_mark; v < pointer_end; v++)
            hd_vector_push(&clang->values, clang->values.data[v]);
        step.via = hd_clang_links(clang, via);
    }
    clang->values.size = mark;
    hd_vector_push(&clang->values, hd_clang_push(clang, step));
    value->path = hd_source_path_add(source, HD_PATH_RESULT, HD_SOURCE_NONE, function);
}

/* __atomic_* and C11 atomics have no name in libclang and their operands come in an order of their
 * own: pointer, memory order, values. What they do shows in how many there are and what comes out.
 * (__atomic_load and __atomic_store with pointers to the value look the same: both count as a
 * write.) */
void hd_clang_atomic(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value) {
    size_t first, from = clang->values.size;
    unsigned count = hd_clang_children(clang, cursor, &first), operands = 0;
    struct argument pointer = {.value = hd_clang_no_value, .mark = from, .end = from};
    for (unsigned i = 0; i < count; i++) {
        struct hd_clang_value ignored;
        CXCursor child = hd_clang_child(clang, first + i);
        if (!clang_isExpression(clang_getCursorKind(child))) continue;
        if (operands++ > 0) {
            hd_clang_value(clang, child, &ignored);
            continue;
        }
        pointer.cursor = child;
        hd_clang_value(clang, child, &pointer.value);
        pointer.end = clang->values.size;
    }
    clang->cursors.size = first;
    bool none = clang_getCanonicalType(clang_getCursorType(cursor)).kind == CXType_Void;
    uint8_t mode = none ? HD_ACCESS_WRITE : operands == 2 ? HD_ACCESS_READ : HD_ACCESS_READ_WRITE;
    size_t values = clang->values.size;
    for (size_t v = pointer.end; v < values; v++)
        hd_vector_push(&clang->values, clang->values.data[v]);
    library_access(clang, cursor, &pointer, mode, HD_STEP_ATOMIC, values);
    bool made = clang->values.size > values && target_of(clang, &pointer.value) != HD_SOURCE_NONE;
    uint32_t result = made ? clang->values.data[clang->values.size - 1] : HD_SOURCE_NONE;
    clang->values.size = from;
    if (made) hd_vector_push(&clang->values, result);
    value->path = HD_SOURCE_NONE;
}
