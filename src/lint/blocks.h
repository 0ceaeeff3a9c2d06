/* Atomic blocks of a program: functions that are marked HEDDLE_ATOMIC, and what a function does
 * between taking a lock and giving it back, on all ways through it. A lock that is taken again by
 * its holder begins no block; with two locks each has a block of its own. */
#ifndef HEDDLE_LINT_BLOCKS_H
#define HEDDLE_LINT_BLOCKS_H

#include "source/cfg.h"

struct hd_atomic_block {
    uint32_t function;
    uint32_t step;           /* the call that takes the lock; NONE: the whole function */
    uint32_t path;           /* the lock as it is named there; NONE */
    uint32_t lock;           /* the variable that is the lock, the same for all functions; NONE */
    bool shared;             /* a read lock */
    uint32_t line, end_line; /* the first and the last line that is part of it */
};

/* Something that a reader should know about the locks: one line, with its place. */
struct hd_block_note {
    uint32_t function, line;
    char *text;
};

struct hd_blocks {
    HD_VECTOR(struct hd_atomic_block) list;
    uint32_t *first;      /* by function: its first block */
    uint32_t *count;      /* by function */
    uint64_t *mask;       /* by step: bit k is block first[function] + k */
    uint64_t *held;       /* by function: locks that all its callers hold, by number */
    struct hd_map number; /* locks by variable: small numbers, for `held` */
    HD_VECTOR(struct hd_block_note) note;
};

#define HD_BLOCKS_MOST 64u /* blocks of one function, and locks that are told apart */

void hd_blocks_init(const struct hd_source *source, struct hd_blocks *blocks);
void hd_blocks_free(struct hd_blocks *blocks);

/* Finds the blocks of one function. at_begin, if not NULL, gets the blocks that hold where each
 * block of the control flow graph begins. */
void hd_blocks_find(const struct hd_source *source, const struct hd_cfg *cfg,
                    struct hd_blocks *blocks, uint64_t *at_begin);

/* Notes pairs of functions without a body, `x_lock` and `x_unlock`, that look like a lock but are
 * not known as one. */
void hd_blocks_note_unknown(const struct hd_source *source, const uint32_t *function_of_step,
                            struct hd_blocks *blocks);

/* The bit of a block in the masks of its function. */
static inline uint64_t hd_block_bit(const struct hd_blocks *blocks, uint32_t block) {
    return (uint64_t)1 << (block - blocks->first[blocks->list.data[block].function]);
}
/* The locks of a function's blocks, as bits by number. */
uint64_t hd_blocks_locks(const struct hd_blocks *blocks, uint32_t function, uint64_t mask);

#endif
