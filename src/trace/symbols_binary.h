/* One executable or library as a file, inside the symbols code: its symbol table and its debug
 * information, indexed when first asked. Addresses are those of the file, without load bias. ELF
 * and DWARF are untrusted input here: every walk is bounded. */
#ifndef HEDDLE_TRACE_SYMBOLS_BINARY_H
#define HEDDLE_TRACE_SYMBOLS_BINARY_H

#include "base/map.h"
#include "trace/symbols.h"
#include "trace/symbols_pool.h"
#include "trace/symbols_ranges.h"

#include <elfutils/libdw.h>

/* A function, an inlined call or a namespace: what qualifies names and makes frames. */
enum hd_scope_kind { HD_SCOPE_NAMESPACE, HD_SCOPE_FUNCTION, HD_SCOPE_INLINED };
struct hd_scope {
    Dwarf_Die die;
    const char *name; /* NULL until asked for */
    uint32_t parent;  /* HD_NONE at the top of a unit */
    uint32_t unit;
    uint8_t kind;
};

struct hd_unit {
    Dwarf_Die die;         /* with the program's DIEs (of the .dwo file if split) */
    Dwarf_Die skeleton;    /* with the line table; the same as die if not split */
    struct hd_ranges code; /* value: index into scope */
    Dwarf_Lines *lines;
    size_t line_count;
    bool walked, has_lines;
};

struct hd_data_object {
    uint64_t lo;
    uint64_t hi; /* 0 until asked for */
    Dwarf_Die die;
    const char *name; /* NULL until asked for */
    uint32_t scope;
};

struct hd_symbol {
    const char *raw;  /* in the file's string table */
    const char *name; /* NULL until asked for */
    uint64_t lo;
};

struct hd_binary {
    struct hd_pool *pool;
    const char *path, *file_name,
        *directory; /* directory: the current one, with a slash, or NULL */
    int fd, debug_fd;
    Elf *elf, *debug_elf; /* debug_elf: a separate debug file, or NULL */
    Dwarf *dwarf;         /* NULL if there is none */
    Dwarf_CFI *unwind;    /* NULL until needed */
    struct hd_unit *unit;
    uint32_t units, unit_capacity;
    struct hd_ranges unit_code; /* value: index into unit */
    struct hd_scope *scope;
    uint32_t scopes, scope_capacity;
    struct hd_data_object *object; /* sorted by lo once all units are walked */
    uint32_t objects, object_capacity;
    struct hd_map declared; /* address of a declaration's DIE -> index into declared_name */
    const char **declared_name;
    uint32_t declared_names, declared_capacity;
    struct hd_symbol *symbol;
    uint32_t symbols, symbol_capacity;
    struct hd_ranges function_symbols, object_symbols; /* values: indices into symbol */
    bool symbols_read, units_read, all_walked;
};

/* A structure that a pointer leads to. */
struct hd_pointee {
    struct hd_binary *binary;
    Dwarf_Die type;
    const char *name;
    uint64_t bytes;
    bool open_ended; /* ends in an array without a length */
};

/* symbols_file.c. Returns NULL and a reason if the file can't be used. */
struct hd_binary *hd_binary_open(struct hd_pool *pool, const char *directory, const char *path,
                                 const uint8_t *build_id, uint32_t build_id_length, char *reason,
                                 size_t reason_size);
bool hd_strings_are_closed(Elf *elf);
/* symbols_kept.c: the same, shared with whoever else asked for it and for all to give back. Between
 * lock and unlock only one thread asks about any of them. */
struct hd_binary *hd_binary_borrow(const char *directory, const char *path, const uint8_t *build_id,
                                   uint32_t build_id_length, char *reason, size_t reason_size);
void hd_binary_return(struct hd_binary *binary);
void hd_binaries_lock(void);
void hd_binaries_unlock(void);
void hd_binary_close(struct hd_binary *binary);
/* The symbol around an address, NULL if none. */
const struct hd_symbol *hd_binary_symbol(struct hd_binary *binary, uint64_t address, bool function,
                                         uint64_t *lo, uint64_t *hi);
const char *hd_symbol_name(struct hd_binary *binary, const struct hd_symbol *symbol);
/* Functions of this name, as it is written in source; *address is where the last begins. */
uint32_t hd_binary_functions(struct hd_binary *binary, const char *name, uint64_t *address);
/* The NUL-terminated text in the file's own image at an address, NULL if there is none. */
const char *hd_binary_text(struct hd_binary *binary, uint64_t address);

/* The machine's code at an address, with how much of it there is; NULL. */
const uint8_t *hd_binary_code(struct hd_binary *binary, uint64_t address, size_t *bytes);
bool hd_binary_is_x86_64(struct hd_binary *binary);

/* symbols_units.c */
void hd_units_read(struct hd_binary *binary);
void hd_unit_walk(struct hd_binary *binary, uint32_t unit);
void hd_units_walk_all(struct hd_binary *binary);
void hd_units_free(struct hd_binary *binary);
#define HD_NAMELESS "??"
const char *hd_scope_name(struct hd_binary *binary, uint32_t scope);
/* The name of a DIE with its namespaces and classes or, for a static local, its function. */
const char *hd_qualified_name(struct hd_binary *binary, Dwarf_Die *die, uint32_t scope);

/* symbols_code.c: appends frames, innermost first; returns how many (0: nothing known). */
#define HD_FRAMES_MAX 64
uint32_t hd_binary_frames(struct hd_binary *binary, uint64_t address,
                          struct hd_frame frame[HD_FRAMES_MAX]);

/* The function or inlined call around an address, HD_NONE. */
uint32_t hd_binary_scope(struct hd_binary *binary, uint64_t address);
/* The function around it that is not inlined, HD_NONE. */
uint32_t hd_binary_function(struct hd_binary *binary, uint64_t address);

/* symbols_local.c: the local variable in a function's frame, NULL if none is known; and the name of
 * the function, NULL if not even that is. */
const char *hd_binary_local(struct hd_binary *binary, uint64_t address, int64_t offset,
                            uint64_t size, const char **function);

/* The same as a DIE, with where it begins in the frame; a register's place in the frame, by the
 * debug information's number. */
bool hd_frame_variable(struct hd_binary *binary, uint64_t address, int64_t offset, Dwarf_Die *die,
                       int64_t *start);
bool hd_register_offset(struct hd_binary *binary, uint64_t address, unsigned number,
                        int64_t *offset);

/* symbols_pointer.c: the structure that a call's result is kept in a pointer to, if the result has
 * that many bytes; else whether it is returned to the caller. */
bool hd_binary_allocated(struct hd_binary *binary, uint64_t address, uint64_t bytes,
                         struct hd_pointee *type, bool *returned);
/* The structure whose part the access after a hook's call goes to, and the offset in it. */
bool hd_binary_accessed(struct hd_binary *binary, uint64_t address, uint64_t size, bool write,
                        struct hd_pointee *type, uint64_t *offset);

/* symbols_data.c: the variable at an address, NULL if none is known. */
const char *hd_binary_variable(struct hd_binary *binary, uint64_t address, uint64_t size,
                               const char **base, uint64_t *offset);
/* The type of the scalar that begins at an address. */
bool hd_binary_data_type(struct hd_binary *binary, uint64_t address, Dwarf_Die *type);

/* symbols_type.c: bytes of a type, 0 if unknown; and the expression for a part of a variable. */
uint64_t hd_type_size(Dwarf_Die *type);
/* Takes typedefs and qualifiers off, and follows a declaration to its type unit. */
bool hd_type_peel(Dwarf_Die *type);
/* Goes from a type to that of the scalar that begins at the offset. */
bool hd_type_scalar_at(Dwarf_Die *type, uint64_t offset);
/* False unless it is a structure, class or union that is defined. */
bool hd_pointee_make(struct hd_binary *binary, Dwarf_Die *declared, struct hd_pointee *to);
bool hd_type_of(Dwarf_Die *die, Dwarf_Die *type);
void hd_type_part(Dwarf_Die *type, uint64_t offset, uint64_t size, char *text, size_t text_size);

#endif
