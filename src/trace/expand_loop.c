/* Finds loops in what is put back into a stream: events that come round by round, which are not
 * written out one by one (loop.h). */
#include "trace/expand_links.h"

#include <string.h>

enum {
    LEAST_ROUNDS = 4, /* that are worth it */
    TURNED = 32,      /* longer loops begin where they do */
    MOST_PAUSE = 256  /* events after a choice that are not looked at */
};

/* Follows the links from the one that is expected next on, until one comes again; returns how many
 * come before that one, and *length, how many from there on; 0 if none comes again, or too late, or
 * there is a link with a choice before: then it returns how many events to put in before another
 * try. A link that is about to turn (expect.h) leads out of its loop. */
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
            links->pause = 0;
            return mark->position;
        }
        if (walked == most) break;
        *mark = (struct link_mark){links->walk, (uint32_t)walked};
        offset[walked] = at;
        const struct hd_expected *l = hd_link_at(e, at);
        if (l->flags & HD_LINK_EITHER) {
            /* it is likely to come again soon */
            if (links->pause < MOST_PAUSE) links->pause = links->pause * 2 + 1;
            return walked + 1 + links->pause;
        }
        bool leaves =
            l->count == 1 && (l->flags & (HD_LINK_TURNS | HD_LINK_TURNING)) == HD_LINK_TURNS;
        at = leaves && l->exit != 0 ? l->exit : l->next;
    }
    return most;
}

/* How many rounds come before a link turns. The last one may be that in which links do, if that
 * leads out of the loop only where a round ends. */
static uint64_t until_turn(const struct hd_expect *e, const uint32_t *offset, size_t length) {
    uint32_t rounds = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        uint32_t more = hd_link_at(e, offset[i])->count - 1;
        if (more < rounds) rounds = more;
    }
    if (rounds == 0 || rounds == UINT32_MAX)
        return rounds; /* a first one, which is not like others */
    for (size_t i = 0; i + 1 < length; i++) {
        const struct hd_expected *l = hd_link_at(e, offset[i]);
        if (l->count - 1 == rounds && l->exit != 0 && l->exit != l->next) return rounds;
    }
    return (uint64_t)rounds + 1;
}

/* What a link leads to that is not only about the next event. */
static bool is_bookkeeping(const struct hd_expected *l) {
    return (l->shape & 0xff) >= HD_EV_THREAD;
}

/* Locks that are given back in a round are taken in it, or in the one before: then each operand of
 * theirs goes on as that of their acquire does. *before: is any taken in the one before? */
static bool locks_go_on(const struct hd_expect *e, const uint32_t *offset, size_t length,
                        bool *before) {
    int held = 0;
    *before = false;
    for (size_t i = 0; i < length; i++) {
        const struct hd_expected *l = hd_link_at(e, offset[i]);
        unsigned kind = l->shape & 0xff;
        if (hd_takes_lock(kind)) held++;
        if (!hd_gives_lock(kind)) continue;
        if (!(l->flags & HD_LINK_GIVES_BACK)) return false;
        if (--held < 0) *before = true;
    }
    return held == 0;
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
    int gain[TURNED + 1], best = 0, now = 0;
    size_t start = 0;
    bool any = false;
    if (round->length > TURNED) return 0;
    for (size_t i = 0; i <= round->length; i++) gain[i] = 0;
    for (size_t i = 0; i < round->length; i++) {
        uint64_t stride = round->stride[i];
        for (size_t k = i + 1; k < round->length && stride != 0; k++) {
            uint64_t step = round->operand[k] - round->operand[i];
            if (round->stride[k] != stride || (step != 0 && step != stride)) continue;
            /* together as it is, or if rounds begin between the two */
            int change = step == 0 ? -1 : 1;
            gain[i + 1] += change;
            gain[k + 1] -= change;
            any = any || step != 0;
        }
    }
    if (!any) return 0;
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
        uint64_t last = round->operand[i] + round->stride[i] * (rounds - 1);
        if (l->flags & HD_LINK_GIVES_BACK) e->lock[0] = last; /* taken in the round before */
        hd_expect_past(e, l->shape & 0xff, last);
        if (l->operand != HD_LINK_NOWHERE) l->operand += l->stride * rounds;
        l->count -= (uint32_t)rounds;
        e->at = l->count != 0 ? l->next : hd_link_turn(l);
    }
    e->before = round->offset[round->length - 1];
}

bool expand_make_loop(struct links *links, uint64_t met, bool *steady, struct hd_expand_loop *loop,
                      struct hd_wire_event *out, size_t room, size_t *made, uint64_t *singly) {
    struct hd_expect *e = &links->expect;
    struct round round;
    bool after_round = *steady;
    *steady = false;
    *singly = met;
    *made = 0;
    if (met < EXPAND_LEAST_EVENTS) return false;
    size_t most = met < HD_LOOP_LENGTH ? (size_t)met : HD_LOOP_LENGTH;
    size_t before = find_cycle(links, most, round.offset, &round.length);
    *singly = before;
    if (round.length == 0 || before > room) return false;
    if (before != 0) {
        *made = expand_put(e, out, before);
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
    bool held_before;
    if (!locks_go_on(e, round.offset, round.length, &held_before)) return false;
    if (!after_round && (held_before || !is_steady(e, round.offset, round.length))) {
        *singly = round.length;
        *steady = true;
        return false;
    }
    foresee(e, &round);
    size_t start = best_start(&round);
    if (start != 0 && start <= room) {
        *made += expand_put(e, out, start);
        met -= start;
        turn(&round, start);
        foresee(e, &round);
        rounds = until_turn(e, round.offset, round.length);
    }
    take_loop(e, &round, rounds < met / round.length ? rounds : met / round.length, loop);
    return true;
}
