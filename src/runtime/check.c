/* Checking for unserializable interleavings while the program runs (AVIO, online). What is looked
 * for is defined in run/observed.h; this file keeps, for every word of memory, enough to decide it.
 *
 * A cell stands for a word of memory, or a part of it, in one of these states:
 *   unused     nobody has accessed it since its memory was allocated
 *   exclusive  one thread, the owner, has made all accesses since it came: `local` is its latest,
 *              and whether it wrote is noted. Its next access costs a few instructions and, if it
 * is of the same code as the last, writes nothing shared     since the last change only reads, by
 * several threads. Each thread's latest access is in a record of its own (struct record), found by
 * the address as cells are; a read that is not the thread's first in this state writes to nothing
 * that others read A change of state takes the cell's lock and a new version from one global clock.
 * When another thread comes to an exclusive cell it puts the owner's latest access into the owner's
 * record, together with itself if it reads: it is the first access of another thread after that
 * one. The last write is kept with the version that it was made in; so a thread that comes back
 * knows from its record whether somebody has written since.
 *
 * Exact for bytes: a cell stands for the bytes that all accesses to the word have in common. When
 * an access touches others the word is split, into two halves or eight bytes, which have cells and
 * records of their own.
 *
 * The owner changes its cell without the lock. If another thread takes the cell at that moment, the
 * owner's store may come too late: `local` and `write` carry their thread, so it is then seen to be
 * no access of the new owner's. Such accesses race with each other; nothing says which was first.
 *
 * Versions count modulo 2^32. A thread that comes back to a word after more than 2^31 changes of
 * cells in between may be taken for one that was never there. */
#include "runtime/check_cell.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- where cells and records are ----------------------------------------------------------------
 */

struct rt_check_map rt_check_cells;
static struct rt_check_map *records[RT_MAX_THREADS]; /* NULL: none yet, or the thread has ended */
static struct rt_check_map *spare[64];               /* of threads that have ended */
static unsigned spares;
static struct rt_spin map_lock;
static _Atomic uint32_t clock_now;
static unsigned granularity;

static void map_at(void **slot, size_t bytes) {
    int saved = errno;
    void *fresh = rt_map(bytes), *none = NULL;
    syscall(SYS_madvise, fresh, bytes, MADV_NOHUGEPAGE);
    if (!__atomic_compare_exchange_n(slot, &none, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        rt_unmap(fresh, bytes);
    errno = saved;
}

RT_NOINLINE void *rt_check_map_region(struct rt_check_map *map, uintptr_t address, enum level level,
                                      size_t size) {
    if (map->region[level] == NULL) map_at((void **)&map->region[level], REGIONS * sizeof(void *));
    void **slot = region_of(map, address, level);
    if (*slot == NULL) map_at(slot, (REGION >> level_shift[level]) * size);
    return *slot;
}

static struct rt_check_map *records_of(uint32_t thread) {
    struct rt_check_map *map = __atomic_load_n(&records[thread], __ATOMIC_ACQUIRE);
    if (likely(map != NULL)) return map;
    if (rt.slot[thread].ended) return NULL;
    rt_spin_lock(&map_lock);
    map = records[thread];
    if (map == NULL) map = spares > 0 ? spare[--spares] : rt_map(sizeof *map);
    __atomic_store_n(&records[thread], map, __ATOMIC_RELEASE);
    if (thread == rt_self.number) rt_self.check_records = map;
    rt_spin_unlock(&map_lock);
    return map;
}

void rt_check_thread_ends(struct rt_thread *t) {
    rt_spin_lock(&map_lock);
    struct rt_check_map *map = records[t->number];
    records[t->number] = t->check_records = NULL;
    /* what it holds carries the number of this thread */
    if (map != NULL && spares < sizeof spare / sizeof *spare) spare[spares++] = map;
    rt_spin_unlock(&map_lock);
}

void rt_check_start(void) {
    rt.checking = rt.check_only = false;
    if (!rt.options.check) return;
    granularity = rt.options.granularity;
    map_lock.word = 0;
    clock_now = 1;
    /* a forked child that is recorded begins with nothing */
    rt_check_cells = (struct rt_check_map){{NULL}};
    rt_check_map_region(&rt_check_cells, 0, WORDS, sizeof(struct cell));
    for (uint32_t i = 0; i < RT_MAX_THREADS; i++)
        if (records[i] != NULL) records[i] = NULL;
    spares = 0;
    rt_check_report_start();
    rt.checking = true;
    rt.check_only = !rt.full;
}

/* ---- deciding ------------------------------------------------------------------------------- */

struct access {
    struct rt_thread *t;
    uintptr_t address;
    size_t size;
    uint32_t site;
    unsigned does;
    uint64_t execution;
};

static bool later(uint32_t version, uint32_t than) { return (int32_t)(version - than) > 0; }

static uint32_t next_version(void) {
    return atomic_fetch_add_explicit(&clock_now, 1, memory_order_relaxed) + 1;
}

/* A write of another thread between P and I, or a read: as hd_pattern_of in facts/patterns.c. Each
 * of three updates is whole in itself. */
static bool write_breaks(unsigned first, unsigned remote, unsigned second) {
    if ((first & remote & second) == RT_UPDATES) return false;
    return (first & RT_READS) != 0 || (second & RT_READS) != 0;
}
static bool read_breaks(unsigned first, unsigned remote, unsigned second) {
    if ((first & remote & second) == RT_UPDATES) return false;
    return (first & RT_WRITES) != 0 && (second & RT_WRITES) != 0;
}

/* The thread's latest access to what the cell stands for; false if it has none. */
static bool previous(uint32_t thread, const struct cell *cell, uintptr_t address, enum level level,
                     struct record *found) {
    struct rt_check_map *map = __atomic_load_n(&records[thread], __ATOMIC_ACQUIRE);
    if (map == NULL) return false;
    /* of the word, if it was split since */
    for (enum level at = level;; at--) {
        if (map->region[at] != NULL) {
            *found = *record_at(map, address, at);
            if (found->access != 0 && found->thread == thread &&
                !later(cell->birth, found->version))
                return true;
        }
        if (at == WORDS) return false;
    }
}

/* Is the pair of P, in the record, and the access broken? The cell is locked. */
static bool breaks(const struct access *a, const struct cell *cell, const struct record *p,
                   struct rt_check_triple *triple) {
    unsigned first = DOES_OF(p->access);
    uint32_t remote = 0, thread = 0;
    if (later(cell->wrote, p->version) &&
        write_breaks(first, DOES_OF((uint32_t)cell->write), a->does)) {
        remote = (uint32_t)cell->write;
        thread = (uint32_t)(cell->write >> 32);
    } else if (p->exposed != 0 && read_breaks(first, DOES_OF(p->exposed), a->does)) {
        remote = p->exposed;
        thread = p->exposed_thread;
    }
    if (remote == 0) return false;
    *triple = (struct rt_check_triple){.access = {{a->t->number, SITE_OF(p->access), first},
                                                  {thread, SITE_OF(remote), DOES_OF(remote)},
                                                  {a->t->number, a->site, a->does}},
                                       .address = a->address,
                                       .size = a->size,
                                       .execution = a->execution};
    return true;
}

/* ---- changes of state ------------------------------------------------------------------------ */

static uint64_t lock_cell(struct cell *cell) {
    for (unsigned spins = 0;; spins++) {
        uint64_t head = __atomic_load_n(&cell->head, __ATOMIC_RELAXED);
        if (!(head & LOCKED) && __atomic_compare_exchange_n(&cell->head, &head, head | LOCKED, true,
                                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return head;
        if (spins < 100) {
            __builtin_ia32_pause();
        } else { /* its holder was preempted */
            int saved = errno;
            syscall(SYS_sched_yield);
            errno = saved;
        }
    }
}

static void unlock_cell(struct cell *cell, uint64_t head) {
    __atomic_store_n(&cell->head, head, __ATOMIC_RELEASE);
}

/* The owner's latest access goes into its record, since another thread has come. */
static void put_aside(const struct access *a, struct cell *cell, uint64_t head, uintptr_t address,
                      enum level level) {
    uint32_t owner = OWNER(head);
    if (head & WROTE) cell->wrote = VERSION(head);
    uint64_t local = cell->local;
    struct rt_check_map *map = (uint32_t)(local >> 32) == owner ? records_of(owner) : NULL;
    if (map == NULL) return; /* overwritten by a store that came late, or nobody will come back */
    struct record *record = record_at(map, address, level);
    bool exposed = (DOES_OF((uint32_t)local) & RT_WRITES) && (a->does & RT_READS);
    *record = (struct record){.version = VERSION(head),
                              .access = (uint32_t)local & ~FIRST,
                              .exposed = exposed ? ACCESS(a->site, a->does) : 0,
                              .thread = (uint16_t)owner,
                              .exposed_thread = (uint16_t)a->t->number};
}

static void keep_record(const struct access *a, uint32_t version, bool first, uintptr_t address,
                        enum level level) {
    struct rt_check_map *map = records_of(a->t->number);
    if (map == NULL) return;
    *record_at(map, address, level) =
        (struct record){.version = version,
                        .access = ACCESS(a->site, a->does) | (first ? FIRST : 0),
                        .thread = (uint16_t)a->t->number};
}

static uint64_t take(const struct access *a, struct cell *cell, uint32_t version, unsigned mask,
                     unsigned state, bool first) {
    uint64_t word = ACCESS_WORD(a->t->number, ACCESS(a->site, a->does));
    cell->local = first ? word | FIRST : word;
    if (a->does & RT_WRITES) {
        cell->write = word;
        state |= WROTE;
    }
    return HEAD(version, a->t->number, mask, USED | state);
}

static uint64_t take_unused(const struct access *a, struct cell *cell, unsigned mask) {
    uint32_t version = atomic_load_explicit(&clock_now, memory_order_relaxed);
    cell->birth = cell->wrote = version;
    cell->write = 0;
    return take(a, cell, version, mask, 0, true);
}

/* An access to a cell that is used, stands for just these bytes and is locked; the new head. */
static uint64_t change(const struct access *a, struct cell *cell, uint64_t head, uintptr_t address,
                       enum level level, struct rt_check_triple *triple, bool *broken) {
    unsigned ever = head & EVER;
    if (!(head & SHARED) && OWNER(head) == a->t->number) { /* its first write, mostly */
        if (ever) rt_check_executed(a->site, a->does);
        return take(a, cell, VERSION(head), MASK(head), (unsigned)head & (EVER | WROTE), false);
    }
    if (!(head & SHARED)) put_aside(a, cell, head, address, level);
    struct record p;
    bool again = previous(a->t->number, cell, address, level, &p);
    if (again) {
        rt_check_executed(a->site, a->does);
        *broken = breaks(a, cell, &p, triple);
    }
    if (a->does & RT_WRITES) return take(a, cell, next_version(), MASK(head), EVER, !again);
    if (!(head & SHARED)) head = HEAD(next_version(), 0, MASK(head), USED | SHARED | EVER);
    keep_record(a, VERSION(head), !again, address, level);
    return head;
}

/* ---- parts of words -------------------------------------------------------------------------- */

static unsigned part_mask(enum level level, uintptr_t address) {
    return level == SINGLE_BYTES ? 1u << (address & 7)
           : level == HALF_WORDS ? 0xfu << (address & 4)
                                 : 0xff;
}

/* A part begins with what is known of the bytes, or with nothing. */
static void make_part(struct cell *part, const struct cell *from, uint64_t head, unsigned mask) {
    bool covered = (head & USED) && (MASK(head) & mask) == mask;
    *part = *from;
    if (covered) {
        part->head = (head & ~(uint64_t)(0xff00 | LOCKED)) | (uint64_t)mask << 8;
    } else {
        part->head = 0;
    }
}

/* The word's cell is locked and stands for other bytes than are accessed now, or is in halves that
 * do not do; the new head. */
static uint64_t split(struct cell *word, uint64_t head, uintptr_t address, unsigned mask) {
    address &= ~(uintptr_t)7;
    next_version(); /* records of the word say nothing about bytes that the cell did not stand for
                     */
    bool halves = (mask == 0xf || mask == 0xf0 || mask == 0xff) && !(head & HALVES) &&
                  (MASK(head) == 0xf || MASK(head) == 0xf0 || MASK(head) == 0xff);
    if (halves) {
        for (uintptr_t at = address; at < address + 8; at += 4)
            make_part(cell_at(at, HALF_WORDS), word, head, part_mask(HALF_WORDS, at));
    } else if (head & HALVES) {
        for (uintptr_t at = address; at < address + 8; at += 4) {
            struct cell *half = cell_at(at, HALF_WORDS);
            uint64_t half_head = lock_cell(half);
            for (uintptr_t byte = at; byte < at + 4; byte++)
                make_part(cell_at(byte, SINGLE_BYTES), half, half_head,
                          part_mask(SINGLE_BYTES, byte));
            unlock_cell(half, HEAD(0, 0, 0, BYTES));
        }
    } else {
        for (uintptr_t at = address; at < address + 8; at++)
            make_part(cell_at(at, SINGLE_BYTES), word, head, part_mask(SINGLE_BYTES, at));
    }
    return HEAD(0, 0, 0, halves ? HALVES : BYTES);
}

/* ---- an access ------------------------------------------------------------------------------- */

/* An access to a cell; false if the cell does not stand for just these bytes. */
static bool access_cell(const struct access *a, struct cell *cell, uintptr_t address,
                        enum level level, unsigned mask) {
    if (known(a->t, cell, address, level, mask, a->does, a->site)) return true;
    bool broken = false;
    struct rt_check_triple triple;
    uint64_t head = lock_cell(cell);
    bool fits = !(head & SPLIT) && (!(head & USED) || MASK(head) == mask);
    if (fits)
        head = head & USED ? change(a, cell, head, address, level, &triple, &broken)
                           : take_unused(a, cell, mask);
    else if (level == WORDS && !(head & SPLIT))
        head = split(cell, head, address, mask);
    unlock_cell(cell, head);
    if (broken) rt_check_report(a->t, &triple);
    return fits;
}

/* The bytes of one word. */
static void access_word(const struct access *a, uintptr_t address, unsigned mask) {
    struct cell *word = cell_at(address, WORDS);
    for (;;) {
        uint64_t head = __atomic_load_n(&word->head, __ATOMIC_ACQUIRE);
        if (!(head & SPLIT)) {
            if (access_cell(a, word, address, WORDS, mask)) return;
            continue;
        }
        if ((head & HALVES) && mask != 0xf && mask != 0xf0 && mask != 0xff) {
            head = lock_cell(word);
            unlock_cell(word, head & HALVES ? split(word, head, address, mask) : head);
            continue;
        }
        enum level level = head & HALVES ? HALF_WORDS : SINGLE_BYTES;
        unsigned step = 1u << level_shift[level];
        bool all = true;
        for (uintptr_t at = address & ~(uintptr_t)7; all && at < (address | 7) + 1; at += step) {
            unsigned part = part_mask(level, at);
            if (mask & part) all = access_cell(a, cell_at(at, level), at, level, part);
            if (all) mask &= ~part;
        }
        if (all) return; /* otherwise the halves have been split since; the rest is tried again */
    }
}

static unsigned mask_of(uintptr_t from, uintptr_t to) {
    return (0xffu << (from & 7) & 0xff) & (0xffu >> (7 - ((to - 1) & 7)));
}

static void access_bytes(const struct access *a) {
    uintptr_t from = a->address, end = a->address + a->size;
    while (from < end) {
        uintptr_t to = (from & ~(uintptr_t)7) + 8;
        if (to > end) to = end;
        access_word(a, from, mask_of(from, to));
        from = to;
    }
}

/* Words and lines: all bytes of one are the same memory; its first word's cell stands for it. */
static void access_units(const struct access *a, uintptr_t unit) {
    uintptr_t end = a->address + a->size;
    for (uintptr_t at = a->address & ~(unit - 1); at < end; at += unit)
        while (!access_cell(a, cell_at(at, WORDS), at, WORDS, 0xff)) {
        }
}

RT_NOINLINE static void access_slow(struct rt_thread *t, uintptr_t address, size_t size,
                                    unsigned does, uint32_t site) {
    if (address + size < address || (address + size) >> 48 != 0) return;
    struct access a = {.t = t, .address = address, .size = size, .site = site, .does = does};
    t->busy++;
    a.execution = (uint64_t)t->number << 48 | ++t->check_executions;
    if (granularity == HD_GRANULARITY_BYTE)
        access_bytes(&a);
    else
        access_units(&a, granularity == HD_GRANULARITY_WORD ? 8 : 64);
    t->busy--;
    if (unlikely(t->signals_pending && t->busy == 0)) rt_leave_signals(t);
}

void rt_check_access(struct rt_thread *t, uintptr_t address, size_t size, unsigned does,
                     uint32_t site) {
    if (size != 0 && site < HD_SITE_LIMIT) access_slow(t, address, size, does, site);
}

/* ---- memory that is new ------------------------------------------------------------------------
 */

#define LARGE (64u * 1024u)

/* Words whose cells are unused again; those of their parts are made anew when they are split. */
static void clear_region(uintptr_t from, uintptr_t to) {
    void **regions = rt_check_cells.region[WORDS];
    struct cell *base = regions[from >> REGION_SHIFT];
    if (base == NULL) return;
    struct cell *first = base + ((from & (REGION - 1)) >> 3), *end = first + ((to - from) >> 3);
    if (to - from >= LARGE) {
        uintptr_t a = ((uintptr_t)first + 4095) & ~4095ul, b = (uintptr_t)end & ~4095ul;
        syscall(SYS_madvise, a, b - a, MADV_DONTNEED);
        for (; (uintptr_t)first < a; first++) first->head = 0;
        for (first = (struct cell *)b; first < end; first++) first->head = 0;
        return;
    }
    for (; first < end; first++)
        if (first->head != 0) __atomic_store_n(&first->head, 0, __ATOMIC_RELAXED);
}

void rt_check_clear(uintptr_t address, size_t bytes) {
    int saved = errno;
    uintptr_t end = (address + bytes + 7) & ~(uintptr_t)7;
    address &= ~(uintptr_t)7;
    if (granularity == HD_GRANULARITY_LINE) { /* others may be in the lines at its ends */
        address = (address + 63) & ~(uintptr_t)63;
        end &= ~(uintptr_t)63;
    }
    if (end < address || end >> 48 != 0) return;
    next_version(); /* what records hold of it is older than its new life */
    while (address < end) {
        uintptr_t stop = ((address >> REGION_SHIFT) + 1) << REGION_SHIFT;
        if (stop > end) stop = end;
        clear_region(address, stop);
        address = stop;
    }
    errno = saved;
}
