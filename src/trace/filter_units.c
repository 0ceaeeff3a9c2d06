/* Units of the filter: finding, cutting and forgetting them; and the long way of an access, through
 * whatever units there are. */
#include "trace/filter_units.h"

#include <string.h>

#define PAGE_BYTES (HD_PAGE_WORDS * 8u)

/* ---- words -------------------------------------------------------------------------------- */

/* A cell with a state for each byte: where a unit begins; HD_STATE_GOES_ON in the rest of it. */
struct word {
    uint32_t epoch;
    bool listed;
    uint16_t state[8];
};

/* Half a word, whose unit begins with it or before it. At once: bytes that are written one by one
 * and then read together make the processor wait. */
static inline uint64_t spread(uint16_t state) {
    uint64_t rest = state == HD_STATE_NONE ? HD_STATE_NONE : HD_STATE_GOES_ON;
    return state | rest * (1ull << 16 | 1ull << 32 | 1ull << 48);
}

static inline __attribute__((always_inline)) struct word load(const struct hd_filter *f,
                                                              uint64_t cell) {
    struct word word;
    if ((uint16_t)(cell >> CELL_LOW) == HD_STATE_DETAIL) {
        const struct filter_detail *detail = &f->detail.data[(uint32_t)cell];
        word.epoch = detail->epoch;
        word.listed = detail->listed;
        memcpy(word.state, detail->state, sizeof word.state);
        return word;
    }
    word.epoch = (uint32_t)cell & CELL_EPOCH;
    word.listed = (cell & CELL_LISTED) != 0;
    uint64_t low = spread((uint16_t)(cell >> CELL_LOW));
    uint64_t high = spread((uint16_t)(cell >> CELL_HIGH));
    memcpy(word.state, &low, sizeof low);
    memcpy(word.state + 4, &high, sizeof high);
    return word;
}

static inline bool is_simple(const uint16_t half[4]) {
    uint64_t all;
    memcpy(&all, half, sizeof all);
    return all == spread(half[0]);
}

static void store(struct hd_filter *f, uint64_t *cell, const struct word *word) {
    bool detailed = (uint16_t)(*cell >> CELL_LOW) == HD_STATE_DETAIL;
    uint32_t number = (uint32_t)*cell;
    if (is_simple(word->state) && is_simple(word->state + 4)) {
        if (detailed) hd_vector_push(&f->detail_unused, number);
        *cell = word->epoch | (word->listed ? CELL_LISTED : 0) |
                (uint64_t)word->state[0] << CELL_LOW | (uint64_t)word->state[4] << CELL_HIGH;
        return;
    }
    if (!detailed) {
        if (f->detail_unused.size > 0) {
            number = f->detail_unused.data[--f->detail_unused.size];
        } else {
            struct filter_detail none = {0};
            number = (uint32_t)f->detail.size;
            hd_vector_push(&f->detail, none);
        }
        *cell = number | (uint64_t)HD_STATE_DETAIL << CELL_LOW;
    }
    struct filter_detail *detail = &f->detail.data[number];
    detail->epoch = word->epoch;
    detail->listed = word->listed;
    memcpy(detail->state, word->state, sizeof word->state);
}

static void empty(struct hd_filter *f, uint64_t *cell) {
    if ((uint16_t)(*cell >> CELL_LOW) == HD_STATE_DETAIL)
        hd_vector_push(&f->detail_unused, (uint32_t)*cell);
    *cell = 0;
}

static inline bool is_detailed(uint64_t cell) {
    return (uint16_t)(cell >> CELL_LOW) == HD_STATE_DETAIL;
}

static uint64_t *cell_of(struct hd_filter *f, uint64_t word) {
    struct hd_memory_page *page = hd_pages_find(&f->pages, word >> HD_PAGE_SHIFT);
    return page != NULL ? &page->cell[word % HD_PAGE_WORDS] : NULL;
}

/* ---- units -------------------------------------------------------------------------------- */

struct unit {
    uint64_t address;
    uint32_t bytes;
    uint16_t state;
};

/* Makes the bytes of a range one unit in a state (none for HD_STATE_NONE), where the epoch still
 * has them. */
static void set_unit(struct hd_filter *f, uint32_t epoch, uint64_t address, uint32_t bytes,
                     uint16_t state) {
    uint16_t rest = state == HD_STATE_NONE ? HD_STATE_NONE : HD_STATE_GOES_ON;
    for (uint64_t at = address, end = address + bytes; at < end;) {
        uint64_t *cell = cell_of(f, at >> 3), next = (at | 7) + 1;
        if (next > end) next = end;
        if (next - at == 8 && cell != NULL && !is_detailed(*cell)) {
            uint64_t half = at == address ? state : rest;
            if ((*cell & CELL_EPOCH) == epoch)
                *cell = (uint32_t)*cell | half << CELL_LOW | (uint64_t)rest << CELL_HIGH;
            at = next;
            continue;
        }
        struct word word = cell != NULL ? load(f, *cell) : (struct word){0};
        if (cell == NULL || word.epoch != epoch) {
            at = next;
            continue;
        }
        for (; at < next; at++) word.state[at & 7] = at == address ? state : rest;
        store(f, cell, &word);
    }
}

/* The same for each of several whole words of a page that there is. */
static void set_words(struct hd_filter *f, uint32_t epoch, uint64_t address, uint64_t end,
                      uint16_t state) {
    uint16_t rest = state == HD_STATE_NONE ? HD_STATE_NONE : HD_STATE_GOES_ON;
    uint64_t states = (uint64_t)state << CELL_LOW | (uint64_t)rest << CELL_HIGH;
    uint64_t *cell = cell_of(f, address >> 3);
    for (; address < end; address += 8, cell++)
        if (is_detailed(*cell))
            set_unit(f, epoch, address, 8, state);
        else if ((*cell & CELL_EPOCH) == epoch)
            *cell = (uint32_t)*cell | states;
}

void filter_put_way(struct hd_filter *f, uint32_t thread, uint64_t address, uint16_t state) {
    uint32_t way[HD_STATE_PLACES];
    unsigned count = hd_states_way(f->states, state, way);
    for (unsigned i = 0; i < count; i++) {
        struct hd_filter_place place = hd_states_place_of(f->states, way[i]);
        struct hd_filter_access access = {.thread = thread,
                                          .site = place.site,
                                          .address = address,
                                          .bytes = place.bytes,
                                          .write = place.write};
        f->options.put(f->options.context, &access);
    }
    f->figures.put += count;
}

void filter_settle_word(struct hd_filter *f, struct filter_thread *t, uint64_t number,
                        bool goes_on) {
    uint64_t *cell = cell_of(f, number);
    if (cell == NULL) return;
    struct word word = load(f, *cell);
    if (word.epoch != t->epoch) return;
    for (unsigned i = 0; i < 8; i++) {
        uint16_t state = word.state[i];
        if (state < HD_STATE_FIRST || !f->tables->deferred[state]) continue;
        filter_put_way(f, t->number, number * 8 + i, state);
        if (!goes_on) continue;
        word.state[i] = hd_states_settled(f->states, state);
        if (word.state[i] != HD_STATE_NONE) continue;
        store(f, cell, &word);
        set_unit(f, t->epoch, number * 8 + i, f->tables->bytes[state], HD_STATE_NONE);
        word = load(f, *cell);
    }
    word.listed = false;
    if (goes_on)
        store(f, cell, &word);
    else
        empty(f, cell); /* it may be on the list twice */
}

/* The unit that the byte, which is inside one, belongs to: where it begins. False if its beginning
 * was lost to another thread: then the bytes that were looked at are not known any more. */
static bool find_begin(struct hd_filter *f, uint32_t epoch, uint64_t byte, struct unit *unit) {
    uint64_t page_start = byte / PAGE_BYTES * PAGE_BYTES, at = byte;
    while (at >= page_start) {
        const uint64_t *cell = cell_of(f, at >> 3);
        if ((*cell & ~(uint64_t)CELL_LISTED) == (epoch | CELL_GOES_ON)) {
            at = at & ~(uint64_t)7;
            if (at == 0) break;
            at--;
            continue;
        }
        struct word word = load(f, *cell);
        if (word.epoch != epoch) break;
        for (;; at--) {
            uint16_t state = word.state[at & 7];
            if (state == HD_STATE_NONE) goto lost;
            if (state >= HD_STATE_FIRST) {
                *unit = (struct unit){at, f->tables->bytes[state], state};
                if (byte - at < unit->bytes) return true;
                goto lost;
            }
            if ((at & 7) == 0) break;
        }
        if (at == 0) break;
        at--;
    }
lost:
    for (uint64_t b = at + 1; b <= byte; b++) { /* of the epoch, and going on from nothing */
        uint64_t *cell = cell_of(f, b >> 3);
        struct word word = load(f, *cell);
        if (word.epoch != epoch) continue;
        for (; b <= (b | 7) && word.state[b & 7] == HD_STATE_GOES_ON; b++) {
            word.state[b & 7] = HD_STATE_NONE;
            if ((b & 7) == 7) break;
        }
        store(f, cell, &word);
    }
    return false;
}

void filter_forget_word(struct hd_filter *f, struct hd_memory_page *page, unsigned index) {
    uint64_t *cell = &page->cell[index], number = (page->number << HD_PAGE_SHIFT) + index;
    struct word word = load(f, *cell);
    struct filter_thread *owner = filter_deferring(f, word.epoch);
    struct unit unit;
    if (word.state[0] == HD_STATE_GOES_ON && find_begin(f, word.epoch, number * 8, &unit)) {
        if (owner != NULL && f->tables->deferred[unit.state])
            filter_put_way(f, owner->number, unit.address, unit.state);
        set_unit(f, word.epoch, unit.address, unit.bytes, HD_STATE_NONE);
        word = load(f, *cell);
    }
    for (unsigned i = 0; i < 8; i++) {
        uint16_t state = word.state[i];
        if (state < HD_STATE_FIRST) continue;
        if (owner != NULL && f->tables->deferred[state])
            filter_put_way(f, owner->number, number * 8 + i, state);
        if (f->tables->bytes[state] > 8 - i)
            set_unit(f, word.epoch, number * 8 + i, f->tables->bytes[state], HD_STATE_NONE);
    }
    empty(f, cell);
}

/* ---- any access --------------------------------------------------------------------------- */

/* The words of an access pass to the epoch. A unit that begins in one of them, and has nothing
 * deferred, may lose its beginning; one that began before the first is forgotten as a whole. */
static void take(struct hd_filter *f, uint32_t epoch, uint64_t first, uint64_t last) {
    filter_cell_new(f, first);
    f->pages.spared = hd_pages_find(&f->pages, first >> HD_PAGE_SHIFT); /* at most two pages */
    filter_cell_new(f, last);
    f->pages.spared = NULL;
    struct hd_memory_page *page = NULL;
    for (uint64_t number = first; number <= last; number++) {
        unsigned index = (unsigned)(number % HD_PAGE_WORDS);
        if (page == NULL || index == 0) page = hd_pages_find(&f->pages, number >> HD_PAGE_SHIFT);
        uint64_t *cell = &page->cell[index], was = *cell;
        if (was != 0) {
            bool detailed = is_detailed(was);
            if ((detailed ? load(f, was).epoch : was & CELL_EPOCH) == epoch) continue;
            if (detailed || was & CELL_LISTED || (number == first && !filter_is_free(f, was)))
                filter_forget_word(f, page, index);
        }
        *cell = epoch;
    }
}

/* No unit lies over the border afterwards: one that does becomes several, one in each word and
 * another one behind the border. */
static void cut(struct hd_filter *f, const struct filter_thread *t, uint64_t border) {
    if (border % PAGE_BYTES == 0) return;
    const uint64_t *cell = cell_of(f, border >> 3);
    if (cell == NULL) return;
    struct word word = load(f, *cell);
    struct unit unit;
    if (word.epoch != t->epoch || word.state[border & 7] != HD_STATE_GOES_ON) return;
    if (!find_begin(f, t->epoch, border, &unit)) return;
    if (f->tables->deferred[unit.state]) filter_put_way(f, t->number, unit.address, unit.state);
    uint16_t part = HD_STATE_NONE, part_bytes = 0; /* words are alike */
    for (uint64_t at = unit.address, end = unit.address + unit.bytes; at < end;) {
        uint64_t next = (at | 7) + 1;
        if (next > end) next = end;
        if (at < border && next > border) next = border;
        uint16_t bytes = (uint16_t)(next - at);
        if (bytes != part_bytes) part = hd_states_part(f->states, unit.state, bytes);
        part_bytes = bytes;
        if (bytes == 8) {
            uint64_t stop = (end < border || border <= at ? end : border) & ~(uint64_t)7;
            set_words(f, t->epoch, at, stop, part);
            at = stop;
            continue;
        }
        set_unit(f, t->epoch, at, bytes, part);
        at = next;
    }
}

/* The next unit of a range, or gap (state HD_STATE_NONE), at its present start. A gap ends at the
 * end of a word. */
static struct unit next_part(struct hd_filter *f, uint64_t at, uint64_t end) {
    uint64_t cell = *cell_of(f, at >> 3), gap_end = (at | 7) + 1;
    uint16_t state, low = (uint16_t)(cell >> CELL_LOW), high = (uint16_t)(cell >> CELL_HIGH);
    if (low == HD_STATE_DETAIL) {
        const uint16_t *states = f->detail.data[(uint32_t)cell].state;
        state = states[at & 7];
        for (uint64_t next = at + 1; next < gap_end; next++)
            if (states[next & 7] >= HD_STATE_FIRST) gap_end = next;
    } else { /* units begin with a half, or not here */
        state = (at & 7) == 0 ? low : (at & 7) == 4 ? high : HD_STATE_NONE;
        if ((at & 7) < 4 && high >= HD_STATE_FIRST) gap_end -= 4;
    }
    if (state >= HD_STATE_FIRST) return (struct unit){at, f->tables->bytes[state], state};
    if (gap_end > end) gap_end = end;
    return (struct unit){at, (uint32_t)(gap_end - at), HD_STATE_NONE};
}

static void note_deferred(struct hd_filter *f, struct filter_thread *t, uint64_t address) {
    uint64_t *cell = cell_of(f, address >> 3);
    struct word word = load(f, *cell);
    if (word.listed) return;
    word.listed = true;
    store(f, cell, &word);
    filter_list(f, t, address >> 3);
}

/* The range is one unit. */
static bool access_one(struct hd_filter *f, struct filter_thread *t, struct unit unit,
                       uint32_t place) {
    struct hd_step step = hd_states_step(f->states, f->tables, unit.state, place, false);
    if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, unit.address, unit.state);
    set_unit(f, t->epoch, unit.address, unit.bytes, step.next);
    if (step.flags & HD_STEP_DEFERRED) note_deferred(f, t, unit.address);
    return (step.flags & HD_STEP_KEEP) != 0;
}

/* The range has several units, or gaps. */
static bool access_several(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                           uint64_t end, uint32_t place) {
    bool keep = false;
    struct unit unit;
    uint16_t first = HD_STATE_NONE;
    uint32_t first_bytes = 0; /* gaps are words, mostly */
    place |= HD_PLACE_WIDE;
    for (uint64_t at = address; at < end && !keep; at += unit.bytes) {
        unit = next_part(f, at, end);
        keep = unit.state == HD_STATE_NONE ||
               hd_states_step(f->states, f->tables, unit.state, place, false).flags & HD_STEP_KEEP;
    }
    for (uint64_t at = address; at < end; at += unit.bytes) {
        unit = next_part(f, at, end);
        uint16_t next;
        if (unit.state == HD_STATE_NONE) {
            if (unit.bytes != first_bytes)
                first = hd_states_first(f->states, place, (uint16_t)unit.bytes);
            first_bytes = unit.bytes;
            next = first;
        } else {
            struct hd_step step = hd_states_step(f->states, f->tables, unit.state, place, keep);
            if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, unit.address, unit.state);
            next = step.next;
        }
        if (next != unit.state) set_unit(f, t->epoch, at, unit.bytes, next);
    }
    return keep;
}

/* May access_each_word have the words of a page? If each is a unit of its own, or was not touched
 * in this epoch, not all of them; and nothing goes on behind them. */
static bool are_single(const struct hd_filter *f, uint32_t epoch, const uint64_t *cell,
                       unsigned words, bool more) {
    bool touched = false;
    for (unsigned i = 0; i < words; i++) {
        uint16_t low = (uint16_t)(cell[i] >> CELL_LOW), high = (uint16_t)(cell[i] >> CELL_HIGH);
        if (low == HD_STATE_DETAIL) return false;
        if ((cell[i] & CELL_EPOCH) != epoch) {
            if (cell[i] & CELL_LISTED || (i == 0 && !filter_is_free(f, cell[i]))) return false;
        } else if (low >= HD_STATE_FIRST) {
            if (high != HD_STATE_GOES_ON || f->tables->bytes[low] != 8) return false;
            touched = true;
        } else if (low != HD_STATE_NONE || high != HD_STATE_NONE) {
            return false;
        }
    }
    if (!touched || !more) return touched;
    uint16_t low = (uint16_t)(cell[words] >> CELL_LOW);
    return low != HD_STATE_DETAIL &&
           ((cell[words] & CELL_EPOCH) != epoch || low != HD_STATE_GOES_ON);
}

/* The same as access_several, for such words, as objects are copied whose fields were accessed one
 * by one. */
static bool access_each_word(struct hd_filter *f, const struct filter_thread *t, uint64_t address,
                             uint64_t *cell, unsigned words, uint32_t place) {
    bool keep = false, has_first = false;
    uint16_t first = HD_STATE_NONE;
    place |= HD_PLACE_WIDE;
    for (unsigned i = 0; i < words; i++)
        if ((cell[i] & CELL_EPOCH) != t->epoch) cell[i] = t->epoch;
    for (unsigned i = 0; i < words && !keep; i++) {
        uint16_t state = (uint16_t)(cell[i] >> CELL_LOW);
        keep = state == HD_STATE_NONE ||
               hd_states_step(f->states, f->tables, state, place, false).flags & HD_STEP_KEEP;
    }
    for (unsigned i = 0; i < words; i++) {
        uint16_t state = (uint16_t)(cell[i] >> CELL_LOW), next;
        if (state == HD_STATE_NONE) {
            if (!has_first) first = hd_states_first(f->states, place, 8);
            has_first = true;
            next = first;
        } else {
            struct hd_step step = hd_states_step(f->states, f->tables, state, place, keep);
            if (step.flags & HD_STEP_WAY) filter_put_way(f, t->number, address + i * 8, state);
            next = step.next;
        }
        uint64_t rest = next == HD_STATE_NONE ? HD_STATE_NONE : HD_STATE_GOES_ON;
        cell[i] = (uint32_t)cell[i] | (uint64_t)next << CELL_LOW | rest << CELL_HIGH;
    }
    return keep;
}

bool filter_access_units(struct hd_filter *f, struct filter_thread *t, uint64_t address,
                         const struct hd_filter_range *range) {
    unsigned bytes = range->bytes;
    uint32_t place = range->place;
    uint64_t end = address + bytes;
    unsigned words = bytes / 8, at_word = (address >> 3) % HD_PAGE_WORDS;
    if (words > 1 && (address | bytes) % 8 == 0 && at_word + words <= HD_PAGE_WORDS) {
        uint64_t *cell = cell_of(f, address >> 3);
        bool more = at_word + words < HD_PAGE_WORDS;
        if (cell != NULL && are_single(f, t->epoch, cell, words, more))
            return access_each_word(f, t, address, cell, words, place);
    }
    take(f, t->epoch, address >> 3, (end - 1) >> 3);
    cut(f, t, address);
    cut(f, t, end);
    struct unit unit = next_part(f, address, end);
    if (unit.state != HD_STATE_NONE && unit.bytes == bytes) return access_one(f, t, unit, place);
    bool touched = unit.state != HD_STATE_NONE;
    for (uint64_t at = address + unit.bytes; at < end && !touched; at += unit.bytes) {
        unit.bytes = 8; /* the next word: the gap was the rest of one */
        if (*cell_of(f, at >> 3) >> 32 == 0) continue;
        unit = next_part(f, at, end);
        touched = unit.state != HD_STATE_NONE;
    }
    bool one_page = address / PAGE_BYTES == (end - 1) / PAGE_BYTES;
    if (touched || !one_page) return access_several(f, t, address, end, place);
    uint16_t first = range->first;
    if (first == HD_STATE_NONE) first = hd_states_first(f->states, place, range->bytes);
    set_unit(f, t->epoch, address, bytes, first);
    return true;
}
