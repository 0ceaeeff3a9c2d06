/* Which memory threads share: see sharing.h. A word gets a number when it is first touched, and
 * another one after it was allocated anew. Both readings number in the same way, so that one bit
 * for each number is all that the second has to know. */
#include "trace/sharing.h"

#include "base/alloc.h"
#include "trace/block_sizes.h"
#include "trace/sharing_cells.h"
#include "trace/sharing_states.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* A cell: bits 0-31 the word's number plus one, 0 if it was not touched in this life; 32-47 its
 * state (sharing_states.h); 49 it is shared, that is final; 50 a block was freed here since; 51
 * there is a number. In the second reading: the number, bit 51, and bit 49. */
#define NUMBER(cell) ((uint32_t)(cell))
#define STATE_SHIFT 32
#define STATE_MASK ((uint64_t)0xffff << STATE_SHIFT)
#define STATE(cell) ((uint32_t)((cell) >> STATE_SHIFT & 0xffff))
#define SHARED HD_SHARING_SHARED
#define FREED ((uint64_t)1 << 50)
#define NUMBERED HD_SHARING_NUMBERED

enum {
    FREED_LIMIT = 1 << 20,
    FAR = 512,      /* strides that leave a page after a few accesses */
    LOOP_LOOK = 64, /* rounds of a loop that are looked at together, at first */
    LOOP_PAUSE = 8, /* rounds after which it is tried again, at first */
    LOOK_AHEAD = 16
};
/* Words that large accesses and blocks may have in all; a trace with more is made to be slow, or
 * too large to be looked at twice. */
#define WORK_LIMIT ((uint64_t)1 << 33)

struct hd_sharing {
    struct hd_pages pages;
    uint32_t limit;
    uint32_t numbers;
    uint64_t *shared; /* bit for each number */
    size_t room;      /* words of it */
    uint64_t work;
    bool gave_up; /* everything counts as shared */
    bool any;     /* something does */
    /* blocks were freed in these pages before anybody touched them */
    struct hd_map freed;
    bool all_freed;
    struct hd_block_sizes sizes;
    /* what is known of the next event of each thread: EXT */
    HD_VECTOR(uint64_t) extra;
    bool ordered; /* what forks, joins and barriers order is no sharing */
    struct hd_word_states states;
};

struct hd_sharing *hd_sharing_new(uint32_t pages, uint32_t states, bool ordered) {
    struct hd_sharing *s = hd_zalloc(1, sizeof *s);
    s->ordered = ordered;
    s->limit = pages != 0 ? pages : HD_SHARING_PAGES;
    hd_pages_init(&s->pages);
    hd_word_states_init(&s->states, states != 0 ? states : HD_WORD_STATES);
    return s;
}

void hd_sharing_free(struct hd_sharing *s) {
    if (s == NULL) return;
    hd_pages_free(&s->pages);
    hd_map_free(&s->freed);
    hd_block_sizes_release(&s->sizes);
    hd_vector_free(&s->extra);
    hd_word_states_free(&s->states);
    free(s->shared);
    free(s);
}

void hd_sharing_again(struct hd_sharing *s) {
    while (s->pages.page.size > 0)
        hd_pages_remove(&s->pages, s->pages.page.data[s->pages.page.size - 1]);
    hd_map_free(&s->freed);
    hd_block_sizes_release(&s->sizes);
    hd_vector_free(&s->extra);
    hd_word_states_free(&s->states);
    s->numbers = 0;
}

static void spend(struct hd_sharing *s, uint64_t work) {
    s->work += work;
    if (s->work > WORK_LIMIT) s->gave_up = true;
}

/* ---- words -------------------------------------------------------------------------------- */

/* The cell of a word, NULL if there are too many pages. */
static inline uint64_t *cell_of(struct hd_sharing *s, uint64_t word, bool first) {
    uint64_t number = word >> HD_PAGE_SHIFT;
    struct hd_memory_page *page = hd_pages_find(&s->pages, number);
    if (__builtin_expect(page == NULL, 0)) {
        if (s->pages.page.size >= s->limit) {
            s->any = true;
            return NULL;
        }
        page = hd_pages_add(&s->pages, number);
        if (first && (s->all_freed || hd_map_get(&s->freed, number, 0) != 0))
            for (unsigned i = 0; i < HD_PAGE_WORDS; i++) page->cell[i] = FREED;
    }
    return &page->cell[word % HD_PAGE_WORDS];
}

static uint64_t new_number(struct hd_sharing *s) {
    if (s->numbers == UINT32_MAX - 1) {
        s->gave_up = true;
        return s->numbers + 1;
    }
    if (s->numbers / 64 >= s->room) {
        size_t room = s->room == 0 ? 1024 : s->room * 2;
        s->shared = hd_realloc(s->shared, room, sizeof *s->shared);
        memset(s->shared + s->room, 0, (room - s->room) * sizeof *s->shared);
        s->room = room;
    }
    return ++s->numbers;
}

static inline void set_shared(struct hd_sharing *s, uint64_t cell) {
    uint32_t bit = NUMBER(cell) - 1;
    if (bit / 64 < s->room) s->shared[bit / 64] |= (uint64_t)1 << bit % 64;
    s->any = true;
}

bool hd_sharing_any(const struct hd_sharing *s) { return s->any || s->gave_up; }

/* A thread touches a word that is not shared yet and has a number. */
static inline uint64_t touched_by(struct hd_sharing *s, uint64_t cell, uint32_t thread,
                                  bool writes) {
    uint64_t next = hd_word_step(&s->states, STATE(cell), thread, writes);
    cell = (cell & ~STATE_MASK) | next << STATE_SHIFT;
    if (next != HD_WORD_CONCURRENT) return cell;
    set_shared(s, cell);
    return cell | SHARED;
}

/* A thread touches a word. */
static inline void touch(struct hd_sharing *s, uint64_t *cell, uint32_t thread, bool writes) {
    uint64_t was = *cell, now = was;
    if (was & SHARED) return;
    if (NUMBER(was) == 0) {
        now |= NUMBERED | new_number(s);
        if (was & FREED) { /* the FREE was a write of it */
            set_shared(s, now);
            *cell = now | SHARED;
            return;
        }
    }
    now = touched_by(s, now, thread, writes);
    if (now != was) *cell = now;
}

/* ---- threads ------------------------------------------------------------------------------ */

/* The states of all words, without those of the past. */
static void renew_states(struct hd_sharing *s) {
    size_t pages = s->pages.page.size;
    uint64_t *used = hd_zalloc(HD_WORD_STATES / 64, sizeof *used);
    spend(s, (uint64_t)pages * HD_PAGE_WORDS);
    for (size_t i = 0; i < pages; i++)
        for (unsigned k = 0; k < HD_PAGE_WORDS; k++) {
            uint32_t state = STATE(s->pages.page.data[i]->cell[k]);
            used[state / 64] |= (uint64_t)1 << state % 64;
        }
    uint32_t *now = hd_word_states_renew(&s->states, used);
    for (size_t i = 0; i < pages; i++)
        for (unsigned k = 0; k < HD_PAGE_WORDS; k++) {
            uint64_t *cell = &s->pages.page.data[i]->cell[k];
            *cell = (*cell & ~STATE_MASK) | (uint64_t)now[STATE(*cell)] << STATE_SHIFT;
        }
    free(now);
    free(used);
}

/* A FORK, a JOIN, a BARRIER_ARRIVE, a BARRIER_LEAVE or an END. */
static void note_order(struct hd_sharing *s, uint32_t thread, unsigned kind, uint64_t operand,
                       uint64_t extra) {
    if (!s->ordered) return;
    if (hd_word_states_many(&s->states)) renew_states(s);
    hd_order_event(&s->states.order, thread, kind, operand, extra);
}

/* ---- ranges ------------------------------------------------------------------------------- */

/* Words that a range of bytes touches, or that lie in it as a whole. */
struct words {
    uint64_t first, end;
};
static struct words touched(uint64_t address, uint64_t bytes) {
    uint64_t last = address + (bytes - 1);
    if (last < address) last = UINT64_MAX - 8;
    return (struct words){address >> 3, (last >> 3) + 1};
}
static struct words covered(uint64_t address, uint64_t bytes) {
    uint64_t end = address + bytes;
    if (end < address) end = UINT64_MAX;
    struct words words = {(address + 7) >> 3, end >> 3};
    if (words.end < words.first) words.end = words.first;
    return words;
}

/* Calls do_page for the pages there are in the range, with the words of each that are in it. */
typedef void page_job(struct hd_sharing *s, struct hd_memory_page *page, unsigned from, unsigned to,
                      uint32_t thread);
static void for_pages(struct hd_sharing *s, struct words words, page_job *job, uint32_t thread) {
    if (words.first >= words.end) return;
    uint64_t first = words.first >> HD_PAGE_SHIFT, last = (words.end - 1) >> HD_PAGE_SHIFT;
    bool few = last - first < s->pages.page.size;
    uint64_t from = few ? first : 0, to = few ? last : s->pages.page.size;
    spend(s, to - from + 1);
    for (uint64_t n = from; few ? n <= to : n < to; n++) {
        struct hd_memory_page *page = few ? hd_pages_find(&s->pages, n) : s->pages.page.data[n];
        if (page == NULL || page->number < first || page->number > last) continue;
        unsigned low = page->number == first ? words.first % HD_PAGE_WORDS : 0;
        unsigned high = page->number == last ? (words.end - 1) % HD_PAGE_WORDS + 1 : HD_PAGE_WORDS;
        spend(s, high - low);
        job(s, page, low, high, thread);
    }
}

static void renew(struct hd_sharing *s, struct hd_memory_page *page, unsigned from, unsigned to,
                  uint32_t thread) {
    (void)s;
    (void)thread;
    memset(&page->cell[from], 0, (to - from) * sizeof page->cell[0]);
}

static void end_life(struct hd_sharing *s, struct hd_memory_page *page, unsigned from, unsigned to,
                     uint32_t thread) {
    for (unsigned i = from; i < to; i++) {
        if (NUMBER(page->cell[i]) != 0) touch(s, &page->cell[i], thread, true);
        page->cell[i] |= FREED;
    }
}

/* Pages that nobody has touched yet: what comes to them comes after the FREE. */
static void note_untouched(struct hd_sharing *s, struct words words) {
    uint64_t first = words.first >> HD_PAGE_SHIFT, last = (words.end - 1) >> HD_PAGE_SHIFT;
    if (s->all_freed) return;
    if (last - first >= FREED_LIMIT || s->freed.count >= FREED_LIMIT) {
        s->all_freed = true;
        return;
    }
    spend(s, last - first);
    for (uint64_t n = first; n <= last; n++)
        if (hd_pages_find(&s->pages, n) == NULL) *hd_map_slot(&s->freed, n, 1) = 1;
}

/* ---- the first reading -------------------------------------------------------------------- */

static void note_access(struct hd_sharing *s, uint32_t thread, uint64_t address, uint64_t bytes,
                        bool writes) {
    if (bytes == 0) { /* nobody knows what it touches */
        s->any = true;
        return;
    }
    struct words words = touched(address, bytes);
    if (words.end - words.first > 8) spend(s, words.end - words.first);
    for (uint64_t word = words.first; word < words.end && !s->gave_up; word++) {
        uint64_t *cell = cell_of(s, word, true);
        if (cell != NULL) touch(s, cell, thread, writes);
    }
}

void hd_sharing_alloc(struct hd_sharing *s, uint64_t address, unsigned flags, uint64_t bytes) {
    if (s->gave_up || (flags & HD_BLOCK_GROWN) != 0) return;
    for_pages(s, covered(address, bytes), renew, 0);
}

static void note_event(struct hd_sharing *s, uint32_t thread, uint64_t head, uint64_t extra) {
    uint64_t address = hd_wire_operand(head);
    unsigned kind = hd_wire_kind(head), flags = hd_wire_flags(head);
    switch (kind) {
    case HD_EV_READ:
    case HD_EV_WRITE:
        note_access(s, thread, address, flags != 0 ? flags : extra, kind == HD_EV_WRITE);
        break;
    case HD_EV_ATOMIC_READ:
    case HD_EV_ATOMIC_WRITE:
    case HD_EV_ATOMIC_UPDATE:
        note_access(s, thread, address, (uint64_t)1 << (flags & 0xf), kind != HD_EV_ATOMIC_READ);
        break;
    case HD_EV_ALLOC:
        hd_block_sizes_alloc(&s->sizes, address, flags, extra);
        hd_sharing_alloc(s, address, flags, extra);
        break;
    case HD_EV_FREE: {
        uint64_t bytes = hd_block_sizes_free(&s->sizes, address, extra);
        if (bytes == 0 || s->gave_up) break;
        for_pages(s, touched(address, bytes), end_life, thread);
        note_untouched(s, touched(address, bytes));
        break;
    }
    case HD_EV_FORK:
    case HD_EV_JOIN:
    case HD_EV_BARRIER_ARRIVE:
    case HD_EV_BARRIER_LEAVE:
    case HD_EV_END:
        note_order(s, thread, kind, address, extra);
        break;
    default:
        break;
    }
}

/* Of accesses of one thread, with nothing between them that orders threads: what the last cell was
 * like that a read, or a write, left as it was. So it leaves all others like that. */
#define LIKE (STATE_MASK | SHARED | NUMBERED)
struct quiet {
    uint64_t like[2];
};
static const struct quiet none_quiet = {{UINT64_MAX, UINT64_MAX}};

/* A plain access of one word. */
static inline __attribute__((always_inline)) void note_word(struct hd_sharing *s, uint32_t thread,
                                                            uint64_t head, struct quiet *quiet) {
    uint64_t *cell = cell_of(s, hd_wire_operand(head) >> 3, true);
    bool writes = hd_wire_kind(head) == HD_EV_WRITE;
    if (cell == NULL) return;
    uint64_t was = *cell;
    if ((was & LIKE) == quiet->like[writes] || was & SHARED) return;
    touch(s, cell, thread, writes);
    if (*cell == was) quiet->like[writes] = was & LIKE;
}

static inline bool is_of_word(uint64_t head) {
    unsigned kind = hd_wire_kind(head), bytes = hd_wire_flags(head);
    return kind - HD_EV_READ <= HD_EV_WRITE - HD_EV_READ && bytes != 0 &&
           (hd_wire_operand(head) & 7) + bytes <= 8;
}

/* Locks and calls of a thread that was seen, which come between most accesses. */
static inline bool says_nothing(unsigned kind) {
    return hd_kind_is_lock(kind) || kind == HD_EV_PUSH || kind == HD_EV_POP;
}

void hd_sharing_events(struct hd_sharing *s, const struct hd_wire_event *event, size_t count,
                       uint32_t *thread, size_t *taken) {
    size_t i = 0;
    bool seen = false; /* the thread is known to be (hd_order_see), and has no extra value */
    struct quiet quiet = none_quiet;
    for (; i < count; i++) {
        uint64_t head = event[i].head;
        unsigned kind = hd_wire_kind(head);
        uint32_t number = *thread & 0xffff;
        if (i + LOOK_AHEAD < count)
            hd_pages_prefetch(&s->pages, hd_wire_operand(event[i + LOOK_AHEAD].head) >> 3);
        if (seen && !s->gave_up) {
            if (is_of_word(head)) {
                note_word(s, number, head, &quiet);
                continue;
            }
            if (says_nothing(kind)) continue;
        }
        if (kind == HD_EV_STAMP) break;
        if (s->gave_up) continue;
        seen = false;
        if (kind == HD_EV_THREAD) {
            *thread = (uint32_t)hd_wire_operand(head) & 0xffff;
            quiet = none_quiet;
        } else if (kind == HD_EV_EXT) {
            while (s->extra.size <= number) hd_vector_push(&s->extra, 0);
            s->extra.data[number] = hd_wire_operand(head);
        } else if (kind < HD_EV_THREAD) {
            uint64_t extra = 0;
            if (number < s->extra.size) {
                extra = s->extra.data[number];
                s->extra.data[number] = 0;
            }
            hd_order_see(&s->states.order, number);
            uint32_t changes = s->states.order.changes;
            note_event(s, number, head, extra);
            seen = s->states.order.changes == changes;
            if (!seen) quiet = none_quiet;
        }
    }
    *taken = i;
}

/* ---- the second reading ------------------------------------------------------------------- */

/* 0 if there are no more numbers: the word counts as shared. */
static inline uint64_t numbered_again(struct hd_sharing *s) {
    if (s->numbers >= UINT32_MAX - 1) return 0;
    uint64_t bit = s->numbers++;
    bool shared = bit / 64 >= s->room || (s->shared[bit / 64] >> bit % 64 & 1) != 0;
    return (bit + 1) | NUMBERED | (shared ? SHARED : 0);
}

struct hd_pages *hd_sharing_pages(struct hd_sharing *s) {
    return s->gave_up ? NULL : &s->pages;
}

bool hd_sharing_access(struct hd_sharing *s, uint64_t address, uint64_t bytes) {
    if (s->gave_up || bytes == 0) return true;
    struct words words = touched(address, bytes);
    bool shared = false;
    for (uint64_t word = words.first; word < words.end; word++) {
        uint64_t *cell = cell_of(s, word, false);
        if (cell == NULL) {
            shared = true;
            continue;
        }
        if (*cell == 0) *cell = numbered_again(s);
        if (*cell == 0 || *cell & SHARED) shared = true;
    }
    return shared;
}

/* ---- loops -------------------------------------------------------------------------------- */

/* Accesses, each a stride further: how many of them, at most `limit`, are of words whose cells have
 * these bits? */
static uint64_t run_like(struct hd_sharing *s, uint64_t address, int64_t stride, uint64_t limit,
                         uint64_t mask, uint64_t bits) {
    uint64_t done = 0;
    bool far = stride >= FAR || stride <= -FAR;
    while (done < limit) {
        const struct hd_memory_page *page = hd_pages_find(&s->pages, address >> 3 >> HD_PAGE_SHIFT);
        if (page == NULL) return done;
        uint64_t count =
            far ? 1 : hd_loop_in_page(address, stride, HD_PAGE_WORDS * 8, limit - done);
        uint64_t good = 0;
        if (stride % 8 == 0) {
            const uint64_t *cell = &page->cell[(address >> 3) % HD_PAGE_WORDS];
            good = hd_cells_like(cell, stride / 8, count, mask, bits);
        } else {
            for (uint64_t at = address; good < count; good++, at += (uint64_t)stride)
                if ((page->cell[(at >> 3) % HD_PAGE_WORDS] & mask) != bits) break;
        }
        done += good;
        if (good < count) return done;
        address = (address + good * (uint64_t)stride) & HD_OPERAND_MASK;
    }
    return done;
}

uint64_t hd_sharing_run(struct hd_sharing *s, uint64_t address, int64_t stride, unsigned bytes,
                        uint64_t limit, bool *shared) {
    *shared = true;
    if (s->gave_up) return limit;
    if (!hd_loop_in_words(address, stride, bytes)) return 0;
    const struct hd_memory_page *page = hd_pages_find(&s->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (page == NULL) return 0;
    uint64_t cell = page->cell[(address >> 3) % HD_PAGE_WORDS], same = cell & SHARED;
    *shared = same != 0;
    if (stride == 0) return cell & NUMBERED ? limit : 0;
    return run_like(s, address, stride, limit, NUMBERED | SHARED, NUMBERED | same);
}

/* The same, one by one, in the first reading: of words that have a number, until one has not or an
 * access leaves it as it is. */
static uint64_t run_changing(struct hd_sharing *s, uint64_t address, int64_t stride, uint64_t limit,
                             uint32_t thread, bool writes) {
    uint64_t done = 0;
    for (; done < limit; done++, address = (address + (uint64_t)stride) & HD_OPERAND_MASK) {
        struct hd_memory_page *page = hd_pages_find(&s->pages, address >> 3 >> HD_PAGE_SHIFT);
        if (page == NULL) return done;
        uint64_t *cell = &page->cell[(address >> 3) % HD_PAGE_WORDS], was = *cell;
        if (!(was & NUMBERED) || was & SHARED) return done;
        *cell = touched_by(s, was, thread, writes);
        if (*cell == was) return done;
    }
    return done;
}

/* In the first reading: does one event of the body for as many rounds as it finds words that have a
 * number. Its rounds may be done before those of other events, and twice: all are of one thread
 * and of one epoch, so that their order does not matter. */
static uint64_t rounds_numbered(struct hd_sharing *s, const struct hd_loop_event *e,
                                uint32_t thread, uint64_t limit) {
    uint64_t address = hd_wire_operand(e->event.head), done = 0;
    int64_t stride = hd_loop_signed(e->stride);
    bool writes = hd_wire_kind(e->event.head) == HD_EV_WRITE;
    if (!hd_loop_in_words(address, stride, hd_wire_flags(e->event.head))) return 0;
    uint64_t count = stride == 0 ? 1 : limit;
    while (done < count) {
        uint64_t at = (address + done * (uint64_t)stride) & HD_OPERAND_MASK, more;
        const struct hd_memory_page *page = hd_pages_find(&s->pages, at >> 3 >> HD_PAGE_SHIFT);
        if (page == NULL) break;
        uint64_t cell = page->cell[(at >> 3) % HD_PAGE_WORDS];
        if (!(cell & NUMBERED)) break;
        if (cell & SHARED)
            more = run_like(s, at, stride, count - done, SHARED, SHARED);
        else if (hd_word_step(&s->states, STATE(cell), thread, writes) == STATE(cell))
            more = run_like(s, at, stride, count - done, STATE_MASK | SHARED | NUMBERED,
                            (cell & STATE_MASK) | NUMBERED);
        else
            more = run_changing(s, at, stride, count - done, thread, writes);
        done += more;
    }
    return stride != 0 ? done : done == 1 ? limit : 0;
}

static void note_rounds(struct hd_sharing *s, struct hd_loop_event *body, size_t length,
                        uint64_t rounds, uint32_t thread) {
    for (uint64_t r = 0; r < rounds; r++)
        for (size_t i = 0; i < length; i++) {
            uint64_t head = body[i].event.head;
            note_access(s, thread, hd_wire_operand(head), hd_wire_flags(head),
                        hd_wire_kind(head) == HD_EV_WRITE);
            body[i].event.head = head + (body[i].stride << 16);
        }
}

static void unroll(struct hd_sharing *s, struct hd_loop_event *body, size_t length, uint64_t rounds,
                   uint32_t *thread) {
    for (; rounds > 0; rounds--)
        for (size_t i = 0, taken; i < length; i++) {
            hd_sharing_events(s, &body[i].event, 1, thread, &taken);
            body[i].event.head += body[i].stride << 16;
        }
}

void hd_sharing_loop(struct hd_sharing *s, struct hd_loop_event *body, size_t length,
                     uint64_t rounds, uint32_t *thread) {
    uint32_t number = *thread & 0xffff;
    struct hd_loop_event access[HD_LOOP_LENGTH];
    size_t accesses = 0;
    bool plain = length <= HD_LOOP_LENGTH;
    for (size_t i = 0; i < length && plain; i++) {
        if (hd_loop_is_access(&body[i]))
            access[accesses++] = body[i];
        else
            plain = hd_loop_is_call(&body[i]);
    }
    if (!plain) {
        unroll(s, body, length, rounds, thread);
        return;
    }
    hd_loop_advance(body, length, rounds);
    if (rounds == 0 || accesses == 0) return;
    if (number < s->extra.size) s->extra.data[number] = 0;
    hd_order_see(&s->states.order, number);
    uint64_t look = LOOP_LOOK, pause = LOOP_PAUSE;
    while (rounds > 0 && !s->gave_up) {
        uint64_t settled = rounds < look ? rounds : look;
        for (size_t i = 0; i < accesses && settled > 0; i++)
            settled = rounds_numbered(s, &access[i], number, settled);
        hd_loop_advance(access, accesses, settled);
        rounds -= settled;
        if (settled == look) {
            look *= 4;
            continue;
        }
        pause = settled < LOOP_PAUSE ? pause * 2 : LOOP_PAUSE;
        look = LOOP_LOOK;
        uint64_t now = rounds < pause ? rounds : pause;
        note_rounds(s, access, accesses, now, number);
        rounds -= now;
    }
}
