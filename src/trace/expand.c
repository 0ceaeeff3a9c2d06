/* Puts events that came as expected back into a stream: see expand.h. */
#include "trace/expand.h"

#include "base/alloc.h"
#include "base/vector.h"
#include "trace/build.h"
#include "trace/expand_links.h"

#include <stdlib.h>
#include <string.h>

struct hd_expand {
    HD_VECTOR(struct links *) thread; /* by number; NULL until it has an event */
};

struct hd_expand *hd_expand_new(void) {
    return hd_zalloc(1, sizeof(struct hd_expand));
}

void hd_expand_free(struct hd_expand *expand) {
    if (expand == NULL) return;
    for (size_t i = 0; i < expand->thread.size; i++) {
        struct links *links = expand->thread.data[i];
        if (links == NULL) continue;
        free(links->expect.link);
        free(links->slot);
        free(links->mark);
        free(links);
    }
    hd_vector_free(&expand->thread);
    free(expand);
}

/* NULL if no trace can have a thread of this number. */
static struct links *links_of(struct hd_expand *expand, uint32_t thread) {
    if (thread >= HD_THREAD_LIMIT) return NULL;
    while (expand->thread.size <= thread) hd_vector_push(&expand->thread, NULL);
    struct links **of = &expand->thread.data[thread];
    if (*of == NULL) {
        struct links *links = *of = hd_zalloc(1, sizeof *links);
        links->links = 1;
        links->room = 16;
        links->expect.link = hd_zalloc(links->room, sizeof *links->expect.link);
        links->mark = hd_zalloc(links->room, sizeof *links->mark);
        links->slots = 32;
        links->slot = hd_zalloc(links->slots, sizeof *links->slot);
    }
    return *of;
}

static struct link_slot *slot_of(const struct links *links, uint32_t number) {
    uint32_t mask = links->slots - 1, at = (number * 0x9e3779b1u >> 7) & mask;
    while (links->slot[at].number != 0 && links->slot[at].number != number) at = (at + 1) & mask;
    return &links->slot[at];
}

static void make_room(struct links *links) {
    if (links->links == links->room) {
        links->room *= 2;
        links->expect.link =
            hd_realloc(links->expect.link, links->room, sizeof *links->expect.link);
        links->mark = hd_realloc(links->mark, links->room, sizeof *links->mark);
        memset(links->mark + links->links, 0, (links->room - links->links) * sizeof *links->mark);
    }
    if (links->links * 2 < links->slots) return;
    struct link_slot *old = links->slot;
    uint32_t slots = links->slots;
    links->slots *= 2;
    links->slot = hd_zalloc(links->slots, sizeof *links->slot);
    for (uint32_t i = 0; i < slots; i++)
        if (old[i].number != 0) *slot_of(links, old[i].number) = old[i];
    free(old);
}

/* The link of a number, which is made if it is not known; numbers have three bytes. */
static uint32_t link_of(struct links *links, uint32_t number) {
    struct link_slot *slot = slot_of(links, number);
    if (slot->number == number) return slot->link;
    make_room(links);
    uint32_t link = links->links++ * HD_LINK_BYTES;
    memset(hd_link_at(&links->expect, link), 0, HD_LINK_BYTES);
    *slot_of(links, number) = (struct link_slot){number, link};
    return link;
}

size_t expand_put(struct hd_expect *expect, struct hd_wire_event *out, size_t count) {
    struct hd_expect e = *expect; /* where nothing else is written to */
    size_t i = 0;
    while (i < count && e.at != 0) out[i++] = expand_next(&e);
    /* one by one: they were just written, and can't be read back in larger pieces so soon */
    expect->at = e.at;
    expect->before = e.before;
    expect->operand = e.operand;
    expect->depth = e.depth;
    for (unsigned k = 0; k < HD_EXPECT_LOCKS; k++) expect->lock[k] = e.lock[k];
    expect->choices = e.choices;
    return i;
}

/* ---- streams ------------------------------------------------------------------------------ */

static bool is_stamp(const struct hd_token *token) {
    return token->link == HD_TOKEN_OTHER &&
           (token->other == HD_TOKEN_STAMP || token->other == HD_TOKEN_STAMP_NEAR);
}

bool hd_expand_at_stamp(const struct hd_expand_at *at, const uint8_t *record, size_t length) {
    struct hd_token token;
    if (length == 0 || (*record & 3) != HD_TOKEN_OTHER) return false;
    return hd_token_get(record, length, &token) && is_stamp(&token) &&
           (token.met == 0 || (at->counted && at->met == 0));
}

uint64_t hd_expand_stamp(struct hd_expand_at *at, const uint8_t *record, size_t length,
                         size_t *taken) {
    struct hd_token token = {0};
    (void)hd_token_get(record, length, &token);
    *taken = token.length;
    at->counted = false;
    at->stamp += token.value;
    return at->stamp;
}

/* The event of a record, and its link (0: none). False if there is no such link. */
static bool event_of(struct links *links, const struct hd_token *token, struct hd_wire_event *event,
                     uint32_t *link) {
    const struct hd_expect *e = &links->expect;
    if (token->link == HD_TOKEN_OTHER) {
        *link = token->given && token->number != 0 ? link_of(links, token->number) : 0;
        *event = token->event;
        unsigned kind = hd_wire_kind(event->head);
        return kind != HD_EV_NONE && !hd_is_of_stream(event->head);
    }
    if (token->link == HD_TOKEN_NEXT)
        *link = e->at;
    else if (token->link == HD_TOKEN_SECOND)
        *link = hd_token_second(e);
    else
        *link = slot_of(links, token->number)->link;
    const struct hd_expected *l = hd_link_at(e, *link);
    if (*link == 0 || l->shape == 0) return false;
    uint64_t operand = token->other == HD_OPERAND_EXPECTED ? hd_link_operand(e, l, false)
                                                           : hd_token_operand(token, e, l);
    uint32_t counts = token->given ? token->counts : l->rest;
    *event = (struct hd_wire_event){hd_wire_head(l->shape & 0xff, (unsigned)l->shape >> 8, operand),
                                    l->site | (uint64_t)counts << 32};
    return true;
}

/* Takes the record itself, before which all is put in. False if it is no good. */
static bool take_record(struct hd_expand *expand, struct hd_expand_at *at, struct links **links,
                        const struct hd_token *token, struct hd_wire_event *out, size_t *made) {
    if (token->link != HD_TOKEN_OTHER || token->other == HD_TOKEN_EVENT) {
        struct hd_wire_event event;
        uint32_t link;
        at->stored++;
        if (*links == NULL || !event_of(*links, token, &event, &link)) return false;
        out[(*made)++] = event;
        hd_expect_learn(&(*links)->expect, link, event.head, event.tail, token->met);
    } else if (token->other == HD_TOKEN_THREAD) {
        at->stored++;
        at->thread = token->value < HD_THREAD_LIMIT ? (uint32_t)token->value : HD_THREAD_LIMIT;
        *links = links_of(expand, at->thread);
        out[(*made)++] = (struct hd_wire_event){hd_wire_head(HD_EV_THREAD, 0, token->value), 0};
    } else if (token->other == HD_TOKEN_CHOICES && *links != NULL) {
        (*links)->expect.choices = token->value;
    }
    return true;
}

/* ---- the usual records --------------------------------------------------------------------- */

static inline uint64_t some_bytes(const uint8_t *from, unsigned bytes) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value & ((1ull << 8 * bytes) - 1);
}

/* Bytes of an operand, by the way to say it: four bits each. */
#define OPERAND_BYTES 0x06432100u

/* What is found through hashes is most of what has records: accesses, and locks that are taken. */
static inline bool is_stray(const struct hd_expected *l) {
    return l->flags == HD_LINK_STRAYS && (l->shape & 0xff) <= HD_EV_ACQUIRE;
}

/* hd_expect_learn, of an event of such a link that goes on straying; false if it does not, or may
 * not, and nothing was changed. */
static inline bool learn_stray(struct hd_expect *e, struct hd_expected *l, uint32_t link,
                               uint64_t operand, uint32_t counts, uint64_t met) {
    uint64_t distance = operand - e->operand;
    bool left = e->at != link && e->before != 0;
    if ((left && e->before == link) || !hd_link_strays_on(l, operand, distance)) return false;
    if ((l->shape & 0xff) == HD_EV_ACQUIRE) hd_expect_lock(e, true, operand);
    e->operand = operand;
    hd_expect_counted(e, met);
    if (left) hd_link_left(hd_link_at(e, e->before), link, met);
    l->rest = counts;
    hd_link_strayed_on(l, operand, distance);
    l->count--;
    e->before = link;
    e->at = l->next;
    return true;
}

/* Takes records of events that differ a little and come after a few expected ones, which is most of
 * a program that is not regular: hd_token_get and take_record with everything in registers. Stops
 * where a record is something else, or may not be all there, or there may be no room for what it
 * makes. Returns how many bytes were taken. */
static __attribute__((flatten)) size_t take_usual(struct links *links, struct hd_expand_at *at,
                                                  const uint8_t *record, size_t length,
                                                  struct hd_wire_event *out, size_t room,
                                                  size_t *made, bool *good) {
    struct hd_expect e = links->expect;
    struct hd_wire_event *to = out, *end = out + room;
    const uint8_t *from = record, *last = record + length - (HD_TOKEN_BYTES + 8);
    if (length < HD_TOKEN_BYTES + 8) return 0;
    while (from <= last) {
        unsigned control = *from, which = control & 3, way = control >> 2 & 7;
        if (which == HD_TOKEN_OTHER || way > HD_OPERAND_WHOLE) break;
        unsigned met_bytes = hd_token_met_bytes(control);
        const uint8_t *rest = from + 1 + met_bytes;
        uint64_t met = met_bytes == 0 ? e.met[0] : some_bytes(from + 1, met_bytes);
        if (met >= EXPAND_LEAST_EVENTS || met >= (size_t)(end - to)) break;
        uint64_t left = met;
        for (; left != 0 && e.at != 0; left--) *to++ = expand_next(&e);
        if (unlikely(left != 0)) {
            at->met = left;
            at->counted = true;
            *good = false;
            break;
        }
        uint32_t link = e.at;
        if (which == HD_TOKEN_SECOND) {
            link = hd_token_second(&e);
        } else if (which == HD_TOKEN_LINK) {
            link = slot_of(links, (uint32_t)some_bytes(rest, 3))->link;
            rest += 3;
        }
        struct hd_expected *l = hd_link_at(&e, link);
        uint32_t counts = l->rest;
        if (control & HD_TOKEN_COUNTS) {
            counts = HD_COUNTS_CALL | *rest;
            if (unlikely(*rest++ == HD_TOKEN_BRANCHES)) {
                counts = (uint32_t)some_bytes(rest, 4);
                rest += 4;
            }
        }
        unsigned bytes = OPERAND_BYTES >> way * 4 & 0xf;
        uint64_t value = some_bytes(rest, bytes);
        from = rest + bytes;
        at->stored++;
        if (unlikely(link == 0 || l->shape == 0)) {
            *good = false;
            break;
        }
        uint64_t operand = value;
        bool strays = is_stray(l), second = way == HD_OPERAND_SECOND;
        if (way != HD_OPERAND_WHOLE) {
            operand = strays && !second ? l->operand : hd_link_operand(&e, l, second);
            uint64_t distance = value >> 1 ^ (0 - (value & 1));
            operand = (operand + (distance << hd_token_shift(l->shape))) & HD_OPERAND_MASK;
        }
        struct hd_wire_event event = {l->shape | operand << 16, l->site | (uint64_t)counts << 32};
        *to++ = event;
        if (!strays || !learn_stray(&e, l, link, operand, counts, met))
            hd_expect_learn(&e, link, event.head, event.tail, met);
    }
    links->expect = e;
    *made += (size_t)(to - out);
    return (size_t)(from - record);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Puts in some of at->met events, or makes a loop of them; false if nothing was expected there. */
static bool put_some(struct links *links, struct hd_expand_at *at, struct hd_wire_event *out,
                     size_t room, size_t *made, struct hd_expand_loop *loop, bool *steady) {
    uint64_t singly = at->met;
    size_t before = 0;
    bool found = loop != NULL && expand_make_loop(links, at->met, steady, loop, out + *made,
                                                  room - *made, &before, &singly);
    *made += before;
    at->met -= before;
    if (found) {
        at->met -= loop->rounds * loop->length;
        return true;
    }
    if (singly > at->met) singly = at->met;
    size_t most = room - *made < singly ? room - *made : (size_t)singly;
    if (most < singly) *steady = false;
    size_t put = expand_put(&links->expect, out + *made, most);
    *made += put;
    at->met -= put;
    return put == most;
}

/* Puts in what comes before the next record, as far as there is room, or up to a loop. Is that
 * record next? *good is false if nothing was expected there. */
static bool put_all(struct links *links, struct hd_expand_at *at, struct hd_wire_event *out,
                    size_t room, size_t *made, struct hd_expand_loop *loop, bool *good) {
    bool steady = false;
    while (at->met != 0 && *made < room) {
        *good = links != NULL && put_some(links, at, out, room, made, loop, &steady);
        if (!*good || (loop != NULL && loop->rounds != 0)) return false;
    }
    return *made < room;
}

size_t hd_expand_records(struct hd_expand *expand, struct hd_expand_at *at, const uint8_t *record,
                         size_t length, size_t *taken, struct hd_wire_event *out, size_t room,
                         struct hd_expand_loop *loop, bool *good) {
    struct links *links = links_of(expand, at->thread);
    size_t i = 0, made = 0;
    *good = true;
    if (loop != NULL) loop->rounds = 0;
    while (i < length && made < room) {
        struct hd_token token;
        if (at->counted && at->met != 0 && !put_all(links, at, out, room, &made, loop, good)) break;
        if (links != NULL && !at->counted) {
            i +=
                take_usual(links, at, record + i, length - i, out + made, room - made, &made, good);
            if (!*good || i == length || made == room) break;
        }
        if (!hd_token_get(record + i, length - i, &token)) {
            *good = false;
            break;
        }
        if (token.usual && links != NULL) token.met = links->expect.met[0];
        if (token.met != 0 && !at->counted) {
            at->met = token.met;
            at->counted = true;
            if (!put_all(links, at, out, room, &made, loop, good)) break;
        }
        if (is_stamp(&token)) break;
        at->counted = false;
        i += token.length;
        if (!take_record(expand, at, &links, &token, out, &made)) {
            *good = false;
            break;
        }
    }
    *taken = i;
    return made;
}
