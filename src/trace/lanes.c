/* Records in lanes: see lanes.h. What is stored is, for each lane, its length and its stored length
 * (0: it is not compressed) in four bytes each, and then all lanes. */
#include "trace/lanes.h"

#include "base/alloc.h"
#include "trace/format.h"
#include "trace/token.h"

#include <stdlib.h>
#include <zstd.h>

enum {
    CONTROL = 0,
    MET,
    REST, /* links, counts, and what is no event that differs a little */
    BYTE_0,
    LANES = BYTE_0 + 6,
    LEVEL = 1,
    LEAST = 48,             /* bytes that are worth compressing */
    ROOMY = 32,             /* bytes of a record in which there is room for any short parts */
    LENGTHS = LANES * 2 * 4 /* bytes */
};

struct hd_lanes {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    uint8_t *lane[LANES];
    uint8_t *packed;
    size_t packed_room;
};

struct hd_lanes *hd_lanes_new(void) {
    return hd_zalloc(1, sizeof(struct hd_lanes));
}

/* Most traces are too small to be packed. */
static void make_room(struct hd_lanes *lanes) {
    if (lanes->lane[0] != NULL) return;
    /* what is behind the last byte of a lane may be looked at */
    lanes->lane[0] = hd_alloc((size_t)HD_RECORDS_LIMIT * LANES + HD_TOKEN_BYTES, 1);
    for (unsigned i = 1; i < LANES; i++) lanes->lane[i] = lanes->lane[i - 1] + HD_RECORDS_LIMIT;
}

void hd_lanes_free(struct hd_lanes *lanes) {
    if (lanes == NULL) return;
    ZSTD_freeCCtx(lanes->compress);
    ZSTD_freeDCtx(lanes->decompress);
    free(lanes->lane[0]);
    free(lanes->packed);
    free(lanes);
}

/* Bytes of a record, by its control byte, that go to each lane. More may follow in REST: choices,
 * and counts that do not fit a byte. */
struct layout {
    uint8_t met, rest, operand;
    bool counts, choices;
};

static struct layout layout_of(unsigned control) {
    struct hd_token token;
    uint8_t record[HD_TOKEN_BYTES] = {(uint8_t)control};
    struct layout layout = {.met = (uint8_t)hd_token_met_bytes(control)};
    bool other = (control & 3) == HD_TOKEN_OTHER;
    layout.choices = other && (control >> 2 & 7) == HD_TOKEN_CHOICES;
    layout.counts = !other && (control & HD_TOKEN_COUNTS) != 0;
    /* of zeros, choices would be none, and counts fit a byte */
    if (layout.choices) record[1 + layout.met] = 1;
    if (!hd_token_get(record, sizeof record, &token)) return (struct layout){.met = UINT8_MAX};
    unsigned all = token.length - 1u - layout.met;
    if (!other && token.other >= HD_OPERAND_1)
        layout.operand =
            token.other == HD_OPERAND_WHOLE ? 6 : (uint8_t)(token.other - HD_OPERAND_1 + 1);
    layout.rest = (uint8_t)(all - layout.operand - (layout.choices ? 1 : 0));
    return layout;
}

static const struct layout *layouts(void) {
    static __thread struct layout table[256];
    static __thread bool known;
    if (!known)
        for (unsigned i = 0; i < 256; i++) table[i] = layout_of(i);
    known = true;
    return table;
}

/* ---- taking apart ------------------------------------------------------------------------------
 */

static bool take_apart(struct hd_lanes *lanes, const uint8_t *record, size_t length,
                       size_t size[LANES]) {
    const struct layout *table = layouts();
    const uint8_t *end = record + length;
    uint8_t *to[LANES];
    for (unsigned i = 0; i < LANES; i++) to[i] = lanes->lane[i];
    while (record < end) {
        const struct layout *layout = &table[*record];
        size_t least = 1u + layout->met + layout->rest + layout->operand;
        if (layout->met == UINT8_MAX || (size_t)(end - record) < least) return false;
        *to[CONTROL]++ = *record++;
        for (unsigned i = 0; i < layout->met; i++) *to[MET]++ = *record++;
        unsigned rest = layout->rest;
        if (layout->counts && record[rest - 1] == HD_TOKEN_BRANCHES) rest += 4;
        if (layout->choices) rest += *record;
        if ((size_t)(end - record) < (size_t)rest + layout->operand) return false;
        memcpy(to[REST], record, rest);
        to[REST] += rest;
        record += rest;
        for (unsigned i = 0; i < layout->operand; i++) *to[BYTE_0 + i]++ = *record++;
    }
    for (unsigned i = 0; i < LANES; i++) size[i] = (size_t)(to[i] - lanes->lane[i]);
    return true;
}

size_t hd_lanes_pack(struct hd_lanes *lanes, const uint8_t *record, size_t length,
                     const uint8_t **packed) {
    size_t size[LANES];
    make_room(lanes);
    if (length > HD_RECORDS_LIMIT || !take_apart(lanes, record, length, size)) return 0;
    if (lanes->compress == NULL) {
        lanes->compress = ZSTD_createCCtx();
        if (lanes->compress == NULL) hd_out_of_memory();
        ZSTD_CCtx_setParameter(lanes->compress, ZSTD_c_compressionLevel, LEVEL);
        lanes->packed_room = LENGTHS + LANES * ZSTD_compressBound(HD_RECORDS_LIMIT);
        lanes->packed = hd_alloc(1, lanes->packed_room);
    }
    uint8_t *to = lanes->packed + LENGTHS;
    for (unsigned i = 0; i < LANES; i++) {
        size_t stored = 0;
        if (size[i] >= LEAST) {
            stored = ZSTD_compress2(lanes->compress, to, ZSTD_compressBound(size[i]),
                                    lanes->lane[i], size[i]);
            if (ZSTD_isError(stored)) hd_out_of_memory(); /* there is room for everything else */
            if (stored >= size[i]) stored = 0;
        }
        if (stored == 0) memcpy(to, lanes->lane[i], size[i]);
        to += stored != 0 ? stored : size[i];
        uint32_t lengths[2] = {(uint32_t)size[i], (uint32_t)stored};
        memcpy(lanes->packed + (size_t)i * sizeof lengths, lengths, sizeof lengths);
    }
    *packed = lanes->packed;
    return (size_t)(to - lanes->packed);
}

/* ---- putting together --------------------------------------------------------------------------
 */

/* Whether a lane ends too early is looked at in the end: since each is read no further than records
 * are made, there is room for that. */
static bool put_together(const struct hd_lanes *lanes, const size_t size[LANES], uint8_t *record,
                         size_t length) {
    const struct layout *table = layouts();
    const uint8_t *from[LANES], *stop = record + length;
    for (unsigned i = 0; i < LANES; i++) from[i] = lanes->lane[i];
    const uint8_t *control = from[CONTROL], *control_end = control + size[CONTROL];
    const uint8_t *met = from[MET], *other = from[REST];
    for (; control < control_end; control++) {
        const struct layout *layout = &table[*control];
        if (layout->met == UINT8_MAX) return false;
        unsigned rest = layout->rest;
        if (layout->counts && other[rest - 1] == HD_TOKEN_BRANCHES) rest += 4;
        if (layout->choices) rest += *other;
        size_t left = (size_t)(stop - record);
        if (left < 1u + layout->met + rest + layout->operand) return false;
        *record++ = *control;
        if (left >= ROOMY && rest <= 8) { /* bytes that are too many are written over */
            memcpy(record, met, 8);
            memcpy(record + layout->met, other, 8);
        } else {
            memcpy(record, met, layout->met);
            memcpy(record + layout->met, other, rest);
        }
        met += layout->met;
        other += rest;
        record += layout->met + rest;
        switch (layout->operand) {
        case 6:
            record[5] = *from[BYTE_0 + 5]++;
            record[4] = *from[BYTE_0 + 4]++;
            __attribute__((fallthrough));
        case 4:
            record[3] = *from[BYTE_0 + 3]++;
            __attribute__((fallthrough));
        case 3:
            record[2] = *from[BYTE_0 + 2]++;
            __attribute__((fallthrough));
        case 2:
            record[1] = *from[BYTE_0 + 1]++;
            __attribute__((fallthrough));
        case 1:
            record[0] = *from[BYTE_0]++;
            break;
        default:
            break;
        }
        record += layout->operand;
    }
    from[CONTROL] = control;
    from[MET] = met;
    from[REST] = other;
    for (unsigned i = 0; i < LANES; i++)
        if (from[i] != lanes->lane[i] + size[i]) return false;
    return record == stop;
}

bool hd_lanes_unpack(struct hd_lanes *lanes, const uint8_t *packed, size_t packed_length,
                     uint8_t *record, size_t length) {
    size_t size[LANES];
    if (packed_length < LENGTHS || length > HD_RECORDS_LIMIT) return false;
    make_room(lanes);
    if (lanes->decompress == NULL) lanes->decompress = ZSTD_createDCtx();
    if (lanes->decompress == NULL) hd_out_of_memory();
    const uint8_t *from = packed + LENGTHS, *end = packed + packed_length;
    for (unsigned i = 0; i < LANES; i++) {
        uint32_t lengths[2];
        memcpy(lengths, packed + (size_t)i * sizeof lengths, sizeof lengths);
        size_t taken = lengths[1] != 0 ? lengths[1] : lengths[0];
        size[i] = lengths[0];
        if (size[i] > length || taken > (size_t)(end - from)) return false;
        if (lengths[1] == 0) {
            memcpy(lanes->lane[i], from, size[i]);
        } else {
            size_t made =
                ZSTD_decompressDCtx(lanes->decompress, lanes->lane[i], size[i], from, taken);
            if (ZSTD_isError(made) || made != size[i]) return false;
        }
        from += taken;
    }
    return from == end && put_together(lanes, size, record, length);
}
