/* What heap memory is, from debug information and the machine's code: the program keeps what an
 * allocating call returned in a pointer to some structure, and touches memory through such
 * pointers. A value is followed through registers and the frame from the call's return address on,
 * over a few instructions; what is not certain is not said. Files are untrusted input: every walk
 * is bounded. */
#include "trace/symbols_binary.h"
#include "trace/symbols_machine.h"

#include <dwarf.h>
#include <string.h>

#define MOST_STEPS 96u
#define MOST_PATHS 8u
#define MOST_SLOTS 6u
#define ACCESS_STEPS 12u
#define MOST_DIES 50000u
#define DEEPEST_BLOCK 64u
#define RAX 0u
#define RDI 7u

enum what { NOTHING, ZERO, RESULT, POINTER };

/* What a register holds: with POINTER, the address of a structure and some bytes. */
struct value {
    enum what what;
    int64_t delta;
    struct hd_pointee to;
};

/* A place in the frame that holds a value. */
struct slot {
    int64_t offset;
    struct value value;
};

struct path {
    uint64_t pc;
    struct value reg[HD_REGISTERS];
    struct slot slot[MOST_SLOTS];
    uint32_t slots;
};

struct walk {
    struct hd_binary *binary;
    Dwarf_Die function;
    uint64_t bytes; /* of the block; 0: any structure will do */
    uint32_t steps, dies;
    bool found, contradiction, returned, returned_other;
    struct hd_pointee type;
};

/* ---- types ---------------------------------------------------------------------------------- */

static bool fits(const struct hd_pointee *type, uint64_t bytes) {
    return bytes == 0 || type->bytes == bytes || (type->open_ended && type->bytes < bytes);
}

/* The structure that a variable or member of this type points to. */
static bool pointed_to(struct walk *walk, Dwarf_Die *declared, struct hd_pointee *to) {
    Dwarf_Die type = *declared, inner;
    if (!hd_type_peel(&type) || dwarf_tag(&type) != DW_TAG_pointer_type ||
        !hd_type_of(&type, &inner))
        return false;
    return hd_pointee_make(walk->binary, &inner, to) && fits(to, walk->bytes);
}

static void found(struct walk *walk, const struct hd_pointee *type) {
    if (walk->found &&
        (walk->type.bytes != type->bytes || strcmp(walk->type.name, type->name) != 0))
        walk->contradiction = true;
    walk->found = true;
    walk->type = *type;
}

/* ---- variables in registers ----------------------------------------------------------------- */

/* A variable's value at an address is a register's and some bytes. */
static bool in_register(Dwarf_Die *die, uint64_t pc, unsigned *reg, int64_t *plus) {
    Dwarf_Attribute attribute;
    Dwarf_Op *list;
    size_t count;
    if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
        dwarf_getlocation_addr(&attribute, pc, &list, &count, 1) != 1)
        return false;
    *plus = 0;
    if (count == 1 && list[0].atom >= DW_OP_reg0 && list[0].atom <= DW_OP_reg15) {
        *reg = hd_register_by_dwarf(list[0].atom - DW_OP_reg0);
        return true;
    }
    if (count != 2 || list[1].atom != DW_OP_stack_value || list[0].atom < DW_OP_breg0 ||
        list[0].atom > DW_OP_breg15)
        return false;
    *reg = hd_register_by_dwarf(list[0].atom - DW_OP_breg0);
    *plus = (int64_t)list[0].number;
    return true;
}

/* The largest structure that a variable in the register points to: a base and what is derived from
 * it begin at the same place. */
static void look_for(struct walk *walk, Dwarf_Die *scope, uint64_t pc, unsigned reg,
                     struct value *best, unsigned depth) {
    Dwarf_Die die, type;
    if (depth > DEEPEST_BLOCK || dwarf_child(scope, &die) != 0) return;
    do {
        if (walk->dies++ > MOST_DIES) return;
        unsigned held_in;
        int64_t plus;
        struct hd_pointee to;
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
        case DW_TAG_formal_parameter:
            if (in_register(&die, pc, &held_in, &plus) && held_in == reg &&
                hd_type_of(&die, &type) && pointed_to(walk, &type, &to) &&
                (best->what == NOTHING || to.bytes > best->to.bytes))
                *best = (struct value){POINTER, -plus, to};
            break;
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
            if (dwarf_haspc(&die, pc) == 1) look_for(walk, &die, pc, reg, best, depth + 1);
            break;
        default:
            break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

static struct value variable_in(struct walk *walk, uint64_t pc, unsigned reg) {
    struct value best = {.what = NOTHING};
    look_for(walk, &walk->function, pc, reg, &best, 0);
    return best;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Where in the frame an instruction's memory is, from the canonical frame address. */
static bool in_frame(struct walk *walk, const struct path *path,
                     const struct hd_instruction *instruction, int64_t *offset) {
    if (instruction->base >= HD_REGISTERS || instruction->index != HD_NO_REGISTER) return false;
    if (!hd_register_offset(walk->binary, path->pc, hd_register_to_dwarf(instruction->base),
                            offset))
        return false;
    return !__builtin_add_overflow(*offset, instruction->displacement, offset);
}

static struct value value_of(struct walk *walk, const struct path *path, unsigned reg) {
    if (reg >= HD_REGISTERS) return (struct value){.what = NOTHING};
    return path->reg[reg].what != NOTHING ? path->reg[reg] : variable_in(walk, path->pc, reg);
}

/* The declared type of the memory of an instruction: a variable of the frame, a global variable, or
 * a member of what a register points to. */
static bool declared_type(struct walk *walk, const struct path *path,
                          const struct hd_instruction *instruction, Dwarf_Die *type) {
    int64_t offset, start;
    Dwarf_Die variable;
    if (instruction->base == HD_RIP)
        return hd_binary_data_type(walk->binary, (uint64_t)instruction->displacement, type);
    if (in_frame(walk, path, instruction, &offset))
        return hd_frame_variable(walk->binary, path->pc, offset, &variable, &start) &&
               hd_type_of(&variable, type) && offset >= start &&
               hd_type_scalar_at(type, (uint64_t)(offset - start));
    if (instruction->index != HD_NO_REGISTER) return false;
    /* any structure may hold the pointer */
    uint64_t bytes = walk->bytes;
    walk->bytes = 0;
    struct value value = value_of(walk, path, instruction->base);
    walk->bytes = bytes;
    if (value.what != POINTER ||
        __builtin_add_overflow(value.delta, instruction->displacement, &offset) || offset < 0)
        return false;
    *type = value.to.type;
    return hd_type_scalar_at(type, (uint64_t)offset);
}

/* ---- one instruction ------------------------------------------------------------------------ */

static void forget(struct path *path, unsigned reg) {
    if (reg < HD_REGISTERS) path->reg[reg] = (struct value){.what = NOTHING};
}

static void forget_after_call(struct path *path) {
    static const uint8_t changed[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
    for (size_t i = 0; i < sizeof changed; i++) forget(path, changed[i]);
}

static struct slot *slot_at(struct path *path, int64_t offset) {
    for (uint32_t i = 0; i < path->slots; i++)
        if (path->slot[i].offset == offset) return &path->slot[i];
    return NULL;
}

static void store_in_slot(struct path *path, int64_t offset, const struct value *value) {
    struct slot *slot = slot_at(path, offset);
    if (slot == NULL && value->what != NOTHING && path->slots < MOST_SLOTS) {
        slot = &path->slot[path->slots++];
        slot->offset = offset;
    }
    if (slot != NULL) slot->value = *value;
}

static struct value loaded(struct walk *walk, struct path *path,
                           const struct hd_instruction *instruction) {
    struct value value = {.what = NOTHING};
    int64_t offset;
    Dwarf_Die type;
    const struct slot *slot =
        in_frame(walk, path, instruction, &offset) ? slot_at(path, offset) : NULL;
    if (slot != NULL && slot->value.what != NOTHING) return slot->value;
    uint64_t bytes = walk->bytes;
    walk->bytes = 0;
    if (declared_type(walk, path, instruction, &type) && pointed_to(walk, &type, &value.to))
        value.what = POINTER;
    walk->bytes = bytes;
    return value;
}

/* The sum of a value and some bytes. */
static struct value plus(struct value value, int64_t bytes) {
    if (value.what == POINTER && !__builtin_add_overflow(value.delta, bytes, &value.delta))
        return value;
    if (value.what == RESULT && bytes == 0) return value;
    return (struct value){.what = NOTHING};
}

/* What registers hold after it. */
static void carry_out(struct walk *walk, struct path *path,
                      const struct hd_instruction *instruction) {
    struct value value = {.what = NOTHING};
    int64_t offset;
    switch (instruction->kind) {
    case HD_DOES_MOVE:
        value = value_of(walk, path, instruction->from);
        break;
    case HD_DOES_LOAD:
        value = loaded(walk, path, instruction);
        break;
    case HD_DOES_STORE:
        if (in_frame(walk, path, instruction, &offset)) {
            value = value_of(walk, path, instruction->from);
            store_in_slot(path, offset, &value);
        }
        return;
    case HD_DOES_LEA:
        if (instruction->index == HD_NO_REGISTER && instruction->base != HD_RIP)
            value = plus(value_of(walk, path, instruction->base), instruction->displacement);
        break;
    case HD_DOES_ADD:
        value = plus(value_of(walk, path, instruction->to), instruction->displacement);
        break;
    case HD_DOES_ZERO:
        value.what = ZERO;
        break;
    case HD_DOES_CALL:
        forget_after_call(path);
        return;
    case HD_DOES_OTHER:
        forget(path, instruction->from);
        break;
    default:
        return;
    }
    if (instruction->to < HD_REGISTERS) path->reg[instruction->to] = value;
}

static bool read_at(struct walk *walk, uint64_t pc, struct hd_instruction *instruction) {
    size_t room;
    const uint8_t *code = hd_binary_code(walk->binary, pc, &room);
    return code != NULL && hd_instruction_read(code, room, pc, instruction);
}

static bool begin(struct walk *walk, struct hd_binary *binary, uint64_t address) {
    *walk = (struct walk){.binary = binary};
    if (!hd_binary_is_x86_64(binary)) return false;
    uint32_t scope = hd_binary_function(binary, address - 1);
    if (scope == HD_NONE) return false;
    walk->function = binary->scope[scope].die;
    return true;
}

/* ---- where an allocation's result goes ------------------------------------------------------ */

/* A function that takes it as its first argument says what it is: a constructor, say. */
static bool argument_of(struct walk *walk, uint64_t target, struct hd_pointee *to) {
    uint32_t scope = target != 0 ? hd_binary_function(walk->binary, target) : HD_NONE;
    Dwarf_Die die, type;
    Dwarf_Addr start;
    if (scope == HD_NONE || dwarf_lowpc(&walk->binary->scope[scope].die, &start) != 0 ||
        start != target || dwarf_child(&walk->binary->scope[scope].die, &die) != 0)
        return false;
    while (dwarf_tag(&die) != DW_TAG_formal_parameter)
        if (walk->dies++ > MOST_DIES || dwarf_siblingof(&die, &die) != 0) return false;
    return hd_type_of(&die, &type) && pointed_to(walk, &type, to);
}

/* Whether this place of a path says it; the path then ends. */
static bool says_type(struct walk *walk, const struct path *path,
                      const struct hd_instruction *instruction) {
    struct hd_pointee to;
    Dwarf_Die type;
    for (unsigned reg = 0; reg < HD_REGISTERS; reg++) {
        if (path->reg[reg].what != RESULT) continue;
        struct value value = variable_in(walk, path->pc, reg);
        if (value.what == POINTER && value.delta == 0) {
            found(walk, &value.to);
            return true;
        }
    }
    bool stored = instruction->kind == HD_DOES_STORE && instruction->from < HD_REGISTERS &&
                  path->reg[instruction->from].what == RESULT;
    bool passed = instruction->kind == HD_DOES_CALL && path->reg[RDI].what == RESULT;
    bool returned = instruction->kind == HD_DOES_RETURN && path->reg[RAX].what == RESULT;
    if ((stored && declared_type(walk, path, instruction, &type) && pointed_to(walk, &type, &to)) ||
        (passed && argument_of(walk, instruction->target, &to)) ||
        (returned && hd_type_of(&walk->function, &type) && pointed_to(walk, &type, &to))) {
        found(walk, &to);
        return true;
    }
    return false;
}

static bool has_result(const struct path *path) {
    for (unsigned reg = 0; reg < HD_REGISTERS; reg++)
        if (path->reg[reg].what == RESULT) return true;
    for (uint32_t i = 0; i < path->slots; i++)
        if (path->slot[i].value.what == RESULT) return true;
    return false;
}

static void follow(struct walk *walk, struct path *waiting, uint32_t *count) {
    struct path path = waiting[--*count];
    struct hd_instruction instruction;
    while (walk->steps++ < MOST_STEPS && read_at(walk, path.pc, &instruction)) {
        if (says_type(walk, &path, &instruction)) return;
        uint64_t next = path.pc + instruction.length;
        switch (instruction.kind) {
        case HD_DOES_RETURN:
            walk->returned |= path.reg[RAX].what == RESULT;
            walk->returned_other |= path.reg[RAX].what != RESULT && path.reg[RAX].what != ZERO;
            return;
        case HD_DOES_JUMP:
            next = instruction.target;
            break;
        case HD_DOES_BRANCH:
            if (*count == MOST_PATHS || dwarf_haspc(&walk->function, instruction.target) != 1) {
                walk->returned_other = true;
                break;
            }
            waiting[*count] = path;
            waiting[(*count)++].pc = instruction.target;
            break;
        default:
            carry_out(walk, &path, &instruction);
        }
        if (!has_result(&path) && path.reg[RAX].what != ZERO) {
            /* it went where nobody can follow, or the path is that of an error */
            walk->returned_other = true;
            return;
        }
        if (dwarf_haspc(&walk->function, next) != 1) {
            /* after a call that never returns, there is no more */
            walk->returned_other |= instruction.kind == HD_DOES_JUMP;
            return;
        }
        path.pc = next;
    }
    walk->returned_other = true;
}

bool hd_binary_allocated(struct hd_binary *binary, uint64_t address, uint64_t bytes,
                         struct hd_pointee *type, bool *returned) {
    struct walk walk;
    struct path waiting[MOST_PATHS];
    uint32_t count = 1;
    *returned = false;
    if (bytes == 0 || !begin(&walk, binary, address)) return false;
    walk.bytes = bytes;
    waiting[0] = (struct path){.pc = address};
    waiting[0].reg[RAX].what = RESULT;
    while (count > 0) follow(&walk, waiting, &count);
    *returned = !walk.found && walk.returned && !walk.returned_other;
    *type = walk.type;
    return walk.found && !walk.contradiction;
}

/* ---- what an access goes through ------------------------------------------------------------ */

bool hd_binary_accessed(struct hd_binary *binary, uint64_t address, uint64_t size, bool write,
                        struct hd_pointee *type, uint64_t *offset) {
    struct walk walk;
    struct path path = {.pc = address};
    struct hd_instruction instruction;
    int64_t within;
    bool crossed = false; /* a call: then the access is one that reads and writes */
    if (!begin(&walk, binary, address)) return false;
    for (unsigned step = 0; step < ACCESS_STEPS && read_at(&walk, path.pc, &instruction); step++) {
        bool touches = instruction.reads || instruction.writes;
        if (touches && instruction.base != HD_RIP &&
            !in_frame(&walk, &path, &instruction, &within)) {
            bool right = instruction.memory_bytes == size &&
                         (write ? instruction.writes : instruction.reads) &&
                         (!crossed || (instruction.reads && instruction.writes));
            struct value value = value_of(&walk, &path, instruction.base);
            if (!right || instruction.index != HD_NO_REGISTER || value.what != POINTER ||
                __builtin_add_overflow(value.delta, instruction.displacement, &within) ||
                within < 0)
                return false;
            *type = value.to;
            *offset = (uint64_t)within;
            return *offset < type->bytes && size <= type->bytes - *offset;
        }
        if (instruction.kind == HD_DOES_CALL) {
            if (write) return false;
            crossed = true;
        } else if (instruction.kind >= HD_DOES_JUMP) {
            return false;
        }
        carry_out(&walk, &path, &instruction);
        path.pc += instruction.length;
    }
    return false;
}
