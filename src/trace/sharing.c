/* Which memory threads share: see sharing.h. A word gets a number when it is first touched, and
 * another one after it was allocated anew. Both readings number in the same way, so that one bit
 * for each number is all that the second has to know. */
#include "trace/sharing.h"

#include "base/alloc.h"
#include "trace/block_sizes.h"
#include "trace/pages.h"

#include <stdlib.h>
#include <string.h>

/* A cell: bits 0-31 the word's number plus one, 0 if it was not touched in this life; 32-47 the
 * first thread; 48 written; 49 touched by several threads; 50 a block was freed here since; 51
 * there is a number. In the second reading: the number, bit 51, and bit 49 if it is shared. */
#define NUMBER(cell) ((uint32_t)(cell))
#define THREAD_SHIFT 32
#define WRITTEN ((uint64_t)1 << 48)
#define SEVERAL ((uint64_t)1 << 49)
#define FREED ((uint64_t)1 << 50)
#define NUMBERED ((uint64_t)1 << 51)

enum {
    FREED_LIMIT = 1 << 20,
    FAR = 512,      /* strides that leave a page after a few accesses */
    LOOP_LOOK = 64, /* rounds of a loop that are looked at together, at first */
    LOOP_PAUSE = 8  /* rounds after which it is tried again, at first */
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
    /* blocks were freed in these pages before anybody touched them */
    struct hd_map freed;
    bool all_freed;
    struct hd_block_sizes sizes;
    /* what is known of the next event of each thread: EXT */
    HD_VECTOR(uint64_t) extra;
};

struct hd_sharing *hd_sharing_new(uint32_t pages) {
    struct hd_sharing *s = hd_zalloc(1, sizeof *s);
    s->limit = pages != 0 ? pages : HD_SHARING_PAGES;
    hd_pages_init(&s->pages);
    return s;
}

void hd_sharing_free(struct hd_sharing *s) {
    if (s == NULL) return;
    hd_pages_free(&s->pages);
    hd_map_free(&s->freed);
    hd_block_sizes_release(&s->sizes);
    hd_vector_free(&s->extra);
    free(s->shared);
    free(s);
}

void hd_sharing_again(struct hd_sharing *s) {
    while (s->pages.page.size > 0)
        hd_pages_remove(&s->pages, s->pages.page.data[s->pages.page.size - 1]);
    hd_map_free(&s->freed);
    hd_block_sizes_release(&s->sizes);
    hd_vector_free(&s->extra);
    s->numbers = 0;
}

/* ---- words -------------------------------------------------------------------------------- */

/* The cell of a word, NULL if there are too many pages. */
static inline uint64_t *cell_of(struct hd_sharing *s, uint64_t word, bool first) {
    uint64_t number = word >> HD_PAGE_SHIFT;
    struct hd_memory_page *page = hd_pages_find(&s->pages, number);
    if (__builtin_expect(page == NULL, 0)) {
        if (s->pages.page.size >= s->limit) return NULL;
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
}

/* A thread touches a word. */
static inline void touch(struct hd_sharing *s, uint64_t *cell, uint32_t thread, bool writes) {
    uint64_t was = *cell, now = was;
    if (NUMBER(was) == 0) {
        now = (was & FREED) | NUMBERED | (uint64_t)(uint16_t)thread << THREAD_SHIFT | new_number(s);
        if (was & FREED) set_shared(s, now); /* the FREE was a write of it */
    } else if ((uint16_t)(was >> THREAD_SHIFT) != (uint16_t)thread) {
        now |= SEVERAL;
    }
    if (writes) now |= WRITTEN;
    if (now == was) return;
    if ((now & SEVERAL) && (now & WRITTEN)) set_shared(s, now);
    *cell = now;
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

static void spend(struct hd_sharing *s, uint64_t work) {
    s->work += work;
    if (s->work > WORK_LIMIT) s->gave_up = true;
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
    if (bytes == 0) return;
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
    default:
        break;
    }
}

void hd_sharing_events(struct hd_sharing *s, const struct hd_wire_event *event, size_t count,
                       uint32_t *thread, size_t *taken) {
    size_t i = 0;
    for (; i < count; i++) {
        uint64_t head = event[i].head;
        unsigned kind = hd_wire_kind(head);
        uint32_t number = *thread & 0xffff;
        if (kind == HD_EV_STAMP) break;
        if (s->gave_up) continue;
        if (kind == HD_EV_THREAD) {
            *thread = (uint32_t)hd_wire_operand(head) & 0xffff;
        } else if (kind == HD_EV_EXT) {
            while (s->extra.size <= number) hd_vector_push(&s->extra, 0);
            s->extra.data[number] = hd_wire_operand(head);
        } else if (kind < HD_EV_THREAD) {
            uint64_t extra = 0;
            if (number < s->extra.size) {
                extra = s->extra.data[number];
                s->extra.data[number] = 0;
            }
            note_event(s, number, head, extra);
        }
        if (i + 16 < count) hd_pages_prefetch(&s->pages, hd_wire_operand(event[i + 16].head) >> 3);
    }
    *taken = i;
}

/* ---- the second reading ------------------------------------------------------------------- */

/* 0 if there are no more numbers: the word counts as shared. */
static inline uint64_t numbered_again(struct hd_sharing *s) {
    if (s->numbers >= UINT32_MAX - 1) return 0;
    uint64_t bit = s->numbers++;
    bool shared = bit / 64 >= s->room || (s->shared[bit / 64] >> bit % 64 & 1) != 0;
    return (bit + 1) | NUMBERED | (shared ? SEVERAL : 0);
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
        if (*cell == 0 || *cell & SEVERAL) shared = true;
    }
    return shared;
}

/* ---- loops -------------------------------------------------------------------------------- */

/* Which cells need not be looked at again: those that have a number, and these bits. */
struct settled {
    uint64_t mask, bits;
};

static uint64_t settled_run(struct hd_sharing *s, uint64_t address, int64_t stride, uint64_t limit,
                            struct settled settled) {
    uint64_t done = 0, mask = settled.mask | NUMBERED, bits = settled.bits | NUMBERED;
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
    uint64_t cell = page->cell[(address >> 3) % HD_PAGE_WORDS], same = cell & SEVERAL;
    *shared = same != 0;
    if (stride == 0) return cell & NUMBERED ? limit : 0;
    return settled_run(s, address, stride, limit, (struct settled){SEVERAL, same});
}

/* In the first reading: how many rounds leave all cells of one event of the body as they are. */
static uint64_t rounds_settled(struct hd_sharing *s, const struct hd_loop_event *e, uint32_t thread,
                               uint64_t limit) {
    uint64_t address = hd_wire_operand(e->event.head), own = (uint64_t)thread << THREAD_SHIFT;
    int64_t stride = hd_loop_signed(e->stride);
    uint64_t written = hd_wire_kind(e->event.head) == HD_EV_WRITE ? WRITTEN : 0;
    if (!hd_loop_in_words(address, stride, hd_wire_flags(e->event.head))) return 0;
    const struct hd_memory_page *page = hd_pages_find(&s->pages, address >> 3 >> HD_PAGE_SHIFT);
    if (page == NULL) return 0;
    /* touched by this thread alone, or by several */
    uint64_t cell = page->cell[(address >> 3) % HD_PAGE_WORDS];
    struct settled settled = {SEVERAL | written, SEVERAL | written};
    if (!(cell & SEVERAL))
        settled =
            (struct settled){(uint64_t)0xffff << THREAD_SHIFT | SEVERAL | written, own | written};
    if (stride == 0) return settled_run(s, address, 0, 1, settled) == 1 ? limit : 0;
    return settled_run(s, address, stride, limit, settled);
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
    bool plain = true;
    for (size_t i = 0; i < length && plain; i++) plain = hd_loop_is_access(&body[i]);
    if (!plain) {
        unroll(s, body, length, rounds, thread);
        return;
    }
    if (rounds > 0 && length > 0 && number < s->extra.size) s->extra.data[number] = 0;
    uint64_t look = LOOP_LOOK, pause = LOOP_PAUSE;
    while (rounds > 0 && !s->gave_up) {
        uint64_t settled = rounds < look ? rounds : look;
        for (size_t i = 0; i < length && settled > 0; i++)
            settled = rounds_settled(s, &body[i], number, settled);
        hd_loop_advance(body, length, settled);
        rounds -= settled;
        if (settled == look) {
            look *= 4;
            continue;
        }
        pause = settled < LOOP_PAUSE ? pause * 2 : LOOP_PAUSE;
        look = LOOP_LOOK;
        uint64_t now = rounds < pause ? rounds : pause;
        note_rounds(s, body, length, now, number);
        rounds -= now;
    }
    hd_loop_advance(body, length, rounds);
}
