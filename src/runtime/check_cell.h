/* The cells and records of checking (check.c, which says what they mean), and the short ways: an
 * access that changes nothing that another thread would have to know. */
#ifndef HEDDLE_RUNTIME_CHECK_CELL_H
#define HEDDLE_RUNTIME_CHECK_CELL_H

#include "runtime/check.h"

#pragma GCC visibility push(hidden)

/* An access in one word: thread (modulo 2^14, 14 bits), FIRST (the thread had not been here
 * before), what it does (2), code address (47; the site, if the run is recorded too). */
#define WHERE_BITS 47
#define WHERE_OF(access) ((access) & ((1ull << WHERE_BITS) - 1))
#define DOES_OF(access) ((unsigned)((access) >> WHERE_BITS) & 3)
#define FIRST (1ull << 49)
#define THREAD_OF(access) ((uint32_t)((access) >> 50))
#define THREAD_TAG(thread) ((thread)&0x3fffu)
#define ACCESS(thread, does, where) \
    ((uint64_t)(thread) << 50 | (uint64_t)(does) << WHERE_BITS | WHERE_OF((uint64_t)(where)))

/* head: version (32 bits), owner (16), bytes of the word that the cell stands for (8), state (8) */
enum state {
    USED = 1,
    SHARED = 2,
    WROTE = 4,   /* the owner has written, in this version */
    EVER = 8,    /* a second thread has been here */
    HALVES = 16, /* the word is split */
    BYTES = 32,
    SPLIT = HALVES | BYTES,
    LOCKED = 64,
    WHOLE = 128 /* a part: the word had no records when it was split */
};
#define VERSION(head) ((uint32_t)((head) >> 32))
#define OWNER(head) ((uint32_t)(head) >> 16)
#define MASK(head) ((unsigned)(head) >> 8 & 0xff)
#define HEAD(version, owner, mask, state) \
    ((uint64_t)(version) << 32 | (uint32_t)(owner) << 16 | (uint32_t)(mask) << 8 | (state))

/* What every access looks at, apart from the rest, so that it takes little of the cache. */
struct cell {
    uint64_t head;
    uint64_t local; /* exclusive: the owner's latest access */
};
struct rest {
    uint64_t write; /* the last write; if the owner's latest access writes, that is `local` */
    uint32_t birth; /* version in which its memory was new: records from before mean nothing */
    uint32_t wrote; /* version of the last write; that of the present one if WROTE */
};
_Static_assert(sizeof(struct cell) == 16 && sizeof(struct rest) == 16, "two bytes each for one");

/* A thread's latest access to what a cell stands for, if it is not the cell's owner. */
struct record {
    uint64_t access;  /* 0: none */
    uint64_t exposed; /* the first access of another thread after it, if that one reads; or 0 */
    uint32_t version;
    uint32_t reserved;
};
_Static_assert(sizeof(struct record) == 24, "three bytes for one");

/* Both are found through tables of regions, mapped as they are needed: for words, halves, bytes. */
#define REGION_SHIFT 26
#define REGION (1ul << REGION_SHIFT)
#define REGIONS (1ul << (48 - REGION_SHIFT))
enum level { WORDS = 0, HALF_WORDS, SINGLE_BYTES, LEVELS };
static const unsigned level_shift[LEVELS] = {3, 2, 0};

#define EXECUTED 256u
#define REPORTED 32u
struct reported {
    uint64_t access[3];
    uint32_t number; /* 0: none */
};
struct rt_check_map {
    void **region[LEVELS];
    /* a thread's: accesses that are known to have been executed, by hash */
    uint64_t executed[EXECUTED];
    /* and the triples that it reported last */
    struct reported reported[REPORTED];
};
extern struct rt_check_map rt_check_cells; /* its words are there from the start */
/* The cells of words and halves, for the short ways; without entries if it is not bytes that are
 * checked. */
extern void **rt_check_words, **rt_check_halves;
void *rt_check_map_region(struct rt_check_map *map, uintptr_t address, enum level level,
                          size_t size);

/* An address beyond what programs have finds some other cell: the access will fault. */
RT_INLINE size_t region_number(uintptr_t address) {
    return (address >> REGION_SHIFT) & (REGIONS - 1);
}
RT_INLINE size_t in_region(uintptr_t address, enum level level) {
    return (address & (REGION - 1)) >> level_shift[level];
}

RT_INLINE struct cell *cell_at(uintptr_t address, enum level level) {
    struct cell *region = NULL;
    if (level == WORDS || likely(rt_check_cells.region[level] != NULL))
        region = rt_check_cells.region[level][region_number(address)];
    if (unlikely(region == NULL))
        region = rt_check_map_region(&rt_check_cells, address, level,
                                     sizeof(struct cell) + sizeof(struct rest));
    return region + in_region(address, level);
}
/* It comes behind all cells of the region, in the same order. */
RT_INLINE struct rest *rest_of(struct cell *cell, enum level level) {
    return (struct rest *)(void *)(cell + (REGION >> level_shift[level]));
}

RT_INLINE struct record *record_at(struct rt_check_map *map, uintptr_t address, enum level level) {
    struct record *region = NULL;
    if (likely(map->region[level] != NULL)) region = map->region[level][region_number(address)];
    if (unlikely(region == NULL)) region = rt_check_map_region(map, address, level, sizeof *region);
    return region + in_region(address, level);
}

/* Is the cell the thread's own, and does it stand for these bytes? */
RT_INLINE bool is_mine(const struct rt_thread *t, uint64_t head, unsigned mask) {
    return (((uint32_t)head ^ t->check_mine) & ~(uint32_t)(EVER | WROTE | WHOLE)) == mask << 8;
}
RT_INLINE bool is_shared(uint64_t head, unsigned mask) {
    return ((uint32_t)head & ~(uint32_t)WHOLE) == (mask << 8 | USED | SHARED | EVER);
}

/* Notes that the thread's access was executed as the second of a pair. */
RT_INLINE void executed(const struct rt_thread *t, uint64_t access) {
    uint64_t *slot = &t->check_records->executed[(access ^ access >> 10) % EXECUTED];
    if (likely(*slot == access)) return;
    *slot = access;
    rt_check_executed(access);
}

/* The owner's access replaces its last one. False if another thread came at this moment. */
RT_INLINE bool owner_known(const struct rt_thread *t, struct cell *cell, enum level level,
                           uint64_t head, uint64_t access, bool write) {
    if (write && unlikely(!(head & WROTE)) &&
        !__atomic_compare_exchange_n(&cell->head, &head, head | WROTE, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
        return false;
    uint64_t local = cell->local;
    if (local == access) return true;
    if (!write && DOES_OF(local) & RT_WRITES) rest_of(cell, level)->write = local & ~FIRST;
    cell->local = access;
    if (head & EVER) executed(t, access);
    return true;
}

/* True if the thread has read the shared cell before. */
RT_INLINE bool reader_known(const struct rt_thread *t, struct record *record, uint64_t head,
                            uint64_t access) {
    if (record->version != VERSION(head)) return false;
    if (likely(record->access == access)) return true;
    if (THREAD_OF(record->access) != THREAD_OF(access)) return false;
    record->access = access;
    executed(t, access);
    return true;
}

#pragma GCC visibility pop

#endif
