/* How events that were not expected (expect.h) are stored: as records of bytes, of which most say
 * only in what they differ from what was expected. Like expect.h this is shared by the runtime and
 * the reader, and depends on the C library alone.
 *
 * A record begins with a control byte:
 *     bits 0-1  which link the event has (enum hd_token_link), or that it is something else
 *     bits 2-4  its operand: as expected, the link's second step, or given in 1 to 4 or 6 bytes;
 *               of something else: what (enum hd_token_other)
 *     bit 5     its counts are given; of an event that is stored whole: it has a link
 *     bits 6-7  how many bytes say how many events came as expected before it: none, 1, 2 or 6.
 * None: as many as before the event before the last one; of something else, 0 Then follow that
 * number, the link, the counts and the operand, as far as they are given. */
#ifndef HEDDLE_TRACE_TOKEN_H
#define HEDDLE_TRACE_TOKEN_H

#include "trace/expect.h"

#include <string.h>

enum hd_token_link {
    HD_TOKEN_NEXT = 0, /* the one that is expected */
    HD_TOKEN_SECOND,   /* the other one that came after the one before */
    HD_TOKEN_LINK,     /* given in three bytes: its offset over HD_LINK_BYTES */
    HD_TOKEN_OTHER     /* no event that differs a little */
};
enum hd_token_other {
    HD_TOKEN_EVENT = 0,  /* an event, whole: its link, head and tail */
    HD_TOKEN_STAMP,      /* a STAMP: how far it is above the last one of the stream, in 8 bytes */
    HD_TOKEN_THREAD,     /* a THREAD: its number, in 4 bytes */
    HD_TOKEN_STAMP_NEAR, /* a STAMP, in 2 bytes */
    HD_TOKEN_CHOICES,    /* of links with two steps, in the events that the next record counts; a
                            byte says in how many bytes */
    HD_TOKEN_MET         /* only that events came as expected */
};
enum { /* ways to say an operand */
       HD_OPERAND_EXPECTED = 0,
       HD_OPERAND_SECOND,
       HD_OPERAND_1, /* bytes of its distance from the one that is expected */
       HD_OPERAND_4 = HD_OPERAND_1 + 3,
       HD_OPERAND_WHOLE
};
enum {
    HD_TOKEN_COUNTS = 0x20, /* given; of a whole event: with a link */
    HD_TOKEN_BYTES = 40,    /* no record is longer, and none needs more room to be written */
    HD_TOKEN_BRANCHES =
        255 /* counts of one call and fewer branches take a byte, others four more */
};

static inline unsigned hd_token_met_bytes(unsigned control) {
    return 0x6210u >> (control >> 6) * 4 & 0xf;
}

/* Distances are told in units of what is accessed. */
static inline unsigned hd_token_shift(unsigned shape) {
    static const uint8_t shift[17] = {[2] = 1, [4] = 2, [8] = 3, [16] = 4};
    unsigned size = shape >> 8;
    return (shape & 0xff) <= HD_EV_WRITE && size < sizeof shift ? shift[size] : 0;
}

/* The link that also came after the latest event's; 0: none. */
static inline uint32_t hd_token_second(const struct hd_expect *e) {
    const struct hd_expected *before = hd_link_at(e, e->before);
    return e->at == before->next ? before->exit : before->next;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

/* Bytes beyond what the record takes may be written to, up to HD_TOKEN_BYTES in all. */
static inline void hd_token_put8(uint8_t *to, uint64_t value) { memcpy(to, &value, sizeof value); }

static inline uint8_t *hd_token_put_met(uint8_t *to, unsigned *control, uint64_t met,
                                        uint64_t expected) {
    unsigned way = met == expected ? 0 : met < 0x100 ? 1 : met < 0x10000 ? 2 : 3;
    *control |= way << 6;
    hd_token_put8(to, met);
    return to + hd_token_met_bytes(way << 6);
}

/* An operand that is not where it is expected; it may be where the second step leads. */
static inline uint8_t *hd_token_put_operand(uint8_t *to, unsigned *control, uint64_t operand,
                                            uint64_t expected, uint64_t second, unsigned shift) {
    uint64_t distance = operand - expected;
    int64_t near = (int64_t)(distance << 16) >> 16;
    uint64_t folded = (uint64_t)(near >> shift) << 1 ^ (uint64_t)(near >> 63);
    unsigned bytes = (71u - (unsigned)__builtin_clzll(folded | 1)) / 8;
    unsigned way = HD_OPERAND_1 - 1 + bytes;
    if (operand == second) {
        way = HD_OPERAND_SECOND;
        bytes = 0;
    } else if (__builtin_expect(bytes > 4 || (distance & ((1u << shift) - 1)) != 0, 0)) {
        way = HD_OPERAND_WHOLE;
        folded = operand;
        bytes = 6;
    }
    hd_token_put8(to, folded);
    *control |= way << 2;
    return to + bytes;
}

/* An event of a link that is in use, and what is told of it. Returns where the next record goes. */
static inline uint8_t *hd_token_put(uint8_t *to, const struct hd_expect *e, uint32_t link,
                                    uint64_t operand, uint32_t counts, uint64_t met) {
    const struct hd_expected *l = hd_link_at(e, link);
    unsigned control = HD_TOKEN_NEXT;
    uint8_t *at = hd_token_put_met(to + 1, &control, met, e->met[0]);
    if (e->at != link) {
        if (e->before != 0 && hd_token_second(e) == link) {
            control |= HD_TOKEN_SECOND;
        } else {
            control |= HD_TOKEN_LINK;
            hd_token_put8(at, link / HD_LINK_BYTES);
            at += 3;
        }
    }
    if (counts != l->rest) {
        uint32_t branches = counts - HD_COUNTS_CALL; /* of one call; else more than fit */
        bool brief = branches < HD_TOKEN_BRANCHES;
        control |= HD_TOKEN_COUNTS;
        *at++ = brief ? (uint8_t)branches : HD_TOKEN_BRANCHES;
        memcpy(at, &counts, sizeof counts);
        at += brief ? 0 : sizeof counts;
    }
    uint64_t expected = hd_link_operand(e, l, false);
    if (operand != expected)
        at = hd_token_put_operand(at, &control, operand, expected, hd_link_operand(e, l, true),
                                  hd_token_shift(l->shape));
    *to = (uint8_t)control;
    return at;
}

/* Anything else: so many bytes of a value follow what was met. */
static inline uint8_t *hd_token_put_other(uint8_t *to, enum hd_token_other other, uint64_t met,
                                          uint64_t value, unsigned bytes) {
    unsigned control = HD_TOKEN_OTHER | (unsigned)other << 2;
    uint8_t *at = hd_token_put_met(to + 1, &control, met, 0);
    hd_token_put8(at, value);
    *to = (uint8_t)control;
    return at + bytes;
}

/* A whole event, and the link that it begins or goes on with; 0: it has none. */
static inline uint8_t *hd_token_put_event(uint8_t *to, uint32_t link, uint64_t head, uint64_t tail,
                                          uint64_t met) {
    uint8_t *at = hd_token_put_other(to, HD_TOKEN_EVENT, met, link / HD_LINK_BYTES, 0);
    if (link != 0) {
        *to |= HD_TOKEN_COUNTS;
        at += 3;
    }
    hd_token_put8(at, head);
    hd_token_put8(at + 8, tail);
    return at + 16;
}

/* Choices that the next record's events made, the first one in bit 0. */
static inline uint8_t *hd_token_put_choices(uint8_t *to, uint64_t choices) {
    unsigned bytes = (71u - (unsigned)__builtin_clzll(choices | 1)) / 8;
    uint8_t *at = hd_token_put_other(to, HD_TOKEN_CHOICES, 0, bytes, 1);
    hd_token_put8(at, choices);
    return at + bytes;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

/* A record, as far as it says something without what was expected. */
struct hd_token {
    uint8_t link;  /* enum hd_token_link */
    uint8_t other; /* enum hd_token_other, or the way to say the operand */
    bool given;    /* counts, or a link of a whole event */
    bool usual;    /* `met` is what it was before the event before the last one */
    uint8_t length;
    uint32_t number; /* of the link that is given */
    uint32_t counts;
    uint64_t met, value;
    struct hd_wire_event event;
};

/* With `roomy`, eight bytes can be read wherever some are. */
static inline uint64_t hd_token_get8(const uint8_t *from, unsigned bytes, bool roomy) {
    uint64_t value = 0;
    if (roomy) {
        memcpy(&value, from, sizeof value);
        return bytes < 8 ? value & ((1ull << 8 * bytes) - 1) : value;
    }
    memcpy(&value, from, bytes);
    return value;
}

/* False if there is no whole record, or one that nobody writes. */
static inline bool hd_token_get(const uint8_t *from, size_t length, struct hd_token *token) {
    const uint8_t *at = from, *end = from + length;
    bool roomy = length >= HD_TOKEN_BYTES + 8;
    if (length == 0) return false;
    unsigned control = *at++, met = hd_token_met_bytes(control);
    *token = (struct hd_token){
        .link = control & 3, .other = control >> 2 & 7, .given = (control & HD_TOKEN_COUNTS) != 0};
    token->usual = met == 0 && token->link != HD_TOKEN_OTHER;
    if ((size_t)(end - at) < met) return false;
    token->met = hd_token_get8(at, met, roomy);
    at += met;
    unsigned bytes = 0;
    bool numbered = token->link == HD_TOKEN_LINK;
    if (token->link == HD_TOKEN_OTHER) {
        static const uint8_t value_bytes[8] = {16, 8, 4, 2, 1, 0, 255, 255};
        bytes = value_bytes[token->other];
        numbered = token->other == HD_TOKEN_EVENT && token->given;
        if (bytes == 255 || (token->given && !numbered)) return false;
    } else if (token->other > HD_OPERAND_WHOLE) {
        return false;
    } else if (token->other >= HD_OPERAND_1) {
        bytes = token->other == HD_OPERAND_WHOLE ? 6 : token->other - HD_OPERAND_1 + 1u;
    }
    if (numbered) {
        if (end - at < 3) return false;
        token->number = (uint32_t)hd_token_get8(at, 3, roomy);
        at += 3;
    }
    if (token->link != HD_TOKEN_OTHER && token->given) {
        if (end - at < 1) return false;
        token->counts = HD_COUNTS_CALL | *at;
        if (*at++ == HD_TOKEN_BRANCHES) {
            if (end - at < 4) return false;
            token->counts = (uint32_t)hd_token_get8(at, 4, roomy);
            at += 4;
        }
    }
    if ((size_t)(end - at) < bytes) return false;
    if (bytes == 16) {
        token->event =
            (struct hd_wire_event){hd_token_get8(at, 8, roomy), hd_token_get8(at + 8, 8, roomy)};
        at += 16;
    } else {
        token->value = hd_token_get8(at, bytes, roomy);
        at += bytes;
    }
    if (token->link == HD_TOKEN_OTHER && token->other == HD_TOKEN_CHOICES) {
        if (token->value == 0 || token->value > 8 || (size_t)(end - at) < token->value)
            return false;
        bytes = (unsigned)token->value;
        token->value = hd_token_get8(at, bytes, roomy);
        at += bytes;
    }
    token->length = (uint8_t)(at - from);
    return true;
}

/* The operand of a record that gives it, from what is expected of its link. */
static inline uint64_t hd_token_operand(const struct hd_token *token, const struct hd_expect *e,
                                        const struct hd_expected *l) {
    if (token->other == HD_OPERAND_WHOLE) return token->value;
    if (token->other == HD_OPERAND_SECOND) return hd_link_operand(e, l, true);
    uint64_t distance = token->value >> 1 ^ (0 - (token->value & 1));
    return hd_link_operand(e, l, false) + (distance << hd_token_shift(l->shape));
}

#endif
