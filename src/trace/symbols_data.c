/* From a data address to a variable: DWARF gives name and type, the symbol table gives the name of
 * what DWARF does not know and the size of what it leaves open. */
#include "trace/symbols_binary.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

static uint64_t object_end(struct hd_binary *binary, struct hd_data_object *object) {
    if (object->hi) return object->hi;
    Dwarf_Die type;
    uint64_t size = hd_type_of(&object->die, &type) ? hd_type_size(&type) : 0;
    uint64_t lo, hi;
    if (__builtin_add_overflow(object->lo, size, &object->hi)) object->hi = object->lo;
    /* a structure with a flexible array at its end is larger than its type */
    if (hd_binary_symbol(binary, object->lo, false, &lo, &hi) && lo == object->lo &&
        hi > object->hi)
        object->hi = hi;
    if (object->hi == object->lo) object->hi++;
    return object->hi;
}

/* clang leaves the function around an inlined function's statics without a name; its symbols have
 * it: "function.name", or mangled in C++. */
static const char *name_by_symbol(struct hd_binary *binary, const struct hd_data_object *object,
                                  const char *own) {
    uint64_t lo;
    const struct hd_symbol *symbol = hd_binary_symbol(binary, object->lo, false, &lo, NULL);
    if (!symbol || lo != object->lo) return own;
    const char *name = hd_symbol_name(binary, symbol), *dot = strchr(name, '.');
    if (dot && !strcmp(dot + 1, own))
        return hd_pool_format(binary->pool, "%.*s::%s", (int)(dot - name), name, own);
    return strstr(name, "::") ? name : own;
}

static const char *object_name(struct hd_binary *binary, struct hd_data_object *object) {
    if (object->name) return object->name;
    const char *own = dwarf_diename(&object->die);
    bool nameless =
        object->scope != HD_NONE && !strcmp(hd_scope_name(binary, object->scope), HD_NAMELESS);
    object->name = nameless && own ? name_by_symbol(binary, object, hd_pool_text(binary->pool, own))
                                   : hd_qualified_name(binary, &object->die, object->scope);
    return object->name;
}

/* Of several DIEs for one address (an inlined function's statics) the first that has a name. */
static struct hd_data_object *find_object(struct hd_binary *binary, uint64_t address) {
    hd_units_walk_all(binary);
    uint32_t lo = 0, hi = binary->objects;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (binary->object[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo) return NULL;
    uint64_t start = binary->object[lo - 1].lo;
    while (lo > 1 && binary->object[lo - 2].lo == start) lo--;
    for (uint32_t i = lo - 1; i < binary->objects && binary->object[i].lo == start; i++) {
        struct hd_data_object *object = &binary->object[i];
        if (address >= object_end(binary, object)) continue;
        if (object_name(binary, object)) return object;
    }
    return NULL;
}

const char *hd_binary_variable(struct hd_binary *binary, uint64_t address, uint64_t size,
                               const char **base, uint64_t *offset) {
    struct hd_data_object *object = find_object(binary, address);
    if (!object) {
        uint64_t lo;
        const struct hd_symbol *symbol = hd_binary_symbol(binary, address, false, &lo, NULL);
        if (!symbol) return NULL;
        *base = hd_symbol_name(binary, symbol);
        *offset = address - lo;
        if (!*offset) return *base;
        return hd_pool_format(binary->pool, "%s+%llu", *base, (unsigned long long)*offset);
    }
    *base = object->name;
    *offset = address - object->lo;
    char part[512] = "";
    Dwarf_Die type;
    if (hd_type_of(&object->die, &type))
        hd_type_part(&type, *offset, size, part, sizeof part);
    else if (*offset)
        snprintf(part, sizeof part, "+%llu", (unsigned long long)*offset);
    return part[0] ? hd_pool_format(binary->pool, "%s%s", *base, part) : *base;
}

bool hd_binary_data_type(struct hd_binary *binary, uint64_t address, Dwarf_Die *type) {
    struct hd_data_object *object = find_object(binary, address);
    return object != NULL && hd_type_of(&object->die, type) &&
           hd_type_scalar_at(type, address - object->lo);
}
