/* Second pass: numbers the distinct accesses (cells) and the blocks of memory, and leaves each
 * event's cell, block or thread in its object column. Memory is looked up by 64-byte lines in one
 * hash table; each of a line's eight granules leads to the cells that start in it. A block that
 * begins forgets the cells of its range, so that what follows gets new ones. */
#include "base/alloc.h"
#include "base/map.h"
#include "model/build.h"

#include <stdlib.h>
#include <string.h>

#define LINE_SHIFT 6
#define GRANULE_SHIFT 3
#define LINE_GRANULES 8
#define REGION_SHIFT 16
#define FEW_LINES 64  /* a block of up to so many lines is looked up line by line */
#define NARROW 64     /* cells of up to so many bytes are found by their few granules */
#define LOOK_AHEAD 16 /* events whose line is fetched in advance */
#define OPERAND_LIMIT ((uint64_t)1 << 57)
#define NAMED_BASE ((uint64_t)1 << 60) /* made-up addresses of a text trace's objects */

/* A slot is 0 or the number of the granule's first cell plus one. The flags say that this cell is
 * the whole granule, or its first half: the common accesses, which then need no look at the cell.
 */
#define SLOT_WHOLE 0x80000000u
#define SLOT_HALF 0x40000000u
#define SLOT_CELL 0x3fffffffu

struct line {
    uint64_t key; /* line number plus one, 0 = empty */
    uint32_t slot[LINE_GRANULES];
};

/* What a search along the cells of a granule looks at. */
struct link {
    uint32_t
        key; /* of a narrow cell: where in the granule it starts, size and tag; else WIDE_KEY */
    uint32_t next; /* cell that starts in the same granule, HD_NONE */
};
#define WIDE_KEY UINT32_MAX

struct lines {
    HD_VECTOR(struct link) link; /* one per cell */
    struct line *line;
    uint64_t mask;
    uint64_t count;
    unsigned shift;        /* of the hash */
    struct hd_map regions; /* number of lines with cells, per region */
};

static inline uint64_t line_hash(const struct lines *lines, uint64_t number) {
    return number * 0x9e3779b97f4a7c15ull >> lines->shift;
}

static void lines_resize(struct lines *lines, unsigned bits) {
    struct lines larger = *lines;
    larger.line = hd_zalloc((size_t)1 << bits, sizeof *larger.line);
    larger.mask = ((uint64_t)1 << bits) - 1;
    larger.shift = 64 - bits;
    for (uint64_t i = 0; lines->line != NULL && i <= lines->mask; i++) {
        if (lines->line[i].key == 0) continue;
        uint64_t at = line_hash(&larger, lines->line[i].key - 1);
        while (larger.line[at].key != 0) at = (at + 1) & larger.mask;
        larger.line[at] = lines->line[i];
    }
    free(lines->line);
    *lines = larger;
}

static inline struct line *line_find(const struct lines *lines, uint64_t number) {
    for (uint64_t at = line_hash(lines, number);; at = (at + 1) & lines->mask) {
        struct line *line = &lines->line[at];
        if (line->key == number + 1) return line;
        if (line->key == 0) return NULL;
    }
}

static inline struct line *line_find_or_add(struct lines *lines, uint64_t number) {
    uint64_t at = line_hash(lines, number);
    for (;; at = (at + 1) & lines->mask) {
        struct line *line = &lines->line[at];
        if (line->key == number + 1) return line;
        if (line->key == 0) break;
    }
    if (lines->count * 8 >= lines->mask * 5) {
        lines_resize(lines, 64 - lines->shift + 1);
        at = line_hash(lines, number);
        while (lines->line[at].key != 0) at = (at + 1) & lines->mask;
    }
    lines->count++;
    lines->line[at].key = number + 1;
    return &lines->line[at];
}

static bool line_is_empty(const struct line *line) {
    uint32_t any = 0;
    for (int g = 0; g < LINE_GRANULES; g++) any |= line->slot[g];
    return any == 0;
}

static void region_count(struct lines *lines, uint64_t line_number, int change) {
    *hd_map_slot(&lines->regions, line_number >> (REGION_SHIFT - LINE_SHIFT), 0) +=
        (uint32_t)change;
}

/* The cell of an access that the slot alone did not tell. HD_NONE if there are too many. */
static uint32_t cell_search(struct hd_build *build, struct lines *lines, struct line *line,
                            uint64_t address, uint64_t size, uint16_t tag) {
    uint32_t *slot = &line->slot[address >> GRANULE_SHIFT & (LINE_GRANULES - 1)];
    uint32_t born = (uint32_t)build->block.size;
    uint32_t last = HD_NONE, next = HD_NONE;
    uint32_t key = size <= NARROW
                       ? (uint32_t)(address & 7) | (uint32_t)size << 3 | (uint32_t)tag << 16
                       : WIDE_KEY;
    for (uint32_t c = (*slot & SLOT_CELL) - 1; *slot != 0 && c != HD_NONE;
         c = lines->link.data[c].next) {
        if (lines->link.data[c].key == key) {
            if (key != WIDE_KEY) return c;
            const struct hd_cell *cell = &build->cell.data[c];
            if (cell->address == address && cell->size == size) {
                if (cell->born == born) return c;
                /* A block may have begun anywhere inside it: a new cell takes its place. */
                next = lines->link.data[c].next;
                break;
            }
        }
        last = c;
    }
    if (build->cell.size >= SLOT_CELL - 1) {
        hd_fail(build->error, HD_ERR_LIMIT, "the trace has more than %u distinct accesses",
                SLOT_CELL - 1);
        return HD_NONE;
    }
    uint32_t added = (uint32_t)build->cell.size;
    struct hd_cell cell = {.address = address, .size = size, .tag = tag, .born = born};
    struct link link = {key, next};
    bool first_of_line = line_is_empty(line);
    hd_vector_push(&build->cell, cell);
    hd_vector_push(&lines->link, link);
    if (first_of_line) region_count(lines, address >> LINE_SHIFT, 1);
    if (last != HD_NONE) {
        lines->link.data[last].next = added;
        return added;
    }
    *slot = added + 1;
    if (tag == HD_CELL_MEMORY && (address & 7) == 0)
        *slot |= size == 8 ? SLOT_WHOLE : size == 4 ? SLOT_HALF : 0;
    return added;
}

static inline uint32_t cell_of(struct hd_build *build, struct lines *lines, uint64_t address,
                               uint64_t size, uint16_t tag) {
    struct line *line = line_find_or_add(lines, address >> LINE_SHIFT);
    if (tag == HD_CELL_MEMORY && (address & 7) == 0) {
        uint32_t slot = line->slot[address >> GRANULE_SHIFT & (LINE_GRANULES - 1)];
        if ((size == 8 && (slot & SLOT_WHOLE) != 0) || (size == 4 && (slot & SLOT_HALF) != 0))
            return (slot & SLOT_CELL) - 1;
    }
    return cell_search(build, lines, line, address, size, tag);
}

/* ---- blocks that begin -------------------------------------------------------------------- */

/* Forgets the cells of one line that have a byte in [low, high) or start there. */
static void forget_line(struct hd_build *build, struct lines *lines, uint64_t number, uint64_t low,
                        uint64_t high) {
    struct line *line = line_find(lines, number);
    if (line == NULL || line_is_empty(line)) return;
    for (unsigned g = 0; g < LINE_GRANULES; g++) {
        uint64_t start = (number << LINE_SHIFT) + (g << GRANULE_SHIFT);
        if (line->slot[g] == 0 || start >= high || start + 8 + NARROW <= low) continue;
        bool forget = start >= low;
        for (uint32_t c = (line->slot[g] & SLOT_CELL) - 1; !forget && c != HD_NONE;
             c = lines->link.data[c].next) {
            const struct hd_cell *cell = &build->cell.data[c];
            forget = cell->address >= low || cell->address + cell->size > low;
        }
        if (forget) line->slot[g] = 0;
    }
    if (line_is_empty(line)) region_count(lines, number, -1);
}

static void forget_region(struct hd_build *build, struct lines *lines, uint64_t region,
                          uint64_t low, uint64_t high) {
    uint64_t from = low >= NARROW ? low - NARROW : 0;
    uint64_t first = region << (REGION_SHIFT - LINE_SHIFT);
    uint64_t last = first + ((uint64_t)1 << (REGION_SHIFT - LINE_SHIFT)) - 1;
    if (first < from >> LINE_SHIFT) first = from >> LINE_SHIFT;
    if (last > (high - 1) >> LINE_SHIFT) last = (high - 1) >> LINE_SHIFT;
    for (uint64_t number = first; number <= last; number++)
        forget_line(build, lines, number, low, high);
}

static void forget(struct hd_build *build, struct lines *lines, uint64_t low, uint64_t high) {
    if (low == high) return;
    uint64_t from = low >= NARROW ? low - NARROW : 0;
    uint64_t first = from >> LINE_SHIFT, last = (high - 1) >> LINE_SHIFT;
    if (last - first < FEW_LINES) {
        for (uint64_t number = first; number <= last; number++)
            forget_line(build, lines, number, low, high);
        return;
    }
    uint64_t first_region = from >> REGION_SHIFT, last_region = (high - 1) >> REGION_SHIFT;
    struct hd_map *regions = &lines->regions;
    if (last_region - first_region < regions->count) {
        for (uint64_t region = first_region; region <= last_region; region++)
            if (hd_map_get(regions, region, 0) != 0) forget_region(build, lines, region, low, high);
        return;
    }
    for (uint64_t i = 0; regions->entry != NULL && i <= regions->mask; i++) {
        const struct hd_map_entry *entry = &regions->entry[i];
        if (entry->used != 0 && entry->value != 0 && entry->key >= first_region &&
            entry->key <= last_region)
            forget_region(build, lines, entry->key, low, high);
    }
}

/* The part that a block gets which goes on in its place; false if it is not known. */
static bool grow_block(struct hd_build *build, struct lines *lines, const struct hd_map *newest,
                       uint32_t event, uint64_t bytes, uint32_t *number) {
    uint64_t address = build->trace->operand[event];
    uint32_t first = hd_map_get(newest, address, HD_NONE), last = first;
    if (first == HD_NONE || build->block.data[first].free != HD_NONE) return false;
    while (build->block.data[last].next != HD_NONE) last = build->block.data[last].next;
    struct hd_block part = build->block.data[last];
    uint64_t end = address + bytes, start = part.address + part.bytes;
    *number = last;
    if (start >= end) return true; /* it did not get more */
    *number = (uint32_t)build->block.size;
    part = (struct hd_block){.address = start,
                             .bytes = end - start,
                             .alloc = event,
                             .free = HD_NONE,
                             .type = part.type,
                             .whole = first,
                             .next = HD_NONE};
    build->block.data[last].next = *number;
    hd_vector_push(&build->block, part);
    forget(build, lines, part.address, part.address + part.bytes);
    return true;
}

static uint32_t begin_block(struct hd_build *build, struct lines *lines, struct hd_map *newest,
                            uint32_t event, uint64_t bytes) {
    uint64_t address = build->trace->operand[event];
    uint32_t number;
    if ((build->trace->flags[event] & HD_BLOCK_GROWN) != 0 &&
        grow_block(build, lines, newest, event, bytes, &number))
        return number;
    number = (uint32_t)build->block.size;
    struct hd_block block = {.address = address,
                             .bytes = bytes,
                             .alloc = event,
                             .free = HD_NONE,
                             .whole = HD_NONE,
                             .next = HD_NONE,
                             .type = build->trace->flags[event] & HD_BLOCK_TYPE_MASK,
                             .zeroed = (build->trace->flags[event] & HD_BLOCK_ZEROED) != 0};
    hd_vector_push(&build->block, block);
    forget(build, lines, address, address + bytes);
    *hd_map_slot(newest, address, 0) = number;
    return number;
}

static bool end_block(struct hd_build *build, struct lines *lines, const struct hd_map *newest,
                      uint32_t event, uint64_t bytes, uint32_t *object) {
    uint64_t address = build->trace->operand[event];
    uint32_t known = hd_map_get(newest, address, HD_NONE);
    struct hd_block *block = known != HD_NONE ? &build->block.data[known] : NULL;
    *object = HD_NONE;
    if (block != NULL && (block->type == HD_BLOCK_HEAP || bytes == 0 || bytes == block->bytes)) {
        *object = known;
        for (uint32_t part = known; part != HD_NONE; part = build->block.data[part].next)
            if (build->block.data[part].free == HD_NONE) build->block.data[part].free = event;
        return true;
    }
    /* Memory from before the trace, or a part of a mapping: a write of that range. */
    if (bytes == 0) return true;
    uint32_t cell = cell_of(build, lines, address, bytes, HD_CELL_MEMORY);
    if (cell == HD_NONE) return false;
    struct hd_list entry = {event, cell, 0};
    hd_vector_push(&build->range_free, entry);
    return true;
}

/* ---- the pass ------------------------------------------------------------------------------ */

enum what {
    ACCESS,
    LOCK,
    OBJECT,
    BLOCK_BEGIN,
    BLOCK_END,
    THREAD_NUMBER,
    BLOCKED,
    SIGNAL_NUMBER,
    NOTHING
};

static void fill_what(uint8_t what[256], uint8_t type[256]) {
    memset(what, NOTHING, 256);
    memset(type, 0, 256);
    what[HD_EV_READ] = what[HD_EV_WRITE] = ACCESS;
    what[HD_EV_ATOMIC_READ] = what[HD_EV_ATOMIC_WRITE] = what[HD_EV_ATOMIC_UPDATE] = ACCESS;
    what[HD_EV_ACQUIRE] = what[HD_EV_RELEASE] = what[HD_EV_READ_ACQUIRE] = LOCK;
    what[HD_EV_READ_RELEASE] = what[HD_EV_TRY_FAILED] = LOCK;
    what[HD_EV_SIGNAL] = what[HD_EV_BROADCAST] = what[HD_EV_WAIT] = OBJECT;
    what[HD_EV_WAIT_TIMEOUT] = OBJECT;
    what[HD_EV_BARRIER_ARRIVE] = what[HD_EV_BARRIER_LEAVE] = OBJECT;
    type[HD_EV_BARRIER_ARRIVE] = type[HD_EV_BARRIER_LEAVE] = HD_OBJECT_BARRIER;
    what[HD_EV_SEM_INIT] = what[HD_EV_POST] = what[HD_EV_SEM_WAIT] = OBJECT;
    type[HD_EV_SEM_INIT] = type[HD_EV_POST] = type[HD_EV_SEM_WAIT] = HD_OBJECT_SEM;
    what[HD_EV_ONCE_DONE] = what[HD_EV_ONCE_PASS] = OBJECT;
    type[HD_EV_ONCE_DONE] = type[HD_EV_ONCE_PASS] = HD_OBJECT_ONCE;
    what[HD_EV_FORK] = what[HD_EV_JOIN] = what[HD_EV_DETACH] = THREAD_NUMBER;
    what[HD_EV_BEGIN] = what[HD_EV_END] = THREAD_NUMBER;
    what[HD_EV_ALLOC] = BLOCK_BEGIN;
    what[HD_EV_FREE] = BLOCK_END;
    what[HD_EV_BLOCKED] = BLOCKED;
    what[HD_EV_HANDLER_ENTER] = what[HD_EV_HANDLER_LEAVE] = SIGNAL_NUMBER;
    what[HD_EV_NOTE] = OBJECT;
    type[HD_EV_NOTE] = HD_OBJECT_NOTE;
}

/* The cell of a lock or other object, at its address or, in a text trace, by its index. */
static uint32_t named_cell(struct hd_build *build, struct lines *lines, uint64_t operand,
                           unsigned tag) {
    if (build->trace->format != HD_FORMAT_BINARY) operand = NAMED_BASE + operand * 8;
    return cell_of(build, lines, operand, 0, (uint16_t)tag);
}

/* What a note is about: a text, or the object that is made or destroyed. */
static unsigned note_tag(unsigned flags) {
    static const uint8_t tag[] = {[HD_NOTE_LOCK] = HD_CELL_LOCK,
                                  [HD_NOTE_COND] = HD_CELL_OBJECT + HD_OBJECT_COND,
                                  [HD_NOTE_BARRIER] = HD_CELL_OBJECT + HD_OBJECT_BARRIER,
                                  [HD_NOTE_SEM] = HD_CELL_OBJECT + HD_OBJECT_SEM};
    unsigned object = flags >> HD_NOTE_OBJECT_SHIFT;
    if (hd_note_is_child(flags)) return HD_CELL_LOCK;
    if ((flags & HD_NOTE_TYPE_MASK) == HD_NOTE_MISSED) return HD_CELL_OBJECT + HD_OBJECT_SEM;
    if ((flags & HD_NOTE_TYPE_MASK) == HD_NOTE_ONCE) return HD_CELL_OBJECT + HD_OBJECT_ONCE;
    bool known = hd_note_is_life(flags) && object < sizeof tag;
    return known ? tag[object] : HD_CELL_OBJECT + HD_OBJECT_NOTE;
}

static bool blocked_object(struct hd_build *build, struct lines *lines, uint32_t event,
                           uint64_t operand, uint32_t *object) {
    static const uint8_t type[] = {[HD_WAIT_COND] = HD_OBJECT_COND,
                                   [HD_WAIT_BARRIER] = HD_OBJECT_BARRIER,
                                   [HD_WAIT_SEM] = HD_OBJECT_SEM,
                                   [HD_WAIT_ONCE] = HD_OBJECT_ONCE};
    switch (build->trace->flags[event]) {
    case HD_WAIT_LOCK:
        *object = named_cell(build, lines, operand, HD_CELL_LOCK);
        break;
    case HD_WAIT_COND:
    case HD_WAIT_BARRIER:
    case HD_WAIT_SEM:
    case HD_WAIT_ONCE:
        *object =
            named_cell(build, lines, operand, HD_CELL_OBJECT + type[build->trace->flags[event]]);
        break;
    case HD_WAIT_JOIN:
        *object = operand < build->trace->threads ? (uint32_t)operand : HD_NONE;
        return true;
    default:
        *object = HD_NONE;
        return true;
    }
    return *object != HD_NONE;
}

static bool number_events(struct hd_build *build, struct lines *lines, struct hd_map *newest) {
    const struct hd_trace *trace = build->trace;
    uint32_t events = trace->events;
    const uint64_t *operands = trace->operand;
    /* The numbers go into the memory of the operands, which are read ahead of them. */
    uint32_t *objects = build->memory->object;
    uint8_t what[256], type[256];
    fill_what(what, type);
    uint32_t extra_at = 0;
    for (uint32_t e = 0; e < events; e++) {
        if (e + LOOK_AHEAD < events && what[trace->kind[e + LOOK_AHEAD]] == ACCESS)
            __builtin_prefetch(
                &lines->line[line_hash(lines, operands[e + LOOK_AHEAD] >> LINE_SHIFT)]);
        uint64_t operand = operands[e], extra = 0;
        while (extra_at < trace->extras && trace->extra_event[extra_at] <= e) {
            if (trace->extra_event[extra_at] == e) extra = trace->extra_value[extra_at];
            extra_at++;
        }
        if (operand >= OPERAND_LIMIT || extra >> 48 != 0)
            return hd_fail(build->error, HD_ERR_FORMAT, "event %llu has an impossible operand",
                           (unsigned long long)hd_trace_number(trace, e));
        uint8_t kind = trace->kind[e];
        uint32_t object = HD_NONE;
        switch (what[kind]) {
        case ACCESS: {
            uint64_t size = hd_access_size(kind, trace->flags[e], extra);
            if (size == 0) break;
            object = cell_of(build, lines, operand, size, HD_CELL_MEMORY);
            if (object == HD_NONE) return false;
            break;
        }
        case LOCK:
            object = named_cell(build, lines, operand, HD_CELL_LOCK);
            if (object == HD_NONE) return false;
            break;
        case OBJECT:
            object = named_cell(build, lines, operand,
                                kind == HD_EV_NOTE ? note_tag(trace->flags[e])
                                                   : (unsigned)HD_CELL_OBJECT + type[kind]);
            if (object == HD_NONE) return false;
            break;
        case BLOCK_BEGIN:
            object = begin_block(build, lines, newest, e, extra);
            break;
        case BLOCK_END:
            if (!end_block(build, lines, newest, e, extra, &object)) return false;
            break;
        case BLOCKED:
            if (!blocked_object(build, lines, e, operand, &object)) return false;
            break;
        case THREAD_NUMBER:
            object = operand < trace->threads ? (uint32_t)operand : HD_NONE;
            break;
        case SIGNAL_NUMBER:
            object = (uint32_t)operand;
            break;
        default:
            break;
        }
        objects[e] = object;
    }
    return true;
}

bool hd_pass_cells(struct hd_build *build) {
    struct lines lines = {0};
    struct hd_map newest = {0};
    lines_resize(&lines, 10);
    bool done = number_events(build, &lines, &newest);
    free(lines.line);
    hd_vector_free(&lines.link);
    hd_map_free(&lines.regions);
    hd_map_free(&newest);
    return done;
}
