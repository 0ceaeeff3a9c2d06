/* Which operator an expression has. libclang tells since version 17; before, the shape of the tree
 * and the source text do: in C every read of a place is wrapped in a cast that libclang shows as
 * UnexposedExpr, and a written place is not. */
#define _GNU_SOURCE /* memmem */
#include "source/clang.h"

#include <string.h>

CXCursor hd_clang_strip(struct hd_clang *clang, CXCursor cursor) {
    while (clang_getCursorKind(cursor) == CXCursor_ParenExpr) {
        CXCursor inside = hd_clang_operand(clang, cursor, 0);
        if (clang_Cursor_isNull(inside)) break;
        cursor = inside;
    }
    return cursor;
}

/* The macro bit of clang's own encoding of a location: libclang has no question for it that also
 * works in headers (clang_Location_isFromMainFile is false for all of a header). */
bool hd_clang_in_macro(CXSourceLocation location) { return (location.int_data >> 31) != 0; }

const char *hd_clang_text_at(struct hd_clang *clang, CXSourceLocation location, const char **end) {
    CXFile file;
    unsigned offset;
    clang_getFileLocation(location, &file, NULL, NULL, &offset);
    if (file == NULL) return NULL;
    if (file != clang->text_file) {
        clang->text_file = file;
        clang->text = clang_getFileContents(clang->unit, file, &clang->text_size);
    }
    if (clang->text == NULL || offset >= clang->text_size) return NULL;
    *end = clang->text + clang->text_size;
    return clang->text + offset;
}

static bool is_variable(CXCursor cursor) {
    enum CXCursorKind kind = clang_getCursorKind(clang_getCursorReferenced(cursor));
    return kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl || kind == CXCursor_FieldDecl;
}

/* Whether a member is one of an object, not of a value: f().x is none (but f may return a
 * reference). */
static bool has_place(struct hd_clang *clang, CXCursor member) {
    CXCursor base = hd_clang_strip(clang, hd_clang_operand(clang, member, 0));
    if (clang_Cursor_isNull(base) || hd_clang_is_pointer(clang_getCursorType(base))) return true;
    if (clang->cxx) {
        CXCursor called = clang_getCursorReferenced(base);
        enum CXTypeKind result = clang_getCanonicalType(clang_getCursorResultType(called)).kind;
        return clang_getCursorKind(base) != CXCursor_CallExpr || result == CXType_LValueReference;
    }
    return hd_clang_is_place(clang, base);
}

bool hd_clang_is_place(struct hd_clang *clang, CXCursor cursor) {
    cursor = hd_clang_strip(clang, cursor);
    switch (clang_getCursorKind(cursor)) {
    case CXCursor_DeclRefExpr:
        return is_variable(cursor);
    case CXCursor_MemberRefExpr:
        return is_variable(cursor) && has_place(clang, cursor);
    case CXCursor_ArraySubscriptExpr:
    case CXCursor_CompoundLiteralExpr:
        return true;
    case CXCursor_UnaryOperator:
        return hd_clang_unary(clang, cursor) == HD_OPERATOR_DEREF;
    default:
        return false;
    }
}

#if HD_CLANG_OPCODES
static enum hd_clang_operator binary_by_opcode(CXCursor cursor) {
    switch (clang_getCursorBinaryOperatorKind(cursor)) {
    case CXBinaryOperator_Assign:
        return HD_OPERATOR_ASSIGN;
    case CXBinaryOperator_LAnd:
        return HD_OPERATOR_AND;
    case CXBinaryOperator_LOr:
        return HD_OPERATOR_OR;
    case CXBinaryOperator_Comma:
        return HD_OPERATOR_COMMA;
    default:
        return HD_OPERATOR_PLAIN;
    }
}

static enum hd_clang_operator unary_by_opcode(CXCursor cursor) {
    switch (clang_getCursorUnaryOperatorKind(cursor)) {
    case CXUnaryOperator_PostInc:
    case CXUnaryOperator_PostDec:
    case CXUnaryOperator_PreInc:
    case CXUnaryOperator_PreDec:
        return HD_OPERATOR_CHANGE;
    case CXUnaryOperator_AddrOf:
        return HD_OPERATOR_ADDRESS;
    case CXUnaryOperator_Deref:
        return HD_OPERATOR_DEREF;
    default:
        return HD_OPERATOR_PLAIN;
    }
}
#endif

/* ---- by shape and text --------------------------------------------------------------------------
 */

/* Blanks, comments, line ends and closing parentheses between the left side and the operator. */
static const char *skip_to_operator(const char *at, const char *end) {
    while (at < end) {
        if (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r' || *at == '\\' || *at == ')')
            at++;
        else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
            const char *close = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
            at = close != NULL ? close + 2 : end;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
            const char *close = memchr(at, '\n', (size_t)(end - at));
            at = close != NULL ? close : end;
        } else
            break;
    }
    return at;
}

/* The operator between two expressions, if both stand in one file and nothing else is between
 * them. In the body of a macro that can't be seen: such an operator is taken as arithmetic. Between
 * two arguments of a macro a comma is no operator. */
static enum hd_clang_operator binary_by_text(struct hd_clang *clang, CXCursor left,
                                             CXCursor right) {
    CXSourceLocation from = clang_getRangeEnd(clang_getCursorExtent(left));
    CXSourceLocation to = clang_getRangeStart(clang_getCursorExtent(right));
    const char *end, *file_end;
    const char *at = hd_clang_text_at(clang, from, &file_end);
    const char *stop = hd_clang_text_at(clang, to, &end);
    if (at == NULL || stop == NULL || end != file_end || at >= stop) return HD_OPERATOR_PLAIN;
    at = skip_to_operator(at, stop);
    if (stop - at >= 2 && at[0] == '&' && at[1] == '&') return HD_OPERATOR_AND;
    if (stop - at >= 2 && at[0] == '|' && at[1] == '|') return HD_OPERATOR_OR;
    if (stop - at >= 1 && at[0] == ',' && !hd_clang_in_macro(from) && !hd_clang_in_macro(to))
        return HD_OPERATOR_COMMA;
    return HD_OPERATOR_PLAIN;
}

static enum hd_clang_operator binary_by_shape(struct hd_clang *clang, CXCursor cursor) {
    CXCursor left = hd_clang_operand(clang, cursor, 0), right = hd_clang_operand(clang, cursor, 1);
    if (clang_Cursor_isNull(right)) return HD_OPERATOR_PLAIN;
    enum hd_clang_operator found = binary_by_text(clang, left, right);
    if (found != HD_OPERATOR_PLAIN) return found;
    return hd_clang_is_place(clang, left) ? HD_OPERATOR_ASSIGN : HD_OPERATOR_PLAIN;
}

static CXType plain_type(CXType type) {
    type = clang_getCanonicalType(type);
    return type.kind == CXType_Atomic ? clang_getCanonicalType(clang_Type_getValueType(type))
                                      : type;
}

/* Types without their qualifiers, which the reading of a place drops. */
static bool same_type(CXType a, CXType b) {
    a = plain_type(a);
    b = plain_type(b);
    if (a.kind != b.kind) return false;
    if (clang_equalTypes(a, b)) return true;
    CXString left = clang_getTypeSpelling(a), right = clang_getTypeSpelling(b);
    const char *x = clang_getCString(left), *y = clang_getCString(right);
    static const char *const qualifiers[] = {"const ", "volatile ", "restrict "};
    for (bool again = true; again;) {
        again = false;
        for (unsigned i = 0; i < 3; i++) {
            size_t length = strlen(qualifiers[i]);
            if (strncmp(x, qualifiers[i], length) == 0) x += length, again = true;
            if (strncmp(y, qualifiers[i], length) == 0) y += length, again = true;
        }
    }
    bool same = strcmp(x, y) == 0;
    clang_disposeString(left);
    clang_disposeString(right);
    return same;
}

/* `!p` and `*p` look alike when p is an int *: then the text decides, where it can be seen. */
static enum hd_clang_operator unary_of_value(struct hd_clang *clang, CXCursor cursor,
                                             CXCursor operand) {
    CXType type = clang_getCanonicalType(clang_getCursorType(operand));
    if (!hd_clang_is_pointer(type)) return HD_OPERATOR_PLAIN;
    CXType pointee =
        type.kind == CXType_Pointer ? clang_getPointeeType(type) : clang_getArrayElementType(type);
    CXType result = clang_getCursorType(cursor);
    if (clang_getCanonicalType(pointee).kind == CXType_FunctionProto ||
        clang_getCanonicalType(pointee).kind == CXType_FunctionNoProto)
        return clang_getCanonicalType(result).kind == CXType_Int ? HD_OPERATOR_PLAIN
                                                                 : HD_OPERATOR_DEREF;
    if (!same_type(pointee, result)) return HD_OPERATOR_PLAIN;
    const char *end;
    CXSourceLocation start = clang_getRangeStart(clang_getCursorExtent(cursor));
    const char *at = hd_clang_text_at(clang, start, &end);
    return at != NULL && *at == '!' ? HD_OPERATOR_PLAIN : HD_OPERATOR_DEREF;
}

static enum hd_clang_operator unary_by_shape(struct hd_clang *clang, CXCursor cursor) {
    CXCursor operand = hd_clang_strip(clang, hd_clang_operand(clang, cursor, 0));
    if (clang_Cursor_isNull(operand)) return HD_OPERATOR_PLAIN;
    CXType type = clang_getCanonicalType(clang_getCursorType(cursor));
    enum CXCursorKind kind = clang_getCursorKind(operand);
    bool function = kind == CXCursor_DeclRefExpr &&
                    hd_clang_is_function(clang_getCursorKind(clang_getCursorReferenced(operand)));
    if (function || kind == CXCursor_StringLiteral)
        return type.kind == CXType_Pointer || type.kind == CXType_MemberPointer
                   ? HD_OPERATOR_ADDRESS
                   : HD_OPERATOR_DEREF;
    if (!hd_clang_is_place(clang, operand)) return unary_of_value(clang, cursor, operand);
    if (type.kind == CXType_MemberPointer) return HD_OPERATOR_ADDRESS;
    if (type.kind == CXType_Pointer &&
        same_type(clang_getPointeeType(type), clang_getCursorType(operand)) &&
        !same_type(type, clang_getCursorType(operand)))
        return HD_OPERATOR_ADDRESS;
    return same_type(type, clang_getCursorType(operand)) ? HD_OPERATOR_CHANGE : HD_OPERATOR_PLAIN;
}

enum hd_clang_operator hd_clang_binary(struct hd_clang *clang, CXCursor cursor) {
#if HD_CLANG_OPCODES
    if (clang->method != HD_METHOD_SHAPE) return binary_by_opcode(cursor);
#endif
    return binary_by_shape(clang, cursor);
}

enum hd_clang_operator hd_clang_unary(struct hd_clang *clang, CXCursor cursor) {
#if HD_CLANG_OPCODES
    if (clang->method != HD_METHOD_SHAPE) return unary_by_opcode(cursor);
#endif
    return unary_by_shape(clang, cursor);
}
