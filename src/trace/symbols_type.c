/* From a byte range inside a variable to the expression a programmer writes for it: members, array
 * elements, bit fields, bases. Types come from untrusted DWARF, so depth and steps are bounded. */
#include "trace/symbols_binary.h"

#include <dwarf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEEPEST_TYPE 48
#define MOST_STEPS 20000
#define MOST_DIMENSIONS 8
#define MOST_LISTED 3

/* How well an expression fits the bytes; larger is better. */
enum fit { FIT_NONE, FIT_INSIDE, FIT_AGGREGATE, FIT_SCALAR };

struct query {
    char *text;
    size_t used, size;
    uint32_t steps;
};

static void append(struct query *query, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct query *query, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(query->text + query->used, query->size - query->used, format, list);
    va_end(list);
    if (length > 0) query->used += (size_t)length;
    if (query->used >= query->size) query->used = query->size - 1;
}

static void cut(struct query *query, size_t used) {
    query->used = used;
    query->text[used] = 0;
}

/* ---- types -------------------------------------------------------------------------------- */

bool hd_type_of(Dwarf_Die *die, Dwarf_Die *type) {
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type);
}

/* Takes typedefs and qualifiers off, and follows a declaration to its type unit. */
bool hd_type_peel(Dwarf_Die *type) {
    for (unsigned i = 0; i < DEEPEST_TYPE; i++) {
        Dwarf_Die inner;
        Dwarf_Attribute signature;
        switch (dwarf_tag(type)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_immutable_type:
        case DW_TAG_packed_type:
        case DW_TAG_shared_type:
            if (!hd_type_of(type, &inner)) return false;
            *type = inner;
            continue;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
            if (dwarf_attr(type, DW_AT_signature, &signature) &&
                dwarf_formref_die(&signature, &inner)) {
                *type = inner;
                continue;
            }
            return true;
        default:
            return true;
        }
    }
    return false;
}

static bool number(Dwarf_Die *die, unsigned name, uint64_t *value) {
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formudata(&attribute, &word))
        return false;
    *value = word;
    return true;
}

/* Extents of an array, outermost first; 0 is an unknown one. */
static unsigned dimensions(Dwarf_Die *array, uint64_t extent[MOST_DIMENSIONS]) {
    Dwarf_Die child;
    unsigned count = 0, limit = MOST_DIMENSIONS * 4; /* a damaged file may go round in circles */
    if (dwarf_child(array, &child)) return 0;
    do {
        uint64_t lower = 0, upper;
        int tag = dwarf_tag(&child);
        if (tag != DW_TAG_subrange_type && tag != DW_TAG_enumeration_type) continue;
        if (count == MOST_DIMENSIONS) return 0;
        extent[count] = 0;
        number(&child, DW_AT_lower_bound, &lower);
        if (number(&child, DW_AT_count, &upper))
            extent[count] = upper;
        else if (number(&child, DW_AT_upper_bound, &upper) && upper >= lower && upper < INT64_MAX)
            extent[count] = upper - lower + 1;
        count++;
    } while (--limit && !dwarf_siblingof(&child, &child));
    return count;
}

static uint64_t type_size(Dwarf_Die *given, unsigned depth) {
    Dwarf_Die type = *given, element;
    uint64_t size, extent[MOST_DIMENSIONS];
    if (depth > DEEPEST_TYPE || !hd_type_peel(&type)) return 0;
    if (number(&type, DW_AT_byte_size, &size)) return size;
    int tag = dwarf_tag(&type);
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
        tag == DW_TAG_rvalue_reference_type)
        return sizeof(void *);
    if (tag == DW_TAG_enumeration_type && hd_type_of(&type, &element))
        return type_size(&element, depth + 1);
    if (tag != DW_TAG_array_type || !hd_type_of(&type, &element)) return 0;
    size = type_size(&element, depth + 1);
    unsigned count = dimensions(&type, extent);
    for (unsigned i = 0; i < count; i++)
        if (__builtin_mul_overflow(size, extent[i], &size)) return 0;
    return count ? size : 0;
}

uint64_t hd_type_size(Dwarf_Die *type) { return type_size(type, 0); }

/* ---- members ------------------------------------------------------------------------------ */

struct member {
    Dwarf_Die type;
    const char *name; /* NULL for an anonymous member or a base class */
    uint64_t lo, hi;  /* bytes in the aggregate */
    bool bits;
};

static bool member_offset(Dwarf_Die *die, uint64_t *offset) {
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    *offset = 0;
    if (!dwarf_attr_integrate(die, DW_AT_data_member_location, &attribute)) return true;
    if (!dwarf_formudata(&attribute, &word)) {
        *offset = word;
        return true;
    }
    Dwarf_Op *op;
    size_t ops;
    if (dwarf_getlocation(&attribute, &op, &ops) || ops != 1 || op[0].atom != DW_OP_plus_uconst)
        return false; /* a virtual base: its place is known at run time only */
    *offset = op[0].number;
    return true;
}

static bool read_member(Dwarf_Die *die, struct member *member) {
    int tag = dwarf_tag(die);
    uint64_t bits, bit_offset, storage;
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return false;
    if (dwarf_hasattr(die, DW_AT_external) || dwarf_hasattr(die, DW_AT_declaration) ||
        dwarf_hasattr(die, DW_AT_const_value))
        return false; /* static members live elsewhere */
    if (!hd_type_of(die, &member->type) || !member_offset(die, &member->lo)) return false;
    member->name = tag == DW_TAG_member ? dwarf_diename(die) : NULL;
    if (member->name && !*member->name) member->name = NULL;
    member->bits = number(die, DW_AT_bit_size, &bits);
    if (!member->bits) {
        uint64_t size = hd_type_size(&member->type);
        return !__builtin_add_overflow(member->lo, size, &member->hi);
    }
    if (number(die, DW_AT_data_bit_offset, &bit_offset)) {
        /* counts from the start of the aggregate */
        member->lo = 0;
    } else if (number(die, DW_AT_bit_offset, &bit_offset)) {
        /* DWARF 3 counts from the most significant bit of the storage unit */
        if (!number(die, DW_AT_byte_size, &storage)) storage = hd_type_size(&member->type);
        if (storage > 64 || bit_offset + bits > storage * 8) return false;
        bit_offset = storage * 8 - bit_offset - bits;
    } else {
        bit_offset = 0;
    }
    if (bits > 4096 || bit_offset > UINT64_MAX / 2 || member->lo > UINT64_MAX / 4) return false;
    member->hi = member->lo + (bit_offset + bits + 7) / 8;
    member->lo += bit_offset / 8;
    return true;
}

/* What libraries keep inside their types is not what a programmer wrote: a std::atomic or a
 * pthread_mutex_t is shown as a whole. */
static bool is_internal(Dwarf_Die *die, const char *name) {
    if (!name || name[0] != '_') return false;
    if (name[1] == 'M' && name[2] == '_') return true;
    if (name[1] != '_') return false;
    /* not dwarf_decl_file: it asserts on units without a line table */
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    uint64_t index;
    if (!number(die, DW_AT_decl_file, &index) || !dwarf_diecu(die, &unit, NULL, NULL) ||
        dwarf_getsrcfiles(&unit, &files, &count) || index >= count)
        return false;
    const char *file = dwarf_filesrc(files, index, NULL, NULL);
    return file && !strncmp(file, "/usr/", 5);
}

/* ---- parts -------------------------------------------------------------------------------- */

static enum fit part(struct query *query, Dwarf_Die *type, uint64_t offset, uint64_t size,
                     unsigned depth);

/* Several members at once: all of them are the aggregate itself, some are listed. */
static enum fit list_members(struct query *query, Dwarf_Die *type, uint64_t offset, uint64_t size) {
    Dwarf_Die die;
    uint32_t members = 0, touched = 0, bits = 0, listed = 0;
    if (dwarf_child(type, &die)) return FIT_INSIDE;
    size_t before = query->used;
    const char *last = NULL;
    append(query, ".{");
    do {
        struct member member;
        if (query->steps++ > MOST_STEPS) break;
        if (!read_member(&die, &member) || member.lo == member.hi) continue;
        members++;
        if (member.hi <= offset || offset + size <= member.lo) continue;
        touched++;
        bits += member.bits;
        last = member.name ? member.name : "...";
        if (listed < MOST_LISTED) {
            append(query, "%s%s", listed ? "," : "", last);
            listed++;
        }
    } while (!dwarf_siblingof(&die, &die));
    if (!touched) { /* padding, or a type that is only declared here */
        cut(query, before);
        if (offset) append(query, "+%llu", (unsigned long long)offset);
        return offset || members ? FIT_INSIDE : FIT_AGGREGATE;
    }
    if (touched == members && bits < members) {
        cut(query, before);
        return offset ? FIT_INSIDE : FIT_AGGREGATE;
    }
    if (touched == 1) {
        cut(query, before);
        if (last) append(query, ".%s", last);
        return FIT_INSIDE;
    }
    if (touched > listed) append(query, "%s%s", touched > listed + 1 ? ",..," : ",", last);
    append(query, "}");
    return FIT_INSIDE;
}

/* A member whose type is only declared in this unit reaches to the next member. */
static void extend_unknown(struct query *query, Dwarf_Die *type, uint64_t whole,
                           struct member *member) {
    Dwarf_Die die;
    uint64_t next = whole;
    if (member->hi != member->lo || dwarf_child(type, &die)) return;
    do {
        struct member other;
        if (read_member(&die, &other) && other.lo > member->lo && other.lo < next) next = other.lo;
    } while (query->steps++ < MOST_STEPS && !dwarf_siblingof(&die, &die));
    if (next > member->lo) member->hi = next;
}

static enum fit struct_part(struct query *query, Dwarf_Die *type, uint64_t offset, uint64_t size,
                            unsigned depth) {
    Dwarf_Die die, best_die;
    struct member member;
    enum fit best = FIT_NONE;
    uint64_t whole = type_size(type, 0);
    size_t before = query->used;
    bool covered = offset == 0 && size >= whole;
    if (dwarf_child(type, &die)) {
        if (offset) append(query, "+%llu", (unsigned long long)offset);
        return offset ? FIT_INSIDE : FIT_AGGREGATE;
    }
    do {
        if (query->steps++ > MOST_STEPS) break;
        if (!read_member(&die, &member) || member.bits) continue;
        extend_unknown(query, type, whole, &member);
        /* a flexible array at the end has no size of its own */
        bool open = member.lo == member.hi && member.lo == whole && offset >= member.lo;
        if (offset < member.lo || (!open && offset + size > member.hi)) continue;
        if (is_internal(&die, member.name)) {
            cut(query, before);
            return FIT_SCALAR;
        }
        if (member.name) append(query, ".%s", member.name);
        enum fit fit = part(query, &member.type, offset - member.lo, size, depth + 1);
        if (fit == FIT_SCALAR) return fit;
        cut(query, before);
        if (fit > best) {
            best = fit;
            best_die = die;
        }
    } while (!dwarf_siblingof(&die, &die));
    /* an access to all of it is called by the aggregate's name */
    if (best == FIT_NONE || (covered && dwarf_tag(type) != DW_TAG_union_type))
        return list_members(query, type, offset, size);
    if (covered) return FIT_AGGREGATE;
    if (!read_member(&best_die, &member)) return FIT_INSIDE;
    if (member.name) append(query, ".%s", member.name);
    return part(query, &member.type, offset - member.lo, size, depth + 1);
}

static enum fit array_part(struct query *query, Dwarf_Die *type, uint64_t offset, uint64_t size,
                           unsigned depth) {
    Dwarf_Die element;
    uint64_t extent[MOST_DIMENSIONS], row[MOST_DIMENSIONS];
    unsigned count = dimensions(type, extent);
    uint64_t element_size = hd_type_of(type, &element) ? type_size(&element, depth) : 0;
    size_t before = query->used;
    if (!count || !element_size) return offset ? FIT_INSIDE : FIT_AGGREGATE;
    uint64_t bytes = element_size; /* of one row of the present dimension */
    for (unsigned i = count; i-- > 0;) {
        row[i] = bytes;
        if (i && (!extent[i] || __builtin_mul_overflow(bytes, extent[i], &bytes)))
            return FIT_INSIDE;
    }
    uint64_t start = offset;
    for (unsigned i = 0; i < count; i++) {
        uint64_t first = offset / row[i], within = offset % row[i];
        if (within + size > row[i]) {
            if (!within && size == row[i] * extent[i]) return i ? FIT_INSIDE : FIT_AGGREGATE;
            if (!within && size % row[i] == 0)
                append(query, "[%llu..%llu]", (unsigned long long)first,
                       (unsigned long long)(first + size / row[i] - 1));
            else if (extent[i] && offset == 0 && size > row[i] * extent[i])
                return FIT_AGGREGATE;
            else
                append(query, "[%llu..]", (unsigned long long)first);
            return FIT_INSIDE;
        }
        append(query, "[%llu]", (unsigned long long)first);
        offset = within;
    }
    enum fit fit = part(query, &element, offset, size, depth + 1);
    /* an array of one aggregate, touched as a whole */
    if (fit != FIT_SCALAR && start == 0 && extent[0] && size >= row[0] * extent[0]) {
        cut(query, before);
        return FIT_AGGREGATE;
    }
    return fit;
}

static enum fit part(struct query *query, Dwarf_Die *given, uint64_t offset, uint64_t size,
                     unsigned depth) {
    Dwarf_Die type = *given;
    if (depth > DEEPEST_TYPE || query->steps++ > MOST_STEPS || !hd_type_peel(&type))
        return FIT_INSIDE;
    switch (dwarf_tag(&type)) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return struct_part(query, &type, offset, size, depth);
    case DW_TAG_array_type:
        return array_part(query, &type, offset, size, depth);
    default:
        if (offset) append(query, "+%llu", (unsigned long long)offset);
        return !offset && size == type_size(&type, 0) ? FIT_SCALAR : FIT_INSIDE;
    }
}

void hd_type_part(Dwarf_Die *type, uint64_t offset, uint64_t size, char *text, size_t text_size) {
    struct query query = {.text = text, .size = text_size};
    text[0] = 0;
    if (offset > UINT64_MAX / 4) return;
    if (!size) size = 1;
    if (size > UINT64_MAX / 4) size = UINT64_MAX / 4;
    part(&query, type, offset, size, 0);
}

/* ---- structures that pointers lead to ----------------------------------------------------- */

bool hd_type_scalar_at(Dwarf_Die *type, uint64_t offset) {
    uint64_t extent[MOST_DIMENSIONS];
    for (unsigned depth = 0; depth < DEEPEST_TYPE && hd_type_peel(type); depth++) {
        Dwarf_Die die, element;
        struct member member;
        bool inside = false;
        unsigned limit = MOST_STEPS;
        switch (dwarf_tag(type)) {
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            if (dwarf_child(type, &die) != 0) return false;
            do {
                inside = read_member(&die, &member) && !member.bits && member.lo <= offset &&
                         offset < member.hi;
            } while (!inside && --limit != 0 && dwarf_siblingof(&die, &die) == 0);
            if (!inside) return false;
            offset -= member.lo;
            *type = member.type;
            continue;
        case DW_TAG_array_type:
            if (!hd_type_of(type, &element) || dimensions(type, extent) != 1) return false;
            if (hd_type_size(&element) == 0) return false;
            offset %= hd_type_size(&element);
            *type = element;
            continue;
        case DW_TAG_union_type:
            return false; /* nobody knows which member it is */
        default:
            return offset == 0;
        }
    }
    return false;
}

/* Whether its last member is an array that goes on as far as there is memory. */
static bool is_open_ended(Dwarf_Die *type) {
    Dwarf_Die die, last = {0};
    uint64_t extent[MOST_DIMENSIONS];
    unsigned limit = MOST_STEPS;
    bool any = false;
    if (dwarf_tag(type) == DW_TAG_union_type || dwarf_child(type, &die) != 0) return false;
    do {
        struct member member;
        if (!read_member(&die, &member)) continue;
        last = member.type;
        any = true;
    } while (--limit != 0 && dwarf_siblingof(&die, &die) == 0);
    return any && hd_type_peel(&last) && dwarf_tag(&last) == DW_TAG_array_type &&
           dimensions(&last, extent) == 1 && extent[0] == 0;
}

/* "struct queue" in C, "Queue" in C++, "queue_t" of a type that has no other name. */
static const char *structure_name(struct hd_binary *binary, Dwarf_Die *type, const char *alias) {
    const char *name = dwarf_diename(type);
    if (name == NULL) return alias != NULL ? hd_pool_text(binary->pool, alias) : NULL;
    Dwarf_Die unit;
    int language = dwarf_diecu(type, &unit, NULL, NULL) != NULL ? dwarf_srclang(&unit) : -1;
    bool c = language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
             language == DW_LANG_C11;
    if (!c) return hd_pool_text(binary->pool, name);
    return hd_pool_format(binary->pool, "%s %s",
                          dwarf_tag(type) == DW_TAG_union_type ? "union" : "struct", name);
}

bool hd_pointee_make(struct hd_binary *binary, Dwarf_Die *declared, struct hd_pointee *to) {
    const char *alias = NULL;
    Dwarf_Die type = *declared, inner;
    for (unsigned i = 0; i < DEEPEST_TYPE && dwarf_tag(&type) != DW_TAG_structure_type; i++) {
        if (dwarf_tag(&type) == DW_TAG_typedef) alias = dwarf_diename(&type);
        if (!hd_type_of(&type, &inner)) break;
        type = inner;
    }
    type = *declared;
    if (!hd_type_peel(&type)) return false;
    int tag = dwarf_tag(&type);
    if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_union_type)
        return false;
    *to = (struct hd_pointee){.binary = binary, .type = type, .bytes = hd_type_size(&type)};
    if (to->bytes == 0) return false; /* only declared here */
    to->open_ended = is_open_ended(&type);
    to->name = structure_name(binary, &type, alias);
    return to->name != NULL;
}

const char *hd_pointee_part(const struct hd_pointee *from, uint64_t offset, uint64_t size) {
    struct hd_pointee pointee = *from;
    char part_text[512];
    hd_binaries_lock();
    hd_type_part(&pointee.type, offset, size, part_text, sizeof part_text);
    const char *text = hd_pool_text(pointee.binary->pool, part_text);
    hd_binaries_unlock();
    return text;
}
