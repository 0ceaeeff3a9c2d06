/* The only file that includes libclang: what the files clang_*.c share. They make the helper
 * program heddle-clang, which turns one translation unit at a time into the structs of source.h and
 * sends their text; heddle itself never loads libclang, whose start alone costs more than most
 * commands. */
#ifndef HEDDLE_SOURCE_CLANG_H
#define HEDDLE_SOURCE_CLANG_H
#ifdef HEDDLE_LIBCLANG

#include "source/build.h"

#include <clang-c/Index.h>

/* Whether this libclang tells operators apart (since 17). */
#define HD_CLANG_OPCODES (CINDEX_VERSION_MINOR >= 64)

/* A declaration that has been seen, with what it became. */
struct hd_clang_seen {
    CXCursor cursor;
    uint32_t index;
};

/* The children of a cursor that are expressions: asked for again and again, and each time libclang
 * would have to be asked. */
#define HD_CLANG_KNOWN_CHILDREN 3
#define HD_CLANG_KNOWN 256 /* a power of two */
struct hd_clang_known {
    CXCursor cursor;
    unsigned count; /* more than HD_CLANG_KNOWN_CHILDREN: not kept */
    bool used;
    CXCursor child[HD_CLANG_KNOWN_CHILDREN];
};

struct hd_clang_open {
    uint32_t node, last_child;
};

struct hd_clang {
    struct hd_source *source;
    CXTranslationUnit unit;
    const char *directory;
    unsigned method; /* enum hd_source_method */
    bool cxx;
    CXFile main_file;
    uint32_t unit_index, left_out;
    struct hd_map seen_at, file_at;
    HD_VECTOR(struct hd_clang_seen) seen;
    struct hd_clang_known known[HD_CLANG_KNOWN];
    HD_VECTOR(CXCursor) cursors; /* stack: children of the cursors being looked at */
    /* The text of the file looked at last, to read operators from. */
    CXFile text_file;
    const char *text;
    size_t text_size;
    /* The function being read. */
    uint32_t function, file;
    uint32_t self; /* `this` of a method; NONE */
    HD_VECTOR(uint32_t) locals;
    HD_VECTOR(struct hd_clang_open) open;
    HD_VECTOR(uint32_t) values; /* stack: steps whose values make the expressions being read */
};

/* What an expression's value is, besides the steps that make it. */
struct hd_clang_value {
    uint32_t path; /* it is what this path holds, or its address; NONE */
    bool address;
    uint32_t function; /* it is this function; NONE */
    uint32_t index;    /* text, if it is a constant or a plain variable; NONE */
};

/* ---- clang_unit.c: declarations ----------------------------------------------------------------
 */

uint32_t hd_clang_text(struct hd_clang *clang, CXString string); /* disposes of it */
uint32_t hd_clang_file(struct hd_clang *clang, CXFile file);
/* A field, global, static local, local or parameter; NONE if the declaration is none of these. */
uint32_t hd_clang_variable(struct hd_clang *clang, CXCursor declaration);
uint32_t hd_clang_function(struct hd_clang *clang, CXCursor declaration);
bool hd_clang_is_function(enum CXCursorKind kind);
uint32_t hd_clang_type(struct hd_clang *clang, CXType type); /* text, canonical, unqualified */
uint32_t hd_clang_record_key(struct hd_clang *clang, CXType type); /* text */
bool hd_clang_is_array(CXType type);
bool hd_clang_is_pointer(CXType type); /* of a value */
bool hd_clang_is_array_place(CXCursor place);
bool hd_clang_is_record(CXType type);

/* Children go on the stack `cursors`; the count of them is returned, the first is at *first. The
 * caller sets cursors.size back to *first. */
unsigned hd_clang_children(struct hd_clang *clang, CXCursor cursor, size_t *first);
CXCursor hd_clang_child(const struct hd_clang *clang, size_t index);

/* ---- clang_shape.c: which operator is it -------------------------------------------------------
 */

enum hd_clang_operator {
    HD_OPERATOR_PLAIN, /* arithmetic, comparison */
    HD_OPERATOR_ASSIGN,
    HD_OPERATOR_AND,
    HD_OPERATOR_OR,
    HD_OPERATOR_COMMA,
    HD_OPERATOR_ADDRESS,
    HD_OPERATOR_DEREF,
    HD_OPERATOR_CHANGE /* ++ and -- */
};

enum hd_clang_operator hd_clang_binary(struct hd_clang *clang, CXCursor cursor);
enum hd_clang_operator hd_clang_unary(struct hd_clang *clang, CXCursor cursor);
/* Without parentheses around it. */
CXCursor hd_clang_strip(struct hd_clang *clang, CXCursor cursor);
/* Whether it names a place that has not been read yet: no cast around it. */
bool hd_clang_is_place(struct hd_clang *clang, CXCursor cursor);
/* The text of the unit at a place in a file; NULL if it has none (builtin, macro definition). */
const char *hd_clang_text_at(struct hd_clang *clang, CXSourceLocation location, const char **end);
bool hd_clang_in_macro(CXSourceLocation location);

/* ---- clang_place.c -----------------------------------------------------------------------------
 */

extern const struct hd_clang_value hd_clang_no_value;
/* The child of that number, counted from 0, among those that are expressions; null if there is
 * none. */
CXCursor hd_clang_operand(struct hd_clang *clang, CXCursor cursor, unsigned number);
/* A place's path; what its pointers and indices read is evaluated and pushed. */
uint32_t hd_clang_place(struct hd_clang *clang, CXCursor cursor);
uint32_t hd_clang_unknown(struct hd_clang *clang);
/* What a pointer with this value points to. */
uint32_t hd_clang_pointed_to(struct hd_clang *clang, const struct hd_clang_value *value);
/* The text of an index: a plain variable's name, a number, "". */
uint32_t hd_clang_index(struct hd_clang *clang, CXCursor cursor,
                        const struct hd_clang_value *value);

/* ---- clang_expression.c ------------------------------------------------------------------------
 */

/* Evaluates an expression: adds its steps, pushes the steps whose values make its value. */
void hd_clang_value(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value);
/* A whole expression as an EXPRESSION node. */
uint32_t hd_clang_expression(struct hd_clang *clang, CXCursor cursor, uint8_t role);
/* An access; takes the values above `via` as what chooses the place and those above `from` as what
 * is written (both are marks on the stack, from <= via), and takes them off. */
uint32_t hd_clang_access(struct hd_clang *clang, CXCursor cursor, uint8_t mode, uint32_t path,
                         uint16_t flags, size_t from, size_t via);
struct hd_source_step hd_clang_step(struct hd_clang *clang, uint8_t kind, CXCursor cursor);
/* Lets the columns of an access cover another expression too. */
void hd_clang_widen(struct hd_clang *clang, uint32_t step, CXCursor cursor);
uint32_t hd_clang_push(struct hd_clang *clang, struct hd_source_step step);
void hd_clang_initialise(struct hd_clang *clang, CXCursor declaration, CXCursor value,
                         uint32_t path);
/* Values above the mark become links, and are taken off. */
struct hd_source_range hd_clang_links(struct hd_clang *clang, size_t mark);

/* ---- clang_call.c ------------------------------------------------------------------------------
 */

void hd_clang_call(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value);
void hd_clang_atomic(struct hd_clang *clang, CXCursor cursor, struct hd_clang_value *value);

/* ---- clang_body.c ------------------------------------------------------------------------------
 */

uint32_t hd_clang_open(struct hd_clang *clang, uint8_t kind, uint8_t role, CXCursor cursor);
void hd_clang_close(struct hd_clang *clang);
void hd_clang_statement(struct hd_clang *clang, CXCursor cursor, uint8_t role);
void hd_clang_body(struct hd_clang *clang, CXCursor definition);
/* Of a variable that is not in a frame. */
void hd_clang_static_initialiser(struct hd_clang *clang, CXCursor declaration);

/* ---- clang_parse.c -----------------------------------------------------------------------------
 */

/* A unit to read, and what came out: text and the files that it depends on. */
struct hd_clang_request {
    const char *directory, *file;
    const char *const *argument; /* with the compiler's name first */
    unsigned arguments;
    unsigned method;
};

struct hd_clang_reply {
    char *text; /* malloc'ed */
    size_t length;
    HD_VECTOR(char) depends; /* paths, each with its NUL */
};

void hd_clang_read_unit(const struct hd_clang_request *request, struct hd_clang_reply *reply);

#endif
#endif
