/* A hash table of numbers for work that is done location by location: it is emptied in no time,
 * because entries of an earlier round count as empty. The table keeps numbers only; what they stand
 * for, and whether two of these are the same, is the user's business. */
#ifndef HEDDLE_FACTS_SCRATCH_TABLE_H
#define HEDDLE_FACTS_SCRATCH_TABLE_H

#include "base/map.h"

#include <stdbool.h>

struct hd_scratch_slot {
    uint32_t round, value;
};

/* Zeroed: to be cleared before the first use. */
struct hd_scratch_table {
    struct hd_scratch_slot *slot;
    uint32_t mask, round;
};

/* Empties the table and makes room for so many entries. */
void hd_scratch_clear(struct hd_scratch_table *table, uint64_t entries);

/* The slot of an entry with this key, or the empty one that it is to be put into. `same` is an
 * expression in `number`: is the entry with this number the one that is looked for? */
#define hd_scratch_find(table, key, number, same)                 \
    __extension__({                                               \
        uint32_t hd_at = (uint32_t)hd_mix64(key) & (table)->mask; \
        for (; (table)->slot[hd_at].round == (table)->round;      \
             hd_at = (hd_at + 1) & (table)->mask) {               \
            uint32_t number = (table)->slot[hd_at].value;         \
            if (same) break;                                      \
        }                                                         \
        &(table)->slot[hd_at];                                    \
    })

static inline bool hd_scratch_is_empty(const struct hd_scratch_table *table,
                                       const struct hd_scratch_slot *slot) {
    return slot->round != table->round;
}
static inline void hd_scratch_put(const struct hd_scratch_table *table,
                                  struct hd_scratch_slot *slot, uint32_t value) {
    *slot = (struct hd_scratch_slot){table->round, value};
}

#endif
