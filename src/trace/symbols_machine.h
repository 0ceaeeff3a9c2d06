/* Machine instructions (x86-64), as far as it takes to follow a pointer through registers: what is
 * moved where, which memory is touched, where control goes. */
#ifndef HEDDLE_TRACE_SYMBOLS_MACHINE_H
#define HEDDLE_TRACE_SYMBOLS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hd_instruction_kind {
    HD_DOES_OTHER,  /* to = none of the values that are followed */
    HD_DOES_MOVE,   /* to = from */
    HD_DOES_LOAD,   /* to = the memory, 8 bytes */
    HD_DOES_STORE,  /* the memory = from, 8 bytes */
    HD_DOES_LEA,    /* to = the memory's address */
    HD_DOES_ADD,    /* to += displacement */
    HD_DOES_ZERO,   /* to = 0 */
    HD_DOES_CALL,   /* of target; 0 if it is not known */
    HD_DOES_JUMP,   /* to target */
    HD_DOES_BRANCH, /* to target or on */
    HD_DOES_RETURN,
    HD_DOES_UNKNOWN /* nobody knows how to go on */
};

#define HD_REGISTERS 16u
#define HD_NO_REGISTER 255u
#define HD_RIP 16u /* base of memory: the displacement is the address itself */

/* Registers by the machine's numbers: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi. */
struct hd_instruction {
    enum hd_instruction_kind kind;
    uint8_t length;
    uint8_t to, from;     /* registers that the kind is about; HD_NO_REGISTER */
    uint8_t base, index;  /* of memory that is touched; both HD_NO_REGISTER: none is */
    uint8_t memory_bytes; /* 0: not known */
    bool reads, writes;   /* memory */
    int64_t displacement;
    uint64_t target;
};

/* The instruction at an address, whose bytes these are. False if it is cut off or not known. */
bool hd_instruction_read(const uint8_t *code, size_t bytes, uint64_t address,
                         struct hd_instruction *instruction);
/* From the debug information's numbers of registers to the machine's, and back. */
unsigned hd_register_by_dwarf(unsigned number);
unsigned hd_register_to_dwarf(unsigned reg);

#endif
