/* A program as its source code shows it: plain structs, no type of a parser library. Everything
 * that analyses sources (mine/, lint/, names) works on this and can be tested from its text form.
 *
 * The whole is a few arrays that refer to each other by 32-bit index (HD_SOURCE_NONE: nothing):
 *
 *   unit      a translation unit: one command of compile_commands.json
 *   file      a source file or header, by canonical path
 *   record    a struct, union or class whose fields are accessed
 *   variable  a field (`struct::field`), a global, a local or a parameter
 *   path      what an expression names: a variable and the way from it, `p->queue.head[i]`
 *   function  with a body, or only called
 *   node      a statement of a body, in a tree; also the conditional parts of expressions
 *   step      what the evaluation of an expression does, in order: accesses and calls
 *   argument  of a call
 *   link      lists of steps: which values flow into a write, an argument, a condition, a return
 *
 * Strings are numbers in `text` (hd_source_text). Bodies of one function are contiguous: its nodes
 * and steps are [first, first + count). */
#ifndef HEDDLE_SOURCE_SOURCE_H
#define HEDDLE_SOURCE_SOURCE_H

#include "base/errands.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/status.h"
#include "base/vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_SOURCE_NONE UINT32_MAX

/* A part of an array: of `link` unless said otherwise. */
struct hd_source_range {
    uint32_t first, count;
};

enum hd_unit_state {
    HD_UNIT_GOOD,
    HD_UNIT_DEGRADED, /* the compiler reported errors: accesses may be missing or wrong */
    HD_UNIT_LOST      /* nothing of it was read: no such file, or the parser crashed */
};

struct hd_source_unit {
    uint32_t file;
    uint8_t state;     /* enum hd_unit_state */
    bool cached;       /* came from the cache */
    uint32_t errors;   /* of error severity */
    uint32_t message;  /* text: the first error, NONE if there is none */
    uint32_t left_out; /* constructs that were not read (templates, lambdas): docs/source.md */
};

struct hd_source_file {
    uint32_t path; /* text, canonical */
    bool header;   /* never the main file of a unit */
};

struct hd_source_record {
    uint32_t name; /* text: `cache_entry` */
    uint32_t key;  /* text: the same in all units that see the same definition */
    uint32_t file, line;
    struct hd_source_range fields; /* links to variables, in the order of declaration */
};

enum hd_variable_kind {
    HD_VARIABLE_FIELD,
    HD_VARIABLE_GLOBAL, /* also static locals, which have an owner */
    HD_VARIABLE_LOCAL,
    HD_VARIABLE_PARAMETER
};

enum hd_variable_flag {
    HD_VARIABLE_ADDRESS_TAKEN = 1, /* somewhere in what was read; arrays: passed as a pointer */
    HD_VARIABLE_POINTER = 2,
    HD_VARIABLE_ARRAY = 4,
    HD_VARIABLE_RECORD = 8, /* a struct or union by value */
    HD_VARIABLE_ATOMIC = 16,
    HD_VARIABLE_VOLATILE = 32,
    HD_VARIABLE_CONST = 64,
    HD_VARIABLE_INTERNAL = 128, /* static: not visible in other files */
    HD_VARIABLE_THREAD_LOCAL = 256
};

struct hd_source_variable {
    uint8_t kind;      /* enum hd_variable_kind */
    uint16_t flags;    /* enum hd_variable_flag */
    uint32_t name;     /* text: `struct::field`, `counter`, `i` */
    uint32_t key;      /* text: unique in the program; NONE for locals and parameters */
    uint32_t function; /* of locals, parameters and static locals; else NONE */
    uint32_t record;   /* of fields; else NONE */
    uint32_t type;     /* text: canonical type without qualifiers */
    uint32_t file, line;
};

/* A path is its last element and the path before it: `p->m` is FIELD m of DEREF of VARIABLE p, and
 * `v[i]` is INDEX of VARIABLE v if v is an array, INDEX of DEREF of it if v is a pointer. Equal
 * paths have the same number; locals of two functions are different variables. */
enum hd_path_kind {
    HD_PATH_VARIABLE, /* the root */
    HD_PATH_RESULT,   /* the root: what a call of `function` returned */
    HD_PATH_UNKNOWN,  /* the root: an expression that has no name; two of them may be different */
    HD_PATH_FIELD,
    HD_PATH_DEREF,
    HD_PATH_INDEX
};

struct hd_source_path {
    uint8_t kind;    /* enum hd_path_kind */
    uint32_t parent; /* NONE for roots */
    uint32_t of;     /* VARIABLE, FIELD: variable; RESULT: function (NONE: through a pointer);
                        INDEX: text of the index, "" if it is not a constant or a plain variable */
};

enum hd_function_flag {
    HD_FUNCTION_BODY = 1,
    HD_FUNCTION_INTERNAL = 2,       /* static: its key has the path of its file */
    HD_FUNCTION_HEADER = 4,         /* defined in a header: the same in many units, here once */
    HD_FUNCTION_ATOMIC = 8,         /* marked HEDDLE_ATOMIC */
    HD_FUNCTION_ADDRESS_TAKEN = 16, /* may be called through a pointer of its type */
    HD_FUNCTION_DEGRADED = 32,      /* of a degraded unit */
    HD_FUNCTION_VARIADIC = 64,
    HD_FUNCTION_NORETURN = 128,
    HD_FUNCTION_METHOD = 256 /* C++: the first parameter is `this` */
};

struct hd_source_function {
    uint32_t name;  /* text */
    uint32_t key;   /* text: unique, but for functions of different programs (two `main`) */
    uint32_t type;  /* text: `int (void *)`: what pointers to it point to */
    uint16_t flags; /* enum hd_function_flag */
    uint32_t unit, file;
    uint32_t line, end_line; /* of the definition */
    uint32_t annotations;    /* text: strings of annotate attributes, one a line; NONE: none */
    struct hd_source_range variables; /* links to variables: parameters in order, then locals */
    uint32_t parameters;
    struct hd_source_range nodes; /* of `node`; the first is the body's block */
    struct hd_source_range steps; /* of `step` */
    uint32_t same_key;            /* another function with this key, NONE */
};

/* Children of a node, in order:
 *   BLOCK         statements
 *   IF            condition, then, [else]
 *   WHILE         condition, body
 *   DO            body, condition
 *   FOR           any of init, condition, advance (each has a role), then body
 *   SWITCH        condition, body;  CASE, DEFAULT, LABEL: the statement behind it
 *   RETURN        [value]
 *   DECLARATION   an EXPRESSION for each initialiser (its last step writes the variable)
 *   TRY           body, handlers
 *   AND, OR       left, right: the right side may not be evaluated
 *   CONDITIONAL   condition, then, else, each an EXPRESSION
 *   EXPRESSION    the nested nodes of its steps
 * Conditions and values are EXPRESSION nodes. */
#define HD_NODE_KINDS(X)      \
    X(BLOCK, "block")         \
    X(IF, "if")               \
    X(WHILE, "while")         \
    X(DO, "do")               \
    X(FOR, "for")             \
    X(SWITCH, "switch")       \
    X(CASE, "case")           \
    X(DEFAULT, "default")     \
    X(LABEL, "label")         \
    X(GOTO, "goto")           \
    X(BREAK, "break")         \
    X(CONTINUE, "continue")   \
    X(RETURN, "return")       \
    X(DECLARATION, "declare") \
    X(TRY, "try")             \
    X(AND, "and")             \
    X(OR, "or")               \
    X(CONDITIONAL, "choose")  \
    X(EXPRESSION, "expr")

enum hd_node_kind {
#define X(name, word) HD_NODE_##name,
    HD_NODE_KINDS(X)
#undef X
        HD_NODE_KINDS_COUNT
};

enum hd_node_role {
    HD_ROLE_NONE,
    HD_ROLE_INIT,
    HD_ROLE_CONDITION,
    HD_ROLE_ADVANCE,
    HD_ROLE_CONTROL, /* of a for: one of the three, which one is not known (inside a macro) */
    HD_ROLE_BODY,
    HD_ROLE_THEN,
    HD_ROLE_ELSE,
    HD_ROLES
};

/* What a condition without steps always is. */
enum hd_node_constant { HD_CONSTANT_NONE, HD_CONSTANT_FALSE, HD_CONSTANT_TRUE };

struct hd_source_node {
    uint8_t kind;                       /* enum hd_node_kind */
    uint8_t role;                       /* enum hd_node_role: in the parent */
    uint8_t constant;                   /* EXPRESSION: enum hd_node_constant */
    uint32_t parent, first_child, next; /* next: sibling */
    uint32_t file;                      /* of it and its steps: the function's, nearly always */
    uint32_t line, column, end_line;    /* where a macro is used, not where it is defined */
    uint32_t label;                     /* LABEL, GOTO: text; NONE for a computed goto */
    struct hd_source_range steps;       /* EXPRESSION: of `step`, in the order of evaluation; what
                                           its nested nodes do is among them */
    struct hd_source_range value;       /* EXPRESSION: the steps whose values make its value */
};

enum hd_step_kind {
    HD_STEP_ACCESS,
    HD_STEP_CALL,
    HD_STEP_FUNCTION, /* the address of a function as a value */
    HD_STEP_NESTED    /* an AND, OR, CONDITIONAL, or a BLOCK as an expression: `node` */
};

enum hd_source_mode {
    HD_ACCESS_READ = 1,
    HD_ACCESS_WRITE = 2,
    HD_ACCESS_READ_WRITE = 3, /* `x += y`, `x++`: the old value flows into the new one */
    HD_ACCESS_ADDRESS = 4     /* `&x`, or an array as a pointer: neither read nor written here */
};

enum hd_step_flag {
    HD_STEP_INDIRECT = 1, /* what `variable` points to, not the variable itself: `*p`, `p[i]` */
    HD_STEP_WHOLE = 2,    /* all fields of a struct: `a = *p` */
    HD_STEP_ATOMIC = 4,   /* atomic_load, __atomic_*, __sync_*, or a variable of atomic type */
    HD_STEP_LIBRARY = 8, /* done by a library function: memcpy writes what its argument points to */
    HD_STEP_MACRO = 16,  /* written in a macro: the position is where the macro is used */
    HD_STEP_INITIAL = 32 /* the initialiser of a declaration */
};

struct hd_source_step {
    uint8_t kind; /* enum hd_step_kind */
    uint8_t mode; /* ACCESS: enum hd_source_mode */
    uint16_t flags;
    uint32_t node; /* the EXPRESSION it is part of; NESTED: the nested node, whose parent that is */
    uint32_t line;
    uint16_t column;     /* of the name that is accessed or called: `shutdown` in `d->shutdown` */
    uint16_t begin, end; /* columns of the expression on that line, a write up to its right side */
    uint32_t path;     /* ACCESS: what is accessed; CALL: what holds the pointer, NONE if direct */
    uint32_t variable; /* ACCESS: the last variable of the path; NONE if it has none */
    uint32_t function; /* CALL, FUNCTION: callee; NONE if called through a pointer */
    uint32_t type; /* text. CALL through a pointer: the function type; WHOLE: the record's key */
    struct hd_source_range from; /* whose values flow in: what is written; NESTED: what may become
                                    its value (conditions are in the node) */
    struct hd_source_range via;  /* whose values only choose where: pointers and indices */
    struct hd_source_range arguments; /* CALL: of `argument` */
    uint32_t target; /* CALL: path that gets the result directly, `x = f()`; else NONE */
};

struct hd_source_argument {
    uint32_t path;               /* what it names; NONE for other expressions */
    bool address;                /* `&path`, or an array: the callee gets a pointer to it */
    uint32_t function;           /* a function is passed; else NONE */
    struct hd_source_range from; /* whose values flow in */
};

/* What a call does to locks and threads, whether it is the call itself or a wrapper around it
 * (hd_source_resolve). Sorted by step. */
enum hd_operation_kind {
    HD_OPERATION_LOCK,
    HD_OPERATION_TRY_LOCK, /* holds the lock if the call succeeds */
    HD_OPERATION_UNLOCK,
    HD_OPERATION_WAIT, /* condition variable: releases and takes `path` again */
    HD_OPERATION_CREATE,
    HD_OPERATION_JOIN
};

struct hd_source_operation {
    uint8_t kind; /* enum hd_operation_kind */
    bool shared;  /* a read lock */
    bool wrapped; /* through a wrapper */
    bool in_loop; /* the call stands in a loop */
    uint32_t step;
    uint32_t path;       /* the lock, as the caller names it; NONE if it has no name there */
    uint32_t entry;      /* CREATE: function, NONE if not known */
    uint32_t entry_type; /* CREATE without entry: text, type of the pointer; else NONE */
    uint32_t argument;   /* CREATE: index in the call's arguments of what the thread gets; NONE */
};

/* A function that a user says is a lock operation on what its first argument points to. */
struct hd_source_declared {
    uint32_t function; /* text: its name */
    uint8_t kind;      /* HD_OPERATION_LOCK or HD_OPERATION_UNLOCK */
};

struct hd_source {
    struct hd_intern text;
    HD_VECTOR(struct hd_source_unit) unit;
    HD_VECTOR(struct hd_source_file) file;
    HD_VECTOR(struct hd_source_record) record;
    HD_VECTOR(struct hd_source_variable) variable;
    HD_VECTOR(struct hd_source_path) path;
    HD_VECTOR(struct hd_source_function) function;
    HD_VECTOR(struct hd_source_node) node;
    HD_VECTOR(struct hd_source_step) step;
    HD_VECTOR(struct hd_source_argument) argument;
    HD_VECTOR(uint32_t) link;
    HD_VECTOR(struct hd_source_operation) operation; /* made by hd_source_resolve */
    HD_VECTOR(struct hd_source_declared) declared;
    uint32_t read_here; /* units that others were asked for and could not read as we would */
    struct hd_map function_by_key, variable_by_key, record_by_key, record_by_name, file_by_path;
    struct hd_map path_by_parts;
};

static inline const char *hd_source_text(const struct hd_source *source, uint32_t text) {
    return text == HD_SOURCE_NONE ? "" : source->text.name.data[text];
}

/* ---- loading ----------------------------------------------------------------------------------
 */

struct hd_progress;

enum hd_source_method { HD_METHOD_BEST, HD_METHOD_SHAPE, HD_METHOD_OPCODE };

struct hd_source_request {
    const char *database;    /* compile_commands.json or its directory; NULL: files and flags */
    const char *const *file; /* with a database: only these of it (none: all) */
    unsigned files;
    const char *const *flag; /* without a database: the compiler's arguments for each file */
    unsigned flags;
    const char *const *include; /* only units below one of these directories (none: all) */
    unsigned includes;
    const char *const *exclude; /* no units below these */
    unsigned excludes;
    unsigned jobs;     /* processes; 0: as many as cores */
    const char *cache; /* directory; NULL: no cache */
    unsigned method;   /* enum hd_source_method: how writes are told from reads (for tests) */
    struct hd_progress *progress;
    const struct hd_errands *elsewhere; /* who reads units for us (unit.h); NULL: nobody */
};

/* Parses the units (helper processes do; without libclang in this build the error says so) and adds
 * them to an empty program; resolves it. A unit that fails is in `unit`, and is no error. */
bool hd_source_load(const struct hd_source_request *request, struct hd_source *source,
                    struct hd_error *error);
/* Whether this installation can parse at all; the error says what is missing. */
bool hd_source_available(struct hd_error *error);
void hd_source_free(struct hd_source *source);

/* The text form (docs/source.md): what the helpers send, the cache stores and tests are written in.
 * Reading adds to the program: a function that is there already (same key, file and line) is not
 * added again. Nothing is resolved. `name` is for error messages. */
bool hd_source_read_text(struct hd_source *source, const char *name, const char *bytes,
                         size_t length, struct hd_error *error);
/* malloc'ed text of the whole program; equal programs give equal texts. */
char *hd_source_write_text(const struct hd_source *source, size_t *length);

/* Fills `operation`: locks, threads, and wrappers of either (one level: a function that does
 * nothing else to locks than to pass its parameter on). hd_source_load does it. */
void hd_source_resolve(struct hd_source *source);
/* Says that functions of this name lock or unlock what their first argument points to, whatever
 * their bodies do; for the next hd_source_resolve. False if nobody calls such a function. */
bool hd_source_declare(struct hd_source *source, const char *name, enum hd_operation_kind kind);

/* ---- asking -----------------------------------------------------------------------------------
 */

/* By key; NONE if there is none. The first with a body if there are several. */
uint32_t hd_source_function_find(const struct hd_source *source, const char *key);
/* By name, for tests and messages: the first of that name. */
uint32_t hd_source_function_named(const struct hd_source *source, const char *name);
uint32_t hd_source_variable_named(const struct hd_source *source, const char *name);
/* The record with that key, or else the first of that name (texts); NONE. */
uint32_t hd_source_record_find(const struct hd_source *source, uint32_t key_or_name);
/* The operations of a call: index of the first and their number. */
struct hd_source_range hd_source_operations_of(const struct hd_source *source, uint32_t step);
/* Whether the step stands in a loop of its function. */
bool hd_source_in_loop(const struct hd_source *source, uint32_t step);
/* The path of a file, relative to the directory `base` if it is below it; "" for NONE. */
const char *hd_source_relative(const struct hd_source *source, uint32_t file, const char *base);
/* The path as a programmer writes it: `daemon->shutdown`, `table[i].empty`. Cut to `size`. */
const char *hd_source_path_name(const struct hd_source *source, uint32_t path, char *buffer,
                                size_t size);
/* Whether equal paths mean the same place as long as no variable in them changes: no unknown
 * expression and no unknown index in it. */
bool hd_source_path_exact(const struct hd_source *source, uint32_t path);
/* The variable the path begins with; NONE if it begins with a call or something else. */
uint32_t hd_source_path_root(const struct hd_source *source, uint32_t path);

/* "1,204 functions in 107 files, 2 files had errors": the line that closes the output of every
 * command that reads sources. */
const char *hd_source_closing_line(const struct hd_source *source, char *buffer, size_t size);

#endif
