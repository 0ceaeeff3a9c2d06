/* Checking for unserializable interleavings while the program runs (AVIO, online). What is looked
 * for is defined in run/observed.h; this file keeps, for every word of memory, enough to decide it.
 *
 * A cell stands for a word of memory, or a part of it, in one of these states.
 *
 * Unused: nobody has accessed it since its memory was allocated.
 *
 * Exclusive: one thread, the owner, has made all accesses since it came. `local` is its latest, and
 * whether it wrote is noted. Its next access costs a few instructions and, if it is of the same
 * code as the last, writes nothing.
 *
 * Shared: since the last change only reads, by several threads. Each thread's latest access is in a
 * record of its own (struct record), found by the address as cells are. A read that is not the
 * thread's first in this state writes to nothing that others read.
 *
 * A change of state takes the cell's lock and a new version. When another thread comes to an
 * exclusive cell it puts the owner's latest access into the owner's record, together with itself if
 * it reads: it is the first access of another thread after that one. The last write is kept with
 * the version that it was made in; so a thread that comes back knows from its record whether
 * somebody has written since.
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
 * its state may be taken for one that was never there. */
#include "runtime/check_cell.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- where cells and records are ----------------------------------------------------------------
 */

struct rt_check_map rt_check_cells;
void **rt_check_words, **rt_check_halves;
static struct rt_check_map *records[RT_MAX_THREADS]; /* NULL: none yet, or the thread has ended */
static struct rt_check_map *spare[64];               /* of threads that have ended */
static unsigned spares;
static struct rt_spin map_lock;
static uint32_t floor_version; /* cells that are new begin with it */
static unsigned granularity;

static uint32_t highest_ended; /* version that a thread which has ended gave */

static bool later(uint32_t version, uint32_t than) { return (int32_t)(version - than) > 0; }

static void map_at(void **slot, size_t bytes) {
    int saved = errno;
    void *fresh = rt_map(bytes), *none = NULL;
    syscall(SYS_madvise, fresh, bytes, MADV_NOHUGEPAGE);
    if (!__atomic_compare_exchange_n(slot, &none, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        rt_unmap(fresh, bytes);
    errno = saved;
}

static void map_table(struct rt_check_map *map, enum level level) {
    if (map->region[level] == NULL) map_at((void **)&map->region[level], REGIONS * sizeof(void *));
}

RT_NOINLINE void *rt_check_map_region(struct rt_check_map *map, uintptr_t address, enum level level,
                                      size_t size) {
    map_table(map, level);
    void **slot = &map->region[level][region_number(address)];
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
    rt_spin_unlock(&map_lock);
    return map;
}

void rt_check_thread_starts(struct rt_thread *t) {
    uint64_t tag = THREAD_TAG(t->number);
    t->check_reads = ACCESS(tag, RT_READS, 0);
    t->check_writes = ACCESS(tag, RT_WRITES, 0);
    t->check_mine = t->number << 16 | USED;
    t->check_records = records_of(t->number);
    map_table(t->check_records, WORDS);
    map_table(t->check_records, HALF_WORDS);
    t->check_words = t->check_records->region[WORDS];
    t->check_halves = t->check_records->region[HALF_WORDS];
}

void rt_check_thread_ends(struct rt_thread *t) {
    rt_spin_lock(&map_lock);
    struct rt_check_map *map = records[t->number];
    records[t->number] = NULL;
    /* what it holds carries the number of this thread */
    if (map != NULL && spares < sizeof spare / sizeof *spare) spare[spares++] = map;
    if (later(t->check_version, highest_ended)) highest_ended = t->check_version;
    rt_spin_unlock(&map_lock);
}

void rt_check_start(void) {
    rt.checking = rt.check_only = false;
    if (!rt.options.check) return;
    granularity = rt.options.granularity;
    map_lock.word = 0;
    floor_version = highest_ended = 1;
    /* a forked child that is recorded begins with nothing */
    rt_check_cells = (struct rt_check_map){.region = {NULL}};
    map_table(&rt_check_cells, WORDS);
    map_table(&rt_check_cells, HALF_WORDS);
    rt_check_words = rt_check_cells.region[WORDS];
    rt_check_halves = rt_check_cells.region[HALF_WORDS];
    if (granularity != HD_GRANULARITY_BYTE)
        rt_check_words = rt_check_halves = rt_map(REGIONS * sizeof(void *));
    for (uint32_t i = 0; i < RT_MAX_THREADS; i++)
        if (records[i] != NULL) records[i] = NULL;
    spares = 0;
    rt_check_report_start();
    rt.checking = true;
    rt.check_only = rt.options.full == HD_FULL_NOT;
    if (!rt.check_only) rt.always_slow = true; /* each access is looked at */
}

/* ---- deciding ------------------------------------------------------------------------------- */

struct access {
    struct rt_thread *t;
    uintptr_t address;
    size_t size;
    uint64_t access; /* thread, what it does, where */
    unsigned does;
    uint64_t execution;
};

/* The next version of a cell. */
static uint32_t next_version(struct rt_thread *t, uint64_t head) {
    uint32_t version = VERSION(head) + 1;
    if (later(version, t->check_version)) t->check_version = version;
    return version;
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
static bool previous(const struct rt_thread *t, const struct rest *rest, uint64_t head,
                     uintptr_t address, enum level level, struct record *found) {
    struct rt_check_map *map = t->check_records;
    for (enum level at = level;; at--) {
        if (map->region[at] != NULL) {
            *found = *record_at(map, address, at);
            if (found->access != 0 && THREAD_OF(found->access) == THREAD_TAG(t->number) &&
                !later(rest->birth, found->version))
                return true;
        }
        /* of the word, if it was split since */
        if (at == WORDS || head & WHOLE) return false;
    }
}

/* Is the pair of P, in the record, and the access broken? The cell is locked. */
static bool breaks(const struct access *a, const struct rest *rest, const struct record *p,
                   struct rt_check_triple *triple) {
    unsigned first = DOES_OF(p->access);
    uint64_t remote = 0;
    if (later(rest->wrote, p->version) && write_breaks(first, DOES_OF(rest->write), a->does))
        remote = rest->write;
    else if (p->exposed != 0 && read_breaks(first, DOES_OF(p->exposed), a->does))
        remote = p->exposed;
    if (remote == 0) return false;
    *triple = (struct rt_check_triple){.access = {p->access & ~FIRST, remote, a->access},
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
    struct rest *rest = rest_of(cell, level);
    uint64_t local = cell->local & ~FIRST;
    if (head & WROTE) rest->wrote = VERSION(head);
    if (THREAD_OF(local) != THREAD_TAG(owner)) return; /* overwritten by a store that came late */
    if (DOES_OF(local) & RT_WRITES) rest->write = local;
    if (!(head & EVER) && !(cell->local & FIRST)) rt_check_executed(local);
    struct rt_check_map *map = records_of(owner);
    if (map == NULL) return; /* nobody will come back */
    bool exposed = (DOES_OF(local) & RT_WRITES) && (a->does & RT_READS);
    *record_at(map, address, level) = (struct record){
        .access = local, .exposed = exposed ? a->access : 0, .version = VERSION(head)};
}

static uint64_t take(const struct access *a, struct cell *cell, uint32_t version, unsigned mask,
                     unsigned state, bool first) {
    cell->local = first ? a->access | FIRST : a->access;
    if (a->does & RT_WRITES) state |= WROTE;
    return HEAD(version, a->t->number, mask, USED | state);
}

static uint64_t take_unused(const struct access *a, struct cell *cell, uint64_t head,
                            enum level level, unsigned mask) {
    uint32_t floor = __atomic_load_n(&floor_version, __ATOMIC_RELAXED);
    if (later(floor, VERSION(head))) head = HEAD(floor, 0, 0, head & WHOLE);
    uint32_t version = next_version(a->t, head);
    *rest_of(cell, level) = (struct rest){.birth = version, .wrote = version};
    return take(a, cell, version, mask, head & WHOLE, true);
}

/* An access to a cell that is used, stands for just these bytes and is locked; the new head. */
static uint64_t change(const struct access *a, struct cell *cell, uint64_t head, uintptr_t address,
                       enum level level, struct rt_check_triple *triple, bool *broken) {
    unsigned whole = head & WHOLE;
    if (!(head & SHARED) && OWNER(head) == a->t->number) { /* its first write, mostly */
        if (head & EVER) executed(a->t, a->access);
        if (!(a->does & RT_WRITES) && DOES_OF(cell->local) & RT_WRITES)
            rest_of(cell, level)->write = cell->local & ~FIRST;
        return take(a, cell, VERSION(head), MASK(head), (unsigned)head & (EVER | WROTE | WHOLE),
                    false);
    }
    if (!(head & SHARED)) put_aside(a, cell, head, address, level);
    struct record p;
    bool again = previous(a->t, rest_of(cell, level), head, address, level, &p);
    if (again) {
        executed(a->t, a->access);
        *broken = breaks(a, rest_of(cell, level), &p, triple);
    }
    /* What one thread writes after another it will mostly read and then write: the cell is the
     * reader's own until another comes. */
    if (a->does & RT_WRITES || (head & WROTE))
        return take(a, cell, next_version(a->t, head), MASK(head), EVER | whole, !again);
    if (!(head & SHARED))
        head = HEAD(next_version(a->t, head), 0, MASK(head), USED | SHARED | EVER | whole);
    *record_at(a->t->check_records, address, level) =
        (struct record){.access = again ? a->access : a->access | FIRST, .version = VERSION(head)};
    return head;
}

/* ---- parts of words -------------------------------------------------------------------------- */

static unsigned part_mask(enum level level, uintptr_t address) {
    return level == SINGLE_BYTES ? 1u << (address & 7)
           : level == HALF_WORDS ? 0xfu << (address & 4)
                                 : 0xff;
}

/* A part begins with what is known of the bytes, or unused, with a version that is later than those
 * of the word's records. */
static void make_part(uintptr_t address, enum level level, struct cell *from, enum level from_level,
                      uint64_t head) {
    unsigned mask = part_mask(level, address);
    bool covered = (head & USED) && (MASK(head) & mask) == mask;
    unsigned state = covered ? (unsigned)head & (USED | SHARED | WROTE | EVER) : 0;
    if (!(head & EVER)) state |= WHOLE;
    struct cell *part = cell_at(address, level);
    *rest_of(part, level) = *rest_of(from, from_level);
    part->local = from->local;
    uint64_t made = covered ? HEAD(VERSION(head), OWNER(head), mask, state)
                            : HEAD(VERSION(head) + 1, 0, 0, state);
    __atomic_store_n(&part->head, made, __ATOMIC_RELEASE);
}

/* The word's cell is locked and stands for other bytes than are accessed now, or is in halves that
 * do not do; the new head. */
static uint64_t split(struct cell *word, uint64_t head, uintptr_t address, unsigned mask) {
    address &= ~(uintptr_t)7;
    bool halves = (mask == 0xf || mask == 0xf0 || mask == 0xff) && !(head & HALVES) &&
                  (MASK(head) == 0xff || !(head & USED));
    if (halves) {
        for (uintptr_t at = address; at < address + 8; at += 4)
            make_part(at, HALF_WORDS, word, WORDS, head);
    } else if (head & HALVES) {
        for (uintptr_t at = address; at < address + 8; at += 4) {
            struct cell *half = cell_at(at, HALF_WORDS);
            uint64_t half_head = lock_cell(half);
            for (uintptr_t byte = at; byte < at + 4; byte++)
                make_part(byte, SINGLE_BYTES, half, HALF_WORDS, half_head);
            unlock_cell(half, HEAD(VERSION(half_head), 0, 0, BYTES));
        }
    } else {
        for (uintptr_t at = address; at < address + 8; at++)
            make_part(at, SINGLE_BYTES, word, WORDS, head);
    }
    return HEAD(VERSION(head), 0, 0, halves ? HALVES : BYTES);
}

/* ---- an access ------------------------------------------------------------------------------- */

/* An access to a cell; false if the cell does not stand for just these bytes. */
static bool access_cell(const struct access *a, struct cell *cell, uintptr_t address,
                        enum level level, unsigned mask) {
    bool broken = false;
    struct rt_check_triple triple;
    /* Both are far away, mostly: let them come at the same time. */
    if (a->t->check_records->region[level] != NULL)
        __builtin_prefetch(record_at(a->t->check_records, address, level), 1);
    uint64_t head = lock_cell(cell);
    bool half = level == WORDS && (mask == 0xf || mask == 0xf0);
    bool fits = !(head & SPLIT) && (head & USED ? MASK(head) == mask : !half);
    if (fits)
        head = head & USED ? change(a, cell, head, address, level, &triple, &broken)
                           : take_unused(a, cell, head, level, mask);
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

void rt_check_access(struct rt_thread *t, uintptr_t address, size_t size, unsigned does,
                     uintptr_t where) {
    if (size == 0 || address + size < address || (address + size) >> 48 != 0) return;
    struct access a = {.t = t,
                       .address = address,
                       .size = size,
                       .access = ACCESS(THREAD_TAG(t->number), does, where),
                       .does = does};
    t->busy++;
    a.execution = (uint64_t)t->number << 48 | ++t->check_executions;
    if (granularity == HD_GRANULARITY_BYTE)
        access_bytes(&a);
    else
        access_units(&a, granularity == HD_GRANULARITY_WORD ? 8 : 64);
    t->busy--;
    if (unlikely(t->signals_pending && t->busy == 0)) rt_leave_signals(t);
}

/* ---- memory that is new ------------------------------------------------------------------------
 */

#define LARGE (64u * 1024u)

/* The highest version that a cell may have. */
static uint32_t highest_version(void) {
    uint32_t highest = highest_ended;
    for (uint32_t i = 0; i < rt.threads; i++) {
        const struct rt_thread *t = rt.slot[i].thread;
        if (t != NULL && later(t->check_version, highest)) highest = t->check_version;
    }
    return highest;
}

static uint32_t clear_parts(uint64_t head, uintptr_t address) {
    enum level level = head & HALVES ? HALF_WORDS : SINGLE_BYTES;
    uint32_t highest = VERSION(head);
    for (uintptr_t at = address; at < address + 8; at += 1u << level_shift[level]) {
        uint64_t *part = &cell_at(at, level)->head;
        if (later(VERSION(*part), highest)) highest = VERSION(*part);
        __atomic_store_n(part, 0, __ATOMIC_RELAXED);
    }
    return highest;
}

/* What was known of a word is forgotten: its next life has a later version than all records of it.
 */
static void clear_cell(struct cell *cell, uintptr_t address) {
    uint64_t head = __atomic_load_n(&cell->head, __ATOMIC_RELAXED);
    if (!(head & (USED | SPLIT))) return;
    uint32_t version = head & SPLIT ? clear_parts(head, address) : VERSION(head);
    __atomic_store_n(&cell->head, HEAD(version, 0, 0, 0), __ATOMIC_RELAXED);
}

/* Whole pages of cells go back to the system: cheaper, and the memory is free. Cells of halves are
 * looked at before that of their word, so they go too; what is left of them at the ends is cleared
 * with their words. */
static void drop_pages(struct cell *from, struct cell *to, uintptr_t *low, uintptr_t *high) {
    *low = ((uintptr_t)from + 4095) & ~4095ul;
    *high = (uintptr_t)to & ~4095ul;
    if (*low < *high) syscall(SYS_madvise, *low, *high - *low, MADV_DONTNEED);
}

static void clear_region(uintptr_t from, uintptr_t to) {
    struct cell *base = rt_check_cells.region[WORDS][from >> REGION_SHIFT];
    if (base == NULL) return;
    struct cell *first = base + in_region(from, WORDS), *end = first + ((to - from) >> 3);
    struct cell *cell = first;
    if (to - from >= LARGE) {
        /* words whose cells share pages are 1 KB of memory; their halves' are whole pages then */
        uintptr_t low, high;
        drop_pages(first, end, &low, &high);
        for (; (uintptr_t)cell < low; cell++)
            clear_cell(cell, from + 8 * (uintptr_t)(cell - first));
        struct cell *halves = rt_check_cells.region[HALF_WORDS][from >> REGION_SHIFT];
        uintptr_t low_word = from + 8 * (uintptr_t)((struct cell *)low - first);
        uintptr_t high_word = from + 8 * (uintptr_t)((struct cell *)high - first), unused[2];
        if (halves != NULL)
            drop_pages(halves + in_region(low_word, HALF_WORDS),
                       halves + in_region(high_word - 1, HALF_WORDS) + 1, &unused[0], &unused[1]);
        cell = (struct cell *)high;
    }
    for (; cell < end; cell++) clear_cell(cell, from + 8 * (uintptr_t)(cell - first));
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
    if (end - address >= LARGE) {
        uint32_t highest = highest_version();
        __atomic_store_n(&floor_version, highest, __ATOMIC_RELAXED);
    }
    while (address < end) {
        uintptr_t stop = ((address >> REGION_SHIFT) + 1) << REGION_SHIFT;
        if (stop > end) stop = end;
        clear_region(address, stop);
        address = stop;
    }
    errno = saved;
}
