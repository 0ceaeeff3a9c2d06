/* From a place in a function's frame to the local variable or parameter that is there. Offsets
 * count from the canonical frame address. DWARF is untrusted input: depth and steps are bounded. */
#include "trace/symbols_binary.h"

#include <dwarf.h>
#include <stdlib.h>

#define DEEPEST_BLOCK 64
#define MOST_DIES 50000

struct search {
    struct hd_binary *binary;
    uint64_t address; /* of the code */
    int64_t offset;
    int64_t frame_base; /* as an offset */
    bool anywhere;      /* also where the code is not */
    uint32_t steps, found;
    Dwarf_Die die, function; /* the variable, and the function, maybe inlined, that it is of */
    int64_t start;
};

/* ---- where a variable is ------------------------------------------------------------------ */

/* The only operation of a location that holds at an address. */
static bool one_operation(Dwarf_Die *die, unsigned name, uint64_t address, Dwarf_Op *operation) {
    Dwarf_Attribute attribute;
    Dwarf_Op *list;
    size_t count;
    if (!dwarf_attr_integrate(die, name, &attribute) ||
        dwarf_getlocation_addr(&attribute, address, &list, &count, 1) != 1 || count != 1)
        return false;
    *operation = list[0];
    return true;
}

static bool is_register(const Dwarf_Op *operation, unsigned *number, int64_t *offset) {
    *offset = 0;
    if (operation->atom >= DW_OP_reg0 && operation->atom <= DW_OP_reg31) {
        *number = operation->atom - DW_OP_reg0;
        return true;
    }
    if (operation->atom == DW_OP_bregx) {
        *number = (unsigned)operation->number;
        *offset = (int64_t)operation->number2;
        return true;
    }
    if (operation->atom < DW_OP_breg0 || operation->atom > DW_OP_breg31) return false;
    *number = operation->atom - DW_OP_breg0;
    *offset = (int64_t)operation->number;
    return true;
}

/* A register's value at an address, as an offset from the canonical frame address. */
bool hd_register_offset(struct hd_binary *binary, uint64_t address, unsigned number,
                        int64_t *offset) {
    if (binary->unwind == NULL) binary->unwind = dwarf_getcfi_elf(binary->elf);
    Dwarf_Frame *frame;
    if (binary->unwind == NULL || dwarf_cfi_addrframe(binary->unwind, address, &frame) != 0)
        return false;
    Dwarf_Op *list;
    size_t count;
    unsigned by;
    int64_t distance;
    bool known = dwarf_frame_cfa(frame, &list, &count) == 0 && count == 1 &&
                 is_register(list, &by, &distance) && by == number;
    if (known) *offset = -distance;
    free(frame);
    return known;
}

static bool find_frame_base(struct search *search, Dwarf_Die *function) {
    Dwarf_Op operation;
    unsigned number;
    int64_t distance;
    if (!one_operation(function, DW_AT_frame_base, search->address, &operation)) return false;
    search->frame_base = 0;
    if (operation.atom == DW_OP_call_frame_cfa) return true;
    if (!is_register(&operation, &number, &distance) ||
        !hd_register_offset(search->binary, search->address, number, &search->frame_base))
        return false;
    return !__builtin_add_overflow(search->frame_base, distance, &search->frame_base);
}

/* ---- the variables of a function ----------------------------------------------------------- */

/* Where an operation that holds at an address says that a variable begins. */
static bool start_by(struct search *search, const Dwarf_Op *operation, uint64_t address,
                     int64_t *start) {
    unsigned number;
    int64_t distance;
    if (operation->atom == DW_OP_fbreg)
        return !__builtin_add_overflow(search->frame_base, (int64_t)operation->number, start);
    if (operation->atom < DW_OP_breg0 || !is_register(operation, &number, &distance) ||
        !hd_register_offset(search->binary, address, number, start))
        return false;
    return !__builtin_add_overflow(*start, distance, start);
}

/* The same for a variable: where the code is, or, if it is not there, anywhere in the function. */
static bool find_start(struct search *search, Dwarf_Die *die, int64_t *start) {
    Dwarf_Op operation, *list;
    if (one_operation(die, DW_AT_location, search->address, &operation) &&
        start_by(search, &operation, search->address, start))
        return true;
    Dwarf_Attribute attribute;
    Dwarf_Addr base, from, to;
    ptrdiff_t at = 0;
    size_t count;
    if (!search->anywhere || !dwarf_attr_integrate(die, DW_AT_location, &attribute)) return false;
    while (search->steps++ < MOST_DIES &&
           (at = dwarf_getlocations(&attribute, at, &base, &from, &to, &list, &count)) > 0)
        if (count == 1 && start_by(search, list, from, start)) return true;
    return false;
}

static void look_at(struct search *search, Dwarf_Die *die, Dwarf_Die *function) {
    Dwarf_Die type;
    int64_t start, end;
    if (!find_start(search, die, &start) || dwarf_diename(die) == NULL || !hd_type_of(die, &type))
        return;
    uint64_t size = hd_type_size(&type);
    if (size == 0 || size > INT64_MAX || __builtin_add_overflow(start, (int64_t)size, &end) ||
        search->offset < start || search->offset >= end)
        return;
    search->found++;
    search->die = *die;
    search->function = *function;
    search->start = start;
}

static void look_in(struct search *search, Dwarf_Die *scope, Dwarf_Die *function, unsigned depth) {
    Dwarf_Die die;
    if (depth > DEEPEST_BLOCK || dwarf_child(scope, &die) != 0) return;
    do {
        if (search->steps++ > MOST_DIES) return;
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
        case DW_TAG_formal_parameter:
            look_at(search, &die, function);
            break;
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
            if (search->anywhere || dwarf_haspc(&die, search->address) == 1)
                look_in(search, &die,
                        dwarf_tag(&die) == DW_TAG_inlined_subroutine ? &die : function, depth + 1);
            break;
        default:
            break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* The variable at a place in the frame. */
static bool find(struct search *search, uint32_t scope) {
    Dwarf_Die die = search->binary->scope[scope].die;
    if (!find_frame_base(search, &die)) return false;
    look_in(search, &die, &die, 0);
    if (search->found > 0) return true;
    search->anywhere = true; /* a block that the code has not come to yet, or has left */
    look_in(search, &die, &die, 0);
    return search->found == 1;
}

bool hd_frame_variable(struct hd_binary *binary, uint64_t address, int64_t offset, Dwarf_Die *die,
                       int64_t *start) {
    uint32_t scope = hd_binary_function(binary, address);
    struct search search = {.binary = binary, .address = address, .offset = offset};
    if (scope == HD_NONE || !find(&search, scope)) return false;
    *die = search.die;
    *start = search.start;
    return true;
}

const char *hd_binary_local(struct hd_binary *binary, uint64_t address, int64_t offset,
                            uint64_t size, const char **function) {
    *function = NULL;
    uint32_t scope = hd_binary_function(binary, address);
    if (scope == HD_NONE) return NULL;
    *function = hd_scope_name(binary, scope);
    struct search search = {.binary = binary, .address = address, .offset = offset};
    if (!find(&search, scope)) return NULL;
    const char *owner = dwarf_diename(&search.function);
    char part[512] = "";
    Dwarf_Die type;
    if (owner == NULL || !hd_type_of(&search.die, &type)) return NULL;
    hd_type_part(&type, (uint64_t)(offset - search.start), size, part, sizeof part);
    return hd_pool_format(binary->pool, "%s::%s%s", owner, dwarf_diename(&search.die), part);
}
