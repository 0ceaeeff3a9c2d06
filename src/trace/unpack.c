/* The unpacking side: see pack.h and pack_state.h. The bytes are untrusted: how much of every
 * column the tokens will take is counted before the first event is made, so that the loop itself
 * can't run past a column. */
#include "base/alloc.h"
#include "base/varint.h"
#include "trace/pack.h"
#include "trace/pack_state.h"

#include <stdlib.h>
#include <zstd.h>

struct hd_unpacker {
    ZSTD_DCtx *zstd;
    uint8_t *column[COLUMNS];
    struct pack_state state;
};

struct hd_unpacker *hd_unpacker_new(void) {
    struct hd_unpacker *unpacker = aligned_alloc(64, sizeof *unpacker);
    if (unpacker == NULL) hd_out_of_memory();
    memset(unpacker, 0, offsetof(struct hd_unpacker, state));
    unpacker->zstd = ZSTD_createDCtx();
    if (unpacker->zstd == NULL) hd_out_of_memory();
    for (unsigned i = 0; i < COLUMNS; i++)
        unpacker->column[i] = hd_alloc(HD_PACK_EVENTS, i == COLUMN_NEW ? NEW_SHAPE_BYTES : 1);
    return unpacker;
}

void hd_unpacker_free(struct hd_unpacker *unpacker) {
    if (unpacker == NULL) return;
    ZSTD_freeDCtx(unpacker->zstd);
    for (unsigned i = 0; i < COLUMNS; i++) free(unpacker->column[i]);
    free(unpacker);
}

/* ---- columns ------------------------------------------------------------------------------ */

/* Reads one column of exactly `raw` bytes and moves *bytes on. */
static bool get_column(struct hd_unpacker *unpacker, unsigned column, size_t raw,
                       const uint8_t **bytes, const uint8_t *end) {
    uint64_t stored;
    size_t header = hd_varint_get(*bytes, (size_t)(end - *bytes), &stored);
    if (header == 0) return false;
    *bytes += header;
    uint64_t taken = stored != 0 ? stored : raw;
    if (taken > (size_t)(end - *bytes)) return false;
    if (stored == 0) {
        memcpy(unpacker->column[column], *bytes, raw);
    } else {
        size_t made = ZSTD_decompressDCtx(unpacker->zstd, unpacker->column[column], raw, *bytes,
                                          (size_t)stored);
        if (ZSTD_isError(made) || made != raw) return false;
    }
    *bytes += taken;
    return true;
}

/* How many bytes an operand given in this way takes of the byte columns. */
static unsigned operand_bytes(unsigned way) {
    if (way >= OPERAND_LAST_1 && way <= OPERAND_LAST_4) return way - OPERAND_LAST_1 + 1;
    if (way >= OPERAND_BASE_1 && way <= OPERAND_BASE_3) return way - OPERAND_BASE_1 + 1;
    return way == OPERAND_WHOLE ? 6 : 0;
}

/* The lengths of all other columns follow from the tokens. */
static bool column_lengths(const uint8_t *token, size_t count, size_t length[COLUMNS]) {
    uint32_t histogram[4][256] = {{0}};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        histogram[0][token[i]]++;
        histogram[1][token[i + 1]]++;
        histogram[2][token[i + 2]]++;
        histogram[3][token[i + 3]]++;
    }
    for (; i < count; i++) histogram[0][token[i]]++;
    memset(length, 0, sizeof(size_t[COLUMNS]));
    for (unsigned t = 0; t < 256; t++) {
        size_t n = (size_t)histogram[0][t] + histogram[1][t] + histogram[2][t] + histogram[3][t];
        if (n == 0) continue;
        unsigned shape = t & TOKEN_SHAPE, way = t >> TOKEN_OPERAND_SHIFT;
        if ((t & TOKEN_UNUSED) != 0 || way >= OPERAND_WAYS) return false;
        if (shape == SHAPE_KNOWN) length[COLUMN_SHAPE_LOW] += n;
        if (shape == SHAPE_NEW) length[COLUMN_NEW] += n * NEW_SHAPE_BYTES;
        if ((t & TOKEN_COUNTS) != 0) length[COLUMN_CALLS_LOW] += n;
        if (way == OPERAND_RECENT) length[COLUMN_RECENT] += n;
        if (way == OPERAND_OLDER) length[COLUMN_OLDER_LOW] += n;
        for (unsigned b = 0; b < operand_bytes(way); b++) length[COLUMN_BYTE_0 + b] += n;
    }
    length[COLUMN_SHAPE_HIGH] = length[COLUMN_SHAPE_LOW];
    length[COLUMN_CALLS_HIGH] = length[COLUMN_CALLS_LOW];
    length[COLUMN_BRANCHES_LOW] = length[COLUMN_CALLS_LOW];
    length[COLUMN_BRANCHES_HIGH] = length[COLUMN_CALLS_LOW];
    length[COLUMN_OLDER_HIGH] = length[COLUMN_OLDER_LOW];
    return true;
}

/* ---- one event ---------------------------------------------------------------------------- */

struct cursor {
    const uint8_t *at[COLUMNS];
};

static inline uint64_t get(struct cursor *from, unsigned column) { return *from->at[column]++; }

static inline uint64_t get_bytes(struct cursor *from, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= get(from, COLUMN_BYTE_0 + i) << 8 * i;
    return value;
}

static inline uint64_t unfold(uint64_t folded) { return (uint64_t)hd_unzigzag(folded); }

static inline uint64_t get_operand(struct pack_state *s, struct cursor *from, unsigned way,
                                   const struct shape *shape, uint64_t base) {
    uint64_t operand = 0;
    switch (way) {
    case OPERAND_OTHER:
        return (shape->last + shape->other) & OPERAND_MASK;
    case OPERAND_RELATIVE:
        return (base + shape->relative) & OPERAND_MASK;
    case OPERAND_RECENT:
        operand = s->recent[get(from, COLUMN_RECENT)];
        break;
    case OPERAND_OLDER: {
        uint64_t low = get(from, COLUMN_OLDER_LOW);
        uint64_t slot = low | get(from, COLUMN_OLDER_HIGH) << 8;
        operand = s->older[slot & ((1u << OLDER_BITS) - 1)];
        break;
    }
    case OPERAND_LAST_1:
        operand = shape->last + unfold(get_bytes(from, 1));
        break;
    case OPERAND_LAST_2:
        operand = shape->last + unfold(get_bytes(from, 2));
        break;
    case OPERAND_LAST_3:
        operand = shape->last + unfold(get_bytes(from, 3));
        break;
    case OPERAND_LAST_4:
        operand = shape->last + unfold(get_bytes(from, 4));
        break;
    case OPERAND_BASE_1:
        operand = base + unfold(get_bytes(from, 1));
        break;
    case OPERAND_BASE_2:
        operand = base + unfold(get_bytes(from, 2));
        break;
    case OPERAND_BASE_3:
        operand = base + unfold(get_bytes(from, 3));
        break;
    case OPERAND_WHOLE:
        operand = get_bytes(from, 6);
        break;
    }
    operand &= OPERAND_MASK;
    remember(s, operand);
    return operand;
}

static inline uint32_t get_counts(struct cursor *from) {
    uint32_t counts = (uint32_t)get(from, COLUMN_CALLS_LOW);
    counts |= (uint32_t)get(from, COLUMN_CALLS_HIGH) << 8;
    counts |= (uint32_t)get(from, COLUMN_BRANCHES_LOW) << 16;
    return counts | (uint32_t)get(from, COLUMN_BRANCHES_HIGH) << 24;
}

/* The shape of a token that is not SHAPE_NEXT; 0 if there is none. */
static uint16_t get_shape(struct pack_state *s, struct cursor *from, unsigned token,
                          uint32_t *expected) {
    const struct shape *before = &s->shape[s->previous];
    uint16_t number;
    switch (token & TOKEN_SHAPE) {
    case SHAPE_SECOND:
        *expected = before->next_counts[1];
        return before->next[1];
    case SHAPE_KNOWN:
        number = (uint16_t)get(from, COLUMN_SHAPE_LOW);
        number |= (uint16_t)(get(from, COLUMN_SHAPE_HIGH) << 8);
        if (number >= s->shapes) return 0;
        *expected = s->shape[number].counts;
        return number;
    default: {
        uint64_t key = 0;
        for (unsigned i = 0; i < NEW_SHAPE_BYTES; i++) key |= get(from, COLUMN_NEW) << 8 * i;
        number = (uint16_t)s->shapes++;
        shape_init(&s->shape[number], key);
        *expected = FIRST_COUNTS;
        return number;
    }
    }
}

static bool unpack_events(struct hd_unpacker *unpacker, struct hd_wire_event *event, size_t count) {
    struct pack_state *s = &unpacker->state;
    struct cursor from;
    for (unsigned i = 0; i < COLUMNS; i++) from.at[i] = unpacker->column[i];
    const uint8_t *tokens = unpacker->column[COLUMN_TOKEN];
    for (size_t i = 0; i < count; i++) {
        unsigned token = tokens[i];
        struct shape *before = &s->shape[s->previous];
        uint16_t number;
        uint32_t counts;
        if (__builtin_expect((token & TOKEN_SHAPE) == SHAPE_NEXT, 1)) {
            number = before->next[0];
            counts = before->next_counts[0];
            if (number == 0) return false;
            if (__builtin_expect((token & TOKEN_COUNTS) != 0, 0)) {
                counts = get_counts(&from);
                before->next_counts[0] = counts;
            }
        } else {
            number = get_shape(s, &from, token, &counts);
            if (number == 0) return false;
            if ((token & TOKEN_COUNTS) != 0) counts = get_counts(&from);
            learn_order(before, number, counts);
        }
        struct shape *shape = &s->shape[number];
        shape->counts = counts;
        uint64_t key = shape->key;
        uint64_t *base = &s->base[operand_group(key)];
        unsigned way = token >> TOKEN_OPERAND_SHIFT;
        uint64_t operand;
        if (__builtin_expect(way == OPERAND_STRIDE, 1)) {
            operand = (shape->last + shape->stride) & OPERAND_MASK;
        } else {
            operand = get_operand(s, &from, way, shape, *base);
            learn_stride(shape, operand);
        }
        shape->last = operand;
        shape->relative = (operand - *base) & OPERAND_MASK;
        *base = operand;
        s->previous = number;
        event[i].head = (key & 0xffff) | operand << 16;
        event[i].tail = key >> 16 | (uint64_t)unpack_counts(key, counts) << 32;
        if ((key & 0xff) == HD_EV_THREAD) switch_thread(s, operand);
    }
    return true;
}

bool hd_unpack(struct hd_unpacker *unpacker, const uint8_t *bytes, size_t length,
               struct hd_wire_event *event, size_t count) {
    if (count == 0 || count > HD_PACK_EVENTS) return false;
    const uint8_t *end = bytes + length;
    size_t raw[COLUMNS];
    if (!get_column(unpacker, COLUMN_TOKEN, count, &bytes, end)) return false;
    if (!column_lengths(unpacker->column[COLUMN_TOKEN], count, raw)) return false;
    for (unsigned i = COLUMN_TOKEN + 1; i < COLUMNS; i++) {
        if (!get_column(unpacker, i, raw[i], &bytes, end)) return false;
    }
    if (bytes != end) return false;
    state_reset(&unpacker->state);
    return unpack_events(unpacker, event, count);
}
