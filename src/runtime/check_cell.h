/* The cells and records of checking (check.c, which says what they mean), and what is inlined into
 * the hooks: an access that changes nothing that another thread would have to know. */
#ifndef HEDDLE_RUNTIME_CHECK_CELL_H
#define HEDDLE_RUNTIME_CHECK_CELL_H

#include "runtime/check.h"

#pragma GCC visibility push(hidden)

/* head: version (32 bits), owner (16), bytes of the word that the cell stands for (8), state (8) */
enum state {
    USED = 1,
    SHARED = 2,
    WROTE = 4, /* the owner has written, in this version */
    EVER = 8,  /* a second thread has been here */
    HALVES = 16,
    BYTES = 32,
    SPLIT = HALVES | BYTES,
    LOCKED = 64
};
struct cell {
    uint64_t head;
    uint64_t local; /* exclusive: the owner's latest access; see access_word */
    uint64_t write; /* the last write */
    uint32_t birth; /* version in which its memory was new: records from before mean nothing */
    uint32_t wrote; /* version of the last write; that of the present one if WROTE */
};
_Static_assert(sizeof(struct cell) == 32, "four bytes of shadow for one");

/* A thread's latest access to what a cell stands for, if it is not the cell's owner. */
struct record {
    uint32_t version;
    uint32_t access;  /* what and where; 0: none */
    uint32_t exposed; /* the first access of another thread after it, if that one reads; or 0 */
    uint16_t thread;  /* whose: memory of ended threads is used again */
    uint16_t exposed_thread;
};
_Static_assert(sizeof(struct record) == 16, "a record is two words");

/* What and where, in 32 bits. FIRST: the thread had not been here before. */
#define ACCESS(site, does) ((site) | (uint32_t)(does) << 29)
#define SITE_OF(access) ((access) & (HD_SITE_LIMIT - 1))
#define DOES_OF(access) ((access) >> 29 & 3)
#define FIRST 0x80000000u
/* The same with the thread. */
#define ACCESS_WORD(thread, access) ((uint64_t)(thread) << 32 | (access))

#define VERSION(head) ((uint32_t)((head) >> 32))
#define OWNER(head) ((uint32_t)(head) >> 16)
#define MASK(head) ((unsigned)(head) >> 8 & 0xff)
#define HEAD(version, owner, mask, state) \
    ((uint64_t)(version) << 32 | (uint32_t)(owner) << 16 | (uint32_t)(mask) << 8 | (state))

/* Both are found through tables of regions, mapped as they are needed: for words, halves, bytes. */
#define REGION_SHIFT 26
#define REGION (1ul << REGION_SHIFT)
#define REGIONS (1ul << (48 - REGION_SHIFT))
enum level { WORDS = 0, HALF_WORDS, SINGLE_BYTES, LEVELS };
static const unsigned level_shift[LEVELS] = {3, 2, 0};

struct rt_check_map {
    void **region[LEVELS];
};
extern struct rt_check_map rt_check_cells; /* its words are there from the start */
void *rt_check_map_region(struct rt_check_map *map, uintptr_t address, enum level level,
                          size_t size);

/* An address beyond what programs have finds some other cell: the access will fault. */
RT_INLINE void **region_of(const struct rt_check_map *map, uintptr_t address, enum level level) {
    return &map->region[level][(address >> REGION_SHIFT) & (REGIONS - 1)];
}
RT_INLINE size_t in_region(uintptr_t address, enum level level) {
    return (address & (REGION - 1)) >> level_shift[level];
}

RT_INLINE struct cell *cell_at(uintptr_t address, enum level level) {
    struct cell *region = NULL;
    if (level == WORDS || likely(rt_check_cells.region[level] != NULL))
        region = *region_of(&rt_check_cells, address, level);
    if (unlikely(region == NULL))
        region = rt_check_map_region(&rt_check_cells, address, level, sizeof *region);
    return region + in_region(address, level);
}

RT_INLINE struct record *record_at(struct rt_check_map *map, uintptr_t address, enum level level) {
    struct record *region = NULL;
    if (likely(map->region[level] != NULL)) region = *region_of(map, address, level);
    if (unlikely(region == NULL)) region = rt_check_map_region(map, address, level, sizeof *region);
    return region + in_region(address, level);
}

/* True if the owner of the cell does something that nobody else would have to know. */
RT_INLINE bool owner_known(const struct rt_thread *t, struct cell *cell, uint64_t head,
                           unsigned mask, unsigned does, uint32_t site) {
    uint32_t mine = t->number << 16 | mask << 8 | USED;
    if ((((uint32_t)head ^ mine) & ~(uint32_t)(EVER | WROTE)) != 0) return false;
    uint64_t word = ACCESS_WORD(t->number, ACCESS(site, does));
    if (does & RT_WRITES) {
        if (unlikely(!(head & WROTE))) return false;
        if (cell->write != word) cell->write = word;
    }
    if (cell->local != word) {
        cell->local = word;
        if (head & EVER) rt_check_executed(site, does);
    }
    return true;
}

/* True if the thread has read the shared cell before. */
RT_INLINE bool reader_known(const struct rt_thread *t, uint64_t head, uintptr_t address,
                            enum level level, unsigned mask, unsigned does, uint32_t site) {
    if ((uint32_t)head != (mask << 8 | USED | SHARED | EVER) || does != RT_READS) return false;
    if (unlikely(t->check_records == NULL)) return false;
    struct record *record = record_at(t->check_records, address, level);
    if (record->version != VERSION(head) || record->thread != t->number) return false;
    uint32_t access = ACCESS(site, does);
    if (record->access != access) {
        record->access = access;
        rt_check_executed(site, does);
    }
    return true;
}

RT_INLINE bool known(const struct rt_thread *t, struct cell *cell, uintptr_t address,
                     enum level level, unsigned mask, unsigned does, uint32_t site) {
    uint64_t head = __atomic_load_n(&cell->head, __ATOMIC_RELAXED);
    return owner_known(t, cell, head, mask, does, site) ||
           reader_known(t, head, address, level, mask, does, site);
}

#pragma GCC visibility pop

#endif
