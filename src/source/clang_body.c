/* Bodies of functions: statements become the tree of source.h. */
#define _GNU_SOURCE /* memmem */
#include "source/clang.h"

#include <string.h>

uint32_t hd_clang_open(struct hd_clang *clang, uint8_t kind, uint8_t role, CXCursor cursor) {
    struct hd_source *source = clang->source;
    struct hd_clang_open *top =
        clang->open.size > 0 ? &clang->open.data[clang->open.size - 1] : NULL;
    uint32_t parent = top != NULL ? top->node : HD_SOURCE_NONE;
    uint32_t index =
        hd_source_node_add(source, kind, role, parent, top != NULL ? &top->last_child : NULL);
    struct hd_source_node *node = &source->node.data[index];
    if (!clang_Cursor_isNull(cursor)) {
        CXSourceRange extent = clang_getCursorExtent(cursor);
        CXFile file;
        unsigned line, column, end;
        clang_getExpansionLocation(clang_getRangeStart(extent), &file, &line, &column, NULL);
        clang_getExpansionLocation(clang_getRangeEnd(extent), NULL, &end, NULL, NULL);
        node->line = line;
        node->column = column;
        node->end_line = end >= line ? end : line;
        node->file = hd_clang_file(clang, file);
    } else if (parent != HD_SOURCE_NONE) {
        const struct hd_source_node *above = &source->node.data[parent];
        node->line = node->end_line = above->line;
        node->column = above->column;
        node->file = above->file;
    } else
        node->file = clang->file;
    struct hd_clang_open open = {.node = index, .last_child = HD_SOURCE_NONE};
    hd_vector_push(&clang->open, open);
    return index;
}

void hd_clang_close(struct hd_clang *clang) { clang->open.size--; }

static void empty_block(struct hd_clang *clang, uint8_t role) {
    hd_clang_open(clang, HD_NODE_BLOCK, role, clang_getNullCursor());
    hd_clang_close(clang);
}

/* Declarations in the head of an if, while or switch (C++) come before it, in a block around both.
 * Returns how many children of the statement they were. */
static unsigned head_declarations(struct hd_clang *clang, size_t first, unsigned count,
                                  unsigned least) {
    unsigned taken = 0;
    while (count - taken > least) {
        CXCursor child = hd_clang_child(clang, first + taken);
        enum CXCursorKind kind = clang_getCursorKind(child);
        if (kind != CXCursor_DeclStmt && kind != CXCursor_VarDecl) break;
        hd_clang_statement(clang, child, HD_ROLE_NONE);
        taken++;
    }
    return taken;
}

static bool has_head(struct hd_clang *clang, size_t first, unsigned count, unsigned least) {
    if (!clang->cxx || count <= least) return false;
    enum CXCursorKind kind = clang_getCursorKind(hd_clang_child(clang, first));
    return kind == CXCursor_DeclStmt || kind == CXCursor_VarDecl;
}

/* if, while and switch: a condition, then one or two statements. */
static void conditional(struct hd_clang *clang, CXCursor cursor, uint8_t kind, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first), at = 0;
    bool wrapped = has_head(clang, first, count, 2);
    if (wrapped) {
        hd_clang_open(clang, HD_NODE_BLOCK, role, cursor);
        at = head_declarations(clang, first, count, 2);
        role = HD_ROLE_NONE;
    }
    hd_clang_open(clang, kind, role, cursor);
    CXCursor condition = at < count ? hd_clang_child(clang, first + at) : clang_getNullCursor();
    hd_clang_expression(clang, condition, HD_ROLE_CONDITION);
    at++;
    uint8_t body = kind == HD_NODE_IF ? HD_ROLE_THEN : HD_ROLE_BODY;
    if (at < count)
        hd_clang_statement(clang, hd_clang_child(clang, first + at), body);
    else
        empty_block(clang, body);
    if (kind == HD_NODE_IF && at + 1 < count)
        hd_clang_statement(clang, hd_clang_child(clang, first + at + 1), HD_ROLE_ELSE);
    hd_clang_close(clang);
    if (wrapped) hd_clang_close(clang);
    clang->cursors.size = first;
}

static void do_while(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    hd_clang_open(clang, HD_NODE_DO, role, cursor);
    if (count > 0)
        hd_clang_statement(clang, hd_clang_child(clang, first), HD_ROLE_BODY);
    else
        empty_block(clang, HD_ROLE_BODY);
    hd_clang_expression(clang, count > 1 ? hd_clang_child(clang, first + 1) : clang_getNullCursor(),
                        HD_ROLE_CONDITION);
    hd_clang_close(clang);
    clang->cursors.size = first;
}

/* ---- for ----------------------------------------------------------------------------------------
 */

/* Which of the three parts between the parentheses are there, from the text; 0 if it can't be seen.
 * Bit 0 init, bit 1 condition, bit 2 advance. */
static unsigned parts_in_text(struct hd_clang *clang, CXCursor cursor) {
    CXSourceLocation start = clang_getRangeStart(clang_getCursorExtent(cursor));
    const char *end, *at = hd_clang_text_at(clang, start, &end);
    if (hd_clang_in_macro(start) || at == NULL || end - at < 4 || memcmp(at, "for", 3) != 0)
        return 0;
    at = memchr(at, '(', (size_t)(end - at));
    unsigned part = 0, depth = 0, found = 0;
    for (; at != NULL && at < end; at++) {
        if (*at == '"' || *at == '\'') {
            char quote = *at;
            found |= 1u << part;
            for (at++; at < end && *at != quote; at++)
                if (*at == '\\') at++;
        } else if (*at == '/' && end - at > 1 && at[1] == '*') {
            at = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
            if (at == NULL) return 0;
            at++;
        } else if (*at == '/' && end - at > 1 && at[1] == '/') {
            at = memchr(at, '\n', (size_t)(end - at));
            if (at == NULL) return 0;
        } else if (*at == ';' && depth == 1) {
            if (++part > 2) return 0;
        } else if (*at == '(' || *at == '{' || *at == '[') {
            if (depth++ > 0) found |= 1u << part;
        } else if (*at == ')' || *at == '}' || *at == ']') {
            if (--depth == 0) return part == 2 ? found : 0;
        } else if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r' && *at != '\\')
            found |= 1u << part;
    }
    return 0;
}

static uint8_t for_role(struct hd_clang *clang, CXCursor child, unsigned controls, unsigned parts,
                        unsigned number) {
    static const uint8_t roles[] = {HD_ROLE_INIT, HD_ROLE_CONDITION, HD_ROLE_ADVANCE};
    (void)clang;
    if (controls == 3) return roles[number];
    if (clang_getCursorKind(child) == CXCursor_DeclStmt) return HD_ROLE_INIT;
    if ((unsigned)__builtin_popcount(parts) != controls) return HD_ROLE_CONTROL;
    for (unsigned part = 0; part < 3; part++) {
        if ((parts >> part & 1) == 0) continue;
        if (number-- == 0) return roles[part];
    }
    return HD_ROLE_CONTROL;
}

/* The children of a for carry no role. */
static void for_loop(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    unsigned controls = count > 0 ? count - 1 : 0;
    unsigned parts = controls == 0 || controls == 3 ? 0 : parts_in_text(clang, cursor);
    hd_clang_open(clang, HD_NODE_FOR, role, cursor);
    for (unsigned i = 0; i < controls; i++) {
        CXCursor child = hd_clang_child(clang, first + i);
        uint8_t part = for_role(clang, child, controls, parts, i);
        enum CXCursorKind kind = clang_getCursorKind(child);
        if (kind == CXCursor_DeclStmt)
            hd_clang_statement(clang, child, HD_ROLE_INIT);
        else
            hd_clang_expression(clang, clang_isExpression(kind) ? child : clang_getNullCursor(),
                                part);
    }
    if (count > 0)
        hd_clang_statement(clang, hd_clang_child(clang, first + count - 1), HD_ROLE_BODY);
    else
        empty_block(clang, HD_ROLE_BODY);
    hd_clang_close(clang);
    clang->cursors.size = first;
}

/* for (auto &x : list): what is in its head is evaluated; the steps of the iterators are not seen.
 */
static void range_for(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    hd_clang_open(clang, HD_NODE_FOR, role, cursor);
    for (unsigned i = 0; i + 1 < count; i++) {
        CXCursor child = hd_clang_child(clang, first + i);
        if (clang_isExpression(clang_getCursorKind(child)))
            hd_clang_expression(clang, child, HD_ROLE_CONTROL);
        else if (clang_getCursorKind(child) == CXCursor_VarDecl)
            hd_clang_variable(clang, child);
    }
    if (count > 0)
        hd_clang_statement(clang, hd_clang_child(clang, first + count - 1), HD_ROLE_BODY);
    else
        empty_block(clang, HD_ROLE_BODY);
    hd_clang_close(clang);
    clang->cursors.size = first;
}

/* ---- declarations
 * -------------------------------------------------------------------------------- */

/* Functions that initialisers of static variables name may be called through them. */
static enum CXChildVisitResult take_address(CXCursor cursor, CXCursor parent, CXClientData data) {
    struct hd_clang *clang = data;
    (void)parent;
    if (clang_getCursorKind(cursor) == CXCursor_DeclRefExpr) {
        CXCursor declaration = clang_getCursorReferenced(cursor);
        uint32_t function = hd_clang_function(clang, declaration);
        if (function != HD_SOURCE_NONE)
            clang->source->function.data[function].flags |= HD_FUNCTION_ADDRESS_TAKEN;
    }
    return CXChildVisit_Recurse;
}

void hd_clang_static_initialiser(struct hd_clang *clang, CXCursor declaration) {
    CXCursor value = clang_Cursor_getVarDeclInitializer(declaration);
    if (clang_Cursor_isNull(value)) return;
    take_address(value, declaration, clang);
    clang_visitChildren(value, take_address, clang);
}

static void declare(struct hd_clang *clang, CXCursor declaration) {
    if (clang_getCursorKind(declaration) != CXCursor_VarDecl) return;
    uint32_t variable = hd_clang_variable(clang, declaration);
    if (variable == HD_SOURCE_NONE) return;
    if (clang->source->variable.data[variable].kind == HD_VARIABLE_GLOBAL) {
        hd_clang_static_initialiser(clang, declaration);
        return;
    }
    CXCursor value = clang_Cursor_getVarDeclInitializer(declaration);
    if (clang_Cursor_isNull(value)) return;
    struct hd_source *source = clang->source;
    uint32_t path = hd_source_path_add(source, HD_PATH_VARIABLE, HD_SOURCE_NONE, variable);
    uint32_t node = hd_clang_open(clang, HD_NODE_EXPRESSION, HD_ROLE_NONE, declaration);
    uint32_t begin = (uint32_t)source->step.size;
    hd_clang_initialise(clang, declaration, value, path);
    source->node.data[node].steps.first = begin;
    source->node.data[node].steps.count = (uint32_t)source->step.size - begin;
    hd_clang_close(clang);
}

static void declarations(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    hd_clang_open(clang, HD_NODE_DECLARATION, role, cursor);
    if (clang_getCursorKind(cursor) == CXCursor_VarDecl)
        declare(clang, cursor);
    else {
        size_t first;
        unsigned count = hd_clang_children(clang, cursor, &first);
        for (unsigned i = 0; i < count; i++) declare(clang, hd_clang_child(clang, first + i));
        clang->cursors.size = first;
    }
    hd_clang_close(clang);
}

/* ---- the others
 * ---------------------------------------------------------------------------------- */

static void assembler(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    struct hd_source *source = clang->source;
    size_t first, mark = clang->values.size;
    unsigned count = hd_clang_children(clang, cursor, &first);
    uint32_t node = hd_clang_open(clang, HD_NODE_EXPRESSION, role, cursor);
    uint32_t begin = (uint32_t)source->step.size;
    for (unsigned i = 0; i < count; i++) {
        CXCursor child = hd_clang_strip(clang, hd_clang_child(clang, first + i));
        struct hd_clang_value ignored;
        if (!clang_isExpression(clang_getCursorKind(child))) continue;
        if (!hd_clang_is_place(clang, child)) {
            hd_clang_value(clang, child, &ignored);
            continue;
        }
        size_t via = clang->values.size; /* an output operand */
        uint32_t path = hd_clang_place(clang, child);
        hd_clang_access(clang, child, HD_ACCESS_READ_WRITE, path, 0, via, via);
    }
    clang->values.size = mark;
    clang->cursors.size = first;
    source->node.data[node].steps.first = begin;
    source->node.data[node].steps.count = (uint32_t)source->step.size - begin;
    hd_clang_close(clang);
}

/* Blocks, and statements that only have others in them. */
static void block(struct hd_clang *clang, CXCursor cursor, uint8_t kind, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    hd_clang_open(clang, kind, role, cursor);
    for (unsigned i = 0; i < count; i++)
        hd_clang_statement(clang, hd_clang_child(clang, first + i), HD_ROLE_NONE);
    if (kind == HD_NODE_TRY && count == 0) empty_block(clang, HD_ROLE_NONE);
    hd_clang_close(clang);
    clang->cursors.size = first;
}

/* case, default and labels: the statement behind them is the last child. */
static void marked(struct hd_clang *clang, CXCursor cursor, uint8_t kind, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    uint32_t node = hd_clang_open(clang, kind, role, cursor);
    if (kind == HD_NODE_LABEL) {
        uint32_t label = hd_clang_text(clang, clang_getCursorSpelling(cursor));
        clang->source->node.data[node].label = label;
    }
    if (count > 0)
        hd_clang_statement(clang, hd_clang_child(clang, first + count - 1), HD_ROLE_NONE);
    hd_clang_close(clang);
    clang->cursors.size = first;
}

static void go_to(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    uint32_t node = hd_clang_open(clang, HD_NODE_GOTO, role, cursor), label;
    if (count > 0 && clang_getCursorKind(hd_clang_child(clang, first)) == CXCursor_LabelRef) {
        label = hd_clang_text(clang, clang_getCursorSpelling(hd_clang_child(clang, first)));
        clang->source->node.data[node].label = label;
    }
    hd_clang_close(clang);
    clang->cursors.size = first;
}

static void leaf(struct hd_clang *clang, CXCursor cursor, uint8_t kind, uint8_t role) {
    size_t first;
    unsigned count = hd_clang_children(clang, cursor, &first);
    hd_clang_open(clang, kind, role, cursor);
    if (kind == HD_NODE_RETURN && count > 0)
        hd_clang_expression(clang, hd_clang_child(clang, first), HD_ROLE_NONE);
    hd_clang_close(clang);
    clang->cursors.size = first;
}

void hd_clang_statement(struct hd_clang *clang, CXCursor cursor, uint8_t role) {
    switch (clang_getCursorKind(cursor)) {
    case CXCursor_IfStmt:
        conditional(clang, cursor, HD_NODE_IF, role);
        break;
    case CXCursor_WhileStmt:
        conditional(clang, cursor, HD_NODE_WHILE, role);
        break;
    case CXCursor_SwitchStmt:
        conditional(clang, cursor, HD_NODE_SWITCH, role);
        break;
    case CXCursor_DoStmt:
        do_while(clang, cursor, role);
        break;
    case CXCursor_ForStmt:
        for_loop(clang, cursor, role);
        break;
    case CXCursor_CXXForRangeStmt:
        range_for(clang, cursor, role);
        break;
    case CXCursor_CaseStmt:
        marked(clang, cursor, HD_NODE_CASE, role);
        break;
    case CXCursor_DefaultStmt:
        marked(clang, cursor, HD_NODE_DEFAULT, role);
        break;
    case CXCursor_LabelStmt:
        marked(clang, cursor, HD_NODE_LABEL, role);
        break;
    case CXCursor_GotoStmt:
    case CXCursor_IndirectGotoStmt:
        go_to(clang, cursor, role);
        break;
    case CXCursor_BreakStmt:
        leaf(clang, cursor, HD_NODE_BREAK, role);
        break;
    case CXCursor_ContinueStmt:
        leaf(clang, cursor, HD_NODE_CONTINUE, role);
        break;
    case CXCursor_ReturnStmt:
        leaf(clang, cursor, HD_NODE_RETURN, role);
        break;
    case CXCursor_DeclStmt:
    case CXCursor_VarDecl:
        declarations(clang, cursor, role);
        break;
    case CXCursor_NullStmt:
        leaf(clang, cursor, HD_NODE_BLOCK, role);
        break;
    case CXCursor_GCCAsmStmt:
        assembler(clang, cursor, role);
        break;
    case CXCursor_CXXTryStmt:
        block(clang, cursor, HD_NODE_TRY, role);
        break;
    default:
        if (clang_isExpression(clang_getCursorKind(cursor)))
            hd_clang_expression(clang, cursor, role);
        else if (clang_isStatement(clang_getCursorKind(cursor)))
            block(clang, cursor, HD_NODE_BLOCK, role);
    }
}

/* ---- functions
 * ----------------------------------------------------------------------------------- */

static void annotation(struct hd_clang *clang, CXCursor attribute) {
    struct hd_source *source = clang->source;
    CXString string = clang_getCursorSpelling(attribute);
    const char *text = clang_getCString(string);
    struct hd_source_function *function = &source->function.data[clang->function];
    if (strcmp(text, "heddle_atomic") == 0) function->flags |= HD_FUNCTION_ATOMIC;
    const char *before = hd_source_text(source, function->annotations);
    char joined[1024];
    size_t used = strlen(before), length = strlen(text);
    if (used + length + 2 <= sizeof joined) {
        memcpy(joined, before, used);
        if (used > 0) joined[used++] = '\n';
        memcpy(joined + used, text, length);
        uint32_t all = hd_source_text_add_bytes(source, joined, used + length);
        source->function.data[clang->function].annotations = all;
    }
    clang_disposeString(string);
}

/* Constructor(...) : field(value) */
static void member_initialiser(struct hd_clang *clang, CXCursor member, CXCursor value) {
    struct hd_source *source = clang->source;
    uint32_t field = hd_clang_variable(clang, clang_getCursorReferenced(member));
    if (field == HD_SOURCE_NONE || clang->self == HD_SOURCE_NONE) return;
    uint32_t path = hd_source_path_add(source, HD_PATH_VARIABLE, HD_SOURCE_NONE, clang->self);
    path = hd_source_path_add(source, HD_PATH_DEREF, path, 0);
    path = hd_source_path_add(source, HD_PATH_FIELD, path, field);
    uint32_t node = hd_clang_open(clang, HD_NODE_EXPRESSION, HD_ROLE_NONE, member);
    uint32_t begin = (uint32_t)source->step.size;
    hd_clang_initialise(clang, member, value, path);
    source->node.data[node].steps.first = begin;
    source->node.data[node].steps.count = (uint32_t)source->step.size - begin;
    hd_clang_close(clang);
}

static void parameters(struct hd_clang *clang, CXCursor definition) {
    struct hd_source *source = clang->source;
    int count = clang_Cursor_getNumArguments(definition);
    clang->self = HD_SOURCE_NONE;
    if ((source->function.data[clang->function].flags & HD_FUNCTION_METHOD) != 0) {
        clang->self = hd_source_local_add(source, HD_VARIABLE_PARAMETER, clang->function,
                                          hd_source_text_add(source, "this"));
        source->variable.data[clang->self].flags |= HD_VARIABLE_POINTER;
        hd_vector_push(&clang->locals, clang->self);
    }
    for (int i = 0; i < count; i++)
        hd_clang_variable(clang, clang_Cursor_getArgument(definition, (unsigned)i));
    source->function.data[clang->function].parameters = (uint32_t)clang->locals.size;
}

static void read_children(struct hd_clang *clang, CXCursor definition) {
    size_t first;
    unsigned count = hd_clang_children(clang, definition, &first);
    hd_clang_open(clang, HD_NODE_BLOCK, HD_ROLE_NONE, definition);
    for (unsigned i = 0; i < count; i++) {
        CXCursor child = hd_clang_child(clang, first + i);
        enum CXCursorKind kind = clang_getCursorKind(child);
        if (kind == CXCursor_AnnotateAttr)
            annotation(clang, child);
        else if (kind == CXCursor_MemberRef && i + 1 < count &&
                 clang_isExpression(clang_getCursorKind(hd_clang_child(clang, first + i + 1))))
            member_initialiser(clang, child, hd_clang_child(clang, first + i + 1));
        else if (kind == CXCursor_CompoundStmt) {
            size_t inner;
            unsigned statements = hd_clang_children(clang, child, &inner);
            for (unsigned s = 0; s < statements; s++)
                hd_clang_statement(clang, hd_clang_child(clang, inner + s), HD_ROLE_NONE);
            clang->cursors.size = inner;
        } else if (kind == CXCursor_CXXTryStmt)
            hd_clang_statement(clang, child, HD_ROLE_NONE);
    }
    hd_clang_close(clang);
    clang->cursors.size = first;
}

void hd_clang_body(struct hd_clang *clang, CXCursor definition) {
    struct hd_source *source = clang->source;
    uint32_t declared = hd_clang_function(clang, definition);
    if (declared == HD_SOURCE_NONE) return;
    CXSourceRange extent = clang_getCursorExtent(definition);
    CXFile file;
    unsigned line, end;
    clang_getExpansionLocation(clang_getRangeStart(extent), &file, &line, NULL, NULL);
    clang_getExpansionLocation(clang_getRangeEnd(extent), NULL, &end, NULL, NULL);
    clang->file = hd_clang_file(clang, file);
    uint32_t index =
        hd_source_function_define(source, source->function.data[declared].key,
                                  source->function.data[declared].name, clang->file, line);
    if (index != declared) return; /* seen already */
    clang->function = index;
    clang->locals.size = 0;
    clang->open.size = 0;
    clang->values.size = 0;
    struct hd_source_function *function = &source->function.data[index];
    function->end_line = end;
    function->unit = clang->unit_index;
    function->nodes.first = (uint32_t)source->node.size;
    function->steps.first = (uint32_t)source->step.size;
    if (!clang_File_isEqual(file, clang->main_file)) function->flags |= HD_FUNCTION_HEADER;
    parameters(clang, definition);
    read_children(clang, definition);
    function = &source->function.data[index];
    function->nodes.count = (uint32_t)source->node.size - function->nodes.first;
    function->steps.count = (uint32_t)source->step.size - function->steps.first;
    function->variables = hd_source_links_add(source, clang->locals.data, clang->locals.size);
    clang->function = HD_SOURCE_NONE;
}
