/* The packing side: see pack.h and pack_state.h. Runs beside the program that is recorded, so every
 * nanosecond per event counts. */
#include "trace/pack.h"
#include "base/alloc.h"
#include "base/varint.h"
#include "trace/pack_state.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>

/* A column that zstd made smaller by less than an eighth is stored as it is for the next chunks:
 * those of addresses at random are like that, and trying costs as much as compressing. */
enum { LEVEL = 1, LEAST_COMPRESSED = 48, FIRST_INDEX_BITS = 10, PAUSE = 15 };

/* Finds shapes by key and context; rebuilt larger when half full. */
struct shape_index {
    uint16_t *slot; /* shape number, 0 = empty */
    unsigned bits;
    unsigned allocated_bits;
};

struct hd_packer {
    ZSTD_CCtx *zstd;
    struct shape_index index;
    uint32_t context[HD_PACK_EVENTS + 1]; /* of each shape */
    uint8_t *column[COLUMNS];
    size_t length[COLUMNS];
    uint8_t pause[COLUMNS]; /* chunks in which the column is not compressed */
    uint8_t *out;
    size_t out_capacity;
    struct pack_state state;
};

static size_t column_capacity(unsigned column) {
    return (size_t)HD_PACK_EVENTS * (column == COLUMN_NEW ? NEW_SHAPE_BYTES : 1);
}

struct hd_packer *hd_packer_new(void) {
    struct hd_packer *packer = aligned_alloc(64, sizeof *packer);
    if (packer == NULL) hd_out_of_memory();
    memset(packer, 0, offsetof(struct hd_packer, state));
    packer->zstd = ZSTD_createCCtx();
    if (packer->zstd == NULL) hd_out_of_memory();
    for (unsigned i = 0; i < COLUMNS; i++) {
        packer->column[i] = hd_alloc(1, column_capacity(i));
        packer->out_capacity += 2 * HD_VARINT_BYTES + ZSTD_compressBound(column_capacity(i));
    }
    packer->out = hd_alloc(1, packer->out_capacity);
    packer->index.allocated_bits = FIRST_INDEX_BITS;
    packer->index.slot = hd_alloc((size_t)1 << FIRST_INDEX_BITS, sizeof *packer->index.slot);
    ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_contentSizeFlag, 0);
    return packer;
}

void hd_packer_free(struct hd_packer *packer) {
    if (packer == NULL) return;
    ZSTD_freeCCtx(packer->zstd);
    free(packer->index.slot);
    for (unsigned i = 0; i < COLUMNS; i++) free(packer->column[i]);
    free(packer->out);
    free(packer);
}

/* ---- finding shapes ----------------------------------------------------------------------- */

static inline uint32_t index_start(const struct shape_index *index, uint64_t key,
                                   uint32_t context) {
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull ^ context * 0xd6e8feb86659fd93ull) >>
                      (64 - index->bits));
}

static void index_put(struct hd_packer *packer, uint16_t number) {
    struct shape_index *index = &packer->index;
    uint32_t mask = (1u << index->bits) - 1;
    uint32_t at = index_start(index, packer->state.shape[number].key, packer->context[number]);
    while (index->slot[at] != 0) at = (at + 1) & mask;
    index->slot[at] = number;
}

static void index_reset(struct hd_packer *packer, unsigned bits) {
    struct shape_index *index = &packer->index;
    if (bits > index->allocated_bits) {
        index->slot = hd_realloc(index->slot, (size_t)1 << bits, sizeof *index->slot);
        index->allocated_bits = bits;
    }
    index->bits = bits;
    memset(index->slot, 0, sizeof *index->slot << bits);
    for (uint32_t i = 1; i < packer->state.shapes; i++) index_put(packer, (uint16_t)i);
}

/* The shape of a key, or 0. */
static uint16_t index_find(const struct hd_packer *packer, uint64_t key, uint32_t context) {
    const struct shape_index *index = &packer->index;
    uint32_t mask = (1u << index->bits) - 1;
    for (uint32_t at = index_start(index, key, context);; at = (at + 1) & mask) {
        uint16_t number = index->slot[at];
        if (number == 0) return 0;
        if (packer->state.shape[number].key == key && packer->context[number] == context)
            return number;
    }
}

/* ---- one event ---------------------------------------------------------------------------- */

/* Where the columns stand while a chunk is packed. */
struct cursor {
    uint8_t *at[COLUMNS];
};

static inline void put(struct cursor *to, unsigned column, uint64_t byte) {
    *to->at[column]++ = (uint8_t)byte;
}

static inline void put_bytes(struct cursor *to, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) put(to, COLUMN_BYTE_0 + i, value >> 8 * i);
}

/* A 48-bit distance as a signed number folded. */
static inline uint64_t fold(uint64_t distance) {
    return hd_zigzag((int64_t)(distance << 16) >> 16);
}

/* An operand that no shape predicted: the cheapest way to say it. */
static __attribute__((noinline)) unsigned put_operand(struct pack_state *s, struct cursor *to,
                                                      const struct shape *shape, uint64_t operand,
                                                      uint64_t base) {
    uint64_t from_last = fold(operand - shape->last);
    uint64_t from_base = fold(operand - base);
    unsigned recent = recent_slot(operand), older = older_slot(operand);
    if (from_last < 1u << 8) return put_bytes(to, from_last, 1), OPERAND_LAST_1;
    if (from_base < 1u << 8) return put_bytes(to, from_base, 1), OPERAND_BASE_1;
    if (s->recent[recent] == operand) return put(to, COLUMN_RECENT, recent), OPERAND_RECENT;
    if (from_last < 1u << 16) return put_bytes(to, from_last, 2), OPERAND_LAST_2;
    if (from_base < 1u << 16) return put_bytes(to, from_base, 2), OPERAND_BASE_2;
    if (s->older[older] == operand) {
        put(to, COLUMN_OLDER_LOW, older);
        put(to, COLUMN_OLDER_HIGH, older >> 8);
        return OPERAND_OLDER;
    }
    if (from_last < 1u << 24) return put_bytes(to, from_last, 3), OPERAND_LAST_3;
    if (from_base < 1u << 24) return put_bytes(to, from_base, 3), OPERAND_BASE_3;
    if (from_last < (uint64_t)1 << 32) return put_bytes(to, from_last, 4), OPERAND_LAST_4;
    return put_bytes(to, operand, 6), OPERAND_WHOLE;
}

static void put_counts(struct cursor *to, uint32_t counts) {
    put(to, COLUMN_CALLS_LOW, counts);
    put(to, COLUMN_CALLS_HIGH, counts >> 8);
    put(to, COLUMN_BRANCHES_LOW, counts >> 16);
    put(to, COLUMN_BRANCHES_HIGH, counts >> 24);
}

/* A shape that its predecessor's first guess missed; returns its number. */
static __attribute__((noinline)) uint16_t put_shape(struct hd_packer *packer, struct cursor *to,
                                                    uint64_t key, uint32_t counts, unsigned *token,
                                                    uint32_t *expected) {
    struct pack_state *s = &packer->state;
    struct shape *before = &s->shape[s->previous];
    uint16_t number = before->next[1];
    if (s->shape[number].key == key) {
        *token = SHAPE_SECOND;
        *expected = before->next_counts[1];
    } else {
        uint32_t context = shape_context(key, s->previous);
        number = index_find(packer, key, context);
        if (number != 0) {
            *token = SHAPE_KNOWN;
            *expected = s->shape[number].counts;
            put(to, COLUMN_SHAPE_LOW, number);
            put(to, COLUMN_SHAPE_HIGH, number >> 8);
        } else {
            *token = SHAPE_NEW;
            *expected = FIRST_COUNTS;
            for (unsigned i = 0; i < NEW_SHAPE_BYTES; i++) put(to, COLUMN_NEW, key >> 8 * i);
            number = (uint16_t)s->shapes++;
            shape_init(&s->shape[number], key);
            packer->context[number] = context;
            if (s->shapes > 1u << (packer->index.bits - 1))
                index_reset(packer, packer->index.bits + 1);
            else
                index_put(packer, number);
        }
    }
    learn_order(before, number, counts);
    return number;
}

static void pack_columns(struct hd_packer *packer, const struct hd_wire_event *event,
                         size_t count) {
    struct pack_state *s = &packer->state;
    struct cursor to;
    for (unsigned i = 0; i < COLUMNS; i++) to.at[i] = packer->column[i];
    uint8_t *tokens = packer->column[COLUMN_TOKEN];
    for (size_t i = 0; i < count; i++) {
        uint64_t head = event[i].head, tail = event[i].tail;
        uint64_t key = shape_key(head, tail), operand = head >> 16;
        uint32_t counts = pack_counts(head, tail), expected;
        unsigned token;
        struct shape *before = &s->shape[s->previous];
        uint16_t number = before->next[0];
        if (__builtin_expect(s->shape[number].key == key, 1)) {
            token = SHAPE_NEXT;
            expected = before->next_counts[0];
            before->next_counts[0] = counts;
        } else {
            number = put_shape(packer, &to, key, counts, &token, &expected);
        }
        struct shape *shape = &s->shape[number];
        if (counts != expected) {
            token |= TOKEN_COUNTS;
            put_counts(&to, counts);
        }
        shape->counts = counts;

        uint64_t *base = &s->base[operand_group(key)];
        uint64_t step = (operand - shape->last) & OPERAND_MASK;
        uint64_t relative = (operand - *base) & OPERAND_MASK;
        if (__builtin_expect(step != shape->stride, 0)) {
            unsigned way;
            if (step == shape->other)
                way = OPERAND_OTHER;
            else if (relative == shape->relative)
                way = OPERAND_RELATIVE;
            else {
                way = put_operand(s, &to, shape, operand, *base);
                remember(s, operand);
            }
            token |= way << TOKEN_OPERAND_SHIFT;
            learn_stride(shape, operand);
        }
        shape->last = operand;
        shape->relative = relative;
        *base = operand;
        s->previous = number;
        tokens[i] = (uint8_t)token;
        if ((key & 0xff) == HD_EV_THREAD) switch_thread(s, operand);
    }
    to.at[COLUMN_TOKEN] += count;
    for (unsigned i = 0; i < COLUMNS; i++)
        packer->length[i] = (size_t)(to.at[i] - packer->column[i]);
}

/* ---- a chunk ------------------------------------------------------------------------------ */

void hd_pack(struct hd_packer *packer, const struct hd_wire_event *event, size_t count,
             const uint8_t **bytes, size_t *length) {
    assert(count > 0 && count <= HD_PACK_EVENTS);
    state_reset(&packer->state);
    index_reset(packer, FIRST_INDEX_BITS);
    pack_columns(packer, event, count);
    uint8_t *out = packer->out, *end = out + packer->out_capacity;
    for (unsigned i = 0; i < COLUMNS; i++) {
        /* a stored length of 0 says that the column is not compressed */
        size_t raw = packer->length[i], stored = 0;
        if (packer->pause[i] > 0) {
            packer->pause[i]--;
        } else if (raw >= LEAST_COMPRESSED) {
            uint8_t *body = out + HD_VARINT_BYTES;
            stored =
                ZSTD_compress2(packer->zstd, body, (size_t)(end - body), packer->column[i], raw);
            if (ZSTD_isError(stored)) hd_out_of_memory(); /* there is room for everything else */
            if (stored > raw - raw / 8) packer->pause[i] = PAUSE;
            if (stored >= raw) stored = 0;
        }
        uint8_t header[HD_VARINT_BYTES];
        size_t header_length = hd_varint_put(header, stored);
        if (stored != 0)
            memmove(out + header_length, out + HD_VARINT_BYTES, stored);
        else
            memcpy(out + header_length, packer->column[i], raw);
        memcpy(out, header, header_length);
        out += header_length + (stored != 0 ? stored : raw);
    }
    *bytes = packer->out;
    *length = (size_t)(out - packer->out);
}
