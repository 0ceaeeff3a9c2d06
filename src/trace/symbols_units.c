/* The units of a binary's debug information: which addresses they cover and, once a unit is needed,
 * its functions, inlined calls and static variables, found in one walk over its DIEs. */
#include "trace/symbols_binary.h"
#include "trace/symbols_demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_DIE 200

/* ---- units -------------------------------------------------------------------------------- */

/* Code that the linker dropped keeps its debug information, at address 0 or nearly so. */
static bool is_dropped(uint64_t address) { return address < 16 || address >= UINT64_MAX - 16; }

static void add_die_ranges(struct hd_ranges *ranges, Dwarf_Die *die, uint32_t value) {
    Dwarf_Addr base, lo, hi;
    uint32_t limit = 1 << 20;
    for (ptrdiff_t at = 0; limit && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0; limit--)
        if (!is_dropped(lo)) hd_ranges_add(ranges, lo, hi, value);
}

void hd_units_read(struct hd_binary *binary) {
    if (binary->units_read) return;
    binary->units_read = true;
    if (!binary->dwarf) return;
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    while (dwarf_get_units(binary->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
        uint32_t index = binary->units;
        binary->unit =
            hd_pool_grow(binary->unit, index, &binary->unit_capacity, sizeof *binary->unit);
        struct hd_unit *unit = &binary->unit[binary->units++];
        *unit = (struct hd_unit){.die = die, .skeleton = die};
        if (type == DW_UT_skeleton && split.addr &&
            hd_strings_are_closed(dwarf_getelf(dwarf_cu_getdwarf(split.cu))))
            unit->die = split;
        uint32_t before = binary->unit_code.count;
        add_die_ranges(&binary->unit_code, &unit->skeleton, index);
        if (binary->unit_code.count > before) continue;
        /* a unit that doesn't say what it covers: ask its functions */
        hd_unit_walk(binary, index);
        unit = &binary->unit[index];
        for (uint32_t i = 0; i < unit->code.count; i++)
            hd_ranges_add(&binary->unit_code, unit->code.item[i].lo, unit->code.item[i].hi, index);
    }
    hd_ranges_finish(&binary->unit_code);
}

void hd_units_free(struct hd_binary *binary) {
    for (uint32_t i = 0; i < binary->units; i++) hd_ranges_free(&binary->unit[i].code);
    free(binary->unit);
    free(binary->scope);
    free(binary->object);
    free(binary->declared_name);
    hd_map_free(&binary->declared);
    hd_ranges_free(&binary->unit_code);
}

/* ---- the walk ----------------------------------------------------------------------------- */

static uint32_t add_scope(struct hd_binary *binary, const Dwarf_Die *die, uint32_t parent,
                          uint32_t unit, enum hd_scope_kind kind) {
    binary->scope =
        hd_pool_grow(binary->scope, binary->scopes, &binary->scope_capacity, sizeof *binary->scope);
    binary->scope[binary->scopes] =
        (struct hd_scope){.die = *die, .parent = parent, .unit = unit, .kind = (uint8_t)kind};
    return binary->scopes++;
}

/* The address of a variable that has one for the whole run. Thread-local ones have none. */
static bool static_address(Dwarf_Die *die, uint64_t *address) {
    Dwarf_Attribute location;
    Dwarf_Block block;
    if (!dwarf_attr(die, DW_AT_location, &location) || dwarf_formblock(&location, &block) ||
        !block.length)
        return false;
    /* looked at first because most locations are a register or a stack slot */
    uint8_t first = block.data[0];
    if (first != DW_OP_addr && first != DW_OP_addrx && first != DW_OP_GNU_addr_index) return false;
    Dwarf_Op *op;
    size_t ops;
    if (dwarf_getlocation(&location, &op, &ops) || !ops) return false;
    if (first == DW_OP_addr) {
        *address = op[0].number;
    } else {
        Dwarf_Attribute indirect;
        Dwarf_Addr value;
        if (dwarf_getlocation_attr(&location, &op[0], &indirect) ||
            dwarf_formaddr(&indirect, &value))
            return false;
        *address = value;
    }
    if (ops == 2 && op[1].atom == DW_OP_plus_uconst)
        *address += op[1].number;
    else if (ops > 1)
        return false;
    return !is_dropped(*address);
}

static void add_variable(struct hd_binary *binary, Dwarf_Die *die, uint32_t scope) {
    uint64_t address;
    if (!static_address(die, &address)) return;
    binary->object = hd_pool_grow(binary->object, binary->objects, &binary->object_capacity,
                                  sizeof *binary->object);
    binary->object[binary->objects++] =
        (struct hd_data_object){.lo = address, .die = *die, .scope = scope};
}

static void walk(struct hd_binary *binary, uint32_t unit, Dwarf_Die *parent, uint32_t scope,
                 unsigned depth) {
    Dwarf_Die die;
    if (depth > DEEPEST_DIE || dwarf_child(parent, &die)) return;
    for (;;) {
        uint32_t inner = scope;
        bool enter = true;
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
            enter = !dwarf_hasattr(&die, DW_AT_declaration);
            if (enter) inner = add_scope(binary, &die, scope, unit, HD_SCOPE_FUNCTION);
            break;
        case DW_TAG_inlined_subroutine:
            inner = add_scope(binary, &die, scope, unit, HD_SCOPE_INLINED);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
            inner = add_scope(binary, &die, scope, unit, HD_SCOPE_NAMESPACE);
            break;
        case DW_TAG_variable:
            add_variable(binary, &die, scope);
            enter = false;
            break;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_common_block:
            break;
        default:
            enter = false;
        }
        if (inner != scope && binary->scope[inner].kind != HD_SCOPE_NAMESPACE)
            add_die_ranges(&binary->unit[unit].code, &die, inner);
        if (enter) walk(binary, unit, &die, inner, depth + 1);
        Dwarf_Die next;
        if (dwarf_siblingof(&die, &next)) return;
        if (next.addr <= die.addr) return; /* a loop in a damaged file */
        die = next;
    }
}

void hd_unit_walk(struct hd_binary *binary, uint32_t index) {
    struct hd_unit *unit = &binary->unit[index];
    if (unit->walked) return;
    unit->walked = true;
    Dwarf_Die top = unit->die;
    walk(binary, index, &top, HD_NONE, 0);
    hd_ranges_finish(&binary->unit[index].code);
}

static int object_order(const void *left, const void *right) {
    const struct hd_data_object *a = left, *b = right;
    if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
    return (a->die.addr > b->die.addr) - (a->die.addr < b->die.addr);
}

void hd_units_walk_all(struct hd_binary *binary) {
    if (binary->all_walked) return;
    binary->all_walked = true;
    hd_units_read(binary);
    for (uint32_t i = 0; i < binary->units; i++) hd_unit_walk(binary, i);
    if (binary->objects)
        qsort(binary->object, binary->objects, sizeof *binary->object, object_order);
}

/* ---- names -------------------------------------------------------------------------------- */

static const char *linkage_name(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
        !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return NULL;
    return dwarf_formstring(&attribute);
}

static const char *join(struct hd_binary *binary, const char *outer, const char *name) {
    if (!outer || !*outer) return hd_pool_text(binary->pool, name);
    return hd_pool_format(binary->pool, "%s::%s", outer, name);
}

static bool follow(Dwarf_Die *die, unsigned attribute_name) {
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    if (!dwarf_attr(die, attribute_name, &attribute) || !dwarf_formref_die(&attribute, &target))
        return false;
    *die = target;
    return true;
}

/* The child that a DIE is in or is itself: DIEs lie in the order of a walk, so it is the last one
 * that does not start after it. False at the end, or in a damaged file. */
static bool step_towards(Dwarf_Die *from, const Dwarf_Die *target) {
    Dwarf_Die child, next;
    if (dwarf_child(from, &child) || child.addr > target->addr) return false;
    while (!dwarf_siblingof(&child, &next) && next.addr <= target->addr) {
        if (next.addr <= child.addr) return false;
        child = next;
    }
    *from = child;
    return true;
}

/* The name with the classes, namespaces and functions around a declaration. */
static const char *name_in_scopes(struct hd_binary *binary, Dwarf_Die *declaration,
                                  const char *name) {
    Dwarf_Die at;
    const char *outer = NULL;
    if (!dwarf_diecu(declaration, &at, NULL, NULL)) return name;
    for (unsigned depth = 0; depth < DEEPEST_DIE && step_towards(&at, declaration); depth++) {
        if (at.addr == declaration->addr) break;
        const char *own = dwarf_diename(&at);
        int tag = dwarf_tag(&at);
        bool type = tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
        if (!own && type && !strcmp(name, "operator()")) own = "{lambda}";
        if (own) outer = join(binary, outer, own);
    }
    return join(binary, outer, name);
}

/* The name of what an inlined or out-of-line definition refers to. Finding its scopes is a walk
 * over the unit, so the answers are kept. */
static const char *declared_name(struct hd_binary *binary, Dwarf_Die *die, const char *name) {
    Dwarf_Die declaration = *die;
    bool inlined = follow(&declaration, DW_AT_abstract_origin);
    if (!follow(&declaration, DW_AT_specification) && !inlined) return NULL;
    uint32_t *known = hd_map_slot(&binary->declared, (uint64_t)declaration.addr, HD_NONE);
    if (*known != HD_NONE) return binary->declared_name[*known];
    binary->declared_name = hd_pool_grow(binary->declared_name, binary->declared_names,
                                         &binary->declared_capacity, sizeof *binary->declared_name);
    *known = binary->declared_names;
    const char *text = name_in_scopes(binary, &declaration, name);
    binary->declared_name[binary->declared_names++] = text;
    return text;
}

static const char *scope_prefix(struct hd_binary *binary, uint32_t scope) {
    return scope == HD_NONE ? NULL : hd_scope_name(binary, scope);
}

const char *hd_qualified_name(struct hd_binary *binary, Dwarf_Die *die, uint32_t scope) {
    const char *name = dwarf_diename(die), *symbol = linkage_name(die);
    bool in_function = scope != HD_NONE && binary->scope[scope].kind != HD_SCOPE_NAMESPACE;
    bool is_variable = dwarf_tag(die) == DW_TAG_variable;
    /* the demangled name of a static local repeats its function's parameters */
    if (symbol && !(is_variable && in_function) && hd_demangle_can(symbol))
        return hd_demangle(binary->pool, symbol);
    if (!name) return symbol ? hd_pool_text(binary->pool, symbol) : NULL;
    if (!(is_variable && in_function)) {
        const char *declared = declared_name(binary, die, name);
        if (declared) return declared;
        if (in_function)
            return hd_pool_text(binary->pool, name); /* an inlined or nested function */
    }
    return join(binary, scope_prefix(binary, scope), name);
}

/* gcc gives functions local to others (lambdas) no linkage name; their symbols have it. */
static const char *name_by_symbol(struct hd_binary *binary, Dwarf_Die *die) {
    Dwarf_Addr lo;
    uint64_t start;
    if (linkage_name(die) || dwarf_lowpc(die, &lo)) return NULL;
    const struct hd_symbol *symbol = hd_binary_symbol(binary, lo, true, &start, NULL);
    if (!symbol || start != lo || !hd_demangle_can(symbol->raw)) return NULL;
    return hd_symbol_name(binary, symbol);
}

const char *hd_scope_name(struct hd_binary *binary, uint32_t index) {
    struct hd_scope *scope = &binary->scope[index];
    if (scope->name) return scope->name;
    const char *name;
    if (scope->kind == HD_SCOPE_NAMESPACE) {
        const char *own = dwarf_diename(&scope->die);
        const char *outer = scope_prefix(binary, scope->parent);
        name = own ? join(binary, outer, own) : outer ? outer : "";
    } else {
        name = name_by_symbol(binary, &scope->die);
        if (!name) name = hd_qualified_name(binary, &scope->die, scope->parent);
        if (!name) name = HD_NAMELESS;
    }
    binary->scope[index].name = name;
    return name;
}
