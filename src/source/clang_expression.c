/* Expressions become steps in the order of evaluation: the right side of an assignment, then what
 * chooses the place on the left, then the write. */
#include "source/clang.h"

#include <string.h>

/* ---- steps --------------------------------------------------------------------------------------
 */

static uint16_t column_of(unsigned column) {
    return column > UINT16_MAX ? UINT16_MAX : (uint16_t)column;
}

static void set_position(struct hd_source_step *step, CXCursor cursor) {
    CXSourceLocation location = clang_getCursorLocation(cursor);
    CXSourceRange extent = clang_getCursorExtent(cursor);
    unsigned line, column, other, begin, end;
    clang_getExpansionLocation(location, NULL, &line, &column, NULL);
    if (hd_clang_in_macro(location)) step->flags |= HD_STEP_MACRO;
    step->line = line;
    step->column = step->begin = step->end = column_of(column);
    CXSourceLocation start = clang_getRangeStart(extent);
    if (!clang_equalLocations(start, location)) { /* of a name alone they are; this takes time */
        clang_getExpansionLocation(start, NULL, &other, &begin, NULL);
        if (other == line && begin < column) step->begin = column_of(begin);
    }
    clang_getExpansionLocation(clang_getRangeEnd(extent), NULL, &other, &end, NULL);
    if (other == line && end > column) step->end = column_of(end - 1);
}

struct hd_source_step hd_clang_step(struct hd_clang *clang, uint8_t kind, CXCursor cursor) {
    struct hd_source_step step = {.kind = kind,
                                  .node = clang->open.data[clang->open.size - 1].node,
                                  .path = HD_SOURCE_NONE,
                                  .variable = HD_SOURCE_NONE,
                                  .function = HD_SOURCE_NONE,
                                  .type = HD_SOURCE_NONE,
                                  .target = HD_SOURCE_NONE};
    set_position(&step, cursor);
    return step;
}

/* Compilers put some accesses where the operator or the call is. */
void hd_clang_widen(struct hd_clang *clang, uint32_t index, CXCursor cursor) {
    struct hd_source_step *step = &clang->source->step.data[index], around = *step;
    set_position(&around, cursor);
    if (around.line != step->line) return;
    if (around.begin < step->begin) step->begin = around.begin;
    if (around.end > step->end) step->end = around.end;
}

uint32_t hd_clang_push(struct hd_clang *clang, struct hd_source_step step) {
    hd_vector_push(&clang->source->step, step);
    return (uint32_t)clang->source->step.size - 1;
}

struct hd_source_range hd_clang_links(struct hd_clang *clang, size_t mark) {
    uint32_t *value = clang->values.data;
    size_t kept = mark;
    for (size_t i = mark; i < clang->values.size; i++) {
        size_t j = mark;
        while (j < kept && value[j] != value[i]) j++;
        if (j == kept) value[kept++] = value[i];
    }
    clang->values.size = mark;
    if (kept == mark) return (struct hd_source_range){0};
    return hd_source_links_add(clang->source, value + mark, kept - mark);
}

uint32_t hd_clang_access(struct hd_clang *clang, CXCursor cursor, uint8_t mode, uint32_t path,
                         uint16_t flags, size_t from, size_t via) {
    struct hd_source *source = clang->source;
    struct hd_source_step step = hd_clang_step(clang, HD_STEP_ACCESS, cursor);
    bool indirect;
    step.mode = mode;
    step.path = path;
    step.flags |= flags;
    step.variable = hd_source_path_variable(source, path, &indirect);
    if (indirect) step.flags |= HD_STEP_INDIRECT;
    CXType type = clang_getCursorType(cursor);
    if (mode != HD_ACCESS_ADDRESS && (flags & HD_STEP_LIBRARY) == 0 && hd_clang_is_record(type)) {
        step.flags |= HD_STEP_WHOLE;
        step.type = hd_clang_record_key(clang, type);
    }
    if (clang_getCanonicalType(type).kind == CXType_Atomic) step.flags |= HD_STEP_ATOMIC;
    if (mode == HD_ACCESS_ADDRESS && step.variable != HD_SOURCE_NONE && !indirect)
        source->variable.data[step.variable].flags |= HD_VARIABLE_ADDRESS_TAKEN;
    step.via = hd_clang_links(clang, via);
    step.from = hd_clang_links(clang, from);
    return hd_clang_push(clang, step);
}

static void push_value(struct hd_clang *clang, uint32_t step) {
    hd_vector_push(&clang->values, step);
}

static void function_value(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value) {
    uint32_t function = hd_clang_function(clang, clang_getCursorReferenced(cursor));
    if (function == HD_SOURCE_NONE) return;
    struct hd_source_step step = hd_clang_step(clang, HD_STEP_FUNCTION, cursor);
    step.function = function;
    clang->source->function.data[function].flags |= HD_FUNCTION_ADDRESS_TAKEN;
    push_value(clang, hd_clang_push(clang, step));
    value->function = function;
}

static bool refers_to_function(CXCursor cursor) {
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    return (kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr) &&
           hd_clang_is_function(clang_getCursorKind(clang_getCursorReferenced(cursor)));
}

/* ---- reading and taking addresses
 * ---------------------------------------------------------------- */

static void read_place(struct hd_clang *clang, CXCursor place, uint8_t mode,
                       struct hd_clang_value *value) {
    size_t mark = clang->values.size;
    place = hd_clang_strip(clang, place);
    uint32_t path = hd_clang_place(clang, place);
    push_value(clang, hd_clang_access(clang, place, mode, path, 0, mark, mark));
    value->path = path;
    value->address = mode == HD_ACCESS_ADDRESS;
    const struct hd_source_path *at = &clang->source->path.data[path];
    if (mode == HD_ACCESS_READ && at->kind == HD_PATH_VARIABLE)
        value->index = clang->source->variable.data[at->of].name;
}

static bool is_function_type(CXType type) {
    enum CXTypeKind kind = clang_getCanonicalType(type).kind;
    return kind == CXType_FunctionProto || kind == CXType_FunctionNoProto;
}

static void bare_place(struct hd_clang *clang, CXCursor place, struct hd_clang_value *value) {
    CXType type = clang_getCursorType(place);
    if (is_function_type(type)) { /* *f of a pointer to a function is the pointer again */
        hd_clang_value(clang, hd_clang_operand(clang, place, 0), value);
        return;
    }
    bool address = hd_clang_is_array_place(place) || (clang->cxx && hd_clang_is_record(type));
    read_place(clang, place, address ? HD_ACCESS_ADDRESS : HD_ACCESS_READ, value);
}

static void nested_end(struct hd_clang *clang, uint32_t node, CXCursor cursor, size_t mark) {
    hd_clang_close(clang);
    struct hd_source_step step = hd_clang_step(clang, HD_STEP_NESTED, cursor);
    step.node = node;
    step.line = clang->source->node.data[node].line;
    step.column = step.begin = step.end = column_of(clang->source->node.data[node].column);
    step.flags = 0;
    step.from = hd_clang_links(clang, mark);
    push_value(clang, hd_clang_push(clang, step));
}

static void push_values_of(struct hd_clang *clang, uint32_t node) {
    struct hd_source_range range = clang->source->node.data[node].value;
    for (uint32_t i = 0; i < range.count; i++)
        push_value(clang, clang->source->link.data[range.first + i]);
}

/* `a && b`, `a || b`. */
static void both_sides(struct hd_clang *clang, CXCursor cursor, uint8_t kind) {
    size_t mark = clang->values.size;
    CXCursor left = hd_clang_operand(clang, cursor, 0), right = hd_clang_operand(clang, cursor, 1);
    uint32_t node = hd_clang_open(clang, kind, HD_ROLE_NONE, cursor);
    uint32_t first = hd_clang_expression(clang, left, HD_ROLE_NONE);
    uint32_t second = hd_clang_expression(clang, right, HD_ROLE_NONE);
    push_values_of(clang, first);
    push_values_of(clang, second);
    nested_end(clang, node, cursor, mark);
}

/* `a ? b : c`; `a ?: c` has no b of its own. */
static void choose(struct hd_clang *clang, CXCursor cursor, CXCursor condition, CXCursor then,
                   CXCursor otherwise) {
    size_t mark = clang->values.size;
    uint32_t node = hd_clang_open(clang, HD_NODE_CONDITIONAL, HD_ROLE_NONE, cursor);
    uint32_t first = hd_clang_expression(clang, condition, HD_ROLE_CONDITION);
    uint32_t second = hd_clang_expression(clang, then, HD_ROLE_THEN);
    if (clang_Cursor_isNull(then))
        clang->source->node.data[second].value = clang->source->node.data[first].value;
    uint32_t third = hd_clang_expression(clang, otherwise, HD_ROLE_ELSE);
    push_values_of(clang, second);
    push_values_of(clang, third);
    nested_end(clang, node, cursor, mark);
}

/* ({ ...; value; }) */
static void statement_expression(struct hd_clang *clang, CXCursor cursor) {
    size_t first, mark = clang->values.size;
    struct hd_source *source = clang->source;
    unsigned count = hd_clang_children(clang, cursor, &first);
    CXCursor block = count > 0 ? hd_clang_child(clang, first) : clang_getNullCursor();
    clang->cursors.size = first;
    if (count == 0 || clang_getCursorKind(block) != CXCursor_CompoundStmt) return;
    uint32_t node = hd_clang_open(clang, HD_NODE_BLOCK, HD_ROLE_NONE, cursor);
    count = hd_clang_children(clang, block, &first);
    for (unsigned i = 0; i < count; i++)
        hd_clang_statement(clang, hd_clang_child(clang, first + i), HD_ROLE_NONE);
    clang->cursors.size = first;
    uint32_t last = clang->open.data[clang->open.size - 1].last_child;
    if (last != HD_SOURCE_NONE && source->node.data[last].kind == HD_NODE_EXPRESSION)
        push_values_of(clang, last);
    nested_end(clang, node, cursor, mark);
}

/* ---- assignments
 * --------------------------------------------------------------------------------- */

/* Where compilers put a write: somewhere between the begin of the left side and the right side. */
static void reach_to(struct hd_clang *clang, uint32_t step, CXCursor right) {
    unsigned line, column;
    struct hd_source_step *write = &clang->source->step.data[step];
    clang_getExpansionLocation(clang_getRangeStart(clang_getCursorExtent(right)), NULL, &line,
                               &column, NULL);
    if (line == write->line && column > write->end) write->end = column_of(column - 1);
}

/* `x = f()`: the call knows where its result goes. */
static void set_target(struct hd_clang *clang, size_t mark, uint32_t path) {
    if (clang->values.size != mark + 1) return;
    struct hd_source_step *step = &clang->source->step.data[clang->values.data[mark]];
    if (step->kind == HD_STEP_CALL && step->target == HD_SOURCE_NONE) step->target = path;
}

/* `x = p->f`: gcc has one instruction for it, which stands where the assignment does. */
static void widen_copy(struct hd_clang *clang, size_t mark, const struct hd_clang_value *value,
                       CXCursor cursor) {
    if (clang->values.size != mark + 1 || value->path == HD_SOURCE_NONE || value->address) return;
    uint32_t step = clang->values.data[mark];
    const struct hd_source_step *read = &clang->source->step.data[step];
    if (read->kind == HD_STEP_ACCESS && read->mode == HD_ACCESS_READ)
        hd_clang_widen(clang, step, cursor);
}

static void assign(struct hd_clang *clang, CXCursor cursor, uint8_t mode) {
    CXCursor left = hd_clang_strip(clang, hd_clang_operand(clang, cursor, 0));
    CXCursor right = hd_clang_operand(clang, cursor, 1);
    struct hd_clang_value value;
    size_t from = clang->values.size;
    hd_clang_value(clang, right, &value);
    if (mode == HD_ACCESS_WRITE) widen_copy(clang, from, &value, cursor);
    size_t via = clang->values.size;
    uint32_t path = hd_clang_place(clang, left);
    if (mode == HD_ACCESS_WRITE) {
        size_t size = clang->values.size;
        clang->values.size = via;
        set_target(clang, from, path);
        clang->values.size = size;
    }
    uint32_t step = hd_clang_access(clang, left, mode, path, 0, from, via);
    reach_to(clang, step, right);
    push_value(clang, step);
}

static void binary(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value) {
    CXCursor left = hd_clang_operand(clang, cursor, 0), right = hd_clang_operand(clang, cursor, 1);
    if (clang_Cursor_isNull(right)) return;
    size_t mark = clang->values.size;
    struct hd_clang_value one, other;
    switch (hd_clang_binary(clang, cursor)) {
    case HD_OPERATOR_ASSIGN:
        assign(clang, cursor, HD_ACCESS_WRITE);
        return;
    case HD_OPERATOR_AND:
        both_sides(clang, cursor, HD_NODE_AND);
        return;
    case HD_OPERATOR_OR:
        both_sides(clang, cursor, HD_NODE_OR);
        return;
    case HD_OPERATOR_COMMA:
        hd_clang_value(clang, left, &one);
        clang->values.size = mark;
        hd_clang_value(clang, right, value);
        return;
    default:
        break;
    }
    hd_clang_value(clang, left, &one);
    hd_clang_value(clang, right, &other);
    if (!hd_clang_is_pointer(clang_getCursorType(cursor))) return;
    /* p + i is &p[i] */
    bool swapped = !hd_clang_is_pointer(clang_getCursorType(left));
    const struct hd_clang_value *pointer = swapped ? &other : &one;
    const struct hd_clang_value *index = swapped ? &one : &other;
    if (pointer->path == HD_SOURCE_NONE) return;
    value->path =
        hd_source_path_add(clang->source, HD_PATH_INDEX, hd_clang_pointed_to(clang, pointer),
                           hd_clang_index(clang, swapped ? left : right, index));
    value->address = true;
}

static void unary(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value) {
    CXCursor operand = hd_clang_strip(clang, hd_clang_operand(clang, cursor, 0));
    struct hd_clang_value inner;
    size_t mark = clang->values.size;
    if (clang_Cursor_isNull(operand)) return;
    switch (hd_clang_unary(clang, cursor)) {
    case HD_OPERATOR_ADDRESS:
        if (refers_to_function(operand))
            function_value(clang, operand, value);
        else
            read_place(clang, operand, HD_ACCESS_ADDRESS, value);
        return;
    case HD_OPERATOR_CHANGE: {
        uint32_t path = hd_clang_place(clang, operand);
        uint32_t step = hd_clang_access(clang, operand, HD_ACCESS_READ_WRITE, path, 0, mark, mark);
        hd_clang_widen(clang, step, cursor);
        push_value(clang, step);
        return;
    }
    case HD_OPERATOR_DEREF:
        bare_place(clang, cursor, value);
        return;
    default:
        hd_clang_value(clang, operand, &inner);
    }
}

/* ---- initialisers
 * -------------------------------------------------------------------------------- */

/* `.field = value` is a nameless expression with the field and the value under it. */
static CXCursor designated_field(struct hd_clang *clang, CXCursor cursor) {
    CXCursor field = clang_getNullCursor();
    if (clang_getCursorKind(cursor) != CXCursor_UnexposedExpr) return field;
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    if (count > 0 && clang_getCursorKind(hd_clang_child(clang, first)) == CXCursor_MemberRef)
        field = hd_clang_child(clang, first);
    clang->cursors.size = first;
    return field;
}

static void list_values(struct hd_clang *clang, CXCursor list, uint32_t path) {
    size_t first;
    unsigned count = hd_clang_children(clang, list, &first);
    for (unsigned i = 0; i < count; i++) {
        CXCursor child = hd_clang_child(clang, first + i);
        if (!clang_isExpression(clang_getCursorKind(child))) continue;
        CXCursor reference = designated_field(clang, child);
        struct hd_clang_value value;
        if (clang_Cursor_isNull(reference)) {
            hd_clang_value(clang, child, &value);
            continue;
        }
        uint32_t field = hd_clang_variable(clang, clang_getCursorReferenced(reference));
        if (field == HD_SOURCE_NONE) continue;
        uint32_t place = hd_source_path_add(clang->source, HD_PATH_FIELD, path, field);
        size_t mark = clang->values.size;
        CXCursor inner = hd_clang_operand(clang, child, 0);
        if (clang_getCursorKind(inner) == CXCursor_InitListExpr)
            list_values(clang, inner, place);
        else if (!clang_Cursor_isNull(inner))
            hd_clang_value(clang, inner, &value);
        set_target(clang, mark, place);
        uint32_t step = hd_clang_access(clang, reference, HD_ACCESS_WRITE, place, HD_STEP_INITIAL,
                                        mark, clang->values.size);
        push_value(clang, step);
    }
    clang->cursors.size = first;
}

void hd_clang_initialise(struct hd_clang *clang, CXCursor declaration, CXCursor value,
                         uint32_t path) {
    size_t from = clang->values.size;
    struct hd_clang_value ignored;
    if (clang_getCursorKind(value) == CXCursor_InitListExpr)
        list_values(clang, value, path);
    else {
        hd_clang_value(clang, value, &ignored);
        widen_copy(clang, from, &ignored, declaration);
        set_target(clang, from, path);
    }
    uint32_t step = hd_clang_access(clang, declaration, HD_ACCESS_WRITE, path, HD_STEP_INITIAL,
                                    from, clang->values.size);
    struct hd_source_step *write = &clang->source->step.data[step];
    write->begin = write->end = write->column; /* the declaration is longer than the name */
    reach_to(clang, step, value);
}

/* ---- values
 * -------------------------------------------------------------------------------------- */

static void all_children(struct hd_clang *clang, CXCursor cursor) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    for (unsigned i = 0; i < count; i++) {
        struct hd_clang_value ignored;
        CXCursor child = hd_clang_child(clang, first + i);
        if (clang_isExpression(clang_getCursorKind(child))) hd_clang_value(clang, child, &ignored);
    }
    clang->cursors.size = first;
}

/* An implicit cast, or one of the expressions that libclang has no name for. */
static void unexposed(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value) {
    CXCursor child = hd_clang_operand(clang, cursor, 0),
             second = hd_clang_operand(clang, cursor, 1);
    if (clang_Cursor_isNull(child)) return;
    if (clang_Cursor_isNull(second)) {
        CXCursor inner = hd_clang_strip(clang, child);
        if (refers_to_function(inner))
            function_value(clang, inner, value);
        else if (hd_clang_is_place(clang, inner))
            bare_place(clang, inner, value);
        else
            hd_clang_value(clang, child, value);
    } else if (clang_equalCursors(child, second)) {
        CXCursor last = second; /* a ?: b shows a three times */
        for (unsigned i = 2; i < 8; i++) {
            CXCursor next = hd_clang_operand(clang, cursor, i);
            if (clang_Cursor_isNull(next)) break;
            last = next;
        }
        choose(clang, cursor, child, clang_getNullCursor(), last);
    } else if (hd_clang_is_pointer(clang_getCursorType(child)))
        hd_clang_atomic(clang, cursor, value);
    else
        all_children(clang, cursor);
}

/* Only the arm with the type of the whole is evaluated. */
static void generic_selection(struct hd_clang *clang, CXCursor cursor,
                              struct hd_clang_value *value) {
    CXType type = clang_getCanonicalType(clang_getCursorType(cursor));
    for (unsigned i = 1;; i++) {
        CXCursor arm = hd_clang_operand(clang, cursor, i);
        if (clang_Cursor_isNull(arm)) return;
        if (!clang_equalTypes(type, clang_getCanonicalType(clang_getCursorType(arm)))) continue;
        hd_clang_value(clang, arm, value);
        return;
    }
}

static CXCursor last_expression(struct hd_clang *clang, CXCursor cursor) {
    CXCursor last = clang_getNullCursor();
    for (unsigned i = 0;; i++) {
        CXCursor next = hd_clang_operand(clang, cursor, i);
        if (clang_Cursor_isNull(next)) return last;
        last = next;
    }
}

void hd_clang_value(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value) {
    *value = hd_clang_no_value;
    cursor = hd_clang_strip(clang, cursor);
    switch (clang_getCursorKind(cursor)) {
    case CXCursor_UnexposedExpr:
        unexposed(clang, cursor, value);
        break;
    case CXCursor_DeclRefExpr:
    case CXCursor_MemberRefExpr:
        if (refers_to_function(cursor))
            function_value(clang, cursor, value);
        else if (clang_getCursorKind(clang_getCursorReferenced(cursor)) !=
                 CXCursor_EnumConstantDecl)
            bare_place(clang, cursor, value); /* also a member of a value, f().x */
        else
            value->index = hd_clang_text(clang, clang_getCursorSpelling(cursor));
        break;
    case CXCursor_ArraySubscriptExpr:
    case CXCursor_CompoundLiteralExpr:
        bare_place(clang, cursor, value);
        break;
    case CXCursor_UnaryOperator:
        unary(clang, cursor, value);
        break;
    case CXCursor_BinaryOperator:
        binary(clang, cursor, value);
        break;
    case CXCursor_CompoundAssignOperator:
        assign(clang, cursor, HD_ACCESS_READ_WRITE);
        break;
    case CXCursor_ConditionalOperator:
        choose(clang, cursor, hd_clang_operand(clang, cursor, 0),
               hd_clang_operand(clang, cursor, 1), hd_clang_operand(clang, cursor, 2));
        break;
    case CXCursor_CallExpr:
        hd_clang_call(clang, cursor, value);
        break;
    case CXCursor_StmtExpr:
        statement_expression(clang, cursor);
        break;
    case CXCursor_InitListExpr:
        list_values(clang, cursor, hd_clang_unknown(clang));
        break;
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXReinterpretCastExpr:
    case CXCursor_CXXConstCastExpr:
    case CXCursor_CXXDynamicCastExpr:
    case CXCursor_CXXFunctionalCastExpr: {
        CXCursor operand = last_expression(clang, cursor);
        if (!clang_Cursor_isNull(operand)) hd_clang_value(clang, operand, value);
        break;
    }
    case CXCursor_GenericSelectionExpr:
        generic_selection(clang, cursor, value);
        break;
    case CXCursor_UnaryExpr: /* sizeof and its like evaluate nothing */
    case CXCursor_CXXTypeidExpr:
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_ImaginaryLiteral:
    case CXCursor_StringLiteral:
    case CXCursor_CharacterLiteral:
        break;
    case CXCursor_CXXThisExpr:
        if (clang->self != HD_SOURCE_NONE)
            value->path =
                hd_source_path_add(clang->source, HD_PATH_VARIABLE, HD_SOURCE_NONE, clang->self);
        break;
    case CXCursor_LambdaExpr:
    case CXCursor_BlockExpr:
        clang->left_out++;
        break;
    default:
        all_children(clang, cursor);
    }
}

/* while (1), do ... while (0) */
static uint8_t constant_of(CXCursor cursor) {
    uint8_t constant = HD_CONSTANT_NONE;
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    if (result == NULL) return constant;
    if (clang_EvalResult_getKind(result) == CXEval_Int)
        constant =
            clang_EvalResult_getAsLongLong(result) != 0 ? HD_CONSTANT_TRUE : HD_CONSTANT_FALSE;
    clang_EvalResult_dispose(result);
    return constant;
}

uint32_t hd_clang_expression(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    struct hd_source *source = clang->source;
    size_t mark = clang->values.size;
    struct hd_clang_value value;
    uint32_t node = hd_clang_open(clang, HD_NODE_EXPRESSION, role, cursor);
    uint32_t first = (uint32_t)source->step.size;
    if (!clang_Cursor_isNull(cursor)) hd_clang_value(clang, cursor, &value);
    source->node.data[node].value = hd_clang_links(clang, mark);
    source->node.data[node].steps.first = first;
    source->node.data[node].steps.count = (uint32_t)source->step.size - first;
    if (source->step.size == first && !clang_Cursor_isNull(cursor) &&
        (role == HD_ROLE_CONDITION || role == HD_ROLE_CONTROL))
        source->node.data[node].constant = constant_of(cursor);
    hd_clang_close(clang);
    return node;
}
