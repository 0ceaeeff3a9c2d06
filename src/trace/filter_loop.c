/* The filter on loops: see filter.h. Rounds that change nothing are found by looking at their cells
 * alone; the others go the short ways, with places and steps looked up once. */
#include "trace/filter_access.h"
#include "trace/loop.h"

#define PAGE_BYTES (HD_PAGE_WORDS * 8u)

enum {
    GROUPS_LIMIT = 64, /* ranges; they are compared with each other */
    FAR = 512          /* strides that leave a page after a few accesses */
};

/* ---- groups ------------------------------------------------------------------------------- */

static bool same_accesses(const struct hd_filter_range *a, const struct hd_filter_range *b) {
    return a->address == b->address && a->stride == b->stride && a->bytes == b->bytes;
}

/* The bytes of all rounds; false if there are too many to tell. */
static bool extent(const struct hd_filter_range *range, uint64_t rounds, uint64_t *low,
                   uint64_t *high) {
    int64_t last;
    if (rounds > INT64_MAX || __builtin_mul_overflow(range->stride, (int64_t)rounds - 1, &last))
        return false;
    uint64_t end = range->address + (uint64_t)last;
    if ((last >= 0) != (end >= range->address) || end > HD_OPERAND_MASK) return false;
    *low = last >= 0 ? range->address : end;
    *high = (last >= 0 ? end : range->address) + range->bytes;
    return true;
}

/* May both touch the same bytes in the same round? */
static bool may_meet(const struct hd_filter_range *a, const struct hd_filter_range *b,
                     uint64_t rounds) {
    if (a->stride == b->stride) {
        int64_t distance = hd_loop_signed(a->address - b->address);
        return distance < b->bytes && -distance < a->bytes;
    }
    uint64_t low[2], high[2];
    if (!extent(a, rounds, &low[0], &high[0]) || !extent(b, rounds, &low[1], &high[1])) return true;
    return low[0] < high[1] && low[1] < high[0];
}

/* Ranges with the same accesses are a group, if others don't come between. */
static void find_groups(struct hd_filter_range *range, unsigned count, uint64_t rounds) {
    for (unsigned i = 0; i < count; i++) {
        if (range[i].follows) continue;
        unsigned last = i;
        for (unsigned k = i + 1; k < count; k++) {
            if (range[k].follows || !same_accesses(&range[i], &range[k])) continue;
            range[k].follows = true;
            range[k].leader = (uint16_t)i;
            range[last].group = (uint16_t)k;
            for (unsigned j = last + 1; j < k; j++)
                if (may_meet(&range[i], &range[j], rounds)) range[i].mixed = true;
            last = k;
        }
    }
}

void hd_filter_loop(struct hd_filter *f, struct hd_filter_range *range, unsigned count,
                    uint64_t rounds, bool again) {
    again = again && f->loop_generation == f->generation;
    f->loop_generation = f->generation;
    for (unsigned i = 0; i < count; i++) {
        range[i].follows = range[i].mixed = false;
        range[i].group = 0;
        range[i].quiet = HD_STATE_NONE;
        if (!again) filter_find_place(f, &range[i]);
    }
    if (count <= GROUPS_LIMIT) find_groups(range, count, rounds);
}

/* ---- rounds that change nothing ------------------------------------------------------------ */

/* Does a round of the group lead back to the state, with nothing kept? */
static bool is_quiet(struct hd_filter *f, struct hd_filter_range *range, unsigned at,
                     uint16_t state) {
    struct hd_filter_range *leader = &range[at];
    if (state < HD_STATE_FIRST) return false;
    if (state == leader->quiet) return true;
    if (f->tables->bytes[state] != leader->bytes) return false;
    uint16_t now = state;
    bool listed = false;
    do {
        struct hd_step step = next_step(f, &range[at], now);
        if (step.flags & HD_STEP_KEEP || step.next == HD_STATE_NONE) return false;
        if (step.flags & HD_STEP_DEFERRED) listed = true;
        now = step.next;
        at = range[at].group;
    } while (at != 0);
    if (now != state) return false;
    leader->quiet = state;
    leader->quiet_listed = listed;
    return true;
}

struct quiet_cell {
    uint32_t mask, low; /* of the lower half of a cell */
    uint16_t state;
};

static inline uint16_t state_at(uint64_t cell, uint64_t address) {
    return (uint16_t)(cell >> (address & 4 ? CELL_HIGH : CELL_LOW));
}
static inline bool is_quiet_cell(struct quiet_cell quiet, uint64_t cell, uint64_t address) {
    return state_at(cell, address) == quiet.state && ((uint32_t)cell & quiet.mask) == quiet.low;
}

/* What a cell has to be like, to be like this one; false if this one is changed. */
static bool like(struct hd_filter *f, const struct filter_thread *t, struct hd_filter_range *range,
                 unsigned at, uint64_t cell, uint64_t address, struct quiet_cell *quiet) {
    if (!is_quiet(f, range, at, state_at(cell, address))) return false;
    quiet->state = range[at].quiet;
    quiet->mask = CELL_EPOCH | (range[at].quiet_listed ? CELL_LISTED : 0);
    quiet->low = t->epoch | (range[at].quiet_listed ? CELL_LISTED : 0);
    return is_quiet_cell(*quiet, cell, address);
}

/* Of accesses in one page, how many change nothing. */
static uint64_t quiet_in_page(struct hd_filter *f, const struct filter_thread *t,
                              struct hd_filter_range *range, unsigned at,
                              const struct hd_memory_page *page, uint64_t address, uint64_t count) {
    struct quiet_cell quiet;
    int64_t stride = range[at].stride;
    uint64_t done = 0;
    while (done < count) {
        const uint64_t *cell = &page->cell[(address >> 3) % HD_PAGE_WORDS];
        if (!like(f, t, range, at, *cell, address, &quiet)) break;
        uint64_t half = (uint64_t)0xffff << (address & 4 ? CELL_HIGH : CELL_LOW), like_it = 0;
        if (stride % 8 == 0) {
            like_it = hd_cells_like(cell, stride / 8, count - done, quiet.mask | half, *cell);
        } else if (stride == 4 && (address & 4) == 0) { /* two in each word */
            uint64_t both = quiet.low | quiet.state * (1ull << CELL_LOW | 1ull << CELL_HIGH);
            uint64_t mask = quiet.mask | ~(uint64_t)UINT32_MAX;
            like_it = 2 * hd_cells_like(cell, 1, (count - done) / 2, mask, both);
        }
        if (like_it != 0) {
            done += like_it;
            address += like_it * (uint64_t)stride;
            continue;
        }
        do {
            done++;
            address += (uint64_t)stride;
        } while (done < count &&
                 is_quiet_cell(quiet, page->cell[(address >> 3) % HD_PAGE_WORDS], address));
    }
    return done;
}

uint64_t hd_filter_quiet(struct hd_filter *f, uint32_t thread, struct hd_filter_range *range,
                         unsigned at, uint64_t limit) {
    const struct filter_thread *t = filter_thread_of(f, thread);
    uint64_t address = range[at].address, done = 0;
    int64_t stride = range[at].stride;
    unsigned bytes = range[at].bytes;
    if (t->epoch == 0 || f->tables->full || range[at].mixed) return 0;
    if ((bytes != 4 && bytes != 8) || ((address | (uint64_t)stride) & (bytes - 1)) != 0) return 0;
    if (stride == 0) {
        const struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
        return page != NULL && quiet_in_page(f, t, range, at, page, address, 1) ? limit : 0;
    }
    bool far = stride >= FAR || stride <= -FAR;
    struct quiet_cell quiet = {.state = HD_STATE_NONE};
    while (done < limit) {
        const struct hd_memory_page *page = hd_pages_find(&f->pages, address >> 3 >> HD_PAGE_SHIFT);
        if (page == NULL) break;
        if (far) {
            uint64_t cell = page->cell[(address >> 3) % HD_PAGE_WORDS];
            if ((quiet.state == HD_STATE_NONE || !is_quiet_cell(quiet, cell, address)) &&
                !like(f, t, range, at, cell, address, &quiet))
                break;
            done++;
            address = (address + (uint64_t)stride) & HD_OPERAND_MASK;
            continue;
        }
        uint64_t count = hd_loop_in_page(address, stride, PAGE_BYTES, limit - done);
        uint64_t good = quiet_in_page(f, t, range, at, page, address, count);
        done += good;
        if (good < count) break;
        address = (address + good * (uint64_t)stride) & HD_OPERAND_MASK;
    }
    return done;
}

void hd_filter_pass(struct hd_filter *f, uint64_t accesses) { f->figures.accesses += accesses; }

/* ---- the others ---------------------------------------------------------------------------- */

static void begin_epoch(struct hd_filter *f, struct filter_thread *t, struct hd_filter_range *range,
                        unsigned count) {
    uint32_t generation = f->generation;
    filter_begin_epoch(f, t);
    if (f->generation == generation) return;
    f->loop_generation = f->generation;
    for (unsigned i = 0; i < count; i++) {
        range[i].quiet = HD_STATE_NONE;
        filter_find_place(f, &range[i]);
    }
}

/* An access that the shortest way is not for. */
static __attribute__((noinline)) bool access_slowly(struct hd_filter *f, struct filter_thread *t,
                                                    uint64_t address, struct hd_filter_range *range,
                                                    unsigned count, unsigned at) {
    if (unlikely(t->epoch == 0 || f->tables->full)) begin_epoch(f, t, range, count);
    return filter_access_at(f, t, address, &range[at]);
}

void hd_filter_rounds(struct hd_filter *f, uint32_t thread, struct hd_filter_range *range,
                      unsigned count, uint32_t rounds, const bool *passed,
                      struct hd_filter_batch *batch) {
    struct filter_thread *t = filter_thread_of(f, thread);
    struct hd_filter_kept *kept = batch->kept;
    uint64_t unseen = 0;
    uint32_t epoch = f->tables->full ? 0 : t->epoch;
    for (uint32_t round = 0; round < rounds; round++)
        for (unsigned i = 0; i < count; i++) {
            struct hd_filter_range *now = &range[i];
            uint64_t address = now->address;
            unsigned bytes = now->bytes;
            now->address = (address + (uint64_t)now->stride) & HD_OPERAND_MASK;
            if (passed != NULL && *passed++) {
                unseen++;
                continue;
            }
            int keep = -1;
            if (likely(epoch != 0 && ((bytes - 4) & ~4u) == 0))
                keep = filter_access_quick(f, t, epoch, address, bytes, now);
            if (unlikely(keep < 0)) {
                batch->count = (size_t)(kept - batch->kept);
                batch->round = round;
                batch->range = i;
                keep = access_slowly(f, t, address, range, count, i);
                epoch = f->tables->full ? 0 : t->epoch;
            }
            if (keep) *kept++ = (struct hd_filter_kept){address, round, i};
        }
    batch->count = (size_t)(kept - batch->kept);
    f->figures.accesses += (uint64_t)rounds * count - unseen;
    f->figures.kept += batch->count;
}
