/* Puts events that came as expected back into a stream: see expand.h. */
#include "trace/expand.h"

#include "base/alloc.h"
#include "base/vector.h"
#include "trace/build.h"

#include <stdlib.h>
#include <string.h>

/* The links of a thread, which are found by what makes them. */
struct links {
    struct hd_expect expect;
    uint32_t links, room; /* the one at 0 counts */
    struct link_slot {
        uint64_t key; /* hd_link_key + 1; 0: empty */
        uint32_t link;
    } * slot;
    uint32_t slots;
    /* where each link was met by the latest walk along them */
    struct link_mark {
        uint32_t walk, position;
    } * mark;
    uint32_t walk;
};

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

static struct link_slot *slot_of(const struct links *links, uint64_t key) {
    uint32_t mask = links->slots - 1, at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (links->slot[at].key != 0 && links->slot[at].key != key) at = (at + 1) & mask;
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
        if (old[i].key != 0) *slot_of(links, old[i].key) = old[i];
    free(old);
}

/* There can be 2^45 keys and no more links than events: an offset has no room for more than that
 * many, and what is beyond has none. */
#define MOST_LINKS (UINT32_MAX / HD_LINK_BYTES)

static uint32_t link_of(struct links *links, uint64_t head, uint64_t tail) {
    uint64_t key = hd_link_key(head, tail) + 1;
    struct link_slot *slot = slot_of(links, key);
    if (slot->key == key) return slot->link;
    if (links->links == MOST_LINKS) return 0;
    make_room(links);
    uint32_t link = links->links++ * HD_LINK_BYTES;
    memset(hd_link_at(&links->expect, link), 0, HD_LINK_BYTES);
    *slot_of(links, key) = (struct link_slot){key, link};
    return link;
}

static size_t put_in(struct hd_expect *e, struct hd_wire_event *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (e->at == 0) return i;
        out[i] = hd_expected_event(e);
        hd_expect_met(e);
    }
    return count;
}

/* ---- loops -------------------------------------------------------------------------------- */

enum {
    LEAST_ROUNDS = 4, /* that are worth it */
    LEAST_EVENTS = 16,
    TURNED = 32 /* longer loops begin where they do */
};

/* Follows the links from the one that is expected next on, until one comes again; returns how many
 * come before that one, and *length, how many from there on; 0 if none comes again, or too late. A
 * link that is about to turn (expect.h) leads out of its loop. */
static size_t find_cycle(struct links *links, size_t most, uint32_t *offset, size_t *length) {
    const struct hd_expect *e = &links->expect;
    uint32_t at = e->at;
    if (++links->walk == 0) { /* marks of 2^32 walks ago look new */
        memset(links->mark, 0, links->room * sizeof *links->mark);
        links->walk = 1;
    }
    *length = 0;
    for (size_t walked = 0; at != 0; walked++) {
        struct link_mark *mark = &links->mark[at / HD_LINK_BYTES];
        if (mark->walk == links->walk) {
            *length = walked - mark->position;
            return mark->position;
        }
        if (walked == most) break;
        *mark = (struct link_mark){links->walk, (uint32_t)walked};
        offset[walked] = at;
        const struct hd_expected *l = hd_link_at(e, at);
        bool leaves =
            l->count == 1 && (l->flags & (HD_LINK_TURNS | HD_LINK_TURNING)) == HD_LINK_TURNS;
        at = leaves && l->exit != 0 ? l->exit : l->next;
    }
    return most;
}

/* How many rounds come before a link turns. */
static uint64_t until_turn(const struct hd_expect *e, const uint32_t *offset, size_t length) {
    uint32_t rounds = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        uint32_t more = hd_link_at(e, offset[i])->count - 1;
        if (more < rounds) rounds = more;
    }
    return rounds;
}

/* What a link leads to that is not only about the next event. */
static bool is_bookkeeping(const struct hd_expected *l) {
    return (l->shape & 0xff) >= HD_EV_THREAD;
}

/* Is what the first round builds on the same as for the others: the event before it? */
static bool is_steady(const struct hd_expect *e, const uint32_t *offset, size_t length) {
    size_t i = 0;
    while (i < length && is_bookkeeping(hd_link_at(e, offset[i]))) i++;
    if (i == length || !(hd_link_at(e, offset[i])->flags & HD_LINK_RELATIVE)) return true;
    return e->before == offset[length - 1] && !is_bookkeeping(hd_link_at(e, e->before));
}

/* One round, without having it happen: operands, from what is expected now. */
static void follow(struct hd_expect *e, const uint32_t *offset, size_t length, uint64_t rounds,
                   uint64_t *operand) {
    for (size_t i = 0; i < length; i++) {
        const struct hd_expected *l = hd_link_at(e, offset[i]);
        operand[i] = hd_expected_operand(e, l);
        if (l->operand != HD_LINK_NOWHERE) operand[i] += l->stride * rounds;
        hd_expect_past(e, l->shape & 0xff, operand[i]);
    }
}

/* A round to come. Every operand goes on by the same amount in each: one that has a stride, what is
 * relative to it, and depths of calls. */
struct round {
    size_t length;
    uint32_t offset[HD_LOOP_LENGTH];
    uint64_t operand[HD_LOOP_LENGTH], stride[HD_LOOP_LENGTH];
};

static void foresee(const struct hd_expect *e, struct round *round) {
    struct hd_expect now = *e;
    follow(&now, round->offset, round->length, 0, round->operand);
    follow(&now, round->offset, round->length, 1, round->stride);
    for (size_t i = 0; i < round->length; i++) round->stride[i] -= round->operand[i];
}

/* Where rounds are best begun: a word that is read in one round and written at the beginning of the
 * next one is better read and written in the same. Returns how many events come before that. */
static size_t best_start(const struct round *round) {
    int gain[TURNED + 1] = {0}, best = 0, now = 0;
    size_t start = 0;
    if (round->length > TURNED) return 0;
    for (size_t i = 0; i < round->length; i++)
        for (size_t k = i + 1; k < round->length; k++) {
            uint64_t stride = round->stride[i], step = round->operand[k] - round->operand[i];
            if (stride == 0 || round->stride[k] != stride) continue;
            /* together as it is, or if rounds begin between the two */
            int change = step == 0 ? -1 : step == stride ? 1 : 0;
            gain[i + 1] += change;
            gain[k + 1] -= change;
        }
    for (size_t i = 0; i < round->length; i++) {
        now += gain[i];
        if (now <= best) continue;
        best = now;
        start = i;
    }
    return start;
}

static void turn(struct round *round, size_t start) {
    uint32_t was[TURNED];
    memcpy(was, round->offset, round->length * sizeof *was);
    for (size_t i = 0; i < round->length; i++) round->offset[i] = was[(i + start) % round->length];
}

static void take_loop(struct hd_expect *e, const struct round *round, uint64_t rounds,
                      struct hd_expand_loop *loop) {
    loop->length = round->length;
    loop->rounds = rounds;
    for (size_t i = 0; i < round->length; i++) {
        struct hd_expected *l = hd_link_at(e, round->offset[i]);
        loop->body[i] = (struct hd_loop_event){
            {hd_wire_head(l->shape & 0xff, (unsigned)l->shape >> 8, round->operand[i]),
             l->site | (uint64_t)l->rest << 32},
            round->stride[i]};
        hd_expect_past(e, l->shape & 0xff, round->operand[i] + round->stride[i] * (rounds - 1));
        if (l->operand != HD_LINK_NOWHERE) l->operand += l->stride * rounds;
        l->count -= (uint32_t)rounds;
    }
    e->before = round->offset[round->length - 1];
}

/* Of so many events that are to be put in, makes a loop if they are one. As many as *made says were
 * written to `out` before. If there is no loop, *singly says how many have to be put in before it
 * is worth another try. *steady, if the latest were a round; after the call, if those will be. */
static bool make_loop(struct links *links, uint64_t met, bool *steady, struct hd_expand_loop *loop,
                      struct hd_wire_event *out, size_t room, size_t *made, uint64_t *singly) {
    struct hd_expect *e = &links->expect;
    struct round round;
    bool after_round = *steady;
    *steady = false;
    *singly = met;
    *made = 0;
    if (met < LEAST_EVENTS) return false;
    size_t most = met < HD_LOOP_LENGTH ? (size_t)met : HD_LOOP_LENGTH;
    size_t before = find_cycle(links, most, round.offset, &round.length);
    *singly = before;
    if (round.length == 0 || before > room) return false;
    if (before != 0) {
        *made = put_in(e, out, before);
        met -= *made;
        out += *made;
        room -= *made;
        memmove(round.offset, round.offset + before, round.length * sizeof *round.offset);
        *singly = 1;
        if (e->at != round.offset[0]) return false; /* that can't be */
        after_round = false;
    }
    uint64_t rounds = until_turn(e, round.offset, round.length);
    *singly = (rounds + 1) * round.length;
    if (rounds < LEAST_ROUNDS || met / round.length < LEAST_ROUNDS) return false;
    if (!after_round && !is_steady(e, round.offset, round.length)) {
        *singly = round.length;
        *steady = true;
        return false;
    }
    foresee(e, &round);
    size_t start = best_start(&round);
    if (start != 0 && start <= room) {
        *made += put_in(e, out, start);
        met -= start;
        turn(&round, start);
        foresee(e, &round);
        rounds = until_turn(e, round.offset, round.length);
    }
    take_loop(e, &round, rounds < met / round.length ? rounds : met / round.length, loop);
    return true;
}

/* ---- streams ------------------------------------------------------------------------------ */

/* How many events come before this stored one, and the event as it was. */
static uint64_t met_before(struct hd_wire_event *event) {
    unsigned kind = hd_wire_kind(event->head);
    if (kind == HD_EV_EXPECTED) return hd_wire_operand(event->head);
    if (kind == HD_EV_THREAD || kind == HD_EV_STAMP) {
        uint64_t met = event->tail >> 32;
        event->tail = (uint32_t)event->tail;
        return met;
    }
    if (!(event->head & HD_WIRE_AFTER)) return 0;
    uint64_t met = hd_wire_calls(event->tail);
    event->head &= ~(uint64_t)HD_WIRE_AFTER;
    event->tail = hd_tail_with_calls(event->tail, 1);
    return met;
}

bool hd_expand_at_stamp(const struct hd_expand_at *at, struct hd_wire_event event) {
    return hd_wire_kind(event.head) == HD_EV_STAMP &&
           (event.tail >> 32 == 0 || (at->counted && at->met == 0));
}

uint64_t hd_expand_stamp(struct hd_expand_at *at, struct hd_wire_event event) {
    at->counted = false;
    return hd_wire_operand(event.head);
}

size_t hd_expand_events(struct hd_expand *expand, struct hd_expand_at *at,
                        const struct hd_wire_event *event, size_t count, size_t *taken,
                        struct hd_wire_event *out, size_t room, struct hd_expand_loop *loop,
                        bool *good) {
    struct links *links = links_of(expand, at->thread);
    size_t i = 0, made = 0;
    bool steady = false;
    *good = true;
    if (loop != NULL) loop->rounds = 0;
    while (i < count && made < room && !hd_expand_at_stamp(at, event[i])) {
        struct hd_wire_event now = event[i];
        uint64_t met = met_before(&now);
        if (met != 0 && !at->counted) {
            at->met = met;
            at->counted = true;
        }
        if (at->met != 0) {
            uint64_t singly = at->met;
            size_t before = 0;
            bool found =
                loop != NULL && links != NULL &&
                make_loop(links, at->met, &steady, loop, out + made, room - made, &before, &singly);
            made += before;
            at->met -= before;
            if (found) {
                at->met -= loop->rounds * loop->length;
                break;
            }
            if (singly > at->met) singly = at->met;
            size_t most = room - made < singly ? room - made : (size_t)singly;
            if (most < singly) steady = false;
            size_t put = links != NULL ? put_in(&links->expect, out + made, most) : 0;
            made += put;
            at->met -= put;
            if (put < most) {
                *good = false;
                break;
            }
            continue;
        }
        at->counted = false;
        steady = false;
        i++;
        bool unlinked = (now.head & HD_WIRE_UNLINKED) != 0;
        now.head &= ~(uint64_t)HD_WIRE_UNLINKED;
        unsigned kind = hd_wire_kind(now.head);
        if (kind == HD_EV_EXPECTED) continue;
        out[made++] = now;
        if (kind == HD_EV_THREAD) {
            uint64_t number = hd_wire_operand(now.head);
            at->thread = number < HD_THREAD_LIMIT ? (uint32_t)number : HD_THREAD_LIMIT;
            links = links_of(expand, at->thread);
        } else if (links != NULL && kind != HD_EV_NONE) {
            uint32_t link = unlinked ? 0 : link_of(links, now.head, now.tail);
            hd_expect_learn(&links->expect, link, now.head, now.tail, met);
        }
    }
    *taken = i;
    return made;
}
