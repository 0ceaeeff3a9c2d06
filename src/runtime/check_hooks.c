/* What the hooks call when accesses are checked and not recorded: the short ways of check.c, made
 * for each size. */
#include "runtime/check_cell.h"

/* A word that is split, or that several threads read. */
RT_NOINLINE static bool known_otherwise(uintptr_t address, size_t size, unsigned does,
                                        uint32_t site) {
    struct rt_thread *t = &rt_self;
    struct cell *word = cell_at(address, WORDS);
    uint64_t head = __atomic_load_n(&word->head, __ATOMIC_ACQUIRE);
    unsigned mask = (0xffu >> (8 - size)) << (address & 7);
    if (head & HALVES && size == 4 && (address & 3) == 0)
        return known(t, cell_at(address, HALF_WORDS), address, HALF_WORDS, mask, does, site);
    if (head & BYTES && size == 1)
        return known(t, cell_at(address, SINGLE_BYTES), address, SINGLE_BYTES, mask, does, site);
    return reader_known(t, head, address, WORDS, mask, does, site);
}

RT_INLINE bool word_known(uintptr_t address, size_t size, unsigned does, uint32_t site) {
    struct rt_thread *t = &rt_self;
    struct cell *region = *region_of(&rt_check_cells, address, WORDS);
    if (likely(region != NULL)) {
        struct cell *cell = region + in_region(address, WORDS);
        uint64_t head = __atomic_load_n(&cell->head, __ATOMIC_RELAXED);
        unsigned mask = size == 8 ? 0xff : (0xffu >> (8 - size)) << (address & 7);
        if (likely(owner_known(t, cell, head, mask, does, site))) return true;
    }
    return known_otherwise(address, size, does, site);
}

RT_INLINE void hook(uintptr_t address, size_t size, unsigned does, uintptr_t pc) {
    uint32_t site = rt_site(&rt_self, pc);
    if (likely(rt.options.granularity == HD_GRANULARITY_BYTE)) {
        bool all = word_known(address, size > 8 ? 8 : size, does, site);
        if (size > 8) all &= word_known(address + 8, 8, does, site);
        if (likely(all)) return;
    }
    rt_check_access(&rt_self, address, size, does, site);
}

#define X(size)                                                  \
    void rt_check_read##size(uintptr_t address, uintptr_t pc) {  \
        hook(address, size, RT_READS, pc);                       \
    }                                                            \
    void rt_check_write##size(uintptr_t address, uintptr_t pc) { \
        hook(address, size, RT_WRITES, pc);                      \
    }
RT_CHECK_SIZES(X)
