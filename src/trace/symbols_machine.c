/* A decoder for the instructions that compilers make of C and C++ without vector extensions. What
 * it does not know it says so; lengths are right for all that it knows. */
#include "trace/symbols_machine.h"

#include <string.h>

struct reader {
    const uint8_t *code;
    size_t bytes, at;
    bool wide, narrow, repeat, repeat_not; /* REX.W, and the prefixes 66, f3, f2 */
    unsigned rex;
    bool cut;
};

static uint8_t next(struct reader *reader) {
    if (reader->at < reader->bytes) return reader->code[reader->at++];
    reader->cut = true;
    return 0;
}

static int64_t number(struct reader *reader, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)next(reader) << 8 * i;
    if (bytes == 1) return (int8_t)value;
    if (bytes == 2) return (int16_t)value;
    return bytes == 4 ? (int32_t)value : (int64_t)value;
}

/* ---- operands ------------------------------------------------------------------------------ */

struct operands {
    unsigned reg;        /* the register, or what tells operations of one code apart */
    unsigned reg_number; /* the register with its extension */
    unsigned other;      /* the second register, if there is no memory */
    bool memory;
};

static struct operands read_operands(struct reader *reader, struct hd_instruction *to) {
    uint8_t modrm = next(reader);
    unsigned mode = modrm >> 6, low = modrm & 7;
    struct operands operands = {.reg = modrm >> 3 & 7, .memory = mode != 3};
    operands.reg_number = operands.reg | (reader->rex & 4) << 1;
    operands.other = low | (reader->rex & 1) << 3;
    if (mode == 3) return operands;
    to->base = (uint8_t)operands.other;
    if (low == 4) {
        uint8_t sib = next(reader);
        unsigned index = (sib >> 3 & 7) | (reader->rex & 2) << 2;
        to->base = (uint8_t)((sib & 7) | (reader->rex & 1) << 3);
        if (index != 4) to->index = (uint8_t)index;
        if ((sib & 7) == 5 && mode == 0) {
            to->base = HD_NO_REGISTER;
            to->index = (uint8_t)index; /* an address, or a table: never a pointer's field */
            to->displacement = number(reader, 4);
            return operands;
        }
    } else if (low == 5 && mode == 0) {
        to->base = HD_RIP; /* the address is made when the length is known */
        to->displacement = number(reader, 4);
        return operands;
    }
    if (mode == 1) to->displacement = number(reader, 1);
    if (mode == 2) to->displacement = number(reader, 4);
    return operands;
}

static unsigned operand_bytes(const struct reader *reader) {
    return reader->wide ? 8 : reader->narrow ? 2 : 4;
}

static void touches(struct hd_instruction *to, unsigned bytes, bool reads, bool writes) {
    to->memory_bytes = (uint8_t)bytes;
    to->reads = reads;
    to->writes = writes;
}

/* ---- one byte of code ---------------------------------------------------------------------- */

static void arithmetic(struct reader *reader, unsigned code, struct hd_instruction *to) {
    unsigned form = code & 7, bytes = form & 1 ? operand_bytes(reader) : 1;
    bool compares = (code & 0x38) == 0x38;
    if (form > 5) {
        to->kind = HD_DOES_UNKNOWN;
        return;
    }
    if (form > 3) { /* rax and a constant */
        number(reader, form == 4 ? 1 : reader->narrow ? 2 : 4);
        to->to = compares ? HD_NO_REGISTER : 0;
        return;
    }
    struct operands operands = read_operands(reader, to);
    bool to_memory = form < 2;
    if (operands.memory) touches(to, bytes, true, to_memory && !compares);
    if (compares) return;
    if (!to_memory)
        to->to = (uint8_t)operands.reg_number;
    else if (!operands.memory)
        to->to = (uint8_t)operands.other;
    bool same = !operands.memory && operands.reg_number == operands.other;
    if (same && form != 0 && ((code & 0x38) == 0x30 || (code & 0x38) == 0x28))
        to->kind = HD_DOES_ZERO;
}

/* 80 to 83: an operation with a constant. */
static void with_constant(struct reader *reader, unsigned code, struct hd_instruction *to) {
    struct operands operands = read_operands(reader, to);
    int64_t value = number(reader, code != 0x81 ? 1 : reader->narrow ? 2 : 4);
    bool compares = operands.reg == 7;
    if (operands.memory)
        touches(to, code == 0x80 ? 1 : operand_bytes(reader), true, !compares);
    else if (!compares)
        to->to = (uint8_t)operands.other;
    if (operands.memory || !reader->wide || (operands.reg != 0 && operands.reg != 5)) return;
    to->kind = HD_DOES_ADD;
    to->displacement = operands.reg == 0 ? value : -value;
}

/* 88 to 8b: a move. */
static void move(struct reader *reader, unsigned code, struct hd_instruction *to) {
    struct operands operands = read_operands(reader, to);
    bool load = (code & 2) != 0, whole = (code & 1) && reader->wide;
    unsigned bytes = code & 1 ? operand_bytes(reader) : 1;
    to->to = (uint8_t)(load ? operands.reg_number : operands.other);
    to->from = (uint8_t)(load ? operands.other : operands.reg_number);
    if (operands.memory) {
        touches(to, bytes, load, !load);
        if (!load) to->to = HD_NO_REGISTER;
        if (load) to->from = HD_NO_REGISTER;
        if (whole) to->kind = load ? HD_DOES_LOAD : HD_DOES_STORE;
        return;
    }
    if (whole) to->kind = HD_DOES_MOVE;
}

/* c6, c7: a constant is moved. */
static void move_constant(struct reader *reader, unsigned code, struct hd_instruction *to) {
    struct operands operands = read_operands(reader, to);
    number(reader, code == 0xc6 ? 1 : reader->narrow ? 2 : 4);
    if (operands.memory)
        touches(to, code == 0xc6 ? 1 : operand_bytes(reader), false, true);
    else
        to->to = (uint8_t)operands.other;
}

/* f6, f7: test, not, neg, multiplication and division. */
static void unary(struct reader *reader, unsigned code, struct hd_instruction *to) {
    struct operands operands = read_operands(reader, to);
    unsigned bytes = code == 0xf6 ? 1 : operand_bytes(reader);
    if (operands.reg < 2) number(reader, bytes == 8 ? 4 : bytes);
    if (operands.memory)
        touches(to, bytes, true, operands.reg == 2 || operands.reg == 3);
    else if (operands.reg == 2 || operands.reg == 3)
        to->to = (uint8_t)operands.other;
    if (operands.reg > 3) {
        to->to = 0;
        to->from = 2; /* both are changed */
    }
}

/* fe, ff: increment, decrement, call, jump, push. */
static void indirect(struct reader *reader, unsigned code, struct hd_instruction *to) {
    struct operands operands = read_operands(reader, to);
    if (operands.reg < 2) {
        if (operands.memory)
            touches(to, code == 0xfe ? 1 : operand_bytes(reader), true, true);
        else
            to->to = (uint8_t)operands.other;
        return;
    }
    if (code == 0xff && operands.reg == 2)
        to->kind = HD_DOES_CALL;
    else if (code != 0xff || operands.reg != 6)
        to->kind = HD_DOES_UNKNOWN;
    to->base = to->index = HD_NO_REGISTER; /* a pointer to code, or what is pushed */
}

static void control(struct reader *reader, enum hd_instruction_kind kind, unsigned bytes,
                    uint64_t address, struct hd_instruction *to) {
    to->kind = kind;
    int64_t distance = number(reader, bytes);
    to->target = address + reader->at + (uint64_t)distance;
}

static void one_byte(struct reader *reader, unsigned code, uint64_t address,
                     struct hd_instruction *to) {
    unsigned low = (code & 7) | (reader->rex & 1) << 3;
    struct operands operands;
    if (code < 0x40) {
        arithmetic(reader, code, to);
    } else if (code >= 0x50 && code < 0x60) { /* push, pop */
        if (code >= 0x58) to->to = (uint8_t)low;
    } else if (code >= 0x70 && code < 0x80) {
        control(reader, HD_DOES_BRANCH, 1, address, to);
    } else if (code >= 0xb0 && code < 0xc0) {
        unsigned bytes = code < 0xb8 ? 1 : reader->wide ? 8 : reader->narrow ? 2 : 4;
        int64_t value = number(reader, bytes);
        to->to = (uint8_t)low;
        if (value == 0 && bytes >= 4) to->kind = HD_DOES_ZERO;
    } else {
        switch (code) {
        case 0x63: /* movsxd */
            operands = read_operands(reader, to);
            to->to = (uint8_t)operands.reg_number;
            if (operands.memory) touches(to, 4, true, false);
            break;
        case 0x68:
            number(reader, 4);
            break;
        case 0x6a:
            number(reader, 1);
            break;
        case 0x69:
        case 0x6b: /* imul */
            operands = read_operands(reader, to);
            number(reader, code == 0x6b ? 1 : reader->narrow ? 2 : 4);
            to->to = (uint8_t)operands.reg_number;
            if (operands.memory) touches(to, operand_bytes(reader), true, false);
            break;
        case 0x80:
        case 0x81:
        case 0x83:
            with_constant(reader, code, to);
            break;
        case 0x84:
        case 0x85: /* test */
            operands = read_operands(reader, to);
            if (operands.memory) touches(to, code == 0x84 ? 1 : operand_bytes(reader), true, false);
            break;
        case 0x86:
        case 0x87: /* xchg */
            operands = read_operands(reader, to);
            to->to = (uint8_t)operands.reg_number;
            if (operands.memory)
                touches(to, code == 0x86 ? 1 : operand_bytes(reader), true, true);
            else
                to->from = (uint8_t)operands.other;
            break;
        case 0x88:
        case 0x89:
        case 0x8a:
        case 0x8b:
            move(reader, code, to);
            break;
        case 0x8d:
            operands = read_operands(reader, to);
            to->to = (uint8_t)operands.reg_number;
            to->kind = reader->wide && operands.memory ? HD_DOES_LEA : HD_DOES_OTHER;
            break;
        case 0x90:
        case 0x9c:
            break;
        case 0x98:
            to->to = 0;
            break;
        case 0x99:
            to->to = 2;
            break;
        case 0xa8:
            number(reader, 1);
            break;
        case 0xa9:
            number(reader, reader->narrow ? 2 : 4);
            break;
        case 0xc0:
        case 0xc1:
        case 0xd0:
        case 0xd1:
        case 0xd2:
        case 0xd3: /* shifts */
            operands = read_operands(reader, to);
            if (code < 0xd0) number(reader, 1);
            if (operands.memory)
                touches(to, code & 1 ? operand_bytes(reader) : 1, true, true);
            else
                to->to = (uint8_t)operands.other;
            break;
        case 0xc3:
            to->kind = HD_DOES_RETURN;
            break;
        case 0xc6:
        case 0xc7:
            move_constant(reader, code, to);
            break;
        case 0xc9: /* leave */
            to->to = 5;
            to->from = 4;
            break;
        case 0xe8:
            control(reader, HD_DOES_CALL, 4, address, to);
            break;
        case 0xe9:
            control(reader, HD_DOES_JUMP, 4, address, to);
            break;
        case 0xeb:
            control(reader, HD_DOES_JUMP, 1, address, to);
            break;
        case 0xf6:
        case 0xf7:
            unary(reader, code, to);
            break;
        case 0xfe:
        case 0xff:
            indirect(reader, code, to);
            break;
        default:
            to->kind = HD_DOES_UNKNOWN;
        }
    }
}

/* ---- two bytes: 0f and another -------------------------------------------------------------- */

/* Bytes of memory that a move of a vector register touches; 0: not known. */
static unsigned vector_bytes(const struct reader *reader, unsigned code) {
    switch (code) {
    case 0x10:
    case 0x11:
        return reader->repeat ? 4 : reader->repeat_not ? 8 : 16;
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x17:
    case 0xd6:
        return 8;
    case 0x28:
    case 0x29:
    case 0x6f:
    case 0x7f:
    case 0xe7:
        return 16;
    case 0x6e:
        return reader->wide ? 8 : 4;
    case 0x7e:
        return reader->repeat || reader->wide ? 8 : 4;
    default:
        return 0;
    }
}

static bool is_vector_store(const struct reader *reader, unsigned code) {
    return code == 0x11 || code == 0x13 || code == 0x17 || code == 0x29 || code == 0x7f ||
           code == 0xd6 || code == 0xe7 || (code == 0x7e && !reader->repeat);
}

static void two_bytes(struct reader *reader, uint64_t address, struct hd_instruction *to) {
    unsigned code = next(reader);
    if (code >= 0x80 && code < 0x90) {
        control(reader, HD_DOES_BRANCH, 4, address, to);
        return;
    }
    bool no_operands = code < 0x0d || (code >= 0x30 && code < 0x40) || code == 0xa2 ||
                       (code >= 0xc8 && code < 0xd0);
    if (no_operands) {
        to->kind = HD_DOES_UNKNOWN;
        return;
    }
    struct operands operands = read_operands(reader, to);
    bool constant = (code >= 0x70 && code < 0x74) || code == 0xa4 || code == 0xac || code == 0xba ||
                    code == 0xc2 || (code >= 0xc4 && code < 0xc7);
    if (constant) number(reader, 1);
    bool moves_byte = code == 0xb6 || code == 0xbe, moves_half = code == 0xb7 || code == 0xbf;
    bool general = (code >= 0x40 && code < 0x50) || code == 0xaf || code == 0xbc || code == 0xbd;
    if (moves_byte || moves_half || general) {
        to->to = (uint8_t)operands.reg_number;
        if (operands.memory)
            touches(to, moves_byte ? 1 : moves_half ? 2 : operand_bytes(reader), true, false);
    } else if (code >= 0x90 && code < 0xa0) { /* setcc */
        if (operands.memory)
            touches(to, 1, false, true);
        else
            to->to = (uint8_t)operands.other;
    } else if (code == 0xb0 || code == 0xb1 || code == 0xc0 || code == 0xc1) { /* cmpxchg, xadd */
        to->to = (uint8_t)(code < 0xc0 ? 0 : operands.reg_number);
        if (operands.memory)
            touches(to, code & 1 ? operand_bytes(reader) : 1, true, true);
        else
            to->from = (uint8_t)operands.other;
    } else if (code == 0x1e || code == 0x1f || code == 0x18) { /* nothing is done */
        to->base = to->index = HD_NO_REGISTER;
    } else if (operands.memory) {
        bool store = is_vector_store(reader, code);
        touches(to, vector_bytes(reader, code), !store, store);
    } else if (code == 0x7e) {
        to->to = (uint8_t)operands.other;
    } else if (code == 0x2c || code == 0x2d || code == 0x50 || code == 0xd7 || code == 0xc5) {
        to->to = (uint8_t)operands.reg_number;
    } else if (code < 0x10 || (code > 0x17 && code < 0x28) || (code > 0x9f && code < 0xc0)) {
        to->to = (uint8_t)operands.other; /* bits, and what is rare */
        to->from = (uint8_t)operands.reg_number;
    }
}

bool hd_instruction_read(const uint8_t *code, size_t bytes, uint64_t address,
                         struct hd_instruction *to) {
    struct reader reader = {.code = code, .bytes = bytes < 15 ? bytes : 15};
    *to = (struct hd_instruction){.to = HD_NO_REGISTER,
                                  .from = HD_NO_REGISTER,
                                  .base = HD_NO_REGISTER,
                                  .index = HD_NO_REGISTER};
    bool segment = false;
    unsigned byte = next(&reader);
    for (;; byte = next(&reader)) {
        if (byte == 0x66)
            reader.narrow = true;
        else if (byte == 0xf3)
            reader.repeat = true;
        else if (byte == 0xf2)
            reader.repeat_not = true;
        else if (byte == 0x64 || byte == 0x65)
            segment = true;
        else if (byte != 0xf0 && byte != 0x2e && byte != 0x3e)
            break;
        if (reader.cut) return false;
    }
    if ((byte & 0xf0) == 0x40) {
        reader.rex = byte & 15;
        reader.wide = (byte & 8) != 0;
        byte = next(&reader);
    }
    if (byte == 0x0f)
        two_bytes(&reader, address, to);
    else
        one_byte(&reader, byte, address, to);
    if (reader.cut || to->kind == HD_DOES_UNKNOWN) return false;
    to->length = (uint8_t)reader.at;
    if (to->base == HD_RIP) to->displacement += (int64_t)(address + reader.at);
    if (segment) to->base = HD_NO_REGISTER, to->index = 4; /* a thread's own memory */
    return true;
}

unsigned hd_register_by_dwarf(unsigned number) {
    static const uint8_t by_dwarf[8] = {0, 2, 1, 3, 6, 7, 5, 4};
    if (number < 8) return by_dwarf[number];
    return number < HD_REGISTERS ? number : HD_NO_REGISTER;
}

unsigned hd_register_to_dwarf(unsigned reg) {
    static const uint8_t to_dwarf[8] = {0, 2, 1, 3, 7, 6, 4, 5};
    return reg < 8 ? to_dwarf[reg] : reg;
}
