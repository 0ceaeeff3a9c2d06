/* What the hooks call when accesses are checked and not recorded: the short ways of check.c, made
 * for each size. Nothing here needs a stack frame: whatever takes longer is called last. */
#include "runtime/check_cell.h"

/* One cell, of any level. */
RT_INLINE bool cell_known(uintptr_t address, enum level level, unsigned mask, uint64_t access,
                          bool write) {
    struct rt_thread *t = &rt_self;
    struct cell *cell = cell_at(address, level);
    uint64_t head = __atomic_load_n(&cell->head, __ATOMIC_ACQUIRE);
    if (is_mine(t, head, mask)) return owner_known(t, cell, level, head, access, write);
    return !write && is_shared(head, mask) &&
           reader_known(t, record_at(t->check_records, address, level), head, access);
}

/* Words that are split, and cells that have to change. */
RT_NOINLINE static void other_way(uintptr_t address, size_t size, uint64_t access) {
    bool write = DOES_OF(access) & RT_WRITES;
    uint64_t head = __atomic_load_n(&cell_at(address, WORDS)->head, __ATOMIC_ACQUIRE);
    if (head & SPLIT && rt.options.granularity == HD_GRANULARITY_BYTE) {
        if (head & HALVES && size == 8 && (address & 7) == 0 &&
            cell_known(address, HALF_WORDS, 0xf, access, write) &&
            cell_known(address + 4, HALF_WORDS, 0xf0, access, write))
            return;
        if (head & BYTES && size == 1 &&
            cell_known(address, SINGLE_BYTES, 1u << (address & 7), access, write))
            return;
    }
    rt_check_access(&rt_self, address, size, DOES_OF(access), WHERE_OF(access));
}

/* A word that is accessed by halves is split from the start: for four bytes its own cell need not
 * be looked at. */
RT_INLINE void hook(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    uint64_t access = pc | (write ? t->check_writes : t->check_reads);
    size_t number = region_number(address);
    enum level level = size == 4 ? HALF_WORDS : WORDS;
    struct cell *region = (size == 4 ? rt_check_halves : rt_check_words)[number];
    if (likely(region != NULL) && (size != 4 || likely((address & 3) == 0))) {
        struct cell *cell = region + in_region(address, level);
        uint64_t head = __atomic_load_n(&cell->head, __ATOMIC_RELAXED);
        unsigned mask = size == 8 ? 0xff : (0xffu >> (8 - size)) << (address & 7);
        if (likely(is_mine(t, head, mask))) {
            if (owner_known(t, cell, level, head, access, write)) return;
        } else if (!write && is_shared(head, mask)) {
            struct record *records = (size == 4 ? t->check_halves : t->check_words)[number];
            if (likely(records != NULL) &&
                reader_known(t, records + in_region(address, level), head, access))
                return;
        }
    }
    other_way(address, size, access);
}

#define X(size)                                                                                   \
    void rt_check_read##size(uintptr_t address, uintptr_t pc) { hook(address, size, false, pc); } \
    void rt_check_write##size(uintptr_t address, uintptr_t pc) { hook(address, size, true, pc); }
RT_CHECK_SIZES(X)
#undef X

/* Two words at once: if one of them takes longer, both do. */
RT_INLINE bool word_known(uintptr_t address, uint64_t access, bool write) {
    struct rt_thread *t = &rt_self;
    size_t number = region_number(address);
    struct cell *region = rt_check_words[number];
    if (unlikely(region == NULL)) return false;
    struct cell *cell = region + in_region(address, WORDS);
    uint64_t head = __atomic_load_n(&cell->head, __ATOMIC_RELAXED);
    if (likely(is_mine(t, head, 0xff))) return owner_known(t, cell, WORDS, head, access, write);
    struct record *records = t->check_words[number];
    return !write && is_shared(head, 0xff) && records != NULL &&
           reader_known(t, records + in_region(address, WORDS), head, access);
}

RT_INLINE void hook16(uintptr_t address, bool write, uintptr_t pc) {
    uint64_t access = pc | (write ? rt_self.check_writes : rt_self.check_reads);
    if (likely(word_known(address, access, write) && word_known(address + 8, access, write)))
        return;
    rt_check_access(&rt_self, address, 16, write ? RT_WRITES : RT_READS, pc);
}
void rt_check_read16(uintptr_t address, uintptr_t pc) { hook16(address, false, pc); }
void rt_check_write16(uintptr_t address, uintptr_t pc) { hook16(address, true, pc); }
