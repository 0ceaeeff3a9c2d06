/* Places: what an expression on the left of an assignment, under & or inside a read names. */
#include "source/clang.h"

#include <string.h>

const struct hd_clang_value hd_clang_no_value = {
    .path = HD_SOURCE_NONE, .function = HD_SOURCE_NONE, .index = HD_SOURCE_NONE};

static struct hd_clang_known *known_children(struct hd_clang *clang, CXCursor cursor) {
    size_t slot = (size_t)((uintptr_t)cursor.data[1] >> 3) & (HD_CLANG_KNOWN - 1);
    struct hd_clang_known *known = &clang->known[slot];
    if (known->used && clang_equalCursors(known->cursor, cursor)) return known;
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first), expressions = 0;
    for (unsigned i = 0; i < count; i++) {
        CXCursor child = hd_clang_child(clang, first + i);
        if (!clang_isExpression(clang_getCursorKind(child))) continue;
        if (expressions < HD_CLANG_KNOWN_CHILDREN) known->child[expressions] = child;
        expressions++;
    }
    clang->cursors.size = first;
    known->used = true;
    known->cursor = cursor;
    known->count = expressions;
    return known;
}

CXCursor hd_clang_operand(struct hd_clang *clang, CXCursor cursor, unsigned number) {
    const struct hd_clang_known *known = known_children(clang, cursor);
    if (number >= known->count) return clang_getNullCursor();
    if (number < HD_CLANG_KNOWN_CHILDREN) return known->child[number];
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    CXCursor found = clang_getNullCursor();
    for (unsigned i = 0; i < count; i++) {
        CXCursor child = hd_clang_child(clang, first + i);
        if (!clang_isExpression(clang_getCursorKind(child)) || number-- > 0) continue;
        found = child;
        break;
    }
    clang->cursors.size = first;
    return found;
}

/* ---- places -------------------------------------------------------------------------------------
 */

uint32_t hd_clang_unknown(struct hd_clang *clang) {
    return hd_source_path_add(clang->source, HD_PATH_UNKNOWN, HD_SOURCE_NONE, HD_SOURCE_NONE);
}

/* What a pointer with this value points to. */
uint32_t hd_clang_pointed_to(struct hd_clang *clang, const struct hd_clang_value *value) {
    uint32_t path = value->path == HD_SOURCE_NONE ? hd_clang_unknown(clang) : value->path;
    if (value->address) return path;
    return hd_source_path_add(clang->source, HD_PATH_DEREF, path, 0);
}

static uint32_t variable_place(struct hd_clang *clang, CXCursor declaration) {
    uint32_t variable = hd_clang_variable(clang, declaration);
    if (variable == HD_SOURCE_NONE) return hd_clang_unknown(clang);
    uint32_t path = hd_source_path_add(clang->source, HD_PATH_VARIABLE, HD_SOURCE_NONE, variable);
    enum CXTypeKind kind = clang_getCanonicalType(clang_getCursorType(declaration)).kind;
    if (kind == CXType_LValueReference || kind == CXType_RValueReference)
        path = hd_source_path_add(clang->source, HD_PATH_DEREF, path, 0);
    return path;
}

static uint32_t base_place(struct hd_clang *clang, CXCursor member) {
    CXCursor base = hd_clang_operand(clang, member, 0);
    if (clang_Cursor_isNull(base)) { /* a member of `this` */
        struct hd_clang_value self = hd_clang_no_value;
        if (clang->self != HD_SOURCE_NONE)
            self.path =
                hd_source_path_add(clang->source, HD_PATH_VARIABLE, HD_SOURCE_NONE, clang->self);
        return hd_clang_pointed_to(clang, &self);
    }
    if (!hd_clang_is_pointer(clang_getCursorType(base))) return hd_clang_place(clang, base);
    struct hd_clang_value value;
    hd_clang_value(clang, base, &value);
    return hd_clang_pointed_to(clang, &value);
}

static uint32_t member_place(struct hd_clang *clang, CXCursor cursor) {
    CXCursor declaration = clang_getCursorReferenced(cursor);
    if (clang_getCursorKind(declaration) == CXCursor_VarDecl)
        return variable_place(clang, declaration);
    uint32_t base = base_place(clang, cursor);
    CXString name = clang_getCursorSpelling(declaration);
    const char *text = clang_getCString(name);
    bool nameless = text == NULL || *text == '\0' || *text == '(';
    clang_disposeString(name);
    if (nameless) return base; /* an anonymous struct or union: its members are the outer one's */
    uint32_t field = hd_clang_variable(clang, declaration);
    if (field == HD_SOURCE_NONE) return hd_clang_unknown(clang);
    return hd_source_path_add(clang->source, HD_PATH_FIELD, base, field);
}

/* The array under the casts, if the expression is an array that becomes a pointer. */
static CXCursor array_under(struct hd_clang *clang, CXCursor cursor) {
    cursor = hd_clang_strip(clang, cursor);
    while (clang_getCursorKind(cursor) == CXCursor_UnexposedExpr) {
        CXCursor child = hd_clang_operand(clang, cursor, 0);
        if (clang_Cursor_isNull(child)) break;
        cursor = hd_clang_strip(clang, child);
    }
    if (hd_clang_is_place(clang, cursor) && hd_clang_is_array_place(cursor)) return cursor;
    return clang_getNullCursor();
}

uint32_t hd_clang_index(struct hd_clang *clang, CXCursor cursor,
                        const struct hd_clang_value *value) {
    if (value->index != HD_SOURCE_NONE) return value->index;
    cursor = hd_clang_strip(clang, cursor);
    while (clang_getCursorKind(cursor) == CXCursor_UnexposedExpr) {
        CXCursor child = hd_clang_operand(clang, cursor, 0);
        if (clang_Cursor_isNull(child)) break;
        cursor = hd_clang_strip(clang, child);
    }
    char digits[24] = "";
    if (clang_getCursorKind(cursor) == CXCursor_IntegerLiteral) {
        CXEvalResult result = clang_Cursor_Evaluate(cursor);
        if (result != NULL && clang_EvalResult_getKind(result) == CXEval_Int) {
            unsigned long long number = clang_EvalResult_getAsUnsigned(result);
            char *at = digits + sizeof digits - 1;
            *at = '\0';
            do *--at = (char)('0' + number % 10);
            while ((number /= 10) != 0);
            memmove(digits, at, strlen(at) + 1);
        }
        if (result != NULL) clang_EvalResult_dispose(result);
    }
    return hd_source_text_add(clang->source, digits);
}

static uint32_t element_place(struct hd_clang *clang, CXCursor cursor) {
    CXCursor base = hd_clang_operand(clang, cursor, 0), index = hd_clang_operand(clang, cursor, 1);
    if (clang_Cursor_isNull(index)) return hd_clang_unknown(clang);
    if (!hd_clang_is_pointer(clang_getCursorType(base)) &&
        hd_clang_is_pointer(clang_getCursorType(index))) {
        CXCursor swap = base; /* 3[a] */
        base = index;
        index = swap;
    }
    CXCursor array = array_under(clang, base);
    struct hd_clang_value value = hd_clang_no_value;
    uint32_t path;
    if (!clang_Cursor_isNull(array))
        path = hd_clang_place(clang, array);
    else {
        hd_clang_value(clang, base, &value);
        path = hd_clang_pointed_to(clang, &value);
    }
    hd_clang_value(clang, index, &value);
    return hd_source_path_add(clang->source, HD_PATH_INDEX, path,
                              hd_clang_index(clang, index, &value));
}

uint32_t hd_clang_place(struct hd_clang *clang, CXCursor cursor) {
    struct hd_clang_value value = hd_clang_no_value;
    cursor = hd_clang_strip(clang, cursor);
    switch (clang_getCursorKind(cursor)) {
    case CXCursor_DeclRefExpr:
        return variable_place(clang, clang_getCursorReferenced(cursor));
    case CXCursor_MemberRefExpr:
        return member_place(clang, cursor);
    case CXCursor_ArraySubscriptExpr:
        return element_place(clang, cursor);
    case CXCursor_UnaryOperator:
        hd_clang_value(clang, hd_clang_operand(clang, cursor, 0), &value);
        return hd_clang_pointed_to(clang, &value);
    case CXCursor_CompoundLiteralExpr: {
        CXCursor list = hd_clang_operand(clang, cursor, 0);
        uint32_t path = hd_clang_unknown(clang);
        if (!clang_Cursor_isNull(list)) hd_clang_initialise(clang, cursor, list, path);
        return path;
    }
    case CXCursor_UnexposedExpr: { /* C++: a place seen as another type */
        CXCursor child = hd_clang_operand(clang, cursor, 0);
        if (!clang_Cursor_isNull(child) && hd_clang_is_place(clang, child))
            return hd_clang_place(clang, child);
        break;
    }
    default:
        break;
    }
    hd_clang_value(clang, cursor, &value);
    return value.path == HD_SOURCE_NONE ? hd_clang_unknown(clang) : value.path;
}
